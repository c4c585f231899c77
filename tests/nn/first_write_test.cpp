// Zero gradients are not written: a layer stores the gradient of a block that is noted as zero, whatever lies there.
#include <burtorch/nn/embedding.hpp>
#include <burtorch/nn/layer_norm.hpp>
#include <burtorch/nn/linear.hpp>
#include <burtorch/nn/token_linear.hpp>

#include <array>

#include "reference/layer_checks.hpp"

namespace burtorch {
namespace first_write_test {

using V = Value<double>;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

class FirstWriteTest : public testing::TestWithParam<std::size_t> {
 protected:
  FirstWriteTest() {
    tape.bind(parameters);
    Rng rng(7);
    for (double& value : tape.values()) randomise(rng, value);
    for (double& value : parameters.values()) randomise(rng, value);
  }

  /// NaN lies where gradients go that are noted as zero; or zeros are written there.
  std::vector<double> gradients(bool isNoted, const V& root) {
    tape.zeroGrad();
    for (double& g : parameters.gradients()) g = isNoted ? nan : 0;
    if (isNoted) zeroGrad(parameters);
    backward(root);
    return {parameters.gradients().begin(), parameters.gradients().end()};
  }
  bool isUnwritten(const Parameter& block) {
    return ((parameters.binding().unwritten[block.id / 64] >> (block.id % 64)) & 1) != 0;
  }

  const std::size_t columns = GetParam();
  Tape<double> tape;
  CurrentTape<double, defaultConfig> here{tape};
  const Matrix<double> x{tape.leaves(5 * columns), 5, columns};
  ParameterLayout layout;
  const Embedding table{layout, "table", 3, 5};
  const LayerNorm norm{layout, "norm", 5};
  const Linear linear{layout, "linear", 5, 5};
  ParameterStore<double> parameters{layout};
  const std::vector<TokenId> tokens =
      std::vector<NodeIndex>(columns, 1);  // one row of the table; the others get zeros
};

TEST_P(FirstWriteTest, EveryLayerStores) {
  const auto h = linear(table.lookup<double>(tokens, columns));
  const V root = reduceSumOfSquares((columns == 1 ? h : norm(h)).range());
  EXPECT_EQ(gradients(true, root), gradients(false, root));
}
TEST_P(FirstWriteTest, WhatWasStoredIsNotedAsWritten) {
  zeroGrad(parameters);
  backward(reduceSumOfSquares(linear(table.lookup<double>(tokens, columns)).range()));
  for (const Parameter& block : {table.table, linear.weight, linear.bias})
    EXPECT_FALSE(isUnwritten(block)) << layout.name(block);
  EXPECT_TRUE(isUnwritten(norm.gain));
}
TEST_P(FirstWriteTest, ABlockThatIsNotReachedIsZero) {
  table.lookup<double>(tokens, columns);
  gradients(true, reduceSumOfSquares(linear(x).range()));
  for (const double g : parameters.gradients(table.table)) EXPECT_EQ(g, 0);
  for (const double g : parameters.gradients(norm.gain)) EXPECT_EQ(g, 0);
}
TEST_P(FirstWriteTest, TheSecondUseAdds) {
  const V root = reduceSumOfSquares(linear(linear(x)).range());
  EXPECT_EQ(gradients(true, root), gradients(false, root));
}
TEST_P(FirstWriteTest, EveryInputOfALinearLayerStoresItsPart) {
  const std::array inputs{x.rowsFrom(0, 2), x.rowsFrom(2, 3)};
  const V root = reduceSumOfSquares(linear(std::span<const Matrix<double>>(inputs)).range());
  EXPECT_EQ(gradients(true, root), gradients(false, root));
}
TEST_P(FirstWriteTest, TheNextSweepAdds) {
  const V root = reduceSumOfSquares(linear(x).range());
  const auto once = gradients(true, root);
  backward(root);
  for (std::size_t i = 0; i < once.size(); ++i) EXPECT_DOUBLE_EQ(parameters.gradients()[i], 2 * once[i]) << i;
}
TEST_P(FirstWriteTest, InputsAlwaysAdd) {
  const V root = reduceSumOfSquares(linear(x).range());
  gradients(false, root);
  const std::vector<double> added(x.gradients().begin(), x.gradients().end());
  gradients(true, root);
  EXPECT_TRUE(std::equal(added.begin(), added.end(), x.gradients().begin()));
}
TEST_P(FirstWriteTest, ScratchStorageStoresToo) {
  const V root = reduceSumOfSquares(linear(x).range());
  const auto wanted = gradients(false, root);
  for (double& g : parameters.gradients()) g = nan;
  zeroGrad(parameters);
  std::vector<std::uint64_t> scratch(scratchWords(root));
  backwardWithScratchStorage(root, std::span(scratch));
  EXPECT_EQ(std::vector<double>(parameters.gradients().begin(), parameters.gradients().end()), wanted);
}

TEST(FirstWrite, BlocksBeyond64HaveTheirBitsInTheNextWord) {
  ParameterLayout layout;
  while (layout.blocks().size() < 69) layout.add("block", ParameterRole::weight, 5, 5);
  const Linear last(layout, "last", 5, 5, false);
  ParameterStore<double> parameters(layout, 1);
  for (double& g : parameters.gradients()) g = nan;
  zeroGrad(parameters);
  Tape<double> tape(parameters);
  const CurrentTape here(tape);
  backward(last(Matrix<double>(tape.leaves(5, 2.0), 5, 1))(0, 0));
  EXPECT_EQ(parameters.gradients(last.weight)[4], 2);
  for (std::size_t i = 0; i < last.weight.first; ++i) EXPECT_EQ(parameters.gradients()[i], 0) << i;
}

TEST(FirstWrite, TokenLinearStores) {
  ParameterLayout layout;
  const Embedding table(layout, "table", 3, 8);
  const Linear linear(layout, "linear", 8, 70);  // more than one block of outputs
  ParameterStore<double> parameters(layout, 7);
  Tape<double> tape(parameters);
  CurrentTape here(tape);
  const std::vector<TokenId> tokens{0, 1, 0, 1, 1, 0, 1, 1};
  const V root = reduceSumOfSquares(tokenLinear<double>(table, linear, tokens, 8).range());
  for (double& g : parameters.gradients()) g = 0;
  backward(root);
  const std::vector<double> added(parameters.gradients().begin(), parameters.gradients().end());
  for (double& g : parameters.gradients()) g = nan;
  zeroGrad(parameters);
  backward(root);
  EXPECT_TRUE(std::equal(added.begin(), added.end(), parameters.gradients().begin()));
}

// One column has kernels of its own.
INSTANTIATE_TEST_SUITE_P(Columns, FirstWriteTest, testing::Values(1, 8));

}  // namespace first_write_test
}  // namespace burtorch
