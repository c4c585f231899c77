// exp, log, expm1, log1p, tanh and erf of SIMD vectors, all lanes at once: no branches, no tables, no calls.
//
// For any vector of floats or doubles of the compilers' vector extensions that is no wider than the machine's; pack.hpp
// calls them for packs of any width. No error exceeds 2 ulp, see tests/simd/pack_math_test.cpp, over the whole range: overflow,
// denormal arguments and results, zeros of either sign, infinities, NaN. A lane does not see its neighbours, so a number
// has the same bits in every lane; they may differ from those of the C library. Rounding to nearest is assumed, as everywhere.
//
// The way is the usual one: exp(x) = 2^k exp(r) and log(2^k m) = k ln 2 + log(m), where a polynomial does for r and m.
// Coefficients are minimax fits (Remez) of the relative error. Nothing depends on fused multiply-add; where the machine has
// it, compilers use it (BURTORCH_FUSE_BEGIN), and last bits differ. No sum has two products as its terms: which of them is
// fused would be the compiler's choice, and might not be the same in every place that this is inlined into.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "vectors.hpp"

BURTORCH_FUSE_BEGIN
namespace burtorch::inline BURTORCH_TARGET::vectors {

/// How a number type is laid out, and where exp and erf reach their limits.
template <std::floating_point T> struct Layout;
template <> struct Layout<float> {
  static constexpr std::uint32_t mantissaBits = 23, bias = 127;
  static constexpr std::uint32_t rootOfHalf = 0x3f3504f3;  // the bits of sqrt(1/2)
  // 16 bits of ln 2, so that their product with k is exact, and the rest.
  static constexpr float ln2High = 0x1.62e4p-1f, ln2Low = 0x1.7f7d1cp-20f, log2e = 0x1.715476p+0f;
  static constexpr float expIsZero = -104, expIsInfinite = 89, erfIsOne = 4;
};
template <> struct Layout<double> {
  static constexpr std::uint64_t mantissaBits = 52, bias = 1023;
  static constexpr std::uint64_t rootOfHalf = 0x3fe6a09e667f3bcd;
  static constexpr double ln2High = 0x1.62e42fefa2p-1, ln2Low = 0x1.9ef35793c7673p-41,
                          log2e = 0x1.71547652b82fep+0;
  static constexpr double expIsZero = -746, expIsInfinite = 710, erfIsOne = 6;
};

/// x = k ln 2 + rest with a whole k and |rest| <= ln 2 / 2, for exp and expm1.
template <class V> struct Reduced {
  V rest;
  Words<V> twiceBiased;  // in its lowest bits k + 2 bias; above them rubbish that shifts push out
};
template <class V> BURTORCH_INLINE Reduced<V> reduce(V x) {
  using T = NumberOf<V>;
  using L = Layout<T>;
  // At 1.5 * 2^mantissaBits the ulp is 1, so this addition rounds to whole numbers, and puts them into the low bits.
  constexpr T shift = T(1.5) * static_cast<T>(std::uint64_t{1} << L::mantissaBits) + 2 * L::bias;
  const V shifted = x * L::log2e + shift;
  const V k = shifted - shift;
  return {(x - k * L::ln2High) - k * L::ln2Low, bitsOf(shifted)};
}

/// exp(r) - 1 - r for |r| <= ln 2 / 2, with an error that is small against r: r^2 h(r).
template <class V> BURTORCH_INLINE V expTail(V r) {
  const V square = r * r;
  if constexpr (std::is_same_v<NumberOf<V>, float>)
    return square * polynomial(r, square, 0x1.fffffep-2f, 0x1.5554aep-3f, 0x1.555676p-5f, 0x1.122886p-7f,
                               0x1.6bebdcp-10f);
  else
    return square * polynomial(r, square, 0x1.0000000000005p-1, 0x1.5555555555539p-3, 0x1.55555555521f2p-5,
                               0x1.1111111119191p-7, 0x1.6c16c17f1281dp-10, 0x1.a01a017499ec7p-13,
                               0x1.a019a6bfc0f8cp-16, 0x1.71de8897554e4p-19, 0x1.28a2979919efap-22,
                               0x1.ae6bb9e449f72p-26);
}
/// c + (exp(r) - 1), where c is 0 or larger than r: what c + r loses is added to what is small.
template <class V> BURTORCH_INLINE V plusExpMinusOne(V c, V r) {
  const V sum = c + r;
  return (expTail(r) + (r - (sum - c))) + sum;
}

template <class V> BURTORCH_INLINE V exp(V x) {
  using L = Layout<NumberOf<V>>;
  // NaN stays.
  x = larger(fill<V>(L::expIsZero), smaller(fill<V>(L::expIsInfinite), x));
  const auto [rest, k] = reduce(x);
  // 2^k in two factors: each is a normal number even where k is 128 or -150, the product overflows or underflows by
  // itself, and a denormal result is rounded once.
  const Words<V> half = k >> 1;
  const V first = numbersOf<V>(half << L::mantissaBits), second = numbersOf<V>((k - half) << L::mantissaBits);
  return plusExpMinusOne(fill<V>(1), rest) * first * second;
}

/// Near 0 it is x + x^3 N(x^2), farther out 1 - 2 / (exp(2 |x|) + 1), whose error is small against 1.
template <class V> BURTORCH_INLINE V tanh(V x) {
  using T = NumberOf<V>;
  const Words<V> sign = bitsOf(x) & bitsOf(fill<V>(-T{}));
  const V size = numbersOf<V>(bitsOf(x) ^ sign);
  const V square = size * size, fourth = square * square;
  V near;
  if constexpr (std::is_same_v<T, float>)
    near = polynomial(square, fourth, -0x1.555554p-2f, 0x1.111066p-3f, -0x1.b9ee9p-5f, 0x1.638b54p-6f,
                      -0x1.0bf4e8p-7f, 0x1.18e192p-9f);
  else
    near = polynomial(square, fourth, -0x1.55555555554ffp-2, 0x1.111111110acccp-3, -0x1.ba1ba1b5063e9p-5,
                      0x1.664f477ad8c1fp-6, -0x1.226e162bc8054p-7, 0x1.d6cf2809677fcp-9,
                      -0x1.7d68a2fdeadcdp-10, 0x1.336611bbaec84p-11, -0x1.df55711f905cap-13,
                      0x1.43910f6f574p-14, -0x1.0da70762ad623p-16);
  const V far = T{1} - T{2} / (exp(size + size) + T{1});
  return numbersOf<V>(bitsOf(size < T(0.625) ? square * near * size + size : far) | sign);
}

/// x / (1 + e) for 0 <= e <= 1. What the sum loses is at most half an ulp of it, so of 1 / (1 + e), by which that matters,
/// a straight line through [1, 2] is near enough.
template <class V> BURTORCH_INLINE V overOnePlus(V x, V e) {
  using T = NumberOf<V>;
  const V sum = e + T{1}, lost = e - (sum - T{1}), quotient = x / sum;
  return quotient - quotient * (lost * (T(1.457) - sum * T{0.5}));
}

/// 2^k ((1 - 2^-k) + (exp(r) - 1)), with 2^k in two factors as in exp.
template <class V> BURTORCH_INLINE V expm1(V x) {
  using T = NumberOf<V>;
  using L = Layout<T>;
  // Far below 0 nothing is left of exp(x), far above nothing of the 1.
  const V limited = larger(fill<V>(-64), smaller(fill<V>(L::expIsInfinite), x));  // NaN stays
  const auto [rest, k] = reduce(limited);
  const Words<V> half = k >> 1;
  const V first = numbersOf<V>(half << L::mantissaBits), second = numbersOf<V>((k - half) << L::mantissaBits);
  const V inverse = limited > T{64} ? V{} : numbersOf<V>((3 * L::bias - k) << L::mantissaBits);
  const V result = plusExpMinusOne(T{1} - inverse, rest) * first * second;
  return x == T{0} ? x : result;  // of either sign
}

/// erf(x), made of bell = exp(-x^2), which a caller may need for itself. For 0 <= x < 1 it is x + x N(x^2), from 1 on
/// 1 - exp(-x^2) F(x). N and F are fits of erf(x) / x - 1 and of exp(x^2) erfc(x), the latter up to where erf rounds to 1,
/// by Remez in 60 digits with weights that make the error the relative one of erf.
template <class V> BURTORCH_INLINE V erfBeside(V x, V bell) {
  using T = NumberOf<V>;
  using L = Layout<T>;
  const Words<V> minus = bitsOf(fill<V>(-T{}));
  const V size = numbersOf<V>(bitsOf(x) & ~minus), square = size * size, fourth = square * square;
  const V limited = smaller(size, fill<V>(L::erfIsOne));
  V near, far;
  if constexpr (std::is_same_v<T, float>) {
    near = polynomial(square, fourth, 0x1.06eba8p-3f, -0x1.81273ep-2f, 0x1.ce2cf8p-4f, -0x1.b7f90ep-6f,
                      0x1.5405b2p-8f, -0x1.a3f702p-11f, 0x1.496a38p-14f);
    const V s = limited - 1.5f;
    far = polynomial(s, s * s, 0x1.494daep-2f, -0x1.4f1996p-3f, 0x1.37ebfap-4f, -0x1.0dbb64p-5f,
                     0x1.b5be9ap-7f, -0x1.5337bcp-8f, 0x1.01073ap-9f, -0x1.4bfc26p-11f, 0x1.c5a3d2p-14f);
  } else {
    near = polynomial(square, fourth, 0x1.06eba8214db68p-3, -0x1.812746b0379bdp-2, 0x1.ce2f21a040d16p-4,
                      -0x1.b82ce311fa94ap-6, 0x1.565bccf92b44fp-8, -0x1.c02db03dd9f46p-11,
                      0x1.f9a2baa93d4b2p-14, -0x1.f4ca4d72c02f7p-17, 0x1.b97fd3fa427f2p-20,
                      -0x1.5c0727adf2117p-23, 0x1.d71b13f618877p-27, -0x1.abae56d3ac75ap-31);
    // In this variable 12 coefficients do what 22 do in |x|.
    const V s = (limited - 3.0) / (limited + 3.0);
    far = polynomial(s, s * s, 0x1.6e9827d2297c3p-3, -0x1.4e102b9d0559cp-2, 0x1.f6ff203f5c2a8p-3,
                     -0x1.336ffbe888d04p-3, 0x1.258b17534cf51p-4, -0x1.8fa4d0b670fc9p-6, 0x1.17dd225305432p-8,
                     0x1.75f5bbcb2b73dp-11, -0x1.308d116466354p-11, 0x1.419558a4296e1p-14,
                     0x1.b0b2bf3e7d0eap-14, 0x1.003ed28a1b8ap-16);
  }
  const V result = size < T{1} ? near * size + size : T{1} - bell * far;
  return numbersOf<V>((bitsOf(result) & ~minus) | (bitsOf(x) & minus));  // NaN has either sign in `bell`
}
template <class V> BURTORCH_INLINE V erf(V x) { return erfBeside(x, exp(-(x * x))); }

/// log(1 + f) for sqrt(1/2) <= 1 + f <= sqrt(2).
template <class V> BURTORCH_INLINE V logOfOnePlus(V f) {
  if constexpr (std::is_same_v<NumberOf<V>, float>) {
    const V square = f * f;
    return square * polynomial(f, square, -0x1.fffff8p-2f, 0x1.55555p-2f, -0x1.000426p-2f, 0x1.99a3f4p-3f,
                               -0x1.54276ep-3f, 0x1.22719ap-3f, -0x1.0f3764p-3f, 0x1.084868p-3f,
                               -0x1.383028p-4f) +
           f;
  } else {
    // 2 atanh(s) = 2 s + s R(s^2) with s = f / (2 + f): a series half as long, for one division. As 2 s = f - s f, the
    // rounding of s only touches a term that is small against f.
    const V s = f / (f + 2.0), z = s * s;
    const V series =
        polynomial(z, z * z, 0x1.5555555555592p-1, 0x1.999999997fea9p-2, 0x1.24924941e4978p-2,
                   0x1.c71c5212f7eb5p-3, 0x1.74663d0d3ea75p-3, 0x1.39a1e7d8686cbp-3, 0x1.2f03b6f8a5b63p-3);
    return f - s * (f - z * series);
  }
}

/// x = 2^k (1 + f) with 1 + f around 1: of a positive number.
template <class V> struct Scaled { V k, f; };
template <class V> BURTORCH_INLINE Scaled<V> scaled(V x) {
  using T = NumberOf<V>;
  using L = Layout<T>;
  constexpr auto one = decltype(L::bias){1};
  constexpr T scale = static_cast<T>(one << L::mantissaBits);
  const auto isDenormal = x < std::numeric_limits<T>::min();
  // The exponent counted from sqrt(1/2), so that m lies around 1: it is k + bias. Or-ing it into the bits of `scale`, whose
  // ulp is 1, makes it a floating-point number.
  const Words<V> bits = bitsOf(isDenormal ? x * scale : x) + ((L::bias << L::mantissaBits) - L::rootOfHalf);
  const V biased = numbersOf<V>((bits >> L::mantissaBits) | bitsOf(fill<V>(scale)));
  const V k = biased - (isDenormal ? fill<V>(scale + L::bias + L::mantissaBits) : fill<V>(scale + L::bias));
  return {k, numbersOf<V>((bits & ((one << L::mantissaBits) - 1)) + L::rootOfHalf) - T{1}};
}

template <class V> BURTORCH_INLINE V log(V x) {
  using T = NumberOf<V>;
  using L = Layout<T>;
  using Limits = std::numeric_limits<T>;
  const auto [k, f] = scaled(x);
  const V y = k * L::ln2High + (k * L::ln2Low + logOfOnePlus(f));
  const V atMostZero = x < T{0} ? fill<V>(Limits::quiet_NaN()) : fill<V>(-Limits::infinity());
  const V positive = x < Limits::infinity() ? y : x;  // infinity and NaN are their own logarithms
  return x <= T{0} ? atMostZero : positive;
}

/// log(u) + rest / u, where u is 1 + x rounded and u + rest is 1 + x exactly.
template <class V> BURTORCH_INLINE V log1p(V x) {
  using T = NumberOf<V>;
  using L = Layout<T>;
  using Limits = std::numeric_limits<T>;
  const V u = x + T{1}, back = u - T{1};
  const V rest = (x - back) + (T{1} - (u - back));
  const auto [k, f] = scaled(u);
  const V y = k * L::ln2High + (k * L::ln2Low + (logOfOnePlus(f) + rest / u));
  const V atMostMinusOne = x < T{-1} ? fill<V>(Limits::quiet_NaN()) : fill<V>(-Limits::infinity());
  const V above = x < Limits::infinity() ? y : x;
  const V inside = x == T{0} ? x : above;
  return x <= T{-1} ? atMostMinusOne : inside;
}

}  // namespace burtorch::inline BURTORCH_TARGET::vectors
BURTORCH_FUSE_END
