// The character-level MLP of Bengio et al. as in makemore (paper 2.4): the embeddings of the last `context` characters, one
// hidden layer of tanh, and logits of the next character. The defaults are the paper's: 1052 e + 1755 parameters for e
// hidden units.
#pragma once

#include <vector>

#include "../nn/cross_entropy.hpp"
#include "../nn/elementwise.hpp"
#include "../nn/parameter_store.hpp"
#include "../nn/token_linear.hpp"
#include "validated.hpp"

namespace burtorch::inline BURTORCH_TARGET {

struct CharMlpConfig {
  std::size_t vocabulary = 27, context = 16, embedding = 64, hidden = 64;

  void check() const {
    if (vocabulary < 2 || context == 0 || embedding == 0 || hidden == 0)
      fail("a char MLP needs a vocabulary of at least 2 and no size of 0");
    if (embedding > OperandWord::maxParameters || context > OperandWord::maxParameters / embedding)
      fail("a char MLP: a context of %zu characters of %zu numbers is too large", context, embedding);
  }
};

template <class T, Config C = defaultConfig> class CharMlp {
 public:
  using Scalar = T;
  static constexpr Config tapeConfig = C;
  static constexpr bool isGraphFixed = true;  // what is recorded depends on the tokens, never on a value

  explicit CharMlp(const CharMlpConfig& config)
      : config_(validated(config)),
        tokens_(layout_, "embedding", config.vocabulary, config.embedding),
        hidden_(layout_, "hidden", config.context * config.embedding, config.hidden),
        output_(layout_, "output", config.hidden, config.vocabulary) {}

  const CharMlpConfig& config() const { return config_; }
  const ParameterLayout& layout() const { return layout_; }

  // What an oracle asks for: a column is a sample.
  static std::size_t columnsFor(std::size_t samples) { return samples; }
  std::size_t tokenCount(std::size_t columns) const { return config_.context * columns; }
  std::size_t tokensPerSample() const { return config_.context; }
  std::size_t targetsPerSample() const { return 1; }
  std::size_t tokenAt(std::size_t sample, std::size_t place, std::size_t columns) const {
    return place * columns + sample;
  }
  std::size_t targetAt(std::size_t sample, std::size_t /*place*/) const { return sample; }
  /// More samples share more (place, token) pairs.
  std::size_t bestTile() const { return 64; }

  /// The logits of the next character, [vocabulary][columns]. `tokens` are [place][column].
  Matrix<T, C> logits(std::span<const TokenId> tokens, std::size_t columns) const {
    // One column shares nothing.
    const Matrix<T, C> hidden = columns > 1 ? tokenLinear<T, C>(tokens_, hidden_, tokens, columns)
                                            : hidden_(tokens_.template lookup<T, C>(tokens, columns));
    return output_(tanh(hidden));
  }
  /// The mean cross-entropy of the columns that have a target.
  Value<T, C> loss(std::span<const TokenId> tokens, std::span<const TokenId> targets) const {
    return meanCrossEntropy(logits(tokens, targets.size()), targets);
  }

 private:
  CharMlpConfig config_;
  ParameterLayout layout_;
  Embedding tokens_;
  Linear hidden_, output_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
