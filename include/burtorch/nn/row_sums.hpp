// Sums over the columns of each row, for the gradients of biases and gains: as many rows as a vector has lanes at once.
// Vectors are summed in runs of 16 and runs pairwise, so that errors grow with the logarithm of the number of columns.
#pragma once

#include "../simd/transpose.hpp"
#include "shares.hpp"

namespace burtorch::inline BURTORCH_TARGET::nn {

/// The sum of many vectors, pairwise as a binary counter counts: level k holds the sum of 2^k runs.
template <class T> class PairwiseVectors {
 public:
  void add(Lanes<T> run) {
    std::size_t level = 0;
    for (; (runs_ >> level) & 1; ++level) run = levels_[level] + run;
    levels_[level] = run;
    ++runs_;
  }
  Lanes<T> total() const {
    Lanes<T> sum = fill(T{0});
    for (std::size_t level = 0; runs_ >> level; ++level)
      if ((runs_ >> level) & 1) sum = sum + levels_[level];
    return sum;
  }

 private:
  Lanes<T> levels_[28];  // more runs than a tape has numbers
  std::size_t runs_ = 0;
};

/// to[r] = sum over c of term(r, c, count), or added to; `term` is a vector of `count` columns from c on, its other lanes 0.
template <class T, class Term>
void rowSums(T* to, std::size_t rows, std::size_t columns, bool isAdded, Term term) {
  constexpr std::size_t lanes = laneCount<T>, run = 16 * lanes;
  forEachPart(
      rows, lanes, Worth{columns, leastNumbers},
      [=](std::size_t start, std::size_t stop) BURTORCH_INLINE_LAMBDA {
        const auto sumOfRun = [&](std::size_t r, std::size_t first, std::size_t end) BURTORCH_INLINE_LAMBDA {
          Lanes<T> sum = fill(T{0});
          std::size_t c = first;
          for (; c + lanes <= end; c += lanes) sum = sum + term(r, c, lanes);
          if (c < end) sum = sum + term(r, c, end - c);
          return sum;
        };
        const auto sumRows = [&](auto sumOfRow) BURTORCH_INLINE_LAMBDA {
          std::size_t r = start;
          for (; r + lanes <= stop; r += lanes) {
            Lanes<T> sums[lanes];
            unroll<lanes>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA { sums[k] = sumOfRow(r + k); });
            const Lanes<T> total = sumsOf<T, lanes>(sums);
            store<T>(to + r, isAdded ? Lanes<T>(load(to + r) + total) : total);
          }
          for (; r < stop; ++r) {
            const Lanes<T> sum[1] = {sumOfRow(r)};
            T total[lanes];
            store<T>(total, sumsOf<T, 1>(sum));
            to[r] = isAdded ? to[r] + total[0] : total[0];
          }
        };
        if (columns == lanes)  // a single sample of few positions
          return sumRows([&](std::size_t r) BURTORCH_INLINE_LAMBDA { return term(r, 0, lanes); });
        if (columns <= run)
          return sumRows([&](std::size_t r) BURTORCH_INLINE_LAMBDA { return sumOfRun(r, 0, columns); });
        sumRows([&](std::size_t r) BURTORCH_INLINE_LAMBDA {
          PairwiseVectors<T> sums;
          for (std::size_t c = 0; c < columns; c += run)
            sums.add(sumOfRun(r, c, c + run < columns ? c + run : columns));
          return sums.total();
        });
      });
}

}  // namespace burtorch::inline BURTORCH_TARGET::nn
