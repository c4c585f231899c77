// A trained model in a file: parameters under their names, and all that is needed to use them in the file's metadata. The
// metadata is checked against the tensors before anything is built, so a small file cannot ask for a large model.
//
// A GPT-2 as Hugging Face keeps it, a folder with config.json, model.safetensors, vocab.json and merges.txt, is such a model too.
#pragma once

#include <burtorch/checkpoint/gpt2_file.hpp>
#include <burtorch/checkpoint/parameters_file.hpp>
#include <burtorch/core/storage.hpp>
#include <burtorch/io/summary.hpp>
#include <burtorch/model/char_mlp.hpp>
#include <burtorch/model/gpt.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "any_tokenizer.hpp"
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

/// The file of a folder that holds a model: the state of a run, or the tensors of a GPT-2; "" if there is none.
inline std::string fileInFolder(const std::string& folder) {
  std::error_code ignored;
  const std::filesystem::path path(folder);
  if (std::filesystem::exists(path / stateName, ignored)) return (path / stateName).string();
  if (std::filesystem::exists(path / "config.json", ignored) &&
      std::filesystem::exists(path / "model.safetensors", ignored))
    return (path / "model.safetensors").string();
  return {};
}

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

/// A model of `burt train` (a state, an exported model, or the folder of a run), or a GPT-2 of Hugging Face.
class ModelFile {
 public:
  explicit ModelFile(const std::string& path) {
    const std::string file = fileIn(path);
    own_.emplace(file);
    std::error_code ignored;
    if (own_->metadata().contains("model") ||
        !std::filesystem::exists(std::filesystem::path(file).replace_filename("config.json"), ignored))
      return;
    own_.reset();
    gpt2_.emplace(file);
  }

  const burtorch::SafetensorsFile& file() const { return own_ ? *own_ : gpt2_->file(); }
  const std::string& path() const { return file().path(); }
  /// The file as a GPT-2 of Hugging Face, or nullptr.
  const burtorch::Gpt2File* gpt2() const { return gpt2_ ? &*gpt2_ : nullptr; }
  const std::string& text(const std::string& key) const {
    const auto found = file().metadata().find(key);
    if (found == file().metadata().end()) refuse("has no '" + key + "'; was it written by burt train?");
    return found->second;
  }
  /// "gpt" or "mlp".
  std::string kind() const {
    if (gpt2_) return "gpt";
    const std::string& kind = text("model");
    if (kind != "gpt" && kind != "mlp")
      refuse("holds a model of kind '" + burtorch::printable(kind, 30) + "'; expected gpt or mlp");
    return kind;
  }
  /// What the tokens are, which is read once.
  const AnyTokenizer& tokenizer() const {
    if (!tokenizer_)
      tokenizer_ = gpt2_ ? AnyTokenizer::fromFolder(std::filesystem::path(path()).parent_path().string())
                         : AnyTokenizer::fromMetadata(file().metadata(), path());
    return *tokenizer_;
  }

  /// The configuration, which fits the tensors of the file.
  template <class Config> Config config() const {
    Config config;
    if (kind() != kindOf(config)) refuse("holds a model of kind '" + kind() + "', not " + kindOf(config));
    if constexpr (std::is_same_v<Config, burtorch::GptConfig>)
      if (gpt2_) return gpt2Config();
    const std::string missing = readFields(config, "", file().metadata(), path());
    if (!missing.empty()) text(missing);
    parse(config.vocabulary, "'" + burtorch::printable(path()) + "' has a wrong 'vocabulary_size'",
          burtorch::printable(text("vocabulary_size"), 30), 2, UINT32_MAX);
    if (config.vocabulary != tokenizer().size())
      refuse("says that its vocabulary has " + textOf(config.vocabulary) + " tokens, but lists " +
             textOf(tokenizer().size()) + "; was it damaged?");
    if (std::is_same_v<Config, burtorch::CharMlpConfig> && tokenizer().characters() == nullptr)
      refuse(
          "has byte pairs for tokens, but a model of kind mlp takes characters; was its metadata changed?");
    config.check();
    Count numbers = 0;
    for (const burtorch::TensorInfo& tensor : file().tensors())
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
    for (const burtorch::TensorInfo& tensor : file().tensors()) {
      const auto type = burtorch::safetensors::realTypeOf(tensor.dtype);
      if (!type || tensor.name == burtorch::safetensors::stateName) continue;
      const auto summary = burtorch::summarize(*type, file().bytes(tensor));
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
    const std::string file = fileInFolder(path);
    if (file.empty())
      throw BadInput("'" + burtorch::printable(path) + "' is not the folder of a model: expected " +
                     stateName + " (a run) or config.json and model.safetensors (a GPT-2)");
    return file;
  }
  /// A GPT-2 may have more rows than its tokenizer has tokens.
  burtorch::GptConfig gpt2Config() const {
    burtorch::GptConfig config = gpt2_->config();
    const std::size_t rows = config.vocabulary;
    config.vocabulary = tokenizer().size();
    if (config.vocabulary > rows)
      refuse("has a vocabulary of " + textOf(std::uint64_t{rows}) + ", but the tokenizer beside it has " +
             textOf(std::uint64_t{config.vocabulary}) + " tokens; do the files belong together?");
    if (config.vocabulary < rows) config.paddedVocabulary = rows;
    return config;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw BadInput("'" + burtorch::printable(path()) + "' " + why);
  }

  std::optional<burtorch::SafetensorsFile> own_;
  std::optional<burtorch::Gpt2File> gpt2_;  // one of the two
  mutable std::optional<AnyTokenizer> tokenizer_;
};

/// What a model file says of its model; options of the run are not among it.
template <class Config> Metadata metadataOf(const Config& config, const AnyTokenizer& tokenizer) {
  Metadata metadata{{"model", kindOf(config)}, {"vocabulary_size", textOf(config.vocabulary)}};
  tokenizer.describe(metadata);
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
    load(file);
  }
  /// Takes the parameters of a file of the same sizes.
  void load(const ModelFile& file) {
    file.requireFinite();
    if constexpr (std::is_same_v<Model, burtorch::Gpt<float>>)
      if (file.gpt2() != nullptr) return file.gpt2()->load(model, parameters);
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
