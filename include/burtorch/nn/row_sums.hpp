// Sums over the columns of each row, for the gradients of biases and gains: as many rows as a vector has lanes at once.
#pragma once

#include "transpose.hpp"

namespace burtorch::nn {

/// to[r] = sum over c of term(r, c), or added to; `term(r, c)` is a vector of the columns from c on.
template <class T, class Term>
void rowSums(T* to, std::size_t rows, std::size_t columns, bool isAdded, Term term) {
  constexpr std::size_t lanes = laneCount<T>;
  const auto sumOfRow = [&](std::size_t r) BURTORCH_INLINE_LAMBDA {
    Lanes<T> sum = term(r, 0);
    for (std::size_t c = lanes; c < columns; c += lanes) sum = sum + term(r, c);
    return sum;
  };
  std::size_t r = 0;
  for (; r + lanes <= rows; r += lanes) {
    Lanes<T> sums[lanes];
    unroll<lanes>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA { sums[k] = sumOfRow(r + k); });
    const Lanes<T> total = sumsOf<T, lanes>(sums);
    store<T>(to + r, isAdded ? Lanes<T>(load(to + r) + total) : total);
  }
  for (; r < rows; ++r) {
    const Lanes<T> sum[1] = {sumOfRow(r)};
    T total[lanes];
    store<T>(total, sumsOf<T, 1>(sum));
    to[r] = isAdded ? to[r] + total[0] : total[0];
  }
}

}  // namespace burtorch::nn
