// Products of large matrices. The right factor is copied, a block at a time, into the order in which a register tile reads it;
// the left one only where its strides make caches lose it. Then neither a transposed factor nor rows that lie a power of two
// apart cost more. A strip of the right factor stays in the first-level cache.
//
// A sum is taken in parts of `innerBlock` terms, in the order of the terms; parts are added to the result in their order. So
// the bits depend on the shape alone, and errors grow with the length of a part and the number of parts. What fills up a tile
// is never stored.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "../simd/transpose.hpp"
#include "compiled.hpp"
#include "shares.hpp"

namespace burtorch::inline BURTORCH_TARGET::nn {

/// A matrix in memory: element (i, j) is at[i * row + j * column].
template <class T> struct Strided {
  T* at;
  std::size_t row, column;
};

/// Memory for copies, of this thread, from its first large product on.
template <class T> class PackingMemory {
 public:
  static T* of(std::size_t count) {
    if (at_ == nullptr) {
      static thread_local Guard guard;
      at_ = static_cast<T*>(std::aligned_alloc(64, (count * sizeof(T) + 63) / 64 * 64));
      if (at_ == nullptr) fail(ErrorCode::outOfMemory, "no memory for the product of two large matrices");
    }
    return at_;
  }

 private:
  struct Guard {
    ~Guard() {
      std::free(at_);
      at_ = nullptr;  // a product in the destructor of a static object gets memory again
    }
  };
  static inline constinit thread_local T* at_ = nullptr;
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
    if (lanes > laneCount<T>) return true;
    constexpr std::size_t page = 4096 / sizeof(T), large = (std::size_t{16} << 20) / sizeof(T);
    return b.row >= page || a.column >= page / 2 ||
           (a.column >= page / 8 && inner >= 128 && columns >= 128) || (inner > 64 && rows * columns > large);
  }
  /// With all threads that help; which of them computes an element changes no bit of it.
  void run() const;

 private:
  void runAlone() const;

  static constexpr std::size_t lanes = packWidth<T>, vectors = 2, width = vectors * lanes;
#if defined(__AVX512F__) || defined(__aarch64__)
  static constexpr std::size_t height = 12;  // 24 of 32 registers are sums
#else
  static constexpr std::size_t height = 6;  // 12 of 16
#endif
  static constexpr std::size_t step = height / 3;  // tiles of fewer rows have one or two steps
  static constexpr std::size_t innerBlock = 256, rowBlock = 16 * height, columnBlock = 256;
  using Vector = typename Pack<T, lanes>::Vector;

  /// Whether tiles read the left factor where it lies. Lines at distances of 1 KB share few sets of a cache; with many
  /// columns a copy is cheap.
  bool readsLeft() const {
    const std::size_t distance = (a.column == 1 ? a.row : a.column) * sizeof(T);
    return distance % 1024 != 0 || (a.column == 1 && columns < 128);
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
    for (std::size_t i = 0; i < rowCount; i += height) {
      const std::size_t left = rowCount - i, high = tileHeight(left), count = std::min(left, high);
      const T* from = a.at + (firstRow + i) * a.row + firstTerm * a.column;
      if (count == height)
        packTile<height>(from, terms, to);
      else
        for (std::size_t r = 0; r < high; ++r)
          for (std::size_t k = 0; k < terms; ++k)
            to[k * high + r] = r < count ? from[r * a.row + k * a.column] : T{0};
      to += high * terms;
    }
  }
  template <std::size_t high> void packTile(const T* from, std::size_t terms, T* to) const {
    if (a.row == 1)
      for (std::size_t k = 0; k < terms; ++k)
        std::memcpy(to + k * high, from + k * a.column, high * sizeof(T));
    else
      for (std::size_t k = 0; k < terms; ++k)
        unroll<high>([&]<std::size_t r>()
                         BURTORCH_INLINE_LAMBDA { to[k * high + r] = from[r * a.row + k * a.column]; });
  }
  /// Columns of B, [strip][term][column of the strip].
  void packRight(std::size_t firstTerm, std::size_t terms, std::size_t firstColumn, std::size_t columnCount,
                 T* to) const {
    for (std::size_t j = 0; j < columnCount; j += width) {
      const T* from = b.at + firstTerm * b.row + (firstColumn + j) * b.column;
      const std::size_t count = std::min(width, columnCount - j);
      if (b.column == 1 && count == width)
        for (std::size_t k = 0; k < terms; ++k)
          std::memcpy(to + k * width, from + k * b.row, width * sizeof(T));
      else
        packTurned(from, terms, count, to);
      to += width * terms;
    }
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
    const T *left = tile.left, *right = tile.right;
    const std::size_t row = tile.leftRow, term = tile.leftTerm;
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
  T* const lefts = PackingMemory<T>::of(innerBlock * (rowBlock + columnBlock));
  T* const rights = lefts + innerBlock * rowBlock;
  for (std::size_t j = 0; j < columns; j += columnBlock)
    for (std::size_t k = 0; k < inner; k += innerBlock) {
      const std::size_t columnCount = std::min(columnBlock, columns - j),
                        terms = std::min(innerBlock, inner - k);
      packRight(k, terms, j, columnCount, rights);
      for (std::size_t i = 0; i < rows; i += rowBlock) {
        const std::size_t rowCount = std::min(rowBlock, rows - i);
        const std::size_t whole = readsLeft() ? rowCount / height * height : 0;  // tiles
        packLeft(i + whole, rowCount - whole, k, terms, lefts);
        for (std::size_t q = 0; q < columnCount; q += width) {
          const T* left = lefts;
          for (std::size_t p = 0; p < rowCount; p += height) {
            const std::size_t high = tileHeight(rowCount - p);
            const bool isRead = p < whole;
            const Tile tile{isRead ? a.at + (i + p) * a.row + k * a.column : left,
                            rights + q * terms,
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
    }
}

#ifdef BURTORCH_ONCE
BURTORCH_ONCE void BlockedProduct<float>::run() const;
BURTORCH_ONCE void BlockedProduct<double>::run() const;
BURTORCH_ONCE void BlockedProduct<float>::runAlone() const;
BURTORCH_ONCE void BlockedProduct<double>::runAlone() const;
#endif

}  // namespace burtorch::inline BURTORCH_TARGET::nn
