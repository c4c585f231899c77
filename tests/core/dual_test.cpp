// Forward mode: directional derivatives, duals of duals, Hessian-vector products.
#include "burtorch/core/dual.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "burtorch/burtorch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace {

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

// ---- Hessian-vector products ----

constexpr auto rosenbrock = [](auto x) {
  auto sum = 100.0 * sqr(x[1] - sqr(x[0])) + sqr(1.0 - x[0]);
  for (std::size_t i = 1; i + 1 < x.size(); ++i) sum += 100.0 * sqr(x[i + 1] - sqr(x[i])) + sqr(1.0 - x[i]);
  return sum;
};

using Vector = std::array<double, 5>;
constexpr Vector point{0.7, -0.3, 1.2, 0.4, -1.1}, direction{0.5, -1.5, 0.3, 2.1, -0.8};

Vector rosenbrockHessianVector(const Vector& x, const Vector& v) {
  Vector product{};
  for (std::size_t i = 0; i < 5; ++i) {
    if (i < 4) product[i] += (1200 * x[i] * x[i] - 400 * x[i + 1] + 2) * v[i] - 400 * x[i] * v[i + 1];
    if (i > 0) product[i] += 200 * v[i] - 400 * x[i - 1] * v[i - 1];
  }
  return product;
}

template <class F> Vector hessianVectorOf(const F& f, const Vector& x, const Vector& v) {
  Vector product;
  hessianVector<double>(f, x, v, product);
  return product;
}

TEST(HessianVector, OfRosenbrockIsTheAnalyticOne) {
  const Vector expected = rosenbrockHessianVector(point, direction);
  const Vector product = hessianVectorOf(rosenbrock, point, direction);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(product[i], expected[i], 1e-12 * 2000) << "component " << i;
}

TEST(HessianVector, GivesTheGradientToo) {
  Vector product, gradient;
  hessianVector<double>(rosenbrock, point, direction, product, gradient);
  for (std::size_t i = 0; i < 5; ++i) {
    double expected = 0;
    if (i < 4) expected += -400 * point[i] * (point[i + 1] - point[i] * point[i]) - 2 * (1 - point[i]);
    if (i > 0) expected += 200 * (point[i] - point[i - 1] * point[i - 1]);
    EXPECT_NEAR(gradient[i], expected, 1e-12 * 500) << "component " << i;
  }
}

TEST(HessianVector, OfCrossEntropyIsDiagonalMinusOuterProduct) {
  const Vector product = hessianVectorOf([](auto x) { return crossEntropy(x, 2); }, point, direction);
  double total = 0, mean = 0;
  for (double x : point) total += std::exp(x);
  for (std::size_t i = 0; i < 5; ++i) mean += std::exp(point[i]) / total * direction[i];
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_NEAR(product[i], std::exp(point[i]) / total * (direction[i] - mean), 1e-15) << "component " << i;
}

TEST(HessianVector, OfSoftmaxThenLogarithmIsTheSame) {
  const Vector fused = hessianVectorOf([](auto x) { return crossEntropy(x, 2); }, point, direction);
  const Vector steps = hessianVectorOf([](auto x) { return negativeLog(softmax(x)[2]); }, point, direction);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(steps[i], fused[i], 1e-15) << "component " << i;
}

template <class F> void expectSymmetric(const F& f, double tolerance) {
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      Vector ei{}, ej{};
      ei[i] = ej[j] = 1;
      EXPECT_NEAR(hessianVectorOf(f, point, ei)[j], hessianVectorOf(f, point, ej)[i], tolerance)
          << i << ", " << j;
    }
  }
}

TEST(HessianVector, IsSymmetric) {
  expectSymmetric(rosenbrock, 1e-12);
  expectSymmetric([](auto x) { return crossEntropy(x, 1) * reduceMul(x); }, 1e-13);
  expectSymmetric([](auto x) { return innerProduct(x, x) * variance(x) + logSumExp(x); }, 1e-12);
}

TEST(HessianVector, LeavesTheCurrentTapeAlone) {
  Tape<Dual<double>> tape;
  CurrentTape here(tape);
  const Value<Dual<double>> x(Dual<double>(0.5));
  hessianVectorOf(rosenbrock, point, direction);
  EXPECT_EQ(tape.size(), 1u);
  EXPECT_EQ((&currentTape<Dual<double>>()), &tape);
}

TEST(HessianVector, SizesMustAgree) {
  const std::array<double, 4> tooShort{};
  Vector product{};
  const auto sentence = sentenceOf([&] { hessianVector<double>(rosenbrock, point, tooShort, product); });
  EXPECT_EQ(sentence, "hessianVector of 5 variables, a vector of 4 and a result of 5");
}

}  // namespace
}  // namespace burtorch
