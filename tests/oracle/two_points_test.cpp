// Gradients at two points from one recording: the bits of separate ones, for models of layers and for those that need more.
#include <burtorch/oracle/two_points.hpp>

#include <gtest/gtest.h>

#include <burtorch/base/rng.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/model/char_mlp.hpp>
#include <burtorch/model/gpt.hpp>
#include <burtorch/oracle/token_oracle.hpp>
#include <limits>
#include <numeric>
#include <vector>

namespace burtorch {
namespace two_points_test {

struct Samples {
  std::size_t vocabulary;
  std::size_t size() const { return 11; }
  void read(std::size_t i, std::span<TokenId> tokens, std::span<TokenId> targets) const {
    for (std::size_t k = 0; k < tokens.size(); ++k)
      tokens[k] = static_cast<TokenId>((3 * i + k * k) % vocabulary);
    for (std::size_t k = 0; k < targets.size(); ++k)
      targets[k] = static_cast<TokenId>((5 * i + k) % vocabulary);
  }
};

/// Two points, and what an oracle finds there one after the other and at once.
template <class Model> class AtTwo {
 public:
  using T = typename Model::Scalar;

  AtTwo(const Model& model, std::size_t vocabulary, std::size_t tile)
      : store_(model.layout()),
        oracle_(model, store_, Samples{vocabulary}, tile),
        x(numbers(1)),
        y(numbers(2)) {}

  std::vector<T> numbers(std::uint64_t seed) const {
    Rng rng(seed);
    std::vector<T> all(store_.size());
    for (T& number : all) number = rng.uniform<T>() - T(0.5);
    return all;
  }
  /// Expects the same bits, and as many gradients counted.
  void expectSame(Batch batch) {
    std::vector<T> gx(x.size()), gy(x.size()), bothX(x.size(), T(77)), bothY(x.size(), T(77));
    const double fx = oracle_.gradient(x, batch, gx), fy = oracle_.gradient(y, batch, gy);
    const std::uint64_t before = oracle_.counts().gradients;
    const ValuesAtTwo values = oracle_.gradientsAtTwo(x, y, batch, bothX, bothY);
    EXPECT_EQ(oracle_.counts().gradients - before, 2 * batch.size());
    EXPECT_EQ(values.atX, fx);
    EXPECT_EQ(values.atY, fy);
    EXPECT_EQ(std::memcmp(bothX.data(), gx.data(), x.size() * sizeof(T)), 0);
    EXPECT_EQ(std::memcmp(bothY.data(), gy.data(), x.size() * sizeof(T)), 0);
  }
  TokenOracle<Model, Samples>& oracle() { return oracle_; }

 private:
  ParameterStore<T> store_;
  TokenOracle<Model, Samples> oracle_;

 public:
  std::vector<T> x, y;
};

template <class T> class TwoPointsTest : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(TwoPointsTest, Scalars);

const std::vector<std::size_t> batches[] = {{3}, {0, 5}, {1, 2, 3, 4, 5, 6, 7, 8}, {4, 4, 4}};

TYPED_TEST(TwoPointsTest, GptHasTheBitsOfSeparateGradients) {
  for (const std::size_t context : {1u, 3u, 4u, 5u, 8u, 9u, 16u})
    for (const bool isTied : {false, true}) {
      const Gpt<TypeParam> gpt({.vocabulary = 13,
                                .context = context,
                                .width = 12,
                                .layers = 2,
                                .heads = 3,
                                .finalNorm = isTied,
                                .hasBiases = !isTied,
                                .isTied = isTied});
      for (const std::size_t tile : {1u, 2u}) {
        AtTwo<Gpt<TypeParam>> two(gpt, 13, tile);
        for (const auto& batch : batches) two.expectSame(batch);
      }
    }
}
TYPED_TEST(TwoPointsTest, CharMlpHasTheBitsOfSeparateGradients) {
  const CharMlp<TypeParam> mlp({.vocabulary = 13, .context = 4, .embedding = 5, .hidden = 9});
  AtTwo<CharMlp<TypeParam>> two(mlp, 13, 8);
  for (const auto& batch : batches) two.expectSame(batch);
}
TYPED_TEST(TwoPointsTest, EqualPointsHaveNoDifference) {
  const Gpt<TypeParam> gpt({.vocabulary = 13, .context = 8, .width = 12, .layers = 2, .heads = 3});
  AtTwo<Gpt<TypeParam>> two(gpt, 13, 1);
  std::vector<TypeParam> difference(two.x.size(), 5), scratch(two.x.size());
  burtorch::difference(two.oracle(), std::span<const TypeParam>(two.x), std::span<const TypeParam>(two.x),
                       Batch(batches[2]), std::span(difference), std::span(scratch));
  for (const TypeParam d : difference) EXPECT_EQ(d, TypeParam{0});
}
TYPED_TEST(TwoPointsTest, ThePassLeavesNothingBehind) {
  const Gpt<TypeParam> gpt({.vocabulary = 13, .context = 8, .width = 12, .layers = 1, .heads = 3});
  AtTwo<Gpt<TypeParam>> two(gpt, 13, 1);
  two.expectSame(batches[0]);
  two.x = two.numbers(3), two.y = two.numbers(4);
  two.expectSame(batches[1]);
  std::swap(two.x, two.y);
  two.expectSame(batches[0]);
}
TYPED_TEST(TwoPointsTest, AnErrorLeavesTheOracleUsable) {
  const Gpt<TypeParam> gpt({.vocabulary = 13, .context = 8, .width = 12, .layers = 1, .heads = 3});
  AtTwo<Gpt<TypeParam>> two(gpt, 13, 1);
  std::vector<TypeParam> into(two.x.size()), other(two.x.size());
  const std::size_t missing = 11;
  EXPECT_THROW(two.oracle().gradientsAtTwo(two.x, two.y, Batch(&missing, 1), into, other), Error);
  EXPECT_THROW(two.oracle().gradientsAtTwo(two.x, two.y, {}, into, other), Error);
  two.expectSame(batches[0]);
}

/// A model with a scalar operator, and one whose graph depends on a value but says nothing of it.
template <class T, bool isFixed> class OddModel {
 public:
  using Scalar = T;
  static constexpr Config tapeConfig = defaultConfig;
  static constexpr bool isGraphFixed = isFixed;

  OddModel() : table_(layout_, "table", 13, 3), head_(layout_, "head", 3, 13) {}
  const ParameterLayout& layout() const { return layout_; }
  std::size_t columnsFor(std::size_t samples) const { return samples; }
  std::size_t tokenCount(std::size_t columns) const { return columns; }
  std::size_t tokensPerSample() const { return 1; }
  std::size_t targetsPerSample() const { return 1; }
  std::size_t tokenAt(std::size_t sample, std::size_t, std::size_t) const { return sample; }
  std::size_t targetAt(std::size_t sample, std::size_t) const { return sample; }
  std::size_t bestTile() const { return 2; }
  Value<T> loss(std::span<const TokenId> tokens, std::span<const TokenId> targets) const {
    const Matrix<T> x = head_(table_.template lookup<T>(tokens, tokens.size()));
    const Value<T> loss = meanCrossEntropy(x, targets);
    if constexpr (!isFixed)
      if (x(0, 0).value() > 0) return loss * 3.0;
    return loss * 2.0;
  }

 private:
  ParameterLayout layout_;
  Embedding table_;
  Linear head_;
};
TYPED_TEST(TwoPointsTest, OtherModelsAreComputedOneAfterTheOther) {
  const OddModel<TypeParam, true> scalar;
  AtTwo<OddModel<TypeParam, true>> withScalar(scalar, 13, 2);
  for (const auto& batch : batches) withScalar.expectSame(batch);
  const OddModel<TypeParam, false> branching;
  AtTwo<OddModel<TypeParam, false>> withBranch(branching, 13, 2);
  for (const auto& batch : batches) withBranch.expectSame(batch);
}
TYPED_TEST(TwoPointsTest, AnInfinityAtOnePointIsThatPointsAlone) {
  const Gpt<TypeParam> gpt({.vocabulary = 13, .context = 8, .width = 12, .layers = 1, .heads = 3});
  AtTwo<Gpt<TypeParam>> two(gpt, 13, 1);
  two.y[20] = std::numeric_limits<TypeParam>::infinity();
  std::vector<TypeParam> gx(two.x.size()), bothX(two.x.size()), bothY(two.x.size());
  two.oracle().gradient(two.x, batches[1], gx);
  two.oracle().gradientsAtTwo(two.x, two.y, batches[1], bothX, bothY);
  EXPECT_EQ(gx, bothX);
}

}  // namespace two_points_test
}  // namespace burtorch
