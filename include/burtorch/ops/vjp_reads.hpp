// Which numbers a vjp rule reads. Three places ask: the sweep (a rule that reads nothing cannot make a NaN out of a
// zero), a loss without its value, and a compile-time graph, which computes only what somebody reads.
#pragma once

#include <cstdint>

#include "instruction.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Which numbers the vjp rules look at. The rules say it themselves, by parameters of type Unread. What nobody looks
/// at need not be computed.
struct VjpReads {
  static constexpr std::uint8_t x = 1, y = 2, result = 4, z = 8, all = 15;
  std::uint8_t byX = 0, byY = 0, byZ = 0;  // the slope with respect to x, to y, to z

  constexpr std::uint8_t by(std::size_t operand) const {
    return operand == 0 ? byX : operand == 1 ? byY : byZ;
  }
  constexpr bool readsResult() const { return ((byX | byY | byZ) & result) != 0; }
  constexpr bool readsNothing() const { return (byX | byY | byZ) == 0; }
};

// A parameter of type Unread takes an Unread and also {}; one of any type takes the first only, one of type T the second.
#define BURTORCH_READS(bit, withUnread, withNothing)                       \
  (requires(T t, Unread u, PlainOf<T> c, List<T> xs, GradientList<T> gs) { \
    withUnread;                                                            \
    withNothing;                                                           \
  }                                                                        \
       ? 0                                                                 \
       : VjpReads::bit)
#define BURTORCH_READS_OF_TWO(rule)                                 \
  (BURTORCH_READS(x, Op::rule(t, u, t, t), Op::rule(t, {}, t, t)) | \
   BURTORCH_READS(y, Op::rule(t, t, u, t), Op::rule(t, t, {}, t)) | \
   BURTORCH_READS(result, Op::rule(t, t, t, u), Op::rule(t, t, t, {})))
#define BURTORCH_READS_OF_THREE(rule)                                     \
  (BURTORCH_READS(x, Op::rule(t, u, t, t, t), Op::rule(t, {}, t, t, t)) | \
   BURTORCH_READS(y, Op::rule(t, t, u, t, t), Op::rule(t, t, {}, t, t)) | \
   BURTORCH_READS(z, Op::rule(t, t, t, u, t), Op::rule(t, t, t, {}, t)) | \
   BURTORCH_READS(result, Op::rule(t, t, t, t, u), Op::rule(t, t, t, t, {})))

template <class Op, class T> consteval VjpReads vjpReads() {
  const auto reads = [](int byX, int byY = 0, int byZ = 0) {
    return VjpReads{static_cast<std::uint8_t>(byX), static_cast<std::uint8_t>(byY),
                    static_cast<std::uint8_t>(byZ)};
  };
  constexpr int lists = VjpReads::x | VjpReads::y;  // rules of lists are handed all operands
  if constexpr (isCondition<Op>)
    return {};
  else if constexpr (Op::arity == Arity::unary)
    return reads(BURTORCH_READS(x, Op::vjp(t, u, t), Op::vjp(t, {}, t)) |
                 BURTORCH_READS(result, Op::vjp(t, t, u), Op::vjp(t, t, {})));
  else if constexpr (Op::arity == Arity::constant)
    return reads(BURTORCH_READS(x, Op::vjp(t, u, c, t), Op::vjp(t, {}, c, t)) |
                 BURTORCH_READS(result, Op::vjp(t, t, c, u), Op::vjp(t, t, c, {})));
  else if constexpr (Op::arity == Arity::binary)
    return reads(BURTORCH_READS_OF_TWO(vjpX), BURTORCH_READS_OF_TWO(vjpY));
  else if constexpr (isChoice<Op>)
    return reads(0, BURTORCH_READS_OF_THREE(vjpY), BURTORCH_READS_OF_THREE(vjpZ));
  else if constexpr (Op::arity == Arity::ternary)
    return reads(BURTORCH_READS_OF_THREE(vjpX), BURTORCH_READS_OF_THREE(vjpY), BURTORCH_READS_OF_THREE(vjpZ));
  else if constexpr (Op::arity == Arity::block)
    return reads(lists | VjpReads::result, lists);
  else if constexpr (Op::arity != Arity::varying)
    return reads(lists, lists);
  else if constexpr (Op::takesIndex)
    return reads(lists | BURTORCH_READS(result, Op::vjp(t, xs, u, gs, std::size_t{}),
                                        Op::vjp(t, xs, {}, gs, std::size_t{})),
                 lists);
  else
    return reads(lists | BURTORCH_READS(result, Op::vjp(t, xs, u, gs), Op::vjp(t, xs, {}, gs)), lists);
}

#undef BURTORCH_READS
#undef BURTORCH_READS_OF_TWO
#undef BURTORCH_READS_OF_THREE

}  // namespace burtorch::inline BURTORCH_TARGET
