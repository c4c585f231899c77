// Gradients without the function value (paper F.9.1): a node, typically the loss, whose number is never computed
// because no slope needs it. The operator's vjp rule decides; if it reads the result, the number is computed after
// all. Gradients are the same to the bit.
#pragma once

#include <limits>

#include "../core/backward.hpp"
#include "../core/reduce.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// A root for backward, without a number.
template <class T, Config C = defaultConfig> class GradientOnly {
 public:
  GradientOnly(const Value<T, C>& node, bool isSkipped) : node_(node), isSkipped_(isSkipped) {}

  bool isValueSkipped() const { return isSkipped_; }
  /// An error if the number was skipped.
  T value() const {
    if (isSkipped_) fail("the value of node %u was skipped on request: only its gradient is known", index());
    return node_.value();
  }
  T grad() const { return node_.grad(); }
  NodeIndex index() const { return node_.index(); }
  T dataCopy() const { return value(); }
  T gradCopy() const { return grad(); }

  friend void backward(const GradientOnly& root, typename Sweep<T, C>::Seed seed = T{1}) {
    backward(root.node_, seed.value);
  }

 private:
  Value<T, C> node_;
  bool isSkipped_;
};

/// Whether an operator's vjp rules can do without its result.
template <class Op, class T> inline constexpr bool canSkipValue = !vjpReads<Op, T>().readsResult();

/// A node of `Op` without its number: `auto loss = withoutValue<ops::Sqr>(error); backward(loss);`
template <class Op, class T, Config C> GradientOnly<T, C> withoutValue(Value<T, C> x) {
  if constexpr (!canSkipValue<Op, T>) {
    return {apply<Op>(x), false};
  } else {
    Mode<Value<T, C>>::template recordZeros<Op>(0, x);
    Tape<T, C>& tape = *currentTapeSlot<T, C>;
    const T unknown{std::numeric_limits<PlainOf<T>>::quiet_NaN()};
    return {Value<T, C>(tape.append(opcodeOn<Op>(tape), tape.indexOf(x.handle()), 0, unknown)), true};
  }
}
template <class Op, class T, Config C> GradientOnly<T, C> withoutValue(Value<T, C> x, Value<T, C> y) {
  if constexpr (!canSkipValue<Op, T>) {
    return {apply<Op>(x, y), false};
  } else {
    Mode<Value<T, C>>::template recordZeros<Op>(0, x, y);
    Tape<T, C>& tape = *currentTapeSlot<T, C>;
    const T unknown{std::numeric_limits<PlainOf<T>>::quiet_NaN()};
    const NodeIndex a = tape.indexOf(x.handle()), b = tape.indexOf(y.handle());
    return {Value<T, C>(tape.append(opcodeOn<Op>(tape), a, b, unknown)), true};
  }
}
template <class Op, NumberList L>
requires(!isScalarOp<Op>) auto withoutValue(const L& xs) {
  using V = ElementOf<L>;
  constexpr bool isSkipped = canSkipValue<Op, typename V::Scalar>;
  return GradientOnly(detail::ListMode<V>::template varying<Op, isSkipped>(xs), isSkipped);
}

}  // namespace burtorch::inline BURTORCH_TARGET
