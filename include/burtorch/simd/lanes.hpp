// Several columns at once: how the kernels of the layers load and store vectors of numbers. For float and double a vector
// is a register of the machine, of at most 32 bytes; any other scalar (a dual number) is a vector of one.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "pack.hpp"

#if defined(__AVX__)
#include <immintrin.h>
#endif

namespace burtorch::inline BURTORCH_TARGET::nn {

template <class T> struct LanesOf {
  static constexpr std::size_t count = 1;
  using Vector = T;
  using Pack = T;
};
template <class T>
requires(ScalarTraits<T>::isVectorizable) struct LanesOf<T> {
  static constexpr std::size_t count = packWidth<T> * sizeof(T) < 32 ? packWidth<T> : 32 / sizeof(T);
  using Pack = burtorch::Pack<T, count>;
  using Vector = typename Pack::Vector;
};
template <class T> inline constexpr std::size_t laneCount = LanesOf<T>::count;
template <class T> using Lanes = typename LanesOf<T>::Vector;
/// The type on which the rules of scalar operators run.
template <class T> using LanePack = typename LanesOf<T>::Pack;

template <class T> BURTORCH_INLINE Lanes<T> load(const T* from) {
  Lanes<T> lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
template <class T> BURTORCH_INLINE void store(T* to, const Lanes<T>& lanes) {
  std::memcpy(to, &lanes, sizeof lanes);
}
template <class T> BURTORCH_INLINE Lanes<T> fill(T number) {
  if constexpr (laneCount<T> == 1)
    return number;
  else
    return LanePack<T>(number).lanes;
}
/// A vector of ones, then one of zeros: read from its middle backwards it masks any number of lanes.
template <class Word>
inline constexpr auto onesAndZeros = [] {
  std::array<Word, 64 / sizeof(Word)> words{};
  for (std::size_t i = 0; i < words.size() / 2; ++i) words[i] = -1;
  return words;
}();
template <class Word> BURTORCH_INLINE const Word* partMask(std::size_t count) {
  return onesAndZeros<Word>.data() + (32 / sizeof(Word) - count);
}

template <class T> BURTORCH_INLINE LanePack<T> loadPack(const T* from) {
  if constexpr (laneCount<T> == 1)
    return *from;
  else
    return LanePack<T>(load(from));
}
template <class T> BURTORCH_INLINE Lanes<T> lanesOf(const LanePack<T>& pack) {
  if constexpr (laneCount<T> == 1)
    return pack;
  else
    return pack.lanes;
}
template <class T> BURTORCH_INLINE void storePack(T* to, const LanePack<T>& pack) {
  std::memcpy(to, &pack, sizeof pack);
}

/// The first `count` numbers of a vector, of which memory has no more; the other lanes are 0.
template <class T> BURTORCH_INLINE Lanes<T> loadPart(const T* from, std::size_t count) {
  Lanes<T> lanes = fill(T{0});
#if defined(__AVX__)
  if constexpr (std::is_same_v<T, float> && laneCount<T> == 8)
    return _mm256_maskload_ps(
        from, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(partMask<std::int32_t>(count))));
  if constexpr (std::is_same_v<T, double> && laneCount<T> == 4)
    return _mm256_maskload_pd(
        from, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(partMask<std::int64_t>(count))));
#endif
  if constexpr (laneCount<T> == 1)
    return *from;
  else
    for (std::size_t i = 0; i < count; ++i) lanes[i] = from[i];
  return lanes;
}
template <class T> BURTORCH_INLINE void storePart(T* to, const Lanes<T>& lanes, std::size_t count) {
#if defined(__AVX__)
  if constexpr (std::is_same_v<T, float> && laneCount<T> == 8)
    return _mm256_maskstore_ps(
        to, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(partMask<std::int32_t>(count))), lanes);
  if constexpr (std::is_same_v<T, double> && laneCount<T> == 4)
    return _mm256_maskstore_pd(
        to, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(partMask<std::int64_t>(count))), lanes);
#endif
  if constexpr (laneCount<T> == 1)
    *to = lanes;
  else
    for (std::size_t i = 0; i < count; ++i) to[i] = lanes[i];
}
/// A vector, or the part of one that is left at the end of a row.
template <class T> BURTORCH_INLINE Lanes<T> loadUpTo(const T* from, std::size_t count) {
  return count >= laneCount<T> ? load(from) : loadPart(from, count);
}
template <class T> BURTORCH_INLINE void storeUpTo(T* to, const Lanes<T>& lanes, std::size_t count) {
  count >= laneCount<T> ? store<T>(to, lanes) : storePart<T>(to, lanes, count);
}

