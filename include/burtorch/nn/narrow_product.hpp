// Products with few columns, in registers of twice the vectors that layers use, where the machine has them: a sample of 8 positions
// fills half of a register of 64 bytes, so each holds two rows.
//
// What lies side by side among the weights is loaded as a pair and repeated across a register, so that one load and one
// multiply-add do the work of two. If the terms of a sum lie there, the register's columns are those of two inputs in turns,
// x0 y0 x1 y1 ..., and its sums those of the even terms and of the odd ones, which are added at the end; if they are those of two
// outputs, each column comes twice, and the sums are those of both outputs in turns.
#pragma once

#include "../simd/lanes.hpp"

namespace burtorch::inline BURTORCH_TARGET::nn {

/// Y[o][c] = sum over i of W(o, i) X[i][c], plus the bias of o, or what Y holds already (isAdded). W(o, i) is
/// w[o * outputStride + i * inputStride], and one of the strides is 1: rows of the weights, or columns, lie side by side.
template <class T> struct NarrowProduct {
  const T* w;
  std::size_t outputStride, inputStride;
  const T* x;
  std::size_t xStride;
  T* y;
  std::size_t yStride;
  std::size_t outputs, inputs, columns;
  const T* bias;
  bool isAdded;

  /// Whether the machine has registers for it.
  static constexpr bool isPossible = laneCount<T> != 1 && wideCount<T> == 2 * laneCount<T>;
  bool pays() const {
    return isPossible && columns > 1 && columns <= laneCount<T> && (inputStride == 1 || outputStride == 1);
  }
  /// Long sums are taken in parts, as those of Product.
  void run() const {
    if constexpr (isPossible) {
      if (inputs <= mostInputs) return runPart();
      NarrowProduct part = *this;
      for (std::size_t i = 0; i < inputs; i += mostInputs) {
        part.inputs = inputs - i < mostInputs ? inputs - i : mostInputs;
        part.isAdded = isAdded || i > 0;
        part.runPart();
        part.w += mostInputs * inputStride;
        part.x += mostInputs * xStride;
      }
    }
  }

 private:
  static constexpr std::size_t lanes = laneCount<T>, mostInputs = 256;
  using Wide = nn::Wide<T>;

  void runPart() const {
    if (columns == lanes)
      inputStride == 1 ? runTerms<true>() : runOutputs<true>();
    else
      inputStride == 1 ? runTerms<false>() : runOutputs<false>();
  }

  /// Pairs of terms.
  template <bool isFull> [[gnu::noinline]] void runTerms() const {
    alignas(64) T turned[lanes * mostInputs];
    for (std::size_t i = 0; i + 2 <= inputs; i += 2)
      put(turned + i * lanes,
          inTurns(loadRow<isFull>(x + i * xStride), loadRow<isFull>(x + (i + 1) * xStride)));
    const NarrowProduct p = *this;  // what is stored could change its members, as far as a compiler can see
    std::size_t o = 0;
    for (; o + 12 <= p.outputs; o += 12) p.template terms<12, isFull>(turned, o);
    for (; o + 4 <= p.outputs; o += 4) p.template terms<4, isFull>(turned, o);
    for (; o + 2 <= p.outputs; o += 2) p.template terms<2, isFull>(turned, o);
    if (o < p.outputs) p.template terms<1, isFull>(turned, o);
    if (p.inputs % 2 != 0) p.template addLastTerm<isFull>();
  }
  /// The one that has no other.
  template <bool isFull> void addLastTerm() const {
    const std::size_t i = inputs - 1;
    NarrowProduct rest = *this;
    rest.isAdded = true;
    for (std::size_t o = 0; o < outputs; ++o)
      rest.template finish<isFull>(o, w[o * outputStride + i] * loadRow<isFull>(x + i * xStride));
  }
  /// Every fourth row has a pointer of its own, so that addresses need few registers.
  template <std::size_t rows, bool isFull> BURTORCH_INLINE void terms(const T* turned, std::size_t o) const {
    constexpr std::size_t groups = (rows + 3) / 4;
    Wide sum[rows];
    unroll<rows>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA { sum[r] = Wide{}; });
    const T* weights[groups];
    const std::size_t stride = outputStride, count = inputs / 2;
    unroll<groups>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA { weights[k] = w + (o + 4 * k) * stride; });
    for (std::size_t i = 0; i < count; ++i) {
      const Wide in = loadAs<Wide>(turned + 2 * i * lanes);
      unroll<rows>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
        sum[r] = sum[r] + spread(weights[r / 4] + r % 4 * stride) * in;
      });
      unroll<groups>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA { weights[k] += 2; });
    }
    unroll<(rows + 1) / 2>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA {
      const Wide &a = sum[2 * k], &b = sum[rows == 1 ? 0 : 2 * k + 1], both = evens(a, b) + odds(a, b);
      finish<isFull>(o + 2 * k, firstOf<Lanes<T>>(both));
      if constexpr (rows > 1) finish<isFull>(o + 2 * k + 1, upper(both));
    });
  }

  /// Pairs of outputs.
  template <bool isFull> [[gnu::noinline]] void runOutputs() const {
    alignas(64) T twice[2 * lanes * mostInputs];
    for (std::size_t i = 0; i < inputs; ++i) {
      const Lanes<T> row = loadRow<isFull>(x + i * xStride);
      put(twice + 2 * i * lanes, inTurns(row, row));
    }
    const NarrowProduct p = *this;
    std::size_t o = 0;
    for (; o + 24 <= p.outputs; o += 24) p.template pairs<12, isFull>(twice, o);
    for (; o + 8 <= p.outputs; o += 8) p.template pairs<4, isFull>(twice, o);
    for (; o + 2 <= p.outputs; o += 2) p.template pairs<1, isFull>(twice, o);
    if (o == p.outputs) return;
    Lanes<T> sum = fill(T{0});
    for (std::size_t i = 0; i < p.inputs; ++i)
      sum = sum + p.w[o + i * p.inputStride] * p.template loadRow<isFull>(p.x + i * p.xStride);
    p.template finish<isFull>(o, sum);
  }
  template <std::size_t rows, bool isFull> BURTORCH_INLINE void pairs(const T* twice, std::size_t o) const {
    Wide sum[rows];
    unroll<rows>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA { sum[r] = Wide{}; });
    const T* weight = w + o;
    const std::size_t stride = inputStride, count = inputs;
    for (std::size_t i = 0; i < count; ++i, weight += stride) {
      const Wide in = loadAs<Wide>(twice + 2 * i * lanes);
      unroll<rows>([&]<std::size_t r>()
                       BURTORCH_INLINE_LAMBDA { sum[r] = sum[r] + spread(weight + 2 * r) * in; });
    }
    unroll<rows>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
      finish<isFull>(o + 2 * r, firstOf<Lanes<T>>(evens(sum[r], sum[r])));
      finish<isFull>(o + 2 * r + 1, firstOf<Lanes<T>>(odds(sum[r], sum[r])));
    });
  }

  /// A row of the result, once its sum is there.
  template <bool isFull> BURTORCH_INLINE void finish(std::size_t o, const Lanes<T>& sum) const {
    T* const to = y + o * yStride;
    const Lanes<T> start = isAdded ? loadRow<isFull>(to) : fill(bias != nullptr ? bias[o] : T{0});
    if constexpr (isFull)
      store<T>(to, start + sum);
    else
      storePart<T>(to, start + sum, columns);
  }
  template <bool isFull> BURTORCH_INLINE Lanes<T> loadRow(const T* from) const {
    return isFull ? load(from) : loadPart(from, columns);
  }

  // Registers.

  BURTORCH_INLINE static void put(T* to, const Wide& all) { std::memcpy(to, &all, sizeof all); }
  BURTORCH_INLINE static Wide inTurns(const Lanes<T>& a, const Lanes<T>& b) {
    if constexpr (lanes == 8)
      return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
    else
      return __builtin_shufflevector(a, b, 0, 4, 1, 5, 2, 6, 3, 7);
  }
  BURTORCH_INLINE static Wide evens(const Wide& a, const Wide& b) {
    if constexpr (lanes == 8)
      return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    else
      return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14);
  }
  BURTORCH_INLINE static Wide odds(const Wide& a, const Wide& b) {
    if constexpr (lanes == 8)
      return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    else
      return __builtin_shufflevector(a, b, 1, 3, 5, 7, 9, 11, 13, 15);
  }
  BURTORCH_INLINE static Lanes<T> upper(const Wide& both) {
    if constexpr (lanes == 8)
      return __builtin_shufflevector(both, both, 8, 9, 10, 11, 12, 13, 14, 15);
    else
      return __builtin_shufflevector(both, both, 4, 5, 6, 7);
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
