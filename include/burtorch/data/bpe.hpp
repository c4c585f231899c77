// GPT-2's tokenizer: byte pairs merged inside words, so that any bytes have tokens and frequent words have one.
//
//   const BytePairTokenizer tokenizer = loadBytePairs("gpt2");     // io/bpe_files.hpp: vocab.json and merges.txt
//   const Tokens tokens = tokenizer.encode("Hello world");         // 15496 995
//   tokenizer.decode(tokens);                                      // the text, byte for byte
//
// A text is split into words (pre_tokens.hpp), and each word's bytes are merged (bpe_merges.hpp). Tokens are those of
// Hugging Face's `tokenizers` (ByteLevelBPETokenizer, add_prefix_space off) for every text in UTF-8. That package takes
// no other; here each byte that is not part of a UTF-8 character splits words as U+FFFD does, and stays itself. Nothing
// is normalised, and special tokens such as <|endoftext|> never come from a text, even one that spells them.
// Cost: words that are one token, most of them in prose, are found in a hash table made once; the others are merged in
// O(n log n). The object does not change after it is made, so any number of threads may use it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../base/check.hpp"
#include "../base/token_id.hpp"
#include "bpe_merges.hpp"
#include "pre_tokens.hpp"
#include "tokens.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// What a BytePairTokenizer is made of. Every token is a byte, the result of a merge, or special.
struct BytePairVocabulary {
  /// The bytes of each token, by its id.
  std::vector<std::string> tokens;
  /// By rank: the first is applied first.
  std::vector<BytePairMerge> merges;
  /// Tokens that no text has, such as <|endoftext|>.
  std::vector<TokenId> special;
};

/// GPT-2's tokenizer, for any bytes.
class BytePairTokenizer {
 public:
  /// A vocabulary that does not hold together is an error.
  explicit BytePairTokenizer(const BytePairVocabulary& vocabulary)
      : isSpecial_(specialOf(vocabulary)), merges_(checkedMerges(vocabulary)) {
    findBytes(vocabulary);
    joinTokens(vocabulary);
    findWholeWords();
    for (const TokenId token : vocabulary.special)
      if (bytesOf(token) == "<|endoftext|>") endOfText_ = token;
  }

  std::size_t size() const { return starts_.size() - 1; }
  /// The token <|endoftext|>, which GPT-2 puts between texts; none if the vocabulary lacks it.
  std::optional<TokenId> endOfText() const { return endOfText_; }
  /// Whether the token never comes from a text.
  bool isSpecial(TokenId token) const {
    check(token);
    return isSpecial_[token];
  }

  /// The tokens of any bytes.
  Tokens encode(std::string_view text) const {
    Tokens tokens(size());
    encode(text, [&](TokenId token) { tokens.push(token); });
    return tokens;
  }
  /// Calls `each(token)` for the tokens of any bytes, in their order.
  template <class Each> void encode(std::string_view text, Each&& each) const {
    Scratch scratch;
    PreTokens words(text);
    for (std::string_view word = words.next(); !word.empty(); word = words.next()) {
      const TokenId whole = findWhole(word);
      if (whole != noToken)
        each(whole);
      else
        for (const TokenId token : merged(word, scratch)) each(token);
    }
  }

  /// The bytes of one token, for output that follows the tokens as they come. They may end inside a UTF-8 character.
  std::string_view bytesOf(TokenId token) const {
    check(token);
    return std::string_view(bytes_).substr(starts_[token], starts_[token + 1] - starts_[token]);
  }
  std::string decode(TokenId token) const { return std::string(bytesOf(token)); }
  std::string decode(TokenView tokens) const {
    std::string text;
    for (const TokenId token : tokens) text += bytesOf(token);
    return text;
  }

 private:
  struct Scratch {
    std::array<TokenId, BytePairMerges::longestShort> few;
    std::vector<TokenId> many;
    BytePairMerges::Scratch merging;
  };
  /// A place of the hash table of whole words.
  struct Slot {
    std::uint32_t check = 0;
    TokenId token = noToken;
  };

