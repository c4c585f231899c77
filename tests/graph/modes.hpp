// One function in every mode. A compile-time graph carries out the same operators in the same order as a tape, so what
// is asked for is equality: of values in every bit, of gradients but for the sign of a zero (a tape adds to a zero where
// a graph stores). A NaN equals a NaN: whose payload survives is the compiler's choice. Without -march=native, as the
// tests are built: a machine with fused products may round a graph and a tape differently.
//
// C++ leaves open which operand of a + is evaluated first, so `f(x) + g(x)` may be recorded in one order and traced in
// another, and a gradient of three terms then differs in its last bit. The functions of the tests give names to what
// they compute first.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <burtorch/burtorch.hpp>
#include <cmath>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace modes {

template <class T> bool areSameBits(T x, T y) {
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}
template <class T> bool areSameNumbers(T x, T y) { return (std::isnan(x) && std::isnan(y)) || x == y; }

/// A number that the compiler knows nothing of: one that evaluates exp itself may round otherwise than the library.
template <class T> T opaque(T number) {
  const volatile T hidden = number;
  return hidden;
}

template <class... A> using ScalarOf = typename burtorch::graph::Arguments<A...>::T;
template <class A> using ShapeOf = burtorch::graph::ArgumentTree<burtorch::graph::NormalOf<A>>;

/// The numbers of all arguments, in order.
template <class... A> auto flatten(const A&... x) {
  const auto known = burtorch::graph::flatten(x...);
  std::vector<ScalarOf<A...>> flat;
  for (const auto number : known) flat.push_back(opaque(number));
  return flat;
}
template <class T, class G> std::vector<T> flattenGradient(const G& gradient) {
  const auto flat = burtorch::graph::flatten(gradient);
  return {flat.begin(), flat.end()};
}
template <class T, class... G> std::vector<T> flattenGradient(const std::tuple<G...>& gradient) {
  const auto flat =
      std::apply([](const auto&... part) { return burtorch::graph::flatten(part...); }, gradient);
  return {flat.begin(), flat.end()};
}

/// Calls f with arguments shaped like A..., made of numbers of any type X.
template <class... A, class F, class X> auto callWith(F f, const X* flat) {
  const auto take = [&]<class Shape>(Shape) {
    const X* here = flat;
    flat += Shape::count;
    return Shape::make(here);
  };
  // Braces, because they keep the order.
  const std::tuple<typename ShapeOf<A>::template Rebind<X>...> arguments{take(ShapeOf<A>{})...};
  return std::apply(f, arguments);
}

template <class T> struct Outcome {
  T value;
  std::vector<T> gradient;
};

/// On a tape: output `row` of what `record` makes of the leaves, then backward from there. A pointer, because what is
/// compiled for every function should be little.
template <class T> using Record = burtorch::Value<T> (*)(const burtorch::Value<T>* leaves, std::size_t row);
template <class T>
Outcome<T> recordAndSweep(const std::vector<T>& flat, Record<T> record, std::size_t row = 0) {
  burtorch::Tape<T> tape;
  burtorch::CurrentTape here(tape);
  const auto leaves = tape.leaves(std::span<const T>(flat));
  std::vector<burtorch::Value<T>> handles;
  for (std::size_t i = 0; i < flat.size(); ++i) handles.push_back(leaves[i]);
  const burtorch::Value<T> result = record(handles.data(), row);
  backward(result);
  Outcome<T> outcome{result.dataCopy(), {}};
  for (const auto& handle : handles) outcome.gradient.push_back(handle.gradCopy());
  return outcome;
}
template <class F, class... A> Outcome<ScalarOf<A...>> eager(F, const A&... x) {
  using T = ScalarOf<A...>;
  return recordAndSweep<T>(flatten(x...),
                           [](const burtorch::Value<T>* at, std::size_t) -> burtorch::Value<T> {
                             return callWith<A...>(F{}, at);
                           });
}

/// With dual numbers: `run(duals)` once for every input.
template <class T> using Run = burtorch::Dual<T> (*)(const burtorch::Dual<T>*);
template <class T> Outcome<T> runAlongEach(const std::vector<T>& flat, Run<T> run) {
  Outcome<T> outcome{};
  for (std::size_t i = 0; i < flat.size(); ++i) {
    std::vector<burtorch::Dual<T>> duals(flat.begin(), flat.end());
    duals[i].tangent = T{1};
    const burtorch::Dual<T> result = run(duals.data());
    outcome.value = result.value;
    outcome.gradient.push_back(result.tangent);
  }
  return outcome;
}
template <class F, class... A> Outcome<ScalarOf<A...>> forward(F, const A&... x) {
  using T = ScalarOf<A...>;
  return runAlongEach<T>(flatten(x...), [](const burtorch::Dual<T>* at) -> burtorch::Dual<T> {
    return callWith<A...>(F{}, at);
  });
}

