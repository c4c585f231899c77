// Step sizes against values worked out by hand.
#include "burtorch/optimise/step_sizes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace step_sizes_test {

TEST(StepSizes, Ef21ConstantsFollowTheirFormulas) {
  const Ef21Constants c(0.75);  // 1 - sqrt(1/4) = 1/2
  EXPECT_DOUBLE_EQ(c.theta, 0.5);
  EXPECT_DOUBLE_EQ(c.beta, 0.5);
  EXPECT_DOUBLE_EQ(c.xi, 1);
  for (const double alpha : {0.9, 0.05, 1e-6}) {
    const Ef21Constants any(alpha);
    EXPECT_NEAR(any.xi, std::sqrt(any.beta / any.theta), 1e-12 * any.xi);
    EXPECT_NEAR(any.theta, 1 - std::sqrt(1 - alpha), 1e-15);
  }
}

TEST(StepSizes, Ef21WithoutCompressionIsGradientDescents) {
  EXPECT_EQ(ef21StepSize(4, 100, 1), 0.25);
  EXPECT_EQ(ef21StepSize(4, 6, 0.75), 0.1);
}

TEST(StepSizes, MarinaWithoutCompressionIsGradientDescents) {
  EXPECT_EQ(marinaStepSize(4, 0, 0.5, 3), 0.25);
  EXPECT_EQ(marinaStepSize(4, 7, 1, 3), 0.25);
  EXPECT_DOUBLE_EQ(marinaStepSize(1, 9, 0.5, 9), 0.5);
  EXPECT_DOUBLE_EQ(vrMarinaStepSize(2, 2, 0, 0.5, 4, 1), 1 / (2 + 1.0));
  EXPECT_EQ(vrMarinaStepSize(2, 5, 3, 1, 4, 1), 0.5);
  EXPECT_DOUBLE_EQ(vrMarinaStepSize(2, 4, 3, 0.5, 4, 16), 0.25);  // (3 * 4 + 4 * 16 / 16) / 4 = 4
}

TEST(StepSizes, MarinasCoinIsTheShareThatIsSent) {
  EXPECT_EQ(marinaProbability<float>(RandK{{.count = 5}}, 100), 0.05);
  EXPECT_EQ(marinaProbability<float>(Identity{}, 100), 1);
  EXPECT_NEAR(marinaProbability<float>(NaturalCompression{}, 1000), 9.0 / 32, 1e-3);
  EXPECT_EQ((vrMarinaProbability<float>(RandK{{.count = 5}}, 100, 99, 1)), 0.01);
}

TEST(StepSizes, MeansAndWeights) {
  const double smoothness[] = {1, 7};
  double weights[2];
  ef21Weights(smoothness, weights);
  EXPECT_EQ(rootMeanSquare(smoothness), 5);
  EXPECT_EQ(meanSmoothness(smoothness), 4);
  EXPECT_EQ(weights[0], 0.125);
  EXPECT_EQ(weights[1], 0.875);
}

TEST(StepSizes, RejectWhatIsOutOfRange) {
  EXPECT_NE(sentenceOf([] { ef21StepSize(1, 1, 0); }), "");
  EXPECT_NE(sentenceOf([] { ef21StepSize(1, 1, 1.5); }), "");
  EXPECT_NE(sentenceOf([] { marinaStepSize(1, 1, 0, 2); }), "");
  EXPECT_NE(sentenceOf([] { vrMarinaStepSize(1, 1, 1, 0.5, 2, 0); }), "");
}

}  // namespace step_sizes_test
}  // namespace burtorch
