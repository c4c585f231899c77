// grad and valueAndGrad: the gradient of a function at a point, recorded on a tape of its own; and detach.
#pragma once

#include <concepts>
#include <span>
#include <type_traits>
#include <vector>

#include "../ops/dual.hpp"
#include "inputs.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// The number alone, without a path to what it was computed from: gradients stop here.
template <std::floating_point T> constexpr T detach(T x) { return x; }
template <class T> constexpr Dual<T> detach(const Dual<T>& x) { return Dual<T>(detach(x.value)); }
template <class T, Config C> Value<T, C> detach(const Value<T, C>& x) {
  return Value<T, C>(detach(x.value()));
}

/// Writes the gradient of `f` at `x`, any list of plain numbers, and returns the value. `f` takes std::span<const X> of
/// any number type X and returns an X. To evaluate the same function often, `record` or `compile` it.
template <Config C = defaultConfig, class F, class L>
auto valueAndGrad(F&& f, const L& x, std::span<std::type_identity_t<ElementOf<L>>> gradient) {
  using T = ElementOf<L>;
  const std::size_t count = std::size(x);
  if (gradient.size() != count)
    fail("valueAndGrad: expected room for a gradient of %zu numbers, got %zu", count, gradient.size());
  const detail::FunctionInputs<T, C> inputs(count);
  for (std::size_t i = 0; i < count; ++i) inputs.values()[i] = std::data(x)[i];
  const Value<T, C> y(f(inputs.handles()));
  backward(y);
  for (std::size_t i = 0; i < count; ++i) gradient[i] = inputs.gradients()[i];
  return y.value();
}
template <Config C = defaultConfig, class F, class L>
void grad(F&& f, const L& x, std::span<std::type_identity_t<ElementOf<L>>> gradient) {
  valueAndGrad<C>(f, x, gradient);
}

/// The same into a new vector: `auto [value, gradient] = valueAndGrad(f, std::array{1.5, -0.4});`
template <class T> struct ValueAndGradient {
  T value;
  std::vector<T> gradient;
};
template <Config C = defaultConfig, class F, class L> auto valueAndGrad(F&& f, const L& x) {
  ValueAndGradient<ElementOf<L>> result{{}, std::vector<ElementOf<L>>(std::size(x))};
  result.value = valueAndGrad<C>(f, x, result.gradient);
  return result;
}
template <Config C = defaultConfig, class F, class L> auto grad(F&& f, const L& x) {
  return valueAndGrad<C>(f, x).gradient;
}

}  // namespace burtorch::inline BURTORCH_TARGET
