// What an optimiser may ask of a language model: f = the mean of f_i over samples of tokens, and its gradient.
//
// Samples are recorded a tile at a time on the oracle's tape and forgotten after their sweep, so memory is that of one tile,
// whatever the batch. A tile of 1 is the paper's serial oracle with the smallest memory; larger tiles use every weight for
// several samples. Parameters and gradients are the flat spans of the store.
//
// A large batch is divided into shards, whose gradients are summed in a fixed tree (shard_sum.hpp). Their number depends on
// the batch and the model alone, so the bits are the same for any number of threads, one included. Each thread has a tape of
// its own. Large models have one shard, since more gradients would need too much memory; there the threads share single
// layers instead (base/workers.hpp).
//
// f has no dropout. A training passes the step whose gradient it wants, and a model whose loss takes a DropoutKey then drops what
// belongs to this step; a sample's mask depends on its place in the batch, so tiles and threads change nothing.
#pragma once

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "../base/workers.hpp"
#include "../core/backward.hpp"
#include "../nn/drop_mask.hpp"
#include "../nn/embedding.hpp"
#include "../nn/parameter_store.hpp"
#include "shard_sum.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Where samples come from: `read` fills in the tokens and the targets of sample i. With workers, several threads read at once.
template <class S>
concept TokenSamples = requires(const S& samples, std::size_t i, std::span<TokenId> tokens,
                                std::span<TokenId> targets) {
  { samples.size() } -> std::convertible_to<std::size_t>;
  samples.read(i, tokens, targets);
};

/// How an oracle works. `workers` decides who computes, `tile` and `shards` decide the bits.
struct TokenOracleOptions {
  std::size_t tile = 0;        // samples on a tape at a time, at most; 0: what the model likes best
  Workers* workers = nullptr;  // who helps: a ThreadPool; nullptr: the current workers, if the thread has any
  std::size_t shards = 0;      // parts of a batch, at most as many as samples; 0: as many as pay
};

