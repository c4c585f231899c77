// Sums over the columns of each row, for the gradients of biases and gains: as many rows as a vector has lanes at once.
// Vectors are summed in runs of 16 and runs pairwise, so that errors grow with the logarithm of the number of columns.
#pragma once

#include <type_traits>

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
  forEachPartOfLoop(
      rows, lanes, Worth{columns, leastNumbers},
      [=](std::size_t start, std::size_t stop) BURTORCH_INLINE_LAMBDA {
        // As many rows at once as there are sums: one alone would wait for its additions, and what a term takes of the columns
        // is loaded once for all.
        const auto addRun = [=](auto& sums, std::size_t r, std::size_t first,
                                std::size_t end) BURTORCH_INLINE_LAMBDA {
          constexpr std::size_t count = std::extent_v<std::remove_reference_t<decltype(sums)>>;
          unroll<count>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA { sums[k] = fill(T{0}); });
          std::size_t c = first;
          for (; c + lanes <= end; c += lanes)
            unroll<count>([&]<std::size_t k>()
                              BURTORCH_INLINE_LAMBDA { sums[k] = sums[k] + term(r + k, c, lanes); });
          if (c < end)
            unroll<count>([&]<std::size_t k>()
                              BURTORCH_INLINE_LAMBDA { sums[k] = sums[k] + term(r + k, c, end - c); });
        };
        const auto sumRows = [=](auto sumsOfRows) BURTORCH_INLINE_LAMBDA {
          std::size_t r = start;
          for (; r + lanes <= stop; r += lanes) {
            Lanes<T> sums[lanes];
            sumsOfRows(sums, r);
            const Lanes<T> total = sumsOf<T, lanes>(sums);
            store<T>(to + r, isAdded ? Lanes<T>(load(to + r) + total) : total);
          }
          for (; r < stop; ++r) {
            Lanes<T> sum[1];
            sumsOfRows(sum, r);
            T total[lanes];
            store<T>(total, sumsOf<T, 1>(sum));
            to[r] = isAdded ? to[r] + total[0] : total[0];
          }
        };
        if (columns == lanes)  // a single sample of few positions
          return sumRows([&](auto& sums, std::size_t r) BURTORCH_INLINE_LAMBDA {
            constexpr std::size_t count = std::extent_v<std::remove_reference_t<decltype(sums)>>;
            unroll<count>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA { sums[k] = term(r + k, 0, lanes); });
          });
        if (columns <= run)
          return sumRows([&](auto& sums, std::size_t r)
                             BURTORCH_INLINE_LAMBDA { addRun(sums, r, 0, columns); });
        sumRows([&](auto& sums, std::size_t r) BURTORCH_INLINE_LAMBDA {
          constexpr std::size_t count = std::extent_v<std::remove_reference_t<decltype(sums)>>;
          PairwiseVectors<T> runs[count];
          for (std::size_t c = 0; c < columns; c += run) {
            addRun(sums, r, c, c + run < columns ? c + run : columns);
            for (std::size_t k = 0; k < count; ++k) runs[k].add(sums[k]);
          }
          for (std::size_t k = 0; k < count; ++k) sums[k] = runs[k].total();
        });
      });
}

}  // namespace burtorch::inline BURTORCH_TARGET::nn
