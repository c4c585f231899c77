// A linear layer over embedded tokens beside the embedding and the linear layer that it stands for, node by node.
#include <burtorch/nn/token_linear.hpp>

#include <string>

#include "reference/error_sentence.hpp"
#include "reference/layer_checks.hpp"

namespace burtorch {
namespace token_linear_test {

template <class T> class TokenLinearTest : public testing::Test {};
using Scalars = testing::Types<float, double, Dual<double>>;
TYPED_TEST_SUITE(TokenLinearTest, Scalars);

constexpr std::size_t vocabulary = 9;

template <class T> struct Embedded {
  LayerChecks<T> checks;
  Embedding embedding;
  Linear linear;
  std::size_t columns;
  std::vector<TokenId> tokens;

  Embedded(std::size_t width, std::size_t outputs, std::size_t places, std::size_t columnCount,
           std::size_t distinct = vocabulary)
      : embedding((checks.guard(), checks.layout), "wte", vocabulary, width),
        linear(checks.block(outputs, width * places), checks.block(outputs)),
        columns(columnCount),
        tokens(places * columnCount) {
    checks.fill();
    Rng rng(3);
    for (TokenId& token : tokens) token = rng.below(distinct);
  }
  auto layer() {
    return [this] { return twin::elementsOf(tokenLinear<T>(embedding, linear, tokens, columns)); };
  }
  /// Inner products of scalars, over columns that are gathered from the table.
  auto naive() {
    return [this] {
      const auto table = nodes<T>(embedding.table), w = nodes<T>(linear.weight), b = nodes<T>(linear.bias);
      twin::Outputs<T> y;
      for (std::size_t o = 0; o < w.rows(); ++o)
        for (std::size_t c = 0; c < columns; ++c) {
          std::vector<Range<T>> column;
          for (std::size_t at = c; at < tokens.size(); at += columns) column.push_back(table.row(tokens[at]));
          y.push_back(innerProductWithBias(w.row(o), column, b(o, 0)));
        }
      return y;
    };
  }
};

/// Blocks of 64 outputs and what remains, groups of four and what remains.
TYPED_TEST(TokenLinearTest, IsALinearLayerOfTheEmbeddingAtEveryEdge) {
  constexpr std::size_t lanes = nn::laneCount<TypeParam>;
  for (const std::size_t outputs : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 12u, 13u, 63u, 64u, 65u, 131u})
    for (const std::size_t width : {lanes, 2 * lanes + 1})
      for (const std::size_t columns : {std::size_t{2}, lanes, 2 * lanes + 1}) {
        Embedded<TypeParam> embedded(width, outputs, 3, columns);
        embedded.checks.expectSame(embedded.layer(), embedded.naive(),
                                   std::to_string(outputs) + " outputs, width " + std::to_string(width) +
                                       ", columns " + std::to_string(columns));
      }
}

TYPED_TEST(TokenLinearTest, SharesTheWorkOfEqualTokens) {
  for (const std::size_t distinct : {1u, 2u, 3u, 9u})
    for (const std::size_t places : {1u, 2u, 5u}) {
      Embedded<TypeParam> embedded(16, 13, places, 24, distinct);
      embedded.checks.expectSame(embedded.layer(), embedded.naive(), std::to_string(distinct) + " tokens");
    }
}

// More pairs than are gathered at a time, and rows of the table longer than a block.
TYPED_TEST(TokenLinearTest, TakesManyPairsAndWideTables) {
  LayerChecks<TypeParam> checks;
  const Embedding embedding(checks.layout, "wte", 40, 72);
  const Linear linear(checks.block(13, 72), checks.block(13));
  checks.fill();
  std::vector<TokenId> tokens(40);
  for (TokenId c = 0; c < 40; ++c) tokens[c] = (c * 7) % 40;
  checks.expectSame([&] { return twin::elementsOf(tokenLinear<TypeParam>(embedding, linear, tokens, 40)); },
                    [&] {
                      const auto x = embedding.template lookup<TypeParam>(tokens, 40);
                      return twin::linear(linear.weight, linear.bias,
                                          std::span<const Matrix<TypeParam>>(&x, 1));
                    },
                    "40 pairs");
}

// firstNonFinite, and the sweep where zeros arrive, look at every number, also at those behind the results.
TEST(TokenLinear, EveryNumberIsWritten) {
  Embedded<double> embedded(4, 5, 2, 8);
  for (double& x : embedded.checks.parameters().values()) x = 0.5;
  const auto record = [&] {
    currentTape<double>().bind(embedded.checks.parameters());
    tokenLinear<double>(embedded.embedding, embedded.linear, embedded.tokens, 8);
  };
  const TapeCapacity room = capacityOf<double>(record);
  std::vector<std::byte> memory(Tape<double>::requiredBytes(room), std::byte{0xff});
  Tape<double> tape(memory, room);
  CurrentTape here(tape);
  record();
  EXPECT_EQ(firstNonFinite(tape), tape.size());
}

TEST(TokenLinear, GradientsAreSlopes) {
  Embedded<double> embedded(4, 5, 2, 8, 3);
  embedded.checks.expectSlopes(embedded.layer(), 3);
}

TEST(TokenLinear, RefusesAnotherNumberOfInputs) {
  Embedded<double> embedded(8, 5, 2, 8);
  EXPECT_EQ(sentenceOf([&] {
              tokenLinear<double>(embedded.embedding, embedded.linear, std::vector<TokenId>(24, 0), 8);
            }),
            "tokenLinear: 24 tokens of 8 numbers in 8 columns do not fit a layer of 16 inputs");
  EXPECT_EQ(sentenceOf([&] { tokenLinear<double>(embedded.embedding, embedded.linear, {}, 0); }),
            "tokenLinear: 0 tokens of 8 numbers in 0 columns do not fit a layer of 16 inputs");
}

TEST(TokenLinear, RefusesALayerWithoutABias) {
  Embedded<float> bare(8, 5, 2, 8);
  bare.linear.bias = {};
  EXPECT_EQ(sentenceOf([&] { tokenLinear<float>(bare.embedding, bare.linear, bare.tokens, bare.columns); }),
            "tokenLinear: the layer has no bias");
}

TEST(TokenLinear, RefusesATokenThatIsNotInTheTable) {
  Embedded<double> embedded(8, 5, 1, 8);
  for (const TokenId token : {TokenId{9}, noToken}) {
    embedded.tokens[3] = token;
    EXPECT_EQ(sentenceOf(embedded.layer()),
              "tokenLinear: token " + std::to_string(token) + " is out of range for a table of 9 rows");
    EXPECT_EQ(codeOf(embedded.layer()), ErrorCode::outOfRange);
  }
}

}  // namespace token_linear_test
}  // namespace burtorch
