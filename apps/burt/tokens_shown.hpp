// Tokens on a terminal. A vocabulary comes from a file and may hold anything: characters that a terminal obeys instead of
// showing become a dot, except newlines and tabs.
#pragma once

#include <burtorch/data/utf8.hpp>
#include <burtorch/data/utf8_stream.hpp>
#include <string>
#include <string_view>

#include "any_tokenizer.hpp"

namespace burt {

/// Control characters, and marks that turn the direction of the text behind them.
constexpr bool isObeyed(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

/// Whole characters, as a terminal may get them.
inline std::string shownText(std::string_view text) {
  std::string shown;
  for (std::size_t at = 0; at < text.size();) {
    const auto [character, bytes] = burtorch::decodeUtf8(text, at);
    const bool isShown = bytes > 0 && (!isObeyed(character) || character == '\n' || character == '\t');
    shown += isShown ? text.substr(at, bytes) : "·";
    at += bytes > 0 ? bytes : 1;
  }
  return shown;
}

/// Tokens one after the other, as a terminal may get them. A character that several byte pairs make up is shown with the last
/// of them; a token of one byte, of data that is no text, is shown by itself.
class TokensShown {
 public:
  explicit TokensShown(const AnyTokenizer& tokenizer) : tokenizer_(tokenizer) {}
  std::string push(burtorch::TokenId token) {
    const std::string bytes = tokenizer_.decode(token);
    return shownText(tokenizer_.characters() != nullptr ? bytes : stream_.push(bytes));
  }
  /// What is left at the end.
  std::string finish() { return shownText(stream_.finish()); }

 private:
  const AnyTokenizer& tokenizer_;
  burtorch::Utf8Stream stream_;
};

}  // namespace burt