/// As a compile-time graph: value and gradient at once, and each alone.
template <class F, class... A> Outcome<ScalarOf<A...>> compiled(F, const A&... x) {
  const auto both = callWith<A...>(
      [](const auto&... at) { return burtorch::Compiled<F>{}.valueAndGrad(at...); }, flatten(x...).data());
  return {both.value, flattenGradient<ScalarOf<A...>>(both.gradient)};
}
template <class F, class... A> Outcome<ScalarOf<A...>> compiledApart(F, const A&... x) {
  const auto flat = flatten(x...);
  const auto gradient =
      callWith<A...>([](const auto&... at) { return burtorch::Compiled<F>{}.grad(at...); }, flat.data());
  return {callWith<A...>([](const auto&... at) { return burtorch::Compiled<F>{}.value(at...); }, flat.data()),
          flattenGradient<ScalarOf<A...>>(gradient)};
}

template <class T> void expectSame(const Outcome<T>& got, const Outcome<T>& want) {
  EXPECT_TRUE(areSameBits(got.value, want.value)) << got.value << " instead of " << want.value;
  ASSERT_EQ(got.gradient.size(), want.gradient.size());
  for (std::size_t i = 0; i < want.gradient.size(); ++i)
    EXPECT_TRUE(areSameNumbers(got.gradient[i], want.gradient[i]))
        << "gradient " << i << " is " << got.gradient[i] << " instead of " << want.gradient[i];
}
/// Dual numbers multiply in another order: within 8 roundings of the largest derivative.
template <class T> void expectDual(const Outcome<T>& dual, const Outcome<T>& want) {
  EXPECT_TRUE(areSameBits(dual.value, want.value)) << "dual: " << dual.value << " instead of " << want.value;
  T largest = 0;
  for (const T g : want.gradient) largest = std::max(largest, std::abs(g));
  for (std::size_t i = 0; i < want.gradient.size(); ++i)
    EXPECT_NEAR(dual.gradient[i], want.gradient[i], 8 * std::numeric_limits<T>::epsilon() * largest)
        << "dual: derivative " << i;
}
template <class T> void expectPlain(T plain, T want) {
  EXPECT_TRUE(areSameBits(plain, want)) << "plain: " << plain << " instead of " << want;
}

template <class T> void expectSameRow(std::vector<T> gradient, const Outcome<T>& want, std::size_t row) {
  SCOPED_TRACE(testing::Message() << "output " << row);
  expectSame({want.value, std::move(gradient)}, want);
}

/// That the graph agrees with the tape.
template <class F, class... A> void expectLikeEager(F f, const A&... x) {
  expectSame(compiled(f, x...), eager(f, x...));
}

/// That the rows of the Jacobian of a function of several outputs agree with a sweep from each of them.
template <class F, class... A> void expectJacobianLikeEager(F, const A&... x) {
  using T = ScalarOf<A...>;
  const auto flat = flatten(x...);
  const auto jacobian =
      callWith<A...>([](const auto&... at) { return burtorch::Compiled<F>{}.jacobian(at...); }, flat.data());
  for (std::size_t row = 0; row < jacobian.size(); ++row) {
    const Record<T> record = [](const burtorch::Value<T>* at, std::size_t i) {
      return callWith<A...>(F{}, at)[i];
    };
    expectSameRow(flattenGradient<T>(jacobian[row]), recordAndSweep(flat, record, row), row);
  }
}

/// That all modes agree: the graph in its forms, the tape, plain numbers, dual numbers. Plain floats are compared where
/// they stay floats: in `x * 2.0` C++ makes them double.
template <class F, class... A> void expectAllModesAgree(F f, const A&... x) {
  const auto want = eager(f, x...);
  expectSame(compiled(f, x...), want);
  expectSame(compiledApart(f, x...), want);
  expectDual(forward(f, x...), want);
  const auto flat = flatten(x...);
  const auto plain = callWith<A...>(f, flat.data());
  if constexpr (std::is_same_v<decltype(plain), const ScalarOf<A...>>) expectPlain(plain, want.value);
}

}  // namespace modes
