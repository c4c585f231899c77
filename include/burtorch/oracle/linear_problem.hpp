// Problems that see a sample through its scores only: f_i(x) = loss_i(a_i . x) + l2/2 |x|^2, with rows a_i of a data set.
//
//   LogisticRegression<double> f(loadLibsvm("train.txt").withBias(), {.l2 = 1e-3});
//   const Smoothness constants = f.smoothness();          // L, L_i, mu
//   f.gradient(x, AllSamples(f.size()), into);
//
// A softmax regression of K classes has K scores per sample, and x holds a vector of weights for each class, one after the
// other. The penalty counts a bias column like any other. Calls are const and may come from several threads; large batches are
// divided among the current workers, with the same bits for any number of them (batch_sum.hpp). `into` must not overlap x.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "../data/sparse_rows.hpp"
#include "batch_sum.hpp"
#include "finite_sum.hpp"
#include "linear_losses.hpp"
#include "smoothness.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// What a linear problem has beside its data.
struct LinearOptions {
  double l2 = 0;                  // of the penalty l2/2 |x|^2
  std::vector<double> classes{};  // labels of a softmax regression; empty: those that occur
};

/// f_i(x) = loss_i(a_i . x) + l2/2 |x|^2.
template <class T, class Loss> class LinearProblem {
 public:
  using Scalar = T;

  explicit LinearProblem(SampleRows<T> rows, const LinearOptions& options = {})
      : rows_(std::move(rows)), loss_(rows_.labels(), options.classes), l2_(options.l2) {
    if (rows_.size() == 0 || rows_.features() == 0)
      fail("%s: expected samples with features, got %zu samples of %zu features", Loss::name, rows_.size(),
           rows_.features());
    if (!(l2_ >= 0) || !std::isfinite(l2_)) fail("%s: expected an l2 of 0 or more, got %g", Loss::name, l2_);
    if (loss_.outputs() > SIZE_MAX / sizeof(T) / 64 / rows_.features())
      fail(ErrorCode::outOfMemory, "%s: %zu classes of %zu features are too many", Loss::name,
           loss_.outputs(), rows_.features());
    workOfSample_ = 32 + 4 * loss_.outputs() * (rows_.storedCount() / rows_.size());
  }

  std::size_t size() const { return rows_.size(); }
  std::size_t parameterCount() const { return loss_.outputs() * rows_.features(); }
  const SampleRows<T>& rows() const { return rows_; }
  const Loss& loss() const { return loss_; }
  double l2() const { return l2_; }
  OracleCounts counts() const { return counter_.counts(); }

  /// The mean of f_i(x) over a batch.
  double value(std::span<const T> x, Batch batch) const {
    require(batch, {x.size()});
    counter_.addValues(batch.size());
    const double sum = overBatch(batch, {}, [&](std::size_t sample, T*, T* scores) {
      score(sample, x, scores);
      return loss_.value(scores, sample);
    });
    return meanOf(sum, batch) + penalty(x);
  }
  /// Writes the gradient of this mean, and returns the mean.
  double gradient(std::span<const T> x, Batch batch, std::span<T> into) const {
    require(batch, {x.size(), into.size()});
    counter_.addGradients(batch.size());
    const double sum = overBatch(batch, into, [&](std::size_t sample, T* to, T* scores) {
      score(sample, x, scores);
      const double loss = loss_.slopes(scores, sample);
      addRow(sample, scores, to);
      return loss;
    });
    finish(batch, into, [x](std::size_t j) { return x[j]; });
    return meanOf(sum, batch) + penalty(x);
  }
  /// Writes the gradient at x less the gradient at y, of the same samples; each row is read for both.
  ValuesAtTwo difference(std::span<const T> x, std::span<const T> y, Batch batch, std::span<T> into) const {
    require(batch, {x.size(), y.size(), into.size()});
    counter_.addGradients(2 * batch.size());
    const TwoSums sums = overBatch(batch, into, [&](std::size_t sample, T* to, T* atX) {
      T* const atY = atX + loss_.outputs();
      score(sample, x, atX);
      score(sample, y, atY);
      const TwoSums losses{loss_.slopes(atX, sample), loss_.slopes(atY, sample)};
      for (std::size_t k = 0; k < loss_.outputs(); ++k) atX[k] = atX[k] - atY[k];
      addRow(sample, atX, to);
      return losses;
    });
    finish(batch, into, [x, y](std::size_t j) { return x[j] - y[j]; });
    return {meanOf(sums.x, batch) + penalty(x), meanOf(sums.y, batch) + penalty(y)};
  }
  /// Writes the product of the mean's Hessian at x with v; counted as a gradient.
  void hessianProduct(std::span<const T> x, std::span<const T> v, Batch batch, std::span<T> into) const {
    require(batch, {x.size(), v.size(), into.size()});
    counter_.addGradients(batch.size());
    overBatch(batch, into, [&](std::size_t sample, T* to, T* scores) {
      T* const direction = scores + loss_.outputs();
      score(sample, x, scores);
      score(sample, v, direction);
      loss_.curve(scores, direction, sample);
      addRow(sample, direction, to);
      return 0.0;
    });
    finish(batch, into, [v](std::size_t j) { return v[j]; });
  }

  /// The constants of f (smoothness.hpp says how exact they are).
  Smoothness smoothness() const { return smoothness(AllSamples(size())); }
  /// The constants of the mean over some samples: the function of one worker of many.
  Smoothness smoothness(Batch samples) const {
    require(samples, {});
    return linearSmoothness(rows_, samples, Loss::curvature, Loss::isQuadratic, l2_);
  }

 private:
  struct TwoSums {
    double x = 0, y = 0;
    TwoSums& operator+=(const TwoSums& other) {
      x += other.x, y += other.y;
      return *this;
    }
  };

  void require(Batch batch, std::initializer_list<std::size_t> lengths) const {
    if (batch.empty()) fail("%s: the mean over an empty batch", Loss::name);
    for (const std::size_t sample : batch)
      if (sample >= size())
        fail(ErrorCode::outOfRange, "%s: sample %zu is out of range for %zu samples", Loss::name, sample,
             size());
    for (const std::size_t length : lengths)
      if (length != parameterCount())
        fail("%s: expected a point or gradient of %zu numbers, got %zu", Loss::name, parameterCount(),
             length);
  }
  /// The sum of `of(sample, sum of vectors, two lists of scores)`.
  template <class Of> auto overBatch(Batch batch, std::span<T> into, const Of& of) const {
    const std::size_t parts = BatchSum<T>::partCount(batch.size(), workOfSample_, parameterCount());
    return sums_.run(batch.size(), parts, into, 2 * loss_.outputs(),
                     [&](std::size_t first, std::size_t end, std::span<T> sum, T* scratch) {
                       decltype(of(first, scratch, scratch)) total{};
                       for (std::size_t i = first; i < end; ++i) total += of(batch[i], sum.data(), scratch);
                       return total;
                     });
  }
  void score(std::size_t sample, std::span<const T> x, T* scores) const {
    const Row<T> row = rows_.row(sample);
    for (std::size_t k = 0; k < loss_.outputs(); ++k) scores[k] = row.dot(x.data() + k * rows_.features());
  }
  void addRow(std::size_t sample, const T* slopes, T* to) const {
    const Row<T> row = rows_.row(sample);
    for (std::size_t k = 0; k < loss_.outputs(); ++k) row.addTo(to + k * rows_.features(), slopes[k]);
  }
  /// From a sum over samples to the mean, with the penalty's part, which is l2 times `penalised(j)`.
  template <class Penalised> void finish(Batch batch, std::span<T> into, const Penalised& penalised) const {
    const T count = static_cast<T>(batch.size()), l2 = static_cast<T>(l2_);
    forEachPartOfLoop(into.size(), 64, Worth{1, std::size_t{1} << 14},
                      [=](std::size_t first, std::size_t end) {
                        for (std::size_t j = first; j < end; ++j)
                          into[j] = into[j] / count + l2 * penalised(j);
                      });
  }
  static double meanOf(double sum, Batch batch) { return sum / static_cast<double>(batch.size()); }
  [[gnu::noinline]] double penalty(std::span<const T> x) const {
    if (l2_ == 0) return 0;
    return 0.5 * l2_ * Row<T>(x.data(), nullptr, x.size()).squaredNorm();
  }

  SampleRows<T> rows_;
  Loss loss_;
  double l2_;
  std::size_t workOfSample_ = 0;
  BatchSum<T> sums_;
  mutable OracleCounter counter_;
};

/// f_i(x) = (a_i . x - b_i)^2 / 2 + l2/2 |x|^2.
template <class T = double> using LeastSquares = LinearProblem<T, SquaredLoss>;
/// f_i(x) = log(1 + exp(-y_i a_i . x)) + l2/2 |x|^2.
template <class T = double> using LogisticRegression = LinearProblem<T, LogisticLoss>;
/// f_i(x) = -log softmax(x_1 . a_i, ..., x_K . a_i) of the sample's class + l2/2 |x|^2.
template <class T = double> using SoftmaxRegression = LinearProblem<T, SoftmaxLoss>;

}  // namespace burtorch::inline BURTORCH_TARGET
