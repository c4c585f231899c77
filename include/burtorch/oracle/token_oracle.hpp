// What an optimiser may ask of a language model: f = the mean of f_i over samples of tokens, and its gradient.
//
// Samples are recorded a tile at a time on the oracle's tape and forgotten after their sweep, so memory is that of one tile,
// whatever the batch. A tile of 1 is the paper's serial oracle with the smallest memory; larger tiles use every weight for
// several samples. Parameters and gradients are the flat spans of the store.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../core/backward.hpp"
#include "../nn/embedding.hpp"
#include "../nn/parameter_store.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Where samples come from: `read` fills in the tokens and the targets of sample i.
template <class S>
concept TokenSamples = requires(const S& samples, std::size_t i, std::span<TokenId> tokens,
                                std::span<TokenId> targets) {
  { samples.size() } -> std::convertible_to<std::size_t>;
  samples.read(i, tokens, targets);
};

template <class Model, TokenSamples Samples> class TokenOracle {
 public:
  using Scalar = typename Model::Scalar;

  /// `tile` samples are on the tape at a time; 0: what the model likes best.
  TokenOracle(const Model& model, ParameterStore<Scalar>& parameters, Samples samples, std::size_t tile = 0)
      : model_(model),
        parameters_(parameters),
        samples_(std::move(samples)),
        tile_(tile > 0 ? tile : model.bestTile()),
        tape_(parameters) {
    if (parameters.size() != model.layout().size())
      fail("TokenOracle: the model has %zu parameters, the store %zu", model.layout().size(),
           parameters.size());
    const std::size_t columns = model.columnsFor(tile_);
    tokens_.resize(model.tokenCount(columns));
    targets_.resize(columns);
    sampleTokens_.resize(model.tokensPerSample());
    sampleTargets_.resize(model.targetsPerSample());
  }

  /// How many samples there are.
  std::size_t size() const { return samples_.size(); }
  std::size_t tile() const { return tile_; }
  std::span<Scalar> parameters() const { return parameters_.values(); }
  /// Where `gradient` leaves its result.
  std::span<Scalar> gradients() const { return parameters_.gradients(); }

  /// The mean loss over samples.
  double value(std::span<const std::size_t> batch) {
    requireSamples(batch);
    return overTiles(batch, [](const auto&, double) {});
  }
  /// The mean loss over samples, and its gradient: whatever `gradients` held before is gone.
  double gradient(std::span<const std::size_t> batch) {
    requireSamples(batch);
    parameters_.zeroGrad();
    return overTiles(batch,
                     [](const auto& root, double share) { backward(root, static_cast<Scalar>(share)); });
  }
  /// f_i and its gradient into a span of the caller's.
  double gradient(std::size_t sample, std::span<Scalar> into) {
    return gradient(std::span<const std::size_t>(&sample, 1), into);
  }
  double gradient(std::span<const std::size_t> batch, std::span<Scalar> into) {
    if (into.size() != gradients().size())
      fail("TokenOracle: expected room for %zu gradients, got %zu", gradients().size(), into.size());
    const double loss = gradient(batch);
    std::ranges::copy(gradients(), into.begin());
    return loss;
  }

  /// After a loss that is not finite: a sentence that names the first node, in the order of recording, that is not.
  std::string describeFirstNonFinite(std::span<const std::size_t> batch) {
    for (const Parameter& block : model_.layout().blocks())
      for (std::size_t i = 0; i < block.size(); ++i)
        if (!ScalarTraits<Scalar>::isFinite(parameters_.values(block)[i]))
          return "number " + std::to_string(i) + " of parameter " + model_.layout().name(block) +
                 " is not finite";
    requireSamples(batch);
    std::string found;
    overTiles(batch, [&](const auto& root, double share) {
      const auto describe = [&](std::span<const Scalar> numbers, const char* what) {
        for (std::size_t i = 0; i < numbers.size() && found.empty(); ++i)
          if (!ScalarTraits<Scalar>::isFinite(numbers[i]))
            found = std::string("the ") + what + " of node " + std::to_string(i) + ", of a " +
                    std::string(tape_.opOf(static_cast<NodeIndex>(i)).name) +
                    ", is the first that is not finite";
      };
      describe(tape_.values(), "value");
      if (!found.empty()) return;
      backward(root, static_cast<Scalar>(share));
      describe(tape_.gradients(), "gradient");
    });
    return found.empty() ? "every node is finite: the sum of their squares is not" : found;
  }

 private:
  void requireSamples(std::span<const std::size_t> batch) const {
    if (batch.empty()) fail("TokenOracle: the mean over an empty batch");
    for (const std::size_t sample : batch)
      if (sample >= samples_.size())
        fail(ErrorCode::outOfRange, "TokenOracle: sample %zu is out of range for %zu samples", sample,
             samples_.size());
  }
  /// Calls `visit(root, share)` for every tile, while it is on the tape. Returns the mean loss.
  template <class Visit> double overTiles(std::span<const std::size_t> batch, Visit visit) {
    const CurrentTape here(tape_);
    double sum = 0;
    for (std::size_t first = 0; first < batch.size(); first += tile_) {
      const std::size_t count = std::min(tile_, batch.size() - first), columns = model_.columnsFor(count);
      place(batch.subspan(first, count), columns);
      const SampleScope scope(tape_);
      const auto root = model_.loss(std::span<const TokenId>(tokens_).first(model_.tokenCount(columns)),
                                    std::span<const TokenId>(targets_).first(columns));
      const double share = static_cast<double>(count) / static_cast<double>(batch.size());
      sum += share * static_cast<double>(root.value());
      visit(root, share);
    }
    return sum;
  }
  /// Puts the samples where the model wants them. Together they fill all its columns.
  void place(std::span<const std::size_t> batch, std::size_t columns) {
    for (std::size_t slot = 0; slot < batch.size(); ++slot) {
      samples_.read(batch[slot], sampleTokens_, sampleTargets_);
      // The mean over columns is the mean over samples only if all have as many.
      if (std::ranges::count(sampleTargets_, noToken) != 0)
        fail("TokenOracle: sample %zu has a position without a target; every position needs one",
             batch[slot]);
      for (std::size_t i = 0; i < sampleTokens_.size(); ++i)
        tokens_[model_.tokenAt(slot, i, columns)] = sampleTokens_[i];
      for (std::size_t i = 0; i < sampleTargets_.size(); ++i)
        targets_[model_.targetAt(slot, i)] = sampleTargets_[i];
    }
  }

  const Model& model_;
  ParameterStore<Scalar>& parameters_;
  Samples samples_;
  std::size_t tile_;
  Tape<Scalar, Model::tapeConfig> tape_;
  std::vector<TokenId> tokens_, targets_, sampleTokens_, sampleTargets_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
