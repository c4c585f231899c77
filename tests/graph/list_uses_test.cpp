// Lists in compile-time graphs as functions use them: next to single numbers, twice, overlapping, one inside another.
// label: full
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <span>

#include "graph/modes.hpp"

namespace burtorch {
namespace list_uses_test {

using modes::expectAllModesAgree;

constexpr std::array five{0.7, -0.3, 1.2, 0.4, -1.1};
constexpr std::array three{0.9, -0.6, 1.7};

TEST(GraphLists, NextToOneOfTheirElements) {
  constexpr auto f = [](const auto& x) {
    const auto sum = reduceSum(x) * x[2];
    return sum + exp(x[0]);
  };
  EXPECT_EQ(compile([](const auto& x) { return reduceSum(x) * x[1]; }).grad(std::array{1.5, 4.0, -2.0}),
            (std::array{4.0, 7.5, 4.0}));
  expectAllModesAgree(f, five);
}
TEST(GraphLists, OfOneArgumentNextToAnother) {
  expectAllModesAgree([](const auto& x, auto a) { return logSumExp(x) * a; }, five, 0.8);
}
TEST(GraphLists, MixedNextToOneOfTheirElements) {
  constexpr auto f = [](const auto& x, auto a) {
    using X = decltype(a);
    const auto sum = reduceSumOfSquares(std::array{x[1], a, X(0.5), x[1] * a});
    return sum / x[1] - a;
  };
  expectAllModesAgree(f, three, 0.8);
}
TEST(GraphLists, WithThemselves) {
  EXPECT_EQ(compile([](const auto& x) { return innerProduct(x, x); }).grad(std::array{1.5, -2.5}),
            (std::array{3.0, -5.0}));
  expectAllModesAgree([](const auto& x) { return innerProduct(x, x); }, five);
}
TEST(GraphLists, WithABiasThatIsAnElement) {
  expectAllModesAgree([](const auto& x, const auto& y) { return innerProductWithBias(x, y, x[1]); }, three,
                      std::array{0.4, 2.3, -0.8});
}
TEST(GraphLists, WithABiasThatIsComputed) {
  expectAllModesAgree([](const auto& x, auto a) { return innerProductWithBias(x, x, exp(a)); }, three, 0.4);
}
TEST(GraphLists, WithABiasThatIsAConstant) {
  expectAllModesAgree([](const auto& x, auto a) { return innerProductWithBias(x, x, decltype(a)(0.75)) * a; },
                      three, 0.4);
}
TEST(GraphLists, ThatOverlap) {
  constexpr auto f = [](const auto& x) {
    const std::span all(x);
    const auto front = logSumExp(all.first(3)), back = logSumExp(all.last(3));
    const auto product = innerProduct(all.first(4), all.last(4));
    return product + front * back;
  };
  expectAllModesAgree(f, five);
}
TEST(GraphLists, OfOneElementTwice) {
  expectAllModesAgree(
      [](auto x) {
        return reduceMul(std::array{x, x}) + reduceSub(std::array{x, x, x});
      },
      0.7);
}
TEST(GraphLists, OfOneElement) {
  expectAllModesAgree([](auto x) { return logSumExp(std::array{x}) * reduceSum(std::array{x}); }, 0.7);
}
TEST(GraphLists, InBraces) {
  constexpr auto f = [](auto a, auto b) {
    const auto product = a * b;
    const auto sum = reduceSum({a, b, product});
    return sum / innerProduct({a, b}, {b, b});
  };
  expectAllModesAgree(f, 0.7, -0.4);
}
TEST(GraphLists, InsideALoopOverAMatrix) {
  using Matrix = std::array<std::array<double, 3>, 2>;
  constexpr auto layers = [](const auto& w, const auto& bias, const auto& x) {
    using X = std::decay_t<decltype(x[0])>;
    std::array<X, 2> hidden;
    for (std::size_t i = 0; i < 2; ++i) hidden[i] = tanh(innerProductWithBias(w[i], x, bias[i]));
    // The columns of w: strided.
    std::array<X, 2> column;
    for (std::size_t i = 0; i < 2; ++i) column[i] = w[i][1];
    return innerProduct(hidden, column) + crossEntropy(hidden, 1);
  };
  expectAllModesAgree(layers, Matrix{{{0.3, -0.7, 1.1}, {0.4, 0.9, -1.3}}}, std::array{0.2, -0.1}, three);
}
TEST(GraphLists, OfResultsOfLists) {
  constexpr auto f = [](const auto& x) {
    const auto a = reduceMean(x), b = variance(x), c = reduceMeanSquares(x);
    return logSumExp(std::array{a, b, c, reduceNegativeMean(std::array{a, b})});
  };
  expectAllModesAgree(f, five);
}
TEST(GraphLists, TwoResultsAtOnce) {
  constexpr auto f = [](const auto& x) {
    const auto [mean, meanSquares] = reduceMeanAndMeanSquares(x);
    return meanSquares - mean * mean;
  };
  expectAllModesAgree(f, five);
}
TEST(GraphLists, ProductWithAZero) {
  EXPECT_EQ(compile([](const auto& x) { return reduceMul(x); }).grad(std::array{1.5, 0.0, -2.0}),
            (std::array{0.0, -3.0, 0.0}));
  modes::expectLikeEager([](const auto& x) { return reduceMul(x); }, std::array{1.5, 0.0, -2.0});
}
TEST(GraphLists, CrossEntropyOfEveryTarget) {
  constexpr auto f = [](const auto& x) {
    return std::array{crossEntropy(x, 0), crossEntropy(x, 1), crossEntropy(x, 2), crossEntropy(x, 3),
                      crossEntropy(x, 4)};
  };
  modes::expectJacobianLikeEager(f, five);
}

/// Softmax as a list of the results, which every mode has.
template <class X, std::size_t n> constexpr std::array<X, n> softmaxOf(const std::array<X, n>& x) {
  std::array<X, n> results;
  softmax(x, std::span<X>(results));
  return results;
}
TEST(GraphLists, SoftmaxAddsUpToOne) {
  constexpr auto f = [](const auto& x) { return softmaxOf(x); };
  double sum = 0;
  for (const double y : compile(f).value(five)) sum += y;
  EXPECT_NEAR(sum, 1, 2e-16);
  modes::expectJacobianLikeEager(f, five);
}
TEST(GraphLists, SoftmaxOfSoftmax) {
  expectAllModesAgree([](const auto& x) { return innerProduct(softmaxOf(softmaxOf(x)), x); }, five);
}
TEST(GraphLists, SoftmaxOfWhichOneResultIsUsed) {
  expectAllModesAgree([](const auto& x) { return negativeLog(softmaxOf(x)[3]); }, five);
}
TEST(GraphLists, SoftmaxOfWhichAResultIsUsedTwice) {
  constexpr auto f = [](const auto& x) {
    const auto y = softmaxOf(x);
    return y[1] * y[1] + y[4] / y[0];
  };
  expectAllModesAgree(f, five);
}
TEST(GraphLists, SoftmaxOfComputedNumbers) {
  constexpr auto f = [](auto a, auto b) {
    const auto y = softmaxOf(std::array{a * b, a / b, a});
    return y[0] * y[2];
  };
  expectAllModesAgree(f, 0.7, -0.4);
}

}  // namespace list_uses_test
}  // namespace burtorch
