// Layers on the tape keep its promises: with scalar nodes in one graph, with repeated and partial sweeps, with poles that
// nobody reaches.
#include <burtorch/nn/attention.hpp>
#include <burtorch/nn/cross_entropy.hpp>
#include <burtorch/nn/elementwise.hpp>
#include <burtorch/nn/layer_norm.hpp>
#include <burtorch/nn/linear.hpp>

#include <array>
#include <burtorch/viz/describe.hpp>
#include <cstring>
#include <string>

#include "reference/layer_checks.hpp"

namespace burtorch {
namespace layers_test {

using V = Value<double>;
constexpr std::size_t columns = 8;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A small network of every layer with four rows and eight columns.
class LayersTest : public testing::Test {
 protected:
  LayersTest() { checks.fill(); }

  Matrix<double> hidden() const {
    return norm(attention(embedding.lookup<double>(tokens, columns), x, x, 2, 8));
  }
  V loss() const { return meanCrossEntropy(x + relu(linear(hidden())), tokens); }
  /// Of inputs and parameters.
  std::vector<double> leafGradients() { return checks.gradients(); }

  LayerChecks<double> checks;
  Tape<double>& tape = checks.tape;
  const Embedding embedding{checks.layout, "wte", 4, 4};
  const LayerNorm norm{checks.layout, "ln", 4};
  const Linear linear{checks.block(4, 4), checks.block(4)};
  const Matrix<double> x = checks.matrix(4, columns);
  const std::array<TokenId, columns> tokens{0, 3, 1, 2, 2, 0, 3, 1};
};

TEST_F(LayersTest, ScalarNodesReadElementsOfALayer) {
  const std::span<const Matrix<double>> inputs(&x, 1);
  checks.expectSame(
      [&] {
        const auto h = linear(x);
        return std::vector<V>{tanh(h(3, 2)) * h(1, 0), reduceSumOfSquares(h.row(2))};
      },
      [&] {
        const auto h = twin::linear(linear.weight, linear.bias, inputs);
        const std::span<const V> all(h);
        return std::vector<V>{tanh(h[3 * columns + 2]) * h[columns],
                              reduceSumOfSquares(all.subspan(2 * columns, columns))};
      },
      "scalars of a layer");
}

TEST_F(LayersTest, ALayerReadsScalarNodes) {
  const auto scalars = [&] {
    const V first = tanh(x(0, 0));
    for (std::size_t i = 1; i < x.size(); ++i) x.range()[i] * 2.0;
    return Matrix<double>(first.handle(), 4, columns);
  };
  checks.expectSame([&] { return twin::elementsOf(linear(scalars())); },
                    [&] {
                      const auto y = scalars();
                      return twin::linear(linear.weight, linear.bias, std::span<const Matrix<double>>(&y, 1));
                    },
                    "a layer of scalars");
}

TEST_F(LayersTest, AGraphOfAllLayersHasItsSlopes) {
  checks.expectSlopes([&] { return std::vector<V>{loss()}; }, 3);
}

TEST_F(LayersTest, RepeatedSweepsAccumulateAtLeavesAndRepeatAtInnerNodes) {
  const auto h = hidden();
  const V root = meanCrossEntropy(linear(h), tokens);
  backward(root);
  auto wanted = leafGradients();
  for (double& g : wanted) g *= 2;
  const std::vector<double> inner(h.gradients().begin(), h.gradients().end());
  backward(root);
  EXPECT_LE(worstError<double>(leafGradients(), wanted), checks.tolerance);
  EXPECT_TRUE(std::equal(inner.begin(), inner.end(), h.gradients().begin()));
}

TEST_F(LayersTest, TwoRootsShareALayer) {
  const auto h = hidden();
  const V first = h(0, 3) * h(1, 1), second = meanCrossEntropy(linear(h), tokens);
  const std::array roots{first, second};
  const std::array seeds{0.3, -1.7};
  backward(std::span<const V>(roots), std::span<const double>(seeds));
  const auto together = leafGradients();
  checks.zeroGrad();
  backward(second, -1.7);
  backward(first, 0.3);
  const auto apart = leafGradients();
  EXPECT_LE(worstError<double>(apart, together), checks.tolerance);
}

TEST_F(LayersTest, ARootInTheMiddleOfALayerLeavesLaterLayersAlone) {
  const auto h = hidden();
  const V root = h(2, 3);
  const auto later = linear(h);
  backward(root);
  EXPECT_EQ(root.gradCopy(), 1);
  for (const double g : later.gradients()) EXPECT_EQ(g, 0);
  for (const double g : checks.parameters().gradients(linear.weight)) EXPECT_EQ(g, 0);
}

TEST_F(LayersTest, ScratchStorageGivesTheSameBits) {
  linear(x);  // dead
  const V root = loss();
  backward(root);
  const std::vector<double> plain(tape.gradients().begin(), tape.gradients().end());
  checks.zeroGrad();
  std::vector<std::uint64_t> scratch(scratchWords(root), ~std::uint64_t{0});
  backwardWithScratchStorage(root, std::span(scratch));
  EXPECT_TRUE(std::equal(plain.begin(), plain.end(), tape.gradients().begin()));
}

TEST_F(LayersTest, RewoundAndRecordedAgainItHasTheSameBits) {
  std::vector<double> values[2], gradients[2];
  for (int run = 0; run < 2; ++run) {
    const SampleScope sample(tape);
    checks.zeroGrad();
    const V root = loss();
    backward(root);
    values[run].assign(tape.values().begin(), tape.values().end());
    gradients[run].assign(tape.gradients().begin(), tape.gradients().end());
  }
  ASSERT_EQ(values[0].size(), values[1].size());
  EXPECT_EQ(std::memcmp(values[0].data(), values[1].data(), values[0].size() * sizeof(double)), 0);
  EXPECT_EQ(gradients[0], gradients[1]);
}

TEST_F(LayersTest, ADeadLayerChangesNothing) {
  backward(loss());
  const auto alone = leafGradients();
  checks.zeroGrad();
  linear(x);
  const V root = loss();
  attention(x, x, x, 1, 8);
  backward(root);
  EXPECT_EQ(leafGradients(), alone);
}

TEST_F(LayersTest, ZerosThatArriveGiveZeros) {
  backward(loss() * 0.0);
  for (const double g : leafGradients()) EXPECT_EQ(g, 0);
}

TEST_F(LayersTest, NanAndInfinityInADeadLayerDoNotLeak) {
  for (const double bad : {infinity, std::numeric_limits<double>::quiet_NaN()}) {
    const SampleScope sample(tape);
    checks.zeroGrad();
    backward(linear(x)(1, 1));
    const auto alone = leafGradients();
    checks.zeroGrad();
    const auto broken = Matrix<double>(tape.leaves(4 * columns, bad), 4, columns);
    attention(broken, x, linear(broken), 2, 8);
    norm(broken);
    const auto y = linear(x);
    linear(broken + y);
    backward(y(1, 1));
    EXPECT_EQ(leafGradients(), alone);
  }
}

// PyTorch passes 0 * inf on from a node that was reached.
TEST_F(LayersTest, InfinityThatIsReachedWithZeroGivesNan) {
  for (double& value : x.values()) value = infinity;
  backward(linear(x)(1, 1) * 0.0);
  EXPECT_TRUE(std::isnan(checks.parameters().gradients(linear.weight)[5]));
}

TEST_F(LayersTest, NodesAreCalledByTheirLayers) {
  const auto nameOf = [&](const V& node) { return std::string(tape.opOf(node.sysGetRawNodeIndex()).name); };
  EXPECT_EQ(nameOf(embedding.lookup<double>(tokens, columns)(3, 7)), "embedding");
  EXPECT_EQ(nameOf(linear(x)(3, 7)), "linear");
  EXPECT_EQ(nameOf(norm(x)(3, 7)), "layerNorm");
  EXPECT_EQ(nameOf(attention(x, x, x, 1, 8)(3, 7)), "attention");
  EXPECT_EQ(nameOf(meanCrossEntropy(x, tokens)), "meanCrossEntropy");
  EXPECT_EQ(nameOf(relu(x)(3, 7)), "relu");
  EXPECT_EQ(nameOf((x + x)(3, 7)), "add");
  EXPECT_EQ(asString(linear(x)(0, 0)).substr(0, 8), "linear(#");
}

}  // namespace layers_test
}  // namespace burtorch
