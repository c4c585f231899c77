// The mini GPT against PyTorch (reference/make_gpt.py).
#include <algorithm>
#include <burtorch/base/rng.hpp>
#include <burtorch/core/backward.hpp>
#include <burtorch/model/gpt.hpp>
#include <map>

#include "model/parity.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace gpt_test {

constexpr std::size_t batch = 3, parameterCount = 46289;  // the paper's
template <class T> using Experiment = parity::Experiment<Gpt<T>, GptConfig>;

std::vector<double> reference() { return parity::reference("gpt.bin", parameterCount); }

TEST(Gpt, LossAndEveryGradientAreThoseOfPyTorch) {
  Experiment<double>({}, batch).expectGradient(reference(), {1, 2, 3}, 1e-12);
}
TEST(Gpt, InSinglePrecisionToo) { Experiment<float>({}, batch).expectGradient(reference(), {1, 2, 3}, 1e-5); }
TEST(Gpt, TenStepsFollowPyTorch) { Experiment<double>({}, batch).expectTenSteps(reference(), 1e-12); }
TEST(Gpt, TenStepsFollowPyTorchInSinglePrecision) {
  Experiment<float>({}, batch).expectTenSteps(reference(), 1e-5);
}

/// Loss and gradients of a few samples, by the names of the parameters. Blocks of the same name start with the same numbers.
struct Outcome {
  double loss = 0;
  std::map<std::string, std::vector<double>> gradients;
};
/// `set(name, values)` may change the parameters first.
template <class Set> Outcome outcomeOf(const GptConfig& config, Set set) {
  const Gpt<double> gpt(config);
  ParameterStore<double> parameters(gpt.layout());
  for (const Parameter& block : gpt.layout().blocks()) {
    const std::string& name = gpt.layout().name(block);
    std::uint64_t seed = 7;
    for (const char letter : name) seed = seed * 31 + static_cast<unsigned char>(letter);
    Rng rng(seed);
    for (double& x : parameters.values(block)) x = rng.uniform<double>() - 0.5;
    set(name, parameters.values(block));
  }
  Tape<double> tape(parameters);
  const CurrentTape here(tape);
  const std::vector<TokenId> tokens{1, 4, 0, 3, 2, 5, 5, 1}, targets{4, 0, 3, 3, 5, 5, 1, 2};
  zeroGrad(parameters);
  const auto loss = gpt.loss(tokens, targets);
  backward(loss);
  Outcome outcome{loss.value(), {}};
  for (const Parameter& block : gpt.layout().blocks()) {
    const auto gradients = parameters.gradients(block);
    outcome.gradients[gpt.layout().name(block)] = {gradients.begin(), gradients.end()};
  }
  return outcome;
}
const GptConfig small{.vocabulary = 6, .context = 4, .width = 8, .layers = 2, .heads = 2, .finalNorm = true};

TEST(Gpt, PaddedVocabularyAddsLogitsToTheSoftmaxAndNoTokens) {
  GptConfig padded = small;
  padded.paddedVocabulary = 16;
  const Gpt<double> gpt(padded), plain(small);
  EXPECT_EQ(gpt.layout().size(), plain.layout().size() + 10 * (8 + 8 + 1));
  // Extra rows whose logits are -1000 are not there.
  const auto fill = [](const std::string& name, std::span<double> values) {
    const std::size_t columns = name.ends_with("bias") ? 1 : 8;
    if (name != "wte.weight" && !name.starts_with("head")) return;
    for (std::size_t i = 6 * columns; i < values.size(); ++i) values[i] = name == "head.bias" ? -1000 : 0;
  };
  const Outcome with = outcomeOf(padded, fill), without = outcomeOf(small, fill);
  EXPECT_NEAR(with.loss, without.loss, 1e-13);
  for (const auto& [name, gradients] : without.gradients)
    for (std::size_t i = 0; i < gradients.size(); ++i)
      EXPECT_NEAR(with.gradients.at(name)[i], gradients[i], 1e-13) << name;

  ParameterStore<double> parameters(gpt.layout());
  Tape<double> tape(parameters);
  const CurrentTape here(tape);
  EXPECT_EQ(gpt.logits(std::vector<TokenId>{1, 2, 3, 4}).rows(), 16u);
  EXPECT_EQ(sentenceOf([&] {
              gpt.logits(std::vector<TokenId>{1, 2, 6, 4});
            }),
            "Gpt: token 6 is out of range for a vocabulary of 6");
  EXPECT_EQ(sentenceOf([&] {
              gpt.loss(std::vector<TokenId>{1, 2, 3, 4}, std::vector<TokenId>{2, 3, 4, 15});
            }),
            "Gpt: target 15 is out of range for a vocabulary of 6");
  padded.paddedVocabulary = 5;
  EXPECT_EQ(sentenceOf([&] { const Gpt<double> tooFew(padded); }),
            "a GPT with a vocabulary of 6 cannot have it padded to 5; choose at least as many");
}
TEST(Gpt, EpsilonOfTheNormsIsAnOption) {
  GptConfig large = small;
  large.normEpsilon = 0.5;
  const auto keep = [](const std::string&, std::span<double>) {};
  EXPECT_GT(std::abs(outcomeOf(large, keep).loss - outcomeOf(small, keep).loss), 1e-3);
}
TEST(Gpt, WithoutBiasesIsWithBiasesOfZero) {
  GptConfig plain = small;
  plain.hasBiases = false;
  const Outcome without = outcomeOf(plain, [](auto&, auto) {});
  const Outcome with = outcomeOf(small, [](const std::string& name, std::span<double> values) {
    if (name.ends_with(".bias")) std::ranges::fill(values, 0.0);
  });
  EXPECT_EQ(without.loss, with.loss);
  for (const auto& [name, gradient] : without.gradients) {
    EXPECT_FALSE(name.ends_with(".bias"));
    EXPECT_EQ(gradient, with.gradients.at(name)) << name;
  }
}
TEST(Gpt, ATiedHeadHasTheSumOfBothGradients) {
  GptConfig apart = small, tied = small;
  apart.hasBiases = tied.hasBiases = false;
  tied.isTied = true;
  std::vector<double> table;
  const Outcome two = outcomeOf(apart, [&](const std::string& name, std::span<double> values) {
    if (name == "wte.weight") table.assign(values.begin(), values.end());
    if (name == "head.weight") std::ranges::copy(table, values.begin());
  });
  const Outcome one = outcomeOf(tied, [](auto&, auto) {});
  EXPECT_EQ(one.loss, two.loss);
  EXPECT_FALSE(one.gradients.contains("head.weight"));
  for (const auto& [name, gradient] : one.gradients)
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double wanted =
          two.gradients.at(name)[i] + (name == "wte.weight" ? two.gradients.at("head.weight")[i] : 0);
      EXPECT_NEAR(gradient[i], wanted, 1e-15) << name << " " << i;
    }
}
TEST(Gpt, BiasesOnAttentionAloneAreRefused) {
  GptConfig config = small;
  config.hasBiases = false;
  config.hasAttentionBias = true;
  EXPECT_THROW(Gpt<float>{config}, Error);
}

}  // namespace gpt_test
}  // namespace burtorch
