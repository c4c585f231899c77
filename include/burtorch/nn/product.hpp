// Products of matrices, the heart of every layer: three kernels that work in tiles of vector registers.
//
// Matrices are feature-major (matrix.hpp), so a product and the gradient of its input are one kernel: take a weight,
// multiply a vector of columns. It reads the weights in either direction; nothing is transposed. The gradient of the
// weights is a sum over columns; there one factor is transposed, a chunk at a time, and the sum stays in registers.
// Tiles have 12 accumulators: enough to hide the latency of a multiply-add (4 to 5 cycles, two per cycle), and few enough
// for 16 registers. Where there are registers of 64 bytes, rows that fill them use them; products of a few columns have kernels of
// their own there (narrow_product.hpp). Large products are copied into blocks first (blocked_product.hpp).
#pragma once

#include <type_traits>

#include "../simd/transpose.hpp"
#include "blocked_product.hpp"
#include "compiled.hpp"
#include "narrow_product.hpp"
#include "shares.hpp"

#if defined(__clang__)
#define BURTORCH_UNROLL_4 _Pragma("clang loop unroll_count(4)")
#else
#define BURTORCH_UNROLL_4 _Pragma("GCC unroll 4")
#endif

namespace burtorch::inline BURTORCH_TARGET::nn {

/// A matrix in memory: element (i, j) is at[i * stride + j].
template <class T> struct Rows {
  T* at;
  std::size_t stride;
};

/// How the sums of a product begin: with the bias or with what is there; or with 0, and what is there is added at the end.
enum class StartOfSum { given, zero };

/// Y[o][c] = start + sum over i of W(o, i) X[i][c], with W(o, i) = w[o * outputStride + i * inputStride]. `start` is the
/// bias of o, what Y holds already (isAdded), or 0. Long sums are taken in parts of some hundred terms, so that rounding
/// errors grow with the length of a part and the number of parts, not with their product.
template <class T> struct Product {
  const T* w;
  std::size_t outputStride, inputStride;
  Rows<const T> x;
  Rows<T> y;
  std::size_t outputs, inputs, columns;
  const T* bias = nullptr;
  bool isAdded = false;

  void run() const;

 private:
  void runAlone(bool isNarrow) const;
  NarrowProduct<T> narrow() const {
    return {w,        outputStride, inputStride, x.at,    x.stride, y.at,
            y.stride, outputs,      inputs,      columns, bias,     isAdded};
  }

  static constexpr std::size_t longestSum = 512;

  template <StartOfSum start> void runStarting() const {
    constexpr std::size_t lanes = laneCount<T>, wide = wideCount<T>;
    std::size_t c = 0;
    if constexpr (lanes == 1) {  // not vectors: small tiles, and little code
      for (; c < columns; ++c) {
        std::size_t o = 0;
        for (; o + 4 <= outputs; o += 4) tile<T, 4, 1, start, false>(o, c);
        for (; o < outputs; ++o) tile<T, 1, 1, start, false>(o, c);
      }
    } else {
      if constexpr (wide > lanes) {
        for (; c + 2 * wide <= columns; c += 2 * wide) runColumns<Wide<T>, 12, 2, start, false>(*this, c);
        if (c + wide <= columns) runColumns<Wide<T>, 12, 1, start, false>(*this, c), c += wide;
      }
      for (; c + 2 * lanes <= columns; c += 2 * lanes) runColumns<Lanes<T>, 6, 2, start, false>(*this, c);
      for (; c + lanes <= columns; c += lanes) runColumns<Lanes<T>, 12, 1, start, false>(*this, c);
      if (c < columns) runColumns<Lanes<T>, 12, 1, start, true>(*this, c);
    }
  }

  /// `p` is a copy: what is stored could otherwise change its members, as far as a compiler can see. `isPart`: fewer
  /// columns than a vector has lanes are left.
  template <class V, std::size_t rows, std::size_t vectors, StartOfSum start, bool isPart>
  [[gnu::noinline]] static void runColumns(Product p, std::size_t c) {
    constexpr std::size_t fewer = vectors == 1 ? 8 : 6;
    std::size_t o = 0;
    if constexpr (rows > fewer)
      for (; o + rows <= p.outputs; o += rows) p.template tile<V, rows, vectors, start, isPart>(o, c);
    for (; o + fewer <= p.outputs; o += fewer) p.template tile<V, fewer, vectors, start, isPart>(o, c);
    switch (p.outputs - o) {
      case 7:
      case 6: p.template tile<V, 6, vectors, start, isPart>(o, c), o += 6; break;
      case 5: return p.template tile<V, 5, vectors, start, isPart>(o, c);
      case 4: return p.template tile<V, 4, vectors, start, isPart>(o, c);
      case 3: return p.template tile<V, 3, vectors, start, isPart>(o, c);
      case 2: return p.template tile<V, 2, vectors, start, isPart>(o, c);
    }
    if (o < p.outputs) p.template tile<V, 1, vectors, start, isPart>(o, c);
  }

  template <class V, std::size_t rows, std::size_t vectors, StartOfSum start, bool isPart>
  BURTORCH_INLINE void tile(std::size_t o, std::size_t c) const {
    constexpr std::size_t lanes = sizeof(V) / sizeof(T);
    const std::size_t left = columns - c;
    const auto get = [&](const T* from) BURTORCH_INLINE_LAMBDA -> V {
      if constexpr (isPart)
        return loadPart(from, left);
      else
        return loadAs<V>(from);
    };
    V sum[rows][vectors];
    T* out = y.at + o * y.stride + c;
    unroll<rows>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
      unroll<vectors>([&]<std::size_t v>() BURTORCH_INLINE_LAMBDA {
        sum[r][v] = start == StartOfSum::zero ? fillAs<V>(T{0})
                    : isAdded                 ? get(out + r * y.stride + v * lanes)
                    : bias != nullptr         ? fillAs<V>(bias[o + r])
                                              : fillAs<V>(T{0});
      });
    });
    const T* weight = w + o * outputStride;
    const T* column = x.at + c;
    const std::size_t count = inputs;
    BURTORCH_UNROLL_4
    for (std::size_t i = 0; i < count; ++i) {
      V in[vectors];
      unroll<vectors>([&]<std::size_t v>() BURTORCH_INLINE_LAMBDA { in[v] = get(column + v * lanes); });
      unroll<rows>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
        // A register: a number would be loaded again for each of the vectors.
        const V factor = fillAs<V>(weight[r * outputStride]);
        unroll<vectors>([&]<std::size_t v>()
                            BURTORCH_INLINE_LAMBDA { sum[r][v] = sum[r][v] + factor * in[v]; });
      });
      weight += inputStride;
      column += x.stride;
    }
    unroll<rows>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
      unroll<vectors>([&]<std::size_t v>() BURTORCH_INLINE_LAMBDA {
        T* to = out + r * y.stride + v * lanes;
        if constexpr (start == StartOfSum::zero) sum[r][v] = sum[r][v] + get(to);
        if constexpr (isPart)
          storePart<T>(to, sum[r][v], left);
        else
          std::memcpy(to, &sum[r][v], sizeof(V));
      });
    });
  }
};

