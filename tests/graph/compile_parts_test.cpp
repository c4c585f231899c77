// compile(f): at compile time, parts of a gradient, loops.
// label: full
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <tuple>
#include <type_traits>

#include "graph/modes.hpp"

namespace burtorch {
namespace compile_parts_test {

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
TEST(CompileParts, TheSameInputTwice) {
  constexpr auto f = compile([](auto a, auto b) { return a * b; });
  EXPECT_EQ((f.partial<1, 1>(3.0, 4.0)), (std::array{3.0, 3.0}));
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
/// More than are inlined, and than the depth to which clang expands.
TEST(CompileLoops, OfHundredsOfSteps) {
  constexpr auto logistic = [](auto x, auto r) {
    for (int i = 0; i < 100; ++i) x = r * x * (1.0 - x);
    return x;
  };
  static_assert(compile(logistic).nodeCount<double, double> == 300);
  expectAllModesAgree(logistic, 0.3, 1.7);
}

}  // namespace compile_parts_test
}  // namespace burtorch
