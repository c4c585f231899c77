// The products of attention, between one block of queries and one block of keys: register tiles whose distances in memory
// are constants, so that a step of a tile is nothing but loads and multiply-adds.
//
// Shapes: e is a feature of a head, u a key of the block, t a query of the block. Keys and values lie as [e][keyStride] with u
// inside, all else of the block as [..][block]. A strip is one or two vectors of queries.
#pragma once

#include <cstddef>
#include <cstring>

#include "../simd/lanes.hpp"

namespace burtorch::inline BURTORCH_TARGET::nn {

/// A vector of queries: the widest register of the machine, where Lanes has at most 32 bytes. Other scalars are one lane.
template <class T> struct QueryLanes {
  static constexpr std::size_t count = 1;
  using Pack = T;
  using Vector = T;
};
template <class T>
requires(ScalarTraits<T>::isVectorizable) struct QueryLanes<T> {
  static constexpr std::size_t count = packWidth<T>;
  using Pack = burtorch::Pack<T>;
  using Vector = typename Pack::Vector;
};

template <class T> struct AttentionTiles {
  using Pack = typename QueryLanes<T>::Pack;
  using Vector = typename QueryLanes<T>::Vector;
  static constexpr std::size_t lanes = QueryLanes<T>::count, width = 2 * lanes;
  /// Queries and keys of a block: 16 KB of weights for floats, 8 KB for doubles.
  static constexpr std::size_t block = sizeof(T) <= 4 ? 64 : 32;
  /// An odd number of cache lines: rows at distances of powers of two share few sets.
  static constexpr std::size_t keyStride = block + (64 + sizeof(T) - 1) / sizeof(T);
#if defined(__AVX512F__) || defined(__aarch64__)
  static constexpr std::size_t step = lanes < 4 ? lanes : 4;
#else
  static constexpr std::size_t step = lanes < 2 ? lanes : 2;
#endif
  /// Rows of a tile; its sums take 24 of 32 registers, or 12 of 16. Smaller tiles have one or two steps.
  static constexpr std::size_t height = 3 * step;
  static constexpr std::size_t padded(std::size_t rows) { return (rows + step - 1) / step * step; }

  BURTORCH_INLINE static Vector load(const T* from) {
    Vector vector;
    std::memcpy(&vector, from, sizeof vector);
    return vector;
  }
  BURTORCH_INLINE static void store(T* to, const Vector& vector) {
    std::memcpy(static_cast<void*>(to), &vector, sizeof vector);
  }
  /// Which queries of a vector see the key of the query `i` of it: lanes from i on.
  BURTORCH_INLINE static auto seers(std::size_t i) {
    if constexpr (lanes == 1)
      return Pack(T(0)) <= Pack(T(0));
    else
      return Pack(static_cast<T>(i)) <= laneNumbers;
  }

  /// Scores: to[u][t] = sum over e of keys[e][u] x[e][t], for u < keyCount; also with values and the result's gradients.
  template <std::size_t vectors>
  static void scores(const T* keys, const T* x, T* to, std::size_t size, std::size_t keyCount) {
    forEachTile(keyCount, [&]<std::size_t high>(std::size_t u) {
      scoreTile<high, vectors>(keys + u, x, to + u * block, size);
    });
  }

  /// What a mixture does with the numbers that are there: y = start * share + sum, where a null share is 1.
  struct Start {
    bool isAdded;
    const T* share = nullptr;  // of each query
  };
  /// Mixtures: y[e][t] = sum over u of values[e][u] weights[u][t]. All queries of the strip see the first `seen` keys. On
  /// the diagonal follow as many keys as the strip has queries, seen by those queries from the same place on; what others
  /// would read of their values does not reach them, not even a NaN.
  template <std::size_t vectors>
  static void mixtures(const T* values, const T* weights, T* y, std::size_t size, std::size_t seen,
                       bool isDiagonal, Start start) {
    forEachTile(padded(size), [&]<std::size_t high>(std::size_t e) {
      mixtureTile<high, vectors>(values + e * keyStride, weights, y + e * block, seen, isDiagonal, start);
    });
  }

  /// Sums over queries: y[u][e] = sum over t of weights[u][t] x[t][e], or added to; both have rows of `features`, a multiple
  /// of the lanes. On the diagonal keys start with the query of their place.
  static void sumsOverQueries(const T* weights, const T* x, T* y, std::size_t features, std::size_t keyCount,
                              std::size_t queryCount, bool isDiagonal) {
    forEachTile(padded(keyCount), [&]<std::size_t high>(std::size_t u) {
      const std::size_t t = isDiagonal ? u : 0;
      const auto run = [&]<std::size_t vectors>(std::size_t e) {
        queryTile<high, vectors>(weights + u * block + t, x + t * features + e, y + u * features + e,
                                 features, queryCount > t ? queryCount - t : 0, !isDiagonal);
      };
      std::size_t e = 0;
      for (; e + width <= features; e += width) run.template operator()<2>(e);
      if (e < features) run.template operator()<1>(e);
    });
  }

 private:
  static constexpr Pack numberLanes() {
    Pack numbers(T(0));
    if constexpr (lanes != 1) numbers = numbersOf(std::make_index_sequence<lanes>{});
    return numbers;
  }
  template <std::size_t... i> static constexpr Pack numbersOf(std::index_sequence<i...>) {
    return Vector{static_cast<T>(i)...};
  }
  static constexpr Pack laneNumbers = numberLanes();

  /// Calls `run.operator()<high>(first row)`; `rows` is a multiple of the step.
  template <class Run> BURTORCH_INLINE static void forEachTile(std::size_t rows, const Run& run) {
    std::size_t i = 0;
    for (; i + height <= rows; i += height) run.template operator()<height>(i);
    if (rows - i > step)
      run.template operator()<2 * step>(i);
    else if (rows > i)
      run.template operator()<step>(i);
  }

  template <std::size_t high, std::size_t vectors> struct Sums {
    Vector at[high][vectors];

    BURTORCH_INLINE Sums() {
      unroll<high>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
        unroll<vectors>([&]<std::size_t v>() BURTORCH_INLINE_LAMBDA { at[r][v] = Vector{}; });
      });
    }
    /// Adds left[r] * right[v] for vectors from `first` on; rows of the left factor lie `leftRow` apart.
    template <std::size_t leftRow, std::size_t first = 0>
    BURTORCH_INLINE void add(const T* left, const T* right) {
      Vector in[vectors];
      unroll<vectors>([&]<std::size_t v>() BURTORCH_INLINE_LAMBDA {
        if constexpr (v >= first) in[v] = load(right + v * lanes);
      });
      unroll<high>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
        const T factor = left[r * leftRow];
        unroll<vectors>([&]<std::size_t v>() BURTORCH_INLINE_LAMBDA {
          if constexpr (v >= first) at[r][v] = at[r][v] + factor * in[v];
        });
      });
    }
    /// As add, for vector v alone and the queries that see the key `i` of its square.
    template <std::size_t leftRow, std::size_t v>
    BURTORCH_INLINE void addSeen(const T* left, const T* right, std::size_t i) {
      const Vector in = load(right + v * lanes);
      const auto isSeen = seers(i);
      unroll<high>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
        const Vector sum = at[r][v] + left[r * leftRow] * in;
        at[r][v] = vectorOf(select(isSeen, Pack(sum), Pack(at[r][v])));
      });
    }
  };
  BURTORCH_INLINE static Vector vectorOf(const Pack& pack) {
    if constexpr (lanes == 1)
      return pack;
    else
      return pack.lanes;
  }

  template <std::size_t high, std::size_t vectors>
  [[gnu::noinline]] static void scoreTile(const T* keys, const T* x, T* to, std::size_t size) {
    Sums<high, vectors> sums;
    for (std::size_t e = 0; e < size; ++e, keys += keyStride, x += block) sums.template add<1>(keys, x);
    unroll<high>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
      unroll<vectors>([&]<std::size_t v>()
                          BURTORCH_INLINE_LAMBDA { store(to + r * block + v * lanes, sums.at[r][v]); });
    });
  }

  template <std::size_t high, std::size_t vectors>
  [[gnu::noinline]] static void mixtureTile(const T* values, const T* weights, T* y, std::size_t seen,
                                            bool isDiagonal, Start start) {
    Sums<high, vectors> sums;
    std::size_t u = 0;
    for (; u < seen; ++u) sums.template add<keyStride>(values + u, weights + u * block);
    if (isDiagonal)
      unroll<vectors>([&]<std::size_t v>() BURTORCH_INLINE_LAMBDA {
        for (std::size_t i = 0; i < lanes; ++i, ++u) {
          sums.template addSeen<keyStride, v>(values + u, weights + u * block, i);
          if constexpr (v + 1 < vectors) sums.template add<keyStride, v + 1>(values + u, weights + u * block);
        }
      });
    unroll<high>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
      unroll<vectors>([&]<std::size_t v>() BURTORCH_INLINE_LAMBDA {
        T* to = y + r * block + v * lanes;
        Vector sum = sums.at[r][v];
        if (start.share != nullptr)
          sum = sum + load(start.share + v * lanes) * load(to);
        else if (start.isAdded)
          sum = sum + load(to);
        store(to, sum);
      });
    });
  }

  template <std::size_t high, std::size_t vectors>
  [[gnu::noinline]] static void queryTile(const T* weights, const T* x, T* y, std::size_t features,
                                          std::size_t queryCount, bool isAdded) {
    Sums<high, vectors> sums;
    for (std::size_t t = 0; t < queryCount; ++t, x += features) sums.template add<block>(weights + t, x);
    unroll<high>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
      unroll<vectors>([&]<std::size_t v>() BURTORCH_INLINE_LAMBDA {
        T* to = y + r * features + v * lanes;
        store(to, isAdded ? Vector(load(to) + sums.at[r][v]) : sums.at[r][v]);
      });
    });
  }
};

}  // namespace burtorch::inline BURTORCH_TARGET::nn
