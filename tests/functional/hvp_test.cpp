// Hessian-vector products against formulas by hand, and their symmetry.
#include "burtorch/functional/hvp.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "burtorch/burtorch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace hvp_test {

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

template <class F> Vector hvpOf(const F& f, const Vector& x, const Vector& v) {
  Vector product;
  hvp<double>(f, x, v, product);
  return product;
}

TEST(HessianVector, OfRosenbrockIsTheAnalyticOne) {
  const Vector expected = rosenbrockHessianVector(point, direction);
  const Vector product = hvpOf(rosenbrock, point, direction);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(product[i], expected[i], 1e-12 * 2000) << "component " << i;
}

TEST(HessianVector, GivesTheGradientToo) {
  Vector product, gradient;
  hvp<double>(rosenbrock, point, direction, product, gradient);
  for (std::size_t i = 0; i < 5; ++i) {
    double expected = 0;
    if (i < 4) expected += -400 * point[i] * (point[i + 1] - point[i] * point[i]) - 2 * (1 - point[i]);
    if (i > 0) expected += 200 * (point[i] - point[i - 1] * point[i - 1]);
    EXPECT_NEAR(gradient[i], expected, 1e-12 * 500) << "component " << i;
  }
}

TEST(HessianVector, OfCrossEntropyIsDiagonalMinusOuterProduct) {
  const Vector product = hvpOf([](auto x) { return crossEntropy(x, 2); }, point, direction);
  double total = 0, mean = 0;
  for (double x : point) total += std::exp(x);
  for (std::size_t i = 0; i < 5; ++i) mean += std::exp(point[i]) / total * direction[i];
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_NEAR(product[i], std::exp(point[i]) / total * (direction[i] - mean), 1e-15) << "component " << i;
}

TEST(HessianVector, OfSoftmaxThenLogarithmIsTheSame) {
  const Vector fused = hvpOf([](auto x) { return crossEntropy(x, 2); }, point, direction);
  const Vector steps = hvpOf([](auto x) { return negativeLog(softmax(x)[2]); }, point, direction);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(steps[i], fused[i], 1e-15) << "component " << i;
}

template <class F> void expectSymmetric(const F& f, double tolerance) {
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      Vector ei{}, ej{};
      ei[i] = ej[j] = 1;
      EXPECT_NEAR(hvpOf(f, point, ei)[j], hvpOf(f, point, ej)[i], tolerance) << i << ", " << j;
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
  hvpOf(rosenbrock, point, direction);
  EXPECT_EQ(tape.size(), 1u);
  EXPECT_EQ((&currentTape<Dual<double>>()), &tape);
}

TEST(HessianVector, SizesMustAgree) {
  const std::array<double, 4> tooShort{};
  Vector product{};
  const auto sentence = sentenceOf([&] { hvp<double>(rosenbrock, point, tooShort, product); });
  EXPECT_EQ(sentence, "hvp: expected a vector and a result of 5 numbers, got 4 and 5");
}

}  // namespace hvp_test
}  // namespace burtorch
