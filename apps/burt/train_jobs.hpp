// The two models that burt trains and evaluates, in what they differ: defaults, data, and sample texts.
#pragma once

#include <burtorch/data/text.hpp>
#include <burtorch/data/words.hpp>
#include <burtorch/model/generate.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "default_data.hpp"
#include "model_file.hpp"
#include "tokens_shown.hpp"
#include "train_options.hpp"

namespace burt {

/// Which windows of a text are samples: all there are, or those that share no target.
enum class Overlap { all, none };

struct GptJob {
  using Model = burtorch::Gpt<float>;
  using Config = burtorch::GptConfig;
  static constexpr const char* name = "gpt";

  static void setDefaults(TrainOptions& options) {
    options.steps = 40'000;
    options.batch = 32;
    options.learningRate = 3e-3;
    options.minimumRate = 3e-4;
    options.evaluateEvery = 2000;
    options.sampleEvery = 8000;
  }

  burtorch::TextCorpusOf<AnyTokenizer> corpus;
  GptJob(std::string_view text, const TrainOptions& options)
      : GptJob(text, options, AnyTokenizer(burtorch::Tokenizer(text))) {}
  /// A text in given tokens.
  GptJob(std::string_view text, const TrainOptions& options, AnyTokenizer tokenizer)
      : corpus(text, std::move(tokenizer), {.validation = options.validation}) {}
  static std::string_view defaultText() { return defaultData::scenes(); }
  const AnyTokenizer& tokenizer() const { return corpus.tokenizer(); }
  std::string size() const {
    return std::to_string(corpus.tokens().size()) + (tokenizer().characters() ? " characters" : " tokens");
  }
  auto samples(burtorch::Part part, const Config& config) const {
    return corpus.windows(part, {.context = config.context});
  }
  static auto samplesOf(burtorch::TokenView tokens, const Config& config, Overlap overlap) {
    return burtorch::TextWindows(
        tokens, {.context = config.context, .stride = overlap == Overlap::all ? 1 : config.context});
  }
  static std::size_t tokensOfFirstSample(const Config& config) { return config.context + 1; }
  std::size_t tokensPerSample(const Config& config) const { return config.context; }
  burtorch::TokenView tokens() const { return corpus.tokens(); }
  burtorch::TokenView tokens(burtorch::Part part) const { return corpus.tokens(part); }

  std::string sampleText(OwnedModel<Model>& owned, const TrainOptions& options, burtorch::Rng rng) const {
    std::vector<burtorch::TokenId> tokens{corpus.tokens()[0]};
    generate(owned.model, owned.parameters, tokens, options.sampleLength,
             {options.temperature, static_cast<std::size_t>(options.topK)}, rng,
             [](burtorch::NodeIndex) { return false; });
    TokensShown shown(tokenizer());
    std::string text;
    for (const burtorch::TokenId token : std::span(tokens).subspan(1)) text += shown.push(token);
    return text + shown.finish();
  }
};

struct MlpJob {
  using Model = burtorch::CharMlp<float>;
  using Config = burtorch::CharMlpConfig;
  static constexpr const char* name = "mlp";

  static void setDefaults(TrainOptions& options) {
    options.steps = 20'000;
    options.batch = 64;
    options.learningRate = 1e-3;
    options.minimumRate = 1e-5;
    options.evaluateEvery = 1000;
    options.sampleEvery = 4000;
    options.sampleLength = 200;
    options.temperature = 1;
  }

  burtorch::WordList words;
  AnyTokenizer characters;
  MlpJob(std::string_view text, const TrainOptions& options)
      : words(text, {.validation = options.validation, .seed = options.seed}),
        characters(words.tokenizer()) {}
  MlpJob(std::string_view text, const TrainOptions& options, const AnyTokenizer& tokenizer)
      : words(text,
              {.validation = options.validation, .seed = options.seed, .tokenizer = *tokenizer.characters()}),
        characters(tokenizer) {}
  static std::string_view defaultText() { return defaultData::names(); }
  const AnyTokenizer& tokenizer() const { return characters; }
  std::string size() const { return std::to_string(words.wordCount()) + " words"; }
  auto samples(burtorch::Part part, const Config& config) const {
    return words.samples(part, config.context);
  }
  /// Each token is the target of one sample.
  static auto samplesOf(burtorch::TokenView tokens, const Config& config, Overlap /*overlap*/) {
    return burtorch::WordSamples(tokens, config.context);
  }
  static std::size_t tokensOfFirstSample(const Config& /*config*/) { return 1; }
  std::size_t tokensPerSample(const Config&) const { return 1; }
  burtorch::TokenView tokens() const { return words.tokens(); }
  burtorch::TokenView tokens(burtorch::Part part) const { return words.tokens(part); }

  std::string sampleText(OwnedModel<Model>& owned, const TrainOptions& options, burtorch::Rng rng) const {
    std::string text;
    for (std::size_t length = 0; length < options.sampleLength;) {
      std::vector<burtorch::TokenId> tokens;
      generate(owned.model, owned.parameters, tokens, 40,
               {options.temperature, static_cast<std::size_t>(options.topK)}, rng,
               [](burtorch::TokenId token) { return token == 0; });
      text += text.empty() ? "" : "  ";
      TokensShown shown(tokenizer());
      for (const burtorch::TokenId token : tokens) text += shown.push(token);
      text += shown.finish();
      length += tokens.size() + 1;
    }
    return text;
  }
};

}  // namespace burt
