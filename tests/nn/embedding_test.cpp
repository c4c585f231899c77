// Embedding beside the rows of its table, one by one: whole vectors of columns and others, several tokens for each column,
// columns without a token.
#include <burtorch/nn/embedding.hpp>

#include <string>

#include "reference/error_sentence.hpp"
#include "reference/layer_checks.hpp"

namespace burtorch {
namespace embedding_test {

template <class T> class EmbeddingTest : public testing::Test {};
using Scalars = testing::Types<float, double, Dual<double>>;
TYPED_TEST_SUITE(EmbeddingTest, Scalars);

constexpr std::size_t vocabulary = 9;

/// Every third has none, and most come more than once.
std::vector<TokenId> someTokens(std::size_t count) {
  Rng rng(3);
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens) token = rng.below(3) == 0 ? noToken : rng.below(vocabulary);
  return tokens;
}

template <class T> void expectTwin(std::size_t width, std::size_t columns, std::size_t places) {
  LayerChecks<T> checks;
  checks.guard();
  const Embedding embedding(checks.layout, "table", vocabulary, width);
  checks.fill();
  const auto tokens = someTokens(columns * places);
  const auto layer = [&] { return twin::elementsOf(embedding.template lookup<T>(tokens, columns)); };
  const auto naive = [&] { return twin::embedding<T>(embedding.table, tokens, columns); };
  const std::string what = "width " + std::to_string(width) + ", columns " + std::to_string(columns) +
                           ", places " + std::to_string(places);
  checks.expectSame(layer, naive, what);
  EXPECT_EQ(worstError<T>(checks.outcomeOf(layer).values, checks.outcomeOf(naive).values), 0) << what;
}

TYPED_TEST(EmbeddingTest, PutsRowsIntoColumnsAtEveryEdge) {
  for (const std::size_t width : tileEdges)
    for (const std::size_t columns : columnCounts<TypeParam>()) expectTwin<TypeParam>(width, columns, 1);
}

TYPED_TEST(EmbeddingTest, TakesColumnsThatFillNoVectors) {
  for (const std::size_t width : {1u, 5u, 8u, 24u})
    for (const std::size_t columns : manyColumns()) expectTwin<TypeParam>(width, columns, 1);
}

TYPED_TEST(EmbeddingTest, TokensOfOneColumnStandOneBelowTheOther) {
  for (const std::size_t places : {2u, 3u, 5u})
    for (const std::size_t width : {1u, 3u, 8u, 13u})
      for (const std::size_t columns : {std::size_t{1}, std::size_t{5}, 2 * nn::laneCount<TypeParam>})
        expectTwin<TypeParam>(width, columns, places);
}

TEST(Embedding, ShapeIsWidthTimesPlacesByColumns) {
  LayerChecks<double> checks;
  const Embedding embedding(checks.layout, "table", vocabulary, 5);
  checks.fill();
  const auto y = embedding.lookup<double>(someTokens(24), 8);
  EXPECT_EQ(y.rows(), 15u);
  EXPECT_EQ(y.columns(), 8u);
}

TEST(Embedding, NoTokenGivesZerosWhateverTheTableHolds) {
  for (const std::size_t columns : {5u, 8u}) {
    LayerChecks<double> checks;
    const Embedding embedding(checks.layout, "table", vocabulary, 5);
    checks.fill();
    for (double& x : checks.parameters().values()) x = std::numeric_limits<double>::infinity();
    for (const double y : embedding.lookup<double>(std::vector<TokenId>(columns, noToken), columns).values())
      EXPECT_EQ(y, 0);
  }
}

TEST(Embedding, GradientsAreSlopes) {
  LayerChecks<double> checks;
  const Embedding embedding(checks.layout, "table", vocabulary, 5);
  checks.fill();
  const auto tokens = someTokens(16);
  checks.expectSlopes([&] { return twin::elementsOf(embedding.lookup<double>(tokens, 8)); });
}

TEST(Embedding, RepeatsTheSameTokens) {
  LayerChecks<double> checks;
  const Embedding embedding(checks.layout, "table", vocabulary, 3);
  checks.fill();
  const std::array<TokenId, 4> once{2, 5, noToken, 2};
  std::vector<NodeIndex> thrice;
  for (int i = 0; i < 3; ++i) thrice.insert(thrice.end(), once.begin(), once.end());
  checks.expectSame([&] { return twin::elementsOf(embedding.repeated<double>(once, 3)); },
                    [&] { return twin::elementsOf(embedding.lookup<double>(thrice, 12)); }, "repeated", 0);
}

TEST(Embedding, KeepsItsOwnTokens) {
  LayerChecks<double> checks;
  const Embedding embedding(checks.layout, "table", vocabulary, 1);
  checks.fill();
  std::vector<TokenId> tokens(8, 2);
  const auto y = embedding.lookup<double>(tokens, 8);
  tokens.assign(8, 5);
  backward(y(0, 3));
  EXPECT_EQ(checks.parameters().gradients(embedding.table)[2], 1);
  EXPECT_EQ(checks.parameters().gradients(embedding.table)[5], 0);
}

TEST(Embedding, TableHasPyTorchsName) {
  ParameterLayout layout;
  const Embedding embedding(layout, "wte", 65, 24);
  EXPECT_EQ(layout.name(embedding.table), "wte.weight");
  EXPECT_EQ(layout.size(), 65u * 24u);
}

TEST(Embedding, RefusesATokenThatIsNotInTheTable) {
  LayerChecks<double> checks;
  const Embedding embedding(checks.layout, "table", vocabulary, 2);
  const std::array<TokenId, 2> tokens{1, 9};
  EXPECT_EQ(sentenceOf([&] { embedding.lookup<double>(tokens, 2); }),
            "embedding: token 9 is out of range for a table of 9 rows");
  EXPECT_EQ(codeOf([&] { embedding.lookup<double>(tokens, 2); }), ErrorCode::outOfRange);
}

TEST(Embedding, RefusesTokensThatFillNoColumns) {
  LayerChecks<double> checks;
  const Embedding embedding(checks.layout, "table", vocabulary, 2);
  const std::array<TokenId, 3> tokens{1, 2, 3};
  EXPECT_EQ(sentenceOf([&] { embedding.lookup<double>(tokens, 2); }),
            "embedding: 3 tokens cannot be split into 2 columns");
  EXPECT_EQ(sentenceOf([&] { embedding.lookup<double>(tokens, 0); }),
            "embedding: 3 tokens cannot be split into 0 columns");
  EXPECT_EQ(sentenceOf([&] { embedding.lookup<double>({}, 2); }),
            "embedding: 0 tokens cannot be split into 2 columns");
}

}  // namespace embedding_test
}  // namespace burtorch
