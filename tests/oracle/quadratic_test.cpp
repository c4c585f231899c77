// Quadratics: what is promised of their spectrum, minimiser and minimum, and gradients that belong to the values.
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/oracle/quadratic.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "oracle/problem_points.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace quadratic_test {

static_assert(FiniteSum<Quadratic<double>> && FiniteSum<const Quadratic<float>>);
constexpr double eps = std::numeric_limits<double>::epsilon();

/// Every entry of the Hessian of one sample.
std::vector<double> hessianOf(const Quadratic<double>& f, std::size_t sample) {
  const std::size_t d = f.parameterCount();
  const std::vector<std::size_t> batch{sample};
  std::vector<double> matrix(d * d), e(d);
  for (std::size_t j = 0; j < d; ++j) {
    std::fill(e.begin(), e.end(), 0.0);
    e[j] = 1;
    f.hessianProduct(e, e, batch, std::span(matrix).subspan(j * d, d));
  }
  return matrix;
}

// Without reflections A_i is diagonal: f = ((x - c_0)^2 + 3 (x - c_1)^2) / 4 in one dimension.
TEST(Quadratic, ByHand) {
  const Quadratic<double> f(std::vector<double>{1, 3},
                            {.samples = 2, .dimension = 1, .reflections = 0, .seed = 4});
  const std::vector<double> zero{0};
  std::vector<double> g(1);
  f.gradient(zero, std::vector<std::size_t>{0}, g);
  const double c0 = -g[0];
  f.gradient(zero, std::vector<std::size_t>{1}, g);
  const double c1 = -g[0] / 3, best = (c0 + 3 * c1) / 4;
  EXPECT_NE(c0, c1);
  EXPECT_NEAR(f.minimiser()[0], best, 4 * eps);
  EXPECT_NEAR(f.minimum(), ((best - c0) * (best - c0) + 3 * (best - c1) * (best - c1)) / 4, 16 * eps);
  const Smoothness constants = f.smoothness();
  EXPECT_EQ(constants.L, 2);
  EXPECT_EQ(constants.mu, 2);
  EXPECT_EQ(constants.ofSamples, (std::vector<double>{1, 3}));
}
TEST(Quadratic, EverySampleHasTheSpectrumThatWasAskedFor) {
  for (const bool isShared : {true, false}) {
    const Quadratic<double> f(
        {.samples = 5, .dimension = 9, .mu = 0.5, .L = 50, .isBasisShared = isShared, .seed = 3});
    for (std::size_t i = 0; i < 5; ++i) {
      std::vector<double> matrix = hessianOf(f, i);
      double trace = 0, wanted = 0;
      for (std::size_t j = 0; j < 9; ++j) {
        trace += matrix[j * 9 + j];
        wanted += 0.5 * std::pow(100, static_cast<double>(j) / 8);
        for (std::size_t k = 0; k < j; ++k) EXPECT_NEAR(matrix[j * 9 + k], matrix[k * 9 + j], 1e3 * eps);
      }
      EXPECT_NEAR(trace, wanted, 1e3 * eps);
      const symmetric::Extremes found = symmetric::extremesOf(symmetric::tridiagonalise(matrix, 9));
      EXPECT_NEAR(found.lowest, 0.5, 2e3 * eps);
      EXPECT_NEAR(found.highest, 50, 2e3 * eps);
      EXPECT_EQ(f.smoothness().ofSamples[i], 50);
    }
  }
}
TEST(Quadratic, BasesAreSharedOrNot) {
  for (const bool isShared : {true, false}) {
    const Quadratic<double> f({.samples = 2, .dimension = 6, .isBasisShared = isShared, .seed = 3});
    const std::vector<double> a = hessianOf(f, 0), b = hessianOf(f, 1);
    double commutator = 0;
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < 6; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < 6; ++k) sum += a[i * 6 + k] * b[k * 6 + j] - b[i * 6 + k] * a[k * 6 + j];
        commutator = std::max(commutator, std::abs(sum));
      }
    if (isShared)
      EXPECT_LE(commutator, 1e-10);
    else
      EXPECT_GE(commutator, 1);
  }
}
TEST(Quadratic, GradientsAreThoseOfDifferences) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Quadratic<double> f(
        {.samples = 12, .dimension = 7, .L = 10, .isBasisShared = seed % 2 == 0, .seed = seed});
    expectGradientByDifferences(f, randomPoint(7, seed), randomBatch(5, 12, seed));
  }
}
// The matrix and the centre of a sample are read off; what they give as Values is what the oracle gives.
TEST(Quadratic, GradientsAreThoseOfRecordedValues) {
  const Quadratic<double> f({.samples = 3, .dimension = 5, .isBasisShared = false, .seed = 8});
  const std::vector<double> x = randomPoint(5, 1), zero(5);
  for (std::size_t sample = 0; sample < 3; ++sample) {
    const std::vector<std::size_t> batch{sample};
    const std::vector<double> a = hessianOf(f, sample);
    std::vector<double> centre = gradientOf(f, zero, batch), factor = a;  // -A c
    for (double& c : centre) c = -c;
    ASSERT_TRUE(symmetric::cholesky(factor, 5));
    symmetric::solveCholesky(factor, 5, centre);
    Tape<double> tape;
    const CurrentTape here(tape);
    const auto leaves = tape.leaves(x);
    std::vector<Value<double>> away, products;
    for (std::size_t j = 0; j < 5; ++j) away.push_back(leaves[j] - centre[j]);
    for (std::size_t j = 0; j < 5; ++j)
      products.push_back(
          innerProduct(away, std::vector<double>(a.begin() + static_cast<std::ptrdiff_t>(5 * j),
                                                 a.begin() + static_cast<std::ptrdiff_t>(5 * j + 5))));
    const auto root = innerProduct(away, products) * 0.5;
    backward(root);
    std::vector<double> g(5);
    EXPECT_NEAR(f.gradient(x, batch, g), root.dataCopy(), 1e-13 * root.dataCopy());
    for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(g[j], leaves[j].gradCopy(), 1e-11) << j;
  }
}
TEST(Quadratic, TheMinimiserIsStationaryAndTheMinimumItsValue) {
  for (const bool isShared : {true, false}) {
    for (const double L : {1.0, 100.0, 1e8}) {
      const Quadratic<double> f(
          {.samples = 20, .dimension = 40, .L = L, .isBasisShared = isShared, .seed = 5});
      const std::vector<double> x = f.minimiser(), zero(40);
      const AllSamples all(20);
      EXPECT_LE(norm(gradientOf(f, x, all)), 1e-14 * norm(gradientOf(f, zero, all)) + 40 * eps * L) << L;
      EXPECT_NEAR(f.value(x, all), f.minimum(), 1e-13 * f.minimum()) << L;
      EXPECT_LT(f.minimum(), f.value(randomPoint(40, 1, 1e-3), all));
    }
  }
}
TEST(Quadratic, WithoutSpreadAllMinimisersAreZero) {
  const Quadratic<double> f({.centres = 0});
  EXPECT_EQ(norm(f.minimiser()), 0);
  EXPECT_EQ(f.minimum(), 0);
}
TEST(Quadratic, ConstantsHoldOnRandomPairsAndAreReached) {
  for (const bool isShared : {true, false}) {
    const Quadratic<double> f({.samples = 15, .dimension = 10, .isBasisShared = isShared, .seed = 2});
    const Smoothness constants = f.smoothness();
    const AllSamples all(15);
    const Batch batch = all;
    EXPECT_LT(constants.L, 100);
    EXPECT_GT(constants.mu, 1);
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      const std::vector<double> x = randomPoint(10, seed), y = randomPoint(10, seed + 50);
      expectConstantsHold(f, constants.L, constants.mu, all, x, y);
      expectConstantsHold(f, 100, 1, batch.subspan(seed % 15, 1), x, y);
    }
    // L from below, by the power method.
    std::vector<double> v = randomPoint(10, 7), product(10);
    for (int i = 0; i < 3000; ++i) {
      f.hessianProduct(v, v, all, product);
      const double length = norm(product);
      for (std::size_t j = 0; j < 10; ++j) v[j] = product[j] / length;
    }
    f.hessianProduct(v, v, all, product);
    EXPECT_NEAR(dot(v, product), constants.L, 1e-11 * constants.L);
  }
}
TEST(Quadratic, OfAPartIsThatOfItsSamples) {
  for (const bool isShared : {true, false}) {
    const Quadratic<double> f({.samples = 15, .dimension = 10, .isBasisShared = isShared, .seed = 2});
    const std::vector<std::size_t> one{6};
    EXPECT_NEAR(f.smoothness(one).L, 100, 1e-9);
    EXPECT_NEAR(f.smoothness(one).mu, 1, 1e-9);
    EXPECT_EQ(f.smoothness(one).ofSamples, (std::vector<double>{100}));
  }
}
TEST(Quadratic, FloatHasTheMinimiserOfItsOwnNumbers) {
  for (const bool isShared : {true, false}) {
    const Quadratic<float> f({.samples = 10, .dimension = 20, .isBasisShared = isShared, .seed = 2});
    const std::vector<double> best = f.minimiser();
    const std::vector<float> x(best.begin(), best.end()), g = gradientOf(f, x, AllSamples(10));
    for (const float gj : g) EXPECT_NEAR(gj, 0, 1e-4);
    EXPECT_NEAR(f.value(x, AllSamples(10)), f.minimum(), 1e-5 * f.minimum());
  }
}
TEST(Quadratic, TheBitsAreThoseOfASerialRun) {
  const Quadratic<float> f({.samples = 64, .dimension = 300, .isBasisShared = false, .seed = 2});
  const std::vector<float> x = randomPoint<float>(300, 1);
  ASSERT_EQ(BatchSum<float>::partCount(500, 16 * 300, 300), 32u);
  const std::vector<std::size_t> batch = randomBatch(500, 64, 1);
  const auto everything = [&] {
    std::vector<float> g(300), h(300);
    const double value = f.gradient(x, batch, g);
    EXPECT_EQ(value, f.value(x, batch));
    f.hessianProduct(x, x, batch, h);
    g.insert(g.end(), h.begin(), h.end());
    g.push_back(static_cast<float>(value));
    return g;
  };
  const std::vector<float> serial = everything();
  for (const std::size_t threads : {1u, 2u, 3u, 8u}) {
    ThreadPool pool(threads);
    const CurrentWorkers here(pool);
    EXPECT_EQ(everything(), serial) << threads;
  }
}
TEST(Quadratic, TheSeedDecides) {
  const std::vector<double> x = randomPoint(20, 1);
  const auto valueOf = [&](std::uint64_t seed) {
    return Quadratic<double>({.seed = seed}).value(x, AllSamples(10));
  };
  EXPECT_EQ(valueOf(1), valueOf(1));
  EXPECT_NE(valueOf(1), valueOf(2));
}
TEST(Quadratic, RefusesWhatItCannotDo) {
  using Q = Quadratic<double>;
  EXPECT_THROW(Q({.samples = 0}), Error);
  EXPECT_THROW(Q({.dimension = 0}), Error);
  EXPECT_THROW(Q({.mu = 0}), Error);
  EXPECT_THROW(Q({.mu = 2, .L = 1}), Error);
  EXPECT_THROW(Q({.centres = std::nan("")}), Error);
  EXPECT_THROW(Q(std::vector<double>{1}, {.samples = 1, .dimension = 2}), Error);
  EXPECT_THROW(Q(std::vector<double>{1, -1}, {.samples = 1, .dimension = 2}), Error);
  EXPECT_THROW(Q(std::vector<double>{1, 0}, {.samples = 1, .dimension = 2}).minimiser(), Error);
  const Q wide({.samples = 1, .dimension = Q::largestDense + 1, .isBasisShared = false});
  EXPECT_THROW(wide.smoothness(), Error);
  const Q f({.samples = 2, .dimension = 3});
  std::vector<double> three(3), two(2);
  EXPECT_EQ(codeOf([&] { f.value(three, {}); }), ErrorCode::invalidArgument);
  EXPECT_EQ(codeOf([&] { f.value(three, std::vector<std::size_t>{2}); }), ErrorCode::outOfRange);
  EXPECT_EQ(codeOf([&] { f.gradient(three, AllSamples(2), two); }), ErrorCode::invalidArgument);
}

}  // namespace quadratic_test
}  // namespace burtorch
