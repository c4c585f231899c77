// Where a GPT looks: the weights of attention of every layer and head for one text. They are those of an ordinary forward
// pass, read off the tape, where the attention layer keeps them for its slope; nothing is computed a second time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "gpt.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Row by row, in order of layers, then heads.
template <class T> class AttentionWeights {
 public:
  AttentionWeights(std::size_t layers, std::size_t heads, std::size_t positions)
      : layers_(layers),
        heads_(heads),
        positions_(positions),
        weights_(layers * heads * positions * positions) {}

  std::size_t layers() const { return layers_; }
  std::size_t heads() const { return heads_; }
  std::size_t positions() const { return positions_; }
  /// How much the position `query` takes from the position `key`. Over all keys these sum to 1; a later key has 0.
  const T& operator()(std::size_t layer, std::size_t head, std::size_t query, std::size_t key) const {
    return weights_[indexOf(layer, head, query, key)];
  }
  T& operator()(std::size_t layer, std::size_t head, std::size_t query, std::size_t key) {
    return weights_[indexOf(layer, head, query, key)];
  }

 private:
  std::size_t indexOf(std::size_t layer, std::size_t head, std::size_t query, std::size_t key) const {
    if (layer >= layers_ || head >= heads_ || query >= positions_ || key >= positions_)
      fail(ErrorCode::outOfRange,
           "AttentionWeights: layer %zu, head %zu, position %zu to %zu is out of range for %zu, %zu, %zu",
           layer, head, query, key, layers_, heads_, positions_);
    return ((layer * heads_ + head) * positions_ + query) * positions_ + key;
  }

  std::size_t layers_, heads_, positions_;
  std::vector<T> weights_;
};

/// The weights for `tokens`, of which a GPT sees the last `context`.
template <class T, Config C>
AttentionWeights<T> attentionWeights(const Gpt<T, C>& gpt, ParameterStore<T>& parameters,
                                     std::span<const TokenId> tokens) {
  const GptConfig& config = gpt.config();
  const std::size_t seen = std::min(tokens.size(), config.context);
  if (seen == 0) fail("attentionWeights: cannot look at an empty text; pass at least one token");
  Tape<T, C> tape(parameters);
  const CurrentTape here(tape);
  gpt.logits(tokens.last(seen), seen);

  AttentionWeights<T> result(config.layers, config.heads, seen);
  const Opcode attention = opcodeOn<ops::AttentionLayer>(tape);
  std::size_t layer = 0;
  for (std::size_t i = 0; i < tape.used().instructions; ++i) {
    const Instruction code = tape.instruction(i);
    if (code.op() != attention) continue;
    const Layer<T> kept{tape.frame(), tape.words() + code.a(), tape.at(i).last + 1 - code.b()};
    for (std::size_t head = 0; head < config.heads; ++head)
      for (std::size_t query = 0; query < seen; ++query)
        for (std::size_t key = 0; key < seen; ++key)
          result(layer, head, query, key) = ops::AttentionLayer::weightOf(kept, 0, head, query, key);
    ++layer;
  }
  return result;
}

}  // namespace burtorch::inline BURTORCH_TARGET
