// backward with knobs through layers: wanted parameters, stopping with gradients already there, final blocks.
#include <burtorch/core/guided_sweep.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <burtorch/model/gpt.hpp>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace guided_layers_test {

struct Model {
  Gpt<double> gpt{{.vocabulary = 7, .context = 5, .width = 6, .layers = 2, .heads = 2, .finalNorm = true}};
  ParameterStore<double> parameters{gpt.layout(), 3};
  Tape<double> tape{parameters};
  CurrentTape<double, defaultConfig> here{tape};
  SweepMemory memory;
  std::vector<TokenId> tokens{1, 4, 2, 0, 6, 3, 3, 5, 1, 2}, targets{4, 2, 0, 6, 1, 3, 5, noToken, 2, 0};
  Value<double> loss = gpt.loss(tokens, targets);

  std::vector<double> gradients() { return {parameters.gradients().begin(), parameters.gradients().end()}; }
  std::vector<double> normal() {
    parameters.zeroGrad();
    backward(loss);
    auto all = gradients();
    parameters.zeroGrad();
    return all;
  }
};

TEST(GuidedLayers, GiveWantedBlocksTheirBitsAndTouchNoOthers) {
  Model m;
  const auto wanted = m.normal();
  std::size_t all = 0, before = 0;
  for (const Parameter& block : m.gpt.layout().blocks()) {
    for (double& g : m.parameters.gradients()) g = -7;
    std::ranges::fill(m.parameters.gradients(block), 0.0);
    const Block set[] = {block.block()};
    const auto result = backward(m.loss, {.memory = &m.memory, .wanted = std::span<const Block>(set)});
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_EQ(m.parameters.gradients()[i],
                i >= block.first && i < block.first + block.size() ? wanted[i] : -7)
          << m.gpt.layout().name(block) << " " << i;
    all = std::max(all, result.visited);
    before = result.visited;
  }
  EXPECT_EQ(before, 2u);  // the bias of the head: the loss and the head
  EXPECT_GT(all, 20u);
}
TEST(GuidedLayers, AnEmptySetVisitsNothing) {
  Model m;
  EXPECT_EQ(backward(m.loss, {.memory = &m.memory, .wanted = std::span<const Block>()}).visited, 0u);
  for (const double g : m.gradients()) EXPECT_EQ(g, 0);
}

TEST(GuidedLayers, StoppedAnywhereTheGradientsAreAsTheyWere) {
  Model m;
  const auto wanted = m.normal();
  for (const bool isWritten : {false, true})
    for (int after = 0;; ++after) {
      zeroGrad(m.parameters);
      if (isWritten)
        for (std::size_t i = 0; i < wanted.size(); ++i)
          m.parameters.gradients()[i] = 0.5 * static_cast<double>(i);
      int polls = 0;
      const auto result =
          backward(m.loss, {.memory = &m.memory, .stop = [&] { return polls++ == after; }, .pollEvery = 1});
      if (result) break;
      const auto found = m.gradients();
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_EQ(found[i], isWritten ? 0.5 * static_cast<double>(i) : 0) << after << " " << i;
      zeroGrad(m.parameters);
      backward(m.loss);
      ASSERT_EQ(m.gradients(), wanted) << "after stopping at " << after;
    }
}

TEST(GuidedLayers, ReportEveryBlockOnceWhenItIsFinal) {
  Model m;
  const auto wanted = m.normal();
  std::vector<NodeIndex> order;
  std::vector<double> emitted(wanted.size(), -1);
  backward(m.loss, {.memory = &m.memory, .onFinal = [&](const FinalBlock<double>& block) {
                      order.push_back(block.id);
                      std::ranges::copy(block.gradients, emitted.begin() + block.first);
                    }});
  EXPECT_EQ(emitted, wanted);
  EXPECT_EQ(m.gradients(), wanted);
  ASSERT_EQ(order.size(), m.gpt.layout().blocks().size());
  EXPECT_EQ(m.gpt.layout().name(m.gpt.layout().blocks()[order.front()]).substr(0, 4), "head");
  std::ranges::sort(order);
  for (NodeIndex id = 0; id < order.size(); ++id) EXPECT_EQ(order[id], id);
}
TEST(GuidedLayers, ReportUnusedBlocksFirstAndOnlyWantedOnes) {
  ParameterLayout layout;
  const Linear unused(layout, "unused", 3, 2), used(layout, "used", 3, 2),
      other(layout, "other", 2, 2, false);
  ParameterStore<double> parameters(layout, 1);
  Tape<double> tape(parameters);
  const CurrentTape here(tape);
  SweepMemory memory;
  const auto root = other(used(Matrix<double>(tape.leaves(3, 1.5), 3, 1)))(0, 0);
  std::vector<NodeIndex> order;
  const auto note = [&](const FinalBlock<double>& block) { order.push_back(block.id); };
  for (double& g : parameters.gradients()) g = 9;
  zeroGrad(parameters);
  backward(root, {.memory = &memory, .onFinal = note});
  EXPECT_EQ(order, (std::vector<NodeIndex>{0, 1, 4, 2, 3}));
  EXPECT_EQ(parameters.gradients()[0], 0);
  order.clear();
  const Block set[] = {used.bias.block(), unused.weight.block()};
  backward(root, {.memory = &memory, .wanted = std::span<const Block>(set), .onFinal = note});
  EXPECT_EQ(order, (std::vector<NodeIndex>{0, 3}));
  // Nothing that the root depends on is wanted, and a root that depends on nothing.
  order.clear();
  backward(root, {.memory = &memory, .wanted = std::span<const Block>(set).last(1), .onFinal = note});
  backward(Value<double>(), {.memory = &memory, .wanted = std::span<const Block>(set), .onFinal = note});
  EXPECT_EQ(order, (std::vector<NodeIndex>{0, 0, 3}));
}
TEST(GuidedLayers, ACallbackThatThrowsLeavesTheTapeUsable) {
  Model m;
  const auto wanted = m.normal();
  int calls = 0;
  EXPECT_THROW(backward(m.loss, {.memory = &m.memory,
                                 .onFinal =
                                     [&](const FinalBlock<double>&) {
                                       if (++calls == 5) throw std::runtime_error("enough");
                                     }}),
               std::runtime_error);
  zeroGrad(m.parameters);
  backward(m.loss);
  EXPECT_EQ(m.gradients(), wanted);
}

TEST(GuidedLayers, KeepingSomeResultsIsRightOnAverage) {
  Model m;
  const auto wanted = m.normal();
  constexpr int runs = 3000;
  std::vector<double> sum(wanted.size()), squares(wanted.size());
  for (std::uint64_t step = 0; step < runs; ++step) {
    zeroGrad(m.parameters);
    backward(m.loss, {.memory = &m.memory, .keep = {.probability = 0.9, .seed = 1, .step = step}});
    const auto found = m.gradients();
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += found[i];
      squares[i] += found[i] * found[i];
    }
  }
  std::size_t far = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const double mean = sum[i] / runs, error = std::sqrt((squares[i] / runs - mean * mean) / runs);
    far += std::abs(mean - wanted[i]) > 4 * error + 1e-15 ? 1 : 0;
  }
  EXPECT_LE(far, sum.size() / 500);  // 4 standard errors: one in 16,000, if they were normal
}

}  // namespace guided_layers_test
}  // namespace burtorch
