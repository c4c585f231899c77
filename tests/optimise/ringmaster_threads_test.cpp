// Ringmaster ASGD with real threads: the rule holds in every run, sweeps are stopped, errors come out.
#include <burtorch/optimise/ringmaster_threads.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "reference/error_sentence.hpp"
#include "small_problems.hpp"

namespace burtorch {
namespace ringmaster_threads_test {

using small_problems::Bowls;
using small_problems::squaredDistance;

const std::vector<double> start(4, 2.0);

TEST(RingmasterThreads, KeepTheRule) {
  for (const bool stopsLate : {false, true})
    for (const std::uint64_t limit : {1u, 3u}) {
      std::vector<Bowls> oracles(4, Bowls(30, 4, 1));
      std::vector<Bowls*> pointers;
      for (Bowls& oracle : oracles) pointers.push_back(&oracle);
      const auto result = runRingmaster<Bowls>(
          pointers, start, 2000, {.stepSize = 0.01, .delayLimit = limit, .batch = 2, .stopsLate = stopsLate});
      EXPECT_EQ(result.counts.applied, 2000u);
      EXPECT_LT(result.counts.longestDelay, limit);
      EXPECT_EQ(result.counts.computed,
                result.counts.applied + result.counts.discarded + result.counts.stopped);
      EXPECT_LT(squaredDistance(result.x, oracles[0].minimiser()), 0.1);
    }
}
TEST(RingmasterThreads, OneThreadIsSerialSgd) {
  Bowls f(30, 4, 1);
  Bowls* const pointers[] = {&f};
  const RingmasterOptions options{.stepSize = 0.02, .delayLimit = 1, .batch = 3, .seed = 4};
  const auto result = runRingmaster<Bowls>(pointers, start, 50, options);
  SimulatedRingmaster same(
      f, std::span(start), 1, [](std::size_t, std::uint64_t) { return 1.0; }, options);
  for (int step = 0; step < 50; ++step) same.step();
  EXPECT_EQ(result.x, std::vector<double>(same.x().begin(), same.x().end()));
}
/// Two threads that wait for each other: the second one's first gradient is at x^0, since the first one makes no step before, and
/// is not done before the first one has made five; and that one makes no sixth before the second one has begun again.
struct Meeting : Bowls {
  using Bowls::Bowls;
  Meeting* other = nullptr;
  bool isLate = false, wasStopped = false;
  std::atomic<int> begun{0};

  Meeting(const Meeting& from) : Bowls(from), isLate(from.isLate) {}
  using Bowls::gradient;
  GradientResult gradient(std::span<const double> x, Batch batch, std::span<double> into,
                          const GradientOptions<double>& options) {
    const int now = ++begun;
    if (isLate && now == 1) {
      while (other->begun < 6) std::this_thread::yield();
      wasStopped = options.stop && options.stop();
      if (wasStopped) return {SweepStatus::stopped, 0};
    }
    if (!isLate && (now == 1 || now == 6))
      while (other->begun < (now == 1 ? 1 : 2)) std::this_thread::yield();
    return {SweepStatus::finished, gradient(x, batch, into)};
  }
};
TEST(RingmasterThreads, AGradientOfAnOldPointIsDiscardedOrStopped) {
  for (const bool stopsLate : {false, true}) {
    std::vector<Meeting> oracles(2, Meeting(30, 4, 1));
    oracles[1].isLate = true;
    oracles[0].other = &oracles[1];
    oracles[1].other = &oracles[0];
    Meeting* const pointers[] = {&oracles[0], &oracles[1]};
    const auto result = runRingmaster<Meeting>(
        pointers, start, 50, {.stepSize = 0.01, .delayLimit = 4, .batch = 2, .stopsLate = stopsLate});
    EXPECT_EQ(oracles[1].wasStopped, stopsLate);
    EXPECT_GE(stopsLate ? result.counts.stopped : result.counts.discarded, 1u);
    EXPECT_LT(result.counts.longestDelay, 4u);
  }
}
/// Fails at its tenth gradient.
struct Faulty : Bowls {
  using Bowls::Bowls;
  int asked = 0;
  using Bowls::gradient;
  GradientResult gradient(std::span<const double> x, Batch batch, std::span<double> into,
                          const GradientOptions<double>& options) {
    if (++asked == 10) fail("the disk is gone");
    return Bowls::gradient(x, batch, into, options);
  }
};
TEST(RingmasterThreads, AnErrorEndsTheRun) {
  std::vector<Faulty> oracles(3, Faulty(30, 4, 1));
  std::vector<Faulty*> pointers;
  for (Faulty& oracle : oracles) pointers.push_back(&oracle);
  EXPECT_EQ(sentenceOf([&] {
              runRingmaster<Faulty>(pointers, start, 1000000, {.stepSize = 0.01, .delayLimit = 3});
            }),
            "the disk is gone");
}

}  // namespace ringmaster_threads_test
}  // namespace burtorch
