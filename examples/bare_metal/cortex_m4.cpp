// Start-up code of a Cortex-M4F without an operating system: the vector table, what runs before main, and semihosting.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "board.hpp"

// Defined by the linker script.
extern "C" std::uint32_t stackEnd[], dataStart[], dataEnd[], dataInFlash[], bssStart[], bssEnd[];
extern "C" void (*const constructorsStart[])(), (*const constructorsEnd[])();

int main();  // ISO C++ lets nobody call it, but somebody must

namespace {

/// A request to the debugger, or to the emulator in its place.
int semihost(int operation, const void* argument) {
  register int r0 __asm__("r0") = operation;
  register const void* r1 __asm__("r1") = argument;
  __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return r0;
}

/// The floating-point unit is off after a reset.
void startFloatingPoint() {
  auto& coprocessorAccess = *reinterpret_cast<volatile std::uint32_t*>(0xe000ed88);
  coprocessorAccess = coprocessorAccess | (0xfu << 20);
  __asm__ volatile("dsb\n\tisb");
}

[[noreturn]] void start() {
  startFloatingPoint();
  std::memcpy(dataStart, dataInFlash,
              reinterpret_cast<std::size_t>(dataEnd) - reinterpret_cast<std::size_t>(dataStart));
  std::memset(bssStart, 0, reinterpret_cast<std::size_t>(bssEnd) - reinterpret_cast<std::size_t>(bssStart));
  for (auto constructor = constructorsStart; constructor != constructorsEnd; ++constructor) (*constructor)();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
  board::exit(main() == 0);
#pragma GCC diagnostic pop
}

[[noreturn]] void fault() {
  board::print("fault\n");
  board::exit(false);
}

using Handler = void (*)();
struct VectorTable {
  const std::uint32_t* stack;
  Handler reset, nonMaskable, hardFault, memoryFault, busFault, usageFault;
};
[[gnu::section(".vectors"), gnu::used]] const VectorTable vectors{stackEnd, start, fault, fault,
                                                                  fault,    fault, fault};

}  // namespace

void board::print(const char* text) {
  constexpr int write0 = 4;
  semihost(write0, text);
}
[[noreturn]] void board::exit(bool isSuccess) {
  constexpr int exitWithCode = 0x20, applicationExit = 0x20026;
  const int block[] = {applicationExit, isSuccess ? 0 : 1};
  for (;;) semihost(exitWithCode, block);
}

extern "C" {
/// What the library calls after the failure handler. The C library's would bring signals.
[[noreturn]] void abort() { board::exit(false); }
/// Where compilers register destructors of static objects. Nothing ends here, so none will run.
void* __dso_handle = nullptr;
int __aeabi_atexit(void*, void (*)(void*), void*) { return 0; }
/// The mathematical functions write here. The C library's would bring a kilobyte of state per thread.
int* __errno() {
  static int number;
  return &number;
}
}
