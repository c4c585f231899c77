// What a compile-time graph knows of an operator: its opcode, which numbers its slope looks at, and, for an operator of
// the user's own, where its rules are.
#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "../core/op_dispatch.hpp"
#include "../ops/comparison.hpp"

namespace burtorch::inline BURTORCH_TARGET::graph {

/// A number that the function itself brings along.
struct Constant : LeafOp {
  static constexpr std::string_view name = "constant";
};

template <class... Ops>
TypeList<Ops..., Constant, ops::Less, ops::LessEqual, ops::Equal, ops::And, ops::Or, ops::Not, ops::Select>
    withConditions(TypeList<Ops...>);
using GraphOps = decltype(withConditions(OpList{}));

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

/// An operator's type cannot be stored in a graph; pointers to its rules can.
template <class Op, class T> consteval const UserOp<T>* userOpIn() {
  if constexpr (GraphOps::contains<Op>)
    return nullptr;
  else
    return &userOpOf<Op, T>;
}

}  // namespace burtorch::inline BURTORCH_TARGET::graph
