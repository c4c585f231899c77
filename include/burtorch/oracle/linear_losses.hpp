// The losses of linear problems: what a sample's scores a_i . x cost, given its label, and their first and second derivatives.
//
// A loss has `outputs()` scores per sample. `slopes` turns scores into derivatives and returns the loss, `curve` turns a direction
// into the second derivative's product with it; both work in place. `curvature` is the largest eigenvalue that the second
// derivative may have, and no smaller number will do. Losses are computed in double and are exact for scores of any size.
// Functions are not inlined where their last product could be fused with the caller's sum: a loss has the same bits for all.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "../base/check.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// (score - label)^2 / 2.
class SquaredLoss {
 public:
  static constexpr const char* name = "LeastSquares";
  static constexpr double curvature = 1;
  static constexpr bool isQuadratic = true;

  SquaredLoss(std::span<const double> labels, std::span<const double>)
      : targets_(labels.begin(), labels.end()) {
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (!std::isfinite(labels[i]))
        fail(ErrorCode::notFinite, "%s: the label of sample %zu is not finite", name, i);
  }
  static constexpr std::size_t outputs() { return 1; }

  template <class T> double value(T* scores, std::size_t sample) const { return slopes(scores, sample); }
  template <class T> [[gnu::noinline]] double slopes(T* scores, std::size_t sample) const {
    const double rest = double{scores[0]} - targets_[sample];
    scores[0] = static_cast<T>(rest);
    return 0.5 * rest * rest;
  }
  template <class T> void curve(const T*, T*, std::size_t) const {}

 private:
  std::vector<double> targets_;
};

/// log(1 + exp(-y score)), y = -1 or 1. Labels are -1 and 1, or 0 and 1, or 1 and 2; the larger one is 1.
class LogisticLoss {
 public:
  static constexpr const char* name = "LogisticRegression";
  static constexpr double curvature = 0.25;
  static constexpr bool isQuadratic = false;

  LogisticLoss(std::span<const double> labels, std::span<const double>) : signs_(labels.size()) {
    double low = -1, high = 1;  // also of data that has ones only
    if (std::find(labels.begin(), labels.end(), 0.0) != labels.end())
      low = 0;
    else if (std::find(labels.begin(), labels.end(), 2.0) != labels.end())
      low = 1, high = 2;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] != low && labels[i] != high)
        fail("%s: expected labels -1 and 1, 0 and 1, or 1 and 2, got %g for sample %zu", name, labels[i], i);
      signs_[i] = labels[i] == high ? 1 : -1;
    }
  }
  static constexpr std::size_t outputs() { return 1; }

  template <class T> double value(T* scores, std::size_t sample) const { return slopes(scores, sample); }
  template <class T> [[gnu::noinline]] double slopes(T* scores, std::size_t sample) const {
    const double margin = signs_[sample] * double{scores[0]};
    // exp of a negative number cannot overflow: log(1 + exp(-m)) = max(0, -m) + log(1 + exp(-|m|)).
    const double small = std::exp(-std::abs(margin)), probability = (margin > 0 ? small : 1) / (1 + small);
    scores[0] = static_cast<T>(-signs_[sample] * probability);
    return std::max(0.0, -margin) + std::log1p(small);
  }
  template <class T> void curve(const T* scores, T* direction, std::size_t) const {
    const double small = std::exp(-std::abs(double{scores[0]})), sum = 1 + small;
    direction[0] = static_cast<T>(double{direction[0]} * (small / (sum * sum)));
  }

 private:
  std::vector<double> signs_;
};

/// -log of the softmax probability of the sample's class. Classes are given, or else all the labels that occur, in order.
class SoftmaxLoss {
 public:
  static constexpr const char* name = "SoftmaxRegression";
  /// Of diag(p) - p p': two classes of probability 1/2 have it, more come as close as one likes.
  static constexpr double curvature = 0.5;
  static constexpr bool isQuadratic = false;
  static constexpr std::size_t mostClasses = 100'000;

  SoftmaxLoss(std::span<const double> labels, std::span<const double> classes)
      : classes_(classes.begin(), classes.end()), targets_(labels.size()) {
    if (classes_.empty()) classes_.assign(labels.begin(), labels.end());
    for (const double c : classes_)
      if (!std::isfinite(c)) fail(ErrorCode::notFinite, "%s: a label is not finite", name);
    std::sort(classes_.begin(), classes_.end());
    classes_.erase(std::unique(classes_.begin(), classes_.end()), classes_.end());
    if (classes_.size() < 2 || classes_.size() > mostClasses)
      fail("%s: expected from 2 to %zu different labels, got %zu", name, mostClasses, classes_.size());
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto place = std::lower_bound(classes_.begin(), classes_.end(), labels[i]);
      if (place == classes_.end() || *place != labels[i])
        fail("%s: the label %g of sample %zu is not among the %zu classes", name, labels[i], i,
             classes_.size());
      targets_[i] = static_cast<std::size_t>(place - classes_.begin());
    }
  }
  std::size_t outputs() const { return classes_.size(); }
  /// The label of each class.
  std::span<const double> classes() const { return classes_; }

  template <class T> double value(T* scores, std::size_t sample) const {
    const double highest = highestOf(scores), own = double{scores[targets_[sample]]};
    return std::log(exponentials(scores, highest)) + (highest - own);
  }
  template <class T> double slopes(T* scores, std::size_t sample) const {
    const double highest = highestOf(scores), own = double{scores[targets_[sample]]},
                 sum = exponentials(scores, highest);
    for (std::size_t k = 0; k < classes_.size(); ++k) scores[k] = static_cast<T>(double{scores[k]} / sum);
    scores[targets_[sample]] = scores[targets_[sample]] - T{1};
    return std::log(sum) + (highest - own);
  }
  template <class T> void curve(T* scores, T* direction, std::size_t) const {
    const double sum = exponentials(scores, highestOf(scores));
    double mean = 0;
    for (std::size_t k = 0; k < classes_.size(); ++k) mean += double{scores[k]} / sum * double{direction[k]};
    for (std::size_t k = 0; k < classes_.size(); ++k)
      direction[k] = static_cast<T>(double{scores[k]} / sum * (double{direction[k]} - mean));
  }

 private:
  template <class T> double highestOf(const T* scores) const {
    return double{*std::max_element(scores, scores + classes_.size())};
  }
  /// Writes exp(score - highest) over the scores and returns the sum of them.
  template <class T> double exponentials(T* scores, double highest) const {
    double sum = 0;
    for (std::size_t k = 0; k < classes_.size(); ++k) {
      scores[k] = static_cast<T>(std::exp(double{scores[k]} - highest));
      sum += double{scores[k]};
    }
    return sum;
  }

  std::vector<double> classes_;
  std::vector<std::size_t> targets_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
