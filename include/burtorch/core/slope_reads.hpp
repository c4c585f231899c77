// Which numbers a slope rule reads. Three places ask: the sweep (a rule that reads nothing cannot make a NaN out of a
// zero), a loss without its value, and a compile-time graph, which computes only what somebody reads.
#pragma once

#include <cstdint>

#include "list.hpp"
#include "scalar.hpp"

namespace burtorch {

/// Which numbers the slope rules look at: bit 0 is x, bit 1 is y, bit 2 the result. The rules say it themselves, by
/// parameters of type Unread. What nobody looks at need not be computed. (Unread takes an Unread and also {}; a
/// parameter of any type takes the first only, one of type T the second.)
struct SlopeReads {
  static constexpr std::uint8_t x = 1, y = 2, result = 4;
  std::uint8_t byX = 0, byY = 0;  // the slope with respect to x, to y

  constexpr bool readsResult() const { return ((byX | byY) & result) != 0; }
  constexpr bool readsNothing() const { return (byX | byY) == 0; }
};

template <class Op, class T> consteval SlopeReads slopeReads() {
  using U = Unread;
  using C = PlainOf<T>;
  using R = SlopeReads;
  const auto bits = [](bool x, bool y, bool result) {
    return static_cast<std::uint8_t>((x ? R::x : 0) | (y ? R::y : 0) | (result ? R::result : 0));
  };
  if constexpr (Op::arity == Arity::unary) {
    return {bits(
                !requires(T t, U u) {
                  Op::slope(t, u, t);
                  Op::slope(t, {}, t);
                },
                false,
                !requires(T t, U u) {
                  Op::slope(t, t, u);
                  Op::slope(t, t, {});
                }),
            0};
  } else if constexpr (Op::arity == Arity::constant) {
    return {bits(
                !requires(T t, U u, C c) {
                  Op::slope(t, u, c, t);
                  Op::slope(t, {}, c, t);
                },
                false,
                !requires(T t, U u, C c) {
                  Op::slope(t, t, c, u);
                  Op::slope(t, t, c, {});
                }),
            0};
  } else if constexpr (Op::arity == Arity::binary) {
    return {bits(
                !requires(T t, U u) {
                  Op::slopeX(t, u, t, t);
                  Op::slopeX(t, {}, t, t);
                },
                !requires(T t, U u) {
                  Op::slopeX(t, t, u, t);
                  Op::slopeX(t, t, {}, t);
                },
                !requires(T t, U u) {
                  Op::slopeX(t, t, t, u);
                  Op::slopeX(t, t, t, {});
                }),
            bits(
                !requires(T t, U u) {
                  Op::slopeY(t, u, t, t);
                  Op::slopeY(t, {}, t, t);
                },
                !requires(T t, U u) {
                  Op::slopeY(t, t, u, t);
                  Op::slopeY(t, t, {}, t);
                },
                !requires(T t, U u) {
                  Op::slopeY(t, t, t, u);
                  Op::slopeY(t, t, t, {});
                })};
  } else {  // lists: their rules are handed all operands
    using L = List<T>;
    using G = GradientList<T>;
    bool result = Op::arity == Arity::block;
    if constexpr (Op::arity == Arity::varying) {
      if constexpr (Op::takesIndex) result = !requires(T t, L xs, U u, G gs) {
          Op::slope(t, xs, u, gs, std::size_t{});
          Op::slope(t, xs, {}, gs, std::size_t{});
        };
      else
        result = !requires(T t, L xs, U u, G gs) {
          Op::slope(t, xs, u, gs);
          Op::slope(t, xs, {}, gs);
        };
    }
    return {bits(true, true, result), bits(true, true, false)};
  }
}

}  // namespace burtorch
