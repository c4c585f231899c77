// What the tests of operators share: the operators of OpList by their arity, functions made of one operator, points.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "graph/modes.hpp"

namespace operators {

using burtorch::Arity;

/// The operators of some arities, as gtest wants them.
template <class Op, Arity... arities> inline constexpr bool hasArity = ((Op::arity == arities) || ...);
template <class Found, class Ops, Arity... arities> struct Filter { using Type = Found; };
template <class... Found, class Op, class... Ops, Arity... arities>
struct Filter<testing::Types<Found...>, burtorch::TypeList<Op, Ops...>, arities...> {
  using Longer =
      std::conditional_t<hasArity<Op, arities...>, testing::Types<Found..., Op>, testing::Types<Found...>>;
  using Type = typename Filter<Longer, burtorch::TypeList<Ops...>, arities...>::Type;
};
template <Arity... arities>
using WithArity = typename Filter<testing::Types<>, burtorch::OpList, arities...>::Type;

struct OperatorName {
  template <class Op> static std::string GetName(int) { return std::string(Op::name); }
};

/// Generic points, zeros, denormals, the ends of the range, infinities and NaN.
template <class T> struct Points {
  using Limits = std::numeric_limits<T>;
  static constexpr T inf = Limits::infinity(), nan = Limits::quiet_NaN(), tiniest = Limits::denorm_min();
  static constexpr T all[] = {T(-2.3),        T(-0.4), T(0.3),        T(0.7),    T(1.9),   T{1},
                              T{-1},          T{0},    T{-0.0},       tiniest,   -tiniest, inf,
                              -inf,           nan,     Limits::min(), T(-1e-20), T(1e20),  Limits::max(),
                              -Limits::max(), T(88.7)};
  static constexpr T arriving[] = {T{1}, T(-0.7), T{0}, T{-0.0}, inf, nan, tiniest};
};

/// One function of `count` numbers on a tape, and as a graph: value and gradient at once, and each alone. Pointers,
/// because what is compiled for every operator should be little.
template <class T> struct Forms {
  using Form = modes::Outcome<T> (*)(const T*);
  std::size_t count;
  Form eager, compiled, apart;
};
template <class F, class T, std::size_t count> constexpr Forms<T> formsOf() {
  if constexpr (count == 2)
    return {2, [](const T* x) { return modes::eager(F{}, x[0], x[1]); },
            [](const T* x) { return modes::compiled(F{}, x[0], x[1]); },
            [](const T* x) { return modes::compiledApart(F{}, x[0], x[1]); }};
  else
    return {3, [](const T* x) { return modes::eager(F{}, x[0], x[1], x[2]); },
            [](const T* x) { return modes::compiled(F{}, x[0], x[1], x[2]); },
            [](const T* x) { return modes::compiledApart(F{}, x[0], x[1], x[2]); }};
}

/// That they agree at all points. The last number is what arrives.
template <class T> void expectSameAt(const Forms<T>& forms, const std::vector<T>& x) {
  testing::Message at;
  for (const T number : x) at << " " << number;
  SCOPED_TRACE(testing::Message() << "at" << at);
  const auto want = forms.eager(x.data());
  modes::expectSame(forms.compiled(x.data()), want);
  modes::expectSame(forms.apart(x.data()), want);
}
template <class T> void expectSameEverywhere(const Forms<T>& forms) {
  for (const T u : Points<T>::arriving)
    for (const T x : Points<T>::all) {
      if (forms.count == 2) {
        expectSameAt<T>(forms, {x, u});
        continue;
      }
      for (const T y : Points<T>::all) expectSameAt<T>(forms, {x, y, u});
    }
}

/// The operator, with a gradient u arriving at it.
template <class Op> struct Times {
  template <class X>
  requires(Op::arity == Arity::unary) constexpr X operator()(X x, X u) const {
    return burtorch::apply<Op>(x) * u;
  }
  template <class X>
  requires(Op::arity == Arity::binary) constexpr X operator()(X x, X y, X u) const {
    return burtorch::apply<Op>(x, y) * u;
  }
  template <class X>
  requires(Op::arity == Arity::constant) constexpr X operator()(X x, X u) const {
    return burtorch::applyConstant<Op>(x, 1.7) * u;
  }
};
template <class Op, class T> void testOperator() {
  expectSameEverywhere(formsOf < Times<Op>, T, Op::arity == Arity::binary ? 3 : 2 > ());
}

}  // namespace operators
