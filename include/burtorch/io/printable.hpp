// Text from outside (a path, a name from a file) as a part of an error sentence: short, so that the reason behind it has
// room, and harmless, since a sentence may be shown on a terminal. There a control character can move the cursor, clear
// the screen or answer in the user's name, and a mark of direction can turn a line around.
#pragma once

#include <string>
#include <string_view>

#include "../data/utf8.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// False for characters that a terminal obeys instead of showing, and for those that are there without being seen.
constexpr bool isShowable(char32_t c) {
  const auto isIn = [c](char32_t first, char32_t last) { return c >= first && c <= last; };
  const bool isControl = c < 0x20 || isIn(0x7F, 0x9F);  // from 80 on as from ESC on: 9B begins a command
  const bool isDirection = c == 0x61C || isIn(0x200E, 0x200F) || isIn(0x202A, 0x202E) || isIn(0x2066, 0x2069);
  const bool isUnseen = c == 0xAD || isIn(0x200B, 0x200D) || isIn(0x2028, 0x2029) || isIn(0x2060, 0x2064) ||
                        isIn(0x206A, 0x206F) || c == 0xFEFF || isIn(0xFFF9, 0xFFFB) || isIn(0xE0000, 0xE007F);
  return !isControl && !isDirection && !isUnseen;
}

/// The text, or its end if it is long: the end of a path or of a parameter's name tells the most. What is not showable
/// or not UTF-8 becomes '?'.
inline std::string printable(std::string_view text, std::size_t longest = 80) {
  std::string result;
  if (text.size() > longest) {
    text.remove_prefix(text.size() - longest);
    // Not from the middle of a UTF-8 character.
    while (!text.empty() && (static_cast<unsigned char>(text[0]) & 0xC0U) == 0x80U) text.remove_prefix(1);
    result = "...";
  }
  for (std::size_t at = 0; at < text.size();) {
    const auto [character, bytes] = decodeUtf8(text, at);
    if (bytes > 0 && isShowable(character))
      result.append(text, at, bytes);
    else
      result += '?';
    at += bytes > 0 ? bytes : 1;
  }
  return result;
}

}  // namespace burtorch::inline BURTORCH_TARGET
