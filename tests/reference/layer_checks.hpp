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

#include <burtorch/core/dual.hpp>
#include <burtorch/core/rng.hpp>
#include <burtorch/nn/lanes.hpp>
#include <burtorch/nn/parameters.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "layer_twins.hpp"

namespace burtorch {

/// Numbers of rows that meet every edge of the tiles.
inline constexpr std::size_t tileEdges[] = {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 24, 65};

/// One column and whole vectors of them, up to more than are summed at a time.
template <class T> std::vector<std::size_t> columnCounts() {
  constexpr std::size_t lanes = nn::laneCount<T>;
  return {1, lanes, 2 * lanes, 3 * lanes, 8 * lanes, 9 * lanes, 136};
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
  Parameters<T> parameters{tape};

  Parameter block(std::size_t rows, std::size_t columns = 1) {
    guard();
    return parameters.add("block", ParameterRole::weight, rows, columns);
  }
  Matrix<T> matrix(std::size_t rows, std::size_t columns) { return twin::matrixOf<T>(block(rows, columns)); }
  void guard() { guards_.push_back(parameters.add("guard", ParameterRole::weight, 3)); }

  /// Gives all leaves their numbers; no more are added after this.
  void fill() {
    guard();
    Rng rng(seed);
    for (T& x : parameters.values()) randomise(rng, x);
    for (const Parameter& three : guards_)
      for (T& x : parameters.values(three)) x = T{std::numeric_limits<PlainOf<T>>::quiet_NaN()};
  }

  struct Outcome {
    std::vector<T> values, gradients;
  };
  /// Numbers of the outputs that `build` makes, and the gradients of the leaves if random ones arrive at the outputs.
  template <class Build> Outcome outcomeOf(Build build) {
    const SampleScope sample(tape);
    const std::vector<T> before(parameters.values().begin(), parameters.values().end());
    tape.zeroGrad();
    const std::vector<Value<T>> outputs = build();
    const auto seeds = seedsFor(outputs.size());
    backward(std::span<const Value<T>>(outputs), std::span<const T>(seeds));
    Outcome outcome;
    for (const auto& y : outputs) outcome.values.push_back(y.dataCopy());
    outcome.gradients.assign(parameters.gradients().begin(), parameters.gradients().end());
    EXPECT_EQ(std::memcmp(before.data(), parameters.values().data(), before.size() * sizeof(T)), 0)
        << "numbers of leaves have changed";
    for (const Parameter& three : guards_)
      for (const T& g : parameters.gradients(three)) EXPECT_TRUE(distance(g, T{0}) == 0) << "beside a block";
    return outcome;
  }

  template <class Layer, class Twin>
  void expectSame(Layer layer, Twin twin, const std::string& what, double most = tolerance) {
    const Outcome found = outcomeOf(layer), wanted = outcomeOf(twin);
    EXPECT_LE(worstError<T>(found.values, wanted.values), most) << what << ", seed " << seed;
    EXPECT_LE(worstError<T>(found.gradients, wanted.gradients), most)
        << "gradients of " << what << ", seed " << seed;
  }

  /// Every `step`-th leaf is moved up and down.
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
      parameters.values()[static_cast<std::size_t>(&leaf - parameters.values().data())] = before;
      return sum;
    };
    const T h = std::cbrt(std::numeric_limits<T>::epsilon());
    for (std::size_t i = 0; i < parameters.size(); i += step) {
      T& leaf = parameters.values()[i];
      if (std::isnan(leaf)) continue;
      const T x = leaf, difference = (sumAt(leaf, x + h) - sumAt(leaf, x - h)) / (2 * h);
      EXPECT_NEAR(found.gradients[i], difference, 1e-8 * (1 + std::abs(difference))) << "leaf " << i;
    }
  }

 private:
  static std::vector<T> seedsFor(std::size_t count) {
    Rng rng(seed, 1);
    std::vector<T> seeds(count);
    for (T& x : seeds) randomise(rng, x);
    return seeds;
  }

  std::vector<Parameter> guards_;
};

}  // namespace burtorch
