// Any loss as a finite sum, in one line:
//
//   auto f = finiteSum(samples, d, [](const Sample& sample, auto x) { return sqr(x[0] * sample.a + x[1] - sample.b); });
//   auto g = finiteSum<std::array<double, 2>>(samples, compile([](auto sample, auto x) { ... }));
//
// The first records f_i on a tape, whose d leaves are the parameters, and takes any function of a sample and a
// std::span<const X>. The second runs a compile-time graph: no tape, calls are const, and threads may share it.
// Samples stay where they are; the oracle reads them. A large batch is divided into shards (sharded.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "finite_sum.hpp"
#include "knobbed_gradient.hpp"
#include "sharded.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {

inline void requireIndices(const char* who, Batch batch, std::size_t samples) {
  if (batch.empty()) fail("%s: the mean over an empty batch", who);
  for (const std::size_t sample : batch)
    if (sample >= samples)
      fail(ErrorCode::outOfRange, "%s: sample %zu is out of range for %zu samples", who, sample, samples);
}
inline void requirePoint(const char* who, std::size_t found, std::size_t parameters) {
  if (found != parameters) fail("%s: expected %zu numbers, got %zu", who, parameters, found);
}

}  // namespace detail

template <class T, class Sample, class F> class FunctionSum {
 public:
  using Scalar = T;

  FunctionSum(std::span<const Sample> samples, std::size_t parameters, F f)
      : samples_(samples), f_(std::move(f)), sharded_(layoutOf(parameters)), parameters_(parameters) {}

  std::size_t size() const { return samples_.size(); }
  std::size_t parameterCount() const { return parameters_; }
  OracleCounts counts() const { return counter_.counts(); }

  double value(std::span<const T> x, Batch batch) {
    requireBatch(x, batch);
    counter_.addValues(batch.size());
    return sharded_.value(batch.size(), shardCount(batch.size()), currentWorkers(), nullptr, laneMaker(),
                          [&](Lane& lane, const Shard& shard) {
                            return overSamples(lane, x, batch, shard, [](auto&&...) { return true; });
                          });
  }
  double gradient(std::span<const T> x, Batch batch, std::span<T> into) {
    detail::requirePoint("FunctionSum", into.size(), parameters_);
    requireBatch(x, batch);
    counter_.addGradients(batch.size());
    borrowed_.moveTo(into);
    const double value = sum(x, batch, borrowed_, [](const auto& root, double share, auto&&...) {
      backward(root, static_cast<T>(share));
      return true;
    });
    borrowed_.all();
    return value;
  }
  GradientResult gradient(std::span<const T> x, Batch batch, std::span<T> into,
                          const GradientOptions<T>& options) {
    detail::requirePoint("FunctionSum", into.size(), parameters_);
    requireBatch(x, batch);
    counter_.addGradients(batch.size());
    KnobbedGradient<T> knobs(options, false);
    // The parameters are the tape's first leaves.
    wantedLeaves_.assign(options.wanted.blocks().begin(), options.wanted.blocks().end());
    for (Block& block : wantedLeaves_) block.isParameter = false;
    const Wanted wanted = options.wanted.isAll() ? Wanted() : Wanted(wantedLeaves_);
    borrowed_.moveTo(into);
    if (knobs.writesAside() && aside_ == nullptr)
      aside_ = std::make_unique<GradientBuffer<T>>(layoutOf(parameters_));
    GradientBuffer<T>& target = knobs.writesAside() ? *aside_ : borrowed_;
    const double value =
        sum(x, batch, target, [&](const auto& root, double share, std::size_t i, SweepMemory& memory) {
          return knobs.sweep(root, share, i, false, memory, wanted);
        });
    counter_.addInstructions(knobs.instructions());
    return {knobs.finish(target, into, layoutOf(parameters_)), value};
  }

 private:
  struct Lane {
    Tape<T> tape;
    Range<T> leaves;
    std::vector<Value<T>> handles;
    SweepMemory memory;

    explicit Lane(std::size_t parameters) : leaves(tape.leaves(parameters)) {
      const CurrentTape here(tape);
      for (std::size_t i = 0; i < parameters; ++i) handles.push_back(leaves[i]);
    }
  };

  static ParameterLayout layoutOf(std::size_t parameters) {
    ParameterLayout layout;
    layout.add("x", ParameterRole::weight, parameters);
    return layout;
  }
  /// A power of two of shards of 16 samples at least.
  std::size_t shardCount(std::size_t batch) const {
    constexpr std::size_t fewestSamples = 16, mostShards = 32, mostBytes = std::size_t{8} << 20;
    if (parameters_ > mostBytes / sizeof(T)) return 1;
    return std::max<std::size_t>(1, std::bit_floor(std::min(batch / fewestSamples, mostShards)));
  }
  void requireBatch(std::span<const T> x, Batch batch) const {
    detail::requirePoint("FunctionSum", x.size(), parameters_);
    detail::requireIndices("FunctionSum", batch, samples_.size());
  }
  auto laneMaker() const {
    return [this] { return std::make_unique<Lane>(parameters_); };
  }
  template <class Visit> double sum(std::span<const T> x, Batch batch, GradientBuffer<T>& into, Visit visit) {
    return sharded_.gradient(into, batch.size(), shardCount(batch.size()), currentWorkers(), nullptr,
                             laneMaker(), [&](Lane& lane, const Shard& shard, GradientBuffer<T>& buffer) {
                               const CurrentTape here(lane.tape);
                               const std::span<T> gradients = lane.leaves.gradients();
                               std::fill(gradients.begin(), gradients.end(), T{0});
                               const double value = overSamples(lane, x, batch, shard, visit);
                               std::copy(gradients.begin(), gradients.end(), buffer.block(0).begin());
                               return value;
                             });
  }
  /// Calls `visit(f_i, share, i, memory)` for every sample of the shard, until it returns false.
  template <class Visit>
  double overSamples(Lane& lane, std::span<const T> x, Batch batch, const Shard& shard, Visit visit) {
    const CurrentTape here(lane.tape);
    std::copy(x.begin(), x.end(), lane.leaves.values().begin());
    const double share = 1.0 / static_cast<double>(batch.size());
    double sum = 0;
    for (std::size_t i = shard.first; i < shard.end; ++i) {
      const SampleScope scope(lane.tape);
      const Value<T> root(f_(samples_[batch[i]], std::span<const Value<T>>(lane.handles)));
      sum += share * static_cast<double>(root.value());
      if (!visit(root, share, i, lane.memory)) break;
    }
    return sum;
  }

  std::span<const Sample> samples_;
  F f_;
  Sharded<T, Lane> sharded_;
  std::size_t parameters_;
  GradientBuffer<T> borrowed_{layoutOf(parameters_), nullptr};
  std::unique_ptr<GradientBuffer<T>> aside_;
  std::vector<Block> wantedLeaves_;
  OracleCounter counter_;
};

