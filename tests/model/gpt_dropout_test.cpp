// The dropout of a GPT: where it is, what has none, and its gradient by central differences.
#include <burtorch/core/backward.hpp>
#include <burtorch/model/attention_weights.hpp>
#include <burtorch/model/gpt.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace gpt_dropout_test {

const GptConfig plain{.vocabulary = 7, .context = 5, .width = 6, .layers = 2, .heads = 2, .finalNorm = true};
GptConfig dropping(double probability) {
  GptConfig config = plain;
  config.dropout = probability;
  return config;
}
const std::vector<TokenId> tokens{1, 4, 2, 0, 6, 3, 3, 5, 1, 2, 0, 0, 6, 2, 4},
    targets{4, 2, 0, 6, 1, 3, 5, noToken, 2, 0, 1, 6, 2, 4, 3};
const DropoutKey key{{.seed = 5, .step = 9}};

template <class T> struct Recorded {
  Gpt<T> gpt;
  ParameterStore<T> parameters{gpt.layout(), 3};
  Tape<T> tape{parameters};
  CurrentTape<T, defaultConfig> here{tape};
  explicit Recorded(const GptConfig& config) : gpt(config) {}

  std::vector<std::string> layers() const {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < tape.used().instructions; ++i)
      names.emplace_back(tape.infoOf(tape.instruction(i).op()).name);
    return names;
  }
};
using Numbers = std::vector<double>;
Numbers valuesOf(const Matrix<double>& x) { return {x.values().begin(), x.values().end()}; }

TEST(GptDropout, IsWhereNanoGptHasIt) {
  GptConfig config = dropping(0.2);
  config.layers = 1;
  Recorded<double> with(config);
  with.gpt.loss(tokens, targets, key);
  const std::vector<std::string> wanted{
      "embedding", "embedding", "add",       "dropout",   "layerNorm", "linear", "attentionWithDropout",
      "linear",    "dropout",   "add",       "layerNorm", "linear",    "relu",   "linear",
      "dropout",   "add",       "layerNorm", "linear"};
  std::vector<std::string> found = with.layers();
  found.resize(wanted.size());
  EXPECT_EQ(found, wanted);
}
// No dropout in the config, or no key: the same instructions and the same bits.
TEST(GptDropout, OfNothingRecordsWhatAGptWithoutItDoes) {
  Recorded<double> without(plain);
  const auto loss = without.gpt.loss(tokens, targets);
  backward(loss);
  const Numbers wanted(without.tape.values().begin(), without.tape.values().end()),
      gradient(without.parameters.gradients().begin(), without.parameters.gradients().end());
  for (const bool hasKey : {false, true}) {
    const CurrentTape again(without.tape);
    Recorded<double> other(hasKey ? plain : dropping(0.3));
    backward(hasKey ? other.gpt.loss(tokens, targets, key) : other.gpt.loss(tokens, targets));
    EXPECT_EQ(other.layers(), without.layers());
    EXPECT_EQ(other.tape.used().words, without.tape.used().words);
    EXPECT_TRUE(std::ranges::equal(other.tape.values(), wanted));
    EXPECT_TRUE(std::ranges::equal(other.parameters.gradients(), gradient));
  }
}
TEST(GptDropout, IsNotInWhatATextIsGeneratedFromOrDrawnOf) {
  Recorded<double> with(dropping(0.4)), without(plain);
  const auto find = [](Recorded<double>& r) {
    const auto weights = attentionWeights(r.gpt, r.parameters, std::span(tokens).first(5));
    Numbers all;
    for (std::size_t layer = 0; layer < 2; ++layer)
      for (std::size_t query = 0; query < 5; ++query)
        for (std::size_t u = 0; u < 5; ++u) all.push_back(weights(layer, 1, query, u));
    const CurrentTape here(r.tape);
    const Numbers logits = valuesOf(r.gpt.logits(std::span(tokens).first(3), 3));
    all.insert(all.end(), logits.begin(), logits.end());
    return all;
  };
  EXPECT_EQ(find(with), find(without));
}

TEST(GptDropout, GradientsAreSlopes) {
  for (const std::size_t context : {5u, 15u}) {  // in registers, and not
    GptConfig config = dropping(0.3);
    config.context = context;
    Recorded<double> r(config);
    const auto loss = [&] { return r.gpt.loss(tokens, targets, key); };
    zeroGrad(r.parameters);
    {
      const SampleScope sample(r.tape);
      backward(loss());
    }
    const double h = 1e-5;
    for (std::size_t i = 0; i < r.parameters.size(); i += 3) {
      double& x = r.parameters.values()[i];
      const auto at = [&](double number) {
        const SampleScope sample(r.tape);
        const double before = std::exchange(x, number), found = loss().value();
        x = before;
        return found;
      };
      const double difference = (at(x + h) - at(x - h)) / (2 * h);
      EXPECT_NEAR(r.parameters.gradients()[i], difference, 1e-8) << "parameter " << i;
    }
  }
}

TEST(GptDropout, DependsOnTheStepTheSeedAndThePlaceOfASample) {
  Recorded<double> r(dropping(0.3));
  const auto logits = [&](const DropoutKey& at) { return valuesOf(r.gpt.logits(tokens, 0, at)); };
  const Numbers first = logits(key);
  EXPECT_EQ(logits(key), first);
  EXPECT_NE(logits({{5, 10}}), first);
  EXPECT_NE(logits({{6, 9}}), first);
  EXPECT_NE(logits({{5, 9}, 1}), first);
}
// Whatever is on the tape at a time.
TEST(GptDropout, ASampleHasTheMaskOfItsPlaceInTheBatch) {
  Recorded<double> r(dropping(0.3));
  const Matrix<double> all = r.gpt.logits(tokens, 0, key);
  for (std::size_t sample = 0; sample < 3; ++sample) {
    const Matrix<double> one = r.gpt.logits(std::span(tokens).subspan(5 * sample, 5), 0, {key.step, sample});
    for (std::size_t row = 0; row < one.rows(); ++row)
      for (std::size_t t = 0; t < 5; ++t)
        EXPECT_EQ(one(row, t).value(), all(row, 5 * sample + t).value()) << sample;
  }
}

TEST(GptDropout, RefusesWhatIsNoProbability) {
  EXPECT_EQ(sentenceOf([] { dropping(1).check(); }),
            "the dropout of a GPT is 1; expected a probability of at least 0 and below 1");
  EXPECT_NE(sentenceOf([] { dropping(-0.5).check(); }), "");
  EXPECT_NE(sentenceOf([] { dropping(std::numeric_limits<double>::quiet_NaN()).check(); }), "");
}

}  // namespace gpt_dropout_test
}  // namespace burtorch
