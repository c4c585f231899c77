// Hessian-vector products of a function, by one sweep over a tape of dual numbers.
#pragma once

#include <span>

#include "../core/sweep.hpp"
#include "../ops/dual.hpp"
#include "inputs.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Writes the product of the Hessian of `f` at `x` with the vector `v`, and the gradient where there is room for one.
/// `f` takes std::span<const X> of any number type X and returns an X.
template <class T, Config C = defaultConfig, class F>
void hvp(F&& f, std::span<const T> x, std::span<const T> v, std::span<T> product,
         std::span<T> gradient = {}) {
  if (v.size() != x.size() || product.size() != x.size() ||
      (!gradient.empty() && gradient.size() != x.size()))
    fail("hvp: expected a vector and a result of %zu numbers, got %zu and %zu", x.size(), v.size(),
         product.size());
  const detail::FunctionInputs<Dual<T>, C> inputs(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) inputs.values()[i] = {x[i], v[i]};
  backward(f(inputs.handles()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    product[i] = inputs.gradients()[i].tangent;
    if (!gradient.empty()) gradient[i] = inputs.gradients()[i].value;
  }
}

#ifdef BURTORCH_COMPILED  // see core/sweep.hpp
BURTORCH_SWEEP_INSTANCES(extern, Dual<double>)
BURTORCH_SWEEP_INSTANCES(extern, Dual<float>)
#endif

}  // namespace burtorch::inline BURTORCH_TARGET
