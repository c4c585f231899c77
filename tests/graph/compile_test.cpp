// compile(f): values and gradients of functions of numbers, arrays and structs, against every other mode and, where
// the arithmetic is exact, against the numbers themselves. What a result looks like is part of the promise.
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <string>
#include <tuple>
#include <type_traits>

#include "graph/modes.hpp"

namespace burtorch {
namespace compile_test {

using modes::expectAllModesAgree;

template <class T> class CompileScalars : public testing::Test {};
using Scalars = testing::Types<double, float>;
struct ScalarName {
  template <class T> static std::string GetName(int) { return sizeof(T) == 8 ? "fp64" : "fp32"; }
};
TYPED_TEST_SUITE(CompileScalars, Scalars, ScalarName);

/// The paper's tiny graph.
constexpr auto tiny = [](auto a, auto b) {
  auto c = a + b;
  auto d = a * b + pow3(b);
  auto e = c - d;
  return sqr(e) / 2.0;
};
constexpr auto wavy = [](auto x, auto y) {
  const auto wave = sin(x * y);
  const auto bump = exp(x) / (y * y + 1.0);
  const auto step = tanh(x - 2.0 * y);
  return wave + bump - step;
};

// ---- numbers ----

TYPED_TEST(CompileScalars, TinyGraphIsExact) {
  using T = TypeParam;
  constexpr auto f = compile(tiny);
  const auto [value, gradient] = f.valueAndGrad(T{-41}, T{2});
  EXPECT_EQ(value, T{612.5});
  EXPECT_EQ(gradient, (std::array{T{-35}, T{1050}}));
  EXPECT_EQ(f.value(T{-41}, T{2}), T{612.5});
  EXPECT_EQ(f.grad(T{-41}, T{2}), gradient);
}
TYPED_TEST(CompileScalars, TinyGraphInAllModes) {
  using T = TypeParam;
  expectAllModesAgree(tiny, T{-2.3f}, T{0.7f});
  expectAllModesAgree(tiny, T{0.4f}, T{-1.9f});
}
TYPED_TEST(CompileScalars, FunctionsOfTheLibraryInAllModes) {
  using T = TypeParam;
  expectAllModesAgree(wavy, T{0.7f}, T{-0.4f});
  expectAllModesAgree(wavy, T{-1.3f}, T{2.6f});
}
TYPED_TEST(CompileScalars, GradientOfOneNumberIsANumber) {
  using T = TypeParam;
  constexpr auto cubic = [](auto x) { return pow3(x) - 2.0 * x; };
  constexpr auto f = compile(cubic);
  static_assert(std::is_same_v<decltype(f.value(T{})), T>);
  static_assert(std::is_same_v<decltype(f.grad(T{})), T>);
  static_assert(std::is_same_v<decltype(f.valueAndGrad(T{}).gradient), T>);
  EXPECT_EQ(f.grad(T{1.5}), T{4.75});
  expectAllModesAgree(cubic, T{0.7f});
}
TYPED_TEST(CompileScalars, GradientOfSeveralNumbersIsAnArray) {
  using T = TypeParam;
  constexpr auto product = [](auto x, auto y, auto z) { return x * y * z; };
  constexpr auto f = compile(product);
  static_assert(std::is_same_v<decltype(f.grad(T{}, T{}, T{})), std::array<T, 3>>);
  EXPECT_EQ(f.grad(T{1.5}, T{-2.5}, T{4}), (std::array{T{-10}, T{6}, T{-3.75}}));
  expectAllModesAgree(product, T{0.7f}, T{-0.4f}, T{1.9f});
}

TEST(CompileWholeNumbers, AreDouble) {
  constexpr auto f = compile(tiny);
  static_assert(std::is_same_v<decltype(f.value(-41, 2)), double>);
  static_assert(std::is_same_v<decltype(f.grad(-41, 2)), std::array<double, 2>>);
  EXPECT_EQ(f.value(-41, 2), 612.5);
  EXPECT_EQ(f.grad(-41, 2), (std::array{-35.0, 1050.0}));
  EXPECT_EQ(f.valueAndGrad(-41, 2).value, 612.5);
}
TEST(CompileWholeNumbers, MixWithDouble) {
  constexpr auto f = compile(tiny);
  EXPECT_EQ(f.grad(-41, 2.0), (std::array{-35.0, 1050.0}));
  EXPECT_EQ(f.grad(-41.0, 2u), (std::array{-35.0, 1050.0}));
  EXPECT_EQ(f.grad<1>(short{-41}, 2), 1050.0);
  EXPECT_EQ((f.partial<0>(-41, 2)), -35.0);
}

// ---- arrays ----

TYPED_TEST(CompileScalars, GradientOfAnArrayIsAnArray) {
  using T = TypeParam;
  constexpr auto rosenbrock = [](const auto& x) {
    auto sum = sqr(1.0 - x[0]);
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
      sum += 100.0 * sqr(x[i + 1] - sqr(x[i]));
      if (i > 0) sum += sqr(1.0 - x[i]);
    }
    return sum;
  };
  constexpr auto f = compile(rosenbrock);
  static_assert(std::is_same_v<decltype(f.grad(std::array<T, 3>{})), std::array<T, 3>>);
  EXPECT_EQ(f.grad(std::array{T{2}, T{3}, T{5}}), (std::array{T{802}, T{4604}, T{-800}}));
  expectAllModesAgree(rosenbrock, std::array{T{0.7f}, T{-0.3f}, T{1.2f}, T{0.4f}, T{-1.1f}});
}
TYPED_TEST(CompileScalars, NestedArraysKeepTheirShape) {
  using T = TypeParam;
  using Matrix = std::array<std::array<T, 3>, 2>;
  // Every number has a derivative of its own, so that none can be mistaken for another.
  constexpr auto weighted = [](const auto& m) {
    auto sum = 1.0 * m[0][0];
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 3; ++j)
        if (i + j > 0) sum += static_cast<double>(10 * i + j + 1) * m[i][j];
    return sum;
  };
  const Matrix at{{{T{0.3f}, T{-0.7f}, T{1.1f}}, {T{2.3f}, T{0.9f}, T{-1.9f}}}};
  static_assert(std::is_same_v<decltype(compile(weighted).grad(at)), Matrix>);
  EXPECT_EQ(compile(weighted).grad(at), (Matrix{{{T{1}, T{2}, T{3}}, {T{11}, T{12}, T{13}}}}));
  expectAllModesAgree(weighted, at);
}
TEST(CompileArrays, ThreeLevelsDeep) {
  using Cube = std::array<std::array<std::array<double, 2>, 2>, 2>;
  constexpr auto f = [](const auto& c) {
    const auto first = c[0][0][0] * c[1][1][1] + exp(c[0][1][0]) * c[1][0][1];
    return first - c[0][0][1] / c[1][1][0] + c[0][1][1] * c[1][0][0];
  };
  expectAllModesAgree(f, Cube{{{{{0.3, -0.7}, {1.1, 2.3}}}, {{{0.9, -1.9}, {0.6, 1.7}}}}});
}
TEST(CompileArrays, OfOneElement) {
  constexpr auto f = compile([](const auto& x) { return sqr(x[0]); });
  static_assert(std::is_same_v<decltype(f.grad(std::array{0.5})), std::array<double, 1>>);
  EXPECT_EQ(f.grad(std::array{2.5})[0], 5.0);
}
TEST(CompileArrays, AreNotChanged) {
  const std::array x{0.3, -0.7, 1.1};
  auto copy = x;
  compile([](const auto& y) { return reduceMul(y) + y[1]; }).grad(copy);
  EXPECT_EQ(copy, x);
}

