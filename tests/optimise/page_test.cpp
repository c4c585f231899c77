// PAGE: its special cases bit for bit, the recursion of its variance, its counts, and convergence with the theory's step.
#include <burtorch/optimise/page.hpp>

#include <gtest/gtest.h>

#include <burtorch/base/thread_pool.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/oracle/function_sum.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "reference/error_sentence.hpp"
#include "small_problems.hpp"

namespace burtorch {
namespace page_test {

using small_problems::Bowls;
using small_problems::squaredDistance;

TEST(Page, WithProbabilityOneIsGradientDescentBitForBit) {
  Bowls f(8, 37, 1);
  const std::vector<double> start(37, 2.0);
  Page page(f, std::span(start), {.stepSize = 0.1, .probability = 1});
  std::vector<double> x = start, g(37);
  for (int step = 0; step < 20; ++step) {
    page.step();
    for (std::size_t k = 0; k < x.size(); ++k) ASSERT_EQ(page.x()[k], x[k]);
    f.gradient(x, AllSamples(8), g);
    for (std::size_t k = 0; k < x.size(); ++k) x[k] = x[k] - 0.1 * g[k];
  }
}
TEST(Page, WithAllSamplesInEveryCorrectionKeepsTheGradient) {
  Bowls f(8, 37, 1);
  const std::vector<double> start(37, 2.0);
  Page page(f, std::span(start), {.stepSize = 0.1, .small = 8, .probability = 1e-12});
  std::vector<double> g(37);
  for (int step = 0; step < 50; ++step) {
    page.step();
    f.gradient(page.x(), AllSamples(8), g);
    for (std::size_t k = 0; k < g.size(); ++k) ASSERT_NEAR(page.estimate()[k], g[k], 1e-13) << step;
  }
}
// E|g+ - grad f(x+)|^2 <= (1 - p) |g - grad f(x)|^2 + (1 - p) L+^2 / b' |x+ - x|^2, from a state that is put in.
TEST(Page, ItsErrorFollowsTheRecursion) {
  constexpr std::size_t n = 12, d = 5;
  Bowls f(n, d, 9);
  const std::vector<double> start(d, 1.5);
  Rng rng(17);
  for (int trial = 0; trial < 4; ++trial) {
    std::vector<double> x(d), next(d), estimate(d), atX(d), atNext(d);
    for (std::size_t k = 0; k < d; ++k) x[k] = rng.normal<double>();
    f.gradient(x, AllSamples(n), atX);
    for (std::size_t k = 0; k < d; ++k) estimate[k] = atX[k] + 0.3 * rng.normal<double>();
    for (std::size_t k = 0; k < d; ++k) next[k] = x[k] - 0.2 * estimate[k];
    f.gradient(next, AllSamples(n), atNext);
    const PageOptions options{.stepSize = 0.2, .small = 3, .probability = 0.3};
    double mean = 0, square = 0;
    constexpr int draws = 20000;
    for (int draw = 0; draw < draws; ++draw) {
      PageOptions own = options;
      own.seed = static_cast<std::uint64_t>(draw);
      Page page(f, std::span(start), own);
      page.visitState([&](const std::string& name, auto&& state) {
        if constexpr (requires { state.size(); }) {
          const auto& from = name == "x" ? x : name == "next" ? next : estimate;
          std::copy(from.begin(), from.end(), state.begin());
        } else {
          state = 1;
        }
      });
      page.step();
      const double error = squaredDistance(page.estimate(), atNext);
      mean += error / draws;
      square += error * error / draws;
    }
    const double bound = 0.7 * squaredDistance(estimate, atX) +
                         0.7 * std::pow(f.meanSquareSmoothness(), 2) / 3 * squaredDistance(next, x);
    // Four standard errors: a false alarm once in 30,000.
    EXPECT_LT(mean - 4 * std::sqrt((square - mean * mean) / draws), bound) << trial;
    EXPECT_GT(mean, 0.5 * 0.7 * squaredDistance(estimate, atX)) << trial;  // and it is not trivially small
  }
}
TEST(Page, CountsTheGradientsThatTheoryCounts) {
  constexpr std::size_t n = 100;
  Bowls f(n, 3, 9);
  const std::vector<double> start(3, 1.5);
  Page page(f, std::span(start), {.stepSize = 0.1});
  EXPECT_EQ(page.options().small, 10u);
  EXPECT_NEAR(page.options().probability, 10.0 / 110, 1e-15);
  constexpr int steps = 3000;
  std::uint64_t renewed = 0, before = 0;
  for (int step = 0; step < steps; ++step) {
    page.step();
    const std::uint64_t now = f.counts().gradients;
    ASSERT_TRUE(now - before == n || now - before == 20);
    if (now - before == n) ++renewed;
    before = now;
  }
  EXPECT_EQ(f.counts().gradients, renewed * n + (steps - renewed) * 20);
  // A binomial count: five standard deviations.
  const double p = 10.0 / 110;
  EXPECT_NEAR(static_cast<double>(renewed), p * steps, 5 * std::sqrt(steps * p * (1 - p)));
}
TEST(Page, TheoryGivesItsNumbers) {
  const PageOptions options{.small = 4, .probability = 0.2};  // (1 - p) / (p b') = 1
  EXPECT_DOUBLE_EQ(page::stepSize(2, options), 0.25);
  EXPECT_DOUBLE_EQ(page::stepSize(2, options, 0.8), 0.125);  // p / (2 mu)
  EXPECT_DOUBLE_EQ(page::stepSize(2, options, 0.1), 0.25);
  EXPECT_EQ(page::stepSize(2, {.small = 4, .probability = 1}, 5), 0.5);
  // For the default p it is 1 / (L (1 + sqrt(b) / b')).
  const PageOptions byDefault = page::withDefaults({.small = 5}, 100);
  EXPECT_EQ(byDefault.large, 100u);
  EXPECT_NEAR(page::stepSize(2, byDefault), 1 / (2 * (1 + 10.0 / 5)), 1e-15);
}
// With the theory's step PAGE needs, for |grad f| <= epsilon, far fewer gradients than gradient descent does.
TEST(Page, ConvergesWithTheStepOfTheory) {
  constexpr std::size_t n = 400;
  Bowls f(n, 10, 9);
  const std::vector<double> start(10, 1.5), zero(10, 0);
  PageOptions options = page::withDefaults({}, n);
  options.stepSize = page::stepSize(f.meanSquareSmoothness(), options);
  Page page(f, std::span(start), options);
  std::vector<double> g(10, 1.0);
  std::uint64_t spent = 0;
  for (int step = 0; squaredDistance(g, zero) > 1e-16 && step < 1000; ++step) {
    const std::uint64_t before = f.counts().gradients;
    page.step();
    spent += f.counts().gradients - before;
    f.gradient(page.x(), AllSamples(n), g);
  }
  EXPECT_LT(squaredDistance(g, zero), 1e-16);
  // Gradient descent with 1 / L: from 10^1 to 10^-8 takes at least 5 steps of n here, as every coordinate is as curved.
  EXPECT_LT(spent, 200 * n);
}
TEST(Page, HasOneTrajectoryForAnyNumberOfThreads) {
  struct Sample {
    double a, b;
  };
  std::vector<Sample> samples;
  Rng rng(3);
  for (int i = 0; i < 300; ++i) samples.push_back({rng.normal<double>(), rng.normal<double>()});
  auto f = finiteSum(samples, 2, [](const Sample& s, auto x) { return sqr(sin(x[0] * s.a) + x[1] - s.b); });
  const std::vector<double> start{0.5, -0.25};
  std::vector<double> serial;
  for (const std::size_t threads : {1u, 2u, 3u, 8u}) {
    ThreadPool pool(threads);
    const CurrentWorkers here(pool);
    Page page(f, std::span(start), {.stepSize = 0.05, .small = 64, .seed = 6});
    for (int step = 0; step < 40; ++step) page.step();
    if (serial.empty()) serial.assign(page.x().begin(), page.x().end());
    EXPECT_EQ(std::vector<double>(page.x().begin(), page.x().end()), serial) << threads;
  }
}

}  // namespace page_test
}  // namespace burtorch
