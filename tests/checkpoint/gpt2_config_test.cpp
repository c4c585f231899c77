// config.json of Hugging Face's GPT-2: what is read, what is passed over, what is refused.
#include <burtorch/checkpoint/gpt2_config.hpp>

#include <gtest/gtest.h>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace gpt2_config_test {

const std::string sizes = R"("n_layer": 3, "n_head": 2, "n_embd": 8, "n_positions": 16, "vocab_size": 11)";

std::string refusal(const std::string& json) {
  return sentenceOf([&] { gpt2ConfigFromJson(json, "c.json"); });
}
bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Gpt2Config, ReadsSizesAndDefaultsAsGpt2Has) {
  const GptConfig config = gpt2ConfigFromJson("{" + sizes + "}");
  EXPECT_EQ(config.layers, 3u);
  EXPECT_EQ(config.heads, 2u);
  EXPECT_EQ(config.width, 8u);
  EXPECT_EQ(config.context, 16u);
  EXPECT_EQ(config.vocabulary, 11u);
  EXPECT_EQ(config.hiddenWidth(), 32u);
  EXPECT_EQ(config.activation, Activation::geluTanh);
  EXPECT_EQ(config.normEpsilon, 1e-5);
  EXPECT_TRUE(config.finalNorm && config.hasAttentionBias && config.hasBiases && config.isTied);
}
TEST(Gpt2Config, ReadsWhatIsNotTheDefault) {
  const GptConfig config = gpt2ConfigFromJson(
      "{" + sizes + R"(, "n_inner": 20, "layer_norm_epsilon": 1.5e-6, "activation_function": "relu"})");
  EXPECT_EQ(config.hiddenWidth(), 20u);
  EXPECT_EQ(config.normEpsilon, 1.5e-6);
  EXPECT_EQ(config.activation, Activation::relu);
}
TEST(Gpt2Config, PassesOverWhatDoesNotChangeTheModel) {
  const std::string other =
      R"("n_inner": null, "attn_pdrop": 0.1, "x": {"a": [1, {"b": [[]]}, -2.5e3], "c": {}}, "y": [true, false, null, "]"], )";
  EXPECT_EQ(gpt2ConfigFromJson("{" + other + sizes + "}").layers, 3u);
}
TEST(Gpt2Config, TakesADropoutThatIsTheSameEverywhere) {
  const auto dropoutIn = [](const std::string& json) {
    return gpt2ConfigFromJson("{" + sizes + json + "}").dropout;
  };
  EXPECT_EQ(dropoutIn(""), 0);
  EXPECT_EQ(dropoutIn(R"(, "attn_pdrop": 0.1, "embd_pdrop": 0.1, "resid_pdrop": 0.1)"), 0.1);
  EXPECT_EQ(dropoutIn(R"(, "attn_pdrop": 0.1, "embd_pdrop": 0.1)"), 0);
  EXPECT_EQ(dropoutIn(R"(, "attn_pdrop": 0.1, "embd_pdrop": 0.2, "resid_pdrop": 0.1)"), 0);
  EXPECT_EQ(dropoutIn(R"(, "attn_pdrop": 1.0, "embd_pdrop": 1, "resid_pdrop": 1)"), 0);
  EXPECT_TRUE(contains(refusal("{" + sizes + R"(, "attn_pdrop": 1.5})"),
                       "'attn_pdrop' is 1.500000, expected 0 to 1"));
  EXPECT_TRUE(contains(refusal("{" + sizes + R"(, "resid_pdrop": -0.1})"),
                       "'resid_pdrop' is -0.100000, expected 0 to 1"));
}
TEST(Gpt2Config, RefusesAnotherModel) {
  EXPECT_TRUE(contains(refusal("{}"),
                       "cannot read 'c.json': it has no 'n_layer'; is it the config.json of a GPT-2?"));
  EXPECT_TRUE(contains(refusal("{" + sizes + R"(, "model_type": "llama"})"), "type 'llama', expected gpt2"));
  EXPECT_TRUE(
      contains(refusal("{" + sizes + R"(, "activation_function": "silu"})"), "its activation is 'silu'"));
  EXPECT_TRUE(
      contains(refusal("{" + sizes + R"(, "scale_attn_weights": false})"), "'scale_attn_weights' is false"));
  EXPECT_TRUE(contains(refusal("{" + sizes + R"(, "tie_word_embeddings": false})"),
                       "'tie_word_embeddings' is false"));
  EXPECT_TRUE(
      contains(refusal("{" + sizes + R"(, "add_cross_attention": true})"), "'add_cross_attention' is true"));
}
TEST(Gpt2Config, RefusesWhatIsNoConfiguration) {
  EXPECT_TRUE(contains(refusal(R"({"n_layer": 0})"), "'n_layer' is 0, expected 1 to 2^32 - 1"));
  EXPECT_TRUE(contains(refusal(R"({"n_layer": 4294967296})"), "'n_layer' is 4294967296"));
  EXPECT_TRUE(contains(refusal(R"({"n_layer": -1})"), "expected a whole number without sign"));
  EXPECT_TRUE(contains(refusal("{" + sizes + R"(, "n_head": 3})"), "cannot be shared among 3 heads"));
  EXPECT_TRUE(contains(refusal("{" + sizes + R"(, "layer_norm_epsilon": 0})"), "must be positive"));
  EXPECT_TRUE(contains(refusal("{" + sizes + "} x"), "expected the end of the file"));
  EXPECT_TRUE(contains(refusal(""), "found its end"));
  std::string deep = "{\"x\": " + std::string(100, '[') + std::string(100, ']') + ", " + sizes + "}";
  EXPECT_TRUE(contains(refusal(deep), "a value nested at most 64 deep"));
  // Cut anywhere it is an error.
  const std::string whole =
      "{" + sizes + R"(, "x": {"a": [1, -2.5e3, {"b": null}]}, "tie_word_embeddings": true})";
  gpt2ConfigFromJson(whole);
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(refusal(whole.substr(0, length)), "") << length;
}
TEST(Gpt2Config, WrittenAndReadIsTheSame) {
  GptConfig config = gpt2ConfigFromJson("{" + sizes + R"(, "n_inner": 20, "layer_norm_epsilon": 3e-7})");
  for (const Activation activation :
       {Activation::geluTanh, Activation::gelu, Activation::relu, Activation::tanh}) {
    config.activation = activation;
    config.dropout = activation == Activation::gelu ? 0.125 : 0;
    const GptConfig again = gpt2ConfigFromJson(gpt2ConfigToJson(config));
    EXPECT_EQ(again.activation, activation);
    EXPECT_EQ(again.normEpsilon, 3e-7);
    EXPECT_EQ(again.dropout, config.dropout);
    EXPECT_EQ(again.hiddenWidth(), 20u);
    EXPECT_EQ(again.layers, 3u);
    EXPECT_EQ(again.context, 16u);
  }
}
TEST(Gpt2Config, RefusesToWriteWhatGpt2CannotBe) {
  GptConfig config{.finalNorm = true, .isTied = true, .activation = Activation::sigmoid};
  EXPECT_EQ(sentenceOf([&] { requireGpt2(config); }), "a GPT-2 cannot have the activation 'sigmoid'");
  config.isTied = false;
  EXPECT_TRUE(contains(sentenceOf([&] { requireGpt2(config); }), "this model has a head of its own"));
  config.finalNorm = false;
  EXPECT_TRUE(contains(sentenceOf([&] { requireGpt2(config); }), "this model has no such norm"));
}

}  // namespace gpt2_config_test
}  // namespace burtorch
