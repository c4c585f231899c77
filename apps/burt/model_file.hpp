// A trained model in a file: parameters under their names, and all that is needed to use them in the file's metadata. The
// metadata is checked against the tensors before anything is built, so a small file cannot ask for a large model.
#pragma once

#include <burtorch/checkpoint/parameters_file.hpp>
#include <burtorch/core/storage.hpp>
#include <burtorch/data/tokenizer.hpp>
#include <burtorch/io/summary.hpp>
#include <burtorch/model/char_mlp.hpp>
#include <burtorch/model/gpt.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

#include "fields.hpp"

namespace burt {

using burtorch::Metadata;

/// The file of a run's folder that holds all of it.
inline constexpr const char* stateName = "state.safetensors";

template <> struct Fields<burtorch::GptConfig> {
  static auto all() {
    using C = burtorch::GptConfig;
    return std::tuple(
        fixed(number("layers", &C::layers, 1, 1000, "number of transformer blocks")),
        fixed(number("heads", &C::heads, 1, 1000, "attention heads per block")),
        fixed(number("width", &C::width, 1, 100'000, "width of the residual stream, a multiple of --heads")),
        fixed(number("context", &C::context, 1, 100'000, "number of tokens that a prediction sees")),
        fixed(number("hidden", &C::hidden, 0, 1'000'000, "width of the feed-forward layer; 0: 4 x --width")),
        fixed(toggle("final-norm", &C::finalNorm, false, true,
                     "add a layer norm before the head, as GPT-2 does")),
        fixed(toggle("attention-bias", &C::hasAttentionBias, false, true,
                     "add biases to queries, keys and values, as GPT-2 does")),
        fixed(toggle("no-biases", &C::hasBiases, true, false, "leave out all biases, as nanoGPT does")),
        fixed(toggle("tied", &C::isTied, false, true,
                     "use the token embedding as the head's weights, as GPT-2 does")),
        fixed(toggle("gelu", &C::activation, burtorch::Activation::relu, burtorch::Activation::gelu,
                     "the same as --activation gelu")),
        // After "gelu", which is all that files of earlier versions say.
        fixed(choice("activation", &C::activation,
                     {burtorch::Activation::relu, burtorch::Activation::gelu, burtorch::Activation::geluTanh},
                     "activation of the feed-forward layers (GPT-2 has gelu-tanh, nanoGPT gelu)")),
        later(fixed(number("padded-vocabulary", &C::paddedVocabulary, 0, UINT32_MAX,
                           "rows of the token embedding and the head; 0: as many as there are tokens"))),
        later(fixed(number("norm-epsilon", &C::normEpsilon, 1e-12, 1, "epsilon of the layer norms"))),
        later(number(
            "dropout", &C::dropout, 0, 0.999999,
            "probability with which training drops a number of a residual branch or an attention weight")));
  }
};
template <> struct Fields<burtorch::CharMlpConfig> {
  static auto all() {
    using C = burtorch::CharMlpConfig;
    return std::tuple(
        fixed(number("context", &C::context, 1, 10'000, "number of characters that a prediction sees")),
        fixed(number("embedding", &C::embedding, 1, 100'000, "numbers per character embedding")),
        fixed(number("hidden", &C::hidden, 1, 1'000'000, "units of the hidden layer")));
  }
};
inline const char* kindOf(const burtorch::GptConfig&) { return "gpt"; }
inline const char* kindOf(const burtorch::CharMlpConfig&) { return "mlp"; }
/// Flags that make a model smaller.
inline const char* sizesOf(const burtorch::GptConfig&) { return "--width, --hidden or --layers"; }
inline const char* sizesOf(const burtorch::CharMlpConfig&) { return "--hidden, --embedding or --context"; }

/// A whole number that stays at the largest one instead of wrapping around.
struct Count {
  std::uint64_t number;
  // NOLINTNEXTLINE: as natural as from int to long
  constexpr Count(std::uint64_t n) : number(n) {}
  friend constexpr Count operator+(Count a, Count b) {
    std::uint64_t sum = 0;
    return __builtin_add_overflow(a.number, b.number, &sum) ? UINT64_MAX : sum;
  }
  friend constexpr Count operator*(Count a, Count b) {
    std::uint64_t product = 0;
    return __builtin_mul_overflow(a.number, b.number, &product) ? UINT64_MAX : product;
  }
};
/// How many parameters a model of this configuration has, without building it.
inline std::uint64_t parameterCountOf(const burtorch::GptConfig& c) {
  const Count one = c.hasBiases ? 1 : 0, w = c.width, v = c.vocabularyRows(),
              hidden = c.hidden > 0 ? Count(c.hidden) : Count(4) * w;
  const Count norm = w + one * w, qkv = Count(3) * w * (w + Count(c.hasAttentionBias ? 1 : 0)),
              projection = w * (w + one), expand = hidden * (w + one), contract = w * (hidden + one);
  const Count block = norm + qkv + projection + norm + expand + contract;
  return (v * w + Count(c.context) * w + Count(c.layers) * block + (c.finalNorm ? norm : Count(0)) +
          (c.isTied ? Count(0) : v * (w + one)))
      .number;
}
inline std::uint64_t parameterCountOf(const burtorch::CharMlpConfig& c) {
  const Count one = 1, v = c.vocabulary, e = c.embedding, h = c.hidden;
  return (v * e + h * (Count(c.context) * e + one) + v * (h + one)).number;
}

/// A model of `burt train`: a state, an exported model, or the folder of a run.
class ModelFile {
 public:
  explicit ModelFile(const std::string& path) : file_(fileIn(path)) {}

  const burtorch::SafetensorsFile& file() const { return file_; }
  const std::string& path() const { return file_.path(); }
  const std::string& text(const std::string& key) const {
    const auto found = file_.metadata().find(key);
    if (found == file_.metadata().end()) refuse("has no '" + key + "'; was it written by burt train?");
    return found->second;
  }
  /// "gpt" or "mlp".
  const std::string& kind() const {
    const std::string& kind = text("model");
    if (kind != "gpt" && kind != "mlp")
      refuse("holds a model of kind '" + burtorch::printable(kind, 30) + "'; expected gpt or mlp");
    return kind;
  }
  burtorch::Tokenizer tokenizer() const { return burtorch::Tokenizer::fromString(text("vocabulary")); }

  /// The configuration, which fits the tensors of the file.
  template <class Config> Config config() const {
    Config config;
    if (kind() != kindOf(config)) refuse("holds a model of kind '" + kind() + "', not " + kindOf(config));
    const std::string missing = readFields(config, "", file_.metadata(), path());
    if (!missing.empty()) text(missing);
    parse(config.vocabulary, "'" + burtorch::printable(path()) + "' has a wrong 'vocabulary_size'",
          burtorch::printable(text("vocabulary_size"), 30), 2, UINT32_MAX);
    if (config.vocabulary != tokenizer().size())
      refuse("says that its vocabulary has " + textOf(config.vocabulary) + " tokens, but lists " +
             textOf(tokenizer().size()) + "; was it damaged?");
    config.check();
    Count numbers = 0;
    for (const burtorch::TensorInfo& tensor : file_.tensors())
      if (tensor.name != burtorch::safetensors::stateName)
        numbers =
            numbers + Count(tensor.bytes() /
                            std::max<std::uint64_t>(1, burtorch::safetensors::bytesPerNumber(tensor.dtype)));
    if (numbers.number != parameterCountOf(config))
      refuse("describes a model of " + textOf(parameterCountOf(config)) + " parameters, but holds " +
             textOf(numbers.number) + "; was its metadata changed?");
    return config;
  }
  void requireFinite() const {
    for (const burtorch::TensorInfo& tensor : file_.tensors()) {
      const auto type = burtorch::safetensors::realTypeOf(tensor.dtype);
      if (!type || tensor.name == burtorch::safetensors::stateName) continue;
      const auto summary = burtorch::summarize(*type, file_.bytes(tensor));
      if (summary.nans() + summary.infinities() > 0)
        refuse("has " + textOf(summary.nans()) + " NaN and " + textOf(summary.infinities()) +
               " infinite numbers in tensor '" + burtorch::printable(tensor.name, 50) +
               "'; use a model that was trained without them");
    }
  }

 private:
  static std::string fileIn(const std::string& path) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) return path;
    const std::filesystem::path file = std::filesystem::path(path) / stateName;
    if (!std::filesystem::exists(file, ignored))
      throw BadInput("'" + burtorch::printable(path) + "' is not the folder of a run: it has no " +
                     stateName);
    return file.string();
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw BadInput("'" + burtorch::printable(path()) + "' " + why);
  }

  burtorch::SafetensorsFile file_;
};

/// What a model file says of its model; options of the run are not among it.
template <class Config> Metadata metadataOf(const Config& config, const burtorch::Tokenizer& tokenizer) {
  Metadata metadata{{"model", kindOf(config)},
                    {"vocabulary", tokenizer.toString()},
                    {"vocabulary_size", textOf(config.vocabulary)}};
  describe(config, "", metadata);
  return metadata;
}

/// A model with its parameters.
template <class Model> struct OwnedModel {
  Model model;
  burtorch::ParameterStore<float> parameters;

  template <class Config>
  explicit OwnedModel(const Config& config) : model(checked(config)), parameters(model.layout()) {}
  template <class Config> OwnedModel(const ModelFile& file, const Config& config) : OwnedModel(config) {
    file.requireFinite();
    loadParameters(file.file(), parameters);
  }

 private:
  template <class Config> static const Config& checked(const Config& config) {
    config.check();
    if (parameterCountOf(config) > burtorch::maxIndex)
      throw BadInput("this model would have " + textOf(parameterCountOf(config)) + " parameters; at most " +
                     textOf(std::uint64_t{burtorch::maxIndex}) + " are possible: choose a smaller " +
                     sizesOf(config));
    return config;
  }
};

}  // namespace burt
