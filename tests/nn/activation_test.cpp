// Activations by name: the same operator on a number and on a matrix.
#include <burtorch/nn/activation.hpp>

#include <gtest/gtest.h>

#include <burtorch/core/backward.hpp>
#include <numbers>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace activation_test {

TEST(Activation, NamesGoBothWays) {
  for (const std::string_view name : activationNames) EXPECT_EQ(nameOf(activationFromName(name)), name);
  EXPECT_EQ(nameOf(Activation::gelu), "gelu");
  EXPECT_EQ(activationFromName("tanh"), Activation::tanh);
}

TEST(Activation, RefusesAnUnknownName) {
  EXPECT_EQ(
      sentenceOf([] { activationFromName("swish"); }),
      "there is no activation called \"swish\": choose from identity, sigmoid, relu, tanh, gelu, gelu-tanh");
}

TEST(Activation, OfANumberAndOfAMatrixIsItsOperator) {
  Tape<double> tape;
  CurrentTape here(tape);
  const Value<double> x = 0.7;
  const Matrix<double> xs(tape.leaves(3, 0.7), 1, 3);
  const auto expectBoth = [&](Activation activation, double wanted) {
    EXPECT_NEAR(activate(activation, x).dataCopy(), wanted, 1e-15) << nameOf(activation);
    EXPECT_NEAR(activate(activation, xs)(0, 2).dataCopy(), wanted, 1e-15) << nameOf(activation);
  };
  expectBoth(Activation::identity, 0.7);
  expectBoth(Activation::sigmoid, 1 / (1 + std::exp(-0.7)));
  expectBoth(Activation::relu, 0.7);
  expectBoth(Activation::tanh, std::tanh(0.7));
  expectBoth(Activation::gelu, 0.7 * 0.5 * (1 + std::erf(0.7 / std::sqrt(2.0))));
  expectBoth(Activation::geluTanh,
             0.7 * 0.5 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (0.7 + 0.044715 * 0.343))));
}

TEST(Activation, GainsArePyTorchs) {
  EXPECT_EQ(gainOf(Activation::identity), 1);
  EXPECT_EQ(gainOf(Activation::sigmoid), 1);
  EXPECT_EQ(gainOf(Activation::tanh), 5.0 / 3);
  EXPECT_EQ(gainOf(Activation::relu), std::sqrt(2.0));
  EXPECT_EQ(gainOf(Activation::geluTanh), gainOf(Activation::gelu));
}

}  // namespace activation_test
}  // namespace burtorch
