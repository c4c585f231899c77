// micrograd's demo: a network of 2-16-16-1 neurons, 337 parameters, that tells two moons apart. One function over any
// number type, in micrograd's own form, weight by weight: on a tape it makes 643 nodes per sample.
#pragma once

#include <array>
#include <burtorch/burtorch.hpp>
#include <cstddef>

namespace moons {

inline constexpr std::size_t width = 16;
inline constexpr std::size_t parameterCount = (2 + 1) * width + (width + 1) * width + (width + 1);
static_assert(parameterCount == 337);

/// A point and the moon it belongs to: +1 or -1.
template <class X> struct Sample { X x, y, label; };

/// Neurons are written down one after another: weights, then the bias.
template <std::size_t outputs, class X, std::size_t inputs, class Weights>
constexpr std::array<X, outputs> layer(const Weights& w, std::size_t first, const std::array<X, inputs>& x) {
  std::array<X, outputs> y{};
  for (std::size_t neuron = 0; neuron < outputs; ++neuron) {
    const std::size_t at = first + neuron * (inputs + 1);
    X sum = w[at + inputs];
    for (std::size_t i = 0; i < inputs; ++i) sum += w[at + i] * x[i];
    y[neuron] = sum;
  }
  return y;
}

template <class X, std::size_t n> constexpr std::array<X, n> relu(std::array<X, n> x) {
  for (X& element : x) element = burtorch::relu(element);
  return x;
}

/// Positive on one moon, negative on the other.
constexpr auto score = [](const auto& w, const auto& sample) {
  const auto hidden = relu(layer<width>(w, 0, std::array{sample.x, sample.y}));
  const auto second = relu(layer<width>(w, 3 * width, hidden));
  return layer<1>(w, 3 * width + (width + 1) * width, second)[0];
};

/// The margin loss of one sample: max(0, 1 - label * score).
constexpr auto loss = [](const auto& w, const auto& sample) {
  return burtorch::relu(1.0 - sample.label * score(w, sample));
};

/// The penalty on large weights.
constexpr auto penalty = [](const auto& w) { return burtorch::reduceSumOfSquares(w) * 1e-4; };

}  // namespace moons
