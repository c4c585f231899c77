// Text from a model: which token is drawn, and what the model is shown.
#include <burtorch/model/generate.hpp>

#include <gtest/gtest.h>

#include <burtorch/burtorch.hpp>
#include <cmath>
#include <map>

namespace burtorch {
namespace generate_test {

const std::vector<double> logits{1.0, 3.0, 2.0, -1.0};

std::map<TokenId, double> sharesOf(const SamplingOptions& options) {
  constexpr int draws = 100000;
  std::map<TokenId, double> shares;
  Rng rng(9);
  for (int i = 0; i < draws; ++i)
    shares[drawToken(std::span<const double>(logits), options, rng)] += 1.0 / draws;
  return shares;
}

TEST(DrawToken, FollowsTheSoftmaxOfItsLogits) {
  for (const double temperature : {0.5, 1.0, 2.0}) {
    auto shares = sharesOf({.temperature = temperature});
    double sum = 0;
    for (const double logit : logits) sum += std::exp(logit / temperature);
    for (TokenId i = 0; i < 4; ++i)
      EXPECT_NEAR(shares[i], std::exp(logits[i] / temperature) / sum, 0.006) << temperature;
  }
}
TEST(DrawToken, TakesTheLikeliestAtTemperatureZero) {
  const auto shares = sharesOf({.temperature = 0});
  EXPECT_EQ(shares.size(), 1u);
  EXPECT_EQ(shares.begin()->first, 1u);
}
TEST(DrawToken, TopKLeavesOutTheOthers) {
  auto shares = sharesOf({.temperature = 1, .topK = 2});
  EXPECT_EQ(shares.size(), 2u);
  EXPECT_NEAR(shares[1], std::exp(3) / (std::exp(3) + std::exp(2)), 0.006);
}

TEST(Generate, AGptSeesTheLastTokensOnly) {
  const Gpt<double> gpt({.vocabulary = 5, .context = 3, .width = 4, .layers = 1, .heads = 2});
  ParameterStore<double> parameters(gpt.layout(), 3);
  Tape<double> tape(parameters);
  std::vector<double> shorter(5), longer(5), other(5);
  const std::vector<TokenId> last{1, 4, 2}, more{3, 0, 1, 4, 2}, changed{1, 3, 2};
  nextLogits(gpt, tape, std::span<const TokenId>(last), std::span(shorter));
  nextLogits(gpt, tape, std::span<const TokenId>(more), std::span(longer));
  nextLogits(gpt, tape, std::span<const TokenId>(changed), std::span(other));
  EXPECT_EQ(shorter, longer);
  EXPECT_NE(shorter, other);
  EXPECT_THROW(nextLogits(gpt, tape, std::span<const TokenId>(), std::span(shorter)), Error);
}
TEST(Generate, AnMlpSeesTheEndMarkBeforeAWord) {
  const CharMlp<double> mlp({.vocabulary = 5, .context = 3, .embedding = 4, .hidden = 4});
  ParameterStore<double> parameters(mlp.layout(), 3);
  Tape<double> tape(parameters);
  std::vector<double> none(5), marks(5);
  const std::vector<TokenId> zeros{0, 0, 0};
  nextLogits(mlp, tape, std::span<const TokenId>(), std::span(none));
  nextLogits(mlp, tape, std::span<const TokenId>(zeros), std::span(marks));
  EXPECT_EQ(none, marks);
}
TEST(Generate, StopsAtTheEndOrAfterEnough) {
  const CharMlp<double> mlp({.vocabulary = 5, .context = 3, .embedding = 4, .hidden = 4});
  ParameterStore<double> parameters(mlp.layout());
  Rng rng(3);
  std::vector<TokenId> tokens{2};
  generate(mlp, parameters, tokens, 7, {}, rng, [](TokenId) { return false; });
  EXPECT_EQ(tokens.size(), 8u);
  generate(mlp, parameters, tokens, 7, {}, rng, [](TokenId) { return true; });
  EXPECT_EQ(tokens.size(), 8u);
  EXPECT_THROW(generate(mlp, parameters, tokens, 1, {.temperature = -1}, rng, [](TokenId) { return false; }),
               Error);
}

}  // namespace generate_test
}  // namespace burtorch
