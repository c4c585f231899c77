// Jacobians of compile-time graphs, row by row: what they look like for every shape of argument, and the bits of a sweep
// from each output.
// label: full
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <tuple>
#include <type_traits>

#include "graph/modes.hpp"

namespace burtorch {
namespace jacobian_test {

using modes::expectJacobianLikeEager;

template <class X> struct Point { X x, y; };

TEST(Jacobian, OfNumbersIsAnArrayOfArrays) {
  constexpr auto f = [](auto a, auto b) { return std::array{a * b, a / b, sin(a), exp(a - b)}; };
  static_assert(
      std::is_same_v<decltype(compile(f).jacobian(1.5, 0.5)), std::array<std::array<double, 2>, 4>>);
  const auto rows = compile(f).jacobian(1.5, 0.5);
  EXPECT_EQ(rows[0], (std::array{0.5, 1.5}));
  EXPECT_EQ(rows[1], (std::array{2.0, -6.0}));
  EXPECT_EQ(rows[2][1], 0.0);
  expectJacobianLikeEager(f, 0.7, -0.4);
  expectJacobianLikeEager(f, 0.7f, -0.4f);
}
TEST(Jacobian, OfAnArray) {
  constexpr auto f = [](const auto& x) { return std::array{reduceSum(x), x[0] * x[2], logSumExp(x), x[1]}; };
  static_assert(std::is_same_v<decltype(compile(f).jacobian(std::array<double, 3>{})),
                               std::array<std::array<double, 3>, 4>>);
  EXPECT_EQ(compile(f).jacobian(std::array{1.5, 2.5, 4.0})[1], (std::array{4.0, 0.0, 1.5}));
  expectJacobianLikeEager(f, std::array{0.3, -0.7, 1.1});
}
TEST(Jacobian, OfAStructIsAnArrayOfStructs) {
  constexpr auto f = [](const auto& p) { return std::array{p.x * p.y, p.y}; };
  static_assert(std::is_same_v<decltype(compile(f).jacobian(Point<double>{})), std::array<Point<double>, 2>>);
  const auto rows = compile(f).jacobian(Point<double>{1.5, 2.5});
  EXPECT_EQ(rows[0].x, 2.5);
  EXPECT_EQ(rows[0].y, 1.5);
  EXPECT_EQ(rows[1].x, 0.0);
  EXPECT_EQ(rows[1].y, 1.0);
  expectJacobianLikeEager(f, Point<double>{0.3, -0.7});
}
TEST(Jacobian, OfSeveralShapesIsAnArrayOfTuples) {
  constexpr auto f = [](auto a, const auto& x, const auto& p) {
    const auto sum = reduceSum(std::array{a, x[0], p.y});
    return std::array{sum * x[1], innerProduct(x, x) - p.x, tanh(a)};
  };
  static_assert(std::is_same_v<decltype(compile(f).jacobian(0.3, std::array<double, 2>{}, Point<double>{})),
                               std::array<std::tuple<double, std::array<double, 2>, Point<double>>, 3>>);
  expectJacobianLikeEager(f, 0.3, std::array{-0.7, 1.1}, Point<double>{0.4, 1.9});
}
TEST(Jacobian, OfOneOutputIsItsGradient) {
  constexpr auto f = compile([](auto a, auto b) { return a * exp(b); });
  EXPECT_EQ(f.jacobian(0.7, -0.4)[0], f.grad(0.7, -0.4));
}
TEST(Jacobian, OfOutputsThatAreEachOther) {
  constexpr auto f = [](auto a, auto b) {
    const auto c = a * b;
    return std::array{c, c, c * c, c + a};
  };
  EXPECT_EQ(compile(f).jacobian(1.5, 2.0)[1], (std::array{2.0, 1.5}));
  expectJacobianLikeEager(f, 0.7, -0.4);
}
TEST(Jacobian, OfThirtyOutputs) {
  constexpr auto f = [](auto a, auto b) {
    std::array<decltype(a), 30> powers;
    powers[0] = a * b;
    for (std::size_t i = 1; i < 30; ++i) powers[i] = powers[i - 1] * (i % 2 == 0 ? a : b);
    return powers;
  };
  expectJacobianLikeEager(f, 0.7, -1.1);
}
TEST(Jacobian, ARowNextToAPoleIsExactlyZero) {
  constexpr auto f = [](auto a, auto b) {
    const auto pole = log(a) / a;
    return std::array{pole * b, b * b, a - a * b};
  };
  const auto rows = compile(f).jacobian(0.0, 0.75);
  EXPECT_EQ(rows[1], (std::array{0.0, 1.5}));
  EXPECT_EQ(rows[2], (std::array{0.25, 0.0}));
  expectJacobianLikeEager(f, 0.0, 0.75);
}
TEST(Jacobian, ARowNextToAPoleInAListIsExactlyZero) {
  constexpr auto f = [](auto a, const auto& x) {
    const auto pole = reduceSumOfSquares(std::array{1.0 / a, x[0], x[1]});
    return std::array{x[0] * x[1], pole, reduceMul(x), a * x[0]};
  };
  const auto rows = compile(f).jacobian(0.0, std::array{1.5, 2.5});
  EXPECT_EQ(rows[0], std::tuple(0.0, std::array{2.5, 1.5}));
  EXPECT_EQ(rows[2], std::tuple(0.0, std::array{2.5, 1.5}));
  EXPECT_EQ(rows[3], std::tuple(1.5, std::array{0.0, 0.0}));
  expectJacobianLikeEager(f, 0.0, std::array{1.5, 2.5});
}
TEST(Jacobian, TransposedTimesAVectorIsAGradient) {
  constexpr auto f = compile([](auto a, auto b) { return std::array{a * b, sin(a), b / a}; });
  constexpr auto weighted =
      compile([](auto a, auto b) { return 0.5 * (a * b) - 1.5 * sin(a) + 2.0 * (b / a); });
  const auto rows = f.jacobian(0.7, -0.4);
  const auto want = weighted.grad(0.7, -0.4);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_NEAR(0.5 * rows[0][i] - 1.5 * rows[1][i] + 2.0 * rows[2][i], want[i], 1e-15) << i;
}

}  // namespace jacobian_test
}  // namespace burtorch
