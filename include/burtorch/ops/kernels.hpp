// Loops over lists, with explicit SIMD (vector extensions) for float and double.
//
// A list is cut into blocks of 128 bytes; element i of a block always goes to lane i, lanes are summed pairwise, and
// so are runs of 64 blocks. The order is fixed: the same bits on every run, and an error that grows with log n, not
// with n (10^7 x 0.1f summed left to right is 9 % off). A tail or a short list uses the first lanes only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "list.hpp"
#include "scalar.hpp"

namespace burtorch::inline BURTORCH_TARGET::kernels {

/// `count` numbers at once. The vector is as wide as AVX; narrower machines split it.
template <class T> struct Vector {
  static constexpr std::size_t count = 1;
  using Type = T;
};
#if defined(__GNUC__)
template <class T>
requires(ScalarTraits<T>::isVectorizable) struct Vector<T> {
  static constexpr std::size_t count = 32 / sizeof(T);
  typedef T Type __attribute__((vector_size(32)));
};
#endif

/// A vector of numbers from memory, or a number. Not returned: vectors wider than the machine's have no settled way to be.
template <class V, class T> void load(V& to, const T* from) {
  if constexpr (std::is_same_v<V, T>)
    to = *from;
  else
    std::memcpy(&to, from, sizeof to);
}

inline constexpr std::size_t blocksPerRun = 64;

// 128 bytes, four vectors: one accumulator would wait for the latency of its own addition. The same for a dual number or a pack of T as for T itself, so that their values have the same bits.
template <class T> inline constexpr std::size_t lanes = 128 / sizeof(PlainOf<T>);

/// Sums the first `count` lanes pairwise, halving the width; `count` may be any number up to the array's size.
template <class T> T sumPairwise(T* lane, std::size_t count) {
  std::size_t width = std::bit_ceil(count);
  for (std::size_t i = count; i < width; ++i) lane[i] = T{0};
  while (width > 1) {
    width /= 2;
    for (std::size_t i = 0; i < width; ++i) lane[i] = lane[i] + lane[i + width];
  }
  return lane[0];
}

/// Adds up runs of blocks pairwise, as a binary counter does: level k holds the sum of 2^k runs.
template <class T> class PairwiseRuns {
 public:
  void add(T* run) {
    std::size_t level = 0;
    for (; (runs_ >> level) & 1; ++level) addTo(run, level_[level]);
    std::copy_n(run, lanes<T>, level_[level]);
    ++runs_;
  }
  /// Adds all runs to `total`.
  void addAllTo(T* total) const {
    for (std::size_t level = 0; runs_ >> level; ++level)
      if ((runs_ >> level) & 1) addTo(total, level_[level]);
  }

 private:
  static void addTo(T* to, const T* from) {
    for (std::size_t i = 0; i < lanes<T>; ++i) to[i] = to[i] + from[i];
  }
  // As many as the longest list has; a dozen fewer than 32 matter to packs, whose levels are up to 2 KB.
  static constexpr unsigned levels = indexBits + 1 - std::bit_width(blocksPerRun * lanes<T>) + 1;
  T level_[levels][lanes<T>];
  std::size_t runs_ = 0;
};

/// The sum over one or two lists of equal length, their first `skip` elements left out: `accumulate(sum, x...)` adds one
/// term to `sum`, and is called with single numbers and with vectors of them.
template <std::size_t skip = 0, class T, class Accumulate, class... Lists>
T sum(Accumulate accumulate, const List<T>& first, const Lists&... more) {
  constexpr std::size_t block = lanes<T>;
  constexpr std::size_t width = Vector<T>::count;
  using V = typename Vector<T>::Type;
  const std::size_t count = first.size() - skip;
  auto readers = [](const auto&... list) {
    struct Readers {
      ListReader<T> reader[sizeof...(list)];
      T buffer[sizeof...(list)][block];
      const T* next(std::size_t which, std::size_t n) { return reader[which].next(n, buffer[which]); }
    };
    return Readers{{ListReader<T>(list)...}, {}};
  }(first, more...);
  constexpr std::size_t listCount = 1 + sizeof...(more);
  const auto addTerm = [&](auto& to, const auto& x, const auto& y) {
    if constexpr (listCount == 1)
      accumulate(to, x);
    else
      accumulate(to, x, y);
  };

  if constexpr (skip > 0) readers.next(0, skip);
  T total[block] = {};
  const std::size_t tail = count % block;
  if (count >= block) {
    PairwiseRuns<T> runs;
    for (std::size_t left = count / block; left > 0;) {
      const std::size_t blocks = left < blocksPerRun ? left : blocksPerRun;
      V part[block / width] = {};
      for (std::size_t b = 0; b < blocks; ++b) {
        const T* x = readers.next(0, block);
        const T* y = listCount == 2 ? readers.next(listCount - 1, block) : x;
        for (std::size_t v = 0; v < block / width; ++v) {
          V vx, vy;
          load(vx, x + v * width), load(vy, y + v * width);
          addTerm(part[v], vx, vy);
        }
      }
      if constexpr (width == 1) {
        runs.add(part);
      } else {
        T run[block];
        std::memcpy(run, part, sizeof run);
        runs.add(run);
      }
      left -= blocks;
    }
    runs.addAllTo(total);
  }
  const T* x = tail > 0 ? readers.next(0, tail) : nullptr;
  const T* y = tail > 0 && listCount == 2 ? readers.next(listCount - 1, tail) : x;
  for (std::size_t i = 0; i < tail; ++i) addTerm(total[i], x[i], y[i]);
  return sumPairwise(total, count < block ? count : block);
}

/// For every element after the first `skip`: `update(g, x)` adds to the gradient g what the value x asks for. Elements may repeat.
template <std::size_t skip = 0, class T, class Update>
void accumulate(const GradientList<T>& gradients, const List<T>& values, Update update) {
  constexpr std::size_t width = Vector<T>::count;
  using V = typename Vector<T>::Type;
  ListWalker targets(gradients.shape);
  ListReader<T> reader(values);
  T buffer[lanes<T>];
  for (std::size_t i = 0; i < skip; ++i) targets.next(1), reader.next(1, buffer);
  for (std::size_t left = gradients.size() - skip; left > 0;) {
    const auto run = targets.next(left < lanes<T> ? left : lanes<T>);
    const T* x = reader.next(run.count, buffer);
    T* g = gradients.base + run.first;
    std::size_t i = 0;
    if constexpr (width > 1) {
      for (; i + width <= run.count; i += width) {
        V vg, vx;
        load(vg, g + i), load(vx, x + i);
        update(vg, vx);
        std::memcpy(g + i, &vg, sizeof vg);
      }
    }
    for (; i < run.count; ++i) {
      T sum = g[i];
      update(sum, x[i]);
      gradients.reached.set(g[i], sum);
    }
    left -= run.count;
  }
}

/// As `sum` and `accumulate`, for terms that have no vector form (exp) and may ask for the element's position.
template <class T, class Visit> void forEach(const List<T>& values, Visit visit) {
  ListReader<T> reader(values);
  T buffer[1];
  for (std::size_t i = 0; i < values.size(); ++i) visit(i, *reader.next(1, buffer));
}
template <class T, class Term>
void accumulateEach(const GradientList<T>& gradients, const List<T>& values, Term term) {
  ListWalker targets(gradients.shape);
  forEach(values, [&](std::size_t i, const T& x) { gradients.add(targets.next(1).first, term(i, x)); });
}
template <class T, class Term> T sumEach(const List<T>& values, Term term) {
  T total[lanes<T>] = {};
  T run[lanes<T>] = {};
  PairwiseRuns<T> runs;
  forEach(values, [&](std::size_t i, const T& x) {
    const std::size_t lane = i % lanes<T>;
    run[lane] = run[lane] + term(i, x);
    if ((i + 1) % (lanes<T> * blocksPerRun) != 0) return;
    runs.add(run);
    for (T& r : run) r = T{0};
  });
  runs.addAllTo(total);
  for (std::size_t i = 0; i < lanes<T>; ++i) total[i] = total[i] + run[i];
  return sumPairwise(total, lanes<T>);
}

}  // namespace burtorch::inline BURTORCH_TARGET::kernels
