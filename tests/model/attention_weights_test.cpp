// Weights of attention beside a naive forward pass in double, written from the parameters.
#include <burtorch/model/attention_weights.hpp>

#include <gtest/gtest.h>

#include <burtorch/base/rng.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace attention_weights_test {

using Row = std::vector<double>;
using Rows = std::vector<Row>;  // [position][feature]

/// A GPT with parameters drawn at random, large enough that weights differ much.
template <class T> struct Trained {
  Gpt<T> gpt;
  ParameterStore<T> parameters;
  explicit Trained(const GptConfig& config) : gpt(config), parameters(gpt.layout()) {
    Rng rng(20240607, 0);
    for (T& x : parameters.values()) x = static_cast<T>(1.6 * rng.uniform<double>() - 0.8);
  }
};

/// The forward pass as one would write it on paper: one position after the other.
template <class T> class Naive {
 public:
  explicit Naive(const Trained<T>& model) : gpt_(model.gpt), parameters_(model.parameters) {}

  /// [layer][head][query][key]
  std::vector<std::vector<Rows>> weights(const std::vector<TokenId>& tokens) {
    const GptConfig& config = gpt_.config();
    Rows x;
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      x.emplace_back(config.width);
      for (std::size_t d = 0; d < config.width; ++d)
        x[t][d] = at("wte.weight", tokens[t], d) + at("wpe.weight", t, d);
    }
    std::vector<std::vector<Rows>> all;
    for (std::size_t layer = 0; layer < config.layers; ++layer) all.push_back(block(layer, x));
    return all;
  }

 private:
  double at(const std::string& name, std::size_t row, std::size_t column = 0) const {
    for (const Parameter& p : gpt_.layout().blocks())
      if (gpt_.layout().name(p) == name)
        return static_cast<double>(parameters_.values(p)[row * p.columns + column]);
    ADD_FAILURE() << "no parameter " << name;
    return 0;
  }
  Row norm(const std::string& name, const Row& x) const {
    const auto n = static_cast<double>(x.size());
    double mean = 0, variance = 0;
    for (const double v : x) mean += v / n;
    for (const double v : x) variance += (v - mean) * (v - mean) / n;
    Row y;
    for (std::size_t d = 0; d < x.size(); ++d)
      y.push_back((x[d] - mean) / std::sqrt(variance + 1e-5) * at(name + ".weight", d) +
                  at(name + ".bias", d));
    return y;
  }
  Row linear(const std::string& name, const Row& x, std::size_t outputs, bool hasBias) const {
    Row y(outputs);
    for (std::size_t o = 0; o < outputs; ++o) {
      if (hasBias) y[o] = at(name + ".bias", o);
      for (std::size_t d = 0; d < x.size(); ++d) y[o] += at(name + ".weight", o, d) * x[d];
    }
    return y;
  }
  /// Weights of one layer; x goes through it.
  std::vector<Rows> block(std::size_t layer, Rows& x) const {
    const GptConfig& config = gpt_.config();
    const std::string name = "blocks." + std::to_string(layer) + ".";
    const std::size_t width = config.width, size = width / config.heads;
    Rows qkv, mixed(x.size(), Row(width));
    for (const Row& row : x)
      qkv.push_back(linear(name + "attn.qkv", norm(name + "ln1", row), 3 * width, config.hasAttentionBias));
    std::vector<Rows> weights(config.heads, Rows(x.size(), Row(x.size())));
    for (std::size_t head = 0; head < config.heads; ++head)
      for (std::size_t t = 0; t < x.size(); ++t) {
        Row& w = weights[head][t];
        double sum = 0;
        for (std::size_t u = 0; u <= t; ++u) {
          double score = 0;
          for (std::size_t d = head * size; d < (head + 1) * size; ++d)
            score += qkv[t][d] * qkv[u][width + d];
          sum += w[u] = std::exp(score / std::sqrt(static_cast<double>(size)));
        }
        for (std::size_t u = 0; u <= t; ++u) {
          w[u] /= sum;
          for (std::size_t d = head * size; d < (head + 1) * size; ++d)
            mixed[t][d] += w[u] * qkv[u][2 * width + d];
        }
      }
    for (std::size_t t = 0; t < x.size(); ++t) {
      add(x[t], linear(name + "attn.proj", mixed[t], width, true));
      Row hidden = linear(name + "mlp.fc1", norm(name + "ln2", x[t]), config.hiddenWidth(), true);
      for (double& v : hidden)
        v = config.activation == Activation::gelu ? v / 2 * (1 + std::erf(v / std::sqrt(2.0)))
                                                  : std::fmax(v, 0);
      add(x[t], linear(name + "mlp.fc2", hidden, width, true));
    }
    return weights;
  }
  static void add(Row& x, const Row& y) {
    for (std::size_t d = 0; d < x.size(); ++d) x[d] += y[d];
  }

  const Gpt<T>& gpt_;
  const ParameterStore<T>& parameters_;
};

