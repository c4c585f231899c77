// Least squares, logistic and softmax regression: values by hand, gradients against differences and against the same functions
// recorded as Values, dense and compressed rows, the bits of a serial run for any number of threads.
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/oracle/linear_problem.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <thread>
#include <vector>

#include "oracle/problem_points.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace linear_problem_test {

static_assert(FiniteSum<LeastSquares<double>> && FiniteSum<LeastSquares<float>>);
static_assert(FiniteSum<LogisticRegression<double>> && FiniteSum<LogisticRegression<float>>);
static_assert(FiniteSum<SoftmaxRegression<double>> && FiniteSum<SoftmaxRegression<float>>);
static_assert(FiniteSum<const LeastSquares<double>>);
static_assert(FiniteSum<PartOf<LogisticRegression<double>>>);
constexpr double eps = std::numeric_limits<double>::epsilon();

// (2 * 3 + 1 * (-1) - 4)^2 / 2 = 0.5, (0 - 2)^2 / 2 = 2; penalty 0.1 * 10 / 2 = 0.5.
TEST(LeastSquaresProblem, ByHand) {
  const LeastSquares<double> f(SampleRows<double>::dense(2, {2, 1, 1, 3}, {4, 2}), {.l2 = 0.1});
  const std::vector<double> x{3, -1};
  std::vector<double> g(2);
  EXPECT_EQ(f.value(x, std::vector<std::size_t>{0}), 1.0);
  EXPECT_EQ(f.value(x, AllSamples(2)), 0.5 * (0.5 + 2) + 0.5);
  EXPECT_EQ(f.gradient(x, AllSamples(2), g), 1.75);
  EXPECT_EQ(g, (std::vector<double>{(2 * 1 - 1 * 2) / 2.0 + 0.1 * 3, (1 * 1 - 3 * 2) / 2.0 + 0.1 * -1}));
  EXPECT_EQ(f.counts(), (OracleCounts{.values = 3, .gradients = 2}));
}
TEST(LogisticRegressionProblem, ByHand) {
  const LogisticRegression<double> f(SampleRows<double>::dense(1, {1, 2}, {1, -1}));
  std::vector<double> g(1);
  const std::vector<double> x{std::log(3)};
  // exp(-m) = 1/3 and exp(-m) = 9.
  EXPECT_NEAR(f.gradient(x, AllSamples(2), g), (std::log(4.0 / 3) + std::log(10.0)) / 2, 2 * eps);
  EXPECT_NEAR(g[0], (-0.25 + 2 * 0.9) / 2, 2 * eps);
}
TEST(SoftmaxRegressionProblem, ByHand) {
  const SoftmaxRegression<double> f(SampleRows<double>::dense(1, {1}, {5}), {.classes = {2, 5, 9}});
  const std::vector<double> x{std::log(1), std::log(2), std::log(5)};
  std::vector<double> g(3);
  EXPECT_NEAR(f.gradient(x, AllSamples(1), g), std::log(4.0), 2 * eps);
  EXPECT_NEAR(g[0], 0.125, eps);
  EXPECT_NEAR(g[1], 0.25 - 1, eps);
  EXPECT_NEAR(g[2], 0.625, eps);
}

/// Calls `test(problem, name)` for a problem of each kind, on dense and on compressed rows.
template <class Test> void forEachProblem(std::size_t rows, std::size_t features, const Test& test) {
  const LinearOptions options{.l2 = 0.03};
  for (const bool isDense : {false, true}) {
    SCOPED_TRACE(isDense ? "dense" : "compressed");
    const auto data = [&](std::size_t classes) {
      const SampleRows<double> sparse = randomRows(rows, features, 0.4, classes, 11).withBias();
      return isDense ? sparse.toDense() : sparse;
    };
    test(LeastSquares<double>(data(0), options), "least squares");
    test(LogisticRegression<double>(data(2), options), "logistic regression");
    test(SoftmaxRegression<double>(data(4), options), "softmax regression");
  }
}

