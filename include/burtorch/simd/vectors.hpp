// What the functions of packs are made of: vectors of the compilers' extensions as bits and as numbers, comparisons in one
// instruction, square roots, polynomials.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "../base/config.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

BURTORCH_FUSE_BEGIN
namespace burtorch::inline BURTORCH_TARGET::vectors {

template <class V> using NumberOf = std::remove_cvref_t<decltype(std::declval<V&>()[0])>;

/// The bits of a vector, as unsigned words: 64-bit words have no signed shift to the right before AVX-512.
template <class V> struct BitsOf {
  using Word = std::conditional_t<sizeof(NumberOf<V>) == 4, std::uint32_t, std::uint64_t>;
  typedef Word Type __attribute__((vector_size(sizeof(V))));
};
template <class V> using Words = typename BitsOf<V>::Type;

template <class V> BURTORCH_INLINE Words<V> bitsOf(V x) { return reinterpret_cast<Words<V>>(x); }
template <class V> BURTORCH_INLINE V numbersOf(Words<V> bits) { return reinterpret_cast<V>(bits); }
/// The same number in every lane. Not V{} + number: that loses the sign of -0.
template <class V> BURTORCH_INLINE V fill(NumberOf<V> number) { return number - V{}; }

/// a < b ? a : b and a > b ? a : b, so b where either is NaN: one instruction on x86, of which g++ 12 makes a comparison and a
/// selection for registers of AVX-512. Masked: it warns of its own _mm512_min_ps.
template <class V> BURTORCH_INLINE V smaller(V a, V b) {
  using T [[maybe_unused]] = NumberOf<V>;
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && sizeof(T) == 4) return _mm512_mask_min_ps(a, 0xffff, a, b);
  if constexpr (sizeof(V) == 64 && sizeof(T) == 8) return _mm512_mask_min_pd(a, 0xff, a, b);
#endif
#if defined(__AVX__)
  if constexpr (sizeof(V) == 32 && sizeof(T) == 4) return _mm256_min_ps(a, b);
  if constexpr (sizeof(V) == 32 && sizeof(T) == 8) return _mm256_min_pd(a, b);
#endif
  return a < b ? a : b;
}
template <class V> BURTORCH_INLINE V larger(V a, V b) {
  using T [[maybe_unused]] = NumberOf<V>;
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && sizeof(T) == 4) return _mm512_mask_max_ps(a, 0xffff, a, b);
  if constexpr (sizeof(V) == 64 && sizeof(T) == 8) return _mm512_mask_max_pd(a, 0xff, a, b);
#endif
#if defined(__AVX__)
  if constexpr (sizeof(V) == 32 && sizeof(T) == 4) return _mm256_max_ps(a, b);
  if constexpr (sizeof(V) == 32 && sizeof(T) == 8) return _mm256_max_pd(a, b);
#endif
  return a > b ? a : b;
}

/// Whether any bit is set, of vectors of any width.
template <class V> BURTORCH_INLINE bool anyBit(const V& bits) {
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64) return _mm512_test_epi64_mask(__m512i(bits), __m512i(bits)) != 0;
#endif
#if defined(__AVX__)
  if constexpr (sizeof(V) == 32) return _mm256_testz_si256(__m256i(bits), __m256i(bits)) == 0;
#endif
  std::uint64_t words[(sizeof(V) + 7) / 8] = {}, some = 0;
  std::memcpy(words, &bits, sizeof bits);
  for (const std::uint64_t word : words) some |= word;
  return some != 0;
}

/// c0 + c2 x^2 + c4 x^4 + ...
template <class V> BURTORCH_INLINE V everyOther(V, NumberOf<V> c) { return fill<V>(c); }
template <class V> BURTORCH_INLINE V everyOther(V, NumberOf<V> c, NumberOf<V>) { return fill<V>(c); }
template <class V, class... C>
BURTORCH_INLINE V everyOther(V square, NumberOf<V> c, NumberOf<V>, C... higher) {
  return everyOther(square, higher...) * square + c;
}
/// c0 + c1 x + c2 x^2 + ... in as many steps as Horner's rule takes, but in two chains that do not wait for each other.
template <class V, class... C> BURTORCH_INLINE V polynomial(V x, V square, NumberOf<V> c, C... higher) {
  return everyOther(square, higher...) * x + everyOther(square, c, higher...);
}

/// Without its sign, whatever it is.
template <class V> BURTORCH_INLINE V abs(V x) {
  return numbersOf<V>(bitsOf(x) & ~bitsOf(fill<V>(-NumberOf<V>{})));
}

/// Exactly rounded, as IEEE 754 has it. std::sqrt, lane by lane, is a branch and perhaps a call in every lane, because it
/// sets errno.
template <class V> BURTORCH_INLINE V sqrt(V x) {
  using T = NumberOf<V>;
#if __has_builtin(__builtin_elementwise_sqrt)
  return __builtin_elementwise_sqrt(x);
#else
#if defined(__AVX512F__)
  if constexpr (sizeof(V) == 64 && sizeof(T) == 4) return _mm512_mask_sqrt_ps(x, 0xffff, x);  // as `smaller`
  if constexpr (sizeof(V) == 64 && sizeof(T) == 8) return _mm512_mask_sqrt_pd(x, 0xff, x);
#endif
#if defined(__AVX__)
  if constexpr (sizeof(V) == 32 && sizeof(T) == 4) return _mm256_sqrt_ps(x);
  if constexpr (sizeof(V) == 32 && sizeof(T) == 8) return _mm256_sqrt_pd(x);
#endif
#if defined(__SSE2__)
  if constexpr (sizeof(V) == 16 && sizeof(T) == 4) return _mm_sqrt_ps(x);
  if constexpr (sizeof(V) == 16 && sizeof(T) == 8) return _mm_sqrt_pd(x);
#endif
  for (std::size_t i = 0; i < sizeof(V) / sizeof(T); ++i) x[i] = std::sqrt(x[i]);
  return x;
#endif
}

}  // namespace burtorch::inline BURTORCH_TARGET::vectors
BURTORCH_FUSE_END
