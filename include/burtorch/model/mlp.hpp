// A multi-layer perceptron: linear layers with an activation between them, and none (or another) after the last.
//
//   Mlp<float> mlp({.sizes = {2, 16, 1}});
//   ParameterStore<float> parameters(mlp.layout());
//   Tape<float> tape(parameters);
#pragma once

#include <span>
#include <string>
#include <vector>

#include "../nn/activation.hpp"
#include "../nn/initialise.hpp"
#include "../nn/linear.hpp"
#include "../nn/parameter_store.hpp"
#include "validated.hpp"

namespace burtorch::inline BURTORCH_TARGET {

struct MlpConfig {
  std::vector<std::size_t> sizes;  // inputs, hidden layers, outputs
  Activation hidden = Activation::tanh, output = Activation::identity;

  void check() const {
    if (sizes.size() < 2) fail("an MLP needs at least two sizes: inputs and outputs");
    for (const std::size_t size : sizes)
      if (size == 0) fail("a layer of an MLP has size 0");
  }
};

template <class T, Config C = defaultConfig> class Mlp {
 public:
  using Scalar = T;
  static constexpr Config tapeConfig = C;

  /// Weights start by fan-in with the gain of the activation after them, biases at 0.
  explicit Mlp(const MlpConfig& config) : config_(validated(config)) {
    for (std::size_t i = 0; i + 1 < config.sizes.size(); ++i)
      layers_.emplace_back(layout_, "layers." + std::to_string(i), config.sizes[i], config.sizes[i + 1]);
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      layout_.setStart(layers_[i].weight, FirstNumbers::byFanIn(config.sizes[i], gainOf(activationAfter(i))));
      layout_.setStart(layers_[i].bias, FirstNumbers::constant(0));
    }
  }

  const MlpConfig& config() const { return config_; }
  const ParameterLayout& layout() const { return layout_; }

  /// Of every column of x.
  Matrix<T, C> operator()(Matrix<T, C> x) const {
    for (std::size_t i = 0; i < layers_.size(); ++i) x = activate(activationAfter(i), layers_[i](x));
    return x;
  }

 private:
  Activation activationAfter(std::size_t layer) const {
    return layer + 1 < layers_.size() ? config_.hidden : config_.output;
  }

  MlpConfig config_;
  ParameterLayout layout_;
  std::vector<Linear> layers_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
