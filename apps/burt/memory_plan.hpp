// How much memory a training takes, as one would compute it on paper: parameters, gradients and the optimiser's state, the
// tape of one tile, the data. What a tile takes is measured: the tape of two short ones says what each sample adds.
#pragma once

#include <algorithm>
#include <burtorch/core/current_tape.hpp>
#include <burtorch/nn/drop_mask.hpp>
#include <burtorch/nn/parameter_store.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "amounts.hpp"

namespace burt {

struct MemoryPlan {
  std::uint64_t parameters = 0;  // how many
  std::uint64_t state = 0;       // bytes of parameters, gradients and what the optimiser keeps
  std::uint64_t data = 0;        // bytes of the text and its tokens
  std::uint64_t firstSample = 0, everyFurther = 0;  // bytes on the tape

  std::uint64_t tapeOf(std::uint64_t tile) const { return firstSample + (tile - 1) * everyFurther; }
  std::uint64_t totalWith(std::uint64_t tile) const { return state + data + tapeOf(tile); }
  std::string text(std::uint64_t tile) const {
    return bytesText(totalWith(tile)) + " (" + bytesText(state) +
           " for parameters, gradients and optimizer, " + bytesText(tapeOf(tile)) + " for " +
           (tile == 1 ? "1 sample" : textOf(tile) + " samples") + " at a time, " + bytesText(data) +
           " for the data)";
  }
  /// The largest tile up to `most` with which all fits into `limit` bytes; an error if none does.
  std::uint64_t tileFor(std::uint64_t limit, std::uint64_t most, const char* sizes) const {
    if (totalWith(1) > limit)
      throw BadInput("--memory " + bytesText(limit) + " is too little: " + textOf(parameters) +
                     " parameters need at least " + text(1) + "; allow more, or choose a smaller " + sizes);
    const std::uint64_t further = (limit - totalWith(1)) / std::max<std::uint64_t>(1, everyFurther);
    return std::min(most, further + 1);
  }
};

/// The bytes that the loss of so many samples takes on a tape.
template <class Model>
std::uint64_t tapeBytes(const Model& model, burtorch::ParameterStore<float>& parameters,
                        std::size_t samples) {
  using Tape = burtorch::Tape<float, Model::tapeConfig>;
  Tape tape(parameters);
  const burtorch::CurrentTape here(tape);
  const std::size_t before = Tape::requiredBytes(tape.used()), columns = model.columnsFor(samples);
  const std::vector<burtorch::TokenId> tokens(model.tokenCount(columns)), targets(columns);
  if constexpr (requires(burtorch::DropoutKey key) { model.loss(tokens, targets, key); })
    model.loss(tokens, targets, burtorch::DropoutKey{});  // a training's tape has its dropouts
  else
    model.loss(tokens, targets);
  return Tape::requiredBytes(tape.used()) - before;
}

}  // namespace burt
