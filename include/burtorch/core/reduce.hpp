// Functions of lists of numbers, in every mode: plain numbers, Value, Dual, compile-time graphs.
//
// A list is anything with std::data and std::size over numbers (array, vector, span, initialiser list). For Values it
// may also be a Range (contiguous or strided) or a list of Ranges, which is read as one list without being copied.
#pragma once

#include <concepts>
#include <initializer_list>
#include <span>
#include <utility>

#include "value_lists.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Carries out a list operator, the library's or the user's own, on a list of numbers of any mode.
template <class Op, NumberList L> constexpr ElementOf<L> applyToList(const L& xs) {
  return detail::ListMode<ElementOf<L>>::template varying<Op>(xs);
}

template <NumberList L> constexpr auto reduceSum(const L& xs) { return applyToList<ops::AddVarying>(xs); }
template <NumberList L> constexpr auto reduceSub(const L& xs) { return applyToList<ops::SubVarying>(xs); }
template <NumberList L> constexpr auto reduceMean(const L& xs) { return applyToList<ops::MeanVarying>(xs); }
template <NumberList L> constexpr auto reduceNegativeMean(const L& xs) {
  return applyToList<ops::NegativeMeanVarying>(xs);
}
template <NumberList L> constexpr auto reduceSumOfSquares(const L& xs) {
  return applyToList<ops::SumOfSquaresVarying>(xs);
}
template <NumberList L> constexpr auto reduceMeanSquares(const L& xs) {
  return applyToList<ops::MeanSquaresVarying>(xs);
}
template <NumberList L> constexpr auto varianceBiased(const L& xs) {
  return applyToList<ops::VarianceBiased>(xs);
}
template <NumberList L> constexpr auto variance(const L& xs) { return applyToList<ops::Variance>(xs); }
template <NumberList L> constexpr auto logSumExp(const L& xs) { return applyToList<ops::LogSumExp>(xs); }
/// The mean and the mean of squares, two nodes.
template <NumberList L> constexpr auto reduceMeanAndMeanSquares(const L& xs) {
  return std::pair(reduceMean(xs), reduceMeanSquares(xs));
}

/// -log of the softmax probability of element `target`, fused: exact for logits of any size.
template <NumberList L> constexpr ElementOf<L> crossEntropy(const L& logits, std::size_t target) {
  using X = ElementOf<L>;
  const std::size_t count = detail::ListMode<X>::count(logits);
  detail::requireElements(count, ops::CrossEntropy::name);
  if (target >= count)
    fail(ErrorCode::outOfRange, "crossEntropy with target %zu of %zu logits", target, count);
  return detail::ListMode<X>::template varying<ops::CrossEntropy>(logits, target);
}

template <NumberList L> constexpr ElementOf<L> reduceMul(const L& xs) {
  using X = ElementOf<L>;
  if constexpr (requires { detail::ListMode<X>::template block<ops::MulVarying>(xs); }) {
    const auto products = detail::ListMode<X>::template block<ops::MulVarying>(xs);
    return products[products.size() - 1];
  } else {
    detail::requireElements(std::size(xs), ops::MulVarying::name);
    return ops::MulVarying::product(detail::ListMode<X>::listOf(xs));
  }
}