template <class Model, TokenSamples Samples> class TokenOracle {
 public:
  using Scalar = typename Model::Scalar;

  /// `tile` samples are on the tape at a time; 0: what the model likes best.
  TokenOracle(const Model& model, ParameterStore<Scalar>& parameters, Samples samples, std::size_t tile = 0)
      : TokenOracle(model, parameters, std::move(samples), TokenOracleOptions{.tile = tile}) {}
  TokenOracle(const Model& model, ParameterStore<Scalar>& parameters, Samples samples,
              const TokenOracleOptions& options)
      : model_(model),
        parameters_(parameters),
        samples_(std::move(samples)),
        options_(options),
        tile_(options.tile > 0 ? options.tile : model.bestTile()) {
    if (parameters.size() != model.layout().size())
      fail("TokenOracle: the model has %zu parameters, the store %zu", model.layout().size(),
           parameters.size());
    lanes_.push_back(makeLane());
  }

  /// How many samples there are.
  std::size_t size() const { return samples_.size(); }
  /// How many samples are on a tape at a time, at most.
  std::size_t tile() const { return tile_; }
  std::span<Scalar> parameters() const { return parameters_.values(); }
  /// Where `gradient` leaves its result.
  std::span<Scalar> gradients() const { return parameters_.gradients(); }

  /// Into how many shards a batch is divided: a power of two, so that threads have equally many. Summing up two of them
  /// costs about as much as a column or two, so a shard has many; and a model whose gradients take much memory has one.
  std::size_t shardCount(std::size_t batch) const {
    return options_.shards > 0 ? std::min(options_.shards, batch) : shardCount(model_, batch);
  }
  /// The same of an oracle that is not made yet.
  static std::size_t shardCount(const Model& model, std::size_t batch) {
    constexpr std::size_t fewestColumns = 128, mostShards = 32, mostBytes = std::size_t{8} << 20;
    if (model.layout().size() > mostBytes / sizeof(Scalar)) return 1;
    const std::size_t shards = std::min({batch, model.columnsFor(batch) / fewestColumns, mostShards});
    return std::max<std::size_t>(1, std::bit_floor(shards));
  }

  /// The mean loss over samples.
  double value(std::span<const std::size_t> batch) {
    requireSamples(batch);
    return overShards(batch, shardCount(batch.size()), [&](Lane& lane, const Shard& shard) {
      return overTiles(lane, batch, shard, nullptr, [](const auto&, double) {});
    });
  }
  /// The mean loss over samples, and its gradient: whatever `gradients` held before is gone.
  double gradient(std::span<const std::size_t> batch) { return gradientOf(batch, nullptr); }
  /// The same with the dropout that a model has in a step of a training.
  double gradient(std::span<const std::size_t> batch, const StepKey& step) {
    return gradientOf(batch, &step);
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
  /// `step` is the training's step if the loss was that of one.
  std::string describeFirstNonFinite(std::span<const std::size_t> batch, const StepKey* step = nullptr) {
    for (const Parameter& block : model_.layout().blocks())
      for (std::size_t i = 0; i < block.size(); ++i)
        if (!ScalarTraits<Scalar>::isFinite(parameters_.values(block)[i]))
          return "number " + std::to_string(i) + " of parameter " + model_.layout().name(block) +
                 " is not finite";
    requireSamples(batch);
    std::string found;
    const auto& tape = boundLane().tape;
    overTiles(*lanes_[0], batch, {0, batch.size()}, step, [&](const auto& root, double share) {
      const auto describe = [&](std::span<const Scalar> numbers, const char* what) {
        for (std::size_t i = 0; i < numbers.size() && found.empty(); ++i)
          if (!ScalarTraits<Scalar>::isFinite(numbers[i]))
            found = std::string("the ") + what + " of node " + std::to_string(i) + ", of a " +
                    std::string(tape.opOf(static_cast<NodeIndex>(i)).name) +
                    ", is the first that is not finite";
      };
      describe(tape.values(), "value");
      if (!found.empty()) return;
      backward(root, static_cast<Scalar>(share));
      describe(tape.gradients(), "gradient");
    });
    return found.empty() ? "every node is finite: the sum of their squares is not" : found;
  }

 private:
  double gradientOf(std::span<const std::size_t> batch, const StepKey* step) {
    requireSamples(batch);
    const std::size_t shards = shardCount(batch.size());
    const auto sweep = [](const auto& root, double share) { backward(root, static_cast<Scalar>(share)); };
    if (shards == 1) {
      parameters_.zeroGrad();
      const CurrentWorkers help(workers());
      return overTiles(boundLane(), batch, {0, batch.size()}, step, sweep);
    }
    if (sum_ == nullptr)
      sum_ = std::make_unique<ShardSum<Scalar>>(parameters_.gradientBuffer(), parameters_.layout());
    sum_->start(shards, workers() != nullptr ? workers()->size() : 1);
    return overShards(batch, shards, [&](Lane& lane, const Shard& shard) {
      GradientBuffer<Scalar>& buffer = sum_->bufferOf(shard.index);
      lane.tape.bind(parameters_.binding(buffer));
      const double loss = overTiles(lane, batch, shard, step, sweep);
      sum_->finish(shard.index, buffer);
      return loss;
    });
  }
  void requireSamples(std::span<const std::size_t> batch) const {
    if (batch.empty()) fail("TokenOracle: the mean over an empty batch");
    for (const std::size_t sample : batch)
      if (sample >= samples_.size())
        fail(ErrorCode::outOfRange, "TokenOracle: sample %zu is out of range for %zu samples", sample,
             samples_.size());
  }
  /// What a thread works with.
  struct Lane {
    Tape<Scalar, Model::tapeConfig> tape;
    std::vector<TokenId> tokens, targets, sampleTokens, sampleTargets;
    explicit Lane(ParameterStore<Scalar>& parameters) : tape(parameters) {}
  };
  /// Samples of a batch.
  struct Shard {
    std::size_t first, end, index = 0;
  };

  std::unique_ptr<Lane> makeLane() const {
    auto lane = std::make_unique<Lane>(parameters_);
    const std::size_t columns = model_.columnsFor(tile_);
    lane->tokens.resize(model_.tokenCount(columns));
    lane->targets.resize(columns);
    lane->sampleTokens.resize(model_.tokensPerSample());
    lane->sampleTargets.resize(model_.targetsPerSample());
    return lane;
  }
  /// The lane of this thread, bound to the gradients of the store.
  Lane& boundLane() {
    lanes_[0]->tape.bind(parameters_);
    return *lanes_[0];
  }
  Workers* workers() const { return options_.workers != nullptr ? options_.workers : currentWorkers(); }

  /// The sum of `use(lane, shard)` over the shards, in their order.
  template <class Use>
  double overShards(std::span<const std::size_t> batch, std::size_t shards, const Use& use) {
    Workers* const help = workers();
    if (shards == 1) {
      const CurrentWorkers here(help);
      return use(*lanes_[0], {0, batch.size()});
    }
    if (help != nullptr)
      while (lanes_.size() < std::min(help->size(), shards)) lanes_.push_back(makeLane());
    losses_.assign(shards, 0);
    const auto run = [&](std::size_t shard, std::size_t worker) {
      losses_[shard] =
          use(*lanes_[worker], {batch.size() * shard / shards, batch.size() * (shard + 1) / shards, shard});
    };
    if (help != nullptr)
      help->run(shards, run);
    else
      for (std::size_t shard = 0; shard < shards; ++shard) run(shard, 0);
    double sum = 0;
    for (const double loss : losses_) sum += loss;
    return sum;
  }
  /// Calls `visit(root, share)` for every tile, while it is on the tape. Returns the shard's share of the mean loss.
  template <class Visit>
  double overTiles(Lane& lane, std::span<const std::size_t> batch, const Shard& shard, const StepKey* step,
                   Visit visit) {
    const CurrentTape here(lane.tape);
    const std::size_t samples = shard.end - shard.first, tiles = (samples + tile_ - 1) / tile_,
                      tile = (samples + tiles - 1) / tiles;  // of equal size
    double sum = 0;
    for (std::size_t first = shard.first; first < shard.end; first += tile) {
      const std::size_t count = std::min(tile, shard.end - first), columns = model_.columnsFor(count);
      place(lane, batch.subspan(first, count), columns);
      const SampleScope scope(lane.tape);
      const auto root = lossOf(std::span<const TokenId>(lane.tokens).first(model_.tokenCount(columns)),
                               std::span<const TokenId>(lane.targets).first(columns), step, first);
      const double share = static_cast<double>(count) / static_cast<double>(batch.size());
      sum += share * static_cast<double>(root.value());
      visit(root, share);
    }
    return sum;
  }
  /// The loss on the tape, of samples from `first` on in their batch.
  auto lossOf(std::span<const TokenId> tokens, std::span<const TokenId> targets, const StepKey* step,
              std::size_t first) const {
    if constexpr (requires(DropoutKey key) { model_.loss(tokens, targets, key); })
      if (step != nullptr) return model_.loss(tokens, targets, DropoutKey{*step, first});
    return model_.loss(tokens, targets);
  }
  /// Puts the samples where the model wants them. Together they fill all its columns.
  void place(Lane& lane, std::span<const std::size_t> batch, std::size_t columns) const {
    for (std::size_t slot = 0; slot < batch.size(); ++slot) {
      samples_.read(batch[slot], lane.sampleTokens, lane.sampleTargets);
      // The mean over columns is the mean over samples only if all have as many.
      if (std::ranges::count(lane.sampleTargets, noToken) != 0)
        fail("TokenOracle: sample %zu has a position without a target; every position needs one",
             batch[slot]);
      for (std::size_t i = 0; i < lane.sampleTokens.size(); ++i)
        lane.tokens[model_.tokenAt(slot, i, columns)] = lane.sampleTokens[i];
      for (std::size_t i = 0; i < lane.sampleTargets.size(); ++i)
        lane.targets[model_.targetAt(slot, i)] = lane.sampleTargets[i];
    }
  }

  const Model& model_;
  ParameterStore<Scalar>& parameters_;
  Samples samples_;
  TokenOracleOptions options_;
  std::size_t tile_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::unique_ptr<ShardSum<Scalar>> sum_;
  std::vector<double> losses_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
