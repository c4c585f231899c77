// JSON of one line, to be printed: pure ASCII, so that it is the same everywhere and harmless on a terminal.
#pragma once

#include <burtorch/data/utf8.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>

namespace burt {

/// A string with its quotes; bytes that are not UTF-8 become U+FFFD.
inline std::string jsonString(std::string_view text) {
  std::string json = "\"";
  const auto escape = [&](char32_t unit) {
    char number[8];
    std::snprintf(number, sizeof number, "\\u%04x", static_cast<unsigned>(unit & 0xFFFF));
    json += number;
  };
  for (std::size_t at = 0; at < text.size();) {
    const auto [c, bytes] = burtorch::decodeUtf8(text, at);
    at += bytes > 0 ? bytes : 1;
    if (bytes == 0) {
      escape(0xFFFD);
    } else if (c >= 0x10000) {  // as two surrogates
      escape(0xD800 + ((c - 0x10000) >> 10));
      escape(0xDC00 + (c & 0x3FF));
    } else if (c < 0x20 || c > 0x7E) {
      escape(c);
    } else {
      if (c == '"' || c == '\\') json += '\\';
      json += static_cast<char>(c);
    }
  }
  return json + '"';
}

/// A number that reads as the same one; JSON has no NaN and no infinity: null, and the largest number.
inline std::string jsonNumber(double number) {
  constexpr double largest = std::numeric_limits<double>::max();
  if (std::isnan(number)) return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", std::isinf(number) ? std::copysign(largest, number) : number);
  return text;
}

/// "[1,2,3]"
template <class Numbers> std::string jsonArray(const Numbers& numbers) {
  std::string json = "[";
  for (const std::uint64_t number : numbers) json += (json.size() > 1 ? "," : "") + std::to_string(number);
  return json + "]";
}

}  // namespace burt
