// A decoder-only transformer (paper 2.5): token and position embedding, blocks of causal attention and a feed-forward
// network, each after a layer norm and added to what came in, and a linear head. The defaults are the paper's: 46,289
// parameters. Every size is an option; names of parameters are those of the equivalent PyTorch module. A model holds offsets
// into a layout and no numbers: one object serves any number of tapes and threads, each bound to a store of that layout.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "../nn/activation.hpp"
#include "../nn/attention.hpp"
#include "../nn/cross_entropy.hpp"
#include "../nn/dropout.hpp"
#include "../nn/elementwise.hpp"
#include "../nn/embedding.hpp"
#include "../nn/layer_norm.hpp"
#include "../nn/linear.hpp"
#include "../nn/parameter_store.hpp"
#include "validated.hpp"

namespace burtorch::inline BURTORCH_TARGET {

struct GptConfig {
  std::size_t vocabulary = 65, context = 8, width = 24, layers = 6, heads = 6;
  // Rows of the token embedding and of the head, for sizes that kernels like better (nanoGPT has 50304 for 50257); 0: as many
  // as the vocabulary. As in nanoGPT, the rows beyond it take part in the softmax of a loss, which drives their logits down;
  // they are no tokens: never read, never a target, never generated.
  std::size_t paddedVocabulary = 0;
  std::size_t hidden = 0;         // of the feed-forward network; 0: four times the width
  bool finalNorm = false;         // GPT-2 has one
  bool hasAttentionBias = false;  // on q, k, v; GPT-2 has them
  bool hasBiases = true;          // on everything else; nanoGPT does without, on q, k, v too
  bool isTied = false;            // the head has the weights of the token embedding and no bias; GPT-2's has
  Activation activation = Activation::relu;  // of the feed-forward network; GPT-2 has geluTanh

  double normEpsilon = 1e-5;  // of the layer norms
  // The probability with which a training drops a number: of the sum of the embeddings, of the weights of attention, and of what
  // attention and the feed-forward network add. Only a loss that is given a DropoutKey has it.
  double dropout = 0;

