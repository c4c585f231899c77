// A pack: `n` numbers that go through the same operators at once, one in each lane of a SIMD vector (paper F.3).
//
// Lanes never mix: what lane i holds depends neither on i nor on the other lanes. It has the bits of the same
// computation on that number alone, except through exp, tanh, sin and the like, which packs compute themselves (pack_math.hpp)
// and plain numbers leave to the C library, and where the target has fused operations (FMA): of a sum of two products
// compilers fuse either. Vector extensions carry the arithmetic; compilers split a pack that is wider than the machine.
// Functions of the C library run lane by lane.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>

#include "../ops/ops_binary.hpp"
#include "pack_math.hpp"
#include "pack_trigonometry.hpp"

BURTORCH_FUSE_BEGIN
namespace burtorch::inline BURTORCH_TARGET {

/// As many numbers as one vector register of the target holds.
#if defined(__AVX512F__)
template <class T> inline constexpr std::size_t packWidth = 64 / sizeof(T);
#elif defined(__AVX__)
template <class T> inline constexpr std::size_t packWidth = 32 / sizeof(T);
#else
template <class T> inline constexpr std::size_t packWidth = 16 / sizeof(T);
#endif

namespace detail {
template <class T, std::size_t n> struct PackVector {
  using Bits = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  typedef T Type __attribute__((vector_size(n * sizeof(T))));
  typedef Bits Mask __attribute__((vector_size(n * sizeof(T))));
};
}  // namespace detail

/// A condition for each lane.
template <class T, std::size_t n> struct PackMask {
  typename detail::PackVector<T, n>::Mask lanes;

  BURTORCH_INLINE constexpr bool operator[](std::size_t i) const { return lanes[i] != 0; }
  BURTORCH_INLINE friend constexpr PackMask operator&&(PackMask x, PackMask y) { return {x.lanes & y.lanes}; }
  BURTORCH_INLINE friend constexpr PackMask operator||(PackMask x, PackMask y) { return {x.lanes | y.lanes}; }
  BURTORCH_INLINE friend constexpr PackMask operator&(PackMask x, PackMask y) { return {x.lanes & y.lanes}; }
  BURTORCH_INLINE friend constexpr PackMask operator|(PackMask x, PackMask y) { return {x.lanes | y.lanes}; }
  BURTORCH_INLINE friend constexpr PackMask operator!(PackMask x) { return {~x.lanes}; }
  BURTORCH_INLINE friend bool any(const PackMask& x) { return vectors::anyBit(x.lanes); }
  BURTORCH_INLINE friend bool all(const PackMask& x) { return !vectors::anyBit(~x.lanes); }
};

/// Of floats or doubles.
template <class T, std::size_t n = packWidth<T>>
requires(ScalarTraits<T>::isVectorizable) struct Pack {
  using Vector = typename detail::PackVector<T, n>::Type;
  using Mask = PackMask<T, n>;
  static constexpr std::size_t count = n;

  Vector lanes;

  Pack() = default;
  BURTORCH_INLINE constexpr Pack(const Vector& vector) : lanes(vector) {}
  /// The same number in every lane. Not 0 + number: that loses the sign of -0.
  template <Plain N>
  BURTORCH_INLINE constexpr Pack(N number) : Pack(static_cast<T>(number), std::make_index_sequence<n>{}) {}

  BURTORCH_INLINE static Pack load(const T* from) {
    Pack pack;
    std::memcpy(&pack.lanes, from, sizeof pack.lanes);
    return pack;
  }
  BURTORCH_INLINE void store(T* to) const { std::memcpy(to, &lanes, sizeof lanes); }
  BURTORCH_INLINE constexpr T operator[](std::size_t i) const { return lanes[i]; }
  void set(std::size_t i, T number) { lanes[i] = number; }

  BURTORCH_INLINE friend constexpr Pack operator+(Pack x, Pack y) { return x.lanes + y.lanes; }
  BURTORCH_INLINE friend constexpr Pack operator-(Pack x, Pack y) { return x.lanes - y.lanes; }
  BURTORCH_INLINE friend constexpr Pack operator*(Pack x, Pack y) { return x.lanes * y.lanes; }
  BURTORCH_INLINE friend constexpr Pack operator/(Pack x, Pack y) { return x.lanes / y.lanes; }
  BURTORCH_INLINE friend constexpr Pack operator-(Pack x) { return -x.lanes; }
  BURTORCH_INLINE friend constexpr Pack operator+(Pack x, T y) { return x.lanes + y; }
  BURTORCH_INLINE friend constexpr Pack operator-(Pack x, T y) { return x.lanes - y; }
  BURTORCH_INLINE friend constexpr Pack operator*(Pack x, T y) { return x.lanes * y; }
  BURTORCH_INLINE friend constexpr Pack operator/(Pack x, T y) { return x.lanes / y; }
  BURTORCH_INLINE friend constexpr Pack operator+(T x, Pack y) { return x + y.lanes; }
  BURTORCH_INLINE friend constexpr Pack operator-(T x, Pack y) { return x - y.lanes; }
  BURTORCH_INLINE friend constexpr Pack operator*(T x, Pack y) { return x * y.lanes; }
  BURTORCH_INLINE friend constexpr Pack operator/(T x, Pack y) { return x / y.lanes; }

  BURTORCH_INLINE friend constexpr Mask operator<(Pack x, Pack y) { return {x.lanes < y.lanes}; }
  BURTORCH_INLINE friend constexpr Mask operator<=(Pack x, Pack y) { return {x.lanes <= y.lanes}; }
  BURTORCH_INLINE friend constexpr Mask operator>(Pack x, Pack y) { return {x.lanes > y.lanes}; }
  BURTORCH_INLINE friend constexpr Mask operator>=(Pack x, Pack y) { return {x.lanes >= y.lanes}; }
  BURTORCH_INLINE friend constexpr Mask operator==(Pack x, Pack y) { return {x.lanes == y.lanes}; }
  BURTORCH_INLINE friend constexpr Mask operator!=(Pack x, Pack y) { return {x.lanes != y.lanes}; }

  BURTORCH_INLINE friend constexpr Pack select(Mask condition, Pack a, Pack b) {
    return Vector(condition.lanes ? a.lanes : b.lanes);
  }

 private:
  template <std::size_t... i>
  BURTORCH_INLINE constexpr Pack(T number, std::index_sequence<i...>)
      : lanes{(static_cast<void>(i), number)...} {}
};

/// The sum of the first `count` lanes, in order.
template <class T, std::size_t n> T sumOfLanes(const Pack<T, n>& x, std::size_t count = n) {
  T sum = x[0];
  for (std::size_t i = 1; i < count; ++i) sum += x[i];
  return sum;
}

/// `function` of each lane.
template <class T, std::size_t n, class Function>
BURTORCH_INLINE Pack<T, n> forEachLane(const Pack<T, n>& x, Function function) {
  T lanes[n];
  x.store(lanes);
  for (T& lane : lanes) lane = function(lane);
  return Pack<T, n>::load(lanes);
}
/// `function` of vectors as wide as the machine's, or of the whole packs if that is less.
template <class T, std::size_t n, class Function>
BURTORCH_INLINE Pack<T, n> forEachVector(const Pack<T, n>& x, const Pack<T, n>& y, Function function) {
  if constexpr (n <= packWidth<T>) {
    return function(x.lanes, y.lanes);
  } else {
    typename Pack<T>::Vector xs[n / packWidth<T>], ys[n / packWidth<T>];
    std::memcpy(xs, &x, sizeof x);
    std::memcpy(ys, &y, sizeof y);
    for (std::size_t i = 0; i < std::size(xs); ++i) xs[i] = function(xs[i], ys[i]);
    Pack<T, n> result;
    std::memcpy(&result, xs, sizeof result);
    return result;
  }
}
template <class T, std::size_t n, class Function>
BURTORCH_INLINE Pack<T, n> forEachVector(const Pack<T, n>& x, Function function) {
  return forEachVector(x, x, [function](auto lanes, const auto&) { return function(lanes); });
}

// What the rules of the operators call. Found before the functions of the same names for all numbers: more special.
// Functions that are not here are operators that are taken lane by lane (LibraryOp).
template <class T, std::size_t n> BURTORCH_INLINE Pack<T, n> exp(const Pack<T, n>& x) {
  return forEachVector(x, [](auto lanes) { return vectors::exp(lanes); });
}
template <class T, std::size_t n> BURTORCH_INLINE Pack<T, n> log(const Pack<T, n>& x) {
  return forEachVector(x, [](auto lanes) { return vectors::log(lanes); });
}
template <class T, std::size_t n> BURTORCH_INLINE Pack<T, n> tanh(const Pack<T, n>& x) {
  return forEachVector(x, [](auto lanes) { return vectors::tanh(lanes); });
}
template <class T, std::size_t n> BURTORCH_INLINE Pack<T, n> erf(const Pack<T, n>& x) {
  return forEachVector(x, [](auto lanes) { return vectors::erf(lanes); });
}
template <class T, std::size_t n> BURTORCH_INLINE Pack<T, n> sqrt(const Pack<T, n>& x) {
  return forEachVector(x, [](auto lanes) { return vectors::sqrt(lanes); });
}
template <class T, std::size_t n> BURTORCH_INLINE Pack<T, n> expm1(const Pack<T, n>& x) {
  return forEachVector(x, [](auto lanes) { return vectors::expm1(lanes); });
}
template <class T, std::size_t n> BURTORCH_INLINE Pack<T, n> log1p(const Pack<T, n>& x) {
  return forEachVector(x, [](auto lanes) { return vectors::log1p(lanes); });
}
template <class T, std::size_t n> BURTORCH_INLINE Pack<T, n> sin(const Pack<T, n>& x) {
  return forEachVector(x, [](auto lanes) { return vectors::sin(lanes); });
}
template <class T, std::size_t n> BURTORCH_INLINE Pack<T, n> cos(const Pack<T, n>& x) {
  return forEachVector(x, [](auto lanes) { return vectors::cos(lanes); });
}
template <class T, std::size_t n> BURTORCH_INLINE Pack<T, n> atan(const Pack<T, n>& x) {
  return forEachVector(x, [](auto lanes) { return vectors::atan(lanes); });
}
template <class T, std::size_t n> BURTORCH_INLINE Pack<T, n> abs(const Pack<T, n>& x) {
  return forEachVector(x, [](auto lanes) { return vectors::abs(lanes); });
}
/// erf(x), made of `bell`, which is exp(-x^2).
template <class T, std::size_t n>
BURTORCH_INLINE Pack<T, n> erfBeside(const Pack<T, n>& x, const Pack<T, n>& bell) {
  return forEachVector(x, bell, [](auto lanes, auto bells) { return vectors::erfBeside(lanes, bells); });
}
/// x / (1 + e) for 0 <= e <= 1.
template <class T, std::size_t n>
BURTORCH_INLINE Pack<T, n> overOnePlus(const Pack<T, n>& x, const Pack<T, n>& e) {
  return forEachVector(x, e, [](auto lanes, auto es) { return vectors::overOnePlus(lanes, es); });
}
/// x < y ? y : x in each lane: a NaN in y does not count.
template <class T, std::size_t n>
BURTORCH_INLINE Pack<T, n> largerOf(const Pack<T, n>& x, const Pack<T, n>& y) {
  return forEachVector(y, x, [](auto a, auto b) { return vectors::larger(a, b); });
}
template <class T, std::size_t n> Pack<T, n> pow(const Pack<T, n>& x, T exponent) {
  return forEachLane(x, [exponent](T lane) { return std::pow(lane, exponent); });
}

template <class T, std::size_t n> struct ScalarTraits<Pack<T, n>> {
  using Plain = T;
  using Lanes = PackMask<T, n>;
  using P = Pack<T, n>;
  static constexpr bool isVectorizable = false;  // it is a vector already
  BURTORCH_INLINE static Lanes isNan(const P& x) { return x != x; }
  BURTORCH_INLINE static Lanes isNan(const P& x, const P& y) { return x != x || y != y; }
  BURTORCH_INLINE static Lanes isZero(const P& x) { return x == P(0); }
  BURTORCH_INLINE static Lanes isFinite(const P& x) { return x - x == P(0); }
  BURTORCH_INLINE static Lanes isUnreached(const P& g) { return haveSameBits(g, -P(0)); }
  static Lanes isSame(const P& x, const P& y) { return haveSameBits(x, y) || (x != x && y != y); }

 private:
  using Bits = typename detail::PackVector<T, n>::Mask;
  BURTORCH_INLINE static Lanes haveSameBits(const P& x, const P& y) {
    return {Bits(x.lanes) == Bits(y.lanes)};
  }
};

template <class T, std::size_t n> struct Mode<Pack<T, n>> {
  using Scalar = Pack<T, n>;
  template <class Op> BURTORCH_INLINE static Scalar unary(Scalar x) {
    if constexpr (requires { Op::isLaneByLane; })
      return forEachLane(x, [](T lane) { return Op::value(lane); });
    else
      return Op::value(x);
  }
  template <class Op> BURTORCH_INLINE static Scalar binary(Scalar x, Scalar y) { return Op::value(x, y); }
  template <class Op> BURTORCH_INLINE static Scalar ternary(Scalar x, Scalar y, Scalar z) {
    return Op::value(x, y, z);
  }
  template <class Op> BURTORCH_INLINE static Scalar withConstant(Scalar x, T c) { return Op::value(x, c); }
};

}  // namespace burtorch::inline BURTORCH_TARGET
BURTORCH_FUSE_END
