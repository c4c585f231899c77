// Blocks drawn with probabilities of their own: mean and variance over all draws, bits of what is drawn, what is not computed.
#include <burtorch/optimise/block_sampling.hpp>

#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <burtorch/oracle/function_sum.hpp>
#include <cmath>
#include <map>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace block_sampling_test {

const std::vector<Block> blocks{{0, 3, true}, {3, 1, true}, {4, 4, true}};
const std::vector<double> probabilities{0.25, 0.5, 0.8};

/// Parameters 0 to 2 lie deep, 4 to 7 next to the loss.
template <class X> X lossOf(double sample, std::span<const X> x) {
  X inner = x[0] * sample + x[1];
  for (int i = 0; i < 20; ++i) inner = sin(inner + x[2]);
  const X middle = tanh(inner * x[3]);
  return sqr(middle * x[4] + x[5] * sample + sqr(x[6]) - x[7]);
}
struct Problem {
  std::vector<double> samples{0.5, -1.25, 2.0};
  FunctionSum<double, double, Value<double> (*)(double, std::span<const Value<double>>)> f{
      samples, 8, &lossOf<Value<double>>};
  std::vector<double> x{0.3, -0.7, 0.2, 1.1, -0.4, 0.6, 0.9, -1.2}, whole = std::vector<double>(8);
  Problem() { f.gradient(x, AllSamples(3), whole); }
};

TEST(BlockSampling, OverAllDrawsMeanAndVarianceAreThoseOfTheFormula) {
  Problem p;
  BlockSampling sampling(blocks, probabilities, 3);
  std::map<std::array<bool, 3>, std::vector<double>> seen;
  for (std::uint64_t round = 0; seen.size() < 8 && round < 2000; ++round) {
    std::vector<double> g(8, -7);
    sampledGradient(p.f, p.x, AllSamples(3), sampling, round, std::span(g));
    seen[{g[0] != 0, g[3] != 0, g[4] != 0}] = g;
  }
  ASSERT_EQ(seen.size(), 8u);
  std::vector<double> mean(8);
  double variance = 0, formula = 0, square = 0;
  for (const auto& [isDrawn, g] : seen) {
    double weight = 1;
    for (std::size_t b = 0; b < 3; ++b) weight *= isDrawn[b] ? probabilities[b] : 1 - probabilities[b];
    for (std::size_t i = 0; i < 8; ++i) {
      const std::size_t b = i < 3 ? 0 : i < 4 ? 1 : 2;
      // Bits of the whole gradient, times 1 / q; everything else is zero.
      ASSERT_EQ(g[i], isDrawn[b] ? p.whole[i] * (1 / probabilities[b]) : 0) << i;
      mean[i] += weight * g[i];
      variance += weight * (g[i] - p.whole[i]) * (g[i] - p.whole[i]);
    }
  }
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(mean[i], p.whole[i], 1e-14) << i;
    formula += (1 / probabilities[i < 3 ? 0 : i < 4 ? 1 : 2] - 1) * p.whole[i] * p.whole[i];
    square += p.whole[i] * p.whole[i];
  }
  EXPECT_NEAR(variance, formula, 1e-13 * formula);
  EXPECT_LE(variance, sampling.omega() * square);
  EXPECT_EQ(sampling.omega(), 3);
}
TEST(BlockSampling, EachBlockIsDrawnAsOftenAsItSays) {
  BlockSampling sampling(blocks, probabilities, 5);
  constexpr int rounds = 20000;
  std::array<double, 3> counts{};
  double both = 0;
  for (std::uint64_t round = 0; round < rounds; ++round) {
    std::array<bool, 3> isDrawn{};
    for (const Block& block : sampling.draw(round).blocks())
      isDrawn[block.first == 0 ? 0 : block.first == 3 ? 1 : 2] = true;
    for (std::size_t b = 0; b < 3; ++b) counts[b] += isDrawn[b];
    both += isDrawn[0] && isDrawn[2];
  }
  // Five standard deviations of a binomial number; the seed is fixed.
  for (std::size_t b = 0; b < 3; ++b)
    EXPECT_NEAR(counts[b], probabilities[b] * rounds,
                5 * std::sqrt(rounds * probabilities[b] * (1 - probabilities[b])));
  EXPECT_NEAR(both, 0.2 * rounds, 5 * std::sqrt(rounds * 0.2 * 0.8));  // by themselves
}
TEST(BlockSampling, WhatIsNotDrawnIsNotComputed) {
  Problem p;
  std::vector<double> g(8);
  const auto visited = [&](const std::vector<double>& q) {
    BlockSampling sampling(blocks, q, 1);
    const auto before = p.f.counts().instructions;
    sampledGradient(p.f, p.x, AllSamples(3), sampling, 0, std::span(g));
    return p.f.counts().instructions - before;
  };
  const auto late = visited({1e-12, 1e-12, 1}), all = visited({1, 1, 1});
  EXPECT_LT(late, all / 3);
  EXPECT_GT(late, 0u);
}
TEST(BlockSampling, ProbabilitiesSpendTheBudget) {
  const std::vector<double> sizes{100, 10, 1000}, costs{800, 200, 50};
  for (const double share : {0.01, 0.2, 0.9, 1.0}) {
    const auto q = blockProbabilities(sizes, costs, share);
    double spent = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_GT(q[i], 0);
      EXPECT_LE(q[i], 1);
      spent += q[i] * costs[i];
    }
    EXPECT_NEAR(spent, share * 1050, 1e-9);
    // Where none is capped they are as sqrt(size / cost).
    if (q[2] < 1) {
      EXPECT_NEAR(q[0] / q[2], std::sqrt(100.0 / 800 / (1000.0 / 50)), 1e-12);
    }
  }
}
TEST(BlockSampling, SaysWhatIsWrong) {
  EXPECT_EQ(sentenceOf([] { BlockSampling(blocks, std::vector{0.5}, 0); }),
            "BlockSampling: expected a probability for each block, got 1 for 3");
  EXPECT_NE(sentenceOf([] { BlockSampling(blocks, std::vector{0.5, 0.0, 1.0}, 0); }), "");
  EXPECT_NE(sentenceOf([] { BlockSampling(blocks, std::vector<double>{0.5, NAN, 1.0}, 0); }), "");
  EXPECT_NE(sentenceOf([] { blockProbabilities(std::vector{1.0}, std::vector{0.0}, 0.5); }), "");
  EXPECT_NE(sentenceOf([] { blockProbabilities(std::vector{1.0}, std::vector{1.0}, 0.0); }), "");
}

}  // namespace block_sampling_test
}  // namespace burtorch
