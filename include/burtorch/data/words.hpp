// A list of words to learn from, one per line: the model guesses each letter, and the end, from the letters before.
//
// Token 0 is the end mark '.', which also fills the context before a word begins; the letters follow in the order of
// their code points. So for "ab" and a context of 3 the samples are (...|a) (..a|b) (.ab|.), one for each letter and
// one for the end. Words are shuffled by a seed and then split, so that both parts hold words from the whole list.
//
// The words are stored in their shuffled order, each followed by the end mark. Then every stored token is the target of
// exactly one sample and the tokens before it, back to the last end mark, are its context: no index of words or
// samples is needed, and a sample is a view. While the list is read, a second copy of it is in memory.
// Carriage returns at line ends, a byte order mark and blank lines are passed over; spaces in a word are characters.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../base/check.hpp"
#include "../base/rng.hpp"
#include "parts.hpp"
#include "tokenizer.hpp"
#include "tokens.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// The tokens before a place in a word, and the token at this place.
class WordSample {
 public:
  WordSample() = default;
  WordSample(TokenView known, std::size_t context, TokenId target)
      : known_(known), context_(context), target_(target) {}

  /// The length of the context.
  std::size_t size() const { return context_; }
  /// A token of the context, the latest is the last; 0 before the word begins.
  TokenId operator[](std::size_t i) const {
    const std::size_t before = context_ - known_.size();
    return i < before ? 0 : known_[i - before];
  }
  TokenId target() const { return target_; }

  void copyContextTo(std::span<TokenId> place) const {
    if (place.size() != context_)
      fail("a context of %zu tokens cannot be copied to %zu places", context_, place.size());
    for (std::size_t i = 0; i < context_; ++i) place[i] = (*this)[i];
  }

 private:
  TokenView known_;
  std::size_t context_ = 0;
  TokenId target_ = 0;
};

/// All samples of a part, word by word. Valid as long as the tokens are.
class WordSamples {
 public:
  /// `tokens` are words that each end with token 0.
  WordSamples(TokenView tokens, std::size_t context, const char* nameOfPart = "list")
      : tokens_(tokens), context_(context), nameOfPart_(nameOfPart) {
    if (context == 0) fail("a context of 0 tokens was asked for; it must be at least 1");
    if (tokens.empty())
      fail("the %s part has no words; give it a larger fraction or take a longer list", nameOfPart);
  }

  std::size_t size() const { return tokens_.size(); }
  std::size_t context() const { return context_; }
  WordSample operator[](std::size_t i) const {
    if (i >= size())
      fail(ErrorCode::outOfRange, "sample %zu was asked for, but there are only %zu", i, size());
    std::size_t known = 0;
    while (known < context_ && known < i && tokens_[i - known - 1] != 0) ++known;
    return WordSample(tokens_.subview(i - known, known), context_, tokens_[i]);
  }

  /// The context of sample i and its one target, for an oracle.
  void read(std::size_t i, std::span<TokenId> context, std::span<TokenId> target) const {
    const WordSample sample = (*this)[i];
    sample.copyContextTo(context);
    target[0] = sample.target();
  }
  /// Fills a batch with random samples, each drawn from all of them.
  void sample(Rng& rng, std::span<WordSample> batch) const {
    if (batch.size() > size())
      fail(
          "a batch of %zu was asked for, but the %s part has only %zu samples; take a smaller batch or more "
          "words",
          batch.size(), nameOfPart_, size());
    for (WordSample& place : batch) place = (*this)[rng.index(size())];
  }

 private:
  TokenView tokens_;
  std::size_t context_;
  const char* nameOfPart_;
};

struct WordOptions {
  /// Which fraction of the words is for validation.
  double validation = 0.1;
  /// Decides the order of the words, and so which of them train.
  std::uint64_t seed = 0;
  /// An ASCII character that is in no word.
  char endMark = '.';
  /// A saved model's vocabulary; not given: that of the list.
  std::optional<Tokenizer> tokenizer = {};
};

class WordList {
 public:
  /// The words of a text.
  explicit WordList(std::string_view text, const WordOptions& options = {})
      : WordList(split(text, options.endMark), options) {}

  /// Its `invalidAt` counts in the words as they are stored.
  const Tokenizer& tokenizer() const { return tokenizer_; }
  std::size_t wordCount() const { return wordCount_; }
  std::size_t wordCount(Part part) const {
    return part == Part::train ? trainingWords_ : wordCount_ - trainingWords_;
  }

  /// All words in their shuffled order, each followed by 0; first those that train.
  TokenView tokens() const { return tokens_.view(); }
  TokenView tokens(Part part) const {
    return part == Part::train ? tokens().subview(0, trainingTokens_)
                               : tokens().subview(trainingTokens_, tokens_.size() - trainingTokens_);
  }
  /// The samples of a part; an error if it has no words.
  WordSamples samples(Part part, std::size_t context) const {
    return WordSamples(tokens(part), context, nameOf(part));
  }

 private:
  WordList(std::vector<std::string_view> words, const WordOptions& options)
      : WordList(joinShuffled(words, options), words.size(), options) {}
  WordList(const std::string& joined, std::size_t wordCount, const WordOptions& options)
      : tokenizer_(options.tokenizer ? *options.tokenizer : Tokenizer(joined, {.endMark = options.endMark})),
        tokens_(tokenizer_.encode(joined)),
        wordCount_(wordCount),
        trainingWords_(trainingCount(wordCount, options.validation)) {
    if (tokenizer_.find(static_cast<unsigned char>(options.endMark)) != TokenId{0})
      fail(
          "the end mark is not token 0 of the given vocabulary; give the one that was saved with a model of "
          "words");
    for (std::size_t words = 0; words < trainingWords_; ++trainingTokens_)
      if (tokens_.view()[trainingTokens_] == 0) ++words;
  }

  static std::vector<std::string_view> split(std::string_view text, char endMark);
  static std::string joinShuffled(std::vector<std::string_view>& words, const WordOptions& options);

  Tokenizer tokenizer_;
  Tokens tokens_;
  std::size_t wordCount_, trainingWords_, trainingTokens_ = 0;
};

inline std::vector<std::string_view> WordList::split(std::string_view text, char endMark) {
  constexpr std::string_view byteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(byteOrderMark)) text.remove_prefix(byteOrderMark.size());
  std::vector<std::string_view> words;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    std::string_view word = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (word.ends_with('\r')) word.remove_suffix(1);
    if (word.find_first_not_of(" \t") == std::string_view::npos) continue;
    if (word.find(endMark) != std::string_view::npos)
      fail(
          "line %zu of the word list contains %s, which marks the end of a word; take it out or choose "
          "another end mark",
          line, nameOfCharacter(static_cast<unsigned char>(endMark)).c_str());
    words.push_back(word);
  }
  if (words.empty()) fail("the word list has no words; give a text with one word per line");
  return words;
}

/// The words in random order, each followed by the end mark.
inline std::string WordList::joinShuffled(std::vector<std::string_view>& words, const WordOptions& options) {
  Rng rng(options.seed);
  for (std::size_t left = words.size(); left > 1; --left) std::swap(words[left - 1], words[rng.index(left)]);
  std::size_t bytes = 0;
  for (const std::string_view word : words) bytes += word.size() + 1;
  std::string joined;
  joined.reserve(bytes);
  for (const std::string_view word : words) (joined += word) += options.endMark;
  return joined;
}

}  // namespace burtorch::inline BURTORCH_TARGET
