// Dual numbers: a value and one directional derivative, carried along through the same operators (forward mode).
// As the scalar of a tape, Value<Dual<T>>, they make the sweep yield second derivatives: see functional/hvp.hpp.
#pragma once

#include <compare>
#include <type_traits>

#include "ops_varying.hpp"

namespace burtorch::inline BURTORCH_TARGET {

template <class T> struct Dual {
  using Scalar = T;
  T value{};
  T tangent{};

  constexpr Dual() = default;
  constexpr Dual(T v) : value(v) {}
  constexpr Dual(T v, T t) : value(v), tangent(t) {}
  /// Constants: T{1} in the rules of the operators.
  template <Plain N>
  requires(!std::is_same_v<N, T>) constexpr Dual(N number) : value(static_cast<PlainOf<T>>(number)) {}

  // By value. Of packs they are one condition for each lane, which <=> cannot say.
  friend constexpr auto operator<=>(const Dual& x, const Dual& y) requires requires { x.value <=> y.value; }
  { return x.value <=> y.value; }
  friend constexpr auto operator==(const Dual& x, const Dual& y) { return x.value == y.value; }
  friend constexpr auto operator!=(const Dual& x, const Dual& y) { return x.value != y.value; }
  friend constexpr auto operator<(const Dual& x, const Dual& y) { return x.value < y.value; }
  friend constexpr auto operator<=(const Dual& x, const Dual& y) { return x.value <= y.value; }
  friend constexpr auto operator>(const Dual& x, const Dual& y) { return x.value > y.value; }
  friend constexpr auto operator>=(const Dual& x, const Dual& y) { return x.value >= y.value; }
};

template <class T>
requires PlainFloat<T> Dual(T)
->Dual<T>;
template <class T>
requires PlainFloat<T> Dual(T, T)
->Dual<T>;

template <class T, class Mask>
requires(!std::is_same_v<Mask, bool>) constexpr Dual<T> select(Mask condition, Dual<T> a, Dual<T> b) {
  return {select(condition, a.value, b.value), select(condition, a.tangent, b.tangent)};
}

template <class T> struct ScalarTraits<Dual<T>> {
  using Inner = ScalarTraits<T>;
  using Plain = PlainOf<T>;
  using Lanes = typename Inner::Lanes;
  static constexpr bool isVectorizable = false;
  static Lanes isNan(Dual<T> x) { return Inner::isNan(x.value) || Inner::isNan(x.tangent); }
  static Lanes isNan(Dual<T> x, Dual<T> y) { return isNan(x) || isNan(y); }
  static Lanes isZero(Dual<T> x) { return Inner::isZero(x.value) && Inner::isZero(x.tangent); }
  static Lanes isFinite(Dual<T> x) { return Inner::isFinite(x.value) && Inner::isFinite(x.tangent); }
  static Lanes isUnreached(Dual<T> g) { return Inner::isUnreached(g.value) && Inner::isUnreached(g.tangent); }
  static Lanes isSame(Dual<T> x, Dual<T> y) {
    return Inner::isSame(x.value, y.value) && Inner::isSame(x.tangent, y.tangent);
  }
};

template <class T> struct Mode<Dual<T>> {
  using Scalar = T;

  template <class Op> static constexpr Dual<T> unary(Dual<T> x) {
    const T y = apply<Op>(x.value);
    return {y, Op::vjp(x.tangent, x.value, y)};
  }
  template <class Op> static constexpr Dual<T> binary(Dual<T> x, Dual<T> y) {
    const T z = apply<Op>(x.value, y.value);
    return {z, Op::vjpX(x.tangent, x.value, y.value, z) + Op::vjpY(y.tangent, x.value, y.value, z)};
  }
  template <class Op> static constexpr Dual<T> ternary(Dual<T> x, Dual<T> y, Dual<T> z) {
    const T r = apply<Op>(x.value, y.value, z.value);
    return {r, Op::vjpX(x.tangent, x.value, y.value, z.value, r) +
                   Op::vjpY(y.tangent, x.value, y.value, z.value, r) +
                   Op::vjpZ(z.tangent, x.value, y.value, z.value, r)};
  }
  template <class Op> static constexpr Dual<T> withConstant(Dual<T> x, PlainOf<T> c) {
    const T y = applyConstant<Op>(x.value, c);
    return {y, Op::vjp(x.tangent, x.value, c, y)};
  }
};

}  // namespace burtorch::inline BURTORCH_TARGET
