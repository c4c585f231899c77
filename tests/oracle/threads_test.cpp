// The oracle with threads: the bits of a serial run for any number of them, errors that reach the caller, no allocation.
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/model/char_mlp.hpp>
#include <burtorch/model/gpt.hpp>
#include <burtorch/oracle/token_oracle.hpp>
#include <burtorch/train/training.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <optional>
#include <thread>
#include <vector>

#include "reference/allocation_counter.hpp"

namespace burtorch {
namespace threads_test {

struct Samples {
  std::size_t vocabulary, badSample = SIZE_MAX;
  std::size_t size() const { return 1024; }
  void read(std::size_t i, std::span<TokenId> tokens, std::span<TokenId> targets) const {
    Rng rng(i, 7);
    for (TokenId& token : tokens) token = static_cast<TokenId>(rng.index(vocabulary));
    for (TokenId& target : targets) target = static_cast<TokenId>(rng.index(vocabulary));
    if (i == badSample) tokens[0] = static_cast<TokenId>(vocabulary + 3);
  }
};
std::vector<std::size_t> batchOf(std::size_t count) {
  std::vector<std::size_t> batch(count);
  for (std::size_t i = 0; i < count; ++i) batch[i] = i * 37 % 1024;
  return batch;
}

/// Bits, so that NaN equals NaN and 0 is not -0.
struct Result {
  std::vector<std::uint32_t> numbers;
  double loss = 0, value = 0;
  bool operator==(const Result&) const = default;
};
std::vector<std::uint32_t> bitsOf(std::span<const float> numbers) {
  std::vector<std::uint32_t> bits;
  for (const float x : numbers) bits.push_back(std::bit_cast<std::uint32_t>(x));
  return bits;
}

template <class Model, class Config>
Result gradientOf(const Config& config, std::size_t batch, TokenOracleOptions options, std::size_t threads) {
  const Model model(config);
  ParameterStore<float> parameters(model.layout(), 3);
  std::optional<ThreadPool> pool;
  if (threads > 0) options.workers = &pool.emplace(threads);
  TokenOracle oracle(model, parameters, Samples{config.vocabulary}, options);
  Result result;
  result.loss = oracle.gradient(batchOf(batch));
  result.numbers = bitsOf(oracle.gradients());
  result.value = oracle.value(batchOf(batch));
  return result;
}
/// Some steps with everything that training does.
template <class Model, class Config>
Result trained(const Config& config, std::size_t batch, std::size_t threads, std::uint64_t steps = 20) {
  const Model model(config);
  ParameterStore<float> parameters(model.layout(), 3);
  ThreadPool pool(threads);
  const CurrentWorkers here(pool);
  TokenOracle oracle(model, parameters, Samples{config.vocabulary});
  Optimizer<float> optimizer(AdamW{.learningRate = 1e-2}, parameters.size());
  optimizer.exemptFromDecay(model.layout());
  Training training(oracle, oracle, optimizer, Schedule{ConstantRate{1e-2}},
                    {.steps = steps,
                     .batch = batch,
                     .clipNorm = 1,
                     .evaluationSamples = std::min<std::size_t>(300, 10 * batch)},
                    5);
  Result result;
  training.run([&](const TrainingStep& step) {
    result.loss += step.loss;
    result.value += step.isEvaluated() ? step.validationLoss : 0;
    return true;
  });
  result.numbers = bitsOf(parameters.values());
  return result;
}

const GptConfig small{.vocabulary = 11, .context = 8, .width = 12, .layers = 2, .heads = 3};
const GptConfig odd{.vocabulary = 7,
                    .context = 5,
                    .width = 6,
                    .layers = 1,
                    .heads = 2,
                    .finalNorm = true,
                    .hasBiases = false,
                    .isTied = true,
                    .activation = Activation::gelu};
constexpr std::size_t threadCounts[] = {1, 2, 3, 8};

template <class Model, class Config>
void expectSameBits(const Config& config, std::size_t batch, const TokenOracleOptions& options) {
  const Result serial = gradientOf<Model>(config, batch, options, 0);
  EXPECT_NEAR(serial.loss, serial.value, 1e-6);
  for (const std::size_t threads : threadCounts)
    EXPECT_TRUE(gradientOf<Model>(config, batch, options, threads) == serial)
        << threads << " threads, batch " << batch << ", tile " << options.tile << ", shards "
        << options.shards;
}
TEST(Threads, GiveAGptTheBitsOfASerialRun) {
  for (const std::size_t batch : {1u, 3u, 33u, 64u, 131u}) expectSameBits<Gpt<float>>(small, batch, {});
  for (const std::size_t batch : {1u, 7u, 211u}) expectSameBits<Gpt<float>>(odd, batch, {.tile = 3});
  for (const std::size_t shards : {2u, 3u, 5u, 7u, 16u})
    expectSameBits<Gpt<float>>(odd, 20, {.tile = 1, .shards = shards});
}
TEST(Threads, GiveACharMlpTheBitsOfASerialRun) {
  const CharMlpConfig config{.vocabulary = 9, .context = 4, .embedding = 5, .hidden = 17};
  for (const std::size_t batch : {1u, 64u, 257u, 700u}) expectSameBits<CharMlp<float>>(config, batch, {});
  expectSameBits<CharMlp<float>>(config, 45, {.tile = 4, .shards = 5});
}
TEST(Threads, GiveTrainingTheBitsOfASerialRun) {
  const CharMlpConfig mlp{.vocabulary = 9, .context = 4, .embedding = 5, .hidden = 17};
  const Result gpt = trained<Gpt<float>>(small, 50, 1), names = trained<CharMlp<float>>(mlp, 300, 1);
  for (const std::size_t threads : {2u, 3u, 8u}) {
    EXPECT_TRUE(trained<Gpt<float>>(small, 50, threads) == gpt) << threads << " threads";
    EXPECT_TRUE(trained<CharMlp<float>>(mlp, 300, threads) == names) << threads << " threads";
  }
}
// One sample at a time, so that all threads work on the same layer: large products of every kind, long and short attention,
// norms, activations, a vocabulary, odd sizes.
TEST(Threads, GiveLargeLayersTheBitsOfASerialRun) {
  const GptConfig wide{.vocabulary = 1031,
                       .context = 150,
                       .width = 268,
                       .layers = 1,
                       .heads = 4,
                       .finalNorm = true,
                       .activation = Activation::gelu};
  const GptConfig shorter{.vocabulary = 101, .context = 40, .width = 192, .layers = 1, .heads = 6};
  expectSameBits<Gpt<float>>(wide, 3, {.shards = 1});
  expectSameBits<Gpt<float>>(shorter, 26, {.tile = 13, .shards = 1});
  expectSameBits<CharMlp<float>>(
      CharMlpConfig{.vocabulary = 60, .context = 8, .embedding = 64, .hidden = 700}, 300,
      {.tile = 300, .shards = 1});
}
TEST(Threads, GiveTheTrainingOfALargeLayerTheBitsOfASerialRun) {
  const GptConfig wide{.vocabulary = 301, .context = 60, .width = 256, .layers = 1, .heads = 4};
  const Result serial = trained<Gpt<float>>(wide, 3, 1, 4);
  for (const std::size_t threads : {2u, 3u, 8u})
    EXPECT_TRUE(trained<Gpt<float>>(wide, 3, threads, 4) == serial) << threads << " threads";
}
// One shard is what an oracle without shards computed; several differ from it by rounding.
TEST(Threads, ShardsAddUpToTheGradient) {
  const Gpt<double> model(odd);
  ParameterStore<double> parameters(model.layout(), 3);
  std::vector<double> one(parameters.size()), many(parameters.size());
  const double loss =
      TokenOracle(model, parameters, Samples{7}, {.tile = 1, .shards = 1}).gradient(batchOf(13), one);
  for (const std::size_t shards : {2u, 3u, 6u, 13u}) {
    TokenOracle oracle(model, parameters, Samples{7}, {.tile = 1, .shards = shards});
    EXPECT_NEAR(oracle.gradient(batchOf(13), many), loss, 1e-14);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(many[i], one[i], 1e-15) << shards << " " << i;
  }
}
TEST(Threads, ABatchHasAsManyShardsWhateverHelps) {
  const Gpt<float> model{GptConfig{}};
  ParameterStore<float> parameters(model.layout());
  ThreadPool pool(3);
  const TokenOracle serial(model, parameters, Samples{65});
  const TokenOracle helped(model, parameters, Samples{65}, {.workers = &pool});
  for (const std::size_t batch : {1u, 8u, 16u, 31u, 32u, 64u, 1000u, 100000u})
    EXPECT_EQ(serial.shardCount(batch), helped.shardCount(batch));
  EXPECT_EQ(serial.shardCount(16), 1u);
  EXPECT_EQ(serial.shardCount(64), 4u);
  EXPECT_EQ(serial.shardCount(100000), 32u);
}
TEST(Threads, AnErrorInAShardReachesTheCallerAndTheNextCallWorks) {
  const Gpt<float> model(small);
  ParameterStore<float> parameters(model.layout(), 3);
  ThreadPool pool(4);
  TokenOracle oracle(model, parameters, Samples{11, 37 * 40 % 1024}, {.workers = &pool});
  const Result want = gradientOf<Gpt<float>>(small, 40, {}, 0);
  for (int round = 0; round < 200; ++round) {
    EXPECT_THROW(oracle.gradient(batchOf(64)), Error);
    EXPECT_THROW(oracle.value(batchOf(64)), Error);
    const double loss = oracle.gradient(batchOf(40));  // does not reach the bad sample
    ASSERT_EQ(loss, want.loss);
    ASSERT_EQ(bitsOf(oracle.gradients()), want.numbers);
  }
}
TEST(Threads, TapesOfManyThreadsAreIndependent) {
  const Result want = gradientOf<Gpt<float>>(small, 33, {}, 0);
  std::vector<Result> found(8);
  std::vector<std::thread> threads;
  for (Result& result : found)
    threads.emplace_back([&result] {
      for (int round = 0; round < 5; ++round)
        result = gradientOf<Gpt<float>>(small, 33, {}, static_cast<std::size_t>(round % 3));
    });
  for (std::thread& thread : threads) thread.join();
  for (const Result& result : found) EXPECT_TRUE(result == want);
}
TEST(Threads, OraclesInSeveralThreadsMayShareAPool) {
  const Result want = gradientOf<Gpt<float>>(small, 64, {}, 0);
  ThreadPool pool(2);
  std::vector<int> right(3);
  std::vector<std::thread> threads;
  for (int& count : right)
    threads.emplace_back([&] {
      const Gpt<float> model(small);
      ParameterStore<float> parameters(model.layout(), 3);
      TokenOracle oracle(model, parameters, Samples{11}, {.workers = &pool});
      for (int round = 0; round < 20; ++round) {
        oracle.gradient(batchOf(64));
        count += bitsOf(oracle.gradients()) == want.numbers;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<int>(3, 20));
}
TEST(Threads, AGradientAllocatesNothing) {
  const Gpt<float> model(small);
  ParameterStore<float> parameters(model.layout(), 3);
  ThreadPool pool(3);
  TokenOracle oracle(model, parameters, Samples{11}, {.workers = &pool});
  const std::vector<std::size_t> batch = batchOf(128);
  for (int round = 0; round < 3; ++round) oracle.gradient(batch);
  allocations = 0;
  isCounting = true;  // of the calling thread, which makes everything that shards need
  for (int round = 0; round < 20; ++round) oracle.gradient(batch), oracle.value(batch);
  isCounting = false;
  EXPECT_EQ(allocations, 0u);
}

}  // namespace threads_test
}  // namespace burtorch
