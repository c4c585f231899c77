// Layers inside functions of numbers: gradcheck and second derivatives.
#include <gtest/gtest.h>

#include <burtorch/functional/gradcheck.hpp>
#include <burtorch/functional/hvp.hpp>
#include <cmath>

#include "reference/layer_network.hpp"

namespace burtorch {
namespace function_test {

std::vector<double> gradientAt(const LayerNetwork& network, const std::vector<double>& x) {
  Tape<double> tape;
  CurrentTape here(tape);
  const auto leaves = tape.leaves(std::span<const double>(x));
  backward(network.loss<double>());
  return {leaves.gradients().begin(), leaves.gradients().end()};
}

TEST(LayersAsAFunction, PassGradcheck) {
  const LayerNetwork network;
  const auto result = gradcheck([&](auto x) { return network(x); }, network.point(), 1e-8);
  EXPECT_TRUE(result) << "leaf " << result.worst << ": " << result.gradient << " and " << result.difference;
}

// The slope of the gradient along v, by central differences.
TEST(LayersAsAFunction, HaveHessianVectorProducts) {
  const LayerNetwork network;
  const std::vector<double> x = network.point();
  std::vector<double> v(x.size()), product(x.size()), gradient(x.size());
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = 0.7 - x[(i * 3) % x.size()];
  hvp([&](auto numbers) { return network(numbers); }, std::span<const double>(x), std::span<const double>(v),
      std::span(product), std::span(gradient));
  const auto wanted = gradientAt(network, x);
  const double h = 6e-6;
  std::vector<double> above = x, below = x;
  for (std::size_t i = 0; i < x.size(); ++i) {
    above[i] += h * v[i];
    below[i] -= h * v[i];
  }
  const auto up = gradientAt(network, above), down = gradientAt(network, below);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_NEAR(gradient[i], wanted[i], 1e-13 * (1 + std::abs(wanted[i]))) << i;
    const double difference = (up[i] - down[i]) / (2 * h);
    EXPECT_NEAR(product[i], difference, 1e-7 * (1 + std::abs(difference))) << i;
  }
}

}  // namespace function_test
}  // namespace burtorch
