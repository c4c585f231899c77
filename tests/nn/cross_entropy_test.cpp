// The mean cross-entropy of columns beside one scalar node for every column.
#include <burtorch/nn/cross_entropy.hpp>

#include <algorithm>
#include <string>

#include "reference/error_sentence.hpp"
#include "reference/layer_checks.hpp"

namespace burtorch {
namespace cross_entropy_test {

template <class T> class CrossEntropyTest : public testing::Test {};
using Scalars = testing::Types<float, double, Dual<double>>;
TYPED_TEST_SUITE(CrossEntropyTest, Scalars);

/// Some columns have no target, the first has one.
std::vector<TokenId> someTargets(std::size_t classes, std::size_t columns) {
  Rng rng(5);
  std::vector<TokenId> targets(columns);
  for (TokenId& target : targets) target = rng.below(4) == 0 ? noToken : rng.below(classes);
  targets[0] = static_cast<TokenId>(classes - 1);
  return targets;
}

/// The sum, not the mean, so that gradients are of about 1.
template <class T> void expectTwin(std::size_t classes, std::size_t columns) {
  LayerChecks<T> checks;
  const auto logits = checks.matrix(classes, columns);
  checks.fill();
  const auto targets = someTargets(classes, columns);
  const auto ignored = std::count(targets.begin(), targets.end(), noToken);
  const double counted = static_cast<double>(columns) - static_cast<double>(ignored);
  checks.expectSame([&] { return std::vector{meanCrossEntropy(logits, targets) * counted}; },
                    [&] { return std::vector{twin::meanCrossEntropy(logits, targets) * counted}; },
                    "cross-entropy " + std::to_string(classes) + " x " + std::to_string(columns));
}

TYPED_TEST(CrossEntropyTest, IsOneNodeForEveryColumnAtEveryEdge) {
  for (const std::size_t classes : tileEdges)
    for (const std::size_t columns : columnCounts<TypeParam>()) expectTwin<TypeParam>(classes, columns);
}

TYPED_TEST(CrossEntropyTest, TakesColumnsThatFillNoVectors) {
  for (const std::size_t classes : {1u, 2u, 7u, 27u})
    for (const std::size_t columns : manyColumns()) expectTwin<TypeParam>(classes, columns);
}

TEST(CrossEntropy, AColumnWithoutATargetGetsNoGradient) {
  for (const std::size_t columns : {5u, 8u}) {
    LayerChecks<double> checks;
    const auto logits = checks.matrix(4, columns);
    checks.fill();
    std::vector<TokenId> targets(columns, noToken);
    targets[2] = 1;
    backward(meanCrossEntropy(logits, targets));
    for (std::size_t r = 0; r < 4; ++r)
      for (std::size_t c = 0; c < columns; ++c)
        EXPECT_EQ(logits(r, c).gradCopy() == 0, c != 2) << r << ", " << c;
  }
}

TEST(CrossEntropy, LogitsOfAnySizeAreFine) {
  LayerChecks<float> checks;
  const auto logits = checks.matrix(3, 8);
  for (std::size_t c = 0; c < 8; ++c) {
    logits(0, c).setData(5000.0f);
    logits(1, c).setData(-5000.0f);
    logits(2, c).setData(4999.0f);
  }
  const std::vector<TokenId> targets(8, 1);
  const auto loss = meanCrossEntropy(logits, targets);
  backward(loss);
  EXPECT_NEAR(loss.dataCopy(), 10000 + std::log1p(std::exp(-1.0)), 0.001);
  EXPECT_NEAR(logits(1, 4).gradCopy(), -1.0 / 8, 1e-7);
}

// Five logits with an offset that the loss does not depend on: PyTorch loses no digits of it, in single precision too.
// A single column is read in vectors, the last of which is filled up.
TEST(CrossEntropy, HugeLogitsOfOneColumnAreFine) {
  for (const std::size_t classes : {1u, 3u, 7u, 8u, 9u})
    for (const float huge : {1e11f, -1e11f, 1e37f, -1e37f}) {
      Tape<float> tape;
      CurrentTape here(tape);
      const auto logits = tape.leaves(classes, huge - std::abs(huge));
      logits[0].setData(huge);
      const std::vector<TokenId> target{0};
      const auto loss = meanCrossEntropy(Matrix<float>(logits, classes, 1), target);
      EXPECT_EQ(loss.dataCopy(), 0.0f) << classes << " " << huge;
      backward(loss);
      for (std::size_t i = 0; i < classes; ++i) EXPECT_EQ(logits[i].gradCopy(), 0.0f) << i;
    }
}
TEST(CrossEntropy, AnOffsetOfAllLogitsEatsNoDigits) {
  for (const std::size_t columns : {1u, 5u, 8u})
    for (const float offset : {0.0f, 100.0f, 10'000.0f, 1'000'000.0f}) {
      const float logits[] = {0.5f, -1.0f, 0.25f, 0.75f, -2.0f};  // exact with any of the offsets
      double sum = 0;
      for (const float x : logits) sum += std::exp(static_cast<double>(x));
      LayerChecks<float> checks;
      const auto x = checks.matrix(5, columns);
      for (std::size_t r = 0; r < 5; ++r)
        for (std::size_t c = 0; c < columns; ++c) x(r, c).setData(logits[r] + offset);
      const auto loss = meanCrossEntropy(x, std::vector<NodeIndex>(columns, 1));
      EXPECT_NEAR(loss.dataCopy(), std::log(sum) + 1.0, 3e-7) << offset;
      backward(loss);
      double total = 0;
      for (std::size_t r = 0; r < 5; ++r) total += static_cast<double>(x(r, 0).gradCopy());
      EXPECT_NEAR(total, 0, 1e-7) << offset;
    }
}

TEST(CrossEntropy, NegativeLogitsAreFine) {
  LayerChecks<double> checks;
  const auto logits = checks.matrix(2, 1);
  logits(0, 0).setData(-800);
  logits(1, 0).setData(-801);
  EXPECT_NEAR(meanCrossEntropy(logits, std::array<NodeIndex, 1>{0}).dataCopy(), std::log1p(std::exp(-1.0)),
              1e-12);
}

TEST(CrossEntropy, GradientsAreSlopes) {
  LayerChecks<double> checks;
  const auto logits = checks.matrix(5, 8);
  checks.fill();
  const auto targets = someTargets(5, 8);
  checks.expectSlopes([&] { return std::vector{meanCrossEntropy(logits, targets) * 3.0}; });
}

TEST(CrossEntropy, RefusesAnotherNumberOfTargets) {
  LayerChecks<double> checks;
  const auto logits = checks.matrix(5, 8);
  EXPECT_EQ(sentenceOf([&] { meanCrossEntropy(logits, std::vector<NodeIndex>(7, 0)); }),
            "meanCrossEntropy: expected 8 targets, one for each column, got 7");
}

TEST(CrossEntropy, RefusesATargetThatIsNoClass) {
  LayerChecks<double> checks;
  const auto logits = checks.matrix(5, 2);
  EXPECT_EQ(sentenceOf([&] {
              meanCrossEntropy(logits, std::array<NodeIndex, 2>{4, 5});
            }),
            "meanCrossEntropy: target 5 is out of range for 5 classes");
  EXPECT_EQ(codeOf([&] { meanCrossEntropy(logits, std::array<NodeIndex, 2>{4, 5}); }), ErrorCode::outOfRange);
}

TEST(CrossEntropy, RefusesToCountNothing) {
  LayerChecks<double> checks;
  const auto logits = checks.matrix(5, 2);
  EXPECT_EQ(sentenceOf([&] {
              meanCrossEntropy(logits, std::array{noToken, noToken});
            }),
            "meanCrossEntropy: no column has a target");
}

}  // namespace cross_entropy_test
}  // namespace burtorch
