// The constants of linear problems: by hand, exact where a matrix is small, an upper bound elsewhere, and never violated.
#include <burtorch/oracle/linear_problem.hpp>

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "oracle/problem_points.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace smoothness_test {

using Rows = SampleRows<double>;
constexpr double eps = std::numeric_limits<double>::epsilon();

// A = [[2, 0], [0, 3]]: A'A / 2 = diag(2, 4.5).
TEST(Smoothness, ByHand) {
  const Rows rows = Rows::dense(2, {2, 0, 0, 3}, {-1, 1});
  const Smoothness squares = LeastSquares<double>(rows, {.l2 = 0.5}).smoothness();
  EXPECT_NEAR(squares.L, 5, 100 * eps);
  EXPECT_NEAR(squares.mu, 2.5, 100 * eps);
  EXPECT_EQ(squares.ofSamples, (std::vector<double>{4.5, 9.5}));
  EXPECT_NEAR(squares.rootMeanSquare(), std::sqrt((4.5 * 4.5 + 9.5 * 9.5) / 2), 10 * eps);
  EXPECT_EQ(squares.largestOfSamples(), 9.5);
  const Smoothness logistic = LogisticRegression<double>(rows, {.l2 = 0.5}).smoothness();
  EXPECT_NEAR(logistic.L, 0.25 * 4.5 + 0.5, 100 * eps);
  EXPECT_EQ(logistic.mu, 0.5);
  EXPECT_EQ(logistic.ofSamples, (std::vector<double>{1.5, 2.75}));
  const Smoothness softmax = SoftmaxRegression<double>(rows, {.l2 = 0.5}).smoothness();
  EXPECT_NEAR(softmax.L, 0.5 * 4.5 + 0.5, 100 * eps);
  EXPECT_EQ(softmax.mu, 0.5);
}
TEST(Smoothness, OfAPartIsThatOfItsRows) {
  const Rows rows = randomRows(30, 8, 0.6, 2, 1);
  const std::vector<std::size_t> samples{4, 17, 25};
  const LinearOptions options{.l2 = 0.1};
  const Smoothness part = LogisticRegression<double>(rows, options).smoothness(samples),
                   alone = LogisticRegression<double>(rows.chosen(samples), options).smoothness();
  EXPECT_EQ(part.L, alone.L);
  EXPECT_EQ(part.ofSamples, alone.ofSamples);
  EXPECT_EQ(codeOf([&] { LogisticRegression<double>(rows).smoothness(Batch{}); }),
            ErrorCode::invalidArgument);
}
// The matrix of features and that of samples have the same largest eigenvalue: rows are added that are zero.
TEST(Smoothness, ComesFromTheSmallerMatrix) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Rows rows = randomRows(12, 20, 0.5, 0, seed);
    std::vector<std::size_t> starts(33, rows.storedCount());
    std::vector<std::uint32_t> columns;
    std::vector<double> values;
    for (std::size_t i = 0; i < 12; ++i) {
      starts[i] = values.size();
      for (std::size_t k = 0; k < rows.row(i).count(); ++k) {
        columns.push_back(static_cast<std::uint32_t>(rows.row(i).column(k)));
        values.push_back(rows.row(i).value(k));
      }
    }
    const Rows padded = Rows::sparse(20, starts, columns, values, std::vector<double>(32));
    const double ofSamples = LeastSquares<double>(rows).smoothness().L,
                 ofFeatures = LeastSquares<double>(padded).smoothness().L;
    EXPECT_NEAR(12 * ofSamples, 32 * ofFeatures, 1e3 * eps * 12 * ofSamples);
    EXPECT_EQ(LeastSquares<double>(rows).smoothness().mu, 0);
  }
}

