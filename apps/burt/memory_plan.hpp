// How much memory a training takes, as one would compute it on paper: parameters, gradients and the optimiser's state, for
// each thread a tape of one tile, gradients of the shards of a batch, the data. What a tile takes is measured: the tape of two
// short ones says what each sample adds.
//
// A limit decides the tile as if there were one thread, since the bits of a run depend on the tile; then it decides how many
// threads have room beside each other.
#pragma once

#include <algorithm>
#include <burtorch/core/current_tape.hpp>
#include <burtorch/nn/drop_mask.hpp>
#include <burtorch/nn/parameter_store.hpp>
#include <burtorch/oracle/shard_sum.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "amounts.hpp"

namespace burt {

struct MemoryPlan {
  std::uint64_t parameters = 0;  // how many
  std::uint64_t state = 0;       // bytes of parameters, gradients and what the optimiser keeps
  std::uint64_t data = 0;        // bytes of the text and its tokens
  std::uint64_t firstSample = 0, everyFurther = 0;  // bytes on the tape
  std::uint64_t step = 1, validation = 1;  // samples of a batch to train with, and of one to validate with
  // Into how many shards a batch is divided; several threads take one each.
  std::function<std::uint64_t(std::uint64_t batch)> shards = [](auto) { return 1; };

  std::uint64_t lanesOf(std::uint64_t threads) const {
    return std::min(threads, std::max(shards(step), shards(validation)));
  }
  std::uint64_t tapesOf(std::uint64_t tile, std::uint64_t threads) const {
    return lanesOf(threads) * (firstSample + (tile - 1) * everyFurther);
  }
  /// How many samples are on a tape at a time, if `tile` may be.
  std::uint64_t samplesOnTape(std::uint64_t tile) const {
    const auto of = [&](std::uint64_t batch) {
      const std::uint64_t parts = shards(batch), shard = (batch + parts - 1) / parts,
                          tiles = (shard + tile - 1) / tile;
      return (shard + tiles - 1) / tiles;
    };
    return std::max(of(step), of(validation));
  }
  /// Gradients of shards beside those of the whole batch.
  std::uint64_t sumsOf(std::uint64_t threads) const {
    const std::uint64_t count = shards(step);
    return count == 1
               ? 0
               : (burtorch::ShardSum<float>::bufferCount(count, threads) - 1) * parameters * sizeof(float);
  }
  std::uint64_t totalWith(std::uint64_t tile, std::uint64_t threads = 1) const {
    return state + data + tapesOf(tile, threads) + sumsOf(threads);
  }
  std::string text(std::uint64_t tile, std::uint64_t threads = 1) const {
    const std::uint64_t lanes = lanesOf(threads), sums = sumsOf(threads);
    return bytesText(totalWith(tile, threads)) + " (" + bytesText(state) +
           " for parameters, gradients and optimizer, " + bytesText(tapesOf(tile, threads)) + " for " +
           (tile == 1 ? "1 sample" : textOf(tile) + " samples") + " at a time" +
           (lanes == 1 ? "" : " in each of " + textOf(lanes) + " threads") + ", " +
           (sums == 0 ? "" : bytesText(sums) + " for gradients of parts of a batch, ") + bytesText(data) +
           " for the data)";
  }
  /// The largest tile up to `most` with which all fits into `limit` bytes; an error if none does.
  std::uint64_t tileFor(std::uint64_t limit, std::uint64_t most, const char* sizes) const {
    if (totalWith(1) > limit)
      throw BadInput("--memory " + bytesText(limit) + " is too little: " + textOf(parameters) +
                     " parameters need at least " + text(1) + "; allow more, or choose a smaller " + sizes);
    while (most > 1 && totalWith(most) > limit) --most;
    return most;
  }
  /// The largest number of threads up to `most` with which all fits, or 1.
  std::uint64_t threadsFor(std::uint64_t limit, std::uint64_t tile, std::uint64_t most) const {
    while (most > 1 && totalWith(tile, most) > limit) --most;
    return most;
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
