// What a set of numbers is like: how many, how many of them not finite, least, mean, greatest, and a histogram.
//
// One pass, constant memory, no order: numbers are added one by one as they come from a file of any size. The range is
// not known before, so the histogram begins with bins that are too narrow and joins them in pairs when a number falls
// outside. Its bins are the multiples of a power of two, which makes that exact: each count is the number of numbers in
// its bin, and the result does not depend on the order of adding. Cost: some ten nanoseconds a number.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "convert.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Counts of finite numbers in at most `Bins` bins of one width: the least power of two that lets them cover all.
/// (And at least one unit in the last place of the largest number: narrower bins would be empty.)
template <std::size_t Bins = 16> class Histogram {
  static_assert(Bins >= 4, "the width of fewer bins for the largest numbers would be infinite");

 public:
  void add(double x) {
    while (std::abs(x) >= limit_) widen();
    std::int64_t bin = binOf(x);
    if (bin < first_ || bin >= first_ + used_) bin = include(bin, x);
    ++counts_[static_cast<std::size_t>(bin - first_)];
  }

  /// The counts from the bin of the least number to that of the greatest; both are above zero. Empty without numbers.
  std::span<const std::uint64_t> counts() const {
    return std::span(counts_).first(static_cast<std::size_t>(used_));
  }
  /// Bin i holds the numbers from `lower(i)` to below `lower(i + 1)`; beyond the largest numbers these are infinite.
  double lower(std::size_t i) const {
    return std::ldexp(static_cast<double>(first_) + static_cast<double>(i), exponent_);
  }
  double width() const { return width_; }

 private:
  static constexpr int least = -1022, digits = std::numeric_limits<double>::digits;

  std::int64_t binOf(double x) const {
    const auto towardsZero = static_cast<std::int64_t>(x * perWidth_);
    // Compared as a product, which is exact, and not as a quotient: that of a tiny number may have become zero.
    return towardsZero - (static_cast<double>(towardsZero) * width_ > x);
  }
  /// Makes room for the bin of x, with more bins if there are enough, otherwise with wider ones; returns its new number.
  std::int64_t include(std::int64_t bin, double x) {
    if (used_ == 0) first_ = bin;
    while (std::max(bin, first_ + used_ - 1) - std::min(bin, first_) >= static_cast<std::int64_t>(Bins)) {
      widen();
      bin = binOf(x);
    }
    const std::int64_t last = std::max(bin, first_ + used_ - 1), shift = first_ - std::min(bin, first_);
    std::move_backward(counts_.begin(), counts_.begin() + used_, counts_.begin() + used_ + shift);
    std::fill_n(counts_.begin(), shift, 0);
    first_ -= shift;
    used_ = last - first_ + 1;
    return bin;
  }
  /// Joins bins in pairs.
  void widen() {
    const std::int64_t first = first_ >> 1;  // rounds down, below zero too
    std::array<std::uint64_t, Bins> joined{};
    std::int64_t used = 0;
    for (std::int64_t i = 0; i < used_; ++i) {
      used = ((first_ + i) >> 1) - first + 1;
      joined[static_cast<std::size_t>(used - 1)] += counts_[static_cast<std::size_t>(i)];
    }
    counts_ = joined;
    first_ = first;
    used_ = used;
    ++exponent_;
    width_ = std::ldexp(1.0, exponent_);
    perWidth_ = std::ldexp(1.0, -exponent_);
    limit_ = std::ldexp(1.0, exponent_ + digits);  // infinite in the end
  }

  std::array<std::uint64_t, Bins> counts_{};
  std::int64_t first_ = 0, used_ = 0;  // counts_[i] is of bin first_ + i, for i < used_
  int exponent_ = least;
  double width_ = std::ldexp(1.0, least), perWidth_ = std::ldexp(1.0, -least),
         limit_ = std::ldexp(1.0, least + digits);
};

/// What numbers are like that are added one by one.
template <std::size_t Bins = 16> class Summary {
 public:
  void add(double x) {
    ++count_;
    if (std::isnan(x)) {
      ++nans_;
    } else if (std::isinf(x)) {
      ++infinities_;
    } else {
      min_ = std::isnan(min_) ? x : std::min(min_, x);
      max_ = std::isnan(max_) ? x : std::max(max_, x);
      addToSum(x);
      histogram_.add(x);
    }
  }

  std::uint64_t count() const { return count_; }
  std::uint64_t nans() const { return nans_; }
  std::uint64_t infinities() const { return infinities_; }
  std::uint64_t finite() const { return count_ - nans_ - infinities_; }
  /// Of the finite numbers; NaN if there are none.
  double min() const { return min_; }
  double max() const { return max_; }
  double mean() const {
    if (finite() == 0) return std::numeric_limits<double>::quiet_NaN();
    const double sum = sum_ + lost_, count = static_cast<double>(finite());
    // Rounding must not put the mean of equal numbers beside them.
    return std::clamp(std::isfinite(sum) ? sum / count : small_ / count * 0x1p64, min_, max_);
  }
  /// Of the finite numbers.
  const Histogram<Bins>& histogram() const { return histogram_; }

 private:
  /// Neumaier's summation: what an addition rounds away is kept and added in the end.
  void addToSum(double x) {
    const double sum = sum_ + x;
    lost_ += std::abs(sum_) >= std::abs(x) ? sum_ - sum + x : x - sum + sum_;
    sum_ = sum;
    small_ += x * 0x1p-64;  // for sums that a double cannot hold; there are fewer than 2^64 numbers
  }

  std::uint64_t count_ = 0, nans_ = 0, infinities_ = 0;
  double min_ = std::numeric_limits<double>::quiet_NaN(), max_ = min_;
  double sum_ = 0, lost_ = 0, small_ = 0;
  Histogram<Bins> histogram_;
};

/// The summary of numbers as a file holds them.
template <std::size_t Bins = 16> Summary<Bins> summarize(NumberType type, std::span<const std::byte> bytes) {
  Summary<Bins> summary;
  forEachNumber(type, bytes, [&](std::size_t, auto x) { summary.add(static_cast<double>(x)); });
  return summary;
}

}  // namespace burtorch::inline BURTORCH_TARGET
