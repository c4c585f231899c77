// RandK that knows the structure of f: whole blocks of parameters are drawn, block B with a probability q_B of its own, and what is
// drawn is divided by q_B. So the gradient stays unbiased, and the sweep computes the drawn blocks only. Blocks that lie near
// the loss cost little; they can be drawn more often (blockProbabilities).
//
//   E C(x) = x, E|C(x) - x|^2 = sum (1 / q_B - 1) |x_B|^2 <= omega |x|^2, omega = max 1 / q_B - 1
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "../base/rng.hpp"
#include "../oracle/finite_sum.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Blocks of parameters, each with the probability to be drawn. A draw is a function of seed and round alone.
class BlockSampling {
 public:
  BlockSampling(std::span<const Block> blocks, std::span<const double> probabilities, std::uint64_t seed)
      : blocks_(blocks.begin(), blocks.end()),
        probabilities_(probabilities.begin(), probabilities.end()),
        seed_(seed) {
    if (blocks.empty() || blocks.size() != probabilities.size())
      fail("BlockSampling: expected a probability for each block, got %zu for %zu", probabilities.size(),
           blocks.size());
    for (const double q : probabilities_)
      if (!(q > 0 && q <= 1))
        fail(
            "BlockSampling: expected probabilities above 0 and up to 1, got %g; a block that is never drawn "
            "would never be learnt",
            q);
  }

  /// The blocks of a round, each drawn by itself; they stay until the next draw.
  Wanted draw(std::uint64_t round) {
    drawn_.clear();
    scales_.clear();
    Rng rng(seed_, round);
    for (std::size_t i = 0; i < blocks_.size(); ++i)
      if (rng.uniform<double>() < probabilities_[i]) {
        drawn_.push_back(blocks_[i]);
        scales_.push_back(1 / probabilities_[i]);
      }
    return std::span<const Block>(drawn_);
  }
  /// Divides what was drawn by its probability; the rest of `gradient` must be zero.
  template <class T> void scale(std::span<T> gradient) const {
    for (std::size_t i = 0; i < drawn_.size(); ++i)
      for (T& number : gradient.subspan(drawn_[i].first, drawn_[i].count))
        number = number * static_cast<T>(scales_[i]);
  }
  double omega() const { return 1 / *std::min_element(probabilities_.begin(), probabilities_.end()) - 1; }

 private:
  std::vector<Block> blocks_, drawn_;
  std::vector<double> probabilities_, scales_;
  std::uint64_t seed_;
};

/// Writes an unbiased estimate of the gradient of a batch, of which the blocks of a round alone are computed: the others are
/// zero. Returns the value.
template <GuidedSum F>
double sampledGradient(F& f, std::span<const typename F::Scalar> x, Batch batch, BlockSampling& blocks,
                       std::uint64_t round, std::span<typename F::Scalar> into) {
  GradientOptions<typename F::Scalar> options;
  options.wanted = blocks.draw(round);
  std::fill(into.begin(), into.end(), typename F::Scalar{0});
  const GradientResult result = f.gradient(x, batch, into, options);
  blocks.scale(into);
  return result.value;
}

/// Probabilities of blocks of so many numbers that cost so much (SweepCost): q_B = min {1, c sqrt(size_B / cost_B)}, which is best
/// if gradients are about equally large everywhere, where c makes sum q_B cost_B the `share` of all costs.
inline std::vector<double> blockProbabilities(std::span<const double> sizes, std::span<const double> costs,
                                              double share) {
  if (sizes.size() != costs.size() || sizes.empty())
    fail("blockProbabilities: expected a cost for each block, got %zu for %zu", costs.size(), sizes.size());
  if (!(share > 0 && share <= 1))
    fail("blockProbabilities: expected a share above 0 and up to 1, got %g", share);
  double budget = 0, low = 0, high = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!(sizes[i] > 0 && costs[i] > 0 && std::isfinite(sizes[i] / costs[i])))
      fail("blockProbabilities: expected sizes and costs above 0, got %g and %g", sizes[i], costs[i]);
    budget += share * costs[i];
    high = std::max(high, std::sqrt(costs[i] / sizes[i]));  // everything is drawn
  }
  const auto probability = [&](std::size_t i, double c) {
    return std::min(1.0, c * std::sqrt(sizes[i] / costs[i]));
  };
  for (int halving = 0; halving < 100; ++halving) {
    const double middle = (low + high) / 2;
    double spent = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) spent += costs[i] * probability(i, middle);
    (spent < budget ? low : high) = middle;
  }
  std::vector<double> result;
  for (std::size_t i = 0; i < sizes.size(); ++i) result.push_back(probability(i, high));
  return result;
}

}  // namespace burtorch::inline BURTORCH_TARGET
