// Operators of the user's own: one struct each, written here as a user would, and everything else for free: plain
// numbers, the tape, dual numbers, Hessian-vector products, gradcheck.
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/user_operators.hpp"

namespace mine {

using burtorch::Unread;

struct Gaussian : burtorch::UnaryOp {
  static constexpr std::string_view name = "gaussian";
  template <class T> static T value(T x) {
    using std::exp;
    return exp(-(x * x));
  }
  template <class T> static T vjp(T g, T x, T y) { return g * (T{-2} * x * y); }
};

/// c x^2 / (1 + c x^2)
struct Saturated : burtorch::ConstantOp {
  static constexpr std::string_view name = "saturated";
  template <class T, class C> static T value(T x, C c) { return x * x * c / (x * x * c + T{1}); }
  template <class T, class C> static T vjp(T g, T x, C c, Unread) {
    const T d = x * x * c + T{1};
    return g * (x * (c + c) / (d * d));
  }
};

/// The root of the mean of squares.
struct RootMeanSquare : burtorch::VaryingOp {
  static constexpr std::string_view name = "rootMeanSquare";
  template <class T> static T value(const burtorch::List<T>& xs) {
    using std::sqrt;
    return sqrt(burtorch::ops::MeanSquaresVarying::value(xs));
  }
  template <class T>
  static void vjp(T g, const burtorch::List<T>& xs, T y, const burtorch::GradientList<T>& gs) {
    const T scale = g / (y * burtorch::ops::countOf<T>(xs.size()));
    burtorch::kernels::accumulate(gs, xs, [scale](auto& to, const auto& x) { to = to + scale * x; });
  }
};

/// x y + z, and nothing to say about poles.
struct MultiplyAdd : burtorch::TernaryOp {
  static constexpr std::string_view name = "multiplyAdd";
  template <class T> static constexpr T value(T x, T y, T z) { return x * y + z; }
  template <class T> static constexpr T vjpX(T g, Unread, T y, Unread, Unread) { return g * y; }
  template <class T> static constexpr T vjpY(T g, T x, Unread, Unread, Unread) { return g * x; }
  template <class T> static constexpr T vjpZ(T g, Unread, Unread, Unread, Unread) { return g; }
};

/// The Euclidean norm: finite at 0, where its slope is 0 / 0.
struct Norm : burtorch::VaryingOp {
  static constexpr std::string_view name = "norm";
  template <class T> static T value(const burtorch::List<T>& xs) {
    using std::sqrt;
    return sqrt(burtorch::ops::SumOfSquaresVarying::value(xs));
  }
  template <class T>
  static void vjp(T g, const burtorch::List<T>& xs, T y, const burtorch::GradientList<T>& gs) {
    burtorch::kernels::accumulate(gs, xs, [scale = g / y](auto& to, const auto& x) { to = to + scale * x; });
  }
};

/// As many different operators as a test needs.
template <int n> struct Times : burtorch::UnaryOp {
  static constexpr std::string_view name = "times";
  template <class T> static T value(T x) { return T{n} * x; }
  template <class T> static T vjp(T g, Unread, Unread) { return T{n} * g; }
};

}  // namespace mine

