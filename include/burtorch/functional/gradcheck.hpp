// gradcheck: does the gradient of a function agree with the function itself? For users' functions and operators.
#pragma once

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "grad.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// What gradcheck found: the variable where gradient and central difference disagree most, both numbers, and by how
/// much, relative to max(1, |gradient|).
struct GradcheckResult {
  bool isOk = true;
  std::size_t worst = 0;
  double gradient = 0, difference = 0, error = 0;

  explicit operator bool() const { return isOk; }
};

/// Compares reverse-mode gradients of `f` at `x` with central differences. `f` takes std::span<const X> of any number
/// type X and returns an X: gradcheck([](auto x) { return sqr(x[0]) * x[1]; }, std::array{1.5, -0.4}).
template <Config C = defaultConfig, class F, class L>
GradcheckResult gradcheck(F&& f, const L& x, double tolerance = 1e-6) {
  using T = ElementOf<L>;
  const std::size_t count = std::size(x);
  const std::vector<T> gradients = grad<C>(f, x);

  Buffer<T> point;
  point.allocate(count);
  for (std::size_t i = 0; i < count; ++i) point.data()[i] = std::data(x)[i];
  const auto valueAt = [&](std::size_t i, T xi) {
    point.data()[i] = xi;
    const T value = f(std::span<const T>(point.data(), count));
    point.data()[i] = std::data(x)[i];
    return static_cast<double>(value);
  };
  GradcheckResult result;
  for (std::size_t i = 0; i < count; ++i) {
    const T xi = std::data(x)[i];
    // The step that balances the error of the formula, h^2, against rounding, eps / h.
    const T h = std::cbrt(std::numeric_limits<T>::epsilon()) * (std::abs(xi) > T{1} ? std::abs(xi) : T{1});
    const T up = xi + h, down = xi - h;
    const double difference = (valueAt(i, up) - valueAt(i, down)) / static_cast<double>(up - down);
    const double gradient = static_cast<double>(gradients[i]);
    const double scale = std::abs(gradient) > 1 ? std::abs(gradient) : 1;
    const double error = std::abs(gradient - difference) / scale;
    // A NaN is the worst of all, and stays.
    if (!(error <= result.error) && !std::isnan(result.error))
      result = {true, i, gradient, difference, error};
  }
  result.isOk = result.error <= tolerance;
  return result;
}

}  // namespace burtorch::inline BURTORCH_TARGET
