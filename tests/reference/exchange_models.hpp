// The two models that travel between PyTorch and us (make_models.py has their other halves), and one sample for each.
#pragma once

#include <burtorch/burtorch.hpp>
#include <burtorch/checkpoint/parameters_file.hpp>
#include <burtorch/model/char_mlp.hpp>
#include <burtorch/model/gpt.hpp>
#include <burtorch/oracle/token_oracle.hpp>
#include <numeric>
#include <span>
#include <vector>

namespace exchange {

using burtorch::TokenId;

template <class T> struct Gpt : burtorch::Gpt<T> {
  static constexpr const char* name = "gpt";
  Gpt() : burtorch::Gpt<T>({.vocabulary = 11, .context = 8, .width = 12, .layers = 2, .heads = 3}) {}
};
template <class T> struct CharMlp : burtorch::CharMlp<T> {
  static constexpr const char* name = "mlp";
  CharMlp() : burtorch::CharMlp<T>({.vocabulary = 11, .context = 4, .embedding = 8, .hidden = 6}) {}
};

/// The i-th token of the sample is 7 i + 3, the i-th target 5 i + 1, both within the vocabulary.
struct OneSample {
  std::size_t vocabulary;
  std::size_t size() const { return 1; }
  void read(std::size_t, std::span<TokenId> tokens, std::span<TokenId> targets) const {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      tokens[i] = static_cast<TokenId>((7 * i + 3) % vocabulary);
    for (std::size_t i = 0; i < targets.size(); ++i)
      targets[i] = static_cast<TokenId>((5 * i + 1) % vocabulary);
  }
};

template <class Model>
double lossOf(const Model& model, burtorch::ParameterStore<typename Model::Scalar>& parameters) {
  burtorch::TokenOracle<Model, OneSample> oracle(model, parameters, OneSample{model.config().vocabulary}, 1);
  const std::size_t first[] = {0};
  return oracle.value(first);
}
/// The loss of the model in a file, in fp64.
template <template <class> class Model> double lossOfFile(const std::string& path) {
  const Model<double> model;
  burtorch::ParameterStore<double> parameters(model.layout());
  burtorch::loadParameters(burtorch::SafetensorsFile(path), parameters);
  return lossOf(model, parameters);
}

}  // namespace exchange