/// G[i][j] = sum over c of A[i][c] B[j][c], or added to what G holds: the gradient of a matrix of weights.
template <class T> struct OuterProduct {
  Rows<T> g;
  Rows<const T> a, b;
  std::size_t rows, width, columns;  // G is rows x width
  bool isAdded;

  void run() const;

 private:
  void runAlone() const;

  static constexpr std::size_t lanes = laneCount<T>, wide = wideCount<T>;
  // 12 KB: a chunk stays in the first-level cache while all rows pass by.
  static constexpr std::size_t chunkColumns = 64, chunkWidth = 6 * lanes;

  void runChunk(std::size_t c, std::size_t columnCount, std::size_t j, std::size_t count) const {
    alignas(64) T turned[chunkColumns * chunkWidth];
    const std::size_t padded = paddedTo<T>(count);
    transpose(b.at + j * b.stride + c, count, columnCount, b.stride, turned, padded);
    const Chunk chunk{a.at + c, turned, columnCount, padded, isAdded || c > 0};
    for (std::size_t k = 0; k < padded;)
      k += lanes * runStripAt(chunk, (padded - k) / lanes, k, j + k, count - k);
  }
  struct Chunk {
    const T *a, *turned;
    std::size_t columns, stride;
    bool isAdded;
  };
  /// Does a strip where `left` vectors are to be done, and returns of how many: three next to each other if they come out even,
  /// else two, else one, 4 x 3, 6 x 2 or 12 x 1 accumulators; of wide ones the same, or one and half of one.
  std::size_t runStripAt(const Chunk& chunk, std::size_t left, std::size_t k, std::size_t j,
                         std::size_t count) const {
    if constexpr (lanes == 1) return runStrip<4, 0, 1>(chunk, k, j, count);
    if constexpr (wide == 2 * lanes) {
      if (left == 6) return runStrip<4, 3, 0>(chunk, k, j, count);
      if (left >= 4) return runStrip<6, 2, 0>(chunk, k, j, count);
      if (left == 3) return runStrip<6, 1, 1>(chunk, k, j, count);
      if (left == 2) return runStrip<12, 1, 0>(chunk, k, j, count);
    }
    if (left == 3 || left > 4) return runStrip<4, 0, 3>(chunk, k, j, count);
    if (left != 1) return runStrip<6, 0, 2>(chunk, k, j, count);
    return runStrip<12, 0, 1>(chunk, k, j, count);
  }
  template <std::size_t tileRows, std::size_t wides, std::size_t vectors>
  std::size_t runStrip(const Chunk& chunk, std::size_t k, std::size_t j, std::size_t count) const {
    std::size_t i = 0;
    for (; i + tileRows <= rows; i += tileRows) tile<tileRows, wides, vectors>(chunk, k, i, j, count);
    for (; i + 4 <= rows; i += 4) tile<4, wides, vectors>(chunk, k, i, j, count);
    for (; i < rows; ++i) tile<1, wides, vectors>(chunk, k, i, j, count);
    return 2 * wides + vectors;
  }
  template <std::size_t tileRows, std::size_t wides, std::size_t vectors>
  BURTORCH_INLINE void tile(const Chunk& chunk, std::size_t k, std::size_t i, std::size_t j,
                            std::size_t count) const {
    constexpr std::size_t tileWidth = wides * wide + vectors * lanes;
    const bool isWhole = count >= tileWidth;
    // Calls f with the vectors of a row, where each starts, and its type.
    Wide<T> wideSum[tileRows][wides + 1];
    Lanes<T> sum[tileRows][vectors + 1];
    const auto forEach = [&]<std::size_t r>(auto f) BURTORCH_INLINE_LAMBDA {
      unroll<wides>([&]<std::size_t v>() BURTORCH_INLINE_LAMBDA { f(wideSum[r][v], v * wide); });
      unroll<vectors>([&]<std::size_t v>()
                          BURTORCH_INLINE_LAMBDA { f(sum[r][v], wides * wide + v * lanes); });
    };
    T* to = g.at + i * g.stride + j;
    unroll<tileRows>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
      forEach.template operator()<r>([&]<class V>(V& v, std::size_t at) BURTORCH_INLINE_LAMBDA {
        v = chunk.isAdded && isWhole ? loadAs<V>(to + r * g.stride + at) : fillAs<V>(T{0});
      });
    });
    const T* row = chunk.turned + k;
    const T* factor = chunk.a + i * a.stride;
    BURTORCH_UNROLL_4
    for (std::size_t c = 0; c < chunk.columns; ++c) {
      unroll<tileRows>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
        const Wide<T> f = fillAs<Wide<T>>(factor[r * a.stride + c]);  // a register, as in Product
        forEach.template operator()<r>([&]<class V>(V& v, std::size_t at) BURTORCH_INLINE_LAMBDA {
          v = v + firstOf<V>(f) * loadAs<V>(row + at);
        });
      });
      row += chunk.stride;
    }
    unroll<tileRows>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
      T rest[tileWidth];  // the end of a row
      T* const numbers = isWhole ? to + r * g.stride : rest;
      forEach.template operator()<r>([&]<class V>(V& v, std::size_t at)
                                         BURTORCH_INLINE_LAMBDA { std::memcpy(numbers + at, &v, sizeof v); });
      for (std::size_t n = 0; !isWhole && n < count; ++n)
        to[r * g.stride + n] = chunk.isAdded ? to[r * g.stride + n] + rest[n] : rest[n];
    });
  }
};

