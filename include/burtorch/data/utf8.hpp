// UTF-8, strictly: code points out of bytes and back, and how an error names one.
//
// What the Unicode standard calls ill-formed (overlong forms, surrogates, values above U+10FFFF, truncated sequences,
// stray continuation bytes) is reported, never repaired: a repaired text would not decode to the bytes it came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "../base/config.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// One past the largest code point.
inline constexpr char32_t codePointEnd = 0x110000;

constexpr bool isSurrogate(char32_t codePoint) { return codePoint >= 0xD800 && codePoint <= 0xDFFF; }

/// A code point and the number of its bytes; 0 bytes mean that the text is not UTF-8 there.
struct Utf8Step {
  char32_t codePoint = 0;
  std::size_t bytes = 0;
};

/// The code point that starts at `at`, which must be inside the text.
constexpr Utf8Step decodeUtf8(std::string_view text, std::size_t at) {
  const auto byteAt = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byteAt(at);
  if (lead < 0x80) return {lead, 1};
  // C0 and C1 could only start overlong forms, F5 and up only values beyond the last code point.
  if (lead < 0xC2 || lead > 0xF4) return {};
  const std::size_t bytes = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() - at < bytes) return {};
  char32_t codePoint = lead & (0x7Fu >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    const std::uint8_t next = byteAt(at + i);
    if ((next & 0xC0) != 0x80) return {};
    codePoint = codePoint << 6 | (next & 0x3F);
  }
  const bool isOverlong = (bytes == 3 && codePoint < 0x800) || (bytes == 4 && codePoint < 0x10000);
  if (isOverlong || isSurrogate(codePoint) || codePoint >= codePointEnd) return {};
  return {codePoint, bytes};
}

inline void appendUtf8(std::string& text, char32_t codePoint) {
  const auto append = [&](char32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto appendRest = [&](int shift) { append(0x80 | (codePoint >> shift & 0x3F)); };
  if (codePoint < 0x80) {
    append(codePoint);
  } else if (codePoint < 0x800) {
    append(0xC0 | codePoint >> 6);
    appendRest(0);
  } else if (codePoint < 0x10000) {
    append(0xE0 | codePoint >> 12);
    appendRest(6);
    appendRest(0);
  } else {
    append(0xF0 | codePoint >> 18);
    appendRest(12);
    appendRest(6);
    appendRest(0);
  }
}

/// The text, with U+FFFD for each byte that does not belong to a character.
inline std::string asUtf8(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = decodeUtf8(text, at);
    appendUtf8(result, step.bytes > 0 ? step.codePoint : U'\uFFFD');
    at += step.bytes > 0 ? step.bytes : 1;
  }
  return result;
}

/// How an error names a character: 'é' (U+00E9). The character itself is shown only where it is sure to be visible:
/// others could be blank, move the cursor or turn the line around.
inline std::string nameOfCharacter(char32_t codePoint) {
  std::string name;
  const bool isAscii = codePoint > 0x20 && codePoint < 0x7F;
  const bool isLatinGreekOrCyrillic =
      (codePoint >= 0xC0 && codePoint < 0x300) || (codePoint >= 0x391 && codePoint < 0x482);
  if (isAscii || isLatinGreekOrCyrillic) {
    name += '\'';
    appendUtf8(name, codePoint);
    name += "' ";
  }
  char number[16];
  std::snprintf(number, sizeof number, "U+%04X", static_cast<unsigned>(codePoint));
  return name.empty() ? number : name + '(' + number + ')';
}

}  // namespace burtorch::inline BURTORCH_TARGET
