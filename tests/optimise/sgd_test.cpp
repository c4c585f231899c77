// Nice sampling, proximal operators and SGD: exact identities over all subsets, and the rates of the theory.
#include <burtorch/optimise/sgd.hpp>

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "reference/error_sentence.hpp"
#include "small_problems.hpp"

namespace burtorch {
namespace sgd_test {

using small_problems::Bowls;
using small_problems::squaredDistance;

void expectError(auto action, const char* part) {
  EXPECT_NE(sentenceOf(action).find(part), std::string::npos) << sentenceOf(action);
}

TEST(NiceSampling, DrawsEverySubsetEquallyOften) {
  constexpr int draws = 60000;
  NiceSampling sampling(6, 3, 4);
  std::map<unsigned, int> counts;
  for (int round = 0; round < draws; ++round) {
    unsigned subset = 0;
    for (const std::size_t i : sampling.draw(static_cast<std::uint64_t>(round))) subset |= 1u << i;
    ASSERT_EQ(std::popcount(subset), 3);
    ++counts[subset];
  }
  ASSERT_EQ(counts.size(), 20u);
  // Chi-square with 19 degrees of freedom: above 54.3 once in 30,000.
  double chi = 0;
  for (const auto& [subset, count] : counts) chi += std::pow(count - draws / 20.0, 2) / (draws / 20.0);
  EXPECT_LT(chi, 54.3);
}
TEST(NiceSampling, IsAFunctionOfSeedAndRound) {
  NiceSampling one(50, 7, 4), other(50, 7, 4), differs(50, 7, 5);
  const auto list = [](Batch batch) { return std::vector<std::size_t>(batch.begin(), batch.end()); };
  const auto first = list(one.draw(9));
  one.draw(1), one.draw(77);
  EXPECT_EQ(list(one.draw(9)), first);
  EXPECT_EQ(list(other.draw(9)), first);
  EXPECT_NE(list(differs.draw(9)), first);
  EXPECT_NE(list(one.draw(10)), first);
}
TEST(NiceSampling, OfAllTakesThemInOrder) {
  NiceSampling sampling(4, 4, 1);
  const Batch drawn = sampling.draw(3);
  EXPECT_EQ(std::vector<std::size_t>(drawn.begin(), drawn.end()), (std::vector<std::size_t>{0, 1, 2, 3}));
  expectError([] { NiceSampling(4, 5, 0); }, "expected 1 to 4 samples at a time, got 5");
  expectError([] { NiceSampling(4, 0, 0); }, "expected 1 to 4 samples at a time, got 0");
}

// E|g_S - grad f|^2 = (n - tau) / (tau (n - 1)) (1/n) sum |grad f_i - grad f|^2, over all subsets.
TEST(Sgd, HasTheVarianceOfTheFormula) {
  for (const std::size_t n : {2u, 5u, 9u, 12u}) {
    const Bowls f(n, 3, 7 + n);
    const std::array<double, 3> x{0.3, -0.8, 1.1};
    std::array<double, 3> whole, part;
    f.gradient(x, AllSamples(n), whole);
    double h = 0;
    for (std::size_t i = 0; i < n; ++i) {
      f.gradient(x, std::array{i}, part);
      h += squaredDistance(part, whole) / static_cast<double>(n);
    }
    for (std::size_t tau = 1; tau <= n; ++tau) {
      double mean = 0;
      int subsets = 0;
      for (unsigned subset = 0; subset < 1u << n; ++subset) {
        if (static_cast<std::size_t>(std::popcount(subset)) != tau) continue;
        std::vector<std::size_t> batch;
        for (std::size_t i = 0; i < n; ++i)
          if ((subset >> i & 1) != 0) batch.push_back(i);
        f.gradient(x, batch, part);
        mean += squaredDistance(part, whole);
        ++subsets;
      }
      EXPECT_NEAR(mean / subsets, nice::variance(n, tau, h), 1e-13 * (1 + h)) << n << " " << tau;
    }
  }
}
TEST(Sgd, WithAllSamplesIsGradientDescentBitForBit) {
  Bowls f(8, 5, 1);
  const std::vector<double> start(5, 2.0);
  ProxSgd sgd(f, std::span(start), {.stepSize = 0.1, .tau = 8});
  std::vector<double> x = start, g(5);
  for (int step = 0; step < 20; ++step) {
    f.gradient(x, AllSamples(8), g);
    for (std::size_t k = 0; k < 5; ++k) x[k] = x[k] - 0.1 * g[k];
    sgd.step();
    for (std::size_t k = 0; k < 5; ++k) ASSERT_EQ(sgd.x()[k], x[k]);
  }
}
TEST(Sgd, WithAllSamplesAndL1IsIsta) {
  Bowls f(8, 5, 1);
  const std::vector<double> start(5, 2.0);
  ProxSgd sgd(f, std::span(start), {.stepSize = 0.1, .tau = 8, .regulariser = L1{0.5}});
  std::vector<double> x = start, g(5);
  for (int step = 0; step < 300; ++step) {
    f.gradient(x, AllSamples(8), g);
    for (std::size_t k = 0; k < 5; ++k) {
      const double moved = x[k] - 0.1 * g[k];
      x[k] = moved > 0.05 ? moved - 0.05 : moved < -0.05 ? moved + 0.05 : 0;
    }
    sgd.step();
    for (std::size_t k = 0; k < 5; ++k) ASSERT_EQ(sgd.x()[k], x[k]);
  }
  // The solution: 0 is in the subdifferential at every coordinate.
  f.gradient(x, AllSamples(8), g);
  for (std::size_t k = 0; k < 5; ++k)
    if (x[k] == 0)
      EXPECT_LE(std::abs(g[k]), 0.5);
    else
      EXPECT_NEAR(g[k], x[k] > 0 ? -0.5 : 0.5, 1e-12);
}
TEST(Sgd, TheoryGivesItsNumbers) {
  EXPECT_DOUBLE_EQ(nice::expectedSmoothness(5, 1, 3, 7), 7);
  EXPECT_DOUBLE_EQ(nice::expectedSmoothness(5, 5, 3, 7), 3);
  EXPECT_DOUBLE_EQ(nice::expectedSmoothness(5, 2, 3, 7), 4.5);  // 5/8 of 3 and 3/8 of 7
  EXPECT_EQ(nice::expectedSmoothness(1, 1, 3, 3), 3);
  EXPECT_DOUBLE_EQ(nice::variance(5, 2, 8), 3);
  EXPECT_EQ(nice::variance(1, 1, 0), 0);
  EXPECT_EQ(nice::stepSize(4), 0.125);
  EXPECT_DOUBLE_EQ(nice::stepSize(4, 2, 0.5, 0.1), 0.05 / 8);
  EXPECT_EQ(nice::stepSize(4, 2, 0.5, 1000), 0.125);
}
// E|g_S(x) - g_S(x*)|^2 <= 2 Lexp (f(x) - f(x*)), over all subsets and at many points: what expected smoothness means.
TEST(Sgd, GradientsAreAsSmoothAsExpected) {
  constexpr std::size_t n = 7, d = 2;
  const Bowls f(n, d, 5);
  const std::vector<double> solution = f.minimiser();
  const AllSamples all(n);
  Rng rng(3);
  for (int trial = 0; trial < 20; ++trial) {
    const std::array<double, d> x{3 * rng.normal<double>(), 3 * rng.normal<double>()};
    std::array<double, d> there, atSolution;
    std::array<double, n + 1> sums{};
    std::array<int, n + 1> counts{};
    for (unsigned subset = 1; subset < 1u << n; ++subset) {
      std::vector<std::size_t> batch;
      for (std::size_t i = 0; i < n; ++i)
        if ((subset >> i & 1) != 0) batch.push_back(i);
      f.gradient(x, batch, there);
      f.gradient(solution, batch, atSolution);
      sums[batch.size()] += squaredDistance(there, atSolution);
      ++counts[batch.size()];
    }
    const double gap = f.value(x, all) - f.value(solution, all);
    for (std::size_t tau = 1; tau <= n; ++tau) {
      const double expected = nice::expectedSmoothness(n, tau, f.smoothness(), f.largestSmoothness());
      EXPECT_LE(sums[tau] / counts[tau], 2 * expected * gap * (1 + 1e-12)) << tau;
    }
    // All of them: every direction is as curved, so this is an equality.
    EXPECT_NEAR(sums[n] / (2 * f.smoothness() * gap), 1, 1e-12);
  }
}
// E|x_k - x*|^2 <= (1 - gamma mu)^k |x_0 - x*|^2 + 2 gamma sigma^2 / mu, and the second term is at most epsilon / 2 here.
TEST(Sgd, ReachesTheAccuracyThatItsStepSizePromises) {
  constexpr std::size_t n = 20, tau = 4;
  Bowls f(n, 6, 3);
  const std::vector<double> solution = f.minimiser(), start(6, 3.0);
  double h = 0;
  std::vector<double> g(6), zero(6, 0);
  for (std::size_t i = 0; i < n; ++i) {
    f.gradient(solution, std::array{i}, g);
    h += squaredDistance(g, zero) / n;
  }
  const double mu = f.smoothness(), epsilon = 0.02;
  const double gamma = nice::stepSize(nice::expectedSmoothness(n, tau, f.smoothness(), f.largestSmoothness()),
                                      nice::variance(n, tau, h), mu, epsilon);
  const auto steps =
      static_cast<int>(std::log(2 * squaredDistance(start, solution) / epsilon) / (gamma * mu)) + 1;
  double mean = 0;
  constexpr int runs = 200;
  for (int run = 0; run < runs; ++run) {
    ProxSgd sgd(f, std::span(start),
                {.stepSize = gamma, .tau = tau, .seed = static_cast<std::uint64_t>(run)});
    for (int step = 0; step < steps; ++step) sgd.step();
    mean += squaredDistance(sgd.x(), solution) / runs;
  }
  EXPECT_LT(mean, epsilon);
  EXPECT_GT(mean, 0);
}
TEST(Sgd, IsResumedBitForBit) {
  Bowls f(20, 4, 3);
  const std::vector<double> start(4, 3.0), elsewhere(4, -1.0);
  const SgdOptions options{.stepSize = 0.1, .tau = 3, .seed = 8};
  ProxSgd whole(f, std::span(start), options), first(f, std::span(start), options),
      second(f, std::span(elsewhere), options);
  for (int i = 0; i < 30; ++i) whole.step();
  for (int i = 0; i < 11; ++i) first.step();
  std::vector<double> saved;
  std::uint64_t round = 0;
  first.visitState([&](const char*, auto&& state) {
    if constexpr (requires { state.size(); })
      saved.assign(state.begin(), state.end());
    else
      round = state;
  });
  second.visitState([&](const char*, auto&& state) {
    if constexpr (requires { state.size(); })
      std::copy(saved.begin(), saved.end(), state.begin());
    else
      state = round;
  });
  for (int i = 11; i < 30; ++i) second.step();
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(second.x()[k], whole.x()[k]);
}
TEST(Sgd, SaysWhatIsWrong) {
  Bowls f(3, 2, 3);
  const std::vector<double> start(2), wrong(3);
  const auto with = [&](const SgdOptions& options) {
    return [&f, &start, options] { ProxSgd(f, std::span(start), options); };
  };
  expectError(with({}), "step size above 0, got 0");
  expectError(with({.stepSize = NAN}), "step size above 0");
  expectError(with({.stepSize = 1, .tau = 4}), "expected 1 to 3 samples");
  expectError(with({.stepSize = 1, .regulariser = L1{-1}}), "weight, 0 or more, got -1");
  expectError(with({.stepSize = 1, .regulariser = Box{.low = 2, .high = 1}}), "from 2 to 1 is empty");
  expectError([&] { ProxSgd(f, std::span(wrong), {.stepSize = 1}); }, "a start of 2 numbers, got 3");
}

// prox is the minimiser: no point of a fine grid is better.
TEST(Prox, MinimisesWhatItSays) {
  const Regulariser all[] = {NoRegulariser{}, L1{0.7}, SquaredL2{1.3}, Box{-0.5, 0.25}};
  for (const Regulariser& regulariser : all)
    for (const double x : {-3.0, -0.61, -0.2, 0.0, 0.3, 1.7})
      for (const double gamma : {0.1, 1.0, 4.0})
        std::visit(
            [&](const auto& r) {
              const auto objective = [&](double u) { return r.valueAt(u) + (u - x) * (u - x) / (2 * gamma); };
              const double best = objective(r.prox(x, gamma));
              for (double u = -4; u <= 4; u += 1.0 / 512)
                EXPECT_GE(objective(u), best - 1e-14) << r.name << " " << x << " " << gamma << " " << u;
            },
            regulariser);
}

}  // namespace sgd_test
}  // namespace burtorch
