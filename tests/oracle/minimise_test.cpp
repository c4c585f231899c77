// Minimisers: known ones are found, others are stationary to rounding, with and without a prox.
#include <burtorch/io/libsvm.hpp>
#include <burtorch/oracle/linear_problem.hpp>
#include <burtorch/oracle/minimise.hpp>
#include <burtorch/oracle/quadratic.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "oracle/problem_points.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace minimise_test {

constexpr double eps = std::numeric_limits<double>::epsilon();
using Rows = SampleRows<double>;

/// An oracle without Hessian products.
template <class F> struct GradientsOnly {
  using Scalar = double;
  const F& f;
  std::size_t size() const { return f.size(); }
  std::size_t parameterCount() const { return f.parameterCount(); }
  double value(std::span<const double> x, Batch batch) const { return f.value(x, batch); }
  double gradient(std::span<const double> x, Batch batch, std::span<double> into) const {
    return f.gradient(x, batch, into);
  }
  OracleCounts counts() const { return f.counts(); }
};

// mean(a b) / (mean(a^2) + l2) = 3.5 / (2.5 + 0.5).
TEST(Minimise, LeastSquaresByHand) {
  const LeastSquares<double> f(Rows::dense(1, {1, 2}, {1, 3}), {.l2 = 0.5});
  const Minimum found = minimise(f);
  EXPECT_TRUE(found.isConverged);
  EXPECT_NEAR(found.x[0], 3.5 / 3, 4 * eps);
  EXPECT_NEAR(found.value, f.value(found.x, AllSamples(2)), 0);
}
// Of n + m samples 1 with n labels 1 the probability is n / (n + m).
TEST(Minimise, LogisticRegressionByHand) {
  const LogisticRegression<double> f(Rows::dense(1, {1, 1, 1, 1}, {1, 1, 1, -1}));
  EXPECT_NEAR(minimise(f, {.tolerance = 0}).x[0], std::log(3.0), 8 * eps);
}
TEST(Minimise, FindsTheMinimisersOfQuadratics) {
  for (const bool isShared : {true, false})
    for (const std::size_t d : {1u, 30u, 200u})
      for (const double L : {1.0, 100.0, 1e6}) {
        SCOPED_TRACE(std::to_string(d) + " dimensions, L = " + std::to_string(L));
        const Quadratic<double> f(
            {.samples = 8, .dimension = d, .L = L, .isBasisShared = isShared, .seed = 2});
        const Minimum found = minimise(f);
        const Smoothness constants = f.smoothness();
        EXPECT_TRUE(found.isConverged);
        // |x - x*| <= |gradient| / mu, and the rounding of gradients of size L.
        EXPECT_LE(norm(minus(found.x, f.minimiser())),
                  (found.gradientNorm + 100 * eps * constants.L * norm(found.x)) / constants.mu);
        EXPECT_NEAR(found.value, f.minimum(), 1e-13 * f.minimum());
      }
}
template <class F> void expectStationary(const F& f, const Minimum& found, double tolerance = 1e-12) {
  const AllSamples all(f.size());
  const std::vector<double> zero(f.parameterCount());
  EXPECT_TRUE(found.isConverged) << found.gradientNorm;
  EXPECT_EQ(norm(gradientOf(f, found.x, all)), found.gradientNorm);
  EXPECT_LE(found.gradientNorm, tolerance * norm(gradientOf(f, zero, all)));
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    std::vector<double> x = randomPoint(found.x.size(), seed, 1e-3);
    for (std::size_t j = 0; j < x.size(); ++j) x[j] += found.x[j];
    EXPECT_GT(f.value(x, all), found.value);
  }
}
TEST(Minimise, LinearProblemsBecomeStationary) {
  // Few parameters: Cholesky. Many: conjugate gradients.
  for (const std::size_t features : {12u, 200u}) {
    for (const double l2 : {1e-1, 1e-5}) {
      SCOPED_TRACE(std::to_string(features) + " features, l2 = " + std::to_string(l2));
      const auto check = [](const auto& f) { expectStationary(f, minimise(f)); };
      check(LeastSquares<double>(randomRows(90, features, 0.5, 0, 1).withBias(), {.l2 = l2}));
      check(LogisticRegression<double>(randomRows(90, features, 0.5, 2, 1).withBias(), {.l2 = l2}));
      check(SoftmaxRegression<double>(randomRows(90, features, 0.5, 4, 1).withBias(), {.l2 = l2}));
    }
  }
}
TEST(Minimise, FeaturesOfManyScalesDoNoHarm) {
  std::vector<double> scales(13, 1);
  for (std::size_t j = 0; j < 12; ++j) scales[j] = std::pow(10, static_cast<double>(j) / 2 - 3);
  Rows rows = randomRows(90, 12, 0.5, 2, 1).withBias();
  rows.divideColumns(scales);
  const LogisticRegression<double> f(rows, {.l2 = 1e-4});
  expectStationary(f, minimise(f));
}
// What NumPy finds for the same problem: Newton's method there, and scikit-learn's own solver.
TEST(Minimise, BreastCancerIsThatOfNumPy) {
  Rows rows = loadLibsvm(BURTORCH_TEST_DATA "/../../data/breast_cancer.libsvm").toDense();
  rows.divideColumns(rows.columnScales());
  const LogisticRegression<double> f(rows.withBias(), {.l2 = 1e-3});
  const Minimum found = minimise(f);
  expectStationary(f, found);
  EXPECT_NEAR(found.value, 0.20025370301629783, 4 * eps);
  EXPECT_NEAR(found.x.front(), -0.24738966080551145, 1e-13);
  EXPECT_NEAR(found.x.back(), 5.285916670509618, 1e-12);
  EXPECT_NEAR(f.smoothness().L, 1.308440226515381, 1e-12);
}
TEST(Minimise, DigitsAreThatOfNumPy) {
  Rows rows = loadLibsvm(BURTORCH_TEST_DATA "/../../data/digits.libsvm").toDense();
  rows.divideColumns(rows.columnScales());
  const SoftmaxRegression<double> f(rows.withBias(), {.l2 = 1e-2});
  const Minimum found = minimise(f);
  EXPECT_EQ(found.x.size(), 650u);
  expectStationary(f, found);
  EXPECT_NEAR(found.value, 0.7365065571452527, 8 * eps);
  EXPECT_EQ(found.x.front(), 0);  // a pixel in the corner, which is always white
  EXPECT_NEAR(found.x.back(), 0.015349962047356629, 1e-12);
  EXPECT_NEAR(f.smoothness().L / 5.743879229627543, 1, 1e-12);
}
// Its features differ in size by a factor of 1e6.
TEST(Minimise, BreastCancerAsItIs) {
  const LogisticRegression<double> f(
      loadLibsvm(BURTORCH_TEST_DATA "/../../data/breast_cancer.libsvm").withBias(), {.l2 = 1e-4});
  expectStationary(f, minimise(f));
}
TEST(Minimise, GradientsAreEnough) {
  for (const std::size_t features : {12u, 150u}) {
    const LogisticRegression<double> f(randomRows(90, features, 0.5, 2, 1), {.l2 = 1e-2});
    const GradientsOnly<LogisticRegression<double>> less{f};
    static_assert(FiniteSum<GradientsOnly<LogisticRegression<double>>>);
    expectStationary(f, minimise(less));
  }
}
// Newton's method alone would leap away from here: the second derivative is nearly zero.
TEST(Minimise, StartsFarAway) {
  const LogisticRegression<double> f(randomRows(60, 5, 0.8, 2, 1), {.l2 = 1e-3});
  const Minimum near = minimise(f), far = minimise(f, {.tolerance = 1e-14}, std::vector<double>(5, 300));
  EXPECT_LE(norm(minus(near.x, far.x)), 1e-8);
}
TEST(Minimise, StopsAtTheLastDigits) {
  const LogisticRegression<double> f(randomRows(60, 5, 0.8, 2, 1), {.l2 = 1e-3});
  const Minimum found = minimise(f, {.tolerance = 0});
  EXPECT_FALSE(found.isConverged);
  EXPECT_LE(found.gradientNorm, 4 * eps);
  EXPECT_LE(found.steps, 40u);
}
TEST(Minimise, FromTheMinimiserItStaysThere) {
  const Quadratic<double> f({.centres = 0});
  const Minimum found = minimise(f);
  EXPECT_TRUE(found.isConverged);
  EXPECT_EQ(norm(found.x), 0);
}
TEST(Minimise, GivesUpAfterTheStepsThatItMayTake) {
  const LogisticRegression<double> f(randomRows(60, 5, 0.8, 2, 1), {.l2 = 1e-3});
  const Minimum found = minimise(f, {.mostSteps = 1});
  EXPECT_FALSE(found.isConverged);
  EXPECT_EQ(found.value, f.value(found.x, AllSamples(60)));
}
TEST(Minimise, RefusesWhatItCannotDo) {
  const Quadratic<double> f({.samples = 2, .dimension = 3});
  EXPECT_EQ(codeOf([&] { minimise(f, {}, std::vector<double>(2)); }), ErrorCode::invalidArgument);
  EXPECT_EQ(codeOf([&] { minimise(f, {}, std::vector<double>(3, std::nan(""))); }), ErrorCode::notFinite);
  const auto same = [](std::span<double>, double) {};
  EXPECT_EQ(codeOf([&] { minimiseWithProx(f, 0, same); }), ErrorCode::invalidArgument);
  EXPECT_EQ(codeOf([&] { minimiseWithProx(f, 100, same, {}, std::vector<double>(3, std::nan(""))); }),
            ErrorCode::notFinite);
}

