// Forward mode: directional derivatives, duals of duals.
#include "burtorch/ops/dual.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "burtorch/burtorch.hpp"

namespace burtorch {
namespace dual_test {

template <class X> X wavy(X x, X y) { return sin(x * y) + exp(x) / (y * y + 1.0) - tanh(x - 2.0 * y); }

TEST(DualNumber, ConstantHasTangentZero) {
  EXPECT_EQ(Dual<double>(0.7).tangent, 0.0);
  EXPECT_EQ(Dual<float>(3).value, 3.0f);
}

TEST(DualNumber, ComparesByValue) {
  EXPECT_TRUE(Dual<double>(0.7, 1.0) == Dual<double>(0.7, 2.0));
  EXPECT_TRUE(Dual<double>(0.7, 1.0) < 1);
  EXPECT_TRUE(Dual<double>(0.7) > Dual<double>(0.5, 9.0));
}

TEST(DualNumber, DirectionalDerivative) {
  // volatile: a compiler that evaluates sin and exp itself may round otherwise than the library that runs.
  const volatile double px = 0.7, py = -0.4;
  const double x = px, y = py, u = 1.3, v = -0.6;
  const auto f = wavy(Dual<double>(x, u), Dual<double>(y, v));
  const double t = std::tanh(x - 2 * y), s = 1 - t * t, q = y * y + 1;
  const double fx = y * std::cos(x * y) + std::exp(x) / q - s;
  const double fy = x * std::cos(x * y) - std::exp(x) * 2 * y / (q * q) + 2 * s;
  EXPECT_EQ(f.value, wavy(x, y));
  EXPECT_NEAR(f.tangent, fx * u + fy * v, 1e-15 * 10);
}

TEST(DualNumber, AgreesWithReverseMode) {
  Tape<double> tape;
  CurrentTape here(tape);
  const Value<double> x = 0.7, y = -0.4;
  backward(wavy(x, y));
  const double along = x.gradCopy() * 1.3 + y.gradCopy() * -0.6;
  EXPECT_NEAR(wavy(Dual<double>(0.7, 1.3), Dual<double>(-0.4, -0.6)).tangent, along, 1e-14);
}

TEST(DualNumber, Lists) {
  const std::array<Dual<double>, 3> x{Dual<double>(0.3, 1.0), Dual<double>(-0.4), Dual<double>(1.1)};
  EXPECT_EQ(reduceSum(x).tangent, 1.0);
  EXPECT_DOUBLE_EQ(reduceMul(x).tangent, -0.44);
  EXPECT_DOUBLE_EQ(innerProduct(x, x).tangent, 0.6);
  const double total = std::exp(0.3) + std::exp(-0.4) + std::exp(1.1);
  EXPECT_DOUBLE_EQ(logSumExp(x).tangent, std::exp(0.3) / total);
  EXPECT_DOUBLE_EQ(crossEntropy(x, 0).tangent, std::exp(0.3) / total - 1);
}

TEST(DualNumber, SinglePrecision) {
  const auto f = wavy(Dual<float>(0.7f, 1.3f), Dual<float>(-0.4f, -0.6f));
  EXPECT_NEAR(f.tangent, wavy(Dual<double>(0.7, 1.3), Dual<double>(-0.4, -0.6)).tangent, 2e-6);
}

TEST(NestedDual, GivesTheSecondDerivative) {
  using D = Dual<double>;
  using DD = Dual<D>;
  for (double x : {0.3, 0.9, 2.7}) {
    const DD at(D(x, 1.0), D(1.0, 0.0));
    EXPECT_NEAR(sin(at).tangent.tangent, -std::sin(x), 1e-15);
    EXPECT_NEAR(exp(at).tangent.tangent, std::exp(x), 1e-14);
    EXPECT_NEAR(logarithm(at).tangent.tangent, -1 / (x * x), 1e-14);
    EXPECT_NEAR(pow3(at).tangent.tangent, 6 * x, 1e-14);
    EXPECT_NEAR(pow(at, 1.7).tangent.tangent, 1.7 * 0.7 * std::pow(x, -0.3), 1e-14);
    EXPECT_NEAR(sqrt(at).tangent.tangent, -0.25 * std::pow(x, -1.5), 1e-14);
    const double t = std::tanh(x);
    EXPECT_NEAR(tanh(at).tangent.tangent, -2 * t * (1 - t * t), 1e-15);
    EXPECT_NEAR((1.0 / at).tangent.tangent, 2 / (x * x * x), 1e-12);
  }
}

TEST(NestedDual, GivesTheMixedDerivative) {
  using D = Dual<double>;
  using DD = Dual<D>;
  const double x = 0.7, y = -0.4;
  const auto f = sin(DD(D(x, 1.0), D(0.0)) * DD(D(y), D(1.0)));
  EXPECT_NEAR(f.tangent.tangent, std::cos(x * y) - x * y * std::sin(x * y), 1e-15);
}

}  // namespace dual_test
}  // namespace burtorch
