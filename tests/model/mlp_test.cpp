// The multi-layer perceptron against the same network of scalar neurons, for every activation.
#include <burtorch/model/mlp.hpp>

#include <gtest/gtest.h>

#include <burtorch/burtorch.hpp>
#include <burtorch/nn/neuron.hpp>
#include <burtorch/nn/parameter_nodes.hpp>
#include <cmath>

namespace burtorch {
namespace mlp_test {

constexpr std::size_t samples = 8;
constexpr Activation all[] = {Activation::identity, Activation::sigmoid, Activation::relu,
                              Activation::tanh,     Activation::gelu,    Activation::geluTanh};

/// The output of a 3-4-2 network of neurons whose weights are those of `mlp`.
std::vector<Value<double>> byNeurons(const Mlp<double>& mlp, const std::vector<Value<double>>& inputs) {
  std::vector<Value<double>> x = inputs;
  const auto blocks = mlp.layout().blocks();
  for (std::size_t layer = 0; layer < 2; ++layer) {
    const Parameter &w = blocks[2 * layer], &b = blocks[2 * layer + 1];
    const auto weights = nodes<double>(w), biases = nodes<double>(b);
    std::vector<Value<double>> y;
    for (NodeIndex o = 0; o < w.rows; ++o) {
      const Value<double> sum = innerProductWithBias(weights.row(o), x, biases(o, 0));
      y.push_back(activate(layer == 0 ? mlp.config().hidden : mlp.config().output, sum));
    }
    x = y;
  }
  return x;
}

TEST(Mlp, ComputesWhatNeuronsCompute) {
  for (const Activation hidden : all) {
    SCOPED_TRACE(nameOf(hidden));
    const Mlp<double> mlp({.sizes = {3, 4, 2}, .hidden = hidden, .output = Activation::sigmoid});
    ParameterStore<double> parameters(mlp.layout(), 11);
    Tape<double> tape(parameters);
    const CurrentTape here(tape);
    const Matrix<double> x(tape.leaves(3 * samples), 3, samples);
    for (std::size_t i = 0; i < x.size(); ++i) x.values()[i] = std::sin(1.3 * static_cast<double>(i));
    const auto y = mlp(x);
    backward(reduceSumOfSquares(y.range()));
    const std::vector<double> found(parameters.gradients().begin(), parameters.gradients().end());
    tape.zeroGrad();
    zeroGrad(parameters);
    std::vector<Value<double>> outputs;
    for (std::size_t c = 0; c < samples; ++c) {
      const std::vector<Value<double>> column{x(0, c), x(1, c), x(2, c)};
      const auto neurons = byNeurons(mlp, column);
      for (std::size_t o = 0; o < 2; ++o) EXPECT_NEAR(y(o, c).dataCopy(), neurons[o].dataCopy(), 4e-15);
      outputs.insert(outputs.end(), neurons.begin(), neurons.end());
    }
    backward(reduceSumOfSquares(outputs));
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], parameters.gradients()[i], 1e-14) << i;
  }
}
TEST(Neuron, IsItsActivationOfWeightsAndBias) {
  Tape<double> tape;
  const CurrentTape here(tape);
  Rng rng(4);
  const Neuron<double> neuron(2, Activation::tanh, rng);
  const std::vector<Value<double>> x{Value(0.7), Value(-1.9)};
  const auto y = neuron(x);
  const auto w = neuron.weights().values();
  EXPECT_NEAR(y.dataCopy(), std::tanh(w[0] * 0.7 + w[1] * -1.9), 1e-15);
  backward(y);
  EXPECT_NEAR(neuron.bias().gradCopy(), 1 - y.dataCopy() * y.dataCopy(), 1e-15);
  EXPECT_LE(std::abs(w[0]), 5.0 / 3.0 * std::sqrt(1.5));
}
TEST(Activation, HasNames) {
  for (const Activation activation : all) EXPECT_EQ(activationFromName(nameOf(activation)), activation);
  EXPECT_THROW(activationFromName("swish"), Error);
}
TEST(Mlp, RefusesImpossibleSizes) {
  EXPECT_THROW(Mlp<double>({.sizes = {3}}), Error);
  EXPECT_THROW(Mlp<double>({.sizes = {3, 0, 1}}), Error);
}

}  // namespace mlp_test
}  // namespace burtorch
