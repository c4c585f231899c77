// A layer beside its naive twin (layer_twins.hpp): the same leaves, the same gradients arriving, and then all numbers and
// the gradients of all leaves are compared; in double also with central differences.
//
// Leaves are random numbers of about 1, and so are the gradients that arrive, so the terms of all sums are of about 1. Both
// sides sum at most some 140 of them in different orders: errors grow like their root, 12 units in the last place of the
// largest result. The bound is 32 epsilon of the largest.
// Before every block of leaves, and behind the last, lie three NaNs that belong to nobody. Whoever reads them shows it;
// whoever writes there leaves a gradient that is not 0.
#pragma once

#include <gtest/gtest.h>

#include <burtorch/base/rng.hpp>
#include <burtorch/nn/parameter_store.hpp>
#include <burtorch/ops/dual.hpp>
#include <burtorch/simd/lanes.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "layer_twins.hpp"

namespace burtorch {

/// Numbers of rows that meet every edge of the tiles.
inline constexpr std::size_t tileEdges[] = {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 24, 65};

/// One column, whole vectors of them, and numbers that fill none, up to more than are summed at a time.
template <class T> std::vector<std::size_t> columnCounts() {
  constexpr std::size_t lanes = nn::laneCount<T>;
  return {1, 3, lanes, lanes + 2, 3 * lanes, 9 * lanes, 137};
}
/// Every number of columns up to more than two vectors of any machine have: for a few shapes.
inline std::vector<std::size_t> manyColumns() {
  std::vector<std::size_t> counts(17);
  std::iota(counts.begin(), counts.end(), std::size_t{1});
  return counts;
}

inline void randomise(Rng& rng, float& x) { x = 2 * rng.uniform<float>() - 1; }
inline void randomise(Rng& rng, double& x) { x = 2 * rng.uniform<double>() - 1; }
template <class T> void randomise(Rng& rng, Dual<T>& x) {
  randomise(rng, x.value);
  randomise(rng, x.tangent);
}

inline double distance(double x, double y) { return std::abs(x - y); }
template <class T> double distance(const Dual<T>& x, const Dual<T>& y) {
  const double value = distance(x.value, y.value), tangent = distance(x.tangent, y.tangent);
  return value > tangent || std::isnan(value) ? value : tangent;
}

/// The largest difference in units of the largest number wanted, or of 1 if that is larger. A NaN stays.
template <class T> double worstError(std::span<const T> found, std::span<const T> wanted) {
  EXPECT_EQ(found.size(), wanted.size());
  double worst = 0, largest = 1;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double error = distance(found[i], wanted[i]), size = distance(wanted[i], T{0});
    if (!(error <= worst) && !std::isnan(worst)) worst = error;
    if (size > largest) largest = size;
  }
  return worst / largest;
}

