// What the tests of operators of lists share: how each of them is called, and numbers to call it with.
#pragma once

#include <array>
#include <burtorch/burtorch.hpp>
#include <cmath>
#include <span>
#include <type_traits>

#include "graph/operators.hpp"

namespace operators {

using OfAnyList = WithArity<burtorch::Arity::varying, burtorch::Arity::pair, burtorch::Arity::block>;

/// One number from an operator of one list or of two.
template <class Op, class L, class X> constexpr X reduce(const L& xs, const L& ys, X bias) {
  if constexpr (std::is_same_v<Op, burtorch::ops::CrossEntropy>) {
    return crossEntropy(xs, std::size(xs) / 2);
  } else if constexpr (std::is_same_v<Op, burtorch::ops::InnerProductWithBias>) {
    return innerProductWithBias(xs, ys, bias);
  } else if constexpr (std::is_same_v<Op, burtorch::ops::InnerProductNoBias>) {
    return innerProduct(xs, ys);
  } else if constexpr (std::is_same_v<Op, burtorch::ops::MulVarying>) {
    return reduceMul(xs);
  } else if constexpr (std::is_same_v<Op, burtorch::ops::Softmax>) {
    const std::size_t n = std::size(xs);
    const auto outputs = softmax(xs);
    return outputs[0] * bias - outputs[n / 2] * outputs[n - 1];
  } else {
    static_assert(Op::arity == Arity::varying && !Op::takesIndex, "how is the new operator called?");
    return applyToList<Op>(xs);
  }
}

template <class T, std::size_t n> std::array<T, n> someNumbers(double shift) {
  std::array<T, n> numbers;
  for (std::size_t i = 0; i < n; ++i)
    numbers[i] = static_cast<T>(1.1 + std::sin(shift + static_cast<double>(i)));
  return numbers;
}

/// The first 1, 2, 3, ... numbers: all tails of the loops. The derivative with respect to u is the value.
template <class Op, std::size_t... lengths> struct OfLengths {
  template <class L, class X> constexpr auto operator()(const L& x, const L& y, X bias, X u) const {
    std::array<X, sizeof...(lengths)> results;
    std::size_t i = 0;
    ((results[i++] =
          reduce<Op>(std::span<const X>(x).first(lengths), std::span<const X>(y).first(lengths), bias) * u),
     ...);
    return results;
  }
};

template <class Op, class T, std::size_t... lengths> void expectLengthsLikeEager() {
  modes::expectJacobianLikeEager(OfLengths<Op, lengths...>{}, someNumbers<T, 100>(0.3),
                                 someNumbers<T, 100>(0.8), T(0.7), T(1));
}

/// Agreement with the tape at some numbers, and with one or two of them at the edges of the number range.
template <class F, std::size_t n> void expectSameEverywhere(F f) {
  const auto x = someNumbers<double, n>(0.3), y = someNumbers<double, n>(0.8);
  modes::expectJacobianLikeEager(f, x, y, 0.7, 1.0);
  for (const double edge : Points<double>::all)
    for (const std::size_t i : {n / 4, n / 2}) {
      SCOPED_TRACE(testing::Message() << edge << " at " << i);
      auto other = x, second = y;
      other[i] = edge;
      modes::expectJacobianLikeEager(f, other, y, 0.7, -1.9);
      second[n - 1 - i] = edge;
      modes::expectJacobianLikeEager(f, other, second, edge, -1.9);
    }
}

}  // namespace operators
