// How layers divide their work among the threads that help (base/workers.hpp): products by columns or rows, the rest by vectors.
// Parts are as large as a handful of microseconds of work, so small layers stay with their thread.
#pragma once

#include <algorithm>
#include <cstddef>

#include "../base/workers.hpp"
#include "../simd/lanes.hpp"

namespace burtorch::inline BURTORCH_TARGET::nn {

/// Multiply-adds for which a part of a product is worth another thread's while, and numbers of a pass over memory.
inline constexpr std::size_t leastProduct = std::size_t{1} << 19, leastNumbers = std::size_t{1} << 14;

/// As forEachVector, by all threads. Each vector is `numbers` vectors of work; `at` captures by value.
template <class T, class At>
BURTORCH_INLINE void forEachVectorShared(std::size_t size, std::size_t numbers, At at) {
  forEachPartOfLoop(size, laneCount<T>, Worth{numbers, leastNumbers},
                    [at](std::size_t first, std::size_t end) BURTORCH_INLINE_LAMBDA {
                      std::size_t i = first;
                      for (; i + laneCount<T> <= end; i += laneCount<T>) at(i, laneCount<T>);
                      if (i < end) at(i, end - i);
                    });
}

/// Calls `at(place)` for `size` numbers side by side, by all threads; `at` captures by value. A few numbers were stored just now, in
/// narrow vectors: a wide load of two of them would wait until both are in the cache.
template <class T, class At> BURTORCH_INLINE void forEachWideShared(std::size_t size, At at) {
  constexpr std::size_t few = 1024;
  forEachPartOfLoop(size, wideCount<T>, Worth{1, leastNumbers},
                    [at, isWide = size >= few](std::size_t first, std::size_t end)
                        BURTORCH_INLINE_LAMBDA { forEachWide<T>(first, end, at, isWide); });
}

/// Columns of a strip at most.
inline constexpr std::size_t widestStrip = 512;
/// Calls `f(first, end)` for strips of columns of a matrix, which the second cache keeps from one pass to the next, by all threads.
template <class T, class F> BURTORCH_INLINE void forEachStrip(std::size_t rows, std::size_t columns, F f) {
  constexpr std::size_t cached = std::size_t{1} << 16, unit = 64;
  const std::size_t width = std::clamp(cached / rows / unit * unit, unit, widestStrip);
  forEachPartOfLoop(columns, wideCount<T>, Worth{rows, leastNumbers},
                    [=](std::size_t first, std::size_t end) BURTORCH_INLINE_LAMBDA {
                      for (std::size_t c = first; c < end; c += width)
                        f(c, c + width < end ? c + width : end);
                    });
}

/// Whether a product is worth more than one thread.
constexpr bool isLargeProduct(std::size_t rows, std::size_t columns, std::size_t inner) {
  return rows * columns * inner >= 2 * leastProduct;
}
/// Calls `f(first row, end, first column, end)` for parts of a product: columns where there are many, since copies of the
/// right factor are then made once, otherwise whichever is more.
template <class F> void shareProduct(std::size_t rows, std::size_t columns, std::size_t inner, const F& f) {
  constexpr std::size_t rowUnit = 12, columnUnit = 64, fewestRows = 96, fewestColumns = 128,
                        manyColumns = 512;
  if (columns >= manyColumns || columns > rows)
    forEachPart(columns, columnUnit,
                Worth{rows * inner, std::max(leastProduct, fewestColumns * rows * inner)},
                [&](std::size_t first, std::size_t end) { f(std::size_t{0}, rows, first, end); });
  else
    forEachPart(rows, rowUnit, Worth{columns * inner, std::max(leastProduct, fewestRows * columns * inner)},
                [&](std::size_t first, std::size_t end) { f(first, end, std::size_t{0}, columns); });
}

}  // namespace burtorch::inline BURTORCH_TARGET::nn
