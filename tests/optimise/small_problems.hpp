// Small problems for the tests of methods: quadratics f_i(x) = h_i / 2 |x - c_i|^2 with everything known, in closed form.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <burtorch/base/rng.hpp>
#include <burtorch/oracle/finite_sum.hpp>
#include <cmath>
#include <vector>

namespace burtorch::small_problems {

/// n of them in d dimensions. Curvatures h_i lie in [1, 3], so L_i = h_i, and f is as smooth as their mean.
class Bowls {
 public:
  using Scalar = double;
  Bowls(std::size_t n, std::size_t d, std::uint64_t seed) : d_(d) {
    Rng rng(seed);
    for (std::size_t i = 0; i < n; ++i) {
      h_.push_back(1 + 2 * rng.uniform<double>());
      for (std::size_t k = 0; k < d; ++k) c_.push_back(rng.normal<double>());
    }
  }
  std::size_t size() const { return h_.size(); }
  std::size_t parameterCount() const { return d_; }
  OracleCounts counts() const { return counter_.counts(); }
  double value(std::span<const double> x, Batch batch) const {
    counter_.addValues(batch.size());
    double sum = 0;
    for (const std::size_t i : batch)
      for (std::size_t k = 0; k < d_; ++k) sum += h_[i] / 2 * (x[k] - c(i, k)) * (x[k] - c(i, k));
    return sum / static_cast<double>(batch.size());
  }
  double gradient(std::span<const double> x, Batch batch, std::span<double> into) const {
    counter_.addGradients(batch.size());
    for (std::size_t k = 0; k < d_; ++k) into[k] = 0;
    for (const std::size_t i : batch)
      for (std::size_t k = 0; k < d_; ++k) into[k] += h_[i] * (x[k] - c(i, k));
    for (std::size_t k = 0; k < d_; ++k) into[k] /= static_cast<double>(batch.size());
    return value(x, batch);
  }
  GradientResult gradient(std::span<const double> x, Batch batch, std::span<double> into,
                          const GradientOptions<double>& options) const {
    if (options.stop && options.stop()) return {SweepStatus::stopped, 0};
    return {SweepStatus::finished, gradient(x, batch, into)};
  }

  double smoothness() const {
    double sum = 0;
    for (const double h : h_) sum += h;
    return sum / static_cast<double>(h_.size());
  }
  /// sqrt(mean L_i^2)
  double meanSquareSmoothness() const {
    double sum = 0;
    for (const double h : h_) sum += h * h;
    return std::sqrt(sum / static_cast<double>(h_.size()));
  }
  double largestSmoothness() const {
    double most = 0;
    for (const double h : h_) most = std::max(most, h);
    return most;
  }
  std::vector<double> minimiser() const {
    std::vector<double> x(d_, 0);
    for (std::size_t k = 0; k < d_; ++k) {
      for (std::size_t i = 0; i < size(); ++i) x[k] += h_[i] * c(i, k);
      x[k] /= smoothness() * static_cast<double>(size());
    }
    return x;
  }

 private:
  double c(std::size_t i, std::size_t k) const { return c_[i * d_ + k]; }

  std::size_t d_;
  std::vector<double> h_, c_;
  mutable OracleCounter counter_;
};

inline double squaredDistance(std::span<const double> x, std::span<const double> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}

/// Runs for `steps` steps, hands its state over, and goes on beside the other.
template <class Run> void expectResumed(Run& whole, Run& other, int steps) {
  for (int step = 0; step < steps; ++step) whole.step();
  std::vector<std::vector<double>> arrays;
  std::vector<std::uint64_t> counters;
  whole.visitState([&](const char*, auto&& state) {
    if constexpr (requires { state.size(); })
      arrays.emplace_back(state.begin(), state.end());
    else
      counters.push_back(state);
  });
  std::size_t array = 0, counter = 0;
  other.visitState([&](const char*, auto&& state) {
    if constexpr (requires { state.size(); })
      std::copy(arrays[array].begin(), arrays[array].end(), state.begin()), ++array;
    else
      state = counters[counter++];
  });
  for (int step = 0; step < steps; ++step) whole.step(), other.step();
  EXPECT_EQ(std::vector<double>(other.x().begin(), other.x().end()),
            std::vector<double>(whole.x().begin(), whole.x().end()));
  EXPECT_EQ(other.seconds(), whole.seconds());
  EXPECT_EQ(other.round(), whole.round());
}

}  // namespace burtorch::small_problems