// Out of their classes, so that they can be left to burtorch::compiled.
template <class T> void Product<T>::run() const {
  const bool isNarrow = narrow().pays(), isLarge = isLargeProduct(outputs, columns, inputs);
  if constexpr (laneCount < T >> 1) {
    if (isNarrow && !isLarge) return narrow().run();
    const BlockedProduct<T> large{{w, outputStride, inputStride},
                                  {x.at, x.stride, 1},
                                  y.at,
                                  y.stride,
                                  outputs,
                                  columns,
                                  inputs,
                                  bias,
                                  isAdded};
    if (large.pays()) return large.run();
  }
  if (!isLarge) return runAlone(isNarrow);
  // Parts are narrow if the whole is: bits do not depend on the number of threads.
  shareProduct(
      outputs, columns, inputs,
      [this, isNarrow](std::size_t row, std::size_t rowEnd, std::size_t column, std::size_t columnEnd) {
        Product part = *this;
        part.w += row * outputStride;
        part.x.at += column;
        part.y.at += row * y.stride + column;
        part.outputs = rowEnd - row;
        part.columns = columnEnd - column;
        if (bias != nullptr) part.bias += row;
        part.runAlone(isNarrow);
      });
}
template <class T> void Product<T>::runAlone(bool isNarrow) const {
  if (isNarrow) return narrow().run();
  if (inputs <= longestSum) return runStarting<StartOfSum::given>();
  Product part = *this;
  part.inputs = longestSum;
  part.template runStarting<StartOfSum::given>();
  for (std::size_t i = longestSum; i < inputs; i += longestSum) {
    part.w += longestSum * inputStride;
    part.x.at += longestSum * x.stride;
    part.inputs = inputs - i < longestSum ? inputs - i : longestSum;
    part.template runStarting<StartOfSum::zero>();
  }
}
template <class T> void OuterProduct<T>::run() const {
  if constexpr (laneCount < T >> 1) {
    const BlockedProduct<T> large{
        {a.at, a.stride, 1}, {b.at, 1, b.stride}, g.at, g.stride, rows, width, columns, nullptr, isAdded};
    if (large.pays()) return large.run();
  }
  if (!isLargeProduct(rows, width, columns)) return runAlone();
  shareProduct(rows, width, columns,
               [this](std::size_t row, std::size_t rowEnd, std::size_t column, std::size_t columnEnd) {
                 OuterProduct part = *this;
                 part.g.at += row * g.stride + column;
                 part.a.at += row * a.stride;
                 part.b.at += column * b.stride;
                 part.rows = rowEnd - row;
                 part.width = columnEnd - column;
                 part.runAlone();
               });
}
template <class T> void OuterProduct<T>::runAlone() const {
  for (std::size_t c = 0; c < columns; c += chunkColumns)
    for (std::size_t j = 0; j < width; j += chunkWidth)
      runChunk(c, columns - c < chunkColumns ? columns - c : chunkColumns, j,
               width - j < chunkWidth ? width - j : chunkWidth);
}
#ifdef BURTORCH_ONCE
BURTORCH_ONCE void Product<float>::run() const;
BURTORCH_ONCE void Product<double>::run() const;
BURTORCH_ONCE void Product<float>::runAlone(bool) const;
BURTORCH_ONCE void Product<double>::runAlone(bool) const;
BURTORCH_ONCE void OuterProduct<float>::run() const;
BURTORCH_ONCE void OuterProduct<double>::run() const;
BURTORCH_ONCE void OuterProduct<float>::runAlone() const;
BURTORCH_ONCE void OuterProduct<double>::runAlone() const;
#endif

}  // namespace burtorch::inline BURTORCH_TARGET::nn