/// lambda_max(A'A) / n from below, after so many steps of the power method.
double powerMethod(const Rows& rows, int steps) {
  std::vector<double> x = randomPoint(rows.features(), 42), y(x.size());
  double result = 0;
  for (int step = 0; step < steps; ++step) {
    const double length = norm(x);
    for (double& xi : x) xi /= length;
    std::fill(y.begin(), y.end(), 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i) rows.row(i).addTo(y.data(), rows.row(i).dot(x.data()));
    result = dot(x, y) / static_cast<double>(rows.size());
    std::swap(x, y);
  }
  return result;
}
TEST(Smoothness, OfSmallDataIsExact) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const Rows& rows :
         {randomRows(60, 10, 0.7, 0, seed).withBias(3), randomRows(10, 60, 0.7, 0, seed).withBias(3)}) {
      const double L = LeastSquares<double>(rows).smoothness().L, power = powerMethod(rows, 3000);
      EXPECT_GE(L, power * (1 - 20 * eps));
      EXPECT_LE(L, power * (1 + 1e-12));
    }
  }
}
TEST(Smoothness, OfLargeDataIsAnUpperBoundWithinAFewPercent) {
  // A bias, whose eigenvalue stands out, and none: then the largest eigenvalues are close together.
  for (const Rows& rows : {randomRows(700, 650, 0.02, 0, 1).withBias(), randomRows(700, 650, 0.02, 0, 2)}) {
    const double L = LeastSquares<double>(rows).smoothness().L, power = powerMethod(rows, 2000);
    EXPECT_GE(L, power);
    EXPECT_LE(L, 1.03 * power);
  }
}
TEST(Smoothness, OfZerosIsThePenalty) {
  const Rows rows = Rows::sparse(600, std::vector<std::size_t>(602), {}, {}, std::vector<double>(601));
  const Smoothness found = LeastSquares<double>(rows, {.l2 = 0.25}).smoothness();
  EXPECT_EQ(found.L, 0.25);
  EXPECT_EQ(found.mu, 0.25);
}

template <class F> void expectConstantsHoldOnPairs(const F& f, double size) {
  const Smoothness constants = f.smoothness();
  const AllSamples all(f.size());
  const Batch batch = all;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    // Far apart and close together, and in the direction in which the slope changes most.
    std::vector<double> x = randomPoint(f.parameterCount(), seed, size),
                        y = randomPoint(f.parameterCount(), seed + 100, size);
    if (seed % 2 == 0) {
      y = minus(gradientOf(f, x, all), gradientOf(f, y, all));
      for (std::size_t j = 0; j < x.size(); ++j) y[j] += x[j];
    }
    expectConstantsHold(f, constants.L, constants.mu, all, x, y);
    const std::size_t i = seed % f.size();
    expectConstantsHold(f, constants.ofSamples[i], f.l2(), batch.subspan(i, 1), x, y);
  }
}
TEST(Smoothness, HoldsOnRandomPairs) {
  for (const double size : {0.01, 1.0, 10.0}) {
    expectConstantsHoldOnPairs(LeastSquares<double>(randomRows(40, 12, 0.5, 0, 1), {.l2 = 0.01}), size);
    expectConstantsHoldOnPairs(LeastSquares<double>(randomRows(10, 12, 0.5, 0, 1), {.l2 = 0.01}), size);
    expectConstantsHoldOnPairs(LogisticRegression<double>(randomRows(40, 12, 0.5, 2, 1), {.l2 = 0.01}), size);
    expectConstantsHoldOnPairs(SoftmaxRegression<double>(randomRows(40, 12, 0.5, 5, 1), {.l2 = 0.01}), size);
  }
}
// No smaller L_i would do: the second derivative along a_i, at the scores where the loss is most curved.
TEST(Smoothness, OfASampleIsReached) {
  const Rows one = Rows::dense(2, {3, 4}, {1});
  const std::vector<std::size_t> batch{0};
  const auto curvatureAlong = [&](const auto& f, std::vector<double> x, std::vector<double> v) {
    std::vector<double> product(v.size());
    f.hessianProduct(x, v, batch, product);
    return dot(v, product) / dot(v, v);
  };
  const LeastSquares<double> squares(one);
  const LogisticRegression<double> logistic(one);
  const SoftmaxRegression<double> softmax(one, {.classes = {1, 2, 3}});
  EXPECT_NEAR(curvatureAlong(squares, {7, 1}, {3, 4}), squares.smoothness().ofSamples[0], 50 * eps);
  EXPECT_NEAR(curvatureAlong(logistic, {0, 0}, {3, 4}), logistic.smoothness().ofSamples[0], 50 * eps);
  EXPECT_NEAR(curvatureAlong(softmax, {0, 0, 0, 0, -90, -90}, {3, 4, -3, -4, 0, 0}),
              softmax.smoothness().ofSamples[0], 50 * eps);
}

}  // namespace smoothness_test
}  // namespace burtorch
