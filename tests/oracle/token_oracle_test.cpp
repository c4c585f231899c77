// The oracle over tiles: the same mean and gradient for every tile, into any span, and clear errors.
#include <burtorch/oracle/token_oracle.hpp>

#include <gtest/gtest.h>

#include <burtorch/base/rng.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/model/gpt.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace token_oracle_test {

constexpr std::size_t sampleCount = 9;
const GptConfig config{.vocabulary = 7, .context = 5, .width = 6, .layers = 1, .heads = 2};

struct Samples {
  std::size_t size() const { return sampleCount; }
  void read(std::size_t i, std::span<TokenId> tokens, std::span<TokenId> targets) const {
    for (std::size_t k = 0; k < tokens.size(); ++k) {
      tokens[k] = static_cast<TokenId>((3 * i + k * k) % 7);
      targets[k] = static_cast<TokenId>((5 * i + k) % 7);
    }
  }
};
struct Experiment {
  const Gpt<double> gpt{config};
  ParameterStore<double> parameters{gpt.layout()};
  Experiment() {
    Rng rng(2);
    for (double& x : parameters.values()) x = rng.uniform<double>() - 0.5;
  }
};
std::vector<std::size_t> everySample() {
  std::vector<std::size_t> all(sampleCount);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

TEST(TokenOracle, GivesTheSameForEveryTile) {
  Experiment e;
  std::vector<double> first;
  for (const std::size_t tile : {1u, 2u, 4u, 9u, 20u}) {
    TokenOracle oracle(e.gpt, e.parameters, Samples{}, tile);
    const double loss = oracle.gradient(everySample());
    EXPECT_NEAR(loss, oracle.value(everySample()), 1e-14) << tile;
    std::vector<double> found(oracle.gradients().begin(), oracle.gradients().end());
    if (first.empty()) first = found;
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], first[i], 1e-15) << tile << " " << i;
  }
}
TEST(TokenOracle, IsTheMeanOfItsSamples) {
  Experiment e;
  TokenOracle oracle(e.gpt, e.parameters, Samples{}, 4);
  std::vector<double> mean(oracle.parameters().size()), one(mean.size()), all(mean.size());
  double loss = 0;
  for (std::size_t i = 0; i < sampleCount; ++i) {
    loss += oracle.gradient(i, one) / sampleCount;
    for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += one[k] / sampleCount;
  }
  EXPECT_NEAR(oracle.gradient(everySample(), all), loss, 1e-14);
  for (std::size_t k = 0; k < mean.size(); ++k) EXPECT_NEAR(all[k], mean[k], 1e-15) << k;
}
TEST(TokenOracle, ReplacesWhatTheGradientsHeld) {
  Experiment e;
  TokenOracle oracle(e.gpt, e.parameters, Samples{}, 2);
  std::vector<double> want(oracle.parameters().size());
  oracle.gradient(everySample(), want);
  for (double& g : oracle.gradients()) g = std::numeric_limits<double>::quiet_NaN();
  oracle.gradient(everySample());
  EXPECT_EQ(std::vector<double>(oracle.gradients().begin(), oracle.gradients().end()), want);
}
TEST(TokenOracle, AnErrorLeavesTheGradientsAsTheyWere) {
  Experiment e;
  TokenOracle oracle(e.gpt, e.parameters, Samples{}, 1);
  oracle.gradient(everySample());
  const std::vector<double> before(oracle.gradients().begin(), oracle.gradients().end());
  EXPECT_THROW(oracle.gradient(std::vector<std::size_t>{0, 99}), Error);
  EXPECT_EQ(std::vector<double>(oracle.gradients().begin(), oracle.gradients().end()), before);
}
// The gradients that a later sweep of the user's adds to are those that the oracle left.
TEST(TokenOracle, LeavesNothingBehind) {
  Experiment e;
  std::vector<double> once;
  {
    TokenOracle oracle(e.gpt, e.parameters, Samples{}, 4);
    oracle.gradient(everySample());
    once.assign(oracle.gradients().begin(), oracle.gradients().end());
    EXPECT_THROW(oracle.gradient(std::vector<std::size_t>{0, 99}), Error);
  }
  std::vector<TokenId> tokens(e.gpt.columnsFor(1), noToken), targets(tokens.size(), noToken);
  for (std::size_t i = 0; i < config.context; ++i) tokens[i] = targets[i] = static_cast<TokenId>(i);
  Tape<double> tape(e.parameters);
  const CurrentTape here(tape);
  backward(e.gpt.loss(tokens, targets));
  const std::vector<double> both(e.parameters.gradients().begin(), e.parameters.gradients().end());
  zeroGrad(e.parameters);
  backward(e.gpt.loss(tokens, targets));
  for (std::size_t i = 0; i < both.size(); ++i)
    EXPECT_NEAR(both[i], once[i] + e.parameters.gradients()[i], 1e-14) << i;
}
TEST(TokenOracle, NamesTheFirstNodeThatIsNotFinite) {
  Experiment e;
  TokenOracle oracle(e.gpt, e.parameters, Samples{}, 4);
  EXPECT_NE(oracle.describeFirstNonFinite(everySample()).find("every node is finite"), std::string::npos);
  const Parameter& table = e.gpt.layout().blocks()[0];
  double sign = 1e308;
  for (double& x : e.parameters.values(table)) x = sign *= -1;  // finite, but their difference is not
  const std::string sentence = oracle.describeFirstNonFinite(everySample());
  EXPECT_NE(sentence.find("of a layerNorm"), std::string::npos) << sentence;
  e.parameters.values(table)[3] = std::nan("");
  EXPECT_EQ(oracle.describeFirstNonFinite(everySample()), "number 3 of parameter wte.weight is not finite");
}
TEST(TokenOracle, RefusesASampleWithoutAllTargets) {
  struct Partial : Samples {
    void read(std::size_t i, std::span<TokenId> tokens, std::span<TokenId> targets) const {
      Samples::read(i, tokens, targets);
      if (i == 2) targets[1] = noToken;
    }
  };
  Experiment e;
  TokenOracle oracle(e.gpt, e.parameters, Partial{}, 1);
  EXPECT_NO_THROW(oracle.value(std::vector<std::size_t>{0, 1}));
  EXPECT_THROW(oracle.value(std::vector<std::size_t>{1, 2}), Error);
}
TEST(TokenOracle, RefusesWhatItCannotDo) {
  Experiment e;
  TokenOracle oracle(e.gpt, e.parameters, Samples{}, 4);
  std::vector<double> small(3);
  const std::vector<std::size_t> beyond{sampleCount};
  EXPECT_EQ(codeOf([&] { oracle.value({}); }), ErrorCode::invalidArgument);
  EXPECT_EQ(codeOf([&] { oracle.gradient(beyond); }), ErrorCode::outOfRange);
  EXPECT_EQ(codeOf([&] { oracle.gradient(0, small); }), ErrorCode::invalidArgument);
}

}  // namespace token_oracle_test
}  // namespace burtorch
