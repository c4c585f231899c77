// compile(f) of graphs with constants, with an output that is no operator, an input that is not used, a number that is
// used twice.
// label: full
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <tuple>
#include <type_traits>

#include "graph/modes.hpp"

namespace burtorch {
namespace compile_nodes_test {

using modes::expectAllModesAgree;

// ---- constants ----

TEST(CompileConstants, OfTheNumberType) {
  constexpr auto f = [](auto x) {
    using X = decltype(x);
    return X(2.0) * x + X(3) / x - X(0.5f);
  };
  EXPECT_EQ(compile(f).grad(2.0), 1.25);
  expectAllModesAgree(f, 0.7);
  expectAllModesAgree(f, 0.7f);
}
TEST(CompileConstants, AreComputedWith) {
  constexpr auto f = [](auto x) {
    using X = decltype(x);
    X scale(0.3f);
    scale *= 1.75f;
    scale = scale + X(0.9f) * scale;
    return relu(scale) * x - scale;
  };
  expectAllModesAgree(f, 0.7);
  expectAllModesAgree(f, 0.7f);
}
TEST(CompileConstants, AsTheStartOfASum) {
  constexpr auto f = [](const auto& x) {
    std::decay_t<decltype(x[0])> sum(0.0);
    for (const auto& number : x) sum += number * number;
    return sum;
  };
  EXPECT_EQ(compile(f).grad(std::array{1.5, -2.5}), (std::array{3.0, -5.0}));
  expectAllModesAgree(f, std::array{0.3, -0.7, 1.1});
}
TEST(CompileConstants, NumbersMayBeAssignedLater) {
  constexpr auto f = [](auto a, auto b) {
    using X = decltype(a);
    X c, d{};
    c = a * b;
    d = c + a;
    std::array<X, 3> hidden{};
    for (std::size_t i = 0; i < 3; ++i) hidden[i] = tanh(d * static_cast<double>(i + 1));
    hidden[0] = X(0.5);
    return hidden[0] * hidden[1] + hidden[2];
  };
  expectAllModesAgree(f, 0.3, -0.7);
}

// ---- odd outputs and inputs ----

TEST(CompileOutput, IsAnInput) {
  constexpr auto f = [](auto, auto b) { return b; };
  EXPECT_EQ(compile(f).grad(0.3, 0.7), (std::array{0.0, 1.0}));
  EXPECT_EQ(compile(f).grad<0>(0.3, 0.7), 0.0);
  expectAllModesAgree(f, 0.3, 0.7);
}
TEST(CompileOutput, IsAnElementOfAnArray) {
  constexpr auto f = [](const auto& x) { return x[1]; };
  EXPECT_EQ(compile(f).grad(std::array{0.3, 0.7, 1.1}), (std::array{0.0, 1.0, 0.0}));
  EXPECT_EQ(compile(f).partial<1>(std::array{0.3, 0.7, 1.1}), 1.0);
  expectAllModesAgree(f, std::array{0.3, 0.7, 1.1});
}
TEST(CompileOutput, IsAnInputThatAListReads) {
  constexpr auto f = [](const auto& x, auto a) {
    const auto unused = logSumExp(x);
    const auto sum = reduceSum(std::array{x[0], a, unused});
    return sum - sum + x[1];
  };
  EXPECT_EQ(std::get<0>(compile(f).grad(std::array{0.3, 0.7}, 1.1)), (std::array{0.0, 1.0}));
  constexpr auto g = [](const auto& x) {
    [[maybe_unused]] const auto unused = logSumExp(x);
    return x[1];
  };
  EXPECT_EQ(compile(g).grad(std::array{0.3, 0.7}), (std::array{0.0, 1.0}));
  EXPECT_EQ(compile(g).value(std::array{0.3, 0.7}), 0.7);
}
TEST(CompileOutput, IsAConstant) {
  constexpr auto f = [](auto a, auto) { return decltype(a)(2.5); };
  EXPECT_EQ(compile(f).value(0.3, 0.7), 2.5);
  EXPECT_EQ(compile(f).grad(0.3, 0.7), (std::array{0.0, 0.0}));
  expectAllModesAgree(f, 0.3, 0.7);
}
TEST(CompileOutput, IsAPlainNumber) {
  constexpr auto f = compile([](auto) { return 2.5; });
  static_assert(std::is_same_v<decltype(f.value(0.3f)), float>);
  EXPECT_EQ(f.value(0.3f), 2.5f);
  EXPECT_EQ(f.grad(0.3f), 0.0f);
}
TEST(CompileOutput, DoesNotDependOnAnOperatorNextToAPole) {
  constexpr auto f = [](auto a, auto b) {
    [[maybe_unused]] const auto pole = log(a) / a;
    return b * b;
  };
  EXPECT_EQ(compile(f).grad(0.0, 0.75), (std::array{0.0, 1.5}));
  modes::expectLikeEager(f, 0.0, 0.75);
}

TEST(CompileInput, ThatIsNotUsedHasGradientZero) {
  constexpr auto f = [](auto a, auto, const auto& x, const auto& y) { return a * x[1] - y[0]; };
  const auto [a, b, x, y] = compile(f).grad(0.3, 0.7, std::array{1.1, 2.3}, std::array{0.4});
  EXPECT_EQ(a, 2.3);
  EXPECT_EQ(b, 0.0);
  EXPECT_EQ(x, (std::array{0.0, 0.3}));
  EXPECT_EQ(y, (std::array{-1.0}));
  expectAllModesAgree(f, 0.3, 0.7, std::array{1.1, 2.3}, std::array{0.4});
}
TEST(CompileInput, ThatIsNotUsedNextToAListHasGradientZero) {
  constexpr auto f = [](const auto& x, const auto& unused) {
    [[maybe_unused]] const auto dead = reduceSum(unused);
    return reduceSumOfSquares(std::array{x[0], x[2]});
  };
  const auto [x, unused] = compile(f).grad(std::array{1.5, -2.5, 4.0}, std::array{0.3, 0.7});
  EXPECT_EQ(x, (std::array{3.0, 0.0, 8.0}));
  EXPECT_EQ(unused, (std::array{0.0, 0.0}));
}

// ---- the same number twice ----

TEST(CompileTwice, Product) {
  EXPECT_EQ(compile([](auto x) { return x * x; }).grad(1.75), 3.5);
  expectAllModesAgree([](auto x) { return x * x; }, 0.7);
}
TEST(CompileTwice, Difference) {
  EXPECT_EQ(compile([](auto x) { return x - x; }).grad(1.75), 0.0);
  expectAllModesAgree([](auto x) { return x - x; }, 0.7);
}
TEST(CompileTwice, Quotient) {
  EXPECT_EQ(compile([](auto x) { return x / x; }).grad(1.75), 0.0);
  expectAllModesAgree([](auto x) { return x / x; }, 0.7);
}
TEST(CompileTwice, InPlace) {
  constexpr auto f = [](auto c) {
    c += c;
    c *= c;
    c -= c * 0.25;
    c /= c + 1.0;
    return c;
  };
  EXPECT_EQ(compile([](auto c) { return c += c; }).grad(1.75), 2.0);
  expectAllModesAgree(f, 0.7);
}
TEST(CompileTwice, OfAComputedNumber) {
  constexpr auto f = [](auto x) {
    const auto y = exp(x);
    const auto z = y * y;
    return z / y + y;
  };
  expectAllModesAgree(f, 0.7);
}
TEST(CompileTwice, OfTheOutputOfAnEarlierStep) {
  constexpr auto f = [](auto x, auto y) {
    const auto a = x * y;
    const auto b = a + a;
    const auto c = b * a - b;
    return max(c, c) + mean(a, a);
  };
  expectAllModesAgree(f, 0.7, -0.3);
}

}  // namespace compile_nodes_test
}  // namespace burtorch
