// A neuron of scalar nodes, as the paper's listings and micrograd have it: every weight is a Value of its own, and the graph
// can be looked at node by node. Layers (linear.hpp) compute the same with one instruction for all neurons.
#pragma once

#include "../base/rng.hpp"
#include "activation.hpp"
#include "initialise.hpp"

namespace burtorch::inline BURTORCH_TARGET {

template <class T, Config C = defaultConfig> class Neuron {
 public:
  /// Its weights and bias become leaves of the current tape; weights start by fan-in with the activation's gain, the bias
  /// at 0.
  Neuron(std::size_t inputs, Activation activation, Rng& rng)
      : weights_(currentTape<T, C>().leaves(inputs)), bias_(T{0}), activation_(activation) {
    fill(weights_.values(), FirstNumbers::byFanIn(inputs, gainOf(activation)), rng);
  }

  Range<T, C> weights() const { return weights_; }
  const Value<T, C>& bias() const { return bias_; }

  /// activation(w x + b); x is a list of as many Values.
  template <NumberList L> Value<T, C> operator()(const L& x) const {
    return activate(activation_, innerProductWithBias(weights_, x, bias_));
  }

 private:
  Range<T, C> weights_;
  Value<T, C> bias_;
  Activation activation_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
