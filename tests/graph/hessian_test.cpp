// Second derivatives of compile-time graphs: the bits of a tape of dual numbers, formulas, and what the results look like.
// label: full
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <burtorch/burtorch.hpp>
#include <cmath>
#include <type_traits>

#include "graph/modes.hpp"

namespace burtorch {
namespace hessian_test {

template <class X> struct Point { X x, y; };

using Vector = std::array<double, 5>;
constexpr Vector point{0.7, -0.3, 1.2, 0.4, -1.1}, direction{0.5, -1.5, 0.3, 2.1, -0.8};

constexpr auto rosenbrock = [](const auto& x) {
  auto sum = sqr(1.0 - x[0]);
  for (std::size_t i = 0; i + 1 < 5; ++i) {
    sum += 100.0 * sqr(x[i + 1] - sqr(x[i]));
    if (i > 0) sum += sqr(1.0 - x[i]);
  }
  return sum;
};
constexpr auto smooth = [](const auto& x) {
  const auto wave = sin(x[0] * x[1]) / (sqr(x[2]) + 1.0);
  const auto gate = sigmoid(x[3]) * tanh(x[4] - x[0]);
  return wave + exp(gate) * x[1];
};
constexpr auto lists = [](const auto& x) {
  const auto level = logSumExp(x);
  const auto spread = variance(x);
  const auto loss = crossEntropy(x, 2);
  const auto product = reduceMul(x);
  const auto scaled = loss * product;
  return scaled + level * spread;
};

template <class F> Vector eagerProduct(F f, const Vector& x, const Vector& v) {
  const auto ofSpan = [f](auto y) { return f(std::array{y[0], y[1], y[2], y[3], y[4]}); };
  Vector product;
  hvp<double>(ofSpan, x, v, product);
  return product;
}
/// Against the tape, to the bit; and symmetric within rounding.
template <class F> void expectHessianLikeEager(F f) {
  Vector x = point;
  for (double& number : x) number = modes::opaque(number);
  const auto hessian = compile(F{}).hessian(x);
  double largest = 0;
  for (std::size_t row = 0; row < 5; ++row) {
    Vector unit{};
    unit[row] = 1;
    EXPECT_EQ(hessian[row], eagerProduct(f, x, unit)) << "row " << row;
    for (const double entry : hessian[row]) largest = std::max(largest, std::abs(entry));
  }
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_NEAR(hessian[i][j], hessian[j][i], 1e-15 * largest) << i << ", " << j;
  EXPECT_EQ(compile(F{}).hvp(x, direction), eagerProduct(f, x, direction));
}
TEST(HessianLikeEager, OfRosenbrock) { expectHessianLikeEager(rosenbrock); }
TEST(HessianLikeEager, OfFunctionsOfTheLibrary) { expectHessianLikeEager(smooth); }
TEST(HessianLikeEager, OfLists) { expectHessianLikeEager(lists); }

TEST(HessianByFormula, OfRosenbrock) {
  const auto hessian = compile(rosenbrock).hessian(point);
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = 0; j < 5; ++j) {
      double want = 0;
      if (i == j && i < 4) want += 1200 * point[i] * point[i] - 400 * point[i + 1] + 2;
      if (i == j && i > 0) want += 200;
      if (i + 1 == j || j + 1 == i) want = -400 * point[std::min(i, j)];
      EXPECT_NEAR(hessian[i][j], want, 1e-15 * 4000) << i << ", " << j;
    }
}
TEST(HessianByFormula, OfAQuadraticFormIsExact) {
  constexpr auto f = compile([](auto a, auto b) { return 1.5 * (a * a) - 0.25 * (a * b) + 4.0 * (b * b); });
  static_assert(std::is_same_v<decltype(f.hessian(0.3, 0.7)), std::array<std::array<double, 2>, 2>>);
  const auto hessian = f.hessian(0.3, 0.7);
  EXPECT_EQ(hessian[0], (std::array{3.0, -0.25}));
  EXPECT_EQ(hessian[1], (std::array{-0.25, 8.0}));
}
TEST(HessianByFormula, OfCrossEntropyIsDiagonalMinusOuterProduct) {
  const auto hessian = compile([](const auto& x) { return crossEntropy(x, 1); }).hessian(point);
  double total = 0;
  for (const double x : point) total += std::exp(x);
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t j = 0; j < 5; ++j) {
      const double p = std::exp(point[i]) / total, q = std::exp(point[j]) / total;
      EXPECT_NEAR(hessian[i][j], (i == j ? p : 0) - p * q, 1e-15) << i << ", " << j;
    }
}
TEST(HessianByFormula, OfOneNumberIsTheSecondDerivative) {
  constexpr auto f = compile([](auto x) { return sin(x) * exp(x); });
  for (const double x : {-1.9, -0.4, 0.7, 2.3}) {
    EXPECT_NEAR(f.hessian(x)[0][0], 2 * std::cos(x) * std::exp(x), 1e-14);
    EXPECT_NEAR(f.hvp(x, -1.5), -3 * std::cos(x) * std::exp(x), 2e-14);
  }
}
TEST(HessianByFormula, InSinglePrecision) {
  constexpr auto f = compile([](auto a, auto b) { return a * a * b; });
  const auto hessian = f.hessian(1.5f, 2.5f);
  static_assert(std::is_same_v<decltype(hessian), const std::array<std::array<float, 2>, 2>>);
  EXPECT_EQ(hessian[0], (std::array{5.0f, 3.0f}));
  EXPECT_EQ(hessian[1], (std::array{3.0f, 0.0f}));
}

// ---- what a product looks like ----

TEST(HessianVectorShape, OfSeveralNumbersIsAnArray) {
  constexpr auto f = compile([](auto a, auto b) { return a * a * b; });
  const auto product = f.hvp(1.5, 2.5, 1.0, 2.0);
  static_assert(std::is_same_v<decltype(product), const std::array<double, 2>>);
  EXPECT_EQ(product, (std::array{11.0, 3.0}));
}
TEST(HessianVectorShape, OfAStructIsThatStruct) {
  constexpr auto f = compile([](const auto& p) { return p.x * p.x * p.y; });
  const Point<double> product = f.hvp(Point<double>{1.5, 2.5}, Point<double>{1.0, 2.0});
  EXPECT_EQ(product.x, 11.0);
  EXPECT_EQ(product.y, 3.0);
}
TEST(HessianVectorShape, OfWholeNumbers) {
  constexpr auto f = compile([](auto a, auto b) { return a * a * b; });
  EXPECT_EQ(f.hvp(3, 2, 1, 2), (std::array{16.0, 6.0}));
  EXPECT_EQ(f.hessian(3, 2)[0], (std::array{4.0, 6.0}));
}
TEST(HessianVectorShape, IsLinearInTheDirection) {
  Vector other = direction;
  for (double& v : other) v *= -4;
  const Vector product = compile(smooth).hvp(point, direction), scaled = compile(smooth).hvp(point, other);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(scaled[i], -4 * product[i]) << i;
}

}  // namespace hessian_test
}  // namespace burtorch
