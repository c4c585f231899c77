// Tokens on a terminal. A vocabulary comes from a file and may hold anything: characters that a terminal obeys instead of
// showing become a dot, except newlines and tabs.
#pragma once

#include <burtorch/data/tokenizer.hpp>
#include <burtorch/data/utf8.hpp>
#include <string>
#include <string_view>

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

inline std::string printableToken(const burtorch::Tokenizer& tokenizer, burtorch::TokenId token) {
  std::string text = tokenizer.decode(token);
  if (text == "\n" || text == "\t") return text;
  const auto [character, bytes] = burtorch::decodeUtf8(text, 0);
  return bytes != text.size() || isObeyed(character) ? "·" : text;
}

}  // namespace burt
