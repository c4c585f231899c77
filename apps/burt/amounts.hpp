// Amounts as people write them: 512M of memory, a save every 10m.
#pragma once

#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "flags.hpp"

namespace burt {

/// A whole number and the letters behind it: "10m".
struct NumberWithUnit {
  std::uint64_t number = 0;
  std::string unit;
  bool isNumber = false;

  explicit NumberWithUnit(const std::string& text) {
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, number);
    isNumber = error == std::errc{};
    if (isNumber) unit.assign(end, last);
  }
};

/// When a run is saved on its way: by steps, by the clock, or, with neither, at every validation.
struct SaveInterval {
  std::uint64_t steps = 0;
  std::chrono::seconds time{0};
};
/// "500" are steps; "90s", "10m" and "2h" are times; "0": at every validation.
inline SaveInterval parseSaveInterval(const std::string& who, const std::string& text) {
  const NumberWithUnit read(text);
  constexpr std::uint64_t most = 1'000'000'000;
  const std::uint64_t seconds = read.unit == "s" ? 1 : read.unit == "m" ? 60 : read.unit == "h" ? 3600 : 0;
  const bool isTime = seconds > 0 && read.number > 0, isSteps = read.unit.empty();
  if (!read.isNumber || read.number > most || (!isTime && !isSteps))
    throw BadInput(who + ": expected a number of steps or a time such as 90s, 10m or 2h, got '" + text + "'");
  if (isSteps) return {.steps = read.number};
  return {.time = std::chrono::seconds(static_cast<std::int64_t>(read.number * seconds))};
}

/// "512M", "2G", "800K" or a number of bytes; units are powers of 1024.
inline std::uint64_t parseBytes(const std::string& who, const std::string& text) {
  const NumberWithUnit read(text);
  const char unit = read.unit.empty() ? 'B' : read.unit[0];
  const unsigned shift = unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : unit == 'T' ? 40 : 0;
  const bool isUnit = read.unit.empty() || (shift > 0 && read.unit.size() == 1);
  if (!read.isNumber || !isUnit || read.number == 0 || read.number > (UINT64_MAX >> 1 >> shift))
    throw BadInput(who + ": expected a size such as 512M or 2G, got '" + text + "'");
  return read.number << shift;
}
/// "1.3 GB", in the units of parseBytes.
inline std::string bytesText(std::uint64_t bytes) {
  const char* unit = "KB";
  double amount = static_cast<double>(bytes) / 1024;
  for (const char* larger : {"MB", "GB", "TB"}) {
    if (amount < 1000) break;
    amount /= 1024;
    unit = larger;
  }
  char text[32];
  std::snprintf(text, sizeof text,
                amount < 10    ? "%.2f %s"
                : amount < 100 ? "%.1f %s"
                               : "%.0f %s",
                amount, unit);
  return text;
}

}  // namespace burt
