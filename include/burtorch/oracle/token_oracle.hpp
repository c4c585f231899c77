// What an optimiser may ask of a language model: f = the mean of f_i over samples of tokens, and its gradient. A FiniteSum
// (finite_sum.hpp) of any point x, with knobs; and, for trainings, the same at the parameters of a store.
//
// Samples are recorded a tile at a time on the oracle's tape and forgotten after their sweep, so memory is that of one tile,
// whatever the batch. A tile of 1 is the paper's serial oracle with the smallest memory; larger tiles use every weight for
// several samples. Points and gradients are flat spans, read and written where they lie.
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
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "../base/workers.hpp"
#include "../core/backward.hpp"
#include "../nn/drop_mask.hpp"
#include "../nn/embedding.hpp"
#include "../nn/parameter_store.hpp"
#include "finite_sum.hpp"
#include "knobbed_gradient.hpp"
#include "non_finite.hpp"
#include "sharded.hpp"
#include "sweep_cost.hpp"
#include "token_samples.hpp"
#include "two_points.hpp"

namespace burtorch::inline BURTORCH_TARGET {

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
        tile_(options.tile > 0 ? options.tile : model.bestTile()),
        sharded_(model.layout()) {
    if (options.ranks != nullptr && options.ranks->size() > 1) ranks_.emplace(*options.ranks);
    if (parameters.size() != model.layout().size())
      fail("TokenOracle: the model has %zu parameters, the store %zu", model.layout().size(),
           parameters.size());
    boundLane();
  }

  /// How many samples there are.
  std::size_t size() const { return samples_.size(); }
  std::size_t parameterCount() const { return parameters_.size(); }
  OracleCounts counts() const { return counter_.counts(); }
  /// How many samples are on a tape at a time, at most.
  std::size_t tile() const { return tile_; }
  /// From now on this process computes without the others, which gives the same bits; or with them again.
  void setAlone(bool isAlone) { isAlone_ = isAlone; }
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

  // At any point, into memory of the caller's.

  /// The mean loss over samples.
  double value(std::span<const Scalar> x, Batch batch) {
    requireBatch(x, batch);
    counter_.addValues(batch.size());
    return sharded_.value(batch.size(), shardCount(batch.size()), workers(), ranks(), laneMaker(),
                          [&](Lane& lane, const Shard& shard) {
                            bind(lane, x, borrowed_);
                            return overTiles(lane, batch, shard, nullptr, [](auto&&...) { return true; });
                          });
  }
  /// The mean loss over samples, and its gradient: whatever `into` held before is gone.
  double gradient(std::span<const Scalar> x, Batch batch, std::span<Scalar> into) {
    const double loss = gradientOf(x, batch, nullptr, borrow(borrowed_, into));
    borrowed_.all();
    return loss;
  }
  /// The gradient with knobs. If `stop` says so (it may be asked by several threads), nothing is written; with `wanted`, other
  /// coordinates are not touched. Blocks are reported while the last tile is swept, those of several shards at the end.
  GradientResult gradient(std::span<const Scalar> x, Batch batch, std::span<Scalar> into,
                          const GradientOptions<Scalar>& options) {
    requireBatch(x, batch);
    counter_.addGradients(batch.size());
    const std::size_t shards = shardCount(batch.size());
    KnobbedGradient<Scalar> knobs(options, shards == 1);
    if (knobs.writesAside() && aside_ == nullptr)
      aside_ = std::make_unique<GradientBuffer<Scalar>>(model_.layout());
    GradientBuffer<Scalar>& target = knobs.writesAside() ? *aside_ : borrow(borrowed_, into);
    const double value = sharded_.gradient(
        target, batch.size(), shards, workers(), nullptr, laneMaker(),
        [&](Lane& lane, const Shard& shard, GradientBuffer<Scalar>& buffer) {
          bind(lane, x, buffer);
          return overTiles(lane, batch, shard, nullptr,
                           [&](const auto& root, double share, std::size_t first, bool isLast) {
                             return knobs.sweep(root, share, first, isLast, lane.memory);
                           });
        });
    counter_.addInstructions(knobs.instructions());
    return {knobs.finish(target, into, model_.layout()), value};
  }
  /// The gradients at two points, of the same samples. Two threads take a point each; one takes both at once if it can.
  ValuesAtTwo gradientsAtTwo(std::span<const Scalar> x, std::span<const Scalar> y, Batch batch,
                             std::span<Scalar> intoX, std::span<Scalar> intoY) {
    requireBatch(y, batch);
    Workers* const help = workers();
    if (help == nullptr || shardCount(batch.size()) > 1) {
      if (ValuesAtTwo values; inOnePass(x, y, batch, intoX, intoY, values)) return values;
      return {gradient(x, batch, intoX), gradient(y, batch, intoY)};
    }
    requireBatch(x, batch);
    counter_.addGradients(2 * batch.size());
    borrow(borrowed_, intoX);
    borrow(borrowedToo_, intoY);
    double values[2];
    sharded_.forEachJob(2, help, laneMaker(), [&](Lane& lane, std::size_t job) {
      GradientBuffer<Scalar>& buffer = job == 0 ? borrowed_ : borrowedToo_;
      bind(lane, job == 0 ? x : y, buffer);
      values[job] = overTiles(lane, batch, {0, batch.size()}, nullptr, sweepAll);
      buffer.all();
    });
    return {values[0], values[1]};
  }
  /// What a gradient with knobs would cost, before it is computed; of the first tile of a batch.
  SweepCost cost(std::span<const Scalar> x, Batch batch, const Wanted& wanted) {
    requireBatch(x, batch);
    Lane& lane = boundLane();
    SweepCost cost;
    overTiles(lane, batch, {0, std::min(batch.size(), tile_)}, nullptr, [&](const auto& root, auto&&...) {
      cost = costOfBackward(root, wanted, lane.memory);
      return true;
    });
    return cost;
  }

