// PAGE (Li et al. 2021, arXiv 2008.10898): a gradient estimate that a small batch corrects and a large one renews now and then.
//   x+ = x - eta g
//   g+ = mean over b samples of grad f_i(x+)                       with probability p
//   g+ = g + mean over b' samples of (grad f_i(x+) - grad f_i(x))  otherwise, the same samples at both points
// The corrections cost two gradients of the same samples, which oracles compute together (gradientsAtTwo). What remains is
// one pass over the numbers: it corrects g and takes the next step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "../simd/pack.hpp"
#include "sampling.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// What is 0 gets its default (page::withDefaults).
struct PageOptions {
  double stepSize = 0;     // eta; 0 is an error
  std::size_t large = 0;   // b; 0: all samples
  std::size_t small = 0;   // b'; 0: the root of b
  double probability = 0;  // p; 0: b' / (b + b')
  std::uint64_t seed = 0;
};

/// What theory says of PAGE.
namespace page {

/// The options with their defaults filled in, for n samples.
inline PageOptions withDefaults(PageOptions options, std::size_t n) {
  if (options.large == 0) options.large = n;
  if (options.small == 0)
    options.small =
        std::max<std::size_t>(1, static_cast<std::size_t>(std::sqrt(static_cast<double>(options.large))));
  if (options.probability == 0)
    options.probability =
        static_cast<double>(options.small) / static_cast<double>(options.large + options.small);
  return options;
}
/// 1 / (L (1 + sqrt((1 - p) / (p b')))), which is 1 / (L (1 + sqrt(b) / b')) for the default p; with a PL constant mu at most
/// p / (2 mu) as well. L is the mean-square smoothness: that of f if samples are alike, sqrt(mean L_i^2) always.
inline double stepSize(double smoothness, const PageOptions& options, double mu = 0) {
  const double p = options.probability;
  const double eta = 1 / (smoothness * (1 + std::sqrt((1 - p) / (p * static_cast<double>(options.small)))));
  return mu > 0 && p < 1 ? std::min(eta, p / (2 * mu)) : eta;
}

}  // namespace page

/// The method at work on f, from a start.
template <FiniteSum F> class Page {
 public:
  using T = typename F::Scalar;

  Page(F& f, std::span<const T> start, const PageOptions& options)
      : f_(f),
        options_(page::withDefaults(options, f.size())),
        large_(f.size(), options_.large, Rng(options.seed, 1).next()),
        small_(f.size(), options_.small, Rng(options.seed, 2).next()),
        x_(start.begin(), start.end()),
        next_(x_.size()),
        estimate_(x_.size()),
        atNew_(x_.size()),
        atOld_(x_.size()) {
    if (start.size() != f.parameterCount())
      fail("Page: expected a start of %zu numbers, got %zu", f.parameterCount(), start.size());
    if (!(options.stepSize > 0 && std::isfinite(options.stepSize)))
      fail("Page: expected a step size above 0, got %g", options.stepSize);
    if (!(options_.probability > 0 && options_.probability <= 1))
      fail("Page: expected a probability above 0 and at most 1, got %g", options_.probability);
  }

  /// One step: the estimate at x, renewed or corrected. The first call computes the gradient at the start.
  double step() {
    const T eta = static_cast<T>(options_.stepSize);
    if (round_ == 0) {
      const AllSamples all(f_.size());
      ++round_;
      return renew(all, eta);
    }
    std::swap(x_, next_);  // next_ is now the old point
    const std::uint64_t round = round_++;
    if (Rng(options_.seed, round).uniform<double>() < options_.probability)
      return renew(large_.draw(round), eta);
    const double value = gradientsAtTwo(f_, std::span<const T>(x_), std::span<const T>(next_),
                                        small_.draw(round), std::span<T>(atNew_), std::span<T>(atOld_))
                             .atX;
    using P = Pack<T>;
    T *g = estimate_.data(), *next = next_.data();
    const T *x = x_.data(), *atNew = atNew_.data(), *atOld = atOld_.data();
    std::size_t i = 0;
    for (; i + P::count <= x_.size(); i += P::count) {
      const P estimate = P::load(g + i) + (P::load(atNew + i) - P::load(atOld + i));
      estimate.store(g + i);
      (P::load(x + i) - eta * estimate).store(next + i);
    }
    for (; i < x_.size(); ++i) {
      g[i] = g[i] + (atNew[i] - atOld[i]);
      next[i] = x[i] - eta * g[i];
    }
    return value;
  }
  /// The point of the last estimate.
  std::span<const T> x() const { return x_; }
  /// The estimate of the gradient there.
  std::span<const T> estimate() const { return estimate_; }
  const PageOptions& options() const { return options_; }
  std::uint64_t round() const { return round_; }
  template <class Visit> void visitState(Visit visit) {
    visit("round", round_);
    visit("x", std::span<T>(x_));
    visit("next", std::span<T>(next_));
    visit("estimate", std::span<T>(estimate_));
  }

 private:
  /// g = the mean over a batch at x; and the next point.
  double renew(Batch batch, T eta) {
    const double value = f_.gradient(x_, batch, estimate_);
    for (std::size_t i = 0; i < x_.size(); ++i) next_[i] = x_[i] - eta * estimate_[i];
    return value;
  }

  F& f_;
  PageOptions options_;
  NiceSampling large_, small_;
  std::vector<T> x_, next_, estimate_, atNew_, atOld_;
  std::uint64_t round_ = 0;
};

}  // namespace burtorch::inline BURTORCH_TARGET
