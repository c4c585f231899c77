// A saved model: parameters under their names, and everything needed to use them again in the file's metadata.
#pragma once

#include <burtorch/data/tokenizer.hpp>
#include <burtorch/io/parameters_file.hpp>
#include <burtorch/model/char_mlp.hpp>
#include <burtorch/model/gpt.hpp>
#include <charconv>
#include <string>

#include "flags.hpp"

namespace burt {

using burtorch::Metadata;

/// What a model file says of itself.
class Description {
 public:
  explicit Description(const burtorch::SafetensorsFile& file)
      : file_(file.path()), metadata_(file.metadata()) {}

  const std::string& text(const std::string& key) const {
    const auto found = metadata_.find(key);
    if (found == metadata_.end())
      throw BadInput(file_ + " does not say its '" + key + "': was it written by burt train?");
    return found->second;
  }
  std::uint64_t number(const std::string& key) const {
    const std::string& digits = text(key);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc{} || end != digits.data() + digits.size())
      throw BadInput(file_ + " gives '" + digits + "' for its '" + key + "', which is not a number");
    return number;
  }

 private:
  std::string file_;
  Metadata metadata_;
};

inline Metadata describe(const burtorch::GptConfig& c) {
  return {{"model", "gpt"},
          {"vocabulary_size", std::to_string(c.vocabulary)},
          {"context", std::to_string(c.context)},
          {"width", std::to_string(c.width)},
          {"layers", std::to_string(c.layers)},
          {"heads", std::to_string(c.heads)},
          {"hidden", std::to_string(c.hiddenWidth())},
          {"final_norm", c.hasFinalNorm ? "1" : "0"},
          {"attention_bias", c.hasAttentionBias ? "1" : "0"},
          {"gelu", c.isGelu ? "1" : "0"}};
}
inline Metadata describe(const burtorch::CharMlpConfig& c) {
  return {{"model", "mlp"},
          {"vocabulary_size", std::to_string(c.vocabulary)},
          {"context", std::to_string(c.context)},
          {"embedding", std::to_string(c.embedding)},
          {"hidden", std::to_string(c.hidden)}};
}
inline burtorch::GptConfig gptOf(const Description& d) {
  return {.vocabulary = d.number("vocabulary_size"),
          .context = d.number("context"),
          .width = d.number("width"),
          .layers = d.number("layers"),
          .heads = d.number("heads"),
          .hidden = d.number("hidden"),
          .hasFinalNorm = d.number("final_norm") != 0,
          .hasAttentionBias = d.number("attention_bias") != 0,
          .isGelu = d.number("gelu") != 0};
}
inline burtorch::CharMlpConfig charMlpOf(const Description& d) {
  return {.vocabulary = d.number("vocabulary_size"),
          .context = d.number("context"),
          .embedding = d.number("embedding"),
          .hidden = d.number("hidden")};
}

}  // namespace burt
