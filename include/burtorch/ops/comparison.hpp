// Comparisons of recorded numbers. `if (x < y)` branches, as with any number; `select(x < y, a, b)` records the comparison and
// the choice, so that a replay with other numbers chooses again.
//
// Conditions are combined with `&`, `|` and `!`, in every mode. `&&` and `||` give a bool, because overloaded they would
// evaluate their right side even where the left one guards it; `select` of a bool takes that side and records nothing.
#pragma once

#include <compare>
#include <tuple>
#include <type_traits>

#include "instruction.hpp"
#include "ops_binary.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace ops {

// Conditions are numbers, 1 or 0. No gradient flows through them.
struct ConditionOp {
  static constexpr bool isCondition = true;
};
struct Less : BinaryOp, ConditionOp {
  static constexpr std::string_view name = "less";
  template <class T> static constexpr T value(T x, T y) { return select(x < y, T{1}, T{0}); }
};
struct LessEqual : BinaryOp, ConditionOp {
  static constexpr std::string_view name = "lessEqual";
  template <class T> static constexpr T value(T x, T y) { return select(x <= y, T{1}, T{0}); }
};
struct Equal : BinaryOp, ConditionOp {
  static constexpr std::string_view name = "equal";
  template <class T> static constexpr T value(T x, T y) { return select(x == y, T{1}, T{0}); }
};
struct And : BinaryOp, ConditionOp {
  static constexpr std::string_view name = "and";
  template <class T> static constexpr T value(T x, T y) { return x * y; }
};
struct Or : BinaryOp, ConditionOp {
  static constexpr std::string_view name = "or";
  template <class T> static constexpr T value(T x, T y) { return select(x > y, x, y); }
};
struct Not : UnaryOp, ConditionOp {
  static constexpr std::string_view name = "not";
  template <class T> static constexpr T value(T x) { return T{1} - x; }
};

}  // namespace ops

/// What a comparison of recorded numbers gives: true or false for `if`, a node for `select`. The answer is that of the moment of
/// the comparison; the node is recorded only when a `select` asks for it.
template <class V, class Op, class... X> class Comparison {
  using T = typename Mode<V>::Scalar;

 public:
  explicit Comparison(const X&... x) : operands_(x...), number_(Op::value(numberOf(x)...)) {}

  /// Not of packs: `if` can take one way only, and their lanes may differ. `select(x < y, a, b)` chooses in each lane.
  operator bool() const requires(!hasLanes<T>) { return !ScalarTraits<T>::isZero(number_); }
  /// 1 or 0, in each lane.
  T number() const { return number_; }
  V node() const {
    return std::apply(
        [](const X&... x) {
          const std::tuple<decltype(static_cast<void>(x), V())...> nodes{
              nodeOf(x)...};  // braces keep the order
          return std::apply([](const auto&... node) { return apply<Op>(node...); }, nodes);
        },
        operands_);
  }
  auto operator!() const { return Comparison<V, ops::Not, Comparison>(*this); }

 private:
  static T numberOf(const V& x) { return x.value(); }
  static T numberOf(const T& x) { return x; }
  template <class C> static T numberOf(const C& condition) { return condition.number(); }
  static V nodeOf(const V& x) { return x; }
  static V nodeOf(const T& x) { return V(x); }
  template <class C> static V nodeOf(const C& condition) { return condition.node(); }

  std::tuple<X...> operands_;
  T number_;
};

template <class V, class Op, class... X, class Other, class... Y>
auto operator&(const Comparison<V, Op, X...>& x, const Comparison<V, Other, Y...>& y) {
  return Comparison<V, ops::And, Comparison<V, Op, X...>, Comparison<V, Other, Y...>>(x, y);
}
template <class V, class Op, class... X, class Other, class... Y>
auto operator|(const Comparison<V, Op, X...>& x, const Comparison<V, Other, Y...>& y) {
  return Comparison<V, ops::Or, Comparison<V, Op, X...>, Comparison<V, Other, Y...>>(x, y);
}

/// Records the choice. The gradient goes to the side that is chosen; the other one gets nothing, not even the NaN of a pole.
template <class V, class Op, class... X>
V select(const Comparison<V, Op, X...>& condition, const std::type_identity_t<V>& a,
         const std::type_identity_t<V>& b) {
  return apply<ops::Select>(condition.node(), a, b);
}

template <class V, class Op, class... X, Plain N, Plain M>
V select(const Comparison<V, Op, X...>& condition, N a, M b) {
  using P = PlainOf<typename Mode<V>::Scalar>;
  const V x(static_cast<P>(a)), y(static_cast<P>(b));
  return select(condition, x, y);
}

namespace detail {

/// Numbers whose comparisons can be recorded.
template <class X>
concept RecordedNumber = requires {
  requires Mode<X>::recordsChoices;
};
template <class X, class Y>
concept RecordedPair = (RecordedNumber<X> && (std::is_same_v<X, Y> || Plain<Y>)) ||
                       (Plain<X> && RecordedNumber<Y>);

template <class Op, class X, class Y> auto comparisonOf(const X& x, const Y& y) {
  using V = std::conditional_t<Plain<X>, Y, X>;
  using T = typename Mode<V>::Scalar;
  if constexpr (Plain<X>)
    return Comparison<V, Op, T, V>(T(static_cast<PlainOf<T>>(x)), y);
  else if constexpr (Plain<Y>)
    return Comparison<V, Op, V, T>(x, T(static_cast<PlainOf<T>>(y)));
  else
    return Comparison<V, Op, V, V>(x, y);
}
}  // namespace detail

template <class X, class Y>
requires detail::RecordedPair<X, Y>
auto operator<(const X& x, const Y& y) { return detail::comparisonOf<ops::Less>(x, y); }
template <class X, class Y>
requires detail::RecordedPair<X, Y>
auto operator<=(const X& x, const Y& y) { return detail::comparisonOf<ops::LessEqual>(x, y); }
template <class X, class Y>
requires detail::RecordedPair<X, Y>
auto operator>(const X& x, const Y& y) { return detail::comparisonOf<ops::Less>(y, x); }
template <class X, class Y>
requires detail::RecordedPair<X, Y>
auto operator>=(const X& x, const Y& y) { return detail::comparisonOf<ops::LessEqual>(y, x); }
template <class X, class Y>
requires detail::RecordedPair<X, Y>
auto operator==(const X& x, const Y& y) { return detail::comparisonOf<ops::Equal>(x, y); }
template <class X, class Y>
requires detail::RecordedPair<X, Y>
auto operator!=(const X& x, const Y& y) { return !detail::comparisonOf<ops::Equal>(x, y); }
// Of the same form as the others: a more special one would be taken for `<` too.
template <class X, class Y>
requires detail::RecordedPair<X, Y>
auto operator<=>(const X& x, const Y& y) {
  if constexpr (Plain<X>)
    return static_cast<PlainOf<typename Mode<Y>::Scalar>>(x) <=> y.value();
  else if constexpr (Plain<Y>)
    return x.value() <=> static_cast<PlainOf<typename Mode<X>::Scalar>>(y);
  else
    return x.value() <=> y.value();
}

}  // namespace burtorch::inline BURTORCH_TARGET
