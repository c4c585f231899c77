// What an optimiser may ask of f = (1/n) sum f_i: a written concept, so that every method works on every problem.
//
//   value(x, batch)            the mean of f_i(x) over a batch of samples
//   gradient(x, batch, into)   writes the gradient of that mean, returns its value
//
// x is any point, given as a span: an oracle holds no iterate, so two points cost two calls and no copies. Batches are lists of
// sample indices, with or without repeats. An oracle that can do more says so by having more members, and the functions
// below use them where they are there: `gradient(x, batch, into, options)` stops, leaves out coordinates, drops edges and
// reports final blocks; `gradientsAtTwo` and
// `difference` take two points at once. All calls are counted.
//
// An oracle whose calls are const may be asked by several threads at once.
#pragma once

#include <algorithm>
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "../base/check.hpp"
#include "../core/sweep_options.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Indices of samples.
using Batch = std::span<const std::size_t>;

/// What an oracle was asked so far.
struct OracleCounts {
  std::uint64_t values = 0;        // f_i at a point, without its gradient
  std::uint64_t gradients = 0;     // gradients of single f_i at a point
  std::uint64_t instructions = 0;  // instructions that sweeps visited, where sweeps with knobs say so

  friend bool operator==(const OracleCounts&, const OracleCounts&) = default;
};

/// Counts from any number of threads.
class OracleCounter {
 public:
  OracleCounter() = default;
  OracleCounter(const OracleCounter& other) { *this = other; }
  OracleCounter& operator=(const OracleCounter& other) {
    const OracleCounts counts = other.counts();
    values_ = counts.values, gradients_ = counts.gradients, instructions_ = counts.instructions;
    return *this;
  }
  void addValues(std::size_t count) { values_.fetch_add(count, std::memory_order_relaxed); }
  void addGradients(std::size_t count) { gradients_.fetch_add(count, std::memory_order_relaxed); }
  void addInstructions(std::size_t count) { instructions_.fetch_add(count, std::memory_order_relaxed); }
  OracleCounts counts() const { return {values_, gradients_, instructions_}; }

 private:
  std::atomic<std::uint64_t> values_{0}, gradients_{0}, instructions_{0};
};

/// A finite sum of differentiable functions of d numbers.
template <class F>
concept FiniteSum = requires(F& f, const F& known, std::span<const typename F::Scalar> x, Batch batch,
                             std::span<typename F::Scalar> into) {
  { known.size() } -> std::convertible_to<std::size_t>;            // samples
  { known.parameterCount() } -> std::convertible_to<std::size_t>;  // d
  { f.value(x, batch) } -> std::convertible_to<double>;
  { f.gradient(x, batch, into) } -> std::convertible_to<double>;
  { known.counts() } -> std::convertible_to<OracleCounts>;
};

/// Knobs of one gradient (core/sweep_options.hpp says what they do).
template <class T> struct GradientOptions {
  FunctionRef<bool()> stop{};
  std::size_t pollEvery = 64;
  Wanted wanted{};
  KeepEdges keep{};
  FunctionRef<void(const FinalBlock<T>&)> onFinal{};
};
/// `finished`, or `stopped`: then nothing was written.
struct GradientResult {
  SweepStatus status = SweepStatus::finished;
  double value = 0;

  explicit operator bool() const { return status == SweepStatus::finished; }
};

/// A finite sum that reaches into backpropagation.
template <class F>
concept GuidedSum = FiniteSum<F> &&
    requires(F& f, std::span<const typename F::Scalar> x, Batch batch, std::span<typename F::Scalar> into,
             const GradientOptions<typename F::Scalar>& options) {
  { f.gradient(x, batch, into, options) } -> std::same_as<GradientResult>;
};

/// {f(x), f(y)} over a batch.
struct ValuesAtTwo {
  double atX = 0, atY = 0;
};

/// Writes the gradients at two points, of the same samples: their difference is what methods of variance reduction need.
template <FiniteSum F>
ValuesAtTwo gradientsAtTwo(F& f, std::span<const typename F::Scalar> x, std::span<const typename F::Scalar> y,
                           Batch batch, std::span<typename F::Scalar> intoX,
                           std::span<typename F::Scalar> intoY) {
  if constexpr (requires { f.gradientsAtTwo(x, y, batch, intoX, intoY); })
    return f.gradientsAtTwo(x, y, batch, intoX, intoY);
  else
    return {f.gradient(x, batch, intoX), f.gradient(y, batch, intoY)};
}

