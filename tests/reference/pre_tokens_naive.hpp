// The twin of data/pre_tokens.hpp: GPT-2's regular expression, alternative by alternative, with its backtracking, on a text
// of decoded code points.
#pragma once

#include <burtorch/data/unicode_classes.hpp>
#include <burtorch/data/utf8.hpp>
#include <string>
#include <string_view>
#include <vector>

class NaivePreTokens {
 public:
  explicit NaivePreTokens(std::string_view text) {
    for (std::size_t at = 0; at < text.size();) {
      const burtorch::Utf8Step step = burtorch::decodeUtf8(text, at);
      const std::size_t bytes = step.bytes > 0 ? step.bytes : 1;
      characters_.push_back({step.bytes > 0 ? step.codePoint : U'\uFFFD', text.substr(at, bytes)});
      at += bytes;
    }
  }

  std::vector<std::string> pieces() const {
    std::vector<std::string> result;
    for (std::size_t at = 0; at < characters_.size();) {
      const std::size_t length = match(at);
      std::string piece;
      for (std::size_t i = 0; i < length; ++i) piece += characters_[at + i].bytes;
      result.push_back(piece);
      at += length;
    }
    return result;
  }

 private:
  using Class = burtorch::CharacterClass;
  struct Character {
    char32_t codePoint;
    std::string_view bytes;
  };

  bool is(std::size_t at, Class wanted) const {
    return at < characters_.size() && burtorch::CharacterClasses().of(characters_[at].codePoint) == wanted;
  }
  bool is(std::size_t at, std::u32string_view text) const {
    for (std::size_t i = 0; i < text.size(); ++i)
      if (at + i >= characters_.size() || characters_[at + i].codePoint != text[i]) return false;
    return true;
  }
  std::size_t run(std::size_t at, Class wanted) const {
    std::size_t length = 0;
    while (is(at + length, wanted)) ++length;
    return length;
  }
  std::size_t match(std::size_t at) const {
    for (const std::u32string_view text : {U"'s", U"'t", U"'re", U"'ve", U"'m", U"'ll", U"'d"})
      if (is(at, text)) return text.size();
    for (const Class wanted : {Class::letter, Class::number, Class::other})
      for (const std::size_t space : {1u, 0u})
        if ((space == 0 || is(at, U" ")) && run(at + space, wanted) > 0)
          return space + run(at + space, wanted);
    for (std::size_t length = run(at, Class::space); length > 0; --length)
      if (at + length == characters_.size() || is(at + length, Class::space)) return length;
    return run(at, Class::space);
  }

  std::vector<Character> characters_;
};
