// compile(f) in detail: at compile time, parts of a gradient, loops, constants, and graphs in which an output is no
// operator, an input is not used, or a number is used twice.
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <tuple>
#include <type_traits>

#include "graph/modes.hpp"

namespace burtorch {
namespace {

using modes::expectAllModesAgree;
using modes::opaque;

template <class X> struct Point { X x, y; };

// ---- at compile time ----

constexpr auto tiny = compile([](auto a, auto b) {
  auto c = a + b;
  auto d = a * b + pow3(b);
  auto e = c - d;
  return sqr(e) / 2.0;
});
static_assert(tiny.value(-41.0, 2.0) == 612.5);
static_assert(tiny.value(-41.0f, 2.0f) == 612.5f);
static_assert(tiny.value(-41, 2) == 612.5);
static_assert(tiny.grad(-41.0, 2.0) == std::array{-35.0, 1050.0});
static_assert(tiny.grad(-41.0f, 2.0f) == std::array{-35.0f, 1050.0f});
static_assert(tiny.grad<0>(-41.0, 2.0) == -35.0);
static_assert(tiny.partial<1>(-41.0, 2.0) == 1050.0);
static_assert(tiny.valueAndGrad(-41.0, 2.0).value == 612.5);
static_assert(tiny.valueAndGrad(-41.0, 2.0).gradient[1] == 1050.0);
static_assert(tiny.nodeCount<double, double> == 7);

constexpr auto ofArray = compile([](const auto& x) { return x[0] * x[1] - x[2] / x[1]; });
static_assert(ofArray.grad(std::array{1.5, 2.0, 3.0}) == std::array{2.0, 2.25, -0.5});
constexpr auto ofStruct = compile([](const auto& p, auto a) { return p.x * p.y * a + max(p.x, 1.0); });
static_assert(std::get<0>(ofStruct.grad(Point<double>{1.5, 2.0}, 4.0)).x == 9.0);
static_assert(std::get<0>(ofStruct.grad(Point<double>{0.5, 2.0}, 4.0)).x == 8.0);
static_assert(std::get<1>(ofStruct.grad(Point<double>{1.5, 2.0}, 4.0)) == 3.0);
constexpr auto chosen = compile([](auto a, auto b) { return select(a < b, a * b, a / b); });
static_assert(chosen.grad(1.5, 2.0) == std::array{2.0, 1.5});
static_assert(chosen.grad(3.0, 2.0) == std::array{0.5, -0.75});
constexpr auto several = compile([](auto a, auto b) { return std::array{a * b, a - b, a / b}; });
static_assert(several.value(3.0, 2.0) == std::array{6.0, 1.0, 1.5});
static_assert(several.jacobian(3.0, 2.0)[2] == std::array{0.5, -0.75});
static_assert(tiny.hessian(-41.0, 2.0)[0] == std::array{1.0, -65.0});
static_assert(tiny.hvp(-41.0, 2.0, 1.0, 2.0) == std::array{-129.0, 895.0});

TEST(CompileAtCompileTime, HasTheBitsOfTheRunningProgram) {
  constexpr auto atCompileTime = tiny.valueAndGrad(-0.7, 1.9);
  const auto running = tiny.valueAndGrad(opaque(-0.7), opaque(1.9));
  EXPECT_EQ(atCompileTime.value, running.value);
  EXPECT_EQ(atCompileTime.gradient, running.gradient);
}

// ---- parts of a gradient ----

constexpr auto mixed = compile([](auto a, const auto& v, const auto& p, auto b) {
  const auto product = a * v[0] * p.y;
  const auto quotient = exp(v[1]) / b;
  const auto wave = sin(p.x * a);
  return product + quotient - wave;
});
const std::array<double, 2> v{0.7, -0.3};
const Point<double> p{1.1, -1.9};

TEST(CompileParts, OneArgumentLooksLikeIt) {
  const auto all = mixed.grad(0.4, v, p, 2.3);
  static_assert(std::is_same_v<decltype(mixed.grad<0>(0.4, v, p, 2.3)), double>);
  static_assert(std::is_same_v<decltype(mixed.grad<1>(0.4, v, p, 2.3)), std::array<double, 2>>);
  static_assert(std::is_same_v<decltype(mixed.grad<2>(0.4, v, p, 2.3)), Point<double>>);
  EXPECT_EQ(mixed.grad<0>(0.4, v, p, 2.3), std::get<0>(all));
  EXPECT_EQ(mixed.grad<1>(0.4, v, p, 2.3), std::get<1>(all));
  EXPECT_EQ(mixed.grad<2>(0.4, v, p, 2.3).x, std::get<2>(all).x);
  EXPECT_EQ(mixed.grad<2>(0.4, v, p, 2.3).y, std::get<2>(all).y);
  EXPECT_EQ(mixed.grad<3>(0.4, v, p, 2.3), std::get<3>(all));
}
TEST(CompileParts, SeveralArgumentsInTheOrderAskedFor) {
  const auto all = mixed.grad(0.4, v, p, 2.3);
  const auto numbers = mixed.grad<3, 0>(0.4, v, p, 2.3);
  static_assert(std::is_same_v<decltype(numbers), const std::array<double, 2>>);
  EXPECT_EQ(numbers, (std::array{std::get<3>(all), std::get<0>(all)}));
  const auto others = mixed.grad<2, 1>(0.4, v, p, 2.3);
  static_assert(std::is_same_v<decltype(others), const std::tuple<Point<double>, std::array<double, 2>>>);
  EXPECT_EQ(std::get<0>(others).x, std::get<2>(all).x);
  EXPECT_EQ(std::get<1>(others), std::get<1>(all));
}
TEST(CompileParts, WithTheValue) {
  const auto [value, gradient] = mixed.valueAndGrad<1>(0.4, v, p, 2.3);
  EXPECT_EQ(value, mixed.value(0.4, v, p, 2.3));
  EXPECT_EQ(gradient, mixed.grad<1>(0.4, v, p, 2.3));
}
TEST(CompileParts, PartialCountsOverAllArguments) {
  const auto [a, array, point, b] = mixed.grad(0.4, v, p, 2.3);
  static_assert(std::is_same_v<decltype(mixed.partial<2>(0.4, v, p, 2.3)), double>);
  EXPECT_EQ(mixed.partial<0>(0.4, v, p, 2.3), a);
  EXPECT_EQ(mixed.partial<2>(0.4, v, p, 2.3), array[1]);
  EXPECT_EQ(mixed.partial<3>(0.4, v, p, 2.3), point.x);
  EXPECT_EQ(mixed.partial<4>(0.4, v, p, 2.3), point.y);
  EXPECT_EQ((mixed.partial<5, 1>(0.4, v, p, 2.3)), (std::array{b, array[0]}));
}
TEST(CompileParts, OfAListThatIsReadInPlace) {
  constexpr auto f = compile([](const auto& x, const auto& w) { return logSumExp(x) * innerProduct(x, w); });
  const std::array x{0.7, -0.3, 1.1}, w{0.4, 2.3, -1.9};
  const auto [gx, gw] = f.grad(x, w);
  EXPECT_EQ(f.grad<0>(x, w), gx);
  EXPECT_EQ(f.grad<1>(x, w), gw);
  EXPECT_EQ((f.grad<1, 0>(x, w)), (std::tuple(gw, gx)));
  EXPECT_EQ((f.partial<1>(x, w)), gx[1]);
  EXPECT_EQ((f.partial<4, 2>(x, w)), (std::array{gw[1], gx[2]}));
}
TEST(CompileParts, OfAListThatMixesArguments) {
  constexpr auto f = compile([](const auto& x, auto a) {
    return logSumExp(std::array{x[0], a, x[1]}) * x[1];
  });
  const std::array x{0.7, -0.3};
  const auto [gx, ga] = f.grad(x, 0.4);
  EXPECT_EQ(f.grad<0>(x, 0.4), gx);
  EXPECT_EQ(f.grad<1>(x, 0.4), ga);
  EXPECT_EQ((f.partial<2, 0>(x, 0.4)), (std::array{ga, gx[0]}));
}

// ---- loops ----

TEST(CompileLoops, UnrollAtCompileTime) {
  constexpr auto horner = [](const auto& coefficients, auto x) {
    auto sum = coefficients[coefficients.size() - 1];
    for (std::size_t i = coefficients.size() - 1; i-- > 0;) sum = sum * x + coefficients[i];
    return sum;
  };
  static_assert(compile(horner).nodeCount<std::array<double, 5>, double> == 8);
  expectAllModesAgree(horner, std::array{0.3, -0.7, 1.1, 2.3, -0.9}, 0.6);
}
TEST(CompileLoops, MayDependOnWholeNumbers) {
  constexpr auto power = [](auto x) {
    auto square = x, result = x;
    for (unsigned n = 13; n > 0; n /= 2) {  // x^14
      if (n % 2 == 1) result *= square;
      square *= square;
    }
    return result;
  };
  EXPECT_EQ(compile(power).value(2.0), 16384.0);
  EXPECT_EQ(compile(power).grad(2.0), 14 * 8192.0);
  expectAllModesAgree(power, 0.9);
}
/// Longer than what is inlined, and than the depth to which clang expands.
TEST(CompileLoops, OfAThousandSteps) {
  constexpr auto logistic = [](auto x, auto r) {
    for (int i = 0; i < 333; ++i) x = r * x * (1.0 - x);
    return x;
  };
  static_assert(compile(logistic).nodeCount<double, double> == 999);
  expectAllModesAgree(logistic, 0.3, 1.7);
}

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
    X scale(0.3);
    scale *= 1.7;
    scale = scale + X(0.9) * scale;
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
    const auto mixed = reduceSum(std::array{x[0], a, unused});
    return mixed - mixed + x[1];
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

}  // namespace
}  // namespace burtorch
