// The oracle and the training of a model with dropout: who drops, and that tiles, threads and interruptions change nothing.
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/model/char_mlp.hpp>
#include <burtorch/model/gpt.hpp>
#include <burtorch/oracle/token_oracle.hpp>
#include <burtorch/train/training.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace burtorch {
namespace dropout_test {

struct Samples {
  std::size_t vocabulary = 11;
  std::size_t size() const { return 64; }
  void read(std::size_t i, std::span<TokenId> tokens, std::span<TokenId> targets) const {
    Rng rng(i, 7);
    for (TokenId& token : tokens) token = static_cast<TokenId>(rng.index(vocabulary));
    for (TokenId& target : targets) target = static_cast<TokenId>(rng.index(vocabulary));
  }
};
constexpr StepKey step{.seed = 3, .step = 8};

template <class T> struct Experiment {
  Gpt<T> gpt;
  ParameterStore<T> parameters{gpt.layout(), 3};
  TokenOracle<Gpt<T>, Samples> oracle;
  explicit Experiment(double dropout, const TokenOracleOptions& options = {}, std::size_t context = 6,
                      std::size_t width = 12)
      : gpt({.vocabulary = 11,
             .context = context,
             .width = width,
             .layers = 2,
             .heads = 3,
             .finalNorm = true,
             .activation = Activation::gelu,
             .dropout = dropout}),
        oracle(gpt, parameters, Samples{}, options) {}
  std::vector<T> gradients() const { return {oracle.gradients().begin(), oracle.gradients().end()}; }
};
const std::vector<std::size_t> batch{5, 1, 40, 7, 7, 12, 63};

TEST(OracleDropout, IsInTheGradientOfAStepAlone) {
  Experiment<double> with(0.2), without(0);
  EXPECT_EQ(with.oracle.value(batch), without.oracle.value(batch));
  EXPECT_EQ(with.oracle.gradient(batch), without.oracle.gradient(batch));
  EXPECT_EQ(with.gradients(), without.gradients());
  EXPECT_EQ(without.oracle.gradient(batch, step), without.oracle.gradient(batch));
  const double loss = with.oracle.gradient(batch, step);
  EXPECT_NE(loss, without.oracle.value(batch));
  const auto found = with.gradients();
  EXPECT_EQ(with.oracle.gradient(batch, step), loss);
  EXPECT_EQ(with.gradients(), found);
  EXPECT_NE(with.oracle.gradient(batch, {3, 9}), loss);
  EXPECT_NE(with.oracle.gradient(batch, {4, 8}), loss);
  EXPECT_EQ(with.oracle.value(batch), without.oracle.value(batch));
}
TEST(OracleDropout, OfAModelWithoutItIsIgnored) {
  const CharMlp<double> mlp({.vocabulary = 11, .context = 4, .embedding = 5, .hidden = 7});
  ParameterStore<double> parameters(mlp.layout(), 3);
  TokenOracle oracle(mlp, parameters, Samples{});
  EXPECT_EQ(oracle.gradient(batch, step), oracle.gradient(batch));
}
// A sample that is drawn twice has two masks.
TEST(OracleDropout, BelongsToThePlaceInTheBatch) {
  Experiment<double> e(0.2);
  const std::vector<std::size_t> first{7, 7}, one{7};
  const double both = e.oracle.gradient(first, step), alone = e.oracle.gradient(one, step);
  EXPECT_NE(both, alone);
}
TEST(OracleDropout, IsTheSameForEveryTile) {
  Experiment<double> serial(0.2, {.tile = 1, .shards = 1});
  const double loss = serial.oracle.gradient(batch, step);
  for (const std::size_t tile : {2u, 3u, 7u, 20u}) {
    Experiment<double> tiled(0.2, {.tile = tile, .shards = 1});
    EXPECT_NEAR(tiled.oracle.gradient(batch, step), loss, 1e-14);
    for (std::size_t i = 0; i < serial.parameters.size(); ++i)
      EXPECT_NEAR(tiled.oracle.gradients()[i], serial.oracle.gradients()[i], 1e-14) << tile << " " << i;
  }
}
TEST(OracleDropout, HasTheBitsOfASerialRunForAnyNumberOfThreads) {
  std::vector<std::size_t> many(50);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = i * 37 % 64;
  // Several shards, and single layers shared by all threads.
  for (const auto& [shards, context, width] : {std::array<std::size_t, 3>{7, 6, 12}, {1, 60, 192}}) {
    const TokenOracleOptions options{.tile = shards == 1 ? 5u : 3u, .shards = shards};
    Experiment<float> serial(0.2, options, context, width);
    const double loss = serial.oracle.gradient(std::span(many).first(shards == 1 ? 10 : 50), step);
    for (const std::size_t threads : {1u, 2u, 3u, 8u}) {
      ThreadPool pool(threads);
      const CurrentWorkers help(pool);
      Experiment<float> helped(0.2, options, context, width);
      EXPECT_EQ(helped.oracle.gradient(std::span(many).first(shards == 1 ? 10 : 50), step), loss);
      EXPECT_EQ(helped.gradients(), serial.gradients()) << threads << " threads, context " << context;
    }
  }
}

/// The parameters after `steps` steps in parts; between them everything but what is saved is made again.
std::vector<float> trained(std::vector<std::uint64_t> parts, double dropout, std::uint64_t seed = 5) {
  std::vector<float> values, state;
  std::uint64_t done = 0, random = 0;
  for (const std::uint64_t steps : parts) {
    Experiment<float> e(dropout);
    Optimizer<float> optimizer(AdamW{.learningRate = 1e-2}, e.parameters.size());
    Training training(e.oracle, e.oracle, optimizer, Schedule{ConstantRate{1e-2}},
                      {.steps = done + steps, .batch = 4, .evaluationSamples = 5}, seed);
    if (done > 0) {
      std::ranges::copy(values, e.parameters.values().begin());
      std::ranges::copy(state, optimizer.state().begin());
      optimizer.setSteps(done);
      training.rng().setState(random);
    }
    training.rehearse();  // changes nothing
    training.run([](const TrainingStep&) { return true; });
    values.assign(e.parameters.values().begin(), e.parameters.values().end());
    state.assign(optimizer.state().begin(), optimizer.state().end());
    random = training.rng().state();
    done += steps;
  }
  return values;
}
TEST(OracleDropout, ATrainingInPartsHasTheBitsOfAWholeOne) {
  const auto whole = trained({20}, 0.2);
  EXPECT_EQ(trained({7, 1, 12}, 0.2), whole);
  EXPECT_NE(trained({20}, 0), whole);
  EXPECT_NE(trained({20}, 0.2, 6), whole);
}

}  // namespace dropout_test
}  // namespace burtorch
