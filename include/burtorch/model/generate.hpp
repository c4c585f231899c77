// Text from a trained model, token by token: the logits of the next token, made softer or harder by a temperature, cut to
// the likeliest few, and one drawn by chance.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "../base/rng.hpp"
#include "char_mlp.hpp"
#include "gpt.hpp"

namespace burtorch::inline BURTORCH_TARGET {

struct SamplingOptions {
  double temperature = 1;  // 0: always the likeliest
  std::size_t topK = 0;    // 0: all

  void check() const {
    if (!(temperature >= 0 && temperature <= 100))
      fail("a temperature of %g: 0 to 100 is possible", temperature);
  }
};

/// Draws a token by its logits.
template <class T> TokenId drawToken(std::span<const T> logits, const SamplingOptions& options, Rng& rng) {
  std::vector<TokenId> order(logits.size());
  std::iota(order.begin(), order.end(), TokenId{0});
  // A stable order, so that equal logits do not depend on the library's sort.
  std::stable_sort(order.begin(), order.end(), [&](TokenId x, TokenId y) { return logits[x] > logits[y]; });
  if (options.temperature == 0) return order[0];
  const std::size_t count = options.topK > 0 ? std::min(options.topK, order.size()) : order.size();
  std::vector<double> weights(count);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double below = static_cast<double>(logits[order[i]]) - static_cast<double>(logits[order[0]]);
    sum += weights[i] = std::exp(below / options.temperature);
  }
  double left = rng.uniform<double>() * sum;
  for (std::size_t i = 0; i + 1 < count; ++i)
    if ((left -= weights[i]) < 0) return order[i];
  return order[count - 1];
}

/// The logits after `tokens`, of which a GPT sees the last `context`. The tape is bound to the model's parameters and left
/// as it was.
template <class T, Config C>
void nextLogits(const Gpt<T, C>& gpt, Tape<T, C>& tape, std::span<const TokenId> tokens,
                std::span<T> logits) {
  const std::size_t seen = std::min(tokens.size(), gpt.config().context);
  if (seen == 0) fail("cannot generate from an empty prompt; pass at least one token");
  const CurrentTape here(tape);
  const SampleScope scope(tape);
  const auto all = gpt.logits(tokens.last(seen), seen);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = all(i, seen - 1).value();
}
/// A char MLP sees token 0 before a word begins.
template <class T, Config C>
void nextLogits(const CharMlp<T, C>& mlp, Tape<T, C>& tape, std::span<const TokenId> tokens,
                std::span<T> logits) {
  const std::size_t context = mlp.config().context, seen = std::min(tokens.size(), context);
  const CurrentTape here(tape);
  const SampleScope scope(tape);
  std::vector<TokenId> places(context, 0);
  std::copy(tokens.end() - static_cast<std::ptrdiff_t>(seen), tokens.end(),
            places.end() - static_cast<std::ptrdiff_t>(seen));
  const auto all = mlp.logits(places, 1);
  for (std::size_t i = 0; i < logits.size(); ++i) logits[i] = all(i, 0).value();
}

/// Appends tokens with the model at these parameters until there are `count` new ones or `isEnd(token)`.
template <template <class, Config> class Model, class T, Config C, class IsEnd>
void generate(const Model<T, C>& model, ParameterStore<T>& parameters, std::vector<TokenId>& tokens,
              std::size_t count, const SamplingOptions& options, Rng& rng, IsEnd isEnd) {
  options.check();
  Tape<T, C> tape(parameters);
  std::vector<T> logits(model.config().vocabulary);
  for (std::size_t i = 0; i < count; ++i) {
    nextLogits(model, tape, std::span<const TokenId>(tokens), std::span(logits));
    const TokenId token = drawToken(std::span<const T>(logits), options, rng);
    if (isEnd(token)) return;
    tokens.push_back(token);
  }
}

}  // namespace burtorch::inline BURTORCH_TARGET
