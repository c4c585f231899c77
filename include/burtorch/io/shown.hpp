// Text from outside (a path, a name from a file) as a part of an error sentence: short, so that the reason behind it has
// room, and without control characters, since a sentence may be shown on a terminal.
#pragma once

#include <string>
#include <string_view>

namespace burtorch {

/// The text, or its end if it is long: the end of a path or of a parameter's name tells the most.
inline std::string shown(std::string_view text, std::size_t longest = 80) {
  std::string result;
  if (text.size() > longest) {
    text.remove_prefix(text.size() - longest);
    // Not from the middle of a UTF-8 character.
    while (!text.empty() && (static_cast<unsigned char>(text[0]) & 0xC0U) == 0x80U) text.remove_prefix(1);
    result = "...";
  }
  for (const char c : text) result += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  return result;
}

}  // namespace burtorch
