// Two products of one shape with other weights and other columns, those of two points, in one pass: where the machine has registers
// of twice the vectors that layers use, and a sample has too few columns to fill one.
//
// A register holds both points, number by number in turns: the columns as x0 y0 x1 y1 ..., a weight as its pair, repeated. One
// load spreads a pair and one multiply-add does both points. Pairs of weights are made once, for the product and for the gradient
// of its input (`putInTurns`): that takes less than is saved. Every sum has the terms of Product in its order, and so its bits.
#pragma once

#include "product.hpp"

namespace burtorch::inline BURTORCH_TARGET::nn {

/// For both points: Y[o][c] = start + sum over i of W(o, i) X[i][c]; Product says what `start` is. W is a matrix in memory, row by
/// row without gaps, or its transpose.
template <class T> struct PairProduct {
  struct Point {
    Rows<const T> x;
    Rows<T> y;
    const T* bias;
  };
  const T* pairs;  // of W, as putInTurns leaves them
  Point points[2];
  std::size_t outputs, inputs, columns;
  bool isTransposed = false, isAdded = false;

  /// Whether the machine has registers for it.
  static constexpr bool isPossible = laneCount<T> != 1 && wideCount<T> == 2 * laneCount<T>;
  /// Whether one pass is faster than two, and has their bits.
  bool pays() const {
    return isPossible && columns > 1 && columns <= laneCount<T> && inputs <= mostTerms &&
           outputs <= mostTerms && !isLargeProduct(outputs, columns, inputs);
  }
  /// The numbers of both points: x0 y0 x1 y1 ...
  static void putInTurns(const T* x, const T* y, std::size_t count, T* pairs) {
    std::size_t i = 0;
    if constexpr (isPossible)
      for (; i + lanes <= count; i += lanes) {
        const Wide both = inTurns(nn::load(x + i), nn::load(y + i));
        std::memcpy(pairs + 2 * i, &both, sizeof both);
      }
    for (; i < count; ++i) pairs[2 * i] = x[i], pairs[2 * i + 1] = y[i];
  }
  void run() const {
    if constexpr (isPossible) columns == lanes ? runWhole<true>() : runWhole<false>();
  }

 private:
  static constexpr std::size_t lanes = laneCount<T>, mostTerms = 128;
  using Wide = typename WideOf<T>::Vector;

  template <bool isFull> [[gnu::noinline]] void runWhole() const {
    alignas(64) T columnsOfBoth[2 * lanes * mostTerms];
    for (std::size_t i = 0; i < inputs; ++i) {
      const Wide both = load<isFull>(points[0].x, points[1].x, i);
      std::memcpy(columnsOfBoth + 2 * lanes * i, &both, sizeof both);
    }
    const PairProduct p =
        *this;  // what is stored could otherwise change its members, as far as a compiler can see
    std::size_t o = 0;
    for (; o + 12 <= p.outputs; o += 12) p.template tile<3, isFull>(columnsOfBoth, o);
    for (; o + 4 <= p.outputs; o += 4) p.template tile<1, isFull>(columnsOfBoth, o);
    for (; o < p.outputs; ++o) p.template row<isFull>(columnsOfBoth, o);
  }
  /// Groups of four rows: the first of each has a pointer of its own, so that addresses need few registers.
  template <std::size_t groups, bool isFull> BURTORCH_INLINE void tile(const T* x, std::size_t o) const {
    Wide sum[4 * groups];
    unroll<4 * groups>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA { sum[r] = start<isFull>(o + r); });
    const std::size_t stride = 2 * outputStride(), step = 2 * inputStride(), terms = inputs;
    const T* weights[groups];
    unroll<groups>([&]<std::size_t k>()
                       BURTORCH_INLINE_LAMBDA { weights[k] = pairs + (o + 4 * k) * stride; });
    BURTORCH_UNROLL_4
    for (std::size_t i = 0; i < terms; ++i) {
      Wide in;
      std::memcpy(&in, x + 2 * lanes * i, sizeof in);
      unroll<4 * groups>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
        sum[r] = sum[r] + spread(weights[r / 4] + r % 4 * stride) * in;
      });
      unroll<groups>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA { weights[k] += step; });
    }
    unroll<4 * groups>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA { store<isFull>(o + r, sum[r]); });
  }
  template <bool isFull> void row(const T* x, std::size_t o) const {
    Wide sum = start<isFull>(o);
    for (std::size_t i = 0; i < inputs; ++i) {
      Wide in;
      std::memcpy(&in, x + 2 * lanes * i, sizeof in);
      sum = sum + spread(pairs + 2 * (o * outputStride() + i * inputStride())) * in;
    }
    store<isFull>(o, sum);
  }

  std::size_t outputStride() const { return isTransposed ? 1 : inputs; }
  std::size_t inputStride() const { return isTransposed ? outputs : 1; }

  // Vectors of both points.

  template <bool isFull> BURTORCH_INLINE Wide start(std::size_t o) const {
    if (isAdded) return load<isFull>(points[0].y, points[1].y, o);
    if (points[0].bias == nullptr) return Wide{};
    return inTurns(fill(points[0].bias[o]), fill(points[1].bias[o]));
  }
  template <bool isFull, class Number>
  BURTORCH_INLINE Wide load(const Rows<Number>& a, const Rows<Number>& b, std::size_t row) const {
    const T *fromA = a.at + row * a.stride, *fromB = b.at + row * b.stride;
    return isFull ? inTurns(nn::load(fromA), nn::load(fromB))
                  : inTurns(loadPart(fromA, columns), loadPart(fromB, columns));
  }
  template <bool isFull> BURTORCH_INLINE void store(std::size_t row, const Wide& both) const {
    storeOne<isFull>(points[0].y.at + row * points[0].y.stride, half<0>(both));
    storeOne<isFull>(points[1].y.at + row * points[1].y.stride, half<1>(both));
  }
  template <bool isFull> BURTORCH_INLINE void storeOne(T* to, const Lanes<T>& numbers) const {
    isFull ? nn::store<T>(to, numbers) : storePart<T>(to, numbers, columns);
  }
  BURTORCH_INLINE static Wide inTurns(const Lanes<T>& a, const Lanes<T>& b) {
    if constexpr (lanes == 8)
      return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
    else
      return __builtin_shufflevector(a, b, 0, 4, 1, 5, 2, 6, 3, 7);
  }
  template <int which> BURTORCH_INLINE static Lanes<T> half(const Wide& both) {
    if constexpr (lanes == 8)
      return __builtin_shufflevector(both, both, which, which + 2, which + 4, which + 6, which + 8,
                                     which + 10, which + 12, which + 14);
    else
      return __builtin_shufflevector(both, both, which, which + 2, which + 4, which + 6);
  }
  /// A pair in all lanes.
  BURTORCH_INLINE static Wide spread(const T* pair) {
    Wide all;
    if constexpr (lanes == 8) {
      typedef double Doubles __attribute__((vector_size(64)));
      double bits;  // as one number, which one load spreads
      std::memcpy(&bits, pair, sizeof bits);
      const Doubles copies = {bits, bits, bits, bits, bits, bits, bits, bits};
      std::memcpy(&all, &copies, sizeof all);
    } else {
      typedef T Pair __attribute__((vector_size(2 * sizeof(T))));
      Pair two;
      std::memcpy(&two, pair, sizeof two);
      all = __builtin_shufflevector(two, two, 0, 1, 0, 1, 0, 1, 0, 1);
    }
    return all;
  }
};

}  // namespace burtorch::inline BURTORCH_TARGET::nn