  static std::vector<bool> specialOf(const BytePairVocabulary& vocabulary) {
    const std::size_t size = vocabulary.tokens.size();
    if (size < 256 || size >= noToken)
      fail("BytePairTokenizer: expected 256 tokens or more, one for each byte, got %zu", size);
    std::vector<bool> isSpecial(size);
    for (const TokenId token : vocabulary.special) {
      if (token >= size)
        fail("BytePairTokenizer: special token %u is outside the vocabulary of %zu", token, size);
      isSpecial[token] = true;
    }
    return isSpecial;
  }
  /// The merges, which make all tokens that are neither bytes nor special, and make nothing else.
  BytePairMerges checkedMerges(const BytePairVocabulary& vocabulary) const {
    const std::vector<std::string>& tokens = vocabulary.tokens;
    std::vector<bool> isMade = isSpecial_;
    for (const auto& [left, right, result] : vocabulary.merges) {
      for (const TokenId token : {left, right, result})
        if (token >= tokens.size() || isSpecial_[token])
          fail("BytePairTokenizer: the merge of %u and %u to %u names token %u, which is %s", left, right,
               result, token, token < tokens.size() ? "special" : "outside the vocabulary");
      if (tokens[left].empty() || tokens[right].empty() || tokens[result] != tokens[left] + tokens[right])
        fail(
            "BytePairTokenizer: the merge of tokens %u and %u must have the bytes of both, token %u has "
            "others",
            left, right, result);
      isMade[result] = true;
    }
    for (std::size_t token = 0; token < tokens.size(); ++token)
      if (!isMade[token] && tokens[token].size() != 1)
        fail(
            "BytePairTokenizer: token %zu is %zu bytes long, but no merge makes it; list it as special if no "
            "text "
            "has it",
            token, tokens[token].size());
    return BytePairMerges(vocabulary.merges);
  }
  void findBytes(const BytePairVocabulary& vocabulary) {
    byteTokens_.fill(noToken);
    for (std::size_t token = 0; token < vocabulary.tokens.size(); ++token) {
      if (isSpecial_[token] || vocabulary.tokens[token].size() != 1) continue;
      TokenId& known = byteTokens_[static_cast<std::uint8_t>(vocabulary.tokens[token][0])];
      if (known != noToken)
        fail("BytePairTokenizer: tokens %u and %zu are the same byte 0x%02X; leave one out", known, token,
             static_cast<unsigned>(static_cast<std::uint8_t>(vocabulary.tokens[token][0])));
      known = static_cast<TokenId>(token);
    }
    for (unsigned byte = 0; byte < 256; ++byte)
      if (byteTokens_[byte] == noToken)
        fail("BytePairTokenizer: expected a token for each of the 256 bytes, got none for 0x%02X", byte);
  }
  void joinTokens(const BytePairVocabulary& vocabulary) {
    starts_.reserve(vocabulary.tokens.size() + 1);
    for (const std::string& token : vocabulary.tokens) {
      starts_.push_back(static_cast<std::uint32_t>(bytes_.size()));
      bytes_ += token;
      if (bytes_.size() > UINT32_MAX)
        fail("BytePairTokenizer: expected tokens of less than 4 GB together, got more");
    }
    starts_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }
  /// Notes the tokens that merging makes of their own bytes: not special ones, and with odd merges not all others.
  void findWholeWords() {
    std::size_t slots = 512;
    while (slots < 2 * size()) slots *= 2;
    whole_.resize(slots);
    Scratch scratch;
    for (TokenId token = 0; token < size(); ++token) {
      const std::string_view bytes = bytesOf(token);
      const std::span<const TokenId> made = merged(bytes, scratch);
      if (made.size() != 1 || made[0] != token) continue;
      whole_[wholePlaceOf(bytes)] = {checkOf(hashOf(bytes)), token};
      longestWhole_ = std::max(longestWhole_, bytes.size());
    }
  }

  void check(TokenId token) const {
    if (token >= size())
      fail(ErrorCode::outOfRange,
           "token %u is outside the vocabulary of %zu; was it made with another vocabulary?", token, size());
  }

  std::span<const TokenId> merged(std::string_view word, Scratch& scratch) const {
    if (word.size() > UINT32_MAX)
      fail("BytePairTokenizer: a word of %zu bytes is too long; break it with a space", word.size());
    std::span<TokenId> tokens = scratch.few;
    if (word.size() > tokens.size()) {
      scratch.many.resize(word.size());
      tokens = scratch.many;
    }
    for (std::size_t i = 0; i < word.size(); ++i) tokens[i] = byteTokens_[static_cast<std::uint8_t>(word[i])];
    return tokens.first(merges_.merge(tokens.first(word.size()), scratch.merging));
  }

  static std::uint64_t hashOf(std::string_view word) {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u;
    std::uint64_t hash = word.size();
    const auto add = [&](const char* from, std::size_t bytes) {
      std::uint64_t part = 0;
      std::memcpy(&part, from, bytes);
      hash = (hash ^ part) * odd;
      hash ^= hash >> 32;
    };
    for (; word.size() >= 8; word.remove_prefix(8)) add(word.data(), 8);
    if ((word.size() & 4) != 0) {
      add(word.data(), 4);
      word.remove_prefix(4);
    }
    if ((word.size() & 2) != 0) {
      add(word.data(), 2);
      word.remove_prefix(2);
    }
    if (!word.empty()) add(word.data(), 1);
    return hash;
  }
  static std::uint32_t checkOf(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
  /// The slot that has the word, or the free one where it belongs.
  std::size_t wholePlaceOf(std::string_view word) const {
    const std::uint64_t hash = hashOf(word);
    const std::size_t mask = whole_.size() - 1;
    std::size_t place = static_cast<std::size_t>(hash) & mask;
    for (; whole_[place].token != noToken; place = (place + 1) & mask)
      if (whole_[place].check == checkOf(hash) && bytesOf(whole_[place].token) == word) break;
    return place;
  }
  /// The token that a word is, or `noToken`.
  TokenId findWhole(std::string_view word) const {
    return word.size() > longestWhole_ ? noToken : whole_[wholePlaceOf(word)].token;
  }

  std::vector<bool> isSpecial_;
  BytePairMerges merges_;
  std::array<TokenId, 256> byteTokens_;
  /// The bytes of all tokens, and where each begins.
  std::string bytes_;
  std::vector<std::uint32_t> starts_;
  /// Words that are one token, by their bytes.
  std::vector<Slot> whole_;
  std::size_t longestWhole_ = 0;
  std::optional<TokenId> endOfText_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