/// Of a compiled function of a sample and of parameters P, a std::array.
template <class P, class Sample, class F> class CompiledSum {
 public:
  using Scalar = typename P::value_type;

  CompiledSum(std::span<const Sample> samples, F f) : samples_(samples), f_(f) {}

  std::size_t size() const { return samples_.size(); }
  static constexpr std::size_t parameterCount() { return std::tuple_size_v<P>; }
  OracleCounts counts() const { return counter_.counts(); }

  double value(std::span<const Scalar> x, Batch batch) const {
    const P point = requireBatch(x, batch);
    counter_.addValues(batch.size());
    double sum = 0;
    for (const std::size_t i : batch) sum += static_cast<double>(f_.value(samples_[i], point));
    return sum / static_cast<double>(batch.size());
  }
  double gradient(std::span<const Scalar> x, Batch batch, std::span<Scalar> into) const {
    detail::requirePoint("CompiledSum", into.size(), parameterCount());
    const P point = requireBatch(x, batch);
    counter_.addGradients(batch.size());
    P gradient{};
    double sum = 0;
    for (const std::size_t i : batch) {
      const auto one = f_.template valueAndGrad<1>(samples_[i], point);
      sum += static_cast<double>(one.value);
      for (std::size_t k = 0; k < gradient.size(); ++k) gradient[k] = gradient[k] + one.gradient[k];
    }
    const auto count = static_cast<Scalar>(batch.size());
    for (std::size_t k = 0; k < gradient.size(); ++k) into[k] = gradient[k] / count;
    return sum / static_cast<double>(batch.size());
  }

 private:
  P requireBatch(std::span<const Scalar> x, Batch batch) const {
    detail::requirePoint("CompiledSum", x.size(), parameterCount());
    detail::requireIndices("CompiledSum", batch, samples_.size());
    P point;
    std::copy(x.begin(), x.end(), point.begin());
    return point;
  }

  std::span<const Sample> samples_;
  F f_;
  mutable OracleCounter counter_;
};

/// f_i(x) = f(samples[i], x), where x are so many parameters.
template <class T = double, class Samples, class F>
auto finiteSum(const Samples& samples, std::size_t parameters, F f) {
  using Sample = std::remove_cvref_t<decltype(*std::data(samples))>;
  return FunctionSum<T, Sample, F>(std::span<const Sample>(std::data(samples), std::size(samples)),
                                   parameters, std::move(f));
}
/// The same of a compiled function, whose parameters are a std::array `P`.
template <class P, class Samples, class F> auto finiteSum(const Samples& samples, F f) {
  using Sample = std::remove_cvref_t<decltype(*std::data(samples))>;
  return CompiledSum<P, Sample, F>(std::span<const Sample>(std::data(samples), std::size(samples)), f);
}

}  // namespace burtorch::inline BURTORCH_TARGET
