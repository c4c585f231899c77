// The vocabulary of a text: which characters there are and which token each one is.
//
// A character is a UTF-8 code point or a byte. Tokens are numbered in the order of the code points, so a vocabulary
// depends on which characters a text has and not on where they stand. By default a text that is not UTF-8 is taken byte
// by byte, and `invalidAt` says where it stopped being UTF-8. Nothing is normalised: byte order marks and carriage
// returns are characters like any other, and decode(encode(text)) is the text, byte for byte.
// Cost: one pass over the text for each of vocabulary and encoding; the text is read where it lies and may be mapped.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../base/check.hpp"
#include "tokens.hpp"
#include "utf8.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// What one token stands for.
enum class TokenUnit : std::uint8_t { codePoint, byte };

struct TokenizerOptions {
  /// Not given: code points if the text is UTF-8, otherwise bytes.
  std::optional<TokenUnit> unit = {};
  /// A character that becomes token 0 whatever its code point, and is in the vocabulary even if the text lacks it.
  std::optional<char> endMark = {};
};

class Tokenizer {
 public:
  /// The vocabulary of a text.
  explicit Tokenizer(std::string_view text, const TokenizerOptions& options = {})
      : unit_(options.unit.value_or(TokenUnit::codePoint)) {
    if (text.empty())
      fail("a vocabulary was to be made from an empty text; give a text of at least 2 characters");
    const std::size_t invalid = markUsed(text);
    if (invalid < text.size()) {
      if (options.unit)
        fail("the text is not UTF-8 at byte %zu (0x%02X); convert it, or let tokens be bytes", invalid,
             static_cast<unsigned>(static_cast<std::uint8_t>(text[invalid])));
      unit_ = TokenUnit::byte;
      invalidAt_ = invalid;
      used_.clear();
      markUsed(text);
    }
    if (options.endMark) setEndMark(static_cast<unsigned char>(*options.endMark));
    numberUsed();
    if (size() < 2)
      fail("the text has only one kind of character, %s; a vocabulary needs 2 or more: is it the right text?",
           nameOf(characters_.front()).c_str());
  }

  /// The vocabulary that `toString` wrote.
  static Tokenizer fromString(std::string_view saved);
  /// The vocabulary as one line of printable ASCII, such as "characters 0A 20-22 61-7A": fit for any file's header.
  std::string toString() const;

  std::size_t size() const { return characters_.size(); }
  TokenUnit unit() const { return unit_; }
  /// Where the text was found not to be UTF-8, if tokens are bytes for that reason.
  std::optional<std::size_t> invalidAt() const { return invalidAt_; }
  bool hasEndMark() const { return hasEndMark_; }

  /// The token of a code point, or of a byte if tokens are bytes; none if it is not in the vocabulary.
  std::optional<TokenId> find(char32_t character) const {
    if (character < direct_.size()) {
      if (direct_[character] == none) return {};
      return direct_[character];
    }
    // The end mark at the front is ASCII, so it is less than any character that is looked for here.
    const auto place = std::lower_bound(characters_.begin(), characters_.end(), character);
    if (place == characters_.end() || *place != character) return {};
    return static_cast<TokenId>(place - characters_.begin());
  }

  /// The tokens of a text; a character that is not in the vocabulary is an error.
  Tokens encode(std::string_view text) const {
    Tokens tokens(size());
    // As many as there are bytes that begin a character; for a text that is not UTF-8 only a guess.
    tokens.reserve(unit_ == TokenUnit::byte
                       ? text.size()
                       : static_cast<std::size_t>(std::count_if(text.begin(), text.end(),
                                                                [](char c) { return (c & 0xC0) != 0x80; })));
    for (std::size_t at = 0; at < text.size();) {
      const Utf8Step step = stepAt(text, at);
      const std::optional<TokenId> token = step.bytes > 0 ? find(step.codePoint) : std::nullopt;
      if (!token) failToEncode(text, at, step);
      tokens.push(*token);
      at += step.bytes;
    }
    return tokens;
  }

  std::string decode(TokenId token) const {
    std::string text;
    appendTo(text, token);
    return text;
  }
  std::string decode(TokenView tokens) const {
    std::string text;
    text.reserve(tokens.size());
    for (const TokenId token : tokens) appendTo(text, token);
    return text;
  }

 private:
  static constexpr TokenId none = UINT32_MAX;
  class Reader;
  Tokenizer() = default;
  bool read(Reader reader);

  Utf8Step stepAt(std::string_view text, std::size_t at) const {
    if (unit_ == TokenUnit::byte) return {static_cast<std::uint8_t>(text[at]), 1};
    return decodeUtf8(text, at);
  }

