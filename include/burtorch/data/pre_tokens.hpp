// The pieces of a text that GPT-2 tokenizes one by one: words with the space before them, numbers, punctuation, blanks.
//
// These are the matches, from left to right, of
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// found without a regular expression: what begins at a place is decided by one or two characters, and each character is
// read at most twice, however long a piece is. Together the pieces are the text. A byte that does not belong to a UTF-8
// character is of class `other`, as U+FFFD is, which a repaired text would have there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "../base/config.hpp"
#include "unicode_classes.hpp"
#include "utf8.hpp"

namespace burtorch::inline BURTORCH_TARGET {

class PreTokens {
 public:
  explicit PreTokens(std::string_view text) : text_(text) {}

  /// The next piece; empty after the last.
  std::string_view next() {
    const std::size_t first = at_;
    if (first == text_.size()) return {};
    at_ = endOfPiece(first);
    return text_.substr(first, at_ - first);
  }

 private:
  struct Character {
    CharacterClass kind;
    std::size_t bytes;
  };
  Character characterAt(std::size_t at) {
    const auto byte = static_cast<std::uint8_t>(text_[at]);
    if (byte < 0x80) return {classes_.of(byte), 1};
    const auto [codePoint, bytes] = decodeUtf8(text_, at);
    if (bytes == 0) return {CharacterClass::other, 1};
    return {classes_.of(codePoint), bytes};
  }

  std::size_t endOfPiece(std::size_t first) {
    if (text_[first] == '\'')
      if (const std::size_t length = contractionAt(first)) return first + length;
    const std::size_t body = text_[first] == ' ' ? first + 1 : first;
    if (body < text_.size()) {
      const Character character = characterAt(body);
      if (character.kind != CharacterClass::space) return endOfRun(body + character.bytes, character.kind);
    }
    return endOfSpaces(first);
  }
  std::size_t endOfRun(std::size_t at, CharacterClass kind) {
    while (at < text_.size()) {
      const Character character = characterAt(at);
      if (character.kind != kind) break;
      at += character.bytes;
    }
    return at;
  }
  /// \s+(?!\S)|\s+: the last blank before something else is left for the next piece, unless it is the only one.
  std::size_t endOfSpaces(std::size_t first) {
    std::size_t at = first, last = first;
    while (at < text_.size()) {
      const Character character = characterAt(at);
      if (character.kind != CharacterClass::space) return last > first ? last : at;
      last = at;
      at += character.bytes;
    }
    return at;
  }
  /// The length of 's, 't, 're, 've, 'm, 'll or 'd; 0 if there is none.
  std::size_t contractionAt(std::size_t first) const {
    const char one = first + 1 < text_.size() ? text_[first + 1] : '\0';
    const char two = first + 2 < text_.size() ? text_[first + 2] : '\0';
    if (one == 's' || one == 't' || one == 'm' || one == 'd') return 2;
    return (one == 'r' && two == 'e') || (one == 'v' && two == 'e') || (one == 'l' && two == 'l') ? 3 : 0;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  CharacterClasses classes_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