TEST(LinearProblem, GradientsAreThoseOfDifferences) {
  forEachProblem(23, 9, [](const auto& f, const char* name) {
    SCOPED_TRACE(name);
    for (std::uint64_t seed = 1; seed <= 4; ++seed)
      expectGradientByDifferences(f, randomPoint(f.parameterCount(), seed), randomBatch(seed * 5, 23, seed));
  });
}

using X = Value<double>;
X recordedLoss(const SquaredLoss&, double label, std::span<const X> scores) {
  return sqr(scores[0] - label) * 0.5;
}
X recordedLoss(const LogisticLoss&, double label, std::span<const X> scores) {
  return softplus(scores[0] * (label == 1 ? -1.0 : 1.0));
}
X recordedLoss(const SoftmaxLoss&, double label, std::span<const X> scores) {
  return crossEntropy(scores, static_cast<std::size_t>(label));
}
/// The mean over a batch as a graph of Values; its gradient is left in `g`.
template <class F>
double recorded(const F& f, const std::vector<double>& x, Batch batch, std::vector<double>& g) {
  Tape<double> tape;
  const CurrentTape here(tape);
  const auto weights = tape.leaves(x);
  const std::size_t features = f.rows().features();
  std::vector<X> losses;
  for (const std::size_t sample : batch) {
    const SampleRows<double> dense = f.rows().chosen(std::vector<std::size_t>{sample}).toDense();
    std::vector<double> row(features);
    for (std::size_t j = 0; j < features; ++j) row[j] = dense.row(0).value(j);
    std::vector<X> scores;
    for (std::size_t k = 0; k < f.loss().outputs(); ++k)
      scores.push_back(innerProduct(weights.subrange(k * features, features), row));
    losses.push_back(recordedLoss(f.loss(), f.rows().label(sample), scores));
  }
  const X root = reduceMean(losses) + reduceSumOfSquares(weights) * (0.5 * f.l2());
  backward(root);
  for (std::size_t j = 0; j < x.size(); ++j) g[j] = weights[j].gradCopy();
  return root.dataCopy();
}
TEST(LinearProblem, GradientsAreThoseOfRecordedValues) {
  forEachProblem(31, 12, [](const auto& f, const char* name) {
    SCOPED_TRACE(name);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const std::vector<double> x = randomPoint(f.parameterCount(), seed, 1.5);
      const std::vector<std::size_t> batch = randomBatch(3 + 7 * seed, 31, seed);
      std::vector<double> wanted(x.size()), found(x.size());
      const double value = recorded(f, x, batch, wanted);
      EXPECT_NEAR(f.gradient(x, batch, found), value, 8 * eps * std::abs(value));
      for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(found[j], wanted[j], 64 * eps) << j;
    }
  });
}
TEST(LinearProblem, HessianProductsAreThoseOfDifferences) {
  forEachProblem(23, 9, [](const auto& f, const char* name) {
    SCOPED_TRACE(name);
    const std::vector<double> x = randomPoint(f.parameterCount(), 1), v = randomPoint(f.parameterCount(), 2);
    const AllSamples all(f.size());
    std::vector<double> product(x.size()), up = x, down = x;
    f.hessianProduct(x, v, all, product);
    const double h = 1e-5;
    for (std::size_t j = 0; j < x.size(); ++j) up[j] += h * v[j], down[j] -= h * v[j];
    const std::vector<double> above = gradientOf(f, up, all), below = gradientOf(f, down, all);
    for (std::size_t j = 0; j < x.size(); ++j)
      EXPECT_NEAR(product[j], (above[j] - below[j]) / (2 * h), 1e-8) << j;
  });
}
TEST(LinearProblem, DenseAndCompressedRowsGiveTheSame) {
  for (std::size_t classes : {0u, 2u, 5u}) {
    const SampleRows<double> rows = randomRows(40, 30, 0.3, classes, classes + 1);
    const auto compare = [&](const auto& sparse, const auto& dense) {
      const std::vector<double> x = randomPoint(sparse.parameterCount(), 3);
      const std::vector<double> g = gradientOf(sparse, x, AllSamples(40)),
                                h = gradientOf(dense, x, AllSamples(40));
      for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(g[j], h[j], 32 * eps) << j;
    };
    if (classes == 0)
      compare(LeastSquares<double>(rows), LeastSquares<double>(rows.toDense()));
    else if (classes == 2)
      compare(LogisticRegression<double>(rows), LogisticRegression<double>(rows.toDense()));
    else
      compare(SoftmaxRegression<double>(rows), SoftmaxRegression<double>(rows.toDense()));
  }
}
TEST(LinearProblem, DifferencesAreThoseOfTwoGradients) {
  forEachProblem(50, 9, [](const auto& f, const char* name) {
    SCOPED_TRACE(name);
    const std::vector<double> x = randomPoint(f.parameterCount(), 1), y = randomPoint(f.parameterCount(), 2);
    const std::vector<std::size_t> batch = randomBatch(17, 50, 3);
    std::vector<double> both(x.size()), atX(x.size()), atY(x.size());
    const std::uint64_t before = f.counts().gradients;
    const ValuesAtTwo values = f.difference(x, y, batch, both);
    EXPECT_EQ(f.counts().gradients - before, 2 * batch.size());
    EXPECT_EQ(values.atX, f.gradient(x, batch, atX));
    EXPECT_EQ(values.atY, f.gradient(y, batch, atY));
    for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(both[j], atX[j] - atY[j], 32 * eps) << j;
    f.difference(x, x, batch, both);
    EXPECT_EQ(both, std::vector<double>(x.size())) << "at the same point it is exactly zero";
  });
}
TEST(LinearProblem, FloatIsCloseToDouble) {
  const std::vector<float> x = randomPoint<float>(4 * 20, 1);
  const std::vector<double> same(x.begin(), x.end());
  const SampleRows<float> rows = randomRows<float>(60, 20, 0.5, 4, 1);
  std::vector<double> values;
  std::vector<std::size_t> starts{0};
  std::vector<std::uint32_t> columns;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t k = 0; k < rows.row(i).count(); ++k) {
      columns.push_back(static_cast<std::uint32_t>(rows.row(i).column(k)));
      values.push_back(double{rows.row(i).value(k)});
    }
    starts.push_back(values.size());
  }
  const SoftmaxRegression<float> f(rows, {.l2 = 0.1});
  const SoftmaxRegression<double> g(
      SampleRows<double>::sparse(20, starts, columns, values, {rows.labels().begin(), rows.labels().end()}),
      {.l2 = 0.1});
  const std::vector<float> found = gradientOf(f, x, AllSamples(60));
  const std::vector<double> wanted = gradientOf(g, same, AllSamples(60));
  EXPECT_NEAR(f.value(x, AllSamples(60)), g.value(same, AllSamples(60)), 2e-6);
  for (std::size_t j = 0; j < x.size(); ++j) EXPECT_NEAR(double{found[j]}, wanted[j], 1e-6) << j;
}

