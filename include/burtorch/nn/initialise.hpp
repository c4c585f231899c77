// First numbers of parameters, from an explicit random stream: the same on every platform.
#pragma once

#include <cmath>
#include <span>

#include "../core/rng.hpp"
#include "parameters.hpp"

namespace burtorch {

/// From -bound to bound.
template <class T> void fillUniform(std::span<T> numbers, double bound, Rng& rng) {
  for (T& x : numbers) x = static_cast<T>((2 * rng.uniform<double>() - 1) * bound);
}
template <class T> void fillNormal(std::span<T> numbers, double deviation, Rng& rng) {
  for (T& x : numbers) x = static_cast<T>(rng.normal<double>() * deviation);
}
/// Uniform with variance gain^2 / fanIn, which keeps the size of a signal through a layer with that gain (He et al. 2015).
template <class T> void fillByFanIn(std::span<T> numbers, std::size_t fanIn, double gain, Rng& rng) {
  fillUniform(numbers, gain * std::sqrt(3.0 / static_cast<double>(fanIn)), rng);
}

/// As PyTorch starts its modules: linear layers uniform within 1 / sqrt(inputs), embeddings standard normal, norms 1 and 0.
template <class T, Config C> void initialiseLikePyTorch(Parameters<T, C>& parameters, Rng& rng) {
  std::size_t inputs = 1;  // of the weight before a bias
  bool isOfNorm = false;
  for (const Parameter& block : parameters.blocks()) {
    const std::span<T> values = parameters.values(block);
    switch (block.role) {
      case ParameterRole::weight:
        inputs = block.columns;
        isOfNorm = false;
        fillUniform(values, 1 / std::sqrt(static_cast<double>(inputs)), rng);
        break;
      case ParameterRole::bias:
        fillUniform(values, isOfNorm ? 0 : 1 / std::sqrt(static_cast<double>(inputs)), rng);
        break;
      case ParameterRole::gain:
        isOfNorm = true;
        for (T& x : values) x = T{1};
        break;
      case ParameterRole::table: fillNormal(values, 1, rng); break;
    }
  }
}

/// As GPT-2: everything normal with deviation 0.02, biases 0, gains 1.
template <class T, Config C> void initialiseLikeGpt2(Parameters<T, C>& parameters, Rng& rng) {
  for (const Parameter& block : parameters.blocks()) {
    const std::span<T> values = parameters.values(block);
    if (block.role == ParameterRole::bias || block.role == ParameterRole::gain)
      for (T& x : values) x = block.role == ParameterRole::gain ? T{1} : T{0};
    else
      fillNormal(values, 0.02, rng);
  }
}

}  // namespace burtorch
