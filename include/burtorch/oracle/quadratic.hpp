// Quadratics with a chosen spectrum: f_i(x) = (x - c_i)' A_i (x - c_i) / 2, whose constants, minimiser and minimum are known.
//
//   const Quadratic<double> f({.samples = 100, .dimension = 1000, .mu = 1, .L = 1e4});
//   f.smoothness().L, f.minimiser();
//
// A_i = Q_i D_i Q_i', where Q_i is a product of a few random Householder reflections: a product with A_i costs some passes over
// vectors and no matrix is stored. With a shared basis, Q_i = Q, everything is known in closed form in any dimension. With bases of
// their own the Hessians do not commute; then the constants of f take a dense matrix, so the dimension is limited. Calls are
// const and divided among threads as those of linear problems. `into` must not overlap x.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "../base/rng.hpp"
#include "batch_sum.hpp"
#include "finite_sum.hpp"
#include "smoothness.hpp"
#include "symmetric.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Sizes, spectrum and randomness of a Quadratic.
struct QuadraticOptions {
  std::size_t samples = 10, dimension = 20;
  double mu = 1, L = 100;  // of every f_i: eigenvalues with a constant ratio, in an order of its own
  double centres = 1;      // deviation of the numbers of c_i; with 0 all f_i have the minimiser 0
  std::size_t reflections = 3;
  bool isBasisShared = true;
  std::uint64_t seed = 0;
};

