// A whole small training program, for its memory and its start: maps a file, makes a model and AdamW, takes ten steps, and
// prints when it had its first gradient and what it needs at least: numbers of the model, their gradients, the optimiser's
// state, one tile of activations with theirs, and the text.
#pragma once

#include <time.h>

#include <burtorch/base/rng.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/io/mapped_file.hpp>
#include <burtorch/oracle/token_oracle.hpp>
#include <burtorch/train/optimizer.hpp>
#include <cstdio>
#include <cstdlib>
#include <vector>

/// How many numbers one tile of samples adds to the tape.
template <class Model>
std::size_t activationsOf(const Model& model, burtorch::ParameterStore<float>& parameters, std::size_t tile) {
  burtorch::Tape<float> tape(parameters);
  const burtorch::CurrentTape here(tape);
  const std::size_t columns = model.columnsFor(tile);
  const std::vector<burtorch::TokenId> tokens(model.tokenCount(columns)), targets(columns);
  model.loss(tokens, targets);
  return tape.used().scalars;
}

/// arguments: FILE BATCH TILE. `samplesOf(corpus)` gives what the oracle reads.
template <class Model, class Config, class Corpus, class SamplesOf>
int trainSteps(char** arguments, const Config& config, SamplesOf samplesOf) {
  using namespace burtorch;
  const MappedFile file(arguments[1]);
  const auto batch = static_cast<std::size_t>(std::atol(arguments[2]));
  const auto tile = static_cast<std::size_t>(std::atol(arguments[3]));
  const Corpus corpus(file.text());
  const Model model(config);
  ParameterStore<float> parameters(model.layout());
  Rng rng(1);
  for (float& x : parameters.values()) x = 0.2f * rng.uniform<float>() - 0.1f;
  TokenOracle<Model, decltype(samplesOf(corpus))> oracle(model, parameters, samplesOf(corpus), tile);
  Optimizer<float, AdamW> optimizer(AdamW{}, parameters.size());
  std::vector<std::size_t> chosen(batch);
  timespec first{};
  for (int step = 0; step < 10; ++step) {
    for (std::size_t& i : chosen) i = rng.below(oracle.size());
    oracle.gradient(chosen);
    if (step == 0) clock_gettime(CLOCK_MONOTONIC, &first);
    optimizer.step(parameters.values(), parameters.gradients());
  }
  const std::size_t numbers = parameters.size(),
                    activations = activationsOf(model, parameters, oracle.tile());
  std::printf("%.0f %zu\n", static_cast<double>(first.tv_sec) * 1e9 + static_cast<double>(first.tv_nsec),
              (4 * numbers + 2 * activations) * sizeof(float) + file.text().size());
  std::fflush(stdout);
  std::getchar();  // until the harness has looked at the memory
  return 0;
}
