// Matrices in memory for the tests of kernels: rows lie further apart than they are long, and between and around them lie
// guards. What is read by mistake shows (NaN), and what is written by mistake too (the guards have changed).
//
// A sum of n terms, in any order and with or without fused operations, errs by at most n epsilon / 2 times the sum of the
// terms' sizes. `Sum` gathers both in higher precision, so every result is held to its own bound.
#pragma once

#include <gtest/gtest.h>

#include <burtorch/base/rng.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

template <class T> class GuardedMatrix {
 public:
  /// Random numbers from -1 to 1; an output has guards that are numbers, an input NaNs.
  GuardedMatrix(std::size_t rows, std::size_t columns, std::size_t gap, bool isOutput, std::uint64_t seed)
      : rows_(rows),
        columns_(columns),
        stride_(columns + gap),
        guard_(isOutput ? T{777} : std::numeric_limits<T>::quiet_NaN()),
        memory_(2 * margin + rows * stride_, guard_) {
    burtorch::Rng rng(seed);
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j) (*this)(i, j) = 2 * rng.uniform<T>() - 1;
  }

  T* at() { return memory_.data() + margin; }
  std::size_t stride() const { return stride_; }
  T& operator()(std::size_t i, std::size_t j) { return at()[i * stride_ + j]; }

  /// Whether everything but the elements is as it was. For outputs.
  bool isIntact() {
    for (std::size_t k = 0; k < memory_.size(); ++k) {
      const bool isInside = k >= margin && k < margin + rows_ * stride_;
      if ((!isInside || (k - margin) % stride_ >= columns_) && memory_[k] != guard_) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t margin = 19;  // longer than any vector, and odd: nothing is aligned
  std::size_t rows_, columns_, stride_;
  T guard_;
  std::vector<T> memory_;
};

/// What a kernel's sum should be, and how far it may be off.
template <class T> struct Sum {
  using Wide = std::conditional_t<sizeof(T) == 4, double, long double>;
  Wide sum = 0, sizes = 0;
  int count = 0;

  void add(T x, T y = T{1}) {
    const Wide term = Wide{x} * Wide{y};
    sum += term;
    sizes += std::abs(term);
    ++count;
  }
  bool isNear(T found) const {
    const Wide bound = static_cast<Wide>(count + 1) * Wide{std::numeric_limits<T>::epsilon()} / 2 * sizes;
    return std::abs(Wide{found} - sum) <= bound;
  }
};
