// Fresh gradients: a layer stores the gradient of a block whose bit is set, whatever was there, and clears the bit.
#include <burtorch/nn/embedding.hpp>
#include <burtorch/nn/layer_norm.hpp>
#include <burtorch/nn/linear.hpp>
#include <burtorch/nn/token_linear.hpp>

#include <array>

#include "reference/layer_checks.hpp"

namespace burtorch {
namespace {

using V = Value<double>;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t all = ~std::uint64_t{0};

/// Inputs are leaves below the parameters; layers alone use the parameters.
class FreshTest : public testing::TestWithParam<std::size_t> {
 protected:
  FreshTest() {
    Rng rng(7);
    for (double& value : tape.values()) randomise(rng, value);
  }

  /// Bits for all blocks are set and NaN lies where their gradients go; or there are no bits, and zeros.
  std::vector<double> gradients(bool isFresh, const V& root) {
    bits.fill(isFresh ? all : 0);
    tape.zeroGrad();
    for (double& g : parameters.gradients()) g = isFresh ? nan : 0;
    tape.setFresh(isFresh ? bits.data() : nullptr);
    backward(root);
    tape.setFresh(nullptr);
    return {parameters.gradients().begin(), parameters.gradients().end()};
  }
  bool isSet(const Parameter& block) const { return ((bits[block.id / 64] >> (block.id % 64)) & 1) != 0; }
  std::vector<double> partOf(const std::vector<double>& numbers, const Parameter& block) const {
    const auto from = numbers.begin() + (block.first - parameters.blocks()[0].first);
    return {from, from + static_cast<std::ptrdiff_t>(block.size())};
  }

