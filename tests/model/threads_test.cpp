// One model and one set of values, read by several threads at once, each with a tape and gradients of its own: the same
// bits as one after the other.
#include <gtest/gtest.h>

#include <burtorch/base/rng.hpp>
#include <burtorch/core/backward.hpp>
#include <burtorch/model/gpt.hpp>
#include <thread>
#include <vector>

namespace burtorch {
namespace threads_test {

struct Outcome {
  std::vector<float> losses, gradients;
  bool operator==(const Outcome&) const = default;
};

/// Losses and the summed gradient of some samples, which `seed` decides.
Outcome run(const Gpt<float>& gpt, const ParameterStore<float>& parameters, std::uint64_t seed) {
  GradientBuffer<float> gradients(gpt.layout());
  Tape<float> tape;
  tape.bind(parameters.binding(gradients));
  const CurrentTape here(tape);
  Rng rng(seed);
  Outcome outcome;
  for (int sample = 0; sample < 20; ++sample) {
    const SampleScope scope(tape);
    std::vector<TokenId> tokens(gpt.columnsFor(2), noToken), targets(tokens.size(), noToken);
    for (std::size_t slot = 0; slot < 2; ++slot)
      for (std::size_t i = 0; i < gpt.tokensPerSample(); ++i) {
        tokens[gpt.tokenAt(slot, i, tokens.size())] = rng.below(gpt.config().vocabulary);
        targets[gpt.targetAt(slot, i)] = rng.below(gpt.config().vocabulary);
      }
    const auto loss = gpt.loss(tokens, targets);
    backward(loss);
    outcome.losses.push_back(loss.dataCopy());
  }
  outcome.gradients.assign(gradients.all().begin(), gradients.all().end());
  return outcome;
}

TEST(Threads, ShareOneModelAndItsParameters) {
  const Gpt<float> gpt({.vocabulary = 17, .context = 5, .width = 12, .layers = 2, .heads = 3});
  const ParameterStore<float> parameters(gpt.layout(), 3);
  constexpr std::size_t count = 3;
  std::vector<Outcome> serial, parallel(count);
  for (std::size_t i = 0; i < count; ++i) serial.push_back(run(gpt, parameters, i));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < count; ++i)
    threads.emplace_back([&, i] { parallel[i] = run(gpt, parameters, i); });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(parallel[i], serial[i]) << i;
  EXPECT_NE(serial[0], serial[1]);
}

}  // namespace threads_test
}  // namespace burtorch
