// Whole characters out of bytes that come in pieces, as tokens of byte pairs do: a piece may end inside a character, and a
// terminal that gets half of one shows rubbish.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "../base/config.hpp"
#include "utf8.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Whole characters out of bytes that come in pieces. It holds back up to 3 bytes; all that it returns, one after the other, is all that it was given.
class Utf8Stream {
 public:
  /// Takes the next bytes; returns those that can be shown now. Bytes that cannot become a character are not held back.
  std::string push(std::string_view bytes) {
    std::string text = std::exchange(held_, {}) + std::string(bytes);
    const std::size_t whole = text.size() - unfinishedAtEnd(text);
    held_ = text.substr(whole);
    text.resize(whole);
    return text;
  }
  /// What is left at the end: the beginning of a character, or nothing.
  std::string finish() { return std::exchange(held_, {}); }

 private:
  /// How many bytes at the end may be the beginning of a character.
  static std::size_t unfinishedAtEnd(std::string_view text) {
    for (std::size_t bytes = 1; bytes <= 3 && bytes <= text.size(); ++bytes) {
      const auto lead = static_cast<unsigned char>(text[text.size() - bytes]);
      if ((lead & 0xC0) == 0x80) continue;
      const std::size_t length = lead < 0xC0 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
      if (length <= bytes) return 0;
      // It may if its least or its greatest continuation makes a character.
      for (const char fill : {'\x80', '\xBF'})
        if (decodeUtf8(std::string(text.substr(text.size() - bytes)).append(length - bytes, fill), 0).bytes >
            0)
          return bytes;
      return 0;
    }
    return 0;
  }

  std::string held_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