  // At the parameters of the store, into its gradients.

  double value(Batch batch) { return value(parameters_.values(), batch); }
  double gradient(Batch batch) {
    return gradientOf(parameters_.values(), batch, nullptr, parameters_.gradientBuffer());
  }
  /// The same with the dropout that a model has in a step of a training.
  double gradient(Batch batch, const StepKey& step) {
    return gradientOf(parameters_.values(), batch, &step, parameters_.gradientBuffer());
  }
  /// f_i and its gradient into a span of the caller's.
  double gradient(std::size_t sample, std::span<Scalar> into) { return gradient(Batch(&sample, 1), into); }
  double gradient(Batch batch, std::span<Scalar> into) { return gradient(parameters_.values(), batch, into); }

  /// After a loss that is not finite: a sentence that names the first node, in the order of recording, that is not.
  /// `step` is the training's step if the loss was that of one.
  std::string describeFirstNonFinite(Batch batch, const StepKey* step = nullptr) {
    std::string found = burtorch::describeFirstNonFinite<Scalar>(model_.layout(), std::as_const(parameters_));
    if (!found.empty()) return found;
    requireSamples(batch);
    Lane& lane = boundLane();
    const auto& tape = lane.tape;
    overTiles(lane, batch, {0, batch.size()}, step, [&](const auto& root, double share, auto&&...) {
      found = burtorch::describeFirstNonFinite<Scalar>(tape, tape.values(), "value");
      if (!found.empty()) return false;
      backward(root, static_cast<Scalar>(share));
      found = burtorch::describeFirstNonFinite<Scalar>(tape, tape.gradients(), "gradient");
      return found.empty();
    });
    return found.empty() ? "every node is finite: the sum of their squares is not" : found;
  }

 private:
  static constexpr auto sweepAll = [](const auto& root, double share, auto&&...) {
    backward(root, static_cast<Scalar>(share));
    return true;
  };

