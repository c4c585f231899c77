// Jacobians, Hessians and Hessian-vector products of compile-time graphs.
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <cmath>
#include <vector>

namespace second_order_test {

using namespace burtorch;

constexpr auto three = [](const auto& x) {
  const auto product = x[0] * x[1];
  const auto second = sin(product) + exp(x[2] * 0.5);
  const auto third = reduceSum(x) * x[2];
  return std::array{product / x[2], second, third};
};

TEST(Jacobian, EveryRowIsTheGradientOnATape) {
  const std::array<double, 3> point{0.7, -1.3, 2.1};
  const auto found = compile(three).jacobian(point);
  for (std::size_t row = 0; row < 3; ++row) {
    Tape<double> tape;
    CurrentTape here(tape);
    const auto x = tape.leaves(point);
    backward(three(std::array{x[0], x[1], x[2]})[row]);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(found[row][i], x.gradients()[i]) << row << ", " << i;
  }
}

TEST(Jacobian, SeveralArgumentsAndWholeNumbers) {
  constexpr auto f = compile([](auto a, auto b) { return std::array{a * b, a / b}; });
  const auto j = f.jacobian(3, 4);
  EXPECT_EQ(j[0][0], 4);
  EXPECT_EQ(j[0][1], 3);
  EXPECT_EQ(j[1][0], 0.25);
  EXPECT_EQ(j[1][1], -0.1875);
  EXPECT_EQ(f.value(3, 4), (std::array{12.0, 0.75}));
  constexpr auto g = compile([](auto a, const auto& x) { return std::array{a * x[0], x[1] - a}; });
  const auto [a, x] = g.jacobian(2.0, std::array{5.0, 7.0})[1];
  EXPECT_EQ(a, -1);
  EXPECT_EQ(x, (std::array{0.0, 1.0}));
}

TEST(Jacobian, APoleOfOneOutputStaysOutOfTheOthers) {
  constexpr auto f = compile([](auto a, auto b) { return std::array{sqrt(a), b * b}; });
  const auto j = f.jacobian(0.0, 3.0);
  EXPECT_TRUE(std::isinf(j[0][0]));
  EXPECT_EQ(j[0][1], 0);
  EXPECT_EQ(j[1][0], 0);
  EXPECT_EQ(j[1][1], 6);
}

TEST(Jacobian, OutputsThatAreInputsOrConstants) {
  constexpr auto f = compile([](auto a, auto b) { return std::array{b, decltype(a)(3.0), a}; });
  const auto j = f.jacobian(1.5, 2.5);
  EXPECT_EQ(j, (std::array<std::array<double, 2>, 3>{{{0, 1}, {0, 0}, {1, 0}}}));
}

constexpr auto curved = [](const auto& x) {
  const auto product = x[0] * x[1] * x[2];
  const auto wave = tanh(x[0] - x[2]) * sqr(x[1]);
  return product + wave + logSumExp(x) + max(x[0], x[1]) * x[0];
};

template <class T> class SecondOrder : public testing::Test {};
using Scalars = testing::Types<double, float>;
TYPED_TEST_SUITE(SecondOrder, Scalars);

TYPED_TEST(SecondOrder, TheHessianVectorProductIsThatOfATapeOfDualNumbers) {
  using T = TypeParam;
  const std::array<T, 3> x{T(0.6), T(-1.1), T(0.45)}, v{T(0.3), T(0.8), T(-1.7)};
  std::array<T, 3> expected{};
  hvp<T>(curved, x, v, expected);
  const auto found = compile(curved).hvp(x, v);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(found[i], expected[i], 4 * std::numeric_limits<T>::epsilon() * std::abs(expected[i])) << i;
}

TEST(Hessian, RowsAreProductsWithUnitVectors) {
  const std::array<double, 3> x{0.6, -1.1, 0.45};
  constexpr auto f = compile(curved);
  const auto hessian = f.hessian(x);
  for (std::size_t row = 0; row < 3; ++row) {
    std::array<double, 3> unit{};
    unit[row] = 1;
    EXPECT_EQ(hessian[row], f.hvp(x, unit));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(hessian[row][i], hessian[i][row], 1e-14) << "symmetric";
  }
}

TEST(Hessian, OfAFunctionKnownByHand) {
  // f = a^3 b + b^2: (6ab, 3a^2; 3a^2, 2)
  constexpr auto f = compile([](auto a, auto b) { return pow3(a) * b + sqr(b); });
  const auto hessian = f.hessian(1.5, -2.0);
  EXPECT_EQ(hessian[0][0], 6 * 1.5 * -2.0);
  EXPECT_EQ(hessian[0][1], 3 * 1.5 * 1.5);
  EXPECT_EQ(hessian[1][0], 3 * 1.5 * 1.5);
  EXPECT_EQ(hessian[1][1], 2);
  static_assert(compile([](auto a, auto b) { return a * a * b; }).hessian(3.0, 5.0)[0][0] == 10);
}

TEST(Hessian, SeveralArgumentsAreCountedTogether) {
  constexpr auto f = compile([](auto a, const auto& x) { return a * x[0] * x[1]; });
  const auto hessian = f.hessian(2.0, std::array{3.0, 5.0});
  EXPECT_EQ(hessian, (std::array<std::array<double, 3>, 3>{{{0, 5, 3}, {5, 0, 2}, {3, 2, 0}}}));
  const auto [a, x] = f.hvp(2.0, std::array{3.0, 5.0}, 1.0, std::array{0.0, 1.0});
  EXPECT_EQ(a, 3);
  EXPECT_EQ(x, (std::array{7.0, 3.0}));
}

}  // namespace second_order_test