namespace user_ops_test {

using burtorch::CurrentTape;
using burtorch::Dual;
using burtorch::Tape;
using burtorch::Value;

constexpr double points[] = {-2.3, -0.4, 0.3, 0.7, 1.9};

template <class T> class UserOps : public testing::Test {};
using Scalars = testing::Types<double, float>;
struct ScalarName {
  template <class T> static std::string GetName(int) { return sizeof(T) == 8 ? "fp64" : "fp32"; }
};
TYPED_TEST_SUITE(UserOps, Scalars, ScalarName);

/// 8 roundings, none of which is amplified in these formulas, relative to at least `scale`.
template <class T> void expectNear(T got, long double want, long double scale = 0) {
  const long double allowed = 8 * std::fmax(std::fabs(want), scale) * std::numeric_limits<T>::epsilon();
  EXPECT_LE(std::fabs(got - want), allowed) << got << " instead of " << static_cast<double>(want);
}

TYPED_TEST(UserOps, OfOneNumberInEveryMode) {
  using T = TypeParam;
  for (const double point : points) {
    const T x = static_cast<T>(point);
    const long double at = x, value = std::exp(-at * at), slope = -2 * at * value;
    // exp turns the rounding of x^2 into a relative error of x^2.
    const long double scale = 1;
    Tape<T> tape;
    CurrentTape here(tape);
    const Value<T> a(x);
    const auto y = burtorch::apply<mine::Gaussian>(a);
    backward(y, T{-0.5});
    expectNear(y.dataCopy(), value, scale);
    expectNear(a.gradCopy(), slope / -2, scale);
    const auto dual = burtorch::apply<mine::Gaussian>(Dual<T>(x, T{1}));
    expectNear(dual.value, value, scale);
    expectNear(dual.tangent, slope, scale);
    EXPECT_EQ(burtorch::apply<mine::Gaussian>(x), y.dataCopy());
  }
}

TYPED_TEST(UserOps, OfTwoNumbersInEveryMode) {
  using T = TypeParam;
  for (const double first : points)
    for (const double second : points) {
      const T x = static_cast<T>(first), y = static_cast<T>(second);
      const long double value = std::hypot(static_cast<long double>(x), static_cast<long double>(y));
      Tape<T> tape;
      CurrentTape here(tape);
      const Value<T> a(x), b(y);
      const auto z = burtorch::apply<mine::Hypotenuse>(a, b);
      backward(z, T{-0.5});
      expectNear(z.dataCopy(), value);
      expectNear(a.gradCopy(), x / value / -2);
      expectNear(b.gradCopy(), y / value / -2);
      const auto dual = burtorch::apply<mine::Hypotenuse>(Dual<T>(x, T{1}), Dual<T>(y, T{2}));
      expectNear(dual.value, value);
      expectNear(dual.tangent, x / value + 2 * y / value, 1);
      EXPECT_EQ(burtorch::apply<mine::Hypotenuse>(x, y), z.dataCopy());
    }
}

TYPED_TEST(UserOps, OfTheSameNumberTwiceAddBothSlopes) {
  using T = TypeParam;
  Tape<T> tape;
  CurrentTape here(tape);
  const Value<T> a(T{0.7f});
  backward(burtorch::apply<mine::Hypotenuse>(a, a));
  expectNear(a.gradCopy(), std::sqrt(2.0L));
}

TYPED_TEST(UserOps, OfANumberAndAConstantInEveryMode) {
  using T = TypeParam;
  for (const double point : points)
    for (const double constant : {0.3, 2.5}) {
      const T x = static_cast<T>(point), c = static_cast<T>(constant);
      const long double square = static_cast<long double>(x) * x * c, value = square / (1 + square);
      const long double slope = 2 * static_cast<long double>(c) * x / ((1 + square) * (1 + square));
      Tape<T> tape;
      CurrentTape here(tape);
      const Value<T> a(x);
      const auto y = burtorch::applyConstant<mine::Saturated>(a, constant);
      backward(y, T{-0.5});
      expectNear(y.dataCopy(), value);
      expectNear(a.gradCopy(), slope / -2);
      const auto dual = burtorch::applyConstant<mine::Saturated>(Dual<T>(x, T{1}), constant);
      expectNear(dual.value, value);
      expectNear(dual.tangent, slope);
      EXPECT_EQ(burtorch::applyConstant<mine::Saturated>(x, constant), y.dataCopy());
    }
}

TYPED_TEST(UserOps, OfAListInEveryMode) {
  using T = TypeParam;
  Tape<T> tape;
  CurrentTape here(tape);
  std::array<T, 5> xs;
  long double squares = 0, along = 0;
  std::vector<Dual<T>> duals;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    xs[i] = static_cast<T>(points[i]);
    squares += static_cast<long double>(xs[i]) * xs[i];
    along += static_cast<long double>(xs[i]) * static_cast<long double>(i);
    duals.push_back({xs[i], static_cast<T>(i)});
  }
  const long double value = std::sqrt(squares / 5);
  const auto leaves = tape.leaves(std::span<const T>(xs));
  const auto y = burtorch::applyToList<mine::RootMeanSquare>(leaves);
  backward(y, T{-0.5});
  expectNear(y.dataCopy(), value);
  for (std::size_t i = 0; i < xs.size(); ++i) expectNear(leaves.gradients()[i], xs[i] / (5 * value) / -2);
  const auto dual = burtorch::applyToList<mine::RootMeanSquare>(duals);
  expectNear(dual.value, value);
  expectNear(dual.tangent, along / (5 * value), 1);
  EXPECT_EQ(burtorch::applyToList<mine::RootMeanSquare>(xs), y.dataCopy());
}

