// The mean cross-entropy of columns beside one scalar node for every column.
#include <burtorch/nn/cross_entropy.hpp>

#include <algorithm>
#include <string>

#include "reference/error_sentence.hpp"
#include "reference/layer_checks.hpp"

namespace burtorch {
namespace {

template <class T> class CrossEntropyTest : public testing::Test {};
using Scalars = testing::Types<float, double, Dual<double>>;
TYPED_TEST_SUITE(CrossEntropyTest, Scalars);

/// Some columns have no target, the first has one.
std::vector<Index> someTargets(std::size_t classes, std::size_t columns) {
  Rng rng(5);
  std::vector<Index> targets(columns);
  for (Index& target : targets) target = rng.below(4) == 0 ? noToken : rng.below(classes);
  targets[0] = static_cast<Index>(classes - 1);
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
    for (const std::size_t columns : {3u, 5u, 7u, 9u, 13u}) expectTwin<TypeParam>(classes, columns);
}

TEST(CrossEntropy, AColumnWithoutATargetGetsNoGradient) {
  for (const std::size_t columns : {5u, 8u}) {
    LayerChecks<double> checks;
    const auto logits = checks.matrix(4, columns);
    checks.fill();
    std::vector<Index> targets(columns, noToken);
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
  const std::vector<Index> targets(8, 1);
  const auto loss = meanCrossEntropy(logits, targets);
  backward(loss);
  EXPECT_NEAR(loss.dataCopy(), 10000 + std::log1p(std::exp(-1.0)), 0.001);
  EXPECT_NEAR(logits(1, 4).gradCopy(), -1.0 / 8, 1e-7);
}

TEST(CrossEntropy, NegativeLogitsAreFine) {
  LayerChecks<double> checks;
  const auto logits = checks.matrix(2, 1);
  logits(0, 0).setData(-800);
  logits(1, 0).setData(-801);
  EXPECT_NEAR(meanCrossEntropy(logits, std::array<Index, 1>{0}).dataCopy(), std::log1p(std::exp(-1.0)),
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
  EXPECT_EQ(sentenceOf([&] { meanCrossEntropy(logits, std::vector<Index>(7, 0)); }),
            "a cross-entropy of 8 columns is given 7 targets");
}

TEST(CrossEntropy, RefusesATargetThatIsNoClass) {
  LayerChecks<double> checks;
  const auto logits = checks.matrix(5, 2);
  EXPECT_EQ(sentenceOf([&] {
              meanCrossEntropy(logits, std::array<Index, 2>{4, 5});
            }),
            "target 5 of a cross-entropy of 5 classes");
}

TEST(CrossEntropy, RefusesToCountNothing) {
  LayerChecks<double> checks;
  const auto logits = checks.matrix(5, 2);
  EXPECT_EQ(sentenceOf([&] {
              meanCrossEntropy(logits, std::array{noToken, noToken});
            }),
            "a cross-entropy without any target");
}

}  // namespace
}  // namespace burtorch
