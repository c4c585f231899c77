// The same work in every object: a gradient through layers, lists and packs. Nothing here has a name that two objects share.
#pragma once

#include <burtorch/learn.hpp>
#include <cstddef>
#include <vector>

namespace {

std::vector<double> work() {
  using namespace burtorch;
  const Gpt<float> gpt({.vocabulary = 11, .context = 7, .width = 12, .layers = 2, .heads = 3});
  ParameterStore<float> parameters(gpt.layout(), 5);
  Tape<float> tape(parameters);
  const CurrentTape here(tape);
  std::vector<TokenId> tokens(21), targets(21);
  for (NodeIndex i = 0; i < 21; ++i) {
    tokens[i] = (i * 5 + 2) % 11;
    targets[i] = (i * 3 + 1) % 11;
  }
  const auto loss = gpt.loss(tokens, targets);
  backward(loss);
  std::vector<double> all{static_cast<double>(loss.dataCopy())};
  for (const float g : parameters.gradients()) all.push_back(static_cast<double>(g));
  Optimizer<float, AdamW> optimizer(AdamW{}, parameters.size());
  optimizer.step(parameters.values(), parameters.gradients());
  for (const float x : parameters.values()) all.push_back(static_cast<double>(x));
  return all;
}

/// How many floats a vector has here.
std::size_t width() { return burtorch::packWidth<float>; }

}  // namespace