// ---- structs ----

template <class X> struct Point { X x, y; };
template <class X> struct Neuron {
  std::array<X, 3> weights;
  X bias;
};
template <class X> struct Segment {
  Point<X> from, to;
  X weight;
  std::array<Point<X>, 2> control;
};

constexpr auto neuron = [](const auto& n, const auto& input) {
  return tanh(innerProduct(n.weights, input) + n.bias);
};
constexpr auto segment = [](const auto& s) {
  return s.weight * sqrt(sqr(s.from.x - s.to.x) + sqr(s.from.y - s.to.y)) + s.control[0].x * s.control[1].y -
         s.control[0].y / s.control[1].x;
};

TYPED_TEST(CompileScalars, GradientOfAStructIsThatStruct) {
  using T = TypeParam;
  constexpr auto f = compile([](const auto& p) { return p.x * p.x * p.y; });
  static_assert(std::is_same_v<decltype(f.grad(Point<T>{})), Point<T>>);
  const Point<T> gradient = f.grad(Point<T>{T{1.5}, T{-2.5}});
  EXPECT_EQ(gradient.x, T{-7.5});
  EXPECT_EQ(gradient.y, T{2.25});
}
TYPED_TEST(CompileScalars, StructInAllModes) {
  using T = TypeParam;
  expectAllModesAgree([](const auto& p) { return exp(p.x) * p.y - p.x / p.y; }, Point<T>{T{0.3f}, T{-0.7f}});
}
TEST(CompileStructs, WithAnArrayMember) {
  constexpr auto f =
      compile([](const auto& n) { return n.weights[0] * n.weights[2] + n.bias * n.weights[1]; });
  const auto gradient = f.grad(Neuron<double>{{1.5, -2.5, 4.0}, 0.75});
  EXPECT_EQ(gradient.weights, (std::array{4.0, 0.75, 1.5}));
  EXPECT_EQ(gradient.bias, -2.5);
}
TEST(CompileStructs, WithStructMembers) {
  const Segment<double> at{{0.3, -0.7}, {1.1, 2.3}, 0.9, {{{-1.9, 0.6}, {1.7, 0.4}}}};
  const auto gradient = compile(segment).grad(at);
  EXPECT_EQ(gradient.from.x, -gradient.to.x);
  EXPECT_EQ(gradient.from.y, -gradient.to.y);
  EXPECT_LT(gradient.from.x, 0);
  EXPECT_EQ(gradient.control[0].x, 0.4);
  EXPECT_EQ(gradient.control[1].y, -1.9);
  EXPECT_EQ(gradient.control[0].y, -1 / 1.7);
  expectAllModesAgree(segment, at);
}
TEST(CompileStructs, InAnArray) {
  constexpr auto f = [](const auto& p) { return p[0].x * p[1].y - exp(p[0].y) / p[1].x; };
  const std::array<Point<double>, 2> at{{{0.3, -0.7}, {1.1, 2.3}}};
  static_assert(std::is_same_v<decltype(compile(f).grad(at)), std::array<Point<double>, 2>>);
  EXPECT_EQ(compile(f).grad(at)[0].x, 2.3);
  EXPECT_EQ(compile(f).grad(at)[1].y, 0.3);
  expectAllModesAgree(f, at);
}

