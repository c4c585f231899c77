// First numbers of parameters, from an explicit random stream: the same on every platform.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "../base/rng.hpp"
#include "../ops/scalar.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// How a block of parameters starts.
struct FirstNumbers {
  enum class Kind : std::uint8_t { constant, uniform, normal };
  Kind kind = Kind::constant;
  double size = 0;  // the constant, the bound of uniform numbers, the deviation of normal ones

  static constexpr FirstNumbers constant(double number) { return {Kind::constant, number}; }
  /// From -bound to bound.
  static constexpr FirstNumbers uniform(double bound) { return {Kind::uniform, bound}; }
  static constexpr FirstNumbers normal(double deviation) { return {Kind::normal, deviation}; }
  /// Uniform with variance gain^2 / fanIn, which keeps the size of a signal through a layer with that gain (He et al.
  /// 2015).
  static FirstNumbers byFanIn(std::size_t fanIn, double gain) {
    return uniform(gain * std::sqrt(3.0 / static_cast<double>(fanIn)));
  }
  /// As PyTorch starts the weights and biases of a linear layer.
  static FirstNumbers likeLinear(std::size_t inputs) {
    return uniform(1 / std::sqrt(static_cast<double>(inputs)));
  }
};

/// Draws the numbers in order; constants draw nothing.
template <class T> void fill(std::span<T> numbers, const FirstNumbers& start, Rng& rng) {
  for (T& x : numbers) {
    double number = start.size;
    if (start.kind == FirstNumbers::Kind::uniform) number *= 2 * rng.uniform<double>() - 1;
    if (start.kind == FirstNumbers::Kind::normal) number *= rng.normal<double>();
    x = T(static_cast<PlainOf<T>>(number));
  }
}

}  // namespace burtorch::inline BURTORCH_TARGET