  void use(char32_t character) {
    if (character >= used_.size()) used_.resize(character + 1);
    used_[character] = true;
  }
  /// Notes which characters there are, up to where the text is not UTF-8; returns that place.
  std::size_t markUsed(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
      const Utf8Step step = stepAt(text, at);
      if (step.bytes == 0) break;
      use(step.codePoint);
      at += step.bytes;
    }
    return at;
  }
  void setEndMark(char32_t mark) {
    if (mark >= 0x80)
      fail("the end mark is the byte 0x%02X; it must be an ASCII character", static_cast<unsigned>(mark));
    hasEndMark_ = true;
    characters_.push_back(mark);
    use(mark);
    used_[mark] = false;
  }
  /// Gives tokens to the characters that are used, and forgets `used_`.
  void numberUsed() {
    for (std::size_t c = 0; c < used_.size(); ++c)
      if (used_[c]) characters_.push_back(static_cast<char32_t>(c));
    used_ = {};
    direct_.fill(none);
    for (std::size_t token = 0; token < characters_.size(); ++token)
      if (characters_[token] < direct_.size()) direct_[characters_[token]] = static_cast<TokenId>(token);
  }

  void appendTo(std::string& text, TokenId token) const {
    if (token >= size())
      fail(ErrorCode::outOfRange,
           "token %u is outside the vocabulary of %zu; was it made with another vocabulary?", token, size());
    if (unit_ == TokenUnit::byte)
      text.push_back(static_cast<char>(characters_[token]));
    else
      appendUtf8(text, characters_[token]);
  }

  std::string nameOf(char32_t character) const {
    if (unit_ == TokenUnit::codePoint || character < 0x80) return nameOfCharacter(character);
    char name[16];
    std::snprintf(name, sizeof name, "byte 0x%02X", static_cast<unsigned>(character));
    return name;
  }
  [[noreturn]] void failToEncode(std::string_view text, std::size_t at, Utf8Step step) const {
    if (step.bytes == 0)
      fail(
          "the text to encode is not UTF-8 at byte %zu (0x%02X), but the vocabulary is of UTF-8 characters; "
          "convert it",
          at, static_cast<unsigned>(static_cast<std::uint8_t>(text[at])));
    fail(
        "%s at byte %zu of the text is not in the vocabulary of %zu; leave it out, or make the vocabulary "
        "from a text that has it",
        nameOf(step.codePoint).c_str(), at, size());
  }

  TokenUnit unit_ = TokenUnit::codePoint;
  bool hasEndMark_ = false;
  std::optional<std::size_t> invalidAt_;
  /// By token; sorted, but for the end mark.
  std::vector<char32_t> characters_;
  /// The tokens of the smallest characters, which are all of a byte vocabulary and nearly all of most texts.
  std::array<TokenId, 256> direct_;
  /// While the vocabulary is being made: whether a character is in it.
  std::vector<bool> used_;
};

inline std::string Tokenizer::toString() const {
  std::string text = unit_ == TokenUnit::byte ? "bytes" : "characters";
  const auto append = [&](const char* before, char32_t character) {
    char number[16];
    std::snprintf(number, sizeof number, "%s%02X", before, static_cast<unsigned>(character));
    text += number;
  };
  if (hasEndMark_) append(" end ", characters_[0]);
  for (std::size_t first = hasEndMark_; first < size();) {
    std::size_t last = first;
    while (last + 1 < size() && characters_[last + 1] == characters_[last] + 1) ++last;
    append(" ", characters_[first]);
    if (last > first) append("-", characters_[last]);
    first = last + 1;
  }
  return text;
}

/// Reads what `toString` wrote, piece by piece.
class Tokenizer::Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool skip(std::string_view word) {
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  /// A hexadecimal number; one that is missing or too large becomes `codePointEnd`, which no vocabulary has.
  char32_t number() {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value, 16);
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return error == std::errc() && value < codePointEnd ? static_cast<char32_t>(value) : codePointEnd;
  }

 private:
  std::string_view rest_;
};

inline bool Tokenizer::read(Reader reader) {
  if (reader.skip("bytes"))
    unit_ = TokenUnit::byte;
  else if (!reader.skip("characters"))
    return false;
  if (reader.skip(" end ")) {
    const char32_t mark = reader.number();
    if (mark >= 0x80) return false;
    setEndMark(mark);
  }
  const char32_t end = unit_ == TokenUnit::byte ? 0x100 : codePointEnd;
  // Ascending, so the work is bounded by the number of characters however long the text is.
  for (char32_t next = 0; reader.skip(" ");) {
    const char32_t first = reader.number(), last = reader.skip("-") ? reader.number() : first;
    if (first < next || first > last || last >= end) return false;
    for (char32_t c = first; c <= last; ++c) {
      if ((hasEndMark_ && c == characters_[0]) || (unit_ == TokenUnit::codePoint && isSurrogate(c)))
        return false;
      use(c);
    }
    next = last + 1;
  }
  numberUsed();
  return true;
}

inline Tokenizer Tokenizer::fromString(std::string_view saved) {
  Tokenizer result;
  // Written again it must be the same: then there is one way to write a vocabulary, and no part of it was passed over.
  if (!result.read(Reader(saved)) || result.size() < 2 || result.toString() != saved)
    fail(ErrorCode::badFile,
         "expected a saved vocabulary such as 'characters 0A 20-7E' (ascending, 2 or more), found %zu bytes "
         "that are "
         "none; is the file damaged?",
         saved.size());
  return result;
}

}  // namespace burtorch::inline BURTORCH_TARGET
