// sin, cos and atan of SIMD vectors, all lanes at once, as pack_math.hpp has the other functions.
//
// x = k pi/2 + r with |r| <= pi/4 and a whole k, whose lowest two bits say which of sin r, cos r, -sin r and -cos r it is. For
// that pi/2 is cut into pieces that k multiplies exactly. Lanes above 2^20 in size, of floats 2^17, go to the C library one by one: so large
// angles are rare, and take many more digits of pi. Of floats doubles take the multiples away.
#pragma once

#include <cmath>

#include "vectors.hpp"

BURTORCH_FUSE_BEGIN
namespace burtorch::inline BURTORCH_TARGET::vectors {

/// An angle of at most pi/4, as the sum of two numbers, and which quarter of the circle it is in, in the lowest bits.
template <class V> struct Angle {
  V high, low;
  Words<V> quarter;
};

template <class T> inline constexpr T largestAngle = sizeof(T) == 4 ? T(0x1p17) : T(0x1p20);

/// The difference rounded, and what rounding took, exactly.
template <class V> struct Difference {
  V rounded, rest;
  BURTORCH_INLINE Difference(V x, V y) : rounded(x - y) {
    const V back = rounded - x;
    rest = (x - (rounded - back)) - (y + back);
  }
};

// 33 bits of pi/2 each, so that products with 20 bits are exact, and the rest.
inline constexpr double halfPi[] = {0x1.921fb544p+0, 0x1.0b4611a6p-34, 0x1.3198a2ep-69,
                                    0x1.b839a252049c1p-104};

/// x in quarters, rounded to a whole number, which is also in the lowest bits of `shifted`. Of doubles.
template <class V> struct Quarters {
  V shifted, k;
  BURTORCH_INLINE explicit Quarters(V x)
      : shifted(x * 0x1.45f306dc9c883p-1 + 0x1.8p52), k(shifted - 0x1.8p52) {}
};

template <class V> BURTORCH_INLINE Angle<V> angleOfDoubles(V x) {
  const Quarters<V> quarters(x);
  const V k = quarters.k, rest = x - k * halfPi[0];  // exact
  const Difference<V> once(rest, k * halfPi[1]), twice(once.rounded, k * halfPi[2]);
  const V low = (once.rest + twice.rest) - k * halfPi[3];
  const V high = twice.rounded + low;
  return {high, low - (high - twice.rounded), bitsOf(quarters.shifted)};
}

/// Dependent types with attributes live in classes: in functions g++ 12 drops the attribute.
template <std::size_t count> struct FloatsOf {
  typedef float Floats __attribute__((vector_size(count * sizeof(float))));
  typedef double Doubles __attribute__((vector_size(count * sizeof(double))));
};
#if defined(__AVX512F__)
inline constexpr std::size_t doublesInRegister = 8;
#elif defined(__AVX__)
inline constexpr std::size_t doublesInRegister = 4;
#else
inline constexpr std::size_t doublesInRegister = 2;
#endif

/// x - k pi/2 by way of doubles: near a multiple of pi/2 it has all its digits then.
template <class V> BURTORCH_INLINE V restOfFloats(V x, V k) {
  using Doubles = typename FloatsOf<sizeof(V) / sizeof(float)>::Doubles;
  const auto doubles = __builtin_convertvector(x, Doubles), ks = __builtin_convertvector(k, Doubles);
  return __builtin_convertvector((doubles - ks * halfPi[0]) - ks * (halfPi[1] + halfPi[2]), V);
}
/// A vector whose doubles take two registers, in halves. By shuffles: through memory they would come back late.
template <class V, std::size_t... i> BURTORCH_INLINE V restOfHalves(V x, V k, std::index_sequence<i...>) {
  constexpr int n = sizeof...(i);
  using Half = typename FloatsOf<n>::Floats;
  const Half low = restOfFloats<Half>(__builtin_shufflevector(x, x, static_cast<int>(i)...),
                                      __builtin_shufflevector(k, k, static_cast<int>(i)...)),
             high = restOfFloats<Half>(__builtin_shufflevector(x, x, static_cast<int>(i) + n...),
                                       __builtin_shufflevector(k, k, static_cast<int>(i) + n...));
  return __builtin_shufflevector(low, high, static_cast<int>(i)..., static_cast<int>(i) + n...);
}
/// k is rounded as a float, which puts angles at most 2 % beyond pi/4.
template <class V> BURTORCH_INLINE Angle<V> angleOfFloats(V x) {
  constexpr std::size_t n = sizeof(V) / sizeof(float);
  const V shifted = x * 0x1.45f306p-1f + 0x1.8p23f, k = shifted - 0x1.8p23f;
  if constexpr (n > doublesInRegister)
    return {restOfHalves(x, k, std::make_index_sequence<n / 2>{}), V{}, bitsOf(shifted)};
  else
    return {restOfFloats(x, k), V{}, bitsOf(shifted)};
}

/// The sine of an angle `quarters` quarters farther on: of 0 the sine, of 1 the cosine.
template <class V> BURTORCH_INLINE V sineOf(const Angle<V>& angle, Words<V> quarters) {
  const auto [r, low, quarter] = angle;
  const V square = r * r, fourth = square * square;
  V sine, cosine;
  if constexpr (std::is_same_v<NumberOf<V>, float>) {
    const V series = polynomial(square, fourth, -0x1.555544p-3f, 0x1.11066ap-7f, -0x1.98fd4ap-13f);
    const V tail = polynomial(square, fourth, 0x1.555548p-5f, -0x1.6c0b52p-10f, 0x1.99ab18p-16f);
    sine = square * series * r + r;
    cosine = fourth * tail + (1.0f - square * 0.5f);
  } else {
    const V series =
        polynomial(square, fourth, -0x1.5555555555548p-3, 0x1.111111110f7cap-7, -0x1.a01a019bfd1c2p-13,
                   0x1.71de3567148fep-19, -0x1.ae5e59f6b07c7p-26, 0x1.5d8fa3546f823p-33);
    const V tail =
        polynomial(square, fourth, 0x1.555555555554bp-5, -0x1.6c16c16c14f8ap-10, 0x1.a01a019c838f3p-16,
                   -0x1.27e4f7ea36c9ep-22, 0x1.1ee9d7524054ap-29, -0x1.8fa465d9d247cp-37);
    const V halfSquare = square * 0.5, upper = 1.0 - halfSquare;
    sine = (square * series * r + (low - low * halfSquare)) + r;
    cosine = (fourth * tail + (((1.0 - upper) - halfSquare) - r * low)) + upper;
  }
  const Words<V> at = quarter + quarters;
  const V chosen = (at & 1) != 0 ? cosine : sine;
  constexpr int toSign = sizeof(NumberOf<V>) * 8 - 2;
  return numbersOf<V>(bitsOf(chosen) ^ ((at & 2) << toSign));
}

/// `result`, with what the C library says of lanes that are too large. Out of the way: what is read lane by lane lives in memory.
template <int quarters, class V> [[gnu::cold, gnu::noinline]] V withLargeAngles(V x, V result) {
  using T = NumberOf<V>;
  for (std::size_t i = 0; i < sizeof(V) / sizeof(T); ++i)
    if (std::abs(x[i]) > largestAngle<T>) result[i] = quarters == 0 ? std::sin(x[i]) : std::cos(x[i]);
  return result;
}

/// sin(x) or, one quarter farther on, cos(x).
template <int quarters, class V> BURTORCH_INLINE V sine(V x) {
  using T = NumberOf<V>;
  V result;
  if constexpr (std::is_same_v<T, float>)
    result = sineOf(angleOfFloats(x), Words<V>{} + quarters);
  else
    result = sineOf(angleOfDoubles(x), Words<V>{} + quarters);
  if constexpr (quarters == 0) result = x == T{0} ? x : result;  // of either sign
  if (anyBit(abs(x) > largestAngle<T>)) [[unlikely]]
    return withLargeAngles<quarters>(x, result);
  return result;
}
template <class V> BURTORCH_INLINE V sin(V x) { return sine<0>(x); }
template <class V> BURTORCH_INLINE V cos(V x) { return sine<1>(x); }

/// atan(t) = pi/4 + atan((t - 1) / (t + 1)) = pi/2 - atan(1 / t), whichever argument is below 1/2; z + z^3 N(z^2) of that. At
/// 1/2 and above t - 1 is exact.
template <class V> BURTORCH_INLINE V atan(V x) {
  using T = NumberOf<V>;
  constexpr bool isFloat = std::is_same_v<T, float>;
  constexpr T low = isFloat ? T(-0x1.777a5cp-25) : T(0x1.1a62633145c07p-54),
              halfOfPi = T(0x1.921fb54442d18p+0);
  const V size = abs(x);
  const auto isLarge = size > T(2.414213562373095), isSmall = size < T{0.5};
  const V ones = fill<V>(T{1});
  const V above = isLarge ? -ones : size - ones, under = isLarge ? size : size + ones;
  const V z = isSmall ? size : above / under;
  const V far = isLarge ? fill<V>(halfOfPi) : fill<V>(halfOfPi / 2),
          farLow = isLarge ? fill<V>(low) : fill<V>(low / 2);
  const V square = z * z, fourth = square * square;
  V series;
  if constexpr (isFloat)
    series = polynomial(square, fourth, -0x1.555552p-2f, 0x1.9996ecp-3f, -0x1.244ab4p-3f, 0x1.c022dp-4f,
                        -0x1.47001ap-4f, 0x1.3d241ep-5f);
  else
    series =
        polynomial(square, fourth, -0x1.5555555555552p-2, 0x1.9999999999016p-3, -0x1.249249244fc49p-3,
                   0x1.c71c71a9c5867p-4, -0x1.745d137234420p-4, 0x1.3b135ed615fd1p-4, -0x1.110c5ca3737a5p-4,
                   0x1.e1819e4c59bf3p-5, -0x1.ac6c393de0eebp-5, 0x1.77e4f4bfb92a3p-5, -0x1.2fe73edd24ce6p-5,
                   0x1.831610808ced8p-6, -0x1.118b82f1d0226p-7);
  const V curve = square * series * z;
  const V result = isSmall ? curve + z : far + ((curve + farLow) + z);
  return numbersOf<V>(bitsOf(result) | (bitsOf(x) & bitsOf(fill<V>(-T{}))));
}

}  // namespace burtorch::inline BURTORCH_TARGET::vectors
BURTORCH_FUSE_END