/// A finite sum of quadratics.
template <class T> class Quadratic {
 public:
  using Scalar = T;
  /// In which the constants of quadratics with bases of their own can be computed.
  static constexpr std::size_t largestDense = 1024;

  explicit Quadratic(const QuadraticOptions& options) : Quadratic(spectraOf(options), options) {}
  /// `spectra` has the eigenvalues of A_0, then those of A_1, and so on: zero or more each. mu and L are not looked at.
  Quadratic(const std::vector<double>& spectra, const QuadraticOptions& options)
      : samples_(options.samples),
        d_(options.dimension),
        reflections_(options.reflections),
        isShared_(options.isBasisShared),
        spectra_(spectra.begin(), spectra.end()) {
    requireSizes(options);
    if (spectra.size() != samples_ * d_)
      fail("Quadratic: expected %zu eigenvalues for each of %zu samples, got %zu in all", d_, samples_,
           spectra.size());
    for (const T eigenvalue : spectra_)
      if (!(eigenvalue >= T{0}) || !std::isfinite(eigenvalue))
        fail("Quadratic: expected eigenvalues of 0 or more, got %g", double{eigenvalue});
    Rng ofCentres(options.seed, 1), ofVectors(options.seed, 2);
    centres_.resize(samples_ * d_);
    for (T& c : centres_) c = static_cast<T>(options.centres * ofCentres.normal<double>());
    vectors_.resize((isShared_ ? 1 : samples_) * reflections_ * d_);
    for (T& v : vectors_) v = static_cast<T>(ofVectors.normal<double>());
    for (std::size_t r = 0; r < vectors_.size() / d_; ++r) {
      const Row<T> v(vectors_.data() + r * d_, nullptr, d_);
      const double squares = v.squaredNorm();
      factors_.push_back(squares > 0 ? 2 / squares : 0);
    }
  }

  std::size_t size() const { return samples_; }
  std::size_t parameterCount() const { return d_; }
  OracleCounts counts() const { return counter_.counts(); }

  /// The mean of f_i(x) over a batch.
  double value(std::span<const T> x, Batch batch) const {
    require(batch, {x.size()});
    counter_.addValues(batch.size());
    return overBatch(batch, {}, [&](std::size_t i, T*, T* z) { return rotatedValue(i, x.data(), z); }) /
           static_cast<double>(batch.size());
  }
  /// Writes the gradient of this mean, and returns the mean.
  double gradient(std::span<const T> x, Batch batch, std::span<T> into) const {
    require(batch, {x.size(), into.size()});
    counter_.addGradients(batch.size());
    const double sum = overBatch(batch, into, [&](std::size_t i, T* to, T* z) {
      const double value = rotatedValue(i, x.data(), z);
      addProduct(i, z, to);
      return value;
    });
    divide(into, batch.size());
    return sum / static_cast<double>(batch.size());
  }
  /// Writes the product of the mean's Hessian with v; counted as a gradient.
  void hessianProduct(std::span<const T> x, std::span<const T> v, Batch batch, std::span<T> into) const {
    require(batch, {x.size(), v.size(), into.size()});
    counter_.addGradients(batch.size());
    overBatch(batch, into, [&](std::size_t i, T* to, T* z) {
      std::copy(v.begin(), v.end(), z);
      rotateBack(i, z);
      addProduct(i, z, to);
      return 0.0;
    });
    divide(into, batch.size());
  }

  /// The constants of f: L and mu are exact with a shared basis, otherwise an upper and a lower bound within rounding.
  Smoothness smoothness() const { return smoothness(AllSamples(samples_)); }
  /// The constants of the mean over some samples.
  Smoothness smoothness(Batch samples) const {
    require(samples, {});
    Smoothness result;
    for (const std::size_t i : samples)
      result.ofSamples.push_back(double{*std::max_element(spectrum(i), spectrum(i) + d_)});
    if (isShared_) {
      const std::vector<double> mean = meanSpectrum(samples);
      result.L = *std::max_element(mean.begin(), mean.end());
      result.mu = *std::min_element(mean.begin(), mean.end());
    } else {
      std::vector<double> matrix = meanMatrix(samples);
      const symmetric::Extremes found = symmetric::extremesOf(symmetric::tridiagonalise(matrix, d_));
      const double error = 64 * found.highest * std::numeric_limits<double>::epsilon() *
                           std::sqrt(static_cast<double>(d_ + samples.size()));
      result.L = found.highest + error;
      result.mu = std::max(0.0, found.lowest - error);
    }
    return result;
  }
  /// Where f is smallest, to the last digits that its condition leaves.
  std::vector<double> minimiser() const {
    const AllSamples all(samples_);
    std::vector<double> x(d_), step(d_), factor;
    std::vector<double> mean;
    if (isShared_) {
      mean = meanSpectrum(all);
    } else {
      factor = meanMatrix(all);
      if (!symmetric::cholesky(factor, d_)) refuseFlat();
    }
    // Newton's method: the second step removes the rounding of the first.
    for (int i = 0; i < 2; ++i) {
      gradientInDouble(x, step);
      if (isShared_) {
        rotateBack(0, step.data());
        for (std::size_t j = 0; j < d_; ++j) {
          if (!(mean[j] > 0)) refuseFlat();
          step[j] /= mean[j];
        }
        rotate(0, step.data());
      } else {
        symmetric::solveCholesky(factor, d_, step);
      }
      for (std::size_t j = 0; j < d_; ++j) x[j] -= step[j];
    }
    return x;
  }
  /// f at the minimiser.
  double minimum() const {
    const std::vector<double> x = minimiser();
    std::vector<double> z(d_);
    double sum = 0;
    for (std::size_t i = 0; i < samples_; ++i) sum += rotatedValue(i, x.data(), z.data());
    return sum / static_cast<double>(samples_);
  }

 private:
  static void requireSizes(const QuadraticOptions& options) {
    if (options.samples == 0 || options.dimension == 0)
      fail("Quadratic: expected samples and a dimension, got %zu and %zu", options.samples,
           options.dimension);
    if (!std::isfinite(options.centres))
      fail(ErrorCode::notFinite, "Quadratic: the deviation of the centres is not finite");
  }
  static std::vector<double> spectraOf(const QuadraticOptions& options) {
    requireSizes(options);
    if (!(options.mu > 0) || !(options.L >= options.mu) || !std::isfinite(options.L))
      fail("Quadratic: expected 0 < mu <= L, got mu = %g and L = %g", options.mu, options.L);
    const std::size_t d = options.dimension;
    std::vector<double> spectra;
    Rng rng(options.seed, 3);
    for (std::size_t i = 0; i < options.samples; ++i) {
      for (std::size_t j = 0; j < d; ++j) {
        const double share = d > 1 ? static_cast<double>(j) / static_cast<double>(d - 1) : 1;
        spectra.push_back(j + 1 == d ? options.L : options.mu * std::pow(options.L / options.mu, share));
      }
      for (std::size_t j = d; j > 1; --j)  // Fisher and Yates
        std::swap(spectra[i * d + j - 1], spectra[i * d + rng.index(j)]);
    }
    return spectra;
  }
  void require(Batch batch, std::initializer_list<std::size_t> lengths) const {
    if (batch.empty()) fail("Quadratic: the mean over an empty batch");
    for (const std::size_t sample : batch)
      if (sample >= samples_)
        fail(ErrorCode::outOfRange, "Quadratic: sample %zu is out of range for %zu samples", sample,
             samples_);
    for (const std::size_t length : lengths)
      if (length != d_) fail("Quadratic: expected a point or gradient of %zu numbers, got %zu", d_, length);
  }
  [[noreturn]] static void refuseFlat() {
    fail(
        "Quadratic: the mean of the A_i is singular, so the minimiser is not unique; use positive "
        "eigenvalues");
  }

  const T* spectrum(std::size_t sample) const { return spectra_.data() + sample * d_; }
  /// z -= 2 v (v . z) / (v . v).
  template <class U> void reflect(std::size_t reflection, U* z) const {
    const T* const v = vectors_.data() + reflection * d_;
    U sums[4] = {};
    std::size_t j = 0;
    for (; j + 4 <= d_; j += 4)
      for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] = sums[lane] + U{v[j + lane]} * z[j + lane];
    for (; j < d_; ++j) sums[0] = sums[0] + U{v[j]} * z[j];
    const U scale = static_cast<U>(factors_[reflection]) * ((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (j = 0; j < d_; ++j) z[j] = z[j] - scale * U{v[j]};
  }
  std::size_t firstReflection(std::size_t sample) const { return isShared_ ? 0 : sample * reflections_; }
  /// z becomes Q z.
  template <class U> void rotate(std::size_t sample, U* z) const {
    for (std::size_t r = reflections_; r-- > 0;) reflect(firstReflection(sample) + r, z);
  }
  /// z becomes Q' z.
  template <class U> void rotateBack(std::size_t sample, U* z) const {
    for (std::size_t r = 0; r < reflections_; ++r) reflect(firstReflection(sample) + r, z);
  }
  /// f_i(x); leaves Q'(x - c_i) in z. Not inlined, so that no sum is fused with its product: the bits are the same for all.
  template <class U> [[gnu::noinline]] double rotatedValue(std::size_t sample, const U* x, U* z) const {
    for (std::size_t j = 0; j < d_; ++j) z[j] = x[j] - U{centres_[sample * d_ + j]};
    rotateBack(sample, z);
    double sum = 0;
    for (std::size_t j = 0; j < d_; ++j) sum += double{spectrum(sample)[j]} * double{z[j]} * double{z[j]};
    return 0.5 * sum;
  }
  /// Adds Q D z; z is not needed afterwards.
  template <class U> void addProduct(std::size_t sample, U* z, U* to) const {
    for (std::size_t j = 0; j < d_; ++j) z[j] = z[j] * U{spectrum(sample)[j]};
    rotate(sample, z);
    for (std::size_t j = 0; j < d_; ++j) to[j] = to[j] + z[j];
  }
  template <class Of> double overBatch(Batch batch, std::span<T> into, const Of& of) const {
    const std::size_t parts = BatchSum<T>::partCount(batch.size(), (4 * reflections_ + 4) * d_, d_);
    return sums_.run(batch.size(), parts, into, d_,
                     [&](std::size_t first, std::size_t end, std::span<T> sum, T* scratch) {
                       double total = 0;
                       for (std::size_t i = first; i < end; ++i) total += of(batch[i], sum.data(), scratch);
                       return total;
                     });
  }
  static void divide(std::span<T> into, std::size_t count) {
    for (T& g : into) g = g / static_cast<T>(count);
  }

  void gradientInDouble(const std::vector<double>& x, std::vector<double>& into) const {
    std::vector<double> z(d_);
    std::fill(into.begin(), into.end(), 0.0);
    for (std::size_t i = 0; i < samples_; ++i) {
      rotatedValue(i, x.data(), z.data());
      addProduct(i, z.data(), into.data());
    }
    for (double& g : into) g /= static_cast<double>(samples_);
  }
  std::vector<double> meanSpectrum(Batch samples) const {
    std::vector<double> mean(d_);
    for (const std::size_t i : samples)
      for (std::size_t j = 0; j < d_; ++j) mean[j] += double{spectrum(i)[j]};
    for (double& eigenvalue : mean) eigenvalue /= static_cast<double>(samples.size());
    return mean;
  }
  std::vector<double> meanMatrix(Batch samples) const {
    if (d_ > largestDense)
      fail("Quadratic: with bases of their own, constants take a dense matrix of at most %zu rows, got %zu",
           largestDense, d_);
    std::vector<double> matrix(d_ * d_), z(d_);
    for (const std::size_t i : samples)
      for (std::size_t j = 0; j < d_; ++j) {
        std::fill(z.begin(), z.end(), 0.0);
        z[j] = 1;
        rotateBack(i, z.data());
        addProduct(i, z.data(), matrix.data() + j * d_);
      }
    for (double& a : matrix) a /= static_cast<double>(samples.size());
    return matrix;
  }

  std::size_t samples_, d_, reflections_;
  bool isShared_;
  std::vector<T> spectra_, centres_, vectors_;
  std::vector<double> factors_;  // 2 / (v . v)
  BatchSum<T> sums_;
  mutable OracleCounter counter_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