  const std::size_t columns = GetParam();
  Tape<double> tape;
  CurrentTape<double, defaultConfig> here{tape};
  const Matrix<double> x{tape.leaves(5 * columns), 5, columns};
  Parameters<double> parameters{tape};
  const Embedding table{parameters, "table", 3, 5};
  const LayerNorm norm{parameters, "norm", 5};
  const Linear linear{parameters, "linear", 5, 5};
  std::array<std::uint64_t, 2> bits{};
  const std::vector<Index> tokens =
      std::vector<Index>(columns, 1);  // one row of the table; the others get zeros
};

TEST_P(FreshTest, EveryLayerStores) {
  const auto h = linear(table.columns<double>(tokens, columns));
  // A layer norm takes whole vectors of columns.
  const V root = reduceSumOfSquares((columns == 1 ? h : norm(h)).range());
  const auto stored = gradients(true, root), added = gradients(false, root);
  for (const Parameter& block : parameters.blocks())
    if (columns > 1 || (block.id != norm.gain.id && block.id != norm.bias.id)) {
      EXPECT_EQ(partOf(stored, block), partOf(added, block)) << parameters.name(block);
    }
}

TEST_P(FreshTest, TheBitIsCleared) {
  gradients(true, reduceSumOfSquares(linear(table.columns<double>(tokens, columns)).range()));
  for (const Parameter& block : {table.table, linear.weight, linear.bias})
    EXPECT_FALSE(isSet(block)) << parameters.name(block);
}

TEST_P(FreshTest, ABlockThatIsNotReachedKeepsItsBitAndWhatItHeld) {
  table.columns<double>(tokens, columns);
  const auto stored = gradients(true, reduceSumOfSquares(linear(x).range()));
  EXPECT_TRUE(isSet(table.table) && isSet(norm.gain) && isSet(norm.bias));
  for (const double g : partOf(stored, table.table)) EXPECT_TRUE(std::isnan(g));
  for (const double g : partOf(stored, norm.gain)) EXPECT_TRUE(std::isnan(g));
}

TEST_P(FreshTest, TheSecondUseAdds) {
  const auto h = linear(linear(x));
  const V root = reduceSumOfSquares(h.range());
  const auto stored = gradients(true, root), added = gradients(false, root);
  EXPECT_EQ(partOf(stored, linear.weight), partOf(added, linear.weight));
  EXPECT_EQ(partOf(stored, linear.bias), partOf(added, linear.bias));
}

TEST_P(FreshTest, EveryInputOfALinearLayerStoresItsPart) {
  const std::array inputs{x.rowsFrom(0, 2), x.rowsFrom(2, 3)};
  const V root = reduceSumOfSquares(linear(std::span<const Matrix<double>>(inputs)).range());
  const auto stored = gradients(true, root), added = gradients(false, root);
  EXPECT_EQ(partOf(stored, linear.weight), partOf(added, linear.weight));
}

TEST_P(FreshTest, TheNextSweepAdds) {
  const V root = reduceSumOfSquares(linear(x).range());
  const auto once = gradients(true, root);
  tape.setFresh(bits.data());
  backward(root);
  for (std::size_t i = 0; i < linear.weight.size(); ++i)
    EXPECT_DOUBLE_EQ(parameters.gradients(linear.weight)[i], 2 * partOf(once, linear.weight)[i]) << i;
}

TEST_P(FreshTest, WithoutBitsEverythingAdds) {
  const V root = reduceSumOfSquares(linear(x).range());
  const auto once = gradients(false, root);
  backward(root);
  for (std::size_t i = 0; i < linear.weight.size(); ++i)
    EXPECT_DOUBLE_EQ(parameters.gradients(linear.weight)[i], 2 * partOf(once, linear.weight)[i]) << i;
}

TEST_P(FreshTest, InputsAlwaysAdd) {
  const V root = reduceSumOfSquares(linear(x).range());
  gradients(false, root);
  const std::vector<double> added(x.gradients().begin(), x.gradients().end());
  gradients(true, root);
  EXPECT_TRUE(std::equal(added.begin(), added.end(), x.gradients().begin()));
}

TEST_P(FreshTest, ABlockWithoutANumberOfItsOwnAdds) {
  Parameter weight = linear.weight;
  weight.id = Parameter{}.id;
  const auto stored = gradients(true, reduceSumOfSquares(Linear(weight)(x).range()));
  for (const double g : partOf(stored, weight)) EXPECT_TRUE(std::isnan(g));
  EXPECT_EQ(bits[0], all);
}

TEST_P(FreshTest, BlocksBeyond64HaveTheirBitsInTheNextWord) {
  while (parameters.blocks().size() < 70) parameters.add("block", ParameterRole::weight, 5, 5);
  const Parameter weight = parameters.blocks()[69];
  for (double& value : parameters.values(weight)) value = 0.5;
  const V root = reduceSumOfSquares(Linear(weight)(x).range());
  const auto added = partOf(gradients(false, root), weight);
  const auto withBits = [&](std::uint64_t first, std::uint64_t second) {
    bits = {first, second};
    for (double& g : parameters.gradients(weight)) g = nan;
    tape.setFresh(bits.data());
    backward(root);
    return std::vector<double>(parameters.gradients(weight).begin(), parameters.gradients(weight).end());
  };
  const std::uint64_t bit = std::uint64_t{1} << 5;
  EXPECT_EQ(withBits(0, bit), added);
  EXPECT_EQ(bits[1], 0u);
  EXPECT_TRUE(std::isnan(withBits(all, ~bit)[0]));
  EXPECT_EQ(bits[0], all);
}

TEST_P(FreshTest, ScratchStorageStoresToo) {
  const V root = reduceSumOfSquares(linear(x).range());
  const auto wanted = gradients(false, root);
  bits.fill(all);
  for (double& g : parameters.gradients()) g = nan;
  tape.setFresh(bits.data());
  std::vector<std::uint64_t> scratch(scratchWords(root));
  backwardWithScratchStorage(root, std::span(scratch));
  const std::vector<double> stored(parameters.gradients().begin(), parameters.gradients().end());
  EXPECT_EQ(partOf(stored, linear.weight), partOf(wanted, linear.weight));
  EXPECT_FALSE(isSet(linear.weight));
}

TEST(Fresh, TokenLinearStores) {
  Tape<double> tape;
  CurrentTape here(tape);
  Parameters<double> parameters(tape);
  const Embedding table(parameters, "table", 3, 8);
  const Linear linear(parameters, "linear", 8, 70);  // more than one block of outputs
  Rng rng(7);
  for (double& value : parameters.values()) randomise(rng, value);
  const std::vector<Index> tokens{0, 1, 0, 1, 1, 0, 1, 1};
  const V root = reduceSumOfSquares(tokenLinear<double>(table, linear, tokens, 8).range());
  backward(root);
  const std::vector<double> added(parameters.gradients().begin(), parameters.gradients().end());
  std::uint64_t bits = all;
  for (double& g : parameters.gradients()) g = nan;
  tape.setFresh(&bits);
  backward(root);
  EXPECT_TRUE(std::equal(added.begin(), added.end(), parameters.gradients().begin()));
  EXPECT_EQ(bits, all & ~std::uint64_t{7});
}

// One column has kernels of its own.
INSTANTIATE_TEST_SUITE_P(Columns, FreshTest, testing::Values(1, 8));

}  // namespace
}  // namespace burtorch
