// Products of large matrices. The right factor is copied, a panel at a time, into the order in which a register tile reads
// it; the left one only where its strides make caches lose it. Then neither a transposed factor nor rows that lie a power of
// two apart cost more. A strip of the right factor stays in the first-level cache, the results of a block of rows in the
// second.
//
// A sum is taken in equal parts of at most `innerBlock` terms, in the order of the terms; parts are added to the result in
// their order. So the bits depend on the shape alone, and errors grow with the length of a part and the number of parts.
// What fills up a tile is never stored.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "../simd/transpose.hpp"
#include "compiled.hpp"
#include "shares.hpp"

#if defined(__clang__)
#define BURTORCH_UNROLL_2 _Pragma("clang loop unroll_count(2)")
#else
#define BURTORCH_UNROLL_2 _Pragma("GCC unroll 2")
#endif

namespace burtorch::inline BURTORCH_TARGET::nn {

/// A matrix in memory: element (i, j) is at[i * row + j * column].
template <class T> struct Strided {
  T* at;
  std::size_t row, column;
};

/// Memory for copies, of this thread. It grows to the largest product's and stays.
template <class T> class PackingMemory {
 public:
  static T* of(std::size_t count) {
    if (count > capacity_) grow(count);
    return at_;
  }

 private:
  static void grow(std::size_t count) {
    static thread_local Guard guard;
    Guard::release();
    at_ = static_cast<T*>(std::aligned_alloc(64, (count * sizeof(T) + 63) / 64 * 64));
    if (at_ == nullptr) fail(ErrorCode::outOfMemory, "no memory for the product of two large matrices");
    capacity_ = count;
  }
  struct Guard {
    ~Guard() { release(); }  // a product in the destructor of a static object gets memory again
    static void release() {
      std::free(at_);
      at_ = nullptr;
      capacity_ = 0;
    }
  };
  static inline constinit thread_local T* at_ = nullptr;
  static inline constinit thread_local std::size_t capacity_ = 0;
};

/// C = start + A B, where `start` is the bias of a row, what C holds (isAdded), or 0.
template <class T> struct BlockedProduct {
  Strided<const T> a, b;  // rows x inner, inner x columns
  T* c;                   // element (i, j) is c[i * stride + j]
  std::size_t stride;
  std::size_t rows, columns, inner;
  const T* bias = nullptr;
  bool isAdded = false;

  /// Whether copying costs less than it saves, compared with kernels that read both factors where they lie. Those have
  /// vectors of at most 32 bytes, and suffer where the terms of a sum lie far apart or the result leaves the cache.
  bool pays() const {
    if (columns < width || rows < 2 * height || inner < 16) return false;
    if (lanes > laneCount<T> || (columns >= 128 && inner >= 128)) return true;
    constexpr std::size_t page = 4096 / sizeof(T), large = (std::size_t{16} << 20) / sizeof(T);
    return b.row >= page || a.column >= page / 8 || (inner > 64 && rows * columns > large);
  }
  /// With all threads that help; which of them computes an element changes no bit of it.
  void run() const;

 private:
  void runAlone() const;
  void runBlock(std::size_t i, std::size_t k, std::size_t terms, std::size_t j, std::size_t columnCount,
                T* lefts, const T* strips) const;

  static constexpr std::size_t lanes = packWidth<T>, vectors = 2, width = vectors * lanes;
#if defined(__AVX512F__) || defined(__aarch64__)
  static constexpr std::size_t height = 12;  // 24 of 32 registers are sums
#else
  static constexpr std::size_t height = 6;  // 12 of 16
#endif
  static constexpr std::size_t step = height / 3;  // tiles of fewer rows have one or two steps
  static constexpr std::size_t innerBlock = 256, rowBlock = 16 * height, columnBlock = 256;
  static constexpr std::size_t panelTerms = 8 * innerBlock;  // of the right factor that are copied at a time
  using Vector = typename Pack<T, lanes>::Vector;

  /// Whether tiles read the left factor where it lies: rows in one piece, unless their lines share few sets of a cache,
  /// and anything that few columns use.
  bool readsLeft() const {
    return a.column == 1 ? a.row * sizeof(T) % 1024 != 0 || columns < 128 : columns < 2 * width;
  }
  static constexpr std::size_t tileHeight(std::size_t left) {
    return left >= height ? height : (left + step - 1) / step * step;
  }
  BURTORCH_INLINE static Vector loadVector(const T* from) {
    Vector vector;
    std::memcpy(&vector, from, sizeof vector);
    return vector;
  }

  /// Rows of A, [tile][term][row of the tile].
  void packLeft(std::size_t firstRow, std::size_t rowCount, std::size_t firstTerm, std::size_t terms,
                T* to) const {
    const T* from = a.at + firstRow * a.row + firstTerm * a.column;
    if (a.row == 1 && a.column * sizeof(T) > 2048) {
      const std::size_t whole = rowCount / height;
      copyPieces<height>(from, a.column, whole, terms, to);
      from += whole * height;
      to += whole * height * terms;
      rowCount -= whole * height;
    }
    for (std::size_t i = 0; i < rowCount; i += height) {
      const std::size_t left = rowCount - i, high = tileHeight(left);
      packTile(from, std::min(left, high), terms, to);
      from += height * a.row;
      to += high * terms;
    }
  }
  void packTile(const T* from, std::size_t count, std::size_t terms, T* to) const {
    if (count == height) return packWholeTile<height>(from, terms, to);
    if (count == 2 * step) return packWholeTile<2 * step>(from, terms, to);
    if (count == step) return packWholeTile<step>(from, terms, to);
    const std::size_t high = tileHeight(count);
    for (std::size_t r = 0; r < high; ++r)
      for (std::size_t k = 0; k < terms; ++k)
        to[k * high + r] = r < count ? from[r * a.row + k * a.column] : T{0};
  }
  template <std::size_t high> void packWholeTile(const T* from, std::size_t terms, T* to) const {
    if (a.row == 1)
      for (std::size_t k = 0; k < terms; ++k)
        std::memcpy(to + k * high, from + k * a.column, high * sizeof(T));
    else if (a.column == 1)
      forEachVector<T>(
          terms, [&](std::size_t k, std::size_t count) { turnRows<high>(from + k, count, to + k * high); });
    else
      for (std::size_t k = 0; k < terms; ++k)
        unroll<high>([&]<std::size_t r>()
                         BURTORCH_INLINE_LAMBDA { to[k * high + r] = from[r * a.row + k * a.column]; });
  }
  /// Rows of a tile, `terms` of each, in squares that may overlap. What squares of more than `high` rows write beyond a term
  /// is written again with the next one, or lies behind the last tile.
  template <std::size_t high> BURTORCH_INLINE void turnRows(const T* from, std::size_t terms, T* to) const {
    constexpr std::size_t square = laneCount<T>, last = high > square ? high - square : 0;
    unroll<(high + square - 1) / square>([&]<std::size_t n>() BURTORCH_INLINE_LAMBDA {
      constexpr std::size_t first = std::min(n * square, last);
      transposeSquare<T>([&](std::size_t i) { return from + std::min(first + i, high - 1) * a.row; },
                         to + first, high, terms);
    });
  }
  /// Columns of B, [strip][term][column of the strip].
  void packRight(std::size_t firstTerm, std::size_t terms, std::size_t firstColumn, std::size_t columnCount,
                 T* to) const {
    const T* from = b.at + firstTerm * b.row + firstColumn * b.column;
    if (b.column == 1) {
      const std::size_t whole = columnCount / width;
      copyPieces<width>(from, b.row, whole, terms, to);
      from += whole * width;
      to += whole * width * terms;
      columnCount -= whole * width;
    }
    for (std::size_t j = 0; j < columnCount; j += width) {
      packTurned(from + j * b.column, terms, std::min(width, columnCount - j), to);
      to += width * terms;
    }
  }
  /// Copies rows of `count` pieces each, [piece][row][number]: rows as a whole, since memory likes that.
  template <std::size_t size>
  static void copyPieces(const T* from, std::size_t stride, std::size_t count, std::size_t rows, T* to) {
    for (std::size_t k = 0; k < rows; ++k, from += stride)
      for (std::size_t piece = 0; piece < count; ++piece)
        std::memcpy(to + (piece * rows + k) * size, from + piece * size, size * sizeof(T));
  }
  /// A strip whose columns do not lie side by side, or are fewer.
  void packTurned(const T* from, std::size_t terms, std::size_t count, T* to) const {
    if (count < width) std::fill(to, to + width * terms, T{0});
    if (b.row == 1)
      transpose(from, count, terms, b.column, to, width);
    else
      for (std::size_t k = 0; k < terms; ++k)
        for (std::size_t j = 0; j < count; ++j) to[k * width + j] = from[k * b.row + j * b.column];
  }

  struct Tile {
    const T *left, *right;
    std::size_t leftRow, leftTerm;
    std::size_t terms;
    T* to;
    std::size_t rows, columns;  // of the result
    const T* bias;              // of its first row
    bool isAdded;
  };
  template <std::size_t high> [[gnu::noinline]] void runTile(const Tile& tile) const {
    Vector sum[high][vectors];
    unroll<high>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
      unroll<vectors>([&]<std::size_t v>() BURTORCH_INLINE_LAMBDA { sum[r][v] = Vector{}; });
    });
    if (tile.isAdded && tile.rows == high && tile.columns == width)  // wanted in the end
      unroll<high>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
        unroll<vectors>([&]<std::size_t v>()
                            BURTORCH_INLINE_LAMBDA { __builtin_prefetch(tile.to + r * stride + v * lanes); });
      });
    const T *left = tile.left, *right = tile.right;
    const std::size_t row = tile.leftRow, term = tile.leftTerm;
    BURTORCH_UNROLL_2
    for (std::size_t k = 0; k < tile.terms; ++k, left += term, right += width) {
      Vector in[vectors];
      unroll<vectors>([&]<std::size_t v>() BURTORCH_INLINE_LAMBDA { in[v] = loadVector(right + v * lanes); });
      unroll<high>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
        const T factor = left[r * row];
        unroll<vectors>([&]<std::size_t v>()
                            BURTORCH_INLINE_LAMBDA { sum[r][v] = sum[r][v] + factor * in[v]; });
      });
    }
    if (tile.rows == high && tile.columns == width) {
      unroll<high>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
        unroll<vectors>([&]<std::size_t v>() BURTORCH_INLINE_LAMBDA {
          T* to = tile.to + r * stride + v * lanes;
          if (tile.isAdded)
            sum[r][v] = loadVector(to) + sum[r][v];
          else if (tile.bias != nullptr)
            sum[r][v] = tile.bias[r] + sum[r][v];
          std::memcpy(to, &sum[r][v], sizeof(Vector));
        });
      });
    } else {
      T sums[high * width];
      std::memcpy(sums, sum, sizeof sums);
      for (std::size_t r = 0; r < tile.rows; ++r)
        for (std::size_t j = 0; j < tile.columns; ++j) {
          T& to = tile.to[r * stride + j];
          to = (tile.isAdded ? to : tile.bias != nullptr ? tile.bias[r] : T{0}) + sums[r * width + j];
        }
    }
  }
};

