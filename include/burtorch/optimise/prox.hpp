// Regularisers R that a step handles exactly, by their proximal operator: prox(x) = argmin_u R(u) + (u - x)^2 / (2 gamma), number
// by number. One regulariser = one struct: its value and its prox.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <variant>

#include "../base/check.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// R = 0
struct NoRegulariser {
  static constexpr std::string_view name = "none";
  double valueAt(double) const { return 0; }
  template <class T> T prox(T x, T) const { return x; }
};
/// R = weight * sum |x|: numbers move towards 0 by gamma * weight, and stay there (soft threshold).
struct L1 {
  static constexpr std::string_view name = "l1";
  double weight = 0;
  double valueAt(double x) const { return weight * std::abs(x); }
  template <class T> T prox(T x, T gamma) const {
    const T step = gamma * static_cast<T>(weight);
    return x > step ? x - step : x < -step ? x + step : x != x ? x : T{0};
  }
};
/// R = weight / 2 * sum x^2
struct SquaredL2 {
  static constexpr std::string_view name = "l2";
  double weight = 0;
  double valueAt(double x) const { return weight / 2 * x * x; }
  template <class T> T prox(T x, T gamma) const { return x / (T{1} + gamma * static_cast<T>(weight)); }
};
/// R = 0 where every number is in [low, high], infinite elsewhere: numbers are clipped.
struct Box {
  static constexpr std::string_view name = "box";
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  double valueAt(double x) const {
    return x >= low && x <= high ? 0 : std::numeric_limits<double>::infinity();
  }
  template <class T> T prox(T x, T) const {
    const T least = static_cast<T>(low), most = static_cast<T>(high);
    return x < least ? least : x > most ? most : x;
  }
};
/// Any of them, chosen while the program runs.
using Regulariser = std::variant<NoRegulariser, L1, SquaredL2, Box>;

/// Fails unless there is such a regulariser.
inline void checkRegulariser(const Regulariser& regulariser) {
  std::visit(
      [](const auto& r) {
        if constexpr (requires { r.weight; }) {
          if (!(r.weight >= 0 && std::isfinite(r.weight)))
            fail("regulariser: expected a finite weight, 0 or more, got %g", r.weight);
        }
        if constexpr (requires { r.low; }) {
          if (!(r.low <= r.high)) fail("regulariser: an interval from %g to %g is empty", r.low, r.high);
        }
      },
      regulariser);
}
/// R(x)
template <std::floating_point T> double valueOf(const Regulariser& regulariser, std::span<const T> x) {
  return std::visit(
      [&](const auto& r) {
        double sum = 0;
        for (const T number : x) sum += r.valueAt(static_cast<double>(number));
        return sum;
      },
      regulariser);
}
/// to = prox(x - gamma * g); `to` may be x.
template <std::floating_point T>
void proximalStep(const Regulariser& regulariser, T gamma, const T* x, const T* g, T* to, std::size_t count) {
  std::visit(
      [&](const auto& r) {
        for (std::size_t i = 0; i < count; ++i) to[i] = r.prox(x[i] - gamma * g[i], gamma);
      },
      regulariser);
}

}  // namespace burtorch::inline BURTORCH_TARGET