TYPED_TEST(UserOps, OfThreeNumbersInEveryMode) {
  using T = TypeParam;
  const auto f = [](auto x) { return burtorch::apply<mine::MultiplyAdd>(x[0] * x[0], x[1], x[2]) * x[1]; };
  const std::array<T, 3> at{T{0.5f}, T{-1.25f}, T{3}};
  const T value = f(at), da = at[0] * 2 * at[1] * at[1], db = 2 * at[0] * at[0] * at[1] + at[2], dc = at[1];
  Tape<T> tape;
  CurrentTape here(tape);
  const Value<T> a(at[0]), b(at[1]), c(at[2]);
  const auto y = f(std::array{a, b, c});
  backward(y);
  EXPECT_EQ(y.dataCopy(), value);
  EXPECT_EQ((std::array{a.gradCopy(), b.gradCopy(), c.gradCopy()}), (std::array{da, db, dc}));
  const auto dual = f(std::array{Dual<T>(at[0], 1), Dual<T>(at[1], 10), Dual<T>(at[2], 100)});
  expectNear(dual.tangent, da + 10 * db + 100 * dc, 1000);
  auto recorded = burtorch::record(f, std::array<T, 3>{1, 1, 1});
  std::array<T, 3> gradient{};
  EXPECT_EQ(recorded.valueAndGrad(at, gradient), value);
  EXPECT_EQ(gradient, (std::array{da, db, dc}));
  const auto compiled = burtorch::compile(
      [](auto p, auto q, auto r) { return burtorch::apply<mine::MultiplyAdd>(p * p, q, r) * q; });
  EXPECT_EQ(compiled.value(at[0], at[1], at[2]), value);
  EXPECT_EQ(compiled.grad(at[0], at[1], at[2]), (std::array{da, db, dc}));
}

TYPED_TEST(UserOps, APoleThatTheRootDoesNotDependOnPassesNothingOn) {
  using T = TypeParam;
  Tape<T> tape;
  CurrentTape here(tape);
  const auto x = tape.leaves(3, T{0});
  const auto unused = burtorch::applyToList<mine::Norm>(x);
  const auto root = reduceSum(x) + T{1};
  backward(root);
  for (const T g : x.gradients()) EXPECT_EQ(g, T{1});
  EXPECT_EQ(unused.gradCopy(), T{0});
}
TYPED_TEST(UserOps, APoleReachedWithZeroGivesNan) {
  using T = TypeParam;
  Tape<T> tape;
  CurrentTape here(tape);
  const auto x = tape.leaves(3, T{0});
  backward(burtorch::applyToList<mine::Norm>(x) * T{0});
  for (const T g : x.gradients()) EXPECT_NE(g, g);
}
TEST(UserOps, SayWhetherTheyHavePoles) {
  static_assert(burtorch::hasPoles<mine::Norm> && burtorch::hasPoles<burtorch::ops::Sqrt>);
  static_assert(!burtorch::hasPoles<burtorch::ops::Tanh> && !burtorch::hasPoles<burtorch::ops::LogSumExp>);
}

/// All four, one after the other, with the library's own in between.
const auto mixture = [](auto x) {
  const auto a = burtorch::apply<mine::Gaussian>(x[0] * x[1]);
  const auto b = burtorch::apply<mine::Hypotenuse>(a, burtorch::sigmoid(x[2]));
  const auto c = burtorch::applyConstant<mine::Saturated>(b + x[0], 1.7);
  return burtorch::applyToList<mine::RootMeanSquare>(std::array{a, b, c, x[1]});
};

TEST(UserOps, PassGradcheck) {
  const auto result = burtorch::gradcheck(mixture, std::array{0.7, -0.4, 1.9});
  EXPECT_TRUE(result.isOk) << "variable " << result.worst << ": " << result.gradient << " instead of "
                           << result.difference;
}

struct WrongGaussian : mine::Gaussian {
  template <class T> static T vjp(T g, T x, T y) { return g * (T{-1.999} * x * y); }
};
TEST(UserOps, AWrongSlopeFailsGradcheck) {
  const auto f = [](auto x) { return burtorch::apply<WrongGaussian>(x[0]); };
  EXPECT_FALSE(burtorch::gradcheck(f, std::array{0.7}).isOk);
}

