// Gradients without the function value: which operators can, and that nothing else changes.
#include "burtorch/functional/gradient_only.hpp"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "burtorch/burtorch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace gradient_only_test {

using V = Value<double>;

class GradientOnlyTest : public testing::Test {
 protected:
  Tape<double> tape;
  CurrentTape<double, defaultConfig> here{tape};

  /// The gradients, bit by bit, of a root that `record` makes from three leaves.
  template <class Record> std::vector<std::uint64_t> gradientsOf(Record record, double seed) {
    tape.clear();
    const auto x = tape.leaves(std::array{0.7, -0.3, 1.9});
    const auto root = record(x);
    backward(root, seed);
    std::vector<std::uint64_t> bits;
    for (double g : tape.gradients()) bits.push_back(std::bit_cast<std::uint64_t>(g));
    return bits;
  }
  template <class With, class Without> void expectEqualBits(With with, Without without) {
    for (double seed : {1.0, -0.37}) EXPECT_EQ(gradientsOf(with, seed), gradientsOf(without, seed));
  }
};

TEST_F(GradientOnlyTest, UnaryGradientsAreBitEqual) {
  expectEqualBits([](auto x) { return sqr(tanh(x[0]) * x[1]); },
                  [](auto x) { return withoutValue<ops::Sqr>(tanh(x[0]) * x[1]); });
}

TEST_F(GradientOnlyTest, BinaryGradientsAreBitEqual) {
  expectEqualBits([](auto x) { return apply<ops::MeanSquares>(tanh(x[0]), x[1]); },
                  [](auto x) { return withoutValue<ops::MeanSquares>(tanh(x[0]), x[1]); });
}

TEST_F(GradientOnlyTest, ListGradientsAreBitEqual) {
  expectEqualBits([](auto x) { return reduceMeanSquares(x); },
                  [](auto x) { return withoutValue<ops::MeanSquaresVarying>(x); });
  expectEqualBits(
      [](auto x) {
        return variance(std::array{x[2], tanh(x[0]), x[1]});
      },
      [](auto x) {
        return withoutValue<ops::Variance>(std::array{x[2], tanh(x[0]), x[1]});
      });
}

TEST_F(GradientOnlyTest, OperatorsThatNeedTheirResultGiveTheSameBitsToo) {
  expectEqualBits([](auto x) { return exp(x[0]); }, [](auto x) { return withoutValue<ops::Exp>(x[0]); });
  expectEqualBits([](auto x) { return x[0] / x[1]; },
                  [](auto x) { return withoutValue<ops::Div>(x[0], x[1]); });
  expectEqualBits([](auto x) { return logSumExp(x); },
                  [](auto x) { return withoutValue<ops::LogSumExp>(x); });
}

TEST_F(GradientOnlyTest, ASkippedValueIsSaidToBe) {
  const auto x = tape.leaves(3, 0.7);
  EXPECT_TRUE(withoutValue<ops::Sqr>(x[0]).isValueSkipped());
  EXPECT_TRUE(withoutValue<ops::Mul>(x[0], x[1]).isValueSkipped());
  EXPECT_TRUE(withoutValue<ops::AddVarying>(x).isValueSkipped());
}

TEST_F(GradientOnlyTest, ReadingASkippedValueIsAnError) {
  const V x = 0.7;
  const auto loss = withoutValue<ops::Sqr>(x);
  EXPECT_EQ(sentenceOf([&] { loss.dataCopy(); }),
            "the value of node 1 was skipped on request: only its gradient is known");
}

TEST_F(GradientOnlyTest, ReadingASkippedListValueIsAnError) {
  const auto x = tape.leaves(3, 0.7);
  const auto loss = withoutValue<ops::MeanVarying>(x);
  EXPECT_NE(sentenceOf([&] { loss.dataCopy(); }), "");
}

TEST_F(GradientOnlyTest, ExpIsComputedAfterAll) {
  const V x = 0.7;
  const auto loss = withoutValue<ops::Exp>(x);
  EXPECT_FALSE(loss.isValueSkipped());
  EXPECT_DOUBLE_EQ(loss.dataCopy(), std::exp(0.7));
}

TEST_F(GradientOnlyTest, TheSlopeRuleDecides) {
  EXPECT_TRUE((canSkipValue<ops::Log, double>));
  EXPECT_TRUE((canSkipValue<ops::Relu, double>));
  EXPECT_TRUE((canSkipValue<ops::AddConst, double>));
  EXPECT_TRUE((canSkipValue<ops::Max, double>));
  EXPECT_FALSE((canSkipValue<ops::Tanh, double>));
  EXPECT_FALSE((canSkipValue<ops::Sqrt, double>));
  EXPECT_FALSE((canSkipValue<ops::Div, double>));
  EXPECT_FALSE((canSkipValue<ops::ConstDiv, double>));
  EXPECT_FALSE((canSkipValue<ops::LogSumExp, double>));
}

TEST_F(GradientOnlyTest, TheRootsOwnGradientIsTheSeed) {
  const V x = 0.7;
  const auto loss = withoutValue<ops::Sqr>(x);
  backward(loss, 2.5);
  EXPECT_EQ(loss.gradCopy(), 2.5);
}

TEST_F(GradientOnlyTest, RepeatsAccumulate) {
  const V x = 0.75;
  const auto loss = withoutValue<ops::Sqr>(x);
  for (int i = 0; i < 3; ++i) backward(loss);
  EXPECT_EQ(x.gradCopy(), 4.5);
}

TEST_F(GradientOnlyTest, ADeadNodeWithoutValueDoesNotDisturb) {
  const auto x = tape.leaves(3, 0.7);
  withoutValue<ops::Sqr>(x[0]);
  withoutValue<ops::AddVarying>(x);
  withoutValue<ops::Mul>(x[1], x[2]);
  backward(x[0] * 3.0);
  EXPECT_EQ(x[0].gradCopy(), 3.0);
  EXPECT_EQ(x[1].gradCopy(), 0.0);
}

TEST_F(GradientOnlyTest, WorksOnATapeOfDuals) {
  Tape<Dual<double>> duals;
  CurrentTape there(duals);
  const Value<Dual<double>> x(Dual<double>(0.7, 1.0));
  const auto loss = withoutValue<ops::Cub>(x);
  backward(loss);
  EXPECT_TRUE(loss.isValueSkipped());
  EXPECT_DOUBLE_EQ(x.gradCopy().tangent, 6 * 0.7);
}

}  // namespace gradient_only_test
}  // namespace burtorch
