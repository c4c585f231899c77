// gradcheck accepts right gradients, rejects wrong ones and names where they are worst.
#include "burtorch/functional/gradcheck.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "burtorch/burtorch.hpp"

namespace burtorch {
namespace gradcheck_test {

struct RightCube : UnaryOp {
  static constexpr std::string_view name = "rightCube";
  template <class T> static T value(T x) { return x * x * x; }
  template <class T> static T vjp(T g, T x, Unread) { return g * (T{3} * x * x); }
};

struct WrongCube : UnaryOp {
  static constexpr std::string_view name = "wrongCube";
  template <class T> static T value(T x) { return x * x * x; }
  template <class T> static T vjp(T g, T x, Unread) { return g * (T{2} * x * x); }
};

struct NanSlope : UnaryOp {
  static constexpr std::string_view name = "nanSlope";
  template <class T> static T value(T x) { return x + x; }
  template <class T> static T vjp(T g, T, Unread) { return g * T{std::numeric_limits<double>::quiet_NaN()}; }
};

TEST(Gradcheck, AcceptsARightFunction) {
  const auto result =
      gradcheck([](auto x) { return sqr(x[0]) * x[1] + tanh(x[1] / x[0]); }, std::array{1.5, -0.4});
  EXPECT_TRUE(result);
  EXPECT_LT(result.error, 1e-8);
}

TEST(Gradcheck, AcceptsLists) {
  const std::vector<double> x{0.3, -0.4, 1.1, 2.2};
  EXPECT_TRUE(gradcheck([](auto v) { return logSumExp(v) * reduceMul(v) + innerProduct(v, v); }, x));
  EXPECT_TRUE(gradcheck([](auto v) { return crossEntropy(v, 1) + variance(v); }, x));
}

TEST(Gradcheck, AcceptsSinglePrecisionWithATolerance) {
  EXPECT_TRUE(gradcheck([](auto x) { return x[0] * tanh(x[1]); }, std::array{0.7f, -0.4f}, 1e-3));
}

TEST(Gradcheck, AcceptsARightUserOperator) {
  EXPECT_TRUE(gradcheck([](auto x) { return apply<RightCube>(x[0]) * x[1]; }, std::array{1.5, -0.4}));
}

TEST(Gradcheck, RejectsAWrongUserOperator) {
  EXPECT_FALSE(gradcheck([](auto x) { return apply<WrongCube>(x[0]) * x[1]; }, std::array{1.5, -0.4}));
}

TEST(Gradcheck, NamesTheWorstVariableWithBothNumbers) {
  const auto result = gradcheck([](auto x) { return x[0] * 2.0 + apply<WrongCube>(x[1]) + sin(x[2]); },
                                std::array{1.5, 0.7, -0.4});
  EXPECT_FALSE(result.isOk);
  EXPECT_EQ(result.worst, 1u);
  EXPECT_NEAR(result.gradient, 2 * 0.49, 1e-15);
  EXPECT_NEAR(result.difference, 3 * 0.49, 1e-8);
  EXPECT_NEAR(result.error, 0.49, 1e-8);
}

TEST(Gradcheck, TheErrorIsRelativeToALargeGradient) {
  const auto result = gradcheck([](auto x) { return apply<WrongCube>(x[0]); }, std::array{10.0});
  EXPECT_NEAR(result.error, 0.5, 1e-6);
}

TEST(Gradcheck, RejectsANanGradient) {
  const auto result = gradcheck([](auto x) { return apply<NanSlope>(x[0]); }, std::array{0.7});
  EXPECT_FALSE(result.isOk);
  EXPECT_EQ(result.worst, 0u);
}

TEST(Gradcheck, RejectsANanGradientWhereverItIs) {
  const auto first =
      gradcheck([](auto x) { return apply<NanSlope>(x[0]) + sin(x[1]); }, std::array{0.7, 0.2});
  EXPECT_FALSE(first.isOk);
  EXPECT_EQ(first.worst, 0u);
  const auto last = gradcheck([](auto x) { return sin(x[0]) + apply<NanSlope>(x[1]); }, std::array{0.7, 0.2});
  EXPECT_FALSE(last.isOk);
  EXPECT_EQ(last.worst, 1u);
}

TEST(Gradcheck, ATighterToleranceRejectsRounding) {
  const auto f = [](auto x) { return exp(x[0]) * sin(x[0]); };
  EXPECT_TRUE(gradcheck(f, std::array{0.7}, 1e-6));
  EXPECT_FALSE(gradcheck(f, std::array{0.7}, 1e-17));
}

TEST(Gradcheck, LeavesTheCurrentTapeAlone) {
  Tape<double> tape;
  CurrentTape here(tape);
  const Value<double> x = 0.5;
  EXPECT_TRUE(gradcheck([](auto v) { return sin(v[0]); }, std::array{0.7}));
  EXPECT_EQ(tape.size(), 1u);
  EXPECT_EQ(x.gradCopy(), 0.0);
  EXPECT_EQ(&currentTape<double>(), &tape);
}

}  // namespace gradcheck_test
}  // namespace burtorch