/// Everything a problem can say, without and with threads.
template <class T, class F> void expectTheSameBitsForAnyThreads(const F& f, std::size_t batchSize) {
  const std::vector<T> x = randomPoint<T>(f.parameterCount(), 1, 0.1),
                       y = randomPoint<T>(f.parameterCount(), 2, 0.1);
  const std::vector<std::size_t> batch = randomBatch(batchSize, f.size(), 3);
  const auto everything = [&] {
    std::vector<T> g(x.size()), d(x.size()), h(x.size());
    std::vector<double> values{f.gradient(x, batch, g), f.value(x, batch), f.difference(x, y, batch, d).atY};
    f.hessianProduct(x, y, batch, h);
    for (const auto* list : {&g, &d, &h}) values.insert(values.end(), list->begin(), list->end());
    return values;
  };
  const std::vector<double> serial = everything();
  EXPECT_EQ(serial[0], serial[1]);
  for (const std::size_t threads : {1u, 2u, 3u, 8u}) {
    ThreadPool pool(threads);
    const CurrentWorkers here(pool);
    EXPECT_EQ(everything(), serial) << threads << " threads, batch of " << batchSize;
  }
}
TEST(LinearProblem, TheBitsAreThoseOfASerialRun) {
  using Sum = BatchSum<double>;
  ASSERT_EQ(Sum::partCount(5000, 32 + 4 * 12, 40), 8u) << "the test is to see several parts";
  for (const std::size_t batch : {1u, 37u, 2000u, 5001u}) {
    expectTheSameBitsForAnyThreads<double>(LeastSquares<double>(randomRows(3000, 40, 0.3, 0, 1)), batch);
    expectTheSameBitsForAnyThreads<double>(LogisticRegression<double>(randomRows(3000, 40, 0.3, 2, 1)),
                                           batch);
    expectTheSameBitsForAnyThreads<float>(
        SoftmaxRegression<float>(randomRows<float>(999, 40, 0.3, 7, 1), {.l2 = 1}), batch);
  }
  expectTheSameBitsForAnyThreads<float>(LeastSquares<float>(randomRows<float>(300, 9000, 0.05, 0, 1)), 4000);
}
TEST(LinearProblem, SeveralThreadsMayAskTheSameProblem) {
  const SoftmaxRegression<double> f(randomRows(900, 30, 0.3, 6, 1), {.l2 = 0.1});
  const std::vector<double> x = randomPoint(f.parameterCount(), 1);
  const std::vector<std::size_t> batch = randomBatch(3000, 900, 1);
  const std::vector<double> wanted = gradientOf(f, x, batch);
  std::vector<std::vector<double>> found(4);
  std::vector<std::thread> threads;
  for (auto& g : found)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) g = gradientOf(f, x, batch);
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& g : found) EXPECT_EQ(g, wanted);
  EXPECT_EQ(f.counts().gradients, 21 * 3000u);
}
TEST(LinearProblem, PartsOfTheSamplesAreWhatWorkersHold) {
  LogisticRegression<double> f(randomRows(20, 8, 0.5, 2, 1), {.l2 = 0.1});
  const std::vector<std::size_t> samples{3, 7, 19};
  PartOf part(f, samples);
  const std::vector<double> x = randomPoint(8, 1);
  EXPECT_EQ(part.value(x, AllSamples(3)), f.value(x, samples));
}
TEST(LinearProblem, ACopyIsAProblemOfItsOwn) {
  const LogisticRegression<double> f(randomRows(20, 8, 0.5, 2, 1), {.l2 = 0.1});
  const std::vector<double> x = randomPoint(8, 1);
  const std::vector<double> g = gradientOf(f, x, AllSamples(20));
  const LogisticRegression<double> copy = f;
  EXPECT_EQ(gradientOf(copy, x, AllSamples(20)), g);
  EXPECT_EQ(f.counts().gradients, 20u);
  EXPECT_EQ(copy.counts().gradients, 40u);
}
TEST(LinearProblem, RefusesWhatItCannotDo) {
  using Rows = SampleRows<double>;
  EXPECT_THROW(LeastSquares<double>(Rows{}), Error);
  EXPECT_THROW(LeastSquares<double>(Rows::dense(0, {}, {1, 2})), Error);
  EXPECT_THROW(LeastSquares<double>(Rows::dense(1, {1}, {1}), {.l2 = -1}), Error);
  EXPECT_THROW(LeastSquares<double>(Rows::dense(1, {1}, {1}), {.l2 = std::nan("")}), Error);
  EXPECT_EQ(codeOf([] {
              SoftmaxRegression<double>(Rows::sparse(UINT32_MAX, {0, 0}, {}, {}, {1}),
                                        {.classes = std::vector<double>{1, 2, 3}});
            }),
            std::nullopt);
  const LeastSquares<double> f(Rows::dense(2, {1, 2, 3, 4}, {1, 2}));
  std::vector<double> two(2), three(3);
  EXPECT_EQ(codeOf([&] { f.value(two, {}); }), ErrorCode::invalidArgument);
  EXPECT_EQ(codeOf([&] { f.value(two, std::vector<std::size_t>{0, 2}); }), ErrorCode::outOfRange);
  EXPECT_EQ(sentenceOf([&] { f.value(three, AllSamples(2)); }),
            "LeastSquares: expected a point or gradient of 2 numbers, got 3");
  EXPECT_THROW(f.gradient(two, AllSamples(2), three), Error);
  EXPECT_EQ(f.counts(), OracleCounts{});
}

}  // namespace linear_problem_test
}  // namespace burtorch
