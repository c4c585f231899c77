// Eight floats at a time, with AVX2 and FMA: what the gradients of gpt.hpp and mlp.hpp are made of. Lanes are explicit, so
// nothing depends on what a compiler chooses to vectorise, and no -ffast-math is needed. Sums and products are the
// compiler's own operators for __m256; a multiply-add is always written out.
//
// Include it only where __AVX2__ and __FMA__ are defined: other targets have no such limit to compare with.
#pragma once

#include <immintrin.h>

namespace limits {

using V8 = __m256;

[[gnu::always_inline]] inline V8 load(const float* p) { return _mm256_loadu_ps(p); }
[[gnu::always_inline]] inline void store(float* p, V8 a) { _mm256_storeu_ps(p, a); }
/// All lanes are the float at `p`.
[[gnu::always_inline]] inline V8 broadcast(const float* p) { return _mm256_broadcast_ss(p); }
[[gnu::always_inline]] inline V8 splat(float a) { return _mm256_set1_ps(a); }
[[gnu::always_inline]] inline V8 zero() { return _mm256_setzero_ps(); }
/// a b + c, c - a b, a b - c.
[[gnu::always_inline]] inline V8 fma(V8 a, V8 b, V8 c) { return _mm256_fmadd_ps(a, b, c); }
[[gnu::always_inline]] inline V8 fnma(V8 a, V8 b, V8 c) { return _mm256_fnmadd_ps(a, b, c); }
[[gnu::always_inline]] inline V8 fms(V8 a, V8 b, V8 c) { return _mm256_fmsub_ps(a, b, c); }
[[gnu::always_inline]] inline V8 larger(V8 a, V8 b) { return _mm256_max_ps(a, b); }

/// x = n ln 2 + r: what exp and tanh start from.
struct Reduced {
  V8 shifted, r;  // the low bits of `shifted` are n

  // Adding 1.5 * 2^23 rounds to a whole number, which is then in the low bits. ln 2 is subtracted in two parts, of which
  // the first has few bits: n times it is exact.
  [[gnu::always_inline]] static Reduced of(V8 x, V8 xOverLn2, V8 scale) {
    const V8 magic = splat(12582912.f);
    const V8 shifted = fma(xOverLn2, scale, magic), n = shifted - magic;
    return {shifted, fnma(n, splat(-2.12194440e-4f), fnma(n, splat(0.693359375f), x))};
  }
  /// 2^n times a positive number: n goes to where its exponent is.
  [[gnu::always_inline]] V8 scaled(V8 positive) const {
    return _mm256_castsi256_ps(
        _mm256_add_epi32(_mm256_castps_si256(positive), _mm256_slli_epi32(_mm256_castps_si256(shifted), 23)));
  }
  /// (e^r - 1 - r) / r^2, the polynomial of degree 5 of Cephes' expf.
  [[gnu::always_inline]] V8 polynomial() const {
    V8 p = splat(1.9875691500e-4f);
    p = fma(p, r, splat(1.3981999507e-3f));
    p = fma(p, r, splat(8.3334519073e-3f));
    p = fma(p, r, splat(4.1665795894e-2f));
    p = fma(p, r, splat(1.6666665459e-1f));
    return fma(p, r, splat(5.0000001201e-1f));
  }
};

/// e^x for x up to 88, to about one unit in the last place.
[[gnu::always_inline]] inline V8 exponential(V8 x) {
  x = larger(x, splat(-87.0f));
  const Reduced reduced = Reduced::of(x, x, splat(1.44269504088896341f));
  return reduced.scaled(fma(reduced.polynomial(), reduced.r * reduced.r, reduced.r + splat(1.f)));
}

/// tanh |x| = m / (m + 2) with m = e^(2|x|) - 1 = 2^n q + (2^n - 1): one path, accurate near zero too.
[[gnu::always_inline]] inline V8 hyperbolicTangent(V8 x) {
  const V8 sign = splat(-0.f);
  const V8 a = _mm256_min_ps(_mm256_andnot_ps(sign, x), splat(10.f));
  const Reduced reduced = Reduced::of(a + a, a, splat(2.88539008177792681f));
  const V8 q = fma(reduced.polynomial(), reduced.r * reduced.r, reduced.r);
  const V8 power = reduced.scaled(splat(1.f));
  const V8 m = fma(power, q, power - splat(1.f));
  return _mm256_or_ps(m / (m + splat(2.f)), _mm256_and_ps(sign, x));
}

// Two steps that transposing and summing share: neighbours, and neighbours of neighbours.
[[gnu::always_inline]] inline V8 lowPairs(V8 a, V8 b) { return _mm256_shuffle_ps(a, b, 0x44); }
[[gnu::always_inline]] inline V8 highPairs(V8 a, V8 b) { return _mm256_shuffle_ps(a, b, 0xEE); }
[[gnu::always_inline]] inline V8 sumOfSingles(V8 a, V8 b) {
  return _mm256_unpacklo_ps(a, b) + _mm256_unpackhi_ps(a, b);
}
[[gnu::always_inline]] inline V8 sumOfPairs(V8 a, V8 b) { return lowPairs(a, b) + highPairs(a, b); }

/// Transposes eight rows of eight.
[[gnu::always_inline]] inline void transpose(V8* r) {
  V8 singles[8], pairs[8];
  for (int i = 0; i < 8; i += 2) {
    singles[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    singles[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    pairs[i] = lowPairs(singles[i], singles[i + 2]);
    pairs[i + 1] = highPairs(singles[i], singles[i + 2]);
    pairs[i + 2] = lowPairs(singles[i + 1], singles[i + 3]);
    pairs[i + 3] = highPairs(singles[i + 1], singles[i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm256_permute2f128_ps(pairs[i], pairs[i + 4], 0x20);
    r[i + 4] = _mm256_permute2f128_ps(pairs[i], pairs[i + 4], 0x31);
  }
}

/// Lane i is the sum of the lanes of r[i].
[[gnu::always_inline]] inline V8 laneSums(const V8* r) {
  const V8 low = sumOfPairs(sumOfSingles(r[0], r[1]), sumOfSingles(r[2], r[3]));
  const V8 high = sumOfPairs(sumOfSingles(r[4], r[5]), sumOfSingles(r[6], r[7]));
  return _mm256_permute2f128_ps(low, high, 0x20) + _mm256_permute2f128_ps(low, high, 0x31);
}
[[gnu::always_inline]] inline __m128 laneSums(V8 a, V8 b, V8 c, V8 d) {
  const V8 q = sumOfPairs(sumOfSingles(a, b), sumOfSingles(c, d));
  return _mm256_castps256_ps128(q) + _mm256_extractf128_ps(q, 1);
}
[[gnu::always_inline]] inline float laneSum(V8 a) {
  __m128 q = _mm256_castps256_ps128(a) + _mm256_extractf128_ps(a, 1);
  q = q + _mm_movehl_ps(q, q);
  return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
}

}  // namespace limits
