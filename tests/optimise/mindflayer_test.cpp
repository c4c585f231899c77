// MindFlayer by simulated clocks: the mean step over everything that may be killed, its special case, its clock, its counts.
#include <burtorch/optimise/mindflayer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/error_sentence.hpp"
#include "small_problems.hpp"

namespace burtorch {
namespace mindflayer_test {

using small_problems::Bowls;
using small_problems::squaredDistance;
const std::vector<double> start(4, 2.0);
constexpr double forever = std::numeric_limits<double>::infinity();

std::vector<double> copyOf(std::span<const double> x) { return {x.begin(), x.end()}; }

TEST(MindFlayer, OfOneWorkerThatIsNeverKilledIsSerialSgdBitForBit) {
  Bowls f(30, 4, 1);
  SimulatedMindFlayer run(f, std::span(start), [](std::size_t, std::uint64_t) { return 2.0; },
                          {.stepSize = 0.02, .workers = {{}}, .batch = 3, .seed = 4});
  NiceSampling sampling(30, 3, Rng(4, 0).next());
  std::vector<double> x = start, g(4);
  for (std::uint64_t step = 0; step < 50; ++step) {
    f.gradient(x, sampling.draw(step), g);
    for (std::size_t k = 0; k < 4; ++k) x[k] = x[k] - 0.02 * g[k];
    EXPECT_EQ(run.step(), 1u);
    ASSERT_EQ(copyOf(run.x()), x);
  }
  EXPECT_EQ(run.seconds(), 100);
}
// Over everything that may be in time or not, weighted with its probability, the step is that of gradient descent.
TEST(MindFlayer, TheExpectedStepIsThatOfTheGradient) {
  Bowls f(6, 4, 1);
  const std::vector<MindFlayerWorker> workers{{3, 1.0, 0.3}, {2, 0.5, 0.8}, {1, 2.0, 0.5}};
  std::vector<double> mean(4), g(4);
  for (unsigned mask = 0; mask < 1u << 6; ++mask) {
    const unsigned first[] = {0, 3, 5};
    const auto seconds = [&](std::size_t w, std::uint64_t k) {
      return (mask >> (first[w] + k) & 1) != 0 ? workers[w].seconds : forever;
    };
    double weight = 1;
    for (unsigned trial = 0; trial < 6; ++trial) {
      const double p = workers[trial < 3 ? 0 : trial < 5 ? 1 : 2].probability;
      weight *= (mask >> trial & 1) != 0 ? p : 1 - p;
    }
    SimulatedMindFlayer run(f, std::span(start), seconds,
                            {.stepSize = 0.25, .workers = workers, .batch = 6, .seed = 4});
    run.step();
    for (std::size_t k = 0; k < 4; ++k) mean[k] += weight * run.x()[k];
  }
  f.gradient(start, AllSamples(6), g);
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(mean[k], start[k] - 0.25 * g[k], 1e-14);
}
// A worker that hangs costs its trials, not for ever; the round takes as long as its slowest worker.
TEST(MindFlayer, NobodyWaitsForAWorkerThatHangs) {
  Bowls f(30, 4, 1);
  const auto seconds = [](std::size_t w, std::uint64_t k) {
    return w == 1 ? forever : k % 2 == 0 ? 0.5 : 9.0;
  };
  SimulatedMindFlayer run(f, std::span(start), seconds,
                          {.stepSize = 0.02, .workers = {{4, 1.0, 0.5}, {2, 3.0, 0.1}}, .seed = 4});
  EXPECT_EQ(run.step(), 2u);
  EXPECT_EQ(run.seconds(), 6);  // of worker 0: 0.5 + 1 + 0.5 + 1
  for (int round = 0; round < 9; ++round) run.step();
  EXPECT_EQ(run.counts().trials, 60u);
  EXPECT_EQ(run.counts().applied, 20u);
  EXPECT_EQ(run.counts().killed, 40u);
  EXPECT_EQ(f.counts().gradients, 20u);
  EXPECT_EQ(run.round(), 10u);
}
// After max {1, sigma^2 / (epsilon B)} 8 L (f(x_0) - f*) / epsilon rounds the mean of |grad f|^2 over all of them is below epsilon.
TEST(MindFlayer, ConvergesAsFastAsTheStepOfTheoryPromises) {
  Bowls f(30, 4, 1);
  const AllSamples all(30);
  const auto solution = f.minimiser();
  std::vector<double> g(4), own(4), zero(4);
  double sigma = 0;  // largest at the start: from there on the samples' gradients come closer to each other
  f.gradient(start, all, g);
  for (std::size_t i = 0; i < 30; ++i) {
    f.gradient(start, std::array{i}, own);
    sigma += squaredDistance(own, g) / 30;
  }
  // Worker w needs w + 1 seconds on average with an exponential tail; a trial is killed at twice that.
  const auto seconds = [](std::size_t w, std::uint64_t k) {
    return static_cast<double>(w + 1) * -std::log(1 - Rng(w, k).uniform<double>());
  };
  std::vector<MindFlayerWorker> workers;
  for (std::size_t w = 0; w < 5; ++w)
    workers.push_back({5 - w, 2.0 * static_cast<double>(w + 1), 1 - std::exp(-2.0)});
  const double epsilon = 0.5, expected = mindflayer::expectedBatch(workers);
  const double gamma = mindflayer::stepSize(f.smoothness(), expected, sigma, epsilon);
  const auto rounds = static_cast<int>(std::max(1.0, sigma / (epsilon * expected)) * 8 * f.smoothness() *
                                       (f.value(start, all) - f.value(solution, all)) / epsilon) +
                      1;
  SimulatedMindFlayer run(f, std::span(start), seconds, {.stepSize = gamma, .workers = workers, .seed = 2});
  double mean = 0;
  for (int round = 0; round < rounds; ++round) {
    f.gradient(run.x(), all, g);
    mean += squaredDistance(g, zero) / rounds;
    run.step();
  }
  EXPECT_LT(mean, epsilon);
  EXPECT_GT(run.counts().killed, 0u);
  EXPECT_EQ(run.counts().trials, run.counts().applied + run.counts().killed);
  EXPECT_NEAR(static_cast<double>(run.counts().applied), expected * rounds, 5 * std::sqrt(expected * rounds));
}
/// Remembers the samples of every gradient.
struct Remembering : Bowls {
  using Bowls::Bowls;
  std::vector<std::size_t> samples;
  double gradient(std::span<const double> x, Batch batch, std::span<double> into) {
    samples.push_back(batch[0]);
    return Bowls::gradient(x, batch, into);
  }
};
TEST(MindFlayer, EveryTrialDrawsSamplesOfItsOwn) {
  Remembering f(30, 4, 1);
  const auto seconds = [](std::size_t, std::uint64_t) { return 1.0; };
  SimulatedMindFlayer run(f, std::span(start), seconds,
                          {.stepSize = 0.02, .workers = {{1}, {1}, {1}}, .seed = 4});
  for (int round = 0; round < 60; ++round) run.step();
  int twice = 0;
  for (std::size_t i = 0; i < 180; i += 3) twice += f.samples[i] == f.samples[i + 1];
  EXPECT_LT(twice, 10);  // of 60 rounds, with probability 1/30 each
  std::sort(f.samples.begin(), f.samples.end());
  EXPECT_GT(std::unique(f.samples.begin(), f.samples.end()) - f.samples.begin(), 25);
}
TEST(MindFlayer, IsResumedBitForBit) {
  Bowls f(30, 4, 1);
  const auto seconds = [](std::size_t w, std::uint64_t k) { return Rng(w, k).uniform<double>(); };
  const MindFlayerOptions options{.stepSize = 0.02, .workers = {{3, 0.5, 0.5}, {2, 0.9, 0.9}}, .seed = 4};
  const std::vector<double> elsewhere(4, -1.0);
  SimulatedMindFlayer whole(f, std::span(start), seconds, options),
      resumed(f, std::span(elsewhere), seconds, options);
  small_problems::expectResumed(whole, resumed, 50);
  EXPECT_EQ(resumed.counts().killed, whole.counts().killed);
}
TEST(MindFlayer, TheoryGivesItsNumbers) {
  const MindFlayerWorker workers[] = {{4, 1, 0.5}, {2, 1, 0.25}};
  EXPECT_EQ(mindflayer::expectedBatch(workers), 2.5);
  EXPECT_EQ(mindflayer::stepSize(2, 2.5, 0, 1), 0.25);
  EXPECT_EQ(mindflayer::stepSize(2, 2.5, 10, 1), 0.0625);
  EXPECT_EQ(mindflayer::stepSize(2, 2.5, 1, 1), 0.25);
}
TEST(MindFlayer, SaysWhatIsWrong) {
  Bowls f(30, 4, 1);
  const auto with = [&](const MindFlayerOptions& options) {
    return sentenceOf([&] {
      SimulatedMindFlayer run(
          f, std::span(start), [](std::size_t, std::uint64_t) { return forever; }, options);
      run.step();
    });
  };
  EXPECT_EQ(with({.stepSize = 0, .workers = {{}}}), "MindFlayer: expected a step size above 0, got 0");
  EXPECT_EQ(with({.stepSize = 1}), "MindFlayer: expected at least 1 worker with at least 1 trial");
  EXPECT_EQ(with({.stepSize = 1, .workers = {{1, 0}}}),
            "MindFlayer: expected a time above 0 and a probability above 0 and up to 1, got 0 s and 1");
  EXPECT_EQ(with({.stepSize = 1, .workers = {{}}}),
            "MindFlayer: trial 0 of worker 0 takes inf s of inf s; expected a finite time");
}

}  // namespace mindflayer_test
}  // namespace burtorch
