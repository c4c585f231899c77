// What a compile-time graph knows of an operator: its opcode, which numbers its slope looks at, and, for an operator of
// the user's own, where its rules are. Comparisons and choices are operators only here: in the other modes they are
// C++'s own.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "../core/op_list.hpp"

namespace burtorch::graph {

/// A number that the function itself brings along.
struct Constant {
  static constexpr Arity arity = Arity::leaf;
  static constexpr std::string_view name = "constant";
};

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
/// condition ? x : y, the only operator of three numbers.
struct Select {
  static constexpr Arity arity = Arity::binary;
  static constexpr std::string_view name = "select";
};

template <class... Ops>
TypeList<Ops..., Constant, Less, LessEqual, Equal, And, Or, Not, Select> withConditions(TypeList<Ops...>);
using GraphOps = decltype(withConditions(OpList{}));

template <class Op> inline constexpr bool isCondition = requires { Op::isCondition; };

/// The opcode of an operator of the user's own; its rules are behind a pointer.
inline constexpr Opcode userOpcode = GraphOps::size;

template <class Op> consteval Opcode opcodeOf() {
  return GraphOps::contains<Op> ? GraphOps::indexOf<Op>() : userOpcode;
}

template <class List> struct Indexed;
template <class... Ops> struct Indexed<TypeList<Ops...>> {
  template <Opcode op> using At = std::tuple_element_t<op, std::tuple<Ops...>>;
};
/// The operator with this opcode.
template <Opcode op> using OpAt = Indexed<GraphOps>::At<op>;

/// The rules of an operator of the user's own, for numbers of type T. An operator's type cannot be stored in a graph;
/// pointers to its rules can, and a compiler calls through a constant pointer directly.
template <class T> struct UserRules {
  Arity arity;
  std::string_view name;
  T (*unary)(const T&) = nullptr;
  T (*unarySlope)(const T& g, const T& x, const T& y) = nullptr;
  T (*constant)(const T&, PlainOf<T>) = nullptr;
  T (*constantSlope)(const T& g, const T& x, PlainOf<T>, const T& y) = nullptr;
  T (*binary)(const T&, const T&) = nullptr;
  T (*slopeX)(const T& g, const T& x, const T& y, const T& z) = nullptr;
  T (*slopeY)(const T& g, const T& x, const T& y, const T& z) = nullptr;
  T (*varying)(const List<T>&) = nullptr;
  void (*varyingSlope)(const T& g, const List<T>&, const T& y, const GradientList<T>&) = nullptr;
};

template <class Op, class T> consteval UserRules<T> rulesOf() {
  UserRules<T> rules{.arity = Op::arity, .name = Op::name};
  if constexpr (Op::arity == Arity::unary) {
    rules.unary = [](const T& x) -> T { return apply<Op>(x); };
    rules.unarySlope = [](const T& g, const T& x, const T& y) -> T { return Op::slope(g, x, y); };
  } else if constexpr (Op::arity == Arity::constant) {
    rules.constant = [](const T& x, PlainOf<T> c) -> T { return applyConstant<Op>(x, c); };
    rules.constantSlope = [](const T& g, const T& x, PlainOf<T> c, const T& y) -> T {
      return Op::slope(g, x, c, y);
    };
  } else if constexpr (Op::arity == Arity::binary) {
    rules.binary = [](const T& x, const T& y) -> T { return apply<Op>(x, y); };
    rules.slopeX = [](const T& g, const T& x, const T& y, const T& z) -> T { return Op::slopeX(g, x, y, z); };
    rules.slopeY = [](const T& g, const T& x, const T& y, const T& z) -> T { return Op::slopeY(g, x, y, z); };
  } else if constexpr (Op::arity == Arity::varying) {
    rules.varying = [](const List<T>& xs) -> T { return Op::value(xs); };
    rules.varyingSlope = [](const T& g, const List<T>& xs, const T& y, const GradientList<T>& gs) {
      Op::slope(g, xs, y, gs);
    };
  } else {
    static_assert(!std::is_same_v<T, T>,
                  "an operator of your own in a compile-time graph is unary, binary, with a "
                  "constant, or of one list");
  }
  return rules;
}
template <class Op, class T> inline constexpr UserRules<T> userRules = rulesOf<Op, T>();
template <class Op, class T> consteval const UserRules<T>* userRulesOf() {
  if constexpr (GraphOps::contains<Op>)
    return nullptr;
  else
    return &userRules<Op, T>;
}

}  // namespace burtorch::graph