TEST(UserOps, HaveHessianVectorProducts) {
  const std::array x{0.7, -0.4, 1.9}, v{1.0, -2.0, 0.5};
  std::array<double, 3> product{};
  burtorch::hvp(mixture, std::span<const double>(x), std::span<const double>(v), std::span<double>(product));
  // The difference of gradients along v.
  const auto gradientAt = [&](double h) {
    Tape<double> tape;
    CurrentTape here(tape);
    std::vector<Value<double>> leaves;
    for (std::size_t i = 0; i < 3; ++i) leaves.push_back(Value<double>(x[i] + h * v[i]));
    backward(mixture(std::span<const Value<double>>(leaves)));
    return std::array{leaves[0].gradCopy(), leaves[1].gradCopy(), leaves[2].gradCopy()};
  };
  const double h = 1e-5;
  const auto up = gradientAt(h), down = gradientAt(-h);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(product[i], (up[i] - down[i]) / (2 * h), 1e-6) << i;
}

TEST(UserOps, AreKnownByNameOnTheTape) {
  Tape<double> tape;
  CurrentTape here(tape);
  const auto y = burtorch::apply<mine::Gaussian>(Value<double>(0.7));
  EXPECT_EQ(tape.opOf(y.sysGetRawNodeIndex()).name, "gaussian");
}

TEST(UserOps, MayComeInAnotherOrderOnAnotherTape) {
  Tape<double> first, second;
  {
    CurrentTape here(first);
    burtorch::apply<mine::Times<2>>(Value<double>(1.0));
    burtorch::apply<mine::Times<3>>(Value<double>(1.0));
  }
  CurrentTape here(second);
  const Value<double> x(1.0);
  const auto y = burtorch::apply<mine::Times<3>>(x);
  backward(burtorch::apply<mine::Times<2>>(y));
  EXPECT_EQ(y.gradCopy(), 2.0);
  EXPECT_EQ(x.gradCopy(), 6.0);
}

/// Records a chain of different operators, whose product is 1: each is followed by its inverse.
template <int... i> Value<double> chain(Value<double> x, std::integer_sequence<int, i...>) {
  ((x = burtorch::apply<mine::Times<100 + i>>(x) / (100 + i)), ...);
  return x;
}
using AsManyAsFit = std::make_integer_sequence<int, static_cast<int>(burtorch::maxUserOps)>;

TEST(UserOps, AsManyAsFitOnATapeWork) {
  Tape<double> tape;
  CurrentTape here(tape);
  const Value<double> x(1.0);
  backward(chain(x, AsManyAsFit{}));
  EXPECT_NEAR(x.gradCopy(), 1, 32 * std::numeric_limits<double>::epsilon());
}

TEST(UserOps, TheSameOnesMayBeUsedAgainAndAgain) {
  Tape<double> tape;
  CurrentTape here(tape);
  const Value<double> x(1.0);
  Value<double> y = x;
  for (int round = 0; round < 10; ++round) y = chain(y, AsManyAsFit{});
  backward(y);
  EXPECT_NEAR(x.gradCopy(), 1, 320 * std::numeric_limits<double>::epsilon());
}

/// That `f` is one operator too many, says so, and leaves the tape as it was.
template <class F> void expectOneTooMany(F f) {
  Tape<double> tape;
  CurrentTape here(tape);
  const Value<double> x(1.0);
  chain(x, AsManyAsFit{});
  const auto before = tape.used();
  try {
    f(x);
    ADD_FAILURE() << "no error";
  } catch (const burtorch::Error& error) {
    EXPECT_NE(std::string(error.what()).find("more than 64"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("operators"), std::string::npos) << error.what();
  }
  const auto after = tape.used();
  EXPECT_EQ(after.scalars, before.scalars);
  EXPECT_EQ(after.instructions, before.instructions);
  EXPECT_EQ(after.words, before.words);
}
TEST(UserOps, OneTooManyOfOneNumberIsAnError) {
  expectOneTooMany([](const auto& x) { burtorch::apply<mine::Gaussian>(x); });
}
TEST(UserOps, OneTooManyOfTwoNumbersIsAnError) {
  expectOneTooMany([](const auto& x) { burtorch::apply<mine::Hypotenuse>(x, x); });
}
TEST(UserOps, OneTooManyWithAConstantIsAnError) {
  expectOneTooMany([](const auto& x) { burtorch::applyConstant<mine::Saturated>(x, 2.5); });
}
TEST(UserOps, OneTooManyOfAListIsAnError) {
  expectOneTooMany([](const auto& x) { burtorch::applyToList<mine::RootMeanSquare>(std::array{x, x}); });
}

}  // namespace user_ops_test
