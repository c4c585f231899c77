// What is learned here: exclusive or by a network of 2-4-1 neurons, and micrograd's two moons by one of 2-16-16-1. The
// functions are templates over the number type, so they run on a tape and as compile-time graphs. Sizes are ordinary arguments:
// one function for all layers is the smallest program.
#pragma once

#include <array>
#include <burtorch/base/rng.hpp>
#include <burtorch/ops/ops_unary.hpp>
#include <cstddef>
#include <span>

/// A point and what belongs to it: a bit, or the moon, +1 or -1.
template <class X> struct Sample { X x, y, label; };

/// Neurons are written down one after another: weights, then the bias. Returns where the next layer begins.
template <class X, class Weights>
constexpr std::size_t layer(const Weights& weights, std::size_t at, std::span<const X> x, std::span<X> y) {
  for (X& neuron : y) {
    neuron = weights[at + x.size()];
    for (const X& input : x) neuron += weights[at++] * input;
    ++at;
  }
  return at;
}

namespace exclusive_or {

inline constexpr std::size_t width = 4, parameterCount = 3 * width + (width + 1);

constexpr auto loss = [](const auto& weights, const auto& sample) {
  std::array point{sample.x, sample.y};
  using X = typename decltype(point)::value_type;
  std::array<X, width> hidden{};
  std::array<X, 1> out{};
  const std::size_t next = layer<X>(weights, 0, point, hidden);
  for (X& h : hidden) h = tanh(h);
  layer<X>(weights, next, hidden, out);
  return sqr(out[0] - sample.label);
};

inline constexpr Sample<float> samples[] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 1}, {1, 1, 0}};
inline constexpr float rate = 0.5f;
inline constexpr std::uint32_t steps = 1000;

}  // namespace exclusive_or

namespace moons {

inline constexpr std::size_t width = 16, parameterCount = 3 * width + (width + 1) * width + (width + 1);
static_assert(parameterCount == 337);

/// Positive on one moon, negative on the other.
constexpr auto score = [](const auto& weights, const auto& sample) {
  std::array point{sample.x, sample.y};
  using X = typename decltype(point)::value_type;
  std::array<X, width> first{}, second{};
  std::array<X, 1> out{};
  std::size_t next = layer<X>(weights, 0, point, first);
  for (X& h : first) h = relu(h);
  next = layer<X>(weights, next, first, second);
  for (X& h : second) h = relu(h);
  layer<X>(weights, next, second, out);
  return out[0];
};
/// The margin loss: max(0, 1 - label * score).
constexpr auto loss = [](const auto& weights, const auto& sample) {
  return relu(1.0f - sample.label * score(weights, sample));
};

/// Without sine and cosine: of a half circle, the point to the fraction p of the way is
/// ((q^2 - p^2) / (q^2 + p^2), 2 p q / (q^2 + p^2)) with q = 1 - p.
template <std::size_t count> std::array<Sample<float>, count> points(burtorch::Rng& rng) {
  std::array<Sample<float>, count> samples;
  for (std::size_t i = 0; i < count; ++i) {
    const float p = static_cast<float>(i / 2) / static_cast<float>(count / 2 - 1), q = 1 - p;
    const float square = p * p + q * q, x = (q * q - p * p) / square, y = 2 * p * q / square;
    samples[i] = i % 2 == 0 ? Sample<float>{x, y, -1} : Sample<float>{1 - x, 0.5f - y, 1};
    samples[i].x += 0.2f * rng.uniform<float>() - 0.1f;
    samples[i].y += 0.2f * rng.uniform<float>() - 0.1f;
  }
  return samples;
}
inline constexpr float rate = 0.2f;
inline constexpr std::uint32_t steps = 100;

}  // namespace moons

/// First weights of a layer, between -1 and 1, and biases of 0. Returns what is left for the next layers.
inline std::span<float> draw(std::span<float> weights, std::size_t inputs, std::size_t neurons,
                             burtorch::Rng& rng) {
  for (std::size_t neuron = 0; neuron < neurons; ++neuron, weights = weights.subspan(inputs + 1)) {
    for (std::size_t i = 0; i < inputs; ++i) weights[i] = 2 * rng.uniform<float>() - 1;
    weights[inputs] = 0;
  }
  return weights;
}