// Out of the class, so that it can be left to burtorch::compiled.
template <class T> void BlockedProduct<T>::run() const {
  if (!isLargeProduct(rows, columns, inner)) return runAlone();
  shareProduct(rows, columns, inner,
               [this](std::size_t row, std::size_t rowEnd, std::size_t column, std::size_t columnEnd) {
                 BlockedProduct part = *this;
                 part.a.at += row * a.row;
                 part.b.at += column * b.column;
                 part.c += row * stride + column;
                 part.rows = rowEnd - row;
                 part.columns = columnEnd - column;
                 if (bias != nullptr) part.bias += row;
                 part.runAlone();
               });
}
template <class T> void BlockedProduct<T>::runAlone() const {
  // Parts of a sum are equally long; a panel has some of them.
  const std::size_t parts = (inner + innerBlock - 1) / innerBlock,
                    part = ((inner + parts - 1) / parts + 7) / 8 * 8,
                    panel = std::min(inner, panelTerms / part * part),
                    panelWidth = std::min(columnBlock, (columns + width - 1) / width * width);
  // What turnRows writes behind the last tile has room.
  T* const rights = PackingMemory<T>::of(panel * panelWidth + part * rowBlock + laneCount<T>);
  T* const lefts = rights + panel * panelWidth;
  for (std::size_t j = 0; j < columns; j += columnBlock) {
    const std::size_t columnCount = std::min(columnBlock, columns - j);
    for (std::size_t first = 0; first < inner; first += panel) {
      const std::size_t end = std::min(inner, first + panel);
      for (std::size_t k = first; k < end; k += part)
        packRight(k, std::min(part, end - k), j, columnCount, rights + (k - first) * panelWidth);
      for (std::size_t i = 0; i < rows;
           i += rowBlock)  // whose results stay in a cache for all parts of the panel
        for (std::size_t k = first; k < end; k += part)
          runBlock(i, k, std::min(part, end - k), j, columnCount, lefts, rights + (k - first) * panelWidth);
    }
  }
}
/// The rows from i on, the terms from k on, the columns from j on, whose copies are in `strips`.
template <class T>
void BlockedProduct<T>::runBlock(std::size_t i, std::size_t k, std::size_t terms, std::size_t j,
                                 std::size_t columnCount, T* lefts, const T* strips) const {
  const std::size_t rowCount = std::min(rowBlock, rows - i), last = rowCount % height;
  // The last tile has more rows than there are, unless these are whole steps: then it is a copy, which ends with zeros.
  const std::size_t read = !readsLeft() ? 0 : last % step == 0 ? rowCount : rowCount - last;
  packLeft(i + read, rowCount - read, k, terms, lefts);
  for (std::size_t q = 0; q < columnCount; q += width) {
    const T* left = lefts;
    for (std::size_t p = 0; p < rowCount; p += height) {
      const std::size_t high = tileHeight(rowCount - p);
      const bool isRead = p < read;
      const Tile tile{isRead ? a.at + (i + p) * a.row + k * a.column : left,
                      strips + q * terms,
                      isRead ? a.row : 1,
                      isRead ? a.column : high,
                      terms,
                      c + (i + p) * stride + j + q,
                      std::min(height, rowCount - p),
                      std::min(width, columnCount - q),
                      bias != nullptr ? bias + i + p : nullptr,
                      isAdded || k > 0};
      if (high == height)
        runTile<height>(tile);
      else if (high == 2 * step)
        runTile<2 * step>(tile);
      else
        runTile<step>(tile);
      if (!isRead) left += high * terms;
    }
  }
}

#ifdef BURTORCH_ONCE
BURTORCH_ONCE void BlockedProduct<float>::run() const;
BURTORCH_ONCE void BlockedProduct<double>::run() const;
BURTORCH_ONCE void BlockedProduct<float>::runAlone() const;
BURTORCH_ONCE void BlockedProduct<double>::runAlone() const;
#endif

}  // namespace burtorch::inline BURTORCH_TARGET::nn