// ---- several arguments of several shapes ----

TYPED_TEST(CompileScalars, GradientOfDifferentArgumentsIsATuple) {
  using T = TypeParam;
  constexpr auto f = compile(neuron);
  const Neuron<T> n{{T{0.3f}, T{-0.7f}, T{1.1f}}, T{0.2f}};
  const std::array<T, 3> input{T{0.9f}, T{0.6f}, T{-0.4f}};
  const auto [value, gradient] = f.valueAndGrad(n, input);
  static_assert(std::is_same_v<decltype(gradient), const std::tuple<Neuron<T>, std::array<T, 3>>>);
  EXPECT_EQ(std::get<0>(gradient).bias, T{1} - value * value);
  expectAllModesAgree(neuron, n, input);
}
TYPED_TEST(CompileScalars, NumberArrayAndStruct) {
  using T = TypeParam;
  constexpr auto f = [](auto a, const auto& v, const auto& p) {
    return a * v[1] + v[0] / p.y - sin(p.x) * a;
  };
  const auto gradient = compile(f).grad(T{1.5}, std::array{T{3}, T{-2.5}}, Point<T>{T{0}, T{4}});
  EXPECT_EQ(std::get<0>(gradient), T{-2.5});
  EXPECT_EQ(std::get<1>(gradient), (std::array{T{0.25}, T{1.5}}));
  EXPECT_EQ(std::get<2>(gradient).x, T{-1.5});
  EXPECT_EQ(std::get<2>(gradient).y, T{-0.1875});
  expectAllModesAgree(f, T{0.3f}, std::array{T{-0.7f}, T{1.1f}}, Point<T>{T{0.9f}, T{-1.9f}});
}

}  // namespace compile_test
}  // namespace burtorch
