// backward with knobs on graphs of scalars and lists: stopping, wanted leaves, kept edges. tests/nn/guided_layers_test.cpp
// has layers and final blocks.
#include <burtorch/core/guided_sweep.hpp>

#include <gtest/gtest.h>

#include <array>
#include <burtorch/base/rng.hpp>
#include <burtorch/core/reduce.hpp>
#include <burtorch/ops/dual.hpp>
#include <cmath>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace guided_sweep_test {

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
      // As many as there are instructions behind the leading leaves, less one; and before that the twelve above the dead pole,
      // where the sweep begins again.
      EXPECT_EQ(after, 13 + 12);
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
// What meets 0 * inf begins again with marks: the first walk passed NaN on to nobody, and the second one is polled as well.
TEST(GuidedSweep, APolledSweepGoesAroundAPole) {
  Tape<double> tape;
  CurrentTape here(tape);
  SweepMemory memory;
  V x(4.0), dead = sqrt(x * 0.0), y = x;
  for (int i = 0; i < 100; ++i) y = y + x;
  std::size_t polls = 0;
  const auto result =
      backward(y, {.memory = &memory, .stop = [&] { return ++polls, false; }, .pollEvery = 10});
  EXPECT_TRUE(result);
  EXPECT_EQ(x.gradCopy(), 101);
  EXPECT_EQ(dead.gradCopy(), 0);
  EXPECT_EQ(polls, 10u + 10u);  // of 101 and of 102 instructions
  EXPECT_EQ(result.visited, 100u);
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
// Nothing before the first wanted leaf is marked; lists reach there in either direction, and memory holds old marks.
TEST(GuidedSweep, ReadsListsThatBeginBeforeTheFirstWanted) {
  Tape<double> tape;
  CurrentTape here(tape);
  SweepMemory memory;
  std::vector<V> x;
  for (int i = 0; i < 9; ++i) x.emplace_back(0.5 + i);
  const Range<double> all(x[0].handle(), x.size());
  const V root = reduceSumOfSquares(all.every(0, 5, 2)) * reduceSumOfSquares(all.every(8, 4, -2)) +
                 reduceSumOfSquares(all) * reduceSumOfSquares(all.every(0, 3, 1)) + x[0] * x[1];
  backward(root);
  const std::vector<double> right(tape.gradients().begin(), tape.gradients().end());
  for (std::size_t first = 0; first < x.size(); ++first)
    for (std::size_t count = 1; first + count <= x.size(); ++count) {
      for (V& leaf : x) leaf.setGrad(0);
      const std::array set{Block{x[first].sysGetRawNodeIndex(), static_cast<NodeIndex>(count)}};
      std::ranges::fill(std::span(memory.bytes(2048), 2048), std::byte{1});
      EXPECT_TRUE(backward(root, {.memory = &memory, .wanted = std::span<const Block>(set)}));
      for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_EQ(x[i].gradCopy(), i >= first && i < first + count ? right[i] : 0) << first << " " << count;
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

constexpr std::array allKeptParts{KeptParts::edges, KeptParts::nodes, KeptParts::terms};

TEST(GuidedSweep, KeepsEverythingWithProbabilityOne) {
  Graph g;
  const auto wanted = g.normal();
  for (const KeptParts what : allKeptParts) {
    g.tape.zeroGrad();
    const auto never = [] { return false; };
    backward(g.root, {.memory = &g.memory, .stop = never, .keep = {.probability = 1, .what = what}});
    EXPECT_EQ(g.leaves(), wanted);
  }
}

/// Every mask of a randomised sweep, with what the sweep gives for it. A mask follows from seed, step and node alone, so it is
/// drawn here again: `partsOf` has as many entries for a node as its instruction has parts. Steps of one mask must agree.
using Masks = std::map<std::vector<bool>, std::vector<double>>;
template <class Leaves>
Masks allMasks(const V& root, const KeepEdges& keep, const std::vector<NodeIndex>& partsOf, Leaves leaves) {
  Masks masks;
  SweepMemory memory;
  for (std::uint64_t step = 0; masks.size() < std::size_t{1} << partsOf.size() && step < 100'000; ++step) {
    std::vector<bool> mask;
    Rng rng;
    for (std::size_t i = 0; i < partsOf.size(); ++i) {
      if (i == 0 || partsOf[i] != partsOf[i - 1]) rng = Rng(Rng(keep.seed, step).next(), partsOf[i]);
      mask.push_back(rng.uniform<double>() < keep.probability);
    }
    currentTape<double>().zeroGrad();
    KeepEdges own = keep;
    own.step = step;
    backward(root, {.memory = &memory, .keep = own});
    const auto place = masks.try_emplace(mask, leaves()).first;
    EXPECT_EQ(place->second, leaves()) << "step " << step;
  }
  EXPECT_EQ(masks.size(), std::size_t{1} << partsOf.size());
  return masks;
}
/// The exact expectation of power `power` of the estimates.
std::vector<double> expectation(const Masks& masks, double probability, int power = 1) {
  std::vector<double> sum(masks.begin()->second.size());
  for (const auto& [mask, estimate] : masks) {
    double weight = 1;
    for (const bool isKept : mask) weight *= isKept ? probability : 1 - probability;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * std::pow(estimate[i], power);
  }
  return sum;
}

/// x and y meet several times; a relu, which is never left out, and a list.
struct Meeting {
  Tape<double> tape;
  CurrentTape<double, defaultConfig> here{tape};
  V x{0.8}, y{-1.3};
  V a = x * y, b = sin(a), c = a - b, d = relu(c + 2.0), e = reduceMean(std::vector{d, a, x}), root = e * x;

  std::vector<double> leaves() const { return {x.gradCopy(), y.gradCopy()}; }
  std::vector<double> gradient() {
    backward(root);
    return leaves();
  }
};
TEST(GuidedSweep, OverAllMasksOfEdgesTheMeanIsTheGradient) {
  Meeting m;
  const auto wanted = m.gradient();
  const auto at = [](const V& v) { return v.sysGetRawNodeIndex(); };
  const std::vector<NodeIndex> edges{at(m.a),     at(m.a), at(m.b),    at(m.c),   at(m.c),
                                     at(m.d) - 1, at(m.e), at(m.root), at(m.root)};
  for (const double q : {0.5, 0.6}) {
    const auto masks = allMasks(m.root, {.probability = q, .seed = 3}, edges, [&] { return m.leaves(); });
    const auto mean = expectation(masks, q);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(mean[i], wanted[i], 1e-12);
  }
}
TEST(GuidedSweep, KeepsTheSameEdgesForWantedLeavesAndTouchesNoOthers) {
  Meeting m;
  SweepMemory memory;
  const std::array set{Block{m.y.sysGetRawNodeIndex(), 1}};
  for (const KeptParts what : allKeptParts)
    for (std::uint64_t step = 0; step < 100; ++step) {
      const KeepEdges keep{.probability = 0.7, .step = step, .what = what};
      m.tape.zeroGrad();
      const auto all = backward(m.root, {.memory = &memory, .keep = keep});
      const double wanted = m.y.gradCopy();
      m.tape.zeroGrad();
      m.x.setGrad(-7);
      const auto some =
          backward(m.root, {.memory = &memory, .wanted = std::span<const Block>(set), .keep = keep});
      EXPECT_EQ(m.leaves(), (std::vector<double>{-7, wanted})) << step;
      EXPECT_LE(some.visited, all.visited);
    }
}
TEST(GuidedSweep, OverAllMasksOfNodesTheMeanIsTheGradient) {
  Meeting m;
  const auto wanted = m.gradient();
  const auto at = [](const V& v) { return v.sysGetRawNodeIndex(); };
  const std::vector<NodeIndex> nodes{at(m.a), at(m.b), at(m.c), at(m.d) - 1, at(m.e), at(m.root)};
  for (const double q : {0.5, 0.7}) {
    const auto masks = allMasks(m.root, {.probability = q, .seed = 3, .what = KeptParts::nodes}, nodes,
                                [&] { return m.leaves(); });
    const auto mean = expectation(masks, q);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(mean[i], wanted[i], 1e-12);
  }
}
// k of n terms, every set equally likely: the estimates of all sets have the gradient as their mean. Sets and order follow from
// the seed, so every set has been met after a few hundred steps.
TEST(GuidedSweep, OverAllSetsOfTermsTheMeanIsTheGradient) {
  Tape<double> tape;
  const CurrentTape here(tape);
  SweepMemory memory;
  const Range<double> w = tape.leaves(std::array{0.5, -1.5, 2.0, 0.25, 3.0}),
                      u = tape.leaves(std::array{1.0, 0.75, -2.0, 5.0, 7.0});
  const V bias(0.3);
  const std::vector<double> data{2, -3, 5, 7, 11};
  const std::vector<V> scattered{u[4], u[2], w[0], u[1], u[0]};
  const auto leaves = [&] {
    std::vector<double> all(w.gradients().begin(), w.gradients().end());
    all.insert(all.end(), u.gradients().begin(), u.gradients().end());
    all.push_back(bias.gradCopy());
    return all;
  };
  const V roots[] = {innerProduct(w, u), innerProductWithBias(w, scattered, bias), innerProduct(w, data),
                     innerProductWithBias(w, data, bias)};
  for (const V& root : roots)
    for (const auto& [share, sets] : {std::pair{0.4, 10u}, std::pair{0.01, 5u}, std::pair{0.8, 5u}}) {
      tape.zeroGrad();
      backward(root);
      const auto wanted = leaves();
      std::map<std::vector<double>, int> times;
      for (std::uint64_t step = 0; step < 2000; ++step) {
        tape.zeroGrad();
        const KeepEdges keep{.probability = share, .seed = 8, .step = step, .what = KeptParts::terms};
        backward(root, {.memory = &memory, .keep = keep});
        ++times[leaves()];
      }
      ASSERT_EQ(times.size(), sets) << share;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        double mean = 0;
        for (const auto& [estimate, count] : times) mean += estimate[i] / sets;
        EXPECT_NEAR(mean, wanted[i], 1e-14 * (1 + std::abs(wanted[i]))) << share << " " << i;
      }
      // Pearson's statistic with 9 (4) degrees of freedom: above 33.7 (23.5) with probability 1e-4. The seed is fixed.
      double statistic = 0;
      for (const auto& [estimate, count] : times)
        statistic += std::pow(count - 2000.0 / sets, 2) * sets / 2000;
      EXPECT_LT(statistic, sets == 10 ? 33.7 : 23.5) << share;
    }
}
// E[estimate^2] = gradient^2 / q^n for a chain of n edges, over all masks.
TEST(GuidedSweep, AChainHasTheVarianceOfItsEdges) {
  Tape<double> tape;
  CurrentTape here(tape);
  V x(0.5), y = x;
  std::vector<NodeIndex> chain;
  for (int i = 0; i < 4; ++i) {
    y = y * 2.0;
    chain.push_back(y.sysGetRawNodeIndex());
  }
  for (const KeptParts what : {KeptParts::edges, KeptParts::nodes}) {
    const auto masks =
        allMasks(y, {.probability = 0.8, .what = what}, chain, [&] { return std::vector{x.gradCopy()}; });
    EXPECT_NEAR(expectation(masks, 0.8)[0], 16, 1e-12);
    EXPECT_NEAR(expectation(masks, 0.8, 2)[0], 256 / std::pow(0.8, 4), 1e-10);
  }
}
// What only dropped edges lead to is not visited: of a chain of n with a share of q the mean is 1 + q + ... + q^(n - 1).
TEST(GuidedSweep, VisitsLessWhereLessIsKept) {
  Tape<double> tape;
  CurrentTape here(tape);
  SweepMemory memory;
  V x(0.5), y = x;
  for (int i = 0; i < 50; ++i) y = sin(y);
  for (const KeptParts what : {KeptParts::edges, KeptParts::nodes}) {
    double visited = 0;
    for (std::uint64_t step = 0; step < 2000; ++step) {
      const KeepEdges keep{.probability = 0.75, .step = step, .what = what};
      visited += static_cast<double>(backward(y, {.memory = &memory, .keep = keep}).visited) / 2000;
    }
    EXPECT_NEAR(visited, 4, 6 * std::sqrt(12.0 / 2000));  // a geometric number: variance q / (1 - q)^2
  }
  const Range<double> w = tape.leaves(8);
  std::vector<V> terms;
  for (std::size_t i = 0; i < 8; ++i) terms.push_back(sin(w[i]));
  const V sum = innerProduct(terms, std::vector<double>(8, 1.0));
  const KeepEdges keep{.probability = 0.25, .what = KeptParts::terms};
  EXPECT_EQ(backward(sum, {.memory = &memory, .keep = keep}).visited, 1u + 2);
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

}  // namespace guided_sweep_test
}  // namespace burtorch
