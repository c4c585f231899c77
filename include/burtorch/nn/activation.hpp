// Activations by name, for layers whose activation is an option: of a matrix, of a single number, and the gain that keeps
// the size of a signal through a layer with it (as PyTorch's calculate_gain).
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "../core/reduce.hpp"
#include "elementwise.hpp"

namespace burtorch::inline BURTORCH_TARGET {

enum class Activation : std::uint8_t { identity, sigmoid, relu, tanh, gelu, geluTanh };

inline constexpr std::string_view activationNames[] = {"identity", "sigmoid", "relu",
                                                       "tanh",     "gelu",    "gelu-tanh"};

inline std::string_view nameOf(Activation activation) {
  return activationNames[static_cast<std::size_t>(activation)];
}
inline Activation activationFromName(std::string_view name) {
  for (std::size_t i = 0; i < std::size(activationNames); ++i)
    if (activationNames[i] == name) return static_cast<Activation>(i);
  fail("there is no activation called \"%.*s\": choose from identity, sigmoid, relu, tanh, gelu, gelu-tanh",
       static_cast<int>(name.size()), name.data());
}
inline double gainOf(Activation activation) {
  switch (activation) {
    case Activation::tanh: return 5.0 / 3.0;
    case Activation::relu:
    case Activation::gelu:
    case Activation::geluTanh: return std::sqrt(2.0);
    default: return 1.0;
  }
}

/// The activation of a number or of every number of a matrix.
template <class X> X activate(Activation activation, const X& x) {
  switch (activation) {
    case Activation::sigmoid: return sigmoid(x);
    case Activation::relu: return relu(x);
    case Activation::tanh: return tanh(x);
    case Activation::gelu: return gelu(x);
    case Activation::geluTanh: return geluTanh(x);
    default: return x;
  }
}

}  // namespace burtorch::inline BURTORCH_TARGET
