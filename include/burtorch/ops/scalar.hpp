// What the engine asks of a scalar, and how a number type carries out an operator.
//
// A user's function is a template over its number type X. `apply<Op>(x...)` is the single door through which every
// operator goes; `Mode<X>` says what happens behind it: plain numbers compute (here), `Value` records a node
// (value.hpp), `Dual` carries a derivative along (dual.hpp).
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "../base/config.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// How many numbers an operator takes: none, one, two, three, one and a constant, a list, two lists; a block writes
/// many, a layer (layer.hpp) takes and writes whole blocks.
enum class Arity : std::uint8_t { leaf, unary, binary, ternary, constant, varying, pair, block, layer };

// What an operator derives from. Layers have theirs in layer.hpp.
template <Arity a> struct OfArity { static constexpr Arity arity = a; };
struct LeafOp : OfArity<Arity::leaf> {};
struct UnaryOp : OfArity<Arity::unary> {};
struct BinaryOp : OfArity<Arity::binary> {};
struct TernaryOp : OfArity<Arity::ternary> {};
/// One number and a constant, which is not a node: `x * 3.0`.
struct ConstantOp : OfArity<Arity::constant> {};
struct VaryingOp : OfArity<Arity::varying> {
  static constexpr bool takesIndex = false;
};
/// A list and the position of one of its elements: `crossEntropy(logits, target)`.
struct IndexedVaryingOp : VaryingOp {
  static constexpr bool takesIndex = true;
};
struct PairOp : OfArity<Arity::pair> {
  static constexpr bool hasBias = false;
};
struct BlockOp : OfArity<Arity::block> {};
/// Where the results are finite, slopes are too. sqrt cannot say so: its slope at 0 is infinite.
struct NoPoles {
  static constexpr bool hasPoles = false;
};

/// Stands where a vjp rule does not read a value. It accepts anything, so the rule itself tells what it needs.
struct Unread {
  constexpr Unread() = default;
  template <class X> constexpr Unread(const X&) noexcept {}
};

/// What the engine asks of a scalar type. A SIMD pack or a 16-bit float specialises it and needs nothing else here.
template <class T> struct ScalarTraits;

/// One number with the arithmetic of the processor or of a library: float, double, long double, quadruple precision. A type
/// that is not the compiler's own says so itself (ops/fp128.hpp).
template <class T> inline constexpr bool isPlainFloat = std::is_floating_point_v<T>;
template <class T>
concept PlainFloat = isPlainFloat<T>;

/// Questions are answered for every lane; what is not a pack has one, and a bool for an answer.
template <PlainFloat T> struct ScalarTraits<T> {
  using Plain = T;     // the type of constants: `x * 3.0`
  using Lanes = bool;  // an answer for each lane
  // Whether kernels may use vector extensions.
  static constexpr bool isVectorizable = std::is_same_v<T, float> || std::is_same_v<T, double>;
  static bool isNan(T x) { return x != x; }
  static bool isNan(T x, T y) {  // either; one comparison
    using std::isunordered;
    return isunordered(x, y);
  }
  static bool isZero(T x) { return x == T{0}; }
  static bool isFinite(T x) { return x - x == T{0}; }
  // Two zeros, so that the careful sweep (sweep.hpp) can tell "never reached" from "reached, and zero" in place.
  static bool isUnreached(T g) {
    using std::signbit;
    return g == T{0} && signbit(g);
  }
  /// The same number, zeros of different signs being two. Not by bytes: those of a long double are not all used.
  static bool isSame(T x, T y) {
    using std::signbit;
    return x == y ? signbit(x) == signbit(y) : x != x && y != y;
  }
};

template <class T> using PlainOf = typename ScalarTraits<T>::Plain;
/// A type that a tape can hold: float, double, long double, Pack, Dual, ...
template <class T>
concept Scalar = requires {
  typename ScalarTraits<T>::Plain;
};
/// Whether numbers have several lanes, each with an answer of its own.
template <Scalar T> inline constexpr bool hasLanes = !std::is_same_v<typename ScalarTraits<T>::Lanes, bool>;

/// Whether a condition holds in some lane.
constexpr bool any(bool lane) { return lane; }
/// Whether a condition holds in all lanes.
constexpr bool all(bool lane) { return lane; }

/// A number that may stand as a constant in an expression.
template <class N>
concept Plain = std::is_arithmetic_v<N> || PlainFloat<N>;

namespace ops {
/// A constant of the rules, told by three doubles, whose sum has more digits than any scalar. Up to double the first is all.
template <class T> constexpr PlainOf<T> constantOf(double first, double second, double third) {
  using P = PlainOf<T>;
  if constexpr (sizeof(P) <= sizeof(double))
    return static_cast<P>(first);
  else
    return P(first) + (P(second) + P(third));
}
/// A constant of the rules that fits into any scalar, in all lanes.
template <class T> constexpr T number(double constant) { return T(static_cast<PlainOf<T>>(constant)); }
}  // namespace ops

template <class X> struct Mode;

/// A type that the operators work on: float, double, Value, Dual, ...
template <class X>
concept Number = requires {
  typename Mode<X>::Scalar;
};

/// A scalar of several lanes that somebody else made, with operators of its own: std_simd.hpp.
template <class X> inline constexpr bool hasOwnOperators = false;
/// A number type of ours, for which the arithmetic operators are overloaded.
template <class X>
concept TracedNumber = Number<X> && !Plain<X> && !hasOwnOperators<X>;

/// `condition ? a : b`, in every mode: a SIMD pack selects lane by lane, a compile-time graph records the choice.
template <class X> constexpr X select(bool condition, X a, X b) { return condition ? a : b; }
template <class X>
requires(hasOwnOperators<X>) X select(const typename ScalarTraits<X>::Lanes& condition, X a, X b) {
  return ScalarTraits<X>::chosen(condition, a, b);
}
template <TracedNumber X, class Condition, Plain N> constexpr X select(Condition condition, X a, N b) {
  return select(condition, a, X(static_cast<PlainOf<typename Mode<X>::Scalar>>(b)));
}
template <TracedNumber X, class Condition, Plain N> constexpr X select(Condition condition, N a, X b) {
  return select(condition, X(static_cast<PlainOf<typename Mode<X>::Scalar>>(a)), b);
}

/// Carries out `Op` on numbers of any mode. A user's own operator is called the same way.
template <class Op, Number X> BURTORCH_INLINE constexpr X apply(X x) {
  return Mode<X>::template unary<Op>(x);
}
template <class Op, Number X> BURTORCH_INLINE constexpr X apply(X x, X y) {
  return Mode<X>::template binary<Op>(x, y);
}
template <class Op, Number X> BURTORCH_INLINE constexpr X apply(X x, X y, X z) {
  return Mode<X>::template ternary<Op>(x, y, z);
}
template <class Op, Number X, Plain N>
requires(Op::arity == Arity::constant) BURTORCH_INLINE constexpr X applyConstant(X x, N constant) {
  return Mode<X>::template withConstant<Op>(x, static_cast<PlainOf<typename Mode<X>::Scalar>>(constant));
}

template <PlainFloat T> struct Mode<T> {
  using Scalar = T;
  template <class Op> static constexpr T unary(T x) { return Op::value(x); }
  template <class Op> static constexpr T binary(T x, T y) { return Op::value(x, y); }
  template <class Op> static constexpr T ternary(T x, T y, T z) { return Op::value(x, y, z); }
  template <class Op> static constexpr T withConstant(T x, T c) { return Op::value(x, c); }
};

}  // namespace burtorch::inline BURTORCH_TARGET