/// One of the lists may be data: plain numbers, which are copied, get no gradient and make no nodes.
template <NumberList L, NumberList M> constexpr auto innerProduct(const L& xs, const M& ys) {
  detail::requireDataIsTaken<L, M>();
  using X = detail::ElementOfBoth<L, M>;
  return detail::ListMode<X>::template pair<ops::InnerProductNoBias>(xs, ys);
}
template <NumberList L, NumberList M>
constexpr auto innerProductWithBias(const L& xs, const M& ys, detail::ElementOfBoth<L, M> bias) {
  detail::requireDataIsTaken<L, M>();
  using X = detail::ElementOfBoth<L, M>;
  return detail::ListMode<X>::template pairWithBias<ops::InnerProductWithBias>(xs, ys, bias);
}
/// With a sparse row: the sum of xs[indices[i]] * values[i]. The row is data.
template <NumberList L, class I, NumberList M>
requires std::integral<detail::ItemOf<I>>
auto innerProduct(const L& xs, const I& indices, const M& values) {
  using X = ElementOf<L>;
  using At = detail::ItemOf<I>;
  detail::requireDataIsTaken<L, M>();
  const detail::Gathered<L, At> chosen{xs, {std::data(indices), std::size(indices)}};
  if constexpr (requires { typename detail::ListMode<X>::Writer; }) {
    return detail::ListMode<X>::template pair<ops::InnerProductNoBias>(chosen, values);
  } else {
    detail::requireElements(chosen.size(), ops::InnerProductNoBias::name);
    detail::requireEqual(chosen.size(), std::size(values), ops::InnerProductNoBias::name);
    X sum{0};
    for (std::size_t i = 0; i < chosen.size(); ++i) sum = sum + chosen[i] * X(std::data(values)[i]);
    return sum;
  }
}

/// exp(x_i) / sum exp(x_j), as a block of nodes.
template <NumberList L>
requires requires(const L& xs) { detail::ListMode<ElementOf<L>>::template block<ops::Softmax>(xs); }
constexpr auto softmax(const L& xs) {
  return detail::ListMode<ElementOf<L>>::template block<ops::Softmax>(xs);
}
/// The same into a list of the same length, in every mode.
template <NumberList L> constexpr void softmax(const L& xs, std::span<ElementOf<L>> out) {
  using Lists = detail::ListMode<ElementOf<L>>;
  detail::requireElements(Lists::count(xs), ops::Softmax::name);
  detail::requireEqual(Lists::count(xs), out.size(), ops::Softmax::name);  // before anything is recorded
  if constexpr (requires { softmax(xs); }) {
    const auto block = softmax(xs);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = block[i];
  } else {
    ops::Softmax::value(Lists::listOf(xs), out.data());
  }
}

// The same on a list in braces: reduceSum({a, b, c}).
template <Number X> constexpr X reduceSum(std::initializer_list<X> xs) {
  return applyToList<ops::AddVarying>(xs);
}
template <Number X> constexpr X reduceSub(std::initializer_list<X> xs) {
  return applyToList<ops::SubVarying>(xs);
}
template <Number X> constexpr X reduceMul(std::initializer_list<X> xs) {
  return reduceMul(std::span(xs.begin(), xs.size()));
}
template <Number X> constexpr X reduceMean(std::initializer_list<X> xs) {
  return applyToList<ops::MeanVarying>(xs);
}
template <Number X> constexpr X reduceNegativeMean(std::initializer_list<X> xs) {
  return applyToList<ops::NegativeMeanVarying>(xs);
}
template <Number X> constexpr X reduceSumOfSquares(std::initializer_list<X> xs) {
  return applyToList<ops::SumOfSquaresVarying>(xs);
}
template <Number X> constexpr X reduceMeanSquares(std::initializer_list<X> xs) {
  return applyToList<ops::MeanSquaresVarying>(xs);
}
template <Number X> constexpr X varianceBiased(std::initializer_list<X> xs) {
  return applyToList<ops::VarianceBiased>(xs);
}
template <Number X> constexpr X variance(std::initializer_list<X> xs) {
  return applyToList<ops::Variance>(xs);
}
template <Number X> constexpr X logSumExp(std::initializer_list<X> xs) {
  return applyToList<ops::LogSumExp>(xs);
}
template <Number X> constexpr X crossEntropy(std::initializer_list<X> logits, std::size_t target) {
  return crossEntropy(std::span(logits.begin(), logits.size()), target);
}
template <Number X> constexpr X innerProduct(std::initializer_list<X> xs, std::initializer_list<X> ys) {
  return innerProduct(std::span(xs.begin(), xs.size()), std::span(ys.begin(), ys.size()));
}

}  // namespace burtorch::inline BURTORCH_TARGET
