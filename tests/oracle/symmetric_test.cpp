// Small dense matrices: eigenvalues that are known, and equations that are solved.
#include <burtorch/base/rng.hpp>
#include <burtorch/oracle/symmetric.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace symmetric_test {

constexpr double eps = std::numeric_limits<double>::epsilon();

symmetric::Extremes extremesOf(std::vector<double> matrix, std::size_t n) {
  return symmetric::extremesOf(symmetric::tridiagonalise(matrix, n));
}
/// Q diag(eigenvalues) Q', Q a product of random reflections.
std::vector<double> withEigenvalues(const std::vector<double>& eigenvalues, std::uint64_t seed) {
  const std::size_t n = eigenvalues.size();
  std::vector<double> a(n * n), v(n);
  for (std::size_t i = 0; i < n; ++i) a[i * n + i] = eigenvalues[i];
  Rng rng(seed);
  for (std::size_t round = 0; round < n; ++round) {
    double squares = 0;
    for (double& vi : v) vi = rng.normal<double>(), squares += vi * vi;
    for (const bool fromLeft : {false, true})
      for (std::size_t i = 0; i < n; ++i) {
        const auto at = [&](std::size_t j) -> double& { return fromLeft ? a[j * n + i] : a[i * n + j]; };
        double sum = 0;
        for (std::size_t j = 0; j < n; ++j) sum += at(j) * v[j];
        for (std::size_t j = 0; j < n; ++j) at(j) -= 2 * sum / squares * v[j];
      }
  }
  return a;
}

TEST(Symmetric, EigenvaluesByHand) {
  const symmetric::Extremes one = extremesOf({7}, 1), two = extremesOf({2, 1, 1, 2}, 2),
                            none = extremesOf({0, 0, 0, 0}, 2);
  EXPECT_NEAR(one.lowest, 7, 14 * eps);
  EXPECT_NEAR(one.highest, 7, 14 * eps);
  EXPECT_NEAR(two.lowest, 1, 6 * eps);
  EXPECT_NEAR(two.highest, 3, 6 * eps);
  EXPECT_EQ(none.lowest, 0);
  EXPECT_EQ(none.highest, 0);
}
// The second difference has the eigenvalues 2 - 2 cos(k pi / (n + 1)).
TEST(Symmetric, EigenvaluesOfTheSecondDifference) {
  for (const std::size_t n : {2u, 3u, 17u, 100u}) {
    std::vector<double> a(n * n);
    for (std::size_t i = 0; i < n; ++i) {
      a[i * n + i] = 2;
      if (i + 1 < n) a[i * n + i + 1] = a[(i + 1) * n + i] = -1;
    }
    const symmetric::Extremes found = extremesOf(a, n);
    const double angle = std::numbers::pi / static_cast<double>(n + 1);
    EXPECT_NEAR(found.lowest, 2 - 2 * std::cos(angle), 16 * eps) << n;
    EXPECT_NEAR(found.highest, 2 + 2 * std::cos(angle), 16 * eps) << n;
  }
}
TEST(Symmetric, EigenvaluesOfRotatedMatrices) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::vector<double> eigenvalues{-3, -3, 0.5, 1, 1, 1, 2, 9};
    const symmetric::Extremes found = extremesOf(withEigenvalues(eigenvalues, seed), 8);
    EXPECT_NEAR(found.lowest, -3, 9 * 40 * eps);
    EXPECT_NEAR(found.highest, 9, 9 * 40 * eps);
  }
}
TEST(Symmetric, WhatIsNotFiniteHasNoEigenvalues) {
  EXPECT_EQ(codeOf([] { extremesOf({1, 0, 0, std::nan("")}, 2); }), ErrorCode::notFinite);
  EXPECT_EQ(codeOf([] { extremesOf({std::numeric_limits<double>::infinity()}, 1); }), ErrorCode::notFinite);
}
TEST(Symmetric, CholeskySolves) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::vector<double> a = withEigenvalues({0.5, 1, 2, 3, 5, 8, 13}, seed);
    const std::vector<double> x{1, -2, 3, -4, 5, -6, 7};
    std::vector<double> b(7), factor = a;
    for (std::size_t i = 0; i < 7; ++i)
      for (std::size_t j = 0; j < 7; ++j) b[i] += a[i * 7 + j] * x[j];
    ASSERT_TRUE(symmetric::cholesky(factor, 7));
    symmetric::solveCholesky(factor, 7, b);
    for (std::size_t i = 0; i < 7; ++i) EXPECT_NEAR(b[i], x[i], 26 * 100 * eps) << i;
  }
}
TEST(Symmetric, CholeskyRefusesWhatIsNotPositive) {
  std::vector<double> indefinite{1, 2, 2, 1}, notANumber{1, 0, 0, std::nan("")};
  EXPECT_FALSE(symmetric::cholesky(indefinite, 2));
  EXPECT_FALSE(symmetric::cholesky(notANumber, 2));
}

}  // namespace symmetric_test
}  // namespace burtorch
