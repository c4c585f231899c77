// backward with knobs on graphs of scalars and lists: stopping, wanted leaves, kept edges. tests/nn/guided_layers_test.cpp
// has layers and final blocks.
#include <burtorch/core/guided_sweep.hpp>

#include <gtest/gtest.h>

#include <array>
#include <burtorch/core/reduce.hpp>
#include <burtorch/ops/dual.hpp>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace {

using V = Value<double>;

/// Scalars, constants and lists, a dead pole, and leaves in the middle.
struct Graph {
  Tape<double> tape;
  CurrentTape<double, defaultConfig> here{tape};
  SweepMemory memory;
  Range<double> w = tape.leaves(std::array{0.5, -1.5, 2.0, 0.25});
  V a{0.7}, b{-1.2};
  V dead = sqrt(a * 0.0);
  V middle = tanh(a * b + innerProduct(w, w)) * 2.0;
  V late{1.4};
  V root = reduceSumOfSquares(std::vector{middle, late* w[1], sin(b)}) + logSumExp(w) * late;

  std::vector<double> gradients() const { return {tape.gradients().begin(), tape.gradients().end()}; }
  /// Of the leaves.
  std::vector<double> leaves() const {
    std::vector<double> all(w.gradients().begin(), w.gradients().end());
    for (const V& x : {a, b, late}) all.push_back(x.gradCopy());
    return all;
  }
  Block blockOf(const V& x) const { return {x.sysGetRawNodeIndex(), 1}; }
  std::vector<double> normal() {
    tape.zeroGrad();
    backward(root);
    auto wanted = leaves();
    tape.zeroGrad();
    return wanted;
  }
};

TEST(GuidedSweep, WithoutKnobsIsBackward) {
  Graph g;
  const auto wanted = g.normal();
  EXPECT_TRUE(backward(g.root, SweepOptions<double>{}));
  EXPECT_EQ(g.leaves(), wanted);
  EXPECT_TRUE(backward(g.root, {.seed = 2.0}));
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_DOUBLE_EQ(g.leaves()[i], 3 * wanted[i]);
}

TEST(GuidedSweep, EmptyBracesAreTheDefaultOptions) {
  Graph g;
  const auto wanted = g.normal();
  EXPECT_TRUE(backward(g.root, {}));
  EXPECT_EQ(g.leaves(), wanted);
}
TEST(GuidedSweep, EmptyBracesAreTheDefaultOptionsOfDualNumbersToo) {
  Tape<Dual<double>> tape;
  const CurrentTape here(tape);
  const Value<Dual<double>> x(Dual<double>{0.7, 1}), y = sin(x);
  backward(y);
  const Dual<double> once = x.gradCopy();
  EXPECT_TRUE(backward(y, {}));
  EXPECT_EQ(x.gradCopy().value, 2 * once.value);
  EXPECT_EQ(x.gradCopy().tangent, 2 * once.tangent);
}
TEST(GuidedSweep, ANumberIsASeedBesideTheOptions) {
  Graph g;
  const auto wanted = g.normal();
  backward(g.root, 2);
  backward(g.root, 0.5);
  backward(g.root, {0.25});
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_DOUBLE_EQ(g.leaves()[i], 2.75 * wanted[i]);
}

TEST(GuidedSweep, ATokenThatNeverStopsChangesNothing) {
  Graph g;
  const auto wanted = g.normal();
  int polls = 0;
  const auto result = backward(g.root, {.memory = &g.memory,
                                        .stop =
                                            [&] {
                                              ++polls;
                                              return false;
                                            },
                                        .pollEvery = 1});
  EXPECT_TRUE(result);
  EXPECT_GT(polls, 5);
  EXPECT_EQ(g.leaves(), wanted);
}