/// Writes the gradient at x less that at y, of the same samples. `scratch` has as many numbers as `into`.
template <FiniteSum F>
ValuesAtTwo difference(F& f, std::span<const typename F::Scalar> x, std::span<const typename F::Scalar> y,
                       Batch batch, std::span<typename F::Scalar> into,
                       std::span<typename F::Scalar> scratch) {
  if constexpr (requires { f.difference(x, y, batch, into); }) {
    return f.difference(x, y, batch, into);
  } else {
    const ValuesAtTwo values = gradientsAtTwo(f, x, y, batch, into, scratch);
    for (std::size_t i = 0; i < into.size(); ++i) into[i] = into[i] - scratch[i];
    return values;
  }
}

/// Writes the gradient of every sample of a batch, one after the other.
template <FiniteSum F>
void sampleGradients(F& f, std::span<const typename F::Scalar> x, Batch batch,
                     std::span<typename F::Scalar> into) {
  const std::size_t d = f.parameterCount();
  if (into.size() != batch.size() * d)
    fail("sampleGradients: expected room for %zu gradients of %zu numbers, got %zu numbers", batch.size(), d,
         into.size());
  for (std::size_t i = 0; i < batch.size(); ++i) f.gradient(x, batch.subspan(i, 1), into.subspan(i * d, d));
}

/// All samples of a finite sum, as a batch.
class AllSamples {
 public:
  explicit AllSamples(std::size_t count) : indices_(count) {
    std::iota(indices_.begin(), indices_.end(), std::size_t{0});
  }
  operator Batch() const { return indices_; }

 private:
  std::vector<std::size_t> indices_;
};

/// Some samples of a finite sum, as a finite sum: what one worker of many holds.
template <FiniteSum F> class PartOf {
 public:
  using Scalar = typename F::Scalar;

  PartOf(F& whole, std::vector<std::size_t> samples) : whole_(&whole), samples_(std::move(samples)) {
    for (const std::size_t sample : samples_)
      if (sample >= whole.size())
        fail(ErrorCode::outOfRange, "PartOf: sample %zu is out of range for %zu samples", sample,
             whole.size());
  }
  std::size_t size() const { return samples_.size(); }
  std::size_t parameterCount() const { return whole_->parameterCount(); }
  OracleCounts counts() const { return counter_.counts(); }
  std::span<const std::size_t> samples() const { return samples_; }

  double value(std::span<const Scalar> x, Batch batch) {
    counter_.addValues(batch.size());
    return whole_->value(x, mapped(batch));
  }
  double gradient(std::span<const Scalar> x, Batch batch, std::span<Scalar> into) {
    counter_.addGradients(batch.size());
    return whole_->gradient(x, mapped(batch), into);
  }
  /// With the knobs of the whole, if it has any.
  GradientResult gradient(std::span<const Scalar> x, Batch batch, std::span<Scalar> into,
                          const GradientOptions<Scalar>& options) requires GuidedSum<F> {
    counter_.addGradients(batch.size());
    const std::uint64_t before = whole_->counts().instructions;
    const GradientResult result = whole_->gradient(x, mapped(batch), into, options);
    counter_.addInstructions(whole_->counts().instructions - before);
    return result;
  }
  ValuesAtTwo gradientsAtTwo(std::span<const Scalar> x, std::span<const Scalar> y, Batch batch,
                             std::span<Scalar> intoX, std::span<Scalar> intoY) {
    counter_.addGradients(2 * batch.size());
    return burtorch::gradientsAtTwo(*whole_, x, y, mapped(batch), intoX, intoY);
  }

 private:
  Batch mapped(Batch batch) {
    mapped_.resize(batch.size());
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (batch[i] >= samples_.size())
        fail(ErrorCode::outOfRange, "PartOf: sample %zu is out of range for %zu samples", batch[i],
             samples_.size());
      mapped_[i] = samples_[batch[i]];
    }
    return mapped_;
  }

  F* whole_;
  std::vector<std::size_t> samples_, mapped_;
  OracleCounter counter_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
