// grad, valueAndGrad and detach.
#include "burtorch/functional/grad.hpp"

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

#include "burtorch/burtorch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace grad_test {

const auto function = [](auto x) { return sqr(x[0]) * x[1] + tanh(x[1]); };

TEST(Grad, OfAnyListOfNumbers) {
  const std::vector<double> x{1.5, -0.4};
  const double t = std::tanh(-0.4);
  const auto [value, gradient] = valueAndGrad(function, x);
  EXPECT_EQ(value, function(std::span<const double>(x)));
  EXPECT_EQ(gradient[0], 2 * 1.5 * -0.4);
  EXPECT_NEAR(gradient[1], 2.25 + 1 - t * t, 1e-15);
  EXPECT_EQ(grad(function, std::array{1.5, -0.4}), gradient);
}

TEST(Grad, IntoASpan) {
  std::array<float, 2> gradient{7, 7};
  grad(function, std::array{1.5f, -0.5f}, gradient);
  EXPECT_EQ(gradient[0], -1.5f);
  EXPECT_EQ(valueAndGrad([](auto x) { return x[0] * x[1]; }, std::array{1.5f, -0.5f}, gradient), -0.75f);
  EXPECT_EQ(gradient[1], 1.5f);
}

TEST(Grad, LeavesTheCurrentTapeAlone) {
  Tape<double> tape;
  CurrentTape here(tape);
  const Value a(0.5);
  grad(function, std::array{1.5, -0.4});
  EXPECT_EQ(tape.size(), 1u);
  EXPECT_EQ((a * 2.0).dataCopy(), 1.0);
}

TEST(Grad, OfAConstantIsZero) {
  const auto [value, gradient] =
      valueAndGrad([](auto x) { return std::remove_cvref_t<decltype(x[0])>{}; }, std::array{1.5, -0.4});
  EXPECT_EQ(value, 0.0);
  EXPECT_EQ(gradient, (std::vector<double>{0, 0}));
}

TEST(Grad, OfTheWrongLengthIsRefused) {
  std::array<double, 3> gradient{7, 7, 7};
  EXPECT_EQ(sentenceOf([&] {
              grad(function, std::array{1.5, -0.4}, gradient);
            }),
            "valueAndGrad: expected room for a gradient of 2 numbers, got 3");
  EXPECT_EQ(gradient[0], 7);
}

TEST(Detach, StopsGradients) {
  const auto f = [](auto x) { return x[0] * detach(sqr(x[0])); };
  const auto [value, gradient] = valueAndGrad(f, std::array{1.5});
  EXPECT_EQ(value, 3.375);
  EXPECT_EQ(gradient[0], 2.25);
}
TEST(Detach, StopsTangentsOfBothModes) {
  const Dual<double> x(1.5, 1.0);
  EXPECT_EQ((x * detach(x * x)).tangent, 2.25);
  std::array<double, 1> product{};
  const std::array at{1.5}, v{1.0};
  hvp<double>([](auto u) { return sqr(u[0]) * detach(u[0]); }, at, v, product);
  EXPECT_EQ(product[0], 3.0);  // of x^2 c: 2 c
}

}  // namespace grad_test
}  // namespace burtorch