// However far it came, the leaves hold what they held before, and the next sweep has its usual bits.
TEST(GuidedSweep, StoppedAnywhereItLeavesNothingBehind) {
  Graph g;
  const auto wanted = g.normal();
  for (int after = 0;; ++after) {
    g.w.gradients()[2] = 7;
    g.late.setGrad(-3);
    const auto before = g.leaves();
    int polls = 0;
    const auto result =
        backward(g.root, {.memory = &g.memory, .stop = [&] { return polls++ == after; }, .pollEvery = 1});
    if (result) {
      EXPECT_EQ(after, 13);  // as many as there are instructions behind the leading leaves, less one
      break;
    }
    EXPECT_EQ(result.status, SweepStatus::stopped);
    EXPECT_EQ(g.leaves(), before) << "stopped after " << after;
    g.w.gradients()[2] = 0;
    g.late.setGrad(0);
    backward(g.root);
    EXPECT_EQ(g.leaves(), wanted) << "stopped after " << after;
    g.tape.zeroGrad();
  }
}
TEST(GuidedSweep, PollsAsOftenAsItSays) {
  Tape<double> tape;
  CurrentTape here(tape);
  SweepMemory memory;
  V x(1.0), y = x;
  for (int i = 0; i < 1000; ++i) y = y * 1.001;
  for (const std::size_t every : {1u, 10u, 64u, 5000u}) {
    std::size_t polls = 0;
    backward(y, {.memory = &memory, .stop = [&] { return ++polls, false; }, .pollEvery = every});
    EXPECT_EQ(polls, 999 / every) << every;  // none is left to be stopped after the last instruction
  }
}

TEST(GuidedSweep, GivesWantedLeavesTheirBitsAndTouchesNoOthers) {
  Graph g;
  const auto wanted = g.normal();
  const std::vector<std::vector<Block>> sets = {{},
                                                {g.blockOf(g.a)},
                                                {g.blockOf(g.b)},
                                                {g.blockOf(g.late)},
                                                {{g.w.first() + 1, 2}},
                                                {{g.w.first(), 4}, g.blockOf(g.late)}};
  for (const auto& set : sets) {
    g.tape.zeroGrad();
    const double sentinel = 0x1p-60;
    const std::array handles{g.w[0], g.w[1], g.w[2], g.w[3], g.a, g.b, g.late};
    std::array<bool, 7> isWanted{};
    for (std::size_t i = 0; i < handles.size(); ++i) {
      for (const Block& block : set)
        isWanted[i] = isWanted[i] || (handles[i].sysGetRawNodeIndex() >= block.first &&
                                      handles[i].sysGetRawNodeIndex() < block.first + block.count);
      if (!isWanted[i]) g.tape.gradients()[handles[i].sysGetRawNodeIndex()] = sentinel;
    }
    const auto result = backward(g.root, {.memory = &g.memory, .wanted = std::span<const Block>(set)});
    EXPECT_TRUE(result);
    if (set.empty()) {
      EXPECT_EQ(result.visited, 0u);
    }
    for (std::size_t i = 0; i < handles.size(); ++i)
      EXPECT_EQ(g.leaves()[i], isWanted[i] ? wanted[i] : sentinel) << i << " of a set of " << set.size();
  }
}
TEST(GuidedSweep, VisitsOnlyWhatLeadsToTheWanted) {
  Tape<double> tape;
  CurrentTape here(tape);
  SweepMemory memory;
  V early(0.5), late(2.0), y = early;
  for (int i = 0; i < 100; ++i) y = sin(y);
  const V root = y * late;
  const std::array last{Block{late.sysGetRawNodeIndex(), 1}}, first{Block{early.sysGetRawNodeIndex(), 1}};
  EXPECT_EQ(backward(root, {.memory = &memory, .wanted = std::span<const Block>(last)}).visited, 1u);
  EXPECT_EQ(early.gradCopy(), 0);
  EXPECT_EQ(backward(root, {.memory = &memory, .wanted = std::span<const Block>(first)}).visited, 101u);
}