  std::size_t vocabularyRows() const { return paddedVocabulary > 0 ? paddedVocabulary : vocabulary; }
  std::size_t hiddenWidth() const { return hidden > 0 ? hidden : 4 * width; }
  void check() const {
    if (vocabulary < 2 || context == 0 || width == 0 || layers == 0 || heads == 0)
      fail("a GPT needs a vocabulary of at least 2 and no size of 0");
    if (paddedVocabulary > 0 && paddedVocabulary < vocabulary)
      fail("a GPT with a vocabulary of %zu cannot have it padded to %zu; choose at least as many", vocabulary,
           paddedVocabulary);
    if (!(normEpsilon > 0))
      fail("the epsilon of a GPT's layer norms is %g; it must be positive", normEpsilon);
    if (!(dropout >= 0 && dropout < 1))
      fail("the dropout of a GPT is %g; expected a probability of at least 0 and below 1", dropout);
    if (hasAttentionBias && !hasBiases) fail("a GPT without biases cannot have them on q, k and v");
    if (width % heads != 0) fail("a width of %zu cannot be shared among %zu heads", width, heads);
  }
};

template <class T, Config C = defaultConfig> class Gpt {
 public:
  using Scalar = T;
  static constexpr Config tapeConfig = C;
  static constexpr bool isGraphFixed = true;  // what is recorded depends on the tokens, never on a value

  explicit Gpt(const GptConfig& config)
      : config_(validated(config)),
        tokens_(layout_, "wte", config.vocabularyRows(), config.width),
        positions_(layout_, "wpe", config.context, config.width) {
    for (std::size_t i = 0; i < config.layers; ++i)
      blocks_.emplace_back(layout_, "blocks." + std::to_string(i) + ".", config);
    if (config.finalNorm) finalNorm_.emplace_back(normOf(layout_, "ln_f", config));
    if (config.isTied)
      head_.emplace_back(tokens_.table);
    else
      head_.emplace_back(layout_, "head", config.width, config.vocabularyRows(), config.hasBiases);
    places_.resize(config.context);
    std::iota(places_.begin(), places_.end(), TokenId{0});
  }

  const GptConfig& config() const { return config_; }
  const ParameterLayout& layout() const { return layout_; }

  // What an oracle asks for: a column is a position of a sample.
  std::size_t columnsFor(std::size_t samples) const { return samples * config_.context; }
  std::size_t tokenCount(std::size_t columns) const { return columns; }
  std::size_t tokensPerSample() const { return config_.context; }
  std::size_t targetsPerSample() const { return config_.context; }
  std::size_t tokenAt(std::size_t sample, std::size_t place, std::size_t /*columns*/) const {
    return sample * config_.context + place;
  }
  std::size_t targetAt(std::size_t sample, std::size_t place) const {
    return sample * config_.context + place;
  }
  /// As many samples as pay for reading the weights: some 32 columns where these stay in a near cache, 256 where they do not.
  std::size_t bestTile() const {
    const std::size_t columns = config_.width < 64 ? 32 : 256;
    return std::max<std::size_t>(1, columns / config_.context);
  }

  /// The logits of every position, [rows of the vocabulary][columns], of samples with `positions` tokens each; 0: a whole context. A
  /// shorter text than the context is one sample of its own length.
  Matrix<T, C> logits(std::span<const TokenId> tokens, std::size_t positions = 0) const {
    return logitsDropping(0, tokens, positions, {});
  }
  /// The same with the dropout of a training's step; without one in the config these are the logits above.
  Matrix<T, C> logits(std::span<const TokenId> tokens, std::size_t positions, const DropoutKey& key) const {
    return logitsDropping(config_.dropout, tokens, positions, key);
  }
  /// The mean cross-entropy of all positions that have a target.
  Value<T, C> loss(std::span<const TokenId> tokens, std::span<const TokenId> targets) const {
    requireInVocabulary(targets, "target");
    return meanCrossEntropy(logits(tokens), targets);
  }
  /// The same with the dropout of a training's step.
  Value<T, C> loss(std::span<const TokenId> tokens, std::span<const TokenId> targets,
                   const DropoutKey& key) const {
    requireInVocabulary(targets, "target");
    return meanCrossEntropy(logits(tokens, 0, key), targets);
  }

 private:
  /// The dropouts of one recording, in the order of the model: each has a key of its own, and its columns are those of a batch.
  struct Dropouts {
    double probability;
    DropoutKey key;
    std::size_t firstColumn;
    std::uint64_t site = 0;

    Dropout next() { return {probability, probability > 0 ? key.of(site++) : 0, firstColumn}; }
  };
  Matrix<T, C> logitsDropping(double probability, std::span<const TokenId> tokens, std::size_t positions,
                              const DropoutKey& key) const {
    if (positions == 0) positions = config_.context;
    if (positions > config_.context)
      fail("Gpt: samples of %zu tokens are longer than the context, %zu", positions, config_.context);
    if (tokens.empty() || tokens.size() % positions != 0)
      fail("Gpt: expected a multiple of %zu tokens, got %zu", positions, tokens.size());
    requireInVocabulary(tokens, "token");
    Dropouts dropouts{probability, key, key.firstSample * positions};
    Matrix<T, C> x = dropout(tokens_.template lookup<T, C>(tokens, tokens.size()) +
                                 positions_.template repeated<T, C>(std::span(places_).first(positions),
                                                                    tokens.size() / positions),
                             dropouts.next());
    for (const Block& block : blocks_) x = block(x, config_, positions, dropouts);
    if (!finalNorm_.empty()) x = finalNorm_[0](x);
    return head_[0](x);
  }
  /// Where rows are padded; otherwise embedding and loss find out themselves.
  void requireInVocabulary(std::span<const TokenId> tokens, const char* what) const {
    if (config_.vocabularyRows() == config_.vocabulary) return;
    for (const TokenId token : tokens)
      if (token >= config_.vocabulary && token != noToken)
        fail(ErrorCode::outOfRange, "Gpt: %s %u is out of range for a vocabulary of %zu", what, token,
             config_.vocabulary);
  }
  static LayerNorm normOf(ParameterLayout& layout, const std::string& name, const GptConfig& config) {
    LayerNorm norm(layout, name, config.width, config.hasBiases);
    norm.epsilon = config.normEpsilon;
    return norm;
  }

  struct Block {
    LayerNorm norm1;
    Linear qkv, projection;
    LayerNorm norm2;
    Linear expand, contract;

    Block(ParameterLayout& layout, const std::string& name, const GptConfig& config)
        : norm1(normOf(layout, name + "ln1", config)),
          qkv(layout, name + "attn.qkv", config.width, 3 * config.width, config.hasAttentionBias),
          projection(layout, name + "attn.proj", config.width, config.width, config.hasBiases,
                     ParameterRole::residual),
          norm2(normOf(layout, name + "ln2", config)),
          expand(layout, name + "mlp.fc1", config.width, config.hiddenWidth(), config.hasBiases),
          contract(layout, name + "mlp.fc2", config.hiddenWidth(), config.width, config.hasBiases,
                   ParameterRole::residual) {}

    Matrix<T, C> operator()(const Matrix<T, C>& x, const GptConfig& config, std::size_t positions,
                            Dropouts& dropouts) const {
      const Matrix<T, C> all = qkv(norm1(x));
      const std::size_t w = config.width;
      const Matrix<T, C> mixed = attention(all.rowsFrom(0, w), all.rowsFrom(w, w), all.rowsFrom(2 * w, w),
                                           config.heads, positions, dropouts.next());
      const Matrix<T, C> y = x + dropout(projection(mixed), dropouts.next());
      const Matrix<T, C> hidden = expand(norm2(y));
      return y + dropout(contract(activate(config.activation, hidden)), dropouts.next());
    }
  };

  GptConfig config_;
  ParameterLayout layout_;
  Embedding tokens_, positions_;
  std::vector<Block> blocks_;
  std::vector<LayerNorm> finalNorm_;
  std::vector<Linear> head_;
  std::vector<TokenId> places_;  // 0, 1, 2, ...
};

}  // namespace burtorch::inline BURTORCH_TARGET
