// The constants of smooth problems that step sizes are made of: L of f, L_i of every f_i, mu of f.
//
// For linear problems they come from the rows a_i: L_i = c |a_i|^2 + l2 and L = c lambda_max(A'A) / n + l2, with c the curvature of the
// loss. Where the Gram matrix of features or of samples is small, its eigenvalues are computed to rounding, and what rounding may
// have hidden is added: L is an upper bound and exact to about 1e-10. For larger data, 100 steps of Lanczos from a random start
// give a value theta <= lambda_max, and lambda_max <= theta / (1 - e) but for a chance of 1e-9, with
// e = (log(1.648 sqrt(d) / 1e-9) / 199)^2, some 2 % (Kuczynski and Wozniakowski, 1992); L is then this upper bound, or the
// mean of the L_i, if that is less.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "../base/rng.hpp"
#include "../data/sparse_rows.hpp"
#include "symmetric.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Constants of f = (1/n) sum f_i: f is L-smooth and mu-strongly convex, f_i is ofSamples[i]-smooth.
struct Smoothness {
  double L = 0;
  std::vector<double> ofSamples;
  double mu = 0;

  /// The root of the mean of the squares of L_i, which EF21 and MARINA need of their workers.
  double rootMeanSquare() const {
    double sum = 0;
    for (const double Li : ofSamples) sum += Li * Li;
    return std::sqrt(sum / static_cast<double>(ofSamples.size()));
  }
  double largestOfSamples() const { return *std::max_element(ofSamples.begin(), ofSamples.end()); }
};

namespace detail {

/// The eigenvalues of A'A for some rows of A.
template <class T> class GramSpectrum {
 public:
  GramSpectrum(const SampleRows<T>& rows, std::span<const std::size_t> samples)
      : rows_(rows), samples_(samples) {}

  /// An interval around all of them; without small Gram matrix, from 0.
  symmetric::Extremes extremes() const {
    constexpr std::size_t largest = 512;
    constexpr double mostWork = 2e9;
    const std::size_t m = samples_.size(), d = rows_.features();
    double squares = 0, stored = 0;
    for (const std::size_t i : samples_) {
      const auto count = static_cast<double>(rows_.row(i).count());
      squares += count * count;
      stored += count;
    }
    symmetric::Extremes result;
    if (m < d && m <= largest && static_cast<double>(m) * stored <= mostWork) {
      result = fromMatrix(ofSamples(), m, d);
      result.lowest = 0;  // A'A has more rows than A, so it is singular
    } else if (d <= largest && squares <= mostWork) {
      result = fromMatrix(ofFeatures(), d, m);
    } else {
      result.highest = lanczos();
    }
    return result;
  }

 private:
  /// With what the rounding of sums of `terms` may have changed.
  static symmetric::Extremes fromMatrix(std::vector<double> gram, std::size_t n, std::size_t terms) {
    symmetric::Extremes result = symmetric::extremesOf(symmetric::tridiagonalise(gram, n));
    const double error =
        result.highest * std::numeric_limits<double>::epsilon() * static_cast<double>(terms + 8 * n);
    return {std::max(0.0, result.lowest - error), result.highest + error};
  }
  std::vector<double> ofFeatures() const {
    const std::size_t d = rows_.features();
    std::vector<double> gram(d * d);
    for (const std::size_t i : samples_) {
      const Row<T> row = rows_.row(i);
      for (std::size_t a = 0; a < row.count(); ++a)
        for (std::size_t b = 0; b < row.count(); ++b)
          gram[row.column(a) * d + row.column(b)] += double{row.value(a)} * double{row.value(b)};
    }
    return gram;
  }
  std::vector<double> ofSamples() const {
    const std::size_t m = samples_.size();
    std::vector<double> gram(m * m), one(rows_.features());
    for (std::size_t i = 0; i < m; ++i) {
      addTo(one, samples_[i], 1);
      for (std::size_t k = 0; k <= i; ++k) gram[i * m + k] = gram[k * m + i] = dot(one, samples_[k]);
      std::fill(one.begin(), one.end(), 0.0);
    }
    return gram;
  }
  double dot(const std::vector<double>& x, std::size_t sample) const {
    const Row<T> row = rows_.row(sample);
    double sum = 0;
    for (std::size_t k = 0; k < row.count(); ++k) sum += x[row.column(k)] * double{row.value(k)};
    return sum;
  }
  void addTo(std::vector<double>& x, std::size_t sample, double scale) const {
    const Row<T> row = rows_.row(sample);
    for (std::size_t k = 0; k < row.count(); ++k) x[row.column(k)] += scale * double{row.value(k)};
  }

  double lanczos() const {
    constexpr std::size_t most = 100;
    constexpr double chance = 1e-9;
    const std::size_t d = rows_.features(), steps = std::min(most, d);
    std::vector<double> before(d), now(d), next(d);
    Rng rng(0x5EED);
    for (double& x : now) x = rng.normal<double>();
    double length = norm(now);
    symmetric::Tridiagonal projected;
    for (std::size_t step = 0; step < steps; ++step) {
      for (double& x : now) x /= length;
      std::fill(next.begin(), next.end(), 0.0);
      for (const std::size_t i : samples_) addTo(next, i, dot(now, i));
      const double along = std::inner_product(now.begin(), now.end(), next.begin(), 0.0);
      const double back = step > 0 ? length : 0;
      for (std::size_t j = 0; j < d; ++j) next[j] -= along * now[j] + back * before[j];
      projected.diagonal.push_back(along);
      length = norm(next);
      // An invariant subspace: what random vectors begin with is all there is.
      if (length <= along * 1e-14 || step + 1 == steps) break;
      projected.beside.push_back(length);
      std::swap(before, now);
      std::swap(now, next);
    }
    const double root =
        std::log(1.648 * std::sqrt(static_cast<double>(d)) / chance) / (2 * static_cast<double>(steps) - 1);
    return symmetric::extremesOf(projected).highest / (1 - std::min(0.9, root * root));
  }
  static double norm(const std::vector<double>& x) {
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
  }

  const SampleRows<T>& rows_;
  std::span<const std::size_t> samples_;
};

}  // namespace detail

/// The constants of the mean over some samples of loss(a_i . x) + l2/2 |x|^2, for a loss of this curvature; one that is not
/// quadratic may be flat.
template <class T>
Smoothness linearSmoothness(const SampleRows<T>& rows, std::span<const std::size_t> samples, double curvature,
                            bool isQuadratic, double l2) {
  if (samples.empty()) fail("smoothness of the mean over no samples");
  Smoothness result;
  double sum = 0;
  for (const std::size_t i : samples) {
    const double Li = curvature * rows.row(i).squaredNorm();
    result.ofSamples.push_back(Li + l2);
    sum += Li;
  }
  const auto count = static_cast<double>(samples.size());
  const symmetric::Extremes gram = detail::GramSpectrum<T>(rows, samples).extremes();
  result.L = std::min(sum / count * (1 + 1e-12), curvature * gram.highest / count) + l2;
  result.mu = l2 + (isQuadratic ? curvature * gram.lowest / count : 0);
  return result;
}

}  // namespace burtorch::inline BURTORCH_TARGET
