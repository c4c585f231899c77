// What the experiment starts from: random numbers, two moons and the first weights. The generator is our own, because
// the distributions of <random> differ between standard libraries; a seed means the same points everywhere.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "model.hpp"

namespace moons {

using Weights = std::array<double, parameterCount>;
using Samples = std::vector<Sample<double>>;

/// SplitMix64 (Steele, Lea, Flood 2014): every seed is a good one, neighbouring seeds included.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// At least `low`, less than `high`.
  double uniform(double low, double high) {
    return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
  }

  /// Two independent Gaussian numbers of deviation 1, by Box and Muller.
  std::array<double, 2> gaussianPair() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform(0, 1)));  // 1 - u, because u may be 0
    const double angle = uniform(0, 2.0 * std::numbers::pi);
    return {radius * std::cos(angle), radius * std::sin(angle)};
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

/// Two half circles that reach into each other, as scikit-learn's make_moons makes them: the upper one is labelled -1,
/// the lower one +1.
inline Samples twoMoons(std::size_t count, double noise, Random& random) {
  Samples samples;
  const std::size_t upper = count / 2;
  const auto addMoon = [&](std::size_t points, double label) {
    for (std::size_t i = 0; i < points; ++i) {
      const double steps = points > 1 ? static_cast<double>(points - 1) : 1.0;
      const double angle = std::numbers::pi * static_cast<double>(i) / steps;
      const double x = std::cos(angle), y = std::sin(angle);
      const auto [dx, dy] = random.gaussianPair();
      const Sample<double> exact =
          label < 0 ? Sample<double>{x, y, label} : Sample<double>{1 - x, 0.5 - y, label};
      samples.push_back({exact.x + noise * dx, exact.y + noise * dy, label});
    }
  };
  addMoon(upper, -1);
  addMoon(count - upper, +1);
  return samples;
}

/// As micrograd starts: weights between -1 and 1, biases 0.
inline Weights firstWeights(Random& random) {
  Weights w{};
  std::size_t at = 0;
  const auto fillLayer = [&](std::size_t inputs, std::size_t neurons) {
    for (std::size_t neuron = 0; neuron < neurons; ++neuron) {
      for (std::size_t i = 0; i < inputs; ++i) w[at++] = random.uniform(-1, 1);
      w[at++] = 0;
    }
  };
  fillLayer(2, width);
  fillLayer(width, width);
  fillLayer(width, 1);
  return w;
}

}  // namespace moons