TEST(GuidedSweep, KeepsEverythingWithProbabilityOne) {
  Graph g;
  const auto wanted = g.normal();
  bool stop = false;
  backward(g.root, {.memory = &g.memory, .stop = [&] { return stop; }, .keep = {.probability = 1}});
  EXPECT_EQ(g.leaves(), wanted);
}
/// The mean over many steps, with its standard error.
TEST(GuidedSweep, KeepingSomeEdgesIsRightOnAverage) {
  Graph g;
  const auto wanted = g.normal();
  constexpr int runs = 20000;
  std::vector<double> sum(wanted.size()), squares(wanted.size());
  std::size_t least = 1000;
  for (std::uint64_t step = 0; step < runs; ++step) {
    g.tape.zeroGrad();
    const auto result =
        backward(g.root, {.memory = &g.memory, .keep = {.probability = 0.7, .seed = 5, .step = step}});
    least = std::min(least, result.visited);
    const auto found = g.leaves();
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += found[i];
      squares[i] += found[i] * found[i];
    }
  }
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const double mean = sum[i] / runs, deviation = std::sqrt((squares[i] / runs - mean * mean) / runs);
    EXPECT_NEAR(mean, wanted[i], 5 * deviation) << i;
    EXPECT_GT(deviation, 0) << i;
  }
}
// E[estimate^2] = gradient^2 / q^n for a chain of n edges.
TEST(GuidedSweep, AChainHasTheVarianceOfItsEdges) {
  Tape<double> tape;
  CurrentTape here(tape);
  SweepMemory memory;
  V x(0.5), y = x;
  for (int i = 0; i < 4; ++i) y = y * 2.0;
  double squares = 0;
  constexpr int runs = 40000;
  for (std::uint64_t step = 0; step < runs; ++step) {
    tape.zeroGrad();
    backward(y, {.memory = &memory, .keep = {.probability = 0.8, .step = step}});
    EXPECT_TRUE(x.gradCopy() == 0 || std::abs(x.gradCopy() - 16 / std::pow(0.8, 4)) < 1e-12);
    squares += x.gradCopy() * x.gradCopy() / runs;
  }
  EXPECT_NEAR(squares / (256 / std::pow(0.8, 4)), 1, 0.03);
}
TEST(GuidedSweep, TheSameSeedAndStepKeepTheSameEdges) {
  Graph g;
  const auto run = [&](std::uint64_t seed, std::uint64_t first) {
    std::vector<std::vector<double>> all;
    for (std::uint64_t step = first; step < first + 20; ++step) {
      g.tape.zeroGrad();
      backward(g.root, {.memory = &g.memory, .keep = {.probability = 0.8, .seed = seed, .step = step}});
      all.push_back(g.leaves());
    }
    return all;
  };
  EXPECT_EQ(run(1, 0), run(1, 0));
  EXPECT_NE(run(1, 0), run(1, 20));
  EXPECT_NE(run(1, 0), run(3, 0));
}

TEST(GuidedSweep, TakesARootThatIsALeafOrNothing) {
  Graph g;
  const std::array set{g.blockOf(g.a)};
  EXPECT_TRUE(backward(g.a, {.memory = &g.memory, .seed = 3, .wanted = std::span<const Block>(set)}));
  EXPECT_EQ(g.a.gradCopy(), 3);
  EXPECT_TRUE(backward(g.b, {.memory = &g.memory, .wanted = std::span<const Block>(set)}));
  EXPECT_EQ(g.b.gradCopy(), 0);
  EXPECT_TRUE(backward(V(), {.memory = &g.memory, .wanted = std::span<const Block>(set)}));
}
TEST(GuidedSweep, ATokenThatThrowsIsLikeOneThatStops) {
  Graph g;
  const auto wanted = g.normal();
  const std::array set{g.blockOf(g.a)};
  for (const Wanted& some : {Wanted(), Wanted(std::span<const Block>(set))})
    for (int after = 0; after < 6; ++after) {
      g.w.gradients()[2] = 7;
      const auto before = g.leaves();
      int polls = 0;
      const auto stop = [&] { return polls++ == after ? throw std::runtime_error("enough") : false; };
      EXPECT_THROW(backward(g.root, {.memory = &g.memory, .stop = stop, .pollEvery = 1, .wanted = some}),
                   std::runtime_error);
      EXPECT_EQ(g.leaves(), before) << after;
      g.tape.zeroGrad();
      backward(g.root);
      EXPECT_EQ(g.leaves(), wanted) << after;
      g.tape.zeroGrad();
    }
}
TEST(GuidedSweep, CanBeStoppedWhereParametersAreNodes) {
  Graph g;
  g.tape.bind(g.w);
  EXPECT_FALSE(backward(g.root, {.memory = &g.memory, .stop = [] { return true; }, .pollEvery = 1}));
  EXPECT_EQ(g.leaves(), std::vector<double>(7));
}
TEST(GuidedSweep, SaysWhatItNeeds) {
  Graph g;
  const std::array set{g.blockOf(g.a)};
  EXPECT_EQ(sentenceOf([&] { backward(g.root, {.wanted = std::span<const Block>(set)}); }),
            "backward: knobs need memory; give a SweepMemory");
  EXPECT_EQ(sentenceOf([&] { backward(g.root, {.memory = &g.memory, .keep = {.probability = 0}}); }),
            "backward: expected a keep probability above 0 and at most 1, got 0");
  EXPECT_EQ(sentenceOf([&] {
              backward(g.root, {.memory = &g.memory, .onFinal = [](const FinalBlock<double>&) {}});
            }),
            "backward: onFinal reports blocks of parameters; bind the tape to a ParameterStore first");
}

}  // namespace
}  // namespace burtorch
