// Transposing squares of vectors, and sums across lanes, with shuffles in registers.
#pragma once

#include "lanes.hpp"

namespace burtorch::inline BURTORCH_TARGET::nn {

/// The rest of a transposition of eight vectors whose halves are in place: vector i < 4 holds the first halves of vectors i
/// and i + 4, vector i + 4 the second ones.
template <class L> BURTORCH_INLINE void transposeHalves(L (&x)[8]) {
  L y[8];
  unroll<4>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA {
    y[2 * k] = __builtin_shufflevector(x[2 * k], x[2 * k + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    y[2 * k + 1] = __builtin_shufflevector(x[2 * k], x[2 * k + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  });
  unroll<4>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA {
    constexpr std::size_t h = k / 2, i = k % 2;
    const L a = y[4 * h + i], b = y[4 * h + i + 2];
    x[4 * h + 2 * i] = __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13);
    x[4 * h + 2 * i + 1] = __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15);
  });
}

/// Lane j of vector i becomes lane i of vector j, for as many vectors as each has lanes.
template <class T> BURTORCH_INLINE void transposeVectors(Lanes<T> (&x)[laneCount<T>]) {
  using L = Lanes<T>;
  if constexpr (laneCount<T> == 8) {
    unroll<4>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
      const L a = x[i], b = x[i + 4];
      x[i] = __builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11);
      x[i + 4] = __builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15);
    });
    transposeHalves(x);
  } else if constexpr (laneCount<T> == 4) {
    L y[4];
    unroll<2>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
      y[2 * i] = __builtin_shufflevector(x[2 * i], x[2 * i + 1], 0, 4, 2, 6);
      y[2 * i + 1] = __builtin_shufflevector(x[2 * i], x[2 * i + 1], 1, 5, 3, 7);
    });
    unroll<2>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
      x[i] = __builtin_shufflevector(y[i], y[i + 2], 0, 1, 4, 5);
      x[i + 2] = __builtin_shufflevector(y[i], y[i + 2], 2, 3, 6, 7);
    });
  } else if constexpr (laneCount<T> > 1) {
    T from[laneCount<T>][laneCount<T>], to[laneCount<T>][laneCount<T>];
    for (std::size_t i = 0; i < laneCount<T>; ++i) store(from[i], x[i]);
    for (std::size_t i = 0; i < laneCount<T>; ++i)
      for (std::size_t j = 0; j < laneCount<T>; ++j) to[j][i] = from[i][j];
    for (std::size_t i = 0; i < laneCount<T>; ++i) x[i] = load(to[i]);
  }
}

/// Lane i is the sum of the lanes of vector i, for `count` vectors; the other lanes are anything.
template <class T, std::size_t count> BURTORCH_INLINE Lanes<T> sumsOf(const Lanes<T> (&x)[count]) {
  static_assert(count <= laneCount<T>);
  Lanes<T> all[laneCount<T>];
  unroll<laneCount<T>>([&]<std::size_t i>()
                           BURTORCH_INLINE_LAMBDA { all[i] = x[i < count ? i : count - 1]; });
  if constexpr (laneCount<T> == 8) {
    // Half of a transposition: pairs are added on the way, so 7 additions and 14 shuffles do for 8 sums.
    const auto half = [](const Lanes<T>& a, const Lanes<T>& b) BURTORCH_INLINE_LAMBDA {
      return Lanes<T>(__builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)) +
             Lanes<T>(__builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15));
    };
    const auto quarter = [&](std::size_t i) BURTORCH_INLINE_LAMBDA {
      const Lanes<T> a = half(all[i], all[i + 1]), b = half(all[i + 2], all[i + 3]);
      return Lanes<T>(__builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)) +
             Lanes<T>(__builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15));
    };
    const Lanes<T> a = quarter(0), b = quarter(4);
    return Lanes<T>(__builtin_shufflevector(a, b, 0, 1, 2, 3, 8, 9, 10, 11)) +
           Lanes<T>(__builtin_shufflevector(a, b, 4, 5, 6, 7, 12, 13, 14, 15));
  } else {
    transposeVectors<T>(all);
    Lanes<T> sum = all[0];
    for (std::size_t i = 1; i < laneCount<T>; ++i) sum = sum + all[i];
    return sum;
  }
}

/// to[i] = the sum of the lanes of vector i, for any number of vectors: a vector may have fewer lanes than there are sums.
template <class T, std::size_t count> BURTORCH_INLINE void storeSums(T* to, const Lanes<T> (&x)[count]) {
  constexpr std::size_t lanes = laneCount<T>, step = count < lanes ? count : lanes;
  static_assert(count % step == 0);
  unroll<count / step>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA {
    Lanes<T> some[step];
    unroll<step>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA { some[i] = x[k * step + i]; });
    T sums[lanes];
    store<T>(sums, sumsOf<T, step>(some));
    unroll<step>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA { to[k * step + i] = sums[i]; });
  });
}

/// A vector of eight from two places.
template <class T> BURTORCH_INLINE Lanes<T> loadHalves(const T* first, const T* second) {
  typename Pack<T, 4>::Vector a, b;
  std::memcpy(&a, first, sizeof a);
  std::memcpy(&b, second, sizeof b);
  return __builtin_shufflevector(a, b, 0, 1, 2, 3, 4, 5, 6, 7);
}
/// to[j][i] = row(i)[j] for a square of as many rows as a vector has lanes, or for its first `columns` columns.
template <class T, class Row>
BURTORCH_INLINE void transposeSquare(Row row, T* to, std::size_t toStride,
                                     std::size_t columns = laneCount<T>) {
  constexpr std::size_t lanes = laneCount<T>;
  Lanes<T> square[lanes];
  if (lanes == 8 && columns == lanes) {
    if constexpr (lanes == 8) {  // loads put halves in place, which saves a third of the shuffles
      unroll<4>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
        square[i] = loadHalves(row(i), row(i + 4));
        square[i + 4] = loadHalves(row(i) + 4, row(i + 4) + 4);
      });
      transposeHalves(square);
    }
  } else {
    unroll<lanes>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA { square[i] = loadUpTo<T>(row(i), columns); });
    transposeVectors<T>(square);
  }
  unroll<laneCount<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
    if (i < columns) store<T>(to + i * toStride, square[i]);
  });
}

/// to[j][i] = from[i][j]. Rows of `to` are filled up with zeros to toStride.
template <class T>
void transpose(const T* from, std::size_t rows, std::size_t columns, std::size_t stride, T* to,
               std::size_t toStride) {
  constexpr std::size_t lanes = laneCount<T>;
  std::size_t i = 0;
  for (; i + lanes <= rows; i += lanes)
    forEachVector<T>(columns, [&](std::size_t j, std::size_t count) {
      transposeSquare([&](std::size_t k) { return from + (i + k) * stride + j; }, to + j * toStride + i,
                      toStride, count);
    });
  if (i == rows && i == toStride) return;
  for (std::size_t j = 0; j < columns; ++j)
    for (std::size_t k = i; k < toStride; ++k) to[j * toStride + k] = k < rows ? from[k * stride + j] : T{0};
}

}  // namespace burtorch::inline BURTORCH_TARGET::nn
