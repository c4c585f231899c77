// The settings of a GPT-2 as Hugging Face's transformers keep them: config.json, beside the tensors (gpt2_file.hpp).
//
// A setting that would change what the model computes, and that a Gpt does not have, is an error; all others (token numbers, names
// of classes, ...) are passed over. Files are anybody's: every size is bounded.
//
// Dropout takes part in trainings alone, so nothing that a file says of it changes what a loaded model computes. A Gpt has one
// probability where GPT-2 has three: the file's if it gives all three and they agree, and otherwise 0, which a training that
// continues may set as it likes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "../base/number_text.hpp"
#include "../io/json.hpp"
#include "../io/printable.hpp"
#include "../model/gpt.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace gpt2 {

struct ActivationName {
  std::string_view name;
  Activation activation;
};
/// The first of an activation's names is the one that is written.
inline constexpr ActivationName activationNames[] = {{"gelu_new", Activation::geluTanh},
                                                     {"gelu_pytorch_tanh", Activation::geluTanh},
                                                     {"gelu", Activation::gelu},
                                                     {"relu", Activation::relu},
                                                     {"tanh", Activation::tanh}};

inline constexpr std::array<std::string_view, 3> dropoutNames{"attn_pdrop", "embd_pdrop", "resid_pdrop"};

/// Reads config.json; a helper of `gpt2ConfigFromJson`.
class ConfigReader {
 public:
  ConfigReader(std::string_view text, std::string_view source)
      : reader_(text, source, "the file"), source_(source) {}

  GptConfig read() {
    reader_.object([&](const std::string& key) { readMember(key); });
    reader_.end("the end of the file");
    const char* missing = config_.layers == 0       ? "n_layer"
                          : config_.heads == 0      ? "n_head"
                          : config_.width == 0      ? "n_embd"
                          : config_.context == 0    ? "n_positions"
                          : config_.vocabulary == 0 ? "vocab_size"
                                                    : nullptr;
    if (missing != nullptr) refuse(std::string("it has no '") + missing + "'");
    if (std::count(dropouts_.begin(), dropouts_.end(), dropouts_[0]) == 3) config_.dropout = dropouts_[0];
    config_.check();
    return config_;
  }

 private:
  void readMember(const std::string& key) {
    if (key == "n_layer") return readSize(key, config_.layers);
    if (key == "n_head") return readSize(key, config_.heads);
    if (key == "n_embd") return readSize(key, config_.width);
    if (key == "n_positions") return readSize(key, config_.context);
    if (key == "vocab_size") return readSize(key, config_.vocabulary);
    if (key == "n_inner") {
      if (!reader_.takesNull()) readSize(key, config_.hidden);
    } else if (key == "layer_norm_epsilon") {
      config_.normEpsilon = reader_.real();
    } else if (const auto at = std::find(gpt2::dropoutNames.begin(), gpt2::dropoutNames.end(), key);
               at != gpt2::dropoutNames.end()) {
      readDropout(key, dropouts_[static_cast<std::size_t>(at - gpt2::dropoutNames.begin())]);
    } else if (key == "activation_function") {
      readActivation();
    } else if (key == "model_type") {
      if (const std::string type = reader_.string(); type != "gpt2")
        refuse("it is of a model of type '" + printable(type, 30) + "', expected gpt2");
    } else if (key == "scale_attn_weights" || key == "tie_word_embeddings") {
      require(key, true);
    } else if (key == "scale_attn_by_inverse_layer_idx" || key == "add_cross_attention") {
      require(key, false);
    } else {
      reader_.skip();
    }
  }
  void readSize(const std::string& key, std::size_t& size) {
    const std::uint64_t number = reader_.integer();
    if (number == 0 || number > UINT32_MAX)
      refuse("'" + key + "' is " + std::to_string(number) + ", expected 1 to 2^32 - 1");
    size = static_cast<std::size_t>(number);
  }
  void readDropout(const std::string& key, double& probability) {
    probability = reader_.real();
    if (!(probability >= 0 && probability <= 1))
      refuse("'" + key + "' is " + std::to_string(probability) + ", expected 0 to 1");
    if (probability == 1) probability = 0;  // transformers takes it; nobody can learn with it
  }
  void readActivation() {
    const std::string name = reader_.string();
    for (const auto& known : activationNames)
      if (known.name == name) {
        config_.activation = known.activation;
        return;
      }
    refuse("its activation is '" + printable(name, 30) +
           "', expected gelu_new, gelu_pytorch_tanh, gelu, relu or tanh");
  }
  void require(const std::string& key, bool wanted) {
    if (reader_.boolean() != wanted)
      refuse("'" + key + "' is " + (wanted ? "false" : "true") + ", which a Gpt cannot be");
  }
  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorCode::badFile, "cannot read '%s': %s; is it the config.json of a GPT-2?",
         printable(source_).c_str(), why.c_str());
  }

  JsonReader reader_;
  std::array<double, 3> dropouts_{-1, -2, -3};  // until they are read they do not agree
  std::string_view source_;
  GptConfig config_{.vocabulary = 0,
                    .context = 0,
                    .width = 0,
                    .layers = 0,
                    .heads = 0,
                    .finalNorm = true,
                    .hasAttentionBias = true,
                    .isTied = true,
                    .activation = Activation::geluTanh};
};

}  // namespace gpt2

/// The configuration in a config.json of Hugging Face's GPT-2; errors name `source`.
inline GptConfig gpt2ConfigFromJson(std::string_view text, std::string_view source = "config.json") {
  return gpt2::ConfigReader(text, source).read();
}

/// Fails unless Hugging Face's GPT-2 can compute what this model does. Biases may be missing: theirs are then 0.
inline void requireGpt2(const GptConfig& config) {
  if (!config.finalNorm || !config.isTied)
    fail("a GPT-2 has a norm before its head, and the head is tied to the token embedding; this model has %s",
         config.finalNorm ? "a head of its own" : "no such norm");
  for (const auto& known : gpt2::activationNames)
    if (known.activation == config.activation) return;
  fail("a GPT-2 cannot have the activation '%.*s'", static_cast<int>(nameOf(config.activation).size()),
       nameOf(config.activation).data());
}

/// The config.json of such a model.
inline std::string gpt2ConfigToJson(const GptConfig& config) {
  requireGpt2(config);
  std::string json = "{\n  \"architectures\": [\"GPT2LMHeadModel\"],\n  \"model_type\": \"gpt2\"";
  const auto add = [&](std::string_view key, const std::string& value) {
    json += ",\n  \"" + std::string(key) + "\": " + value;
  };
  for (const auto& known : gpt2::activationNames)
    if (known.activation == config.activation) {
      add("activation_function", "\"" + std::string(known.name) + "\"");
      break;
    }
  add("n_layer", std::to_string(config.layers));
  add("n_head", std::to_string(config.heads));
  add("n_embd", std::to_string(config.width));
  add("n_inner", std::to_string(config.hiddenWidth()));
  add("n_positions", std::to_string(config.context));
  add("n_ctx", std::to_string(config.context));
  add("vocab_size", std::to_string(config.vocabulary));
  const auto addReal = [&](std::string_view key, double value) {
    add(key, value == 0 ? "0.0" : digits::shortest(value));
  };
  addReal("layer_norm_epsilon", config.normEpsilon);
  for (const std::string_view name : gpt2::dropoutNames) addReal(name, config.dropout);
  add("tie_word_embeddings", "true");
  return json + "\n}\n";
}

}  // namespace burtorch::inline BURTORCH_TARGET
