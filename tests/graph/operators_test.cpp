// Every operator of one number, of two, and of one and a constant in a compile-time graph: the bits of the tape, at
// generic points, at the edges of the number range, and whatever gradient arrives. The cases are made from OpList, so a
// new operator is covered on the day it is listed.
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <limits>
#include <string>
#include <utility>

#include "graph/modes.hpp"

namespace burtorch {
namespace {

/// The operators of numbers among those of the library, as gtest wants them.
template <class Op>
inline constexpr bool isOfNumbers =
    Op::arity == Arity::unary || Op::arity == Arity::binary || Op::arity == Arity::constant;
template <class Found, class... Ops> struct OfNumbers { using Type = Found; };
template <class... Found, class Op, class... Ops> struct OfNumbers<testing::Types<Found...>, Op, Ops...> {
  using Longer = std::conditional_t<isOfNumbers<Op>, testing::Types<Found..., Op>, testing::Types<Found...>>;
  using Type = typename OfNumbers<Longer, Ops...>::Type;
};
template <class... Ops> typename OfNumbers<testing::Types<>, Ops...>::Type ofNumbers(TypeList<Ops...>);

template <class Op> class OperatorsOfNumbers : public testing::Test {};
struct OperatorName {
  template <class Op> static std::string GetName(int) { return std::string(Op::name); }
};
TYPED_TEST_SUITE(OperatorsOfNumbers, decltype(ofNumbers(OpList{})), OperatorName);

// The functions: u arrives at the operator.
template <class Op> struct Times {
  template <class X>
  requires(Op::arity == Arity::unary) constexpr X operator()(X x, X u) const { return apply<Op>(x) * u; }
  template <class X>
  requires(Op::arity == Arity::constant) constexpr X operator()(X x, X u) const {
    return applyConstant<Op>(x, 1.7) * u;
  }
  template <class X>
  requires(Op::arity == Arity::binary) constexpr X operator()(X x, X y, X u) const {
    return apply<Op>(x, y) * u;
  }
};
/// Exponents for which pow has rules of its own, zeros, and others.
constexpr std::array constants{-2.3, 0.5, -0.5, 2.0, 3.0, 0.0, -0.0, 1.0, -1.0};
template <class Op> struct TimesEach {
  template <class X> constexpr std::array<X, constants.size()> operator()(X x, X u) const {
    std::array<X, constants.size()> results;
    for (std::size_t i = 0; i < constants.size(); ++i) results[i] = applyConstant<Op>(x, constants[i]) * u;
    return results;
  }
};

template <class T> struct Points {
  using Limits = std::numeric_limits<T>;
  static constexpr T inf = Limits::infinity(), nan = Limits::quiet_NaN(), tiniest = Limits::denorm_min();
  static constexpr T generic[] = {T(-2.3), T(-0.4), T(0.3), T(0.7), T(1.9)};
  static constexpr T edges[] = {T{0},      T{-0.0},        tiniest,       -tiniest, Limits::min(),
                                T(-1e-20), T(1e20),        Limits::max(), inf,      -inf,
                                nan,       -Limits::max(), T{1},          T{-1},    T(88.7)};
  static constexpr T arriving[] = {T{1}, T(-0.7), T{0}, T{-0.0}, inf, nan, tiniest};
};

/// The graph, its gradient with and without the value, against the tape.
template <class F, class... T> void expectLikeTape(F f, T... x) {
  const auto want = modes::eager(f, x...);
  modes::expectSame(modes::compiled(f, x...), want);
  modes::expectSame(modes::compiledApart(f, x...), want);
  if (!testing::Test::HasFailure()) return;
  std::string at;
  for (const auto number : {x...}) at += " " + std::to_string(number);
  FAIL() << "at" << at;
}

template <class Op, class T> void testAtAll(const auto& points) {
  for (const T u : Points<T>::arriving)
    for (const T x : points) {
      if constexpr (Op::arity == Arity::binary)
        for (const T y : points) ASSERT_NO_FATAL_FAILURE(expectLikeTape(Times<Op>{}, x, y, u));
      else
        ASSERT_NO_FATAL_FAILURE(expectLikeTape(Times<Op>{}, x, u));
    }
}
TYPED_TEST(OperatorsOfNumbers, Fp64AtGenericPoints) { testAtAll<TypeParam, double>(Points<double>::generic); }
TYPED_TEST(OperatorsOfNumbers, Fp64AtTheEdges) { testAtAll<TypeParam, double>(Points<double>::edges); }
TYPED_TEST(OperatorsOfNumbers, Fp32AtGenericPoints) { testAtAll<TypeParam, float>(Points<float>::generic); }
TYPED_TEST(OperatorsOfNumbers, Fp32AtTheEdges) { testAtAll<TypeParam, float>(Points<float>::edges); }

/// Output `which` of a function of several, which is what a tape sweeps from.
template <class F, std::size_t which> struct OneOf {
  template <class X> X operator()(X x, X u) const { return F{}(x, u)[which]; }
};
template <class Op, class T, std::size_t... i> void testConstants(T x, T u, std::index_sequence<i...>) {
  const auto jacobian = compile(TimesEach<Op>{}).jacobian(modes::opaque(x), modes::opaque(u));
  const auto values = compile(TimesEach<Op>{}).value(modes::opaque(x), modes::opaque(u));
  const modes::Outcome<T> want[] = {modes::eager(OneOf<TimesEach<Op>, i>{}, x, u)...};
  for (std::size_t k = 0; k < constants.size(); ++k) {
    SCOPED_TRACE(testing::Message() << "constant " << constants[k] << " at " << x << " with " << u);
    modes::expectSame({values[k], {jacobian[k].begin(), jacobian[k].end()}}, want[k]);
  }
}
template <class Op, class T> void testConstants() {
  if constexpr (Op::arity == Arity::constant)
    for (const T u : Points<T>::arriving) {
      constexpr auto all = std::make_index_sequence<constants.size()>{};
      for (const T x : Points<T>::generic) testConstants<Op>(x, u, all);
      for (const T x : Points<T>::edges) testConstants<Op>(x, u, all);
    }
}
TYPED_TEST(OperatorsOfNumbers, Fp64WithAllConstants) { testConstants<TypeParam, double>(); }

}  // namespace
}  // namespace burtorch
