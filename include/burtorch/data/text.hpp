// A text to learn from: its tokens, and windows of them in which every token is to be guessed from those before it.
//
//   const MappedFile file("scenes.txt");
//   const TextCorpus corpus(file.text());
//   const TextWindows windows = corpus.windows(Part::train, {.context = 8});
//   std::vector<TextWindow> batch(32);
//   windows.sample(rng, batch);          // batch[i].inputs[t] is followed by batch[i].targets[t]
//
// Tokens are stored once, in a byte each if the vocabulary has up to 256; windows are views of them. No window reaches
// over the border between the training and the validation part, so nothing validated was trained on.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "../base/check.hpp"
#include "../base/rng.hpp"
#include "parts.hpp"
#include "tokenizer.hpp"
#include "tokens.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// `context` tokens, and for each the token that follows it.
struct TextWindow {
  TokenView inputs, targets;
};

struct WindowOptions {
  /// How many tokens a window has.
  std::size_t context = 8;
  /// From the start of one window to the start of the next: 1 gives every window there is, `context` gives windows that
  /// share no target.
  std::size_t stride = 1;
};

/// All windows of a part, in their order. Valid as long as the tokens are.
class TextWindows {
 public:
  TextWindows(TokenView tokens, const WindowOptions& options, const char* nameOfPart = "text")
      : tokens_(tokens), context_(options.context), stride_(options.stride) {
    if (context_ == 0 || stride_ == 0)
      fail("windows of %zu tokens, %zu apart, were asked for; both must be at least 1", context_, stride_);
    // The last target needs a token, too.
    if (tokens.size() <= context_)
      fail(
          "the %s part has %zu tokens, too few for a context of %zu and the token after it; take a shorter "
          "context or "
          "a longer text",
          nameOfPart, tokens.size(), context_);
  }

  std::size_t size() const { return (tokens_.size() - context_ - 1) / stride_ + 1; }
  std::size_t context() const { return context_; }
  TextWindow operator[](std::size_t i) const {
    if (i >= size())
      fail(ErrorCode::outOfRange, "window %zu was asked for, but there are only %zu", i, size());
    const std::size_t start = i * stride_;
    return {tokens_.subview(start, context_), tokens_.subview(start + 1, context_)};
  }

  /// The tokens of window i and what follows each of them, for an oracle.
  void read(std::size_t i, std::span<TokenId> inputs, std::span<TokenId> targets) const {
    const TextWindow window = (*this)[i];
    window.inputs.copyTo(inputs);
    window.targets.copyTo(targets);
  }
  /// Fills a batch with random windows, each drawn from all of them.
  void sample(Rng& rng, std::span<TextWindow> batch) const {
    for (TextWindow& window : batch) window = (*this)[rng.index(size())];
  }

 private:
  TokenView tokens_;
  std::size_t context_, stride_;
};

struct TextOptions {
  /// Which fraction of the text, at its end, is for validation.
  double validation = 0.1;
};

/// What turns a text into tokens and back: a Tokenizer, a BytePairTokenizer (data/bpe.hpp), or any type with these functions.
template <class T>
concept TextTokenizer = requires(const T& tokenizer, std::string_view text, TokenId token) {
  { tokenizer.size() } -> std::convertible_to<std::size_t>;
  { tokenizer.encode(text) } -> std::convertible_to<Tokens>;
  { tokenizer.decode(token) } -> std::convertible_to<std::string>;
};

/// A text as tokens, with its tokenizer and its parts.
template <TextTokenizer TokenizerOfText> class TextCorpusOf {
 public:
  /// A text with a vocabulary of its own.
  explicit TextCorpusOf(std::string_view text,
                        const TextOptions& options = {}) requires std::same_as<TokenizerOfText, Tokenizer>
      : TextCorpusOf(text, Tokenizer(text), options) {}
  /// A text with a given vocabulary, such as a saved model's.
  TextCorpusOf(std::string_view text, TokenizerOfText tokenizer, const TextOptions& options = {})
      : tokenizer_(std::move(tokenizer)),
        tokens_(tokenizer_.encode(text)),
        trainingCount_(trainingCount(tokens_.size(), options.validation)) {}

  const TokenizerOfText& tokenizer() const { return tokenizer_; }
  /// All tokens, first those that train.
  TokenView tokens() const { return tokens_.view(); }
  TokenView tokens(Part part) const {
    return part == Part::train ? tokens().subview(0, trainingCount_)
                               : tokens().subview(trainingCount_, tokens_.size() - trainingCount_);
  }
  /// The windows of a part; an error if it is shorter than one window.
  TextWindows windows(Part part, const WindowOptions& options) const {
    return TextWindows(tokens(part), options, nameOf(part));
  }

 private:
  TokenizerOfText tokenizer_;
  Tokens tokens_;
  std::size_t trainingCount_;
};
/// A text whose tokens are its characters.
using TextCorpus = TextCorpusOf<Tokenizer>;

}  // namespace burtorch::inline BURTORCH_TARGET