/// Calls `at(i, count)` for every vector of `size` numbers; the last may have fewer than a vector's count.
template <class T, class At> BURTORCH_INLINE void forEachVector(std::size_t size, At at) {
  std::size_t i = 0;
  for (; i + laneCount<T> <= size; i += laneCount<T>) at(i, laneCount<T>);
  if (i < size) at(i, size - i);
}
/// As loadUpTo, for the rules of scalar operators; the lanes that are not there are `rest`.
template <class T> BURTORCH_INLINE LanePack<T> loadSome(const T* from, std::size_t count, T rest = T{1}) {
  if (count >= laneCount<T>) return loadPack(from);
  T lanes[laneCount<T>];
  for (std::size_t k = 0; k < laneCount<T>; ++k) lanes[k] = k < count ? from[k] : rest;
  return loadPack(lanes);
}
template <class T> BURTORCH_INLINE void storeSome(T* to, const LanePack<T>& pack, std::size_t count) {
  if (count >= laneCount<T>) return storePack(to, pack);
  if constexpr (laneCount<T> != 1) storePart<T>(to, pack.lanes, count);
}

/// As wide as the machine has registers, for numbers that all lie side by side: 64 bytes where there are any.
template <class T> struct WideOf {
  using Pack = T;
  using Vector = T;
  static constexpr std::size_t count = 1;
};
template <class T>
requires(ScalarTraits<T>::isVectorizable) struct WideOf<T> {
  using Pack = burtorch::Pack<T>;
  using Vector = typename Pack::Vector;
  static constexpr std::size_t count = packWidth<T>;
};
template <class T> using WidePack = typename WideOf<T>::Pack;
template <class T> using Wide = typename WideOf<T>::Vector;
template <class T> inline constexpr std::size_t wideCount = WideOf<T>::count;

/// Vectors of either width.
template <class V, class T> BURTORCH_INLINE V loadAs(const T* from) {
  V vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}
/// As many lanes of a vector as V has, the first ones.
template <class V, class W> BURTORCH_INLINE V firstOf(const W& wide) {
  V some;
  std::memcpy(&some, &wide, sizeof some);
  return some;
}
template <class V, class T> BURTORCH_INLINE V fillAs(T number) {
  if constexpr (std::is_same_v<V, Lanes<T>>)
    return fill(number);
  else
    return WidePack<T>(number).lanes;
}

/// x < y ? y : x, of packs and of any other number.
template <class X> BURTORCH_INLINE X larger(const X& x, const X& y) {
  if constexpr (requires { largerOf(x, y); })
    return largerOf(x, y);
  else
    return select(x < y, y, x);
}

/// A place in arrays where a wide vector begins, or the part of a narrow one that is left at their end.
template <class T> struct WideAt {
  std::size_t first;
  BURTORCH_INLINE WidePack<T> load(const T* from) const {
    WidePack<T> pack;
    std::memcpy(&pack, from + first, sizeof pack);
    return pack;
  }
  BURTORCH_INLINE void store(T* to, const WidePack<T>& pack) const {
    std::memcpy(to + first, &pack, sizeof pack);
  }
};
template <class T> struct RestAt {
  std::size_t first, count;
  BURTORCH_INLINE LanePack<T> load(const T* from) const { return loadSome(from + first, count); }
  BURTORCH_INLINE void store(T* to, const LanePack<T>& pack) const { storeSome(to + first, pack, count); }
};
/// Calls `at(place)` for all numbers from `first` to `end`; not in wide vectors if `isWide` is false.
template <class T, class At, class IsWide = std::true_type>
BURTORCH_INLINE void forEachWide(std::size_t first, std::size_t end, At at, IsWide isWide = {}) {
  std::size_t i = first;
  if (isWide)
    for (; i + wideCount<T> <= end; i += wideCount<T>) at(WideAt<T>{i});
  for (; i + laneCount<T> <= end; i += laneCount<T>) at(RestAt<T>{i, laneCount<T>});
  if (i < end) at(RestAt<T>{i, end - i});
}

/// How many columns take whole vectors.
template <class T> constexpr std::size_t paddedTo(std::size_t count) {
  return (count + laneCount<T> - 1) / laneCount<T> * laneCount<T>;
}

/// Calls `call.operator()<i>()` for i = 0 ... count - 1: tiles of vectors stay in registers only if nothing loops.
template <std::size_t count, class Call> BURTORCH_INLINE void unroll(const Call& call) {
  [&call]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
    (call.template operator()<i>(), ...);
  }
  (std::make_index_sequence<count>{});
}

}  // namespace burtorch::inline BURTORCH_TARGET::nn