std::vector<TokenId> someTokens(std::size_t count, std::size_t vocabulary) {
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < count; ++i)
    tokens.push_back(static_cast<TokenId>((i * i + 3 * i + 1) % vocabulary));
  return tokens;
}

template <class T> void expectNaive(const GptConfig& config, std::size_t count, double tolerance) {
  Trained<T> model(config);
  const std::vector<TokenId> tokens = someTokens(count, config.vocabulary);
  const AttentionWeights<T> found =
      attentionWeights(model.gpt, model.parameters, std::span<const TokenId>(tokens));
  const auto wanted = Naive<T>(model).weights(tokens);
  ASSERT_EQ(found.positions(), count);
  for (std::size_t layer = 0; layer < config.layers; ++layer)
    for (std::size_t head = 0; head < config.heads; ++head)
      for (std::size_t query = 0; query < count; ++query)
        for (std::size_t key = 0; key < count; ++key)
          EXPECT_NEAR(static_cast<double>(found(layer, head, query, key)), wanted[layer][head][query][key],
                      tolerance)
              << "layer " << layer << ", head " << head << ", " << query << " to " << key;
}

TEST(AttentionWeights, AreThoseOfANaiveForwardPass) {
  // Contexts below, at and above the lanes of a vector take different ways through the layer.
  for (const std::size_t context : {1u, 3u, 8u, 11u, 20u, 70u}) {
    const GptConfig config{.vocabulary = 11, .context = context, .width = 12, .layers = 3, .heads = 3};
    expectNaive<double>(config, context, 1e-13);
    expectNaive<float>(config, context, 2e-5);
  }
}
TEST(AttentionWeights, FollowTheOptionsOfTheModel) {
  expectNaive<double>({.vocabulary = 7,
                       .context = 6,
                       .width = 8,
                       .layers = 2,
                       .heads = 2,
                       .hidden = 5,
                       .finalNorm = true,
                       .hasAttentionBias = true,
                       .activation = Activation::gelu},
                      6, 1e-13);
}
TEST(AttentionWeights, OfATextShorterThanTheContext) {
  expectNaive<double>({.vocabulary = 11, .context = 20, .width = 8, .layers = 2, .heads = 2}, 5, 1e-13);
}

TEST(AttentionWeights, SumToOneAndSeeNoLaterKey) {
  Trained<float> model({.vocabulary = 11, .context = 9, .width = 8, .layers = 2, .heads = 4});
  const std::vector<TokenId> tokens = someTokens(9, 11);
  const auto weights = attentionWeights(model.gpt, model.parameters, std::span<const TokenId>(tokens));
  for (std::size_t layer = 0; layer < weights.layers(); ++layer)
    for (std::size_t head = 0; head < weights.heads(); ++head)
      for (std::size_t query = 0; query < 9; ++query) {
        double sum = 0;
        for (std::size_t key = 0; key < 9; ++key) {
          const float weight = weights(layer, head, query, key);
          sum += static_cast<double>(weight);
          if (key > query) {
            EXPECT_EQ(weight, 0.0f);
          } else {
            EXPECT_GT(weight, 0.0f);
          }
        }
        EXPECT_NEAR(sum, 1, 1e-6);
      }
}
TEST(AttentionWeights, OfALongTextAreThoseOfItsEnd) {
  Trained<float> model({.vocabulary = 11, .context = 5, .width = 8, .layers = 1, .heads = 2});
  const std::vector<TokenId> tokens = someTokens(12, 11);
  const auto whole = attentionWeights(model.gpt, model.parameters, std::span<const TokenId>(tokens));
  const auto end = attentionWeights(model.gpt, model.parameters, std::span<const TokenId>(tokens).last(5));
  ASSERT_EQ(whole.positions(), 5u);
  for (std::size_t query = 0; query < 5; ++query)
    for (std::size_t key = 0; key < 5; ++key) EXPECT_EQ(whole(0, 1, query, key), end(0, 1, query, key));
}
TEST(AttentionWeights, WantATextAndKnowTheirSizes) {
  Trained<float> model({.vocabulary = 11, .context = 5, .width = 8, .layers = 1, .heads = 2});
  EXPECT_NE(sentenceOf([&] { attentionWeights(model.gpt, model.parameters, std::span<const NodeIndex>()); }),
            "");
  const std::vector<TokenId> tokens = someTokens(3, 11);
  const auto weights = attentionWeights(model.gpt, model.parameters, std::span<const TokenId>(tokens));
  EXPECT_NE(sentenceOf([&] { weights(0, 0, 3, 0); }), "");
  EXPECT_EQ(codeOf([&] { weights(0, 0, 3, 0); }), ErrorCode::outOfRange);
  EXPECT_NE(sentenceOf([&] { weights(0, 2, 0, 0); }), "");
}

}  // namespace attention_weights_test
}  // namespace burtorch
