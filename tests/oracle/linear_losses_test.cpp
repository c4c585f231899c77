// Losses at scores of any size, and which labels mean what.
#include <burtorch/oracle/linear_losses.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace linear_losses_test {

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr std::span<const double> none{};

struct LossAndSlope {
  double loss, slope;
};
LossAndSlope logisticAt(double score) {
  const std::vector<double> labels{1};
  const LogisticLoss loss(labels, none);
  double value = loss.slopes(&score, 0);
  return {value, score};
}
TEST(LogisticLoss, IsExactForHugeScores) {
  for (const double score : {710.0, 1e4, 1e300}) {
    EXPECT_EQ(logisticAt(-score).loss, score);
    EXPECT_EQ(logisticAt(-score).slope, -1);
    EXPECT_EQ(logisticAt(score).loss, std::exp(-score));
    EXPECT_EQ(logisticAt(score).slope, -std::exp(-score));
  }
  // Far from overflow, but 1 + exp(-40) is 1: small losses keep their digits.
  EXPECT_NEAR(logisticAt(40).loss, std::exp(-40), 4 * eps * std::exp(-40));
  EXPECT_NEAR(logisticAt(40).slope, -std::exp(-40), 4 * eps * std::exp(-40));
  EXPECT_NEAR(logisticAt(-40).loss, 40, 40 * eps);
  EXPECT_EQ(logisticAt(std::numeric_limits<double>::infinity()).loss, 0);
  EXPECT_EQ(logisticAt(-std::numeric_limits<double>::infinity()).slope, -1);
}
TEST(LogisticLoss, MayBeAskedInFloat) {
  const std::vector<double> labels{1};
  const LogisticLoss loss(labels, none);
  float score = -300;
  EXPECT_EQ(loss.slopes(&score, 0), 300);
  EXPECT_EQ(score, -1.0f);
}
TEST(LogisticLoss, LabelsOfThreeKindsMeanTheSame) {
  // The larger label is 1, for which the slope is negative.
  for (const auto& [low, high] : {std::array{-1.0, 1.0}, {0.0, 1.0}, {1.0, 2.0}}) {
    const std::vector<double> labels{low, high};
    const LogisticLoss loss(labels, none);
    double a = 0.5, b = 0.5;
    loss.slopes(&a, 0), loss.slopes(&b, 1);
    EXPECT_GT(a, 0) << low;
    EXPECT_LT(b, 0) << high;
  }
  for (const auto& [label, sign] : {std::array{1.0, -1.0}, {-1.0, 1.0}, {0.0, 1.0}, {2.0, -1.0}}) {
    const std::vector<double> labels{label};
    double score = 0;
    LogisticLoss(labels, none).slopes(&score, 0);
    EXPECT_EQ(score, 0.5 * sign) << label;
  }
}
TEST(LogisticLoss, RefusesOtherLabels) {
  EXPECT_EQ(sentenceOf([] {
              LogisticLoss(std::vector<double>{0, 1, 3}, none);
            }),
            "LogisticRegression: expected labels -1 and 1, 0 and 1, or 1 and 2, got 3 for sample 2");
  EXPECT_THROW(LogisticLoss(std::vector<double>{0, -1}, none), Error);
  EXPECT_THROW(LogisticLoss(std::vector<double>{2, -1}, none), Error);
  EXPECT_THROW(LogisticLoss(std::vector<double>{0.5}, none), Error);
  EXPECT_THROW(LogisticLoss(std::vector<double>{std::nan("")}, none), Error);
}
TEST(SoftmaxLoss, IsExactForHugeScores) {
  const std::vector<double> labels{0}, classes{0, 1, 2};
  const SoftmaxLoss loss(labels, classes);
  std::array<double, 3> scores{1000, 0, 1e300};
  EXPECT_EQ(loss.slopes(scores.data(), 0), 1e300);
  EXPECT_EQ(scores, (std::array<double, 3>{-1, 0, 1}));
  scores = {1e300, -1e300, 7};
  EXPECT_EQ(loss.slopes(scores.data(), 0), 0);
  EXPECT_EQ(scores, (std::array<double, 3>{0, 0, 0}));
  scores = {-1e4, -1e4, -1e4};
  EXPECT_NEAR(loss.slopes(scores.data(), 0), std::log(3.0), 2 * eps);
  scores = {-1e4, -1e4, -1e4};
  EXPECT_NEAR(loss.value(scores.data(), 0), std::log(3.0), 2 * eps);
}
TEST(SoftmaxLoss, ClassesAreTheLabelsInOrder) {
  const std::vector<double> labels{7, -2, 7, 3.5};
  const SoftmaxLoss loss(labels, none);
  EXPECT_EQ(loss.outputs(), 3u);
  EXPECT_EQ(std::vector<double>(loss.classes().begin(), loss.classes().end()),
            (std::vector<double>{-2, 3.5, 7}));
  std::array<double, 3> scores{0, 0, 100};
  EXPECT_NEAR(loss.value(scores.data(), 0), 0, eps) << "the third class";
  scores = {0, 0, 100};
  EXPECT_EQ(loss.value(scores.data(), 3), 100) << "the second class";
}
TEST(SoftmaxLoss, RefusesLabelsWithoutAClass) {
  EXPECT_THROW(SoftmaxLoss(std::vector<double>{1, 1}, none), Error);
  EXPECT_EQ(sentenceOf([] {
              SoftmaxLoss(std::vector<double>{1, 4}, std::vector<double>{1, 2});
            }),
            "SoftmaxRegression: the label 4 of sample 1 is not among the 2 classes");
  EXPECT_EQ(codeOf([] { SoftmaxLoss(std::vector<double>{1, std::nan("")}, none); }), ErrorCode::notFinite);
  std::vector<double> many(SoftmaxLoss::mostClasses + 1);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<double>(i);
  EXPECT_THROW(SoftmaxLoss(many, none), Error);
}
TEST(SquaredLoss, RefusesWhatIsNotFinite) {
  EXPECT_EQ(codeOf([] { SquaredLoss(std::vector<double>{1, std::nan("")}, none); }), ErrorCode::notFinite);
}

}  // namespace linear_losses_test
}  // namespace burtorch