auto softThreshold(double weight) {
  return [weight](std::span<double> x, double step) {
    for (double& xi : x) xi = std::copysign(std::max(std::abs(xi) - weight * step, 0.0), xi);
  };
}
auto box(double low, double high) {
  return [=](std::span<double> x, double) {
    for (double& xi : x) xi = std::clamp(xi, low, high);
  };
}
// Without rotations one quadratic is separable: soft-threshold and clip every number.
TEST(MinimiseWithProx, SeparableProblemsByHand) {
  const std::vector<double> eigenvalues{1, 4, 9, 30};
  const Quadratic<double> f(eigenvalues, {.samples = 1, .dimension = 4, .reflections = 0, .seed = 3});
  const std::vector<double> c = f.minimiser();
  const Minimum sparse = minimiseWithProx(f, 30, softThreshold(0.9)),
                inside = minimiseWithProx(f, 30, box(-0.2, 0.3));
  EXPECT_TRUE(sparse.isConverged && inside.isConverged);
  for (std::size_t j = 0; j < 4; ++j) {
    const double threshold = 0.9 / eigenvalues[j];
    // |x - x*| <= 2 |gradient mapping| / mu.
    EXPECT_NEAR(sparse.x[j], std::copysign(std::max(std::abs(c[j]) - threshold, 0.0), c[j]),
                2 * sparse.gradientNorm + 8 * eps)
        << j;
    EXPECT_NEAR(inside.x[j], std::clamp(c[j], -0.2, 0.3), 2 * inside.gradientNorm + 8 * eps) << j;
  }
}
TEST(MinimiseWithProx, LogisticRegressionWithL1IsStationary) {
  const LogisticRegression<double> f(randomRows(90, 30, 0.5, 2, 1), {.l2 = 1e-3});
  constexpr double weight = 0.03;
  const Minimum found = minimiseWithProx(f, f.smoothness().L, softThreshold(weight));
  EXPECT_TRUE(found.isConverged);
  const std::vector<double> g = gradientOf(f, found.x, AllSamples(90));
  std::size_t zeros = 0;
  for (std::size_t j = 0; j < 30; ++j) {
    zeros += found.x[j] == 0;
    if (found.x[j] == 0)
      EXPECT_LE(std::abs(g[j]), weight) << j;
    else
      EXPECT_NEAR(g[j], -std::copysign(weight, found.x[j]), 1e-12) << j;
  }
  EXPECT_GT(zeros, 0u);
  EXPECT_LT(zeros, 30u);
}
TEST(MinimiseWithProx, ALargeWeightGivesZero) {
  const LogisticRegression<double> f(randomRows(90, 30, 0.5, 2, 1), {.l2 = 1e-3});
  EXPECT_EQ(norm(minimiseWithProx(f, f.smoothness().L, softThreshold(10), {}, std::vector<double>(30, 1)).x),
            0);
}
TEST(MinimiseWithProx, WithoutAProxItIsMinimise) {
  const LogisticRegression<double> f(randomRows(90, 30, 0.5, 2, 1), {.l2 = 1e-2});
  const Minimum slow = minimiseWithProx(f, f.smoothness().L, [](std::span<double>, double) {}),
                fast = minimise(f);
  EXPECT_TRUE(slow.isConverged);
  EXPECT_LE(norm(minus(slow.x, fast.x)), 1e-10);
  EXPECT_LT(fast.steps, 12u);
}

}  // namespace minimise_test
}  // namespace burtorch
