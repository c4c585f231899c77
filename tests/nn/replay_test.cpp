// Layers recorded once and computed again with other numbers.
#include <gtest/gtest.h>

#include <array>
#include <burtorch/core/backward.hpp>
#include <burtorch/graph/record.hpp>

#include "reference/layer_network.hpp"

namespace burtorch {
namespace replay_test {

class ReplayTest : public testing::Test {
 protected:
  LayerNetwork network;
  std::vector<double> x = network.point(), y = x;
  ReplayTest() {
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = 0.7 - y[i];
  }
  auto function() const {
    return [this](auto numbers) { return network(numbers); };
  }
  /// The value; the gradient goes into `gradient`.
  double eager(const std::vector<double>& at, std::vector<double>& gradient) const {
    Tape<double> tape;
    CurrentTape here(tape);
    const auto leaves = tape.leaves(std::span<const double>(at));
    const auto root = network.loss<double>();
    backward(root);
    gradient.assign(leaves.gradients().begin(), leaves.gradients().end());
    return root.dataCopy();
  }
};

TEST_F(ReplayTest, ARecordedFunctionRunsThroughLayers) {
  auto recorded = record(function(), x);
  for (const auto& at : {y, x, y}) {
    std::vector<double> gradient(x.size()), wanted;
    EXPECT_EQ(recorded.valueAndGrad(at, gradient), eager(at, wanted));
    EXPECT_EQ(recorded.value(at), eager(at, wanted));
    for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_DOUBLE_EQ(gradient[i], wanted[i]) << i;
  }
}

TEST_F(ReplayTest, ARecordedFunctionRunsABatchThroughLayers) {
  auto recorded = record(function(), x);
  std::vector<double> batch = x, gradients(2 * x.size()), values(2);
  batch.insert(batch.end(), y.begin(), y.end());
  recorded.gradBatch(batch, gradients, values);
  std::vector<double> wanted;
  EXPECT_EQ(values[0], eager(x, wanted));
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_DOUBLE_EQ(gradients[i], wanted[i]) << i;
  EXPECT_EQ(values[1], eager(y, wanted));
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_DOUBLE_EQ(gradients[x.size() + i], wanted[i]) << i;
}

}  // namespace replay_test
}  // namespace burtorch