template <class T> class LayerChecks {
 public:
  static constexpr double tolerance = 32 * static_cast<double>(std::numeric_limits<PlainOf<T>>::epsilon());
  static constexpr std::uint64_t seed = 11;

  Tape<T> tape;
  CurrentTape<T, defaultConfig> here{tape};
  ParameterLayout layout;

  /// Parameters, which lie in a store.
  Parameter block(std::size_t rows, std::size_t columns = 1) {
    guard();
    return layout.add("block", ParameterRole::weight, rows, columns);
  }
  /// Inputs, which are leaves of the tape.
  Matrix<T> matrix(std::size_t rows, std::size_t columns) {
    guardLeaves();
    return {tape.leaves(rows * columns), rows, columns};
  }
  void guard() { guards_.push_back(layout.add("guard", ParameterRole::weight, 3)); }

  /// Gives all leaves and parameters their numbers; no more are added after this.
  void fill() {
    guard();
    guardLeaves();
    store_.emplace(layout);
    tape.bind(*store_);
    Rng rng(seed);
    const T nan{std::numeric_limits<PlainOf<T>>::quiet_NaN()};
    for (T& x : tape.values()) randomise(rng, x);
    for (T& x : store_->values()) randomise(rng, x);
    for (const Range<T>& three : leafGuards_)
      for (T& x : three.values()) x = nan;
    for (const Parameter& three : guards_)
      for (T& x : store_->values(three)) x = nan;
    leafCount_ = tape.size();
  }
  ParameterStore<T>& parameters() { return *store_; }

  struct Outcome {
    std::vector<T> values, gradients;
  };
  /// Numbers of the outputs that `build` makes, and the gradients of leaves and parameters if random ones arrive at the
  /// outputs.
  template <class Build> Outcome outcomeOf(Build build) {
    const SampleScope sample(tape);
    const std::vector<T> before = numbers();
    zeroGrad();
    const std::vector<Value<T>> outputs = build();
    const auto seeds = seedsFor(outputs.size());
    backward(std::span<const Value<T>>(outputs), std::span<const T>(seeds));
    Outcome outcome;
    for (const auto& y : outputs) outcome.values.push_back(y.dataCopy());
    outcome.gradients = gradients();
    const std::vector<T> after = numbers();
    EXPECT_EQ(std::memcmp(before.data(), after.data(), before.size() * sizeof(T)), 0)
        << "numbers of leaves have changed";
    for (const Range<T>& three : leafGuards_)
      for (const T& g : three.gradients()) EXPECT_TRUE(distance(g, T{0}) == 0) << "beside a block of leaves";
    for (const Parameter& three : guards_)
      for (const T& g : store_->gradients(three)) EXPECT_TRUE(distance(g, T{0}) == 0) << "beside a block";
    return outcome;
  }
  void zeroGrad() {
    tape.zeroGrad();
    store_->zeroGrad();
  }
  /// Of all leaves, then of all parameters.
  std::vector<T> gradients() {
    std::vector<T> all(tape.gradients().begin(),
                       tape.gradients().begin() + static_cast<std::ptrdiff_t>(leafCount_));
    all.insert(all.end(), store_->gradients().begin(), store_->gradients().end());
    return all;
  }

  template <class Layer, class Twin>
  void expectSame(Layer layer, Twin twin, const std::string& what, double most = tolerance) {
    const Outcome found = outcomeOf(layer), wanted = outcomeOf(twin);
    EXPECT_LE(worstError<T>(found.values, wanted.values), most) << what << ", seed " << seed;
    EXPECT_LE(worstError<T>(found.gradients, wanted.gradients), most)
        << "gradients of " << what << ", seed " << seed;
  }

  /// Every `step`-th leaf or parameter is moved up and down.
  template <class Layer> void expectSlopes(Layer layer, std::size_t step = 1) {
    const Outcome found = outcomeOf(layer);
    const auto sumAt = [&](T& leaf, T number) {
      const SampleScope sample(tape);
      const T before = leaf;
      leaf = number;
      const auto outputs = layer();
      const auto seeds = seedsFor(outputs.size());
      T sum{0};
      for (std::size_t i = 0; i < outputs.size(); ++i) sum += seeds[i] * outputs[i].dataCopy();
      leaf = before;
      return sum;
    };
    const T h = std::cbrt(std::numeric_limits<T>::epsilon());
    for (std::size_t i = 0; i < found.gradients.size(); i += step) {
      T& leaf = i < leafCount_ ? tape.values()[i] : store_->values()[i - leafCount_];
      if (std::isnan(leaf)) continue;
      const T x = leaf, difference = (sumAt(leaf, x + h) - sumAt(leaf, x - h)) / (2 * h);
      EXPECT_NEAR(found.gradients[i], difference, 1e-8 * (1 + std::abs(difference))) << "leaf " << i;
    }
  }

 private:
  void guardLeaves() { leafGuards_.push_back(tape.leaves(3)); }
  std::vector<T> numbers() const {
    std::vector<T> all(tape.values().begin(),
                       tape.values().begin() + static_cast<std::ptrdiff_t>(leafCount_));
    all.insert(all.end(), store_->values().begin(), store_->values().end());
    return all;
  }
  static std::vector<T> seedsFor(std::size_t count) {
    Rng rng(seed, 1);
    std::vector<T> seeds(count);
    for (T& x : seeds) randomise(rng, x);
    return seeds;
  }

  std::vector<Parameter> guards_;
  std::vector<Range<T>> leafGuards_;
  std::optional<ParameterStore<T>> store_;
  std::size_t leafCount_ = 0;
};

}  // namespace burtorch
