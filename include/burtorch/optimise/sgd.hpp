// Gradient descent and SGD with nice sampling, proximal for a regulariser R (Gower et al. 2019, arXiv 1901.09401):
//   x <- prox_{gamma R}(x - gamma * mean of grad f_i(x) over tau samples).
// tau = n is gradient descent; with l1 it is ISTA.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "prox.hpp"
#include "sampling.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// What theory says of SGD with nice sampling.
namespace nice {

/// Expected smoothness: n (tau - 1) / (tau (n - 1)) L + (n - tau) / (tau (n - 1)) L_max.
inline double expectedSmoothness(std::size_t n, std::size_t tau, double smoothness, double largest) {
  if (n == 1) return smoothness;
  const double count = static_cast<double>(n), t = static_cast<double>(tau);
  return count * (t - 1) / (t * (count - 1)) * smoothness + (count - t) / (t * (count - 1)) * largest;
}
/// The variance of a sampled gradient: (n - tau) / (tau (n - 1)) h, where h = (1/n) sum |grad f_i - grad f|^2.
inline double variance(std::size_t n, std::size_t tau, double h) {
  if (n == 1) return 0;
  const double count = static_cast<double>(n), t = static_cast<double>(tau);
  return (count - t) / (t * (count - 1)) * h;
}
/// min {1 / (2 expected smoothness), epsilon mu / (4 sigma^2)}: |x - x*|^2 gets below epsilon. Without variance at the solution,
/// or without an epsilon, the first.
inline double stepSize(double expected, double sigmaSquared = 0, double mu = 0, double epsilon = 0) {
  const double first = 1 / (2 * expected);
  return sigmaSquared > 0 && mu > 0 && epsilon > 0 ? std::min(first, epsilon * mu / (4 * sigmaSquared))
                                                   : first;
}

}  // namespace nice

/// tau samples at a time, of all.
struct SgdOptions {
  double stepSize = 0;
  std::size_t tau = 1;
  std::uint64_t seed = 0;
  Regulariser regulariser{};
};

/// x <- prox(x - stepSize * mean gradient of tau samples).
template <FiniteSum F> class ProxSgd {
 public:
  using T = typename F::Scalar;

  ProxSgd(F& f, std::span<const T> start, const SgdOptions& options)
      : f_(f),
        options_(options),
        sampling_(f.size(), options.tau, options.seed),
        x_(start.begin(), start.end()),
        gradient_(x_.size()) {
    if (start.size() != f.parameterCount())
      fail("ProxSgd: expected a start of %zu numbers, got %zu", f.parameterCount(), start.size());
    if (!(options.stepSize > 0 && std::isfinite(options.stepSize)))
      fail("ProxSgd: expected a step size above 0, got %g", options.stepSize);
    checkRegulariser(options.regulariser);
  }

  /// One step; returns the mean of f_i over its samples, before it.
  double step() {
    const double value = f_.gradient(x_, sampling_.draw(round_++), gradient_);
    proximalStep(options_.regulariser, static_cast<T>(options_.stepSize), x_.data(), gradient_.data(),
                 x_.data(), x_.size());
    return value;
  }
  std::span<const T> x() const { return x_; }
  std::uint64_t round() const { return round_; }
  /// All that a run must remember to be resumed.
  template <class Visit> void visitState(Visit visit) {
    visit("round", round_);
    visit("x", std::span<T>(x_));
  }

 private:
  F& f_;
  SgdOptions options_;
  NiceSampling sampling_;
  std::vector<T> x_, gradient_;
  std::uint64_t round_ = 0;
};

}  // namespace burtorch::inline BURTORCH_TARGET
