// Ringmaster ASGD by simulated clocks: no applied delay reaches R, R = 1 is serial SGD, every gradient is accounted for.
#include <burtorch/optimise/ringmaster.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "small_problems.hpp"

namespace burtorch {
namespace ringmaster_test {

using small_problems::Bowls;
using small_problems::squaredDistance;

// Worker w takes w + 1 seconds, give or take: a few are fast, most are late.
double unevenSeconds(std::size_t worker, std::uint64_t k) {
  return static_cast<double>(worker + 1) * (0.75 + 0.5 * Rng(worker, k).uniform<double>());
}
const std::vector<double> start(4, 2.0);

TEST(Ringmaster, NeverAppliesADelayOfR) {
  for (const bool stopsLate : {false, true})
    for (const std::uint64_t limit : {1u, 2u, 5u, 100u}) {
      Bowls f(30, 4, 1);
      SimulatedRingmaster run(f, std::span(start), 10, unevenSeconds,
                              {.stepSize = 0.02, .delayLimit = limit, .stopsLate = stopsLate, .seed = 4});
      for (int step = 0; step < 500; ++step) run.step();
      const RingmasterCounts counts = run.counts();
      EXPECT_EQ(counts.applied, 500u);
      EXPECT_LT(counts.longestDelay, limit);
      EXPECT_EQ(counts.computed, counts.applied + counts.discarded + counts.stopped);
      EXPECT_EQ(counts.stopped > 0, stopsLate && limit < 100) << limit;
      EXPECT_EQ(counts.discarded > 0, !stopsLate && limit < 100) << limit;
    }
}
TEST(Ringmaster, OfOneWorkerIsSerialSgdBitForBit) {
  Bowls f(30, 4, 1);
  const RingmasterOptions options{.stepSize = 0.02, .delayLimit = 1, .batch = 3, .seed = 4};
  SimulatedRingmaster run(f, std::span(start), 1, unevenSeconds, options);
  NiceSampling sampling(30, 3, Rng(4, 0).next());
  std::vector<double> x = start, g(4);
  for (std::uint64_t step = 0; step < 100; ++step) {
    f.gradient(x, sampling.draw(step), g);
    for (std::size_t k = 0; k < 4; ++k) x[k] = x[k] - 0.02 * g[k];
    run.step();
    ASSERT_EQ(std::vector<double>(run.x().begin(), run.x().end()), x);
  }
  EXPECT_EQ(run.counts().computed, 100u);
}
TEST(Ringmaster, WithALimitOfOneEveryStepIsOneOfSerialSgd) {
  Bowls f(30, 4, 1);
  SimulatedRingmaster run(f, std::span(start), 6, unevenSeconds,
                          {.stepSize = 0.02, .delayLimit = 1, .seed = 4});
  std::vector<double> x = start, g(4);
  for (int step = 0; step < 200; ++step) {
    run.step();
    // The step is that of some sample's gradient at the point before it.
    double nearest = 1;
    for (std::size_t i = 0; i < 30; ++i) {
      f.gradient(x, std::array{i}, g);
      for (std::size_t k = 0; k < 4; ++k) g[k] = x[k] - 0.02 * g[k];
      nearest = std::min(nearest, squaredDistance(g, run.x()));
    }
    ASSERT_EQ(nearest, 0) << step;
    x.assign(run.x().begin(), run.x().end());
  }
}
TEST(Ringmaster, ManyWorkersAreDoneSooner) {
  double seconds[2];
  for (const std::size_t many : {0u, 1u}) {
    Bowls f(30, 4, 1);
    SimulatedRingmaster run(f, std::span(start), many != 0 ? 16 : 1,
                            [](std::size_t, std::uint64_t) { return 1.0; },
                            {.stepSize = 0.02, .delayLimit = 32});
    for (int step = 0; step < 320; ++step) run.step();
    seconds[many] = run.seconds();
    EXPECT_LT(squaredDistance(run.x(), f.minimiser()), 0.5);
  }
  EXPECT_EQ(seconds[0], 320);
  EXPECT_EQ(seconds[1], 20);
}
TEST(Ringmaster, IsResumedBitForBit) {
  Bowls f(30, 4, 1);
  const RingmasterOptions options{.stepSize = 0.02, .delayLimit = 3, .seed = 4};
  const std::vector<double> elsewhere(4, -1.0);
  SimulatedRingmaster whole(f, std::span(start), 6, unevenSeconds, options),
      resumed(f, std::span(elsewhere), 6, unevenSeconds, options);
  small_problems::expectResumed(whole, resumed, 100);
  EXPECT_EQ(resumed.counts().computed, whole.counts().computed);
  EXPECT_EQ(resumed.counts().stopped, whole.counts().stopped);
}
TEST(Ringmaster, TheoryGivesItsNumbers) {
  EXPECT_EQ(ringmaster::delayLimit(0.5, 1), 1u);
  EXPECT_EQ(ringmaster::delayLimit(7, 2), 4u);
  EXPECT_DOUBLE_EQ(ringmaster::stepSize(2, 4, 7, 2), std::min(1.0 / 16, 2.0 / 56));
  EXPECT_DOUBLE_EQ(ringmaster::stepSize(2, 4, 0, 2), 1.0 / 16);
}

}  // namespace ringmaster_test
}  // namespace burtorch
