// std::experimental::simd as a scalar, for programs that have it already: Value<std::experimental::native_simd<float>>. What holds
// for packs (pack.hpp) holds for these, but the functions are those of the standard library. Its functions of vectors
// are partly computed lane by lane; packs are faster, and also run where a library lacks this header (libc++).
//
// Optional: nothing else includes it.
#pragma once

#include <experimental/simd>

#include "../ops/op_list.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// A condition for each lane, with the operators that the engine asks for.
template <class Mask> struct StdLanes {
  Mask lanes{false};

  StdLanes() = default;
  StdLanes(const Mask& mask) : lanes(mask) {}
  bool operator[](std::size_t i) const { return lanes[i]; }
  friend StdLanes operator&&(const StdLanes& x, const StdLanes& y) { return x.lanes && y.lanes; }
  friend StdLanes operator||(const StdLanes& x, const StdLanes& y) { return x.lanes || y.lanes; }
  friend StdLanes operator!(const StdLanes& x) { return !x.lanes; }
  friend bool any(const StdLanes& x) { return any_of(x.lanes); }
  friend bool all(const StdLanes& x) { return all_of(x.lanes); }
};

/// Vectors of the standard library bring their operators along.
template <class T, class Abi>
inline constexpr bool hasOwnOperators<std::experimental::simd<T, Abi>> = std::is_floating_point_v<T>;

template <class T, class Abi>
requires std::is_floating_point_v<T>
struct ScalarTraits<std::experimental::simd<T, Abi>> {
  using X = std::experimental::simd<T, Abi>;
  using Plain = T;
  using Lanes = StdLanes<typename X::mask_type>;
  static constexpr bool isVectorizable = false;  // it is a vector already
  static Lanes isNan(const X& x) { return x != x; }
  static Lanes isNan(const X& x, const X& y) { return x != x || y != y; }
  static Lanes isZero(const X& x) { return x == X(0); }
  static Lanes isFinite(const X& x) { return x - x == X(0); }
  static Lanes isUnreached(const X& g) { return g == X(0) && signbit(g); }
  static Lanes isSame(const X& x, const X& y) {
    return (x == y && signbit(x) == signbit(y)) || (x != x && y != y);
  }
  static X chosen(const Lanes& condition, X a, const X& b) {
    where(!condition.lanes, a) = b;
    return a;
  }
};

template <class T, class Abi>
requires std::is_floating_point_v<T>
struct Mode<std::experimental::simd<T, Abi>> {
  using Scalar = std::experimental::simd<T, Abi>;
  template <class Op> static Scalar unary(const Scalar& x) { return Op::value(x); }
  template <class Op> static Scalar binary(const Scalar& x, const Scalar& y) { return Op::value(x, y); }
  template <class Op> static Scalar ternary(const Scalar& x, const Scalar& y, const Scalar& z) {
    return Op::value(x, y, z);
  }
  template <class Op> static Scalar withConstant(const Scalar& x, T c) { return Op::value(x, c); }
};

}  // namespace burtorch::inline BURTORCH_TARGET