  double gradientOf(std::span<const Scalar> x, Batch batch, const StepKey* step,
                    GradientBuffer<Scalar>& into) {
    requireBatch(x, batch);
    counter_.addGradients(batch.size());
    return sharded_.gradient(into, batch.size(), shardCount(batch.size()), workers(), ranks(), laneMaker(),
                             [&](Lane& lane, const Shard& shard, GradientBuffer<Scalar>& buffer) {
                               bind(lane, x, buffer);
                               return overTiles(lane, batch, shard, step, sweepAll);
                             });
  }
  /// Both gradients from one recording of each tile, if the model says that its graph is the same everywhere.
  bool inOnePass(std::span<const Scalar> x, std::span<const Scalar> y, Batch batch, std::span<Scalar> intoX,
                 std::span<Scalar> intoY, ValuesAtTwo& values) {
    if constexpr (requires { requires Model::isGraphFixed; }) {
      if (shardCount(batch.size()) > 1) return false;
      requireBatch(x, batch);
      Lane& lane = boundLane();
      const auto atX = bindingOf(x, borrow(borrowed_, intoX)),
                 atY = bindingOf(y, borrow(borrowedToo_, intoY));
      bool isDone = true;
      lane.tape.bind(atX);
      overTiles(lane, batch, {0, batch.size()}, nullptr, [&](const auto& root, double share, auto&&...) {
        const auto sweep = [&](double& value) {
          value += share * static_cast<double>(lane.tape.values()[root.index()]);
          backward(root, static_cast<Scalar>(share));
        };
        sweep(values.atX);
        lane.tape.bind(atY);
        isDone = recompute(lane.tape);
        if (isDone) sweep(values.atY);
        lane.tape.bind(atX);
        return isDone;
      });
      if (!isDone) return false;
      borrowed_.all(), borrowedToo_.all();
      counter_.addGradients(2 * batch.size());
      return true;
    }
    return false;
  }
  void requireBatch(std::span<const Scalar> x, Batch batch) const {
    if (x.size() != parameters_.size())
      fail("TokenOracle: expected a point of %zu numbers, got %zu", parameters_.size(), x.size());
    requireSamples(batch);
  }
  void requireSamples(Batch batch) const {
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
    SweepMemory memory;
    explicit Lane(ParameterStore<Scalar>& parameters) : tape(parameters) {}
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
  auto laneMaker() const {
    return [this] { return makeLane(); };
  }
  /// The lane of this thread, bound to the store.
  Lane& boundLane() {
    Lane& lane = sharded_.lane(laneMaker());
    lane.tape.bind(parameters_);
    return lane;
  }
  Binding<Scalar> bindingOf(std::span<const Scalar> x, GradientBuffer<Scalar>& buffer) const {
    Binding<Scalar> binding = parameters_.binding(buffer);
    binding.values = x.data();
    return binding;
  }
  void bind(Lane& lane, std::span<const Scalar> x, GradientBuffer<Scalar>& buffer) const {
    lane.tape.bind(bindingOf(x, buffer));
  }
  GradientBuffer<Scalar>& borrow(GradientBuffer<Scalar>& buffer, std::span<Scalar> memory) const {
    buffer.moveTo(memory);
    return buffer;
  }
  RankSum<Scalar>* ranks() { return ranks_ && !isAlone_ ? &*ranks_ : nullptr; }
  Workers* workers() const { return options_.workers != nullptr ? options_.workers : currentWorkers(); }

  /// Calls `visit(root, share, first, isLast)` for every tile, while it is on the tape, until it returns false. `first` is the
  /// tile's first sample in the batch. Returns the shard's share of the mean loss.
  template <class Visit>
  double overTiles(Lane& lane, Batch batch, const Shard& shard, const StepKey* step, Visit visit) {
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
      if (!visit(root, share, first, first + count == shard.end)) break;
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
  void place(Lane& lane, Batch batch, std::size_t columns) const {
    for (std::size_t slot = 0; slot < batch.size(); ++slot) {
      samples_.read(batch[slot], lane.sampleTokens, lane.sampleTargets);
      // The mean over columns is the mean over samples only if all have as many.
      if (std::count(lane.sampleTargets.begin(), lane.sampleTargets.end(), noToken) != 0)
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
  Sharded<Scalar, Lane> sharded_;
  // In memory of callers; the second one for the second of two points.
  GradientBuffer<Scalar> borrowed_{model_.layout(), nullptr}, borrowedToo_{model_.layout(), nullptr};
  std::unique_ptr<GradientBuffer<Scalar>> aside_;  // of gradients that may not be written
  OracleCounter counter_;
  std::optional<RankSum<Scalar>> ranks_;
  bool isAlone_ = false;
};

}  // namespace burtorch::inline BURTORCH_TARGET
