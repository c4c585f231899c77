// select in compile-time graphs, where the side not chosen has a pole, lies in another select or in a list. A tape does
// not even record what is not chosen. A graph computes both sides and must not let anyone notice: not by a gradient, not
// by a NaN.
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <cmath>
#include <limits>
#include <tuple>

#include "graph/modes.hpp"

namespace burtorch {
namespace select_poles_test {

using modes::expectLikeEager;

constexpr double inf = std::numeric_limits<double>::infinity();

/// Looks at the gradient without comparing with eager, so that a NaN on both sides is none.
template <class F> void expectNoNan(F f, double a, double b) {
  for (const double g : compile(f).grad(a, b)) EXPECT_FALSE(std::isnan(g)) << "at " << a << ", " << b;
  for (const double g : compile(f).valueAndGrad(a, b).gradient) EXPECT_FALSE(std::isnan(g));
  expectLikeEager(f, a, b);
}
TEST(SelectNextToAPole, SquareRootOfZero) {
  constexpr auto f = [](auto a, auto b) { return select(a > 0.0, sqrt(a), b) * b; };
  EXPECT_EQ(compile(f).grad(0.0, 0.75), (std::array{0.0, 1.5}));
  expectNoNan(f, 0.0, 0.75);
  expectNoNan(f, -0.3, 0.75);
}
TEST(SelectNextToAPole, LogarithmOfZero) {
  constexpr auto f = [](auto a, auto b) { return b * select(a == 0.0, 0.0, a * log(a)); };
  EXPECT_EQ(compile(f).grad(0.0, 0.75), (std::array{0.0, 0.0}));
  expectNoNan(f, 0.0, 0.75);
}
TEST(SelectNextToAPole, OneOverZero) {
  constexpr auto f = [](auto a, auto b) { return select(a != 0.0, sin(a * b) / a, b); };
  EXPECT_EQ(compile(f).grad(0.0, 0.75), (std::array{0.0, 1.0}));
  expectNoNan(f, 0.0, 0.75);
  expectNoNan(f, 0.3, 0.75);
}
TEST(SelectNextToAPole, DeepInTheSideNotChosen) {
  constexpr auto f = [](auto a, auto b) {
    const auto deep = exp(tanh(sqrt(a) / a) * b) + log(a) * a;
    return select(a > 0.0, deep * b, a + b);
  };
  EXPECT_EQ(compile(f).grad(0.0, 0.75), (std::array{1.0, 1.0}));
  expectNoNan(f, 0.0, 0.75);
}
TEST(SelectNextToAPole, ThatBothSidesShare) {
  // 1 / a is reached on one side only; what comes from there must count, what comes from the other must not.
  constexpr auto f = [](auto a, auto b) {
    const auto pole = 1.0 / a;
    return select(b > 0.0, b * 2.0, select(b < -1.0, pole * b, pole)) + a;
  };
  EXPECT_EQ(compile(f).grad(0.0, 0.5), (std::array{1.0, 2.0}));
  expectNoNan(f, 0.0, 0.5);
  expectLikeEager(f, 0.0, -0.5);
  expectLikeEager(f, 0.3, -0.5);
  expectLikeEager(f, 0.3, -1.5);
}
TEST(SelectNextToAPole, ThatIsReachedOtherwise) {
  // The pole counts, because it is also used outside.
  constexpr auto f = [](auto a, auto b) {
    const auto pole = sqrt(a);
    return select(a > 0.0, pole, b) + pole * 0.0;
  };
  expectLikeEager(f, 0.0, 0.75);
  EXPECT_TRUE(std::isnan(compile(f).grad(0.0, 0.75)[0]));
}
TEST(SelectNextToAPole, ThatIsChosen) {
  constexpr auto f = [](auto a, auto b) { return select(a >= 0.0, sqrt(a), b) * b; };
  EXPECT_EQ(compile(f).grad(0.0, 0.75)[0], inf);
  expectLikeEager(f, 0.0, 0.75);
  expectLikeEager(f, 0.0, 0.0);
}
TEST(SelectNextToAPole, InTheCondition) {
  constexpr auto f = [](auto a, auto b) { return select(log(a) < b, a * b, b); };
  EXPECT_EQ(compile(f).grad(0.0, 0.75), (std::array{0.75, 0.0}));
  expectNoNan(f, 0.0, 0.75);
  expectNoNan(f, -1.0, 0.75);
}
TEST(SelectNextToAPole, WithoutTheOtherInput) {
  constexpr auto f = compile([](auto a, auto b) { return select(a > 0.0, sqrt(a) * b, b); });
  EXPECT_EQ(f.grad<0>(0.0, 0.75), 0.0);
  EXPECT_EQ(f.grad<1>(0.0, 0.75), 1.0);
  EXPECT_EQ(f.partial<0>(0.0, 0.75), 0.0);
}

// ---- selects in selects, lists in selects, selects in lists ----

TEST(SelectNested, InTheSides) {
  constexpr auto f = [](auto a, auto b) {
    return select(a < 0.0, select(b < 0.0, a * b, a / b), select(b < 0.0, exp(a), a * a)) * b;
  };
  for (const double a : {-0.4, 0.7})
    for (const double b : {-1.9, 0.3}) expectLikeEager(f, a, b);
}
TEST(SelectNested, InTheCondition) {
  constexpr auto f = [](auto a, auto b) { return select(select(a < b, a * 2.0, b) > 0.5, a * b, a - b); };
  for (const double a : {-0.4, 0.3, 0.7})
    for (const double b : {-1.9, 0.4, 0.9}) expectLikeEager(f, a, b);
}
TEST(SelectNested, LaddersOfPoles) {
  // log(a), then sqrt(a), then 1 / a, each only where it is defined and wanted.
  constexpr auto f = [](auto a, auto b) {
    const auto inner = select(a > 1.0, log(a - 1.0), sqrt(a));
    const auto middle = select(a > 0.0, inner / a, b * b);
    return select(b > 0.0, middle * b, b / (a + 1.0));
  };
  for (const double a : {-1.0, 0.0, 0.3, 1.0, 1.7})
    for (const double b : {-0.4, 0.7}) {
      SCOPED_TRACE(testing::Message() << a << ", " << b);
      expectLikeEager(f, a, b);
    }
}
TEST(SelectInALoop, ThatEndsEarly) {
  // Newton's method that stops where it has arrived: a loop of fixed length with a select.
  constexpr auto root = [](auto x) {
    auto guess = x * 0.5 + 0.5;
    for (int i = 0; i < 6; ++i) {
      const auto next = (guess + x / guess) * 0.5;
      guess = select(guess * guess > x, next, guess);
    }
    return guess;
  };
  for (const double x : {0.3, 1.0, 1.9}) expectLikeEager(root, x);
  EXPECT_NEAR(compile(root).grad(1.9), 0.5 / std::sqrt(1.9), 1e-12);
}
TEST(SelectAndLists, SelectsInAList) {
  constexpr auto f = [](const auto& x) {
    std::array<std::decay_t<decltype(x[0])>, 4> y;
    for (std::size_t i = 0; i < 4; ++i) y[i] = select(x[i] > 0.0, sqrt(x[i]), x[i] * 0.1);
    return logSumExp(y) * reduceSum(y);
  };
  expectLikeEager(f, std::array{0.3, -0.7, 1.1, -0.2});
  expectLikeEager(f, std::array{0.0, -0.7, 0.0, 0.2});
}
TEST(SelectAndLists, AListOnOneSide) {
  constexpr auto f = [](const auto& x, auto a) { return select(a > 0.0, logSumExp(x) * a, reduceMul(x)); };
  expectLikeEager(f, std::array{0.3, -0.7, 1.1}, 0.4);
  expectLikeEager(f, std::array{0.3, -0.7, 1.1}, -0.4);
}
TEST(SelectAndLists, APoleInTheListNotChosen) {
  constexpr auto f = [](auto a, auto b) {
    return select(a > 0.0, innerProduct(std::array{1.0 / a, b}, std::array{b, a}), b * b);
  };
  EXPECT_EQ(compile(f).grad(0.0, 0.75), (std::array{0.0, 1.5}));
  expectNoNan(f, 0.0, 0.75);
  expectNoNan(f, 0.3, 0.75);
}
TEST(SelectAndLists, APoleBelowTheListNotChosen) {
  constexpr auto f = [](auto a, auto b) {
    const auto list = std::array{sqrt(a), log(a), b};
    return select(a > 0.0, reduceSumOfSquares(list), b) + select(a > 0.0, logSumExp(list), b);
  };
  EXPECT_EQ(compile(f).grad(0.0, 0.75), (std::array{0.0, 2.0}));
  expectNoNan(f, 0.0, 0.75);
}
TEST(SelectAndLists, ANumberInAListChosenAndInOneNotChosen) {
  constexpr auto f = [](auto a, auto b) {
    const auto shared = exp(a);
    const auto first = reduceSumOfSquares(std::array{shared, b});
    const auto second = logSumExp(std::array{shared, b});
    return select(a > 0.0, second, b) + select(a > 0.0, b, first);
  };
  EXPECT_GT(compile(f).grad(0.4, 0.75)[0], 0.5);
  EXPECT_GT(compile(f).grad(-0.4, 0.75)[0], 0.5);
  expectLikeEager(f, 0.4, 0.75);
  expectLikeEager(f, -0.4, 0.75);
}
TEST(SelectAndLists, SoftmaxOnOneSide) {
  constexpr auto f = [](const auto& x, auto a) {
    const auto y = softmax(x);
    return select(a > 0.0, y[0] * a, select(a < -1.0, y[1], a));
  };
  const std::array usual{0.3, -0.7, 1.1}, infinite{0.3, inf, 1.1};
  for (const double a : {0.4, -0.4, -1.4}) {
    SCOPED_TRACE(a);
    expectLikeEager(f, usual, a);
    expectLikeEager(f, infinite, a);
  }
  EXPECT_EQ(std::get<0>(compile(f).grad(infinite, -0.4)), (std::array{0.0, 0.0, 0.0}));
}
TEST(SelectAndLists, SoftmaxOfWhichAnotherResultIsAlwaysUsed) {
  constexpr auto first = [](const auto& x, auto a) {
    const auto y = softmax(x);
    return select(a > 0.0, y[0], a) + y[1];
  };
  constexpr auto second = [](const auto& x, auto a) {
    const auto y = softmax(x);
    return select(a > 0.0, y[1], a) + y[0];
  };
  for (const double a : {0.4, -0.4}) {
    SCOPED_TRACE(a);
    expectLikeEager(first, std::array{0.3, -0.7, 1.1}, a);
    expectLikeEager(second, std::array{0.3, -0.7, 1.1}, a);
  }
}
TEST(SelectAndLists, AProductNotChosen) {
  constexpr auto f = [](auto a, auto b) { return select(a > 0.0, reduceMul(std::array{log(a), b}), b * b); };
  EXPECT_EQ(compile(f).grad(0.0, 0.75), (std::array{0.0, 1.5}));
  expectNoNan(f, 0.0, 0.75);
}
TEST(SelectAndLists, TheBiasOfAProductNotChosenIsUsedElsewhereToo) {
  constexpr auto f = [](const auto& x, auto a) {
    const auto bias = a * 3.0;
    const auto other = bias * 2.0;
    const auto chosen = select(a > 0.0, innerProductWithBias(x, x, bias), a * 1.0);
    return chosen + other;
  };
  EXPECT_EQ(std::get<1>(compile(f).grad(std::array{0.3, -0.7}, -0.4)), 7);
  EXPECT_EQ(std::get<1>(compile(f).grad(std::array{0.3, -0.7}, 0.4)), 9);
}
TEST(SelectAndLists, TheBiasOfAProductNotChosen) {
  constexpr auto f = [](const auto& x, auto a) {
    return select(a > 0.0, innerProductWithBias(x, x, log(a)), a * x[0]);
  };
  EXPECT_EQ(std::get<1>(compile(f).grad(std::array{0.3, -0.7}, 0.0)), 0.3);
  expectLikeEager(f, std::array{0.3, -0.7}, 0.0);
  expectLikeEager(f, std::array{0.3, -0.7}, 0.4);
}
TEST(SelectAndLists, TheBiasOfAProductNotChosenIsUsedOtherwise) {
  // The sweep meets the product first, and must not leave the first word on the bias to it.
  static constexpr auto f = compile([](const auto& x, auto a) {
    const auto twice = a * 2.0;
    const auto product = innerProductWithBias(x, x, a);
    return select(a > 0.0, product, x[0]) + twice;
  });
  const auto gradientAt = [](double a) { return std::get<1>(f.grad(std::array{0.3, -0.7}, a)); };
  const double chosen = gradientAt(0.4),
               notChosen = gradientAt(-0.4);  // at once: the stack is as the first leaves it
  EXPECT_EQ(chosen, 3.0);
  EXPECT_EQ(notChosen, 2.0);
}
TEST(SelectInAJacobian, EachRowHasItsOwnChoice) {
  constexpr auto f = [](auto a, auto b) {
    const auto root = sqrt(a);
    return std::array{select(a > 0.0, root, b), root * b, select(a > 0.0, b, root), b * b};
  };
  modes::expectJacobianLikeEager(f, 0.0, 0.75);
  modes::expectJacobianLikeEager(f, 0.3, 0.75);
}

}  // namespace select_poles_test
}  // namespace burtorch
