// What the programs ask of the board: to print, and to end. cortex_m4.cpp has both through a debugger (semihosting), which is
// an emulator here; host.cpp has them from an operating system, to compare results with.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

namespace board {

void print(const char* text);
[[noreturn]] void exit(bool isSuccess);

/// Without printf, which would be larger than everything else.
inline void print(std::uint32_t number, unsigned base = 10) {
  char text[11], *at = text + sizeof text;
  *--at = '\0';
  do {
    *--at = "0123456789abcdef"[number % base];
    number /= base;
  } while (number > 0);
  print(at);
}
/// Four digits after the point, of numbers from 0 to 100,000.
inline void print(float number) {
  const auto scaled = static_cast<std::uint32_t>(number * 10000 + 0.5f);
  print(scaled / 10000);
  const std::uint32_t digits = scaled % 10000;
  print(digits < 10 ? ".000" : digits < 100 ? ".00" : digits < 1000 ? ".0" : ".");
  print(digits);
}
inline void printStep(std::uint32_t step, float loss) {
  print("step ");
  print(step);
  print("  loss ");
  print(loss);
  print("\n");
}
/// The same on every machine that computes the same bits.
inline void printFingerprint(std::span<const float> numbers) {
  std::uint32_t sum = 0;
  for (const float number : numbers) {
    std::uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    sum = (sum ^ bits) * 16777619u;
  }
  print(sum, 16);
  print("\n");
}

}  // namespace board
