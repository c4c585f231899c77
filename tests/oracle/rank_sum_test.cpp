// Gradients over ranks: the bits of one process for any number of ranks, shards and threads; messages that are wrong; stops.
#include <burtorch/oracle/rank_sum.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/model/gpt.hpp>
#include <burtorch/oracle/token_oracle.hpp>
#include <burtorch/train/training.hpp>
#include <limits>
#include <optional>
#include <vector>

#include "parallel/on_ranks.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace rank_sum_test {

struct Samples {
  std::size_t size() const { return 64; }
  void read(std::size_t i, std::span<TokenId> tokens, std::span<TokenId> targets) const {
    for (std::size_t k = 0; k < tokens.size(); ++k) {
      tokens[k] = static_cast<TokenId>((3 * i + k * k) % 7);
      targets[k] = static_cast<TokenId>((5 * i + k) % 7);
    }
  }
};
std::vector<std::uint32_t> bitsOf(std::span<const float> numbers) {
  std::vector<std::uint32_t> bits;
  for (const float x : numbers) bits.push_back(std::bit_cast<std::uint32_t>(x));
  return bits;
}
struct Result {
  std::vector<std::uint32_t> gradient;
  double loss = 0, value = 0, parts = 0;
  bool operator==(const Result&) const = default;
};
const GptConfig config{.vocabulary = 7, .context = 5, .width = 6, .layers = 1, .heads = 2};

Result resultOf(Ranks* ranks, std::size_t shards, std::size_t threads = 1) {
  const Gpt<float> gpt(config);
  ParameterStore<float> store(gpt.layout(), 3);
  ThreadPool pool(threads);
  TokenOracle oracle(gpt, store, Samples{}, {.tile = 2, .workers = &pool, .shards = shards, .ranks = ranks});
  std::vector<std::size_t> batch(37);
  for (std::size_t i = 0; i < batch.size(); ++i) batch[i] = i * i % 64;
  Result result;
  for (int repeat = 0; repeat < 3; ++repeat) {
    result.loss = oracle.gradient(batch);
    result.value = oracle.value(batch);
  }
  result.gradient = bitsOf(oracle.gradients());
  return result;
}

TEST(RankSum, HasTheBitsOfOneProcessForAnyNumberOfRanksShardsAndThreads) {
  for (const std::size_t shards : {1u, 2u, 3u, 4u, 7u, 8u, 13u, 37u}) {
    const Result expected = resultOf(nullptr, shards);
    for (const std::size_t size : {1u, 2u, 3u, 4u, 5u, 8u})
      for (const std::size_t threads : {1u, 3u}) {
        if (threads > 1 && size % 2 == 0) continue;
        RankGroup group(size);
        std::vector<Result> results(size);
        const auto sentences = sentencesOnRanks(
            group, [&](Ranks& ranks) { results[ranks.rank()] = resultOf(&ranks, shards, threads); });
        for (std::size_t rank = 0; rank < size; ++rank) {
          ASSERT_EQ(sentences[rank], "") << shards << " shards, " << size << " ranks";
          ASSERT_EQ(results[rank], expected) << shards << " shards, rank " << rank << " of " << size;
        }
      }
  }
}

TEST(RankSum, RanksShareTheShardsAmongThem) {
  for (std::size_t size = 1; size <= 9; ++size)
    for (std::size_t shards = 1; shards <= 40; ++shards) {
      std::size_t next = 0;
      for (std::size_t rank = 0; rank < size; ++rank) {
        const ShardRange range = RankSum<float>::shardsOf(rank, size, shards);
        EXPECT_EQ(range.first, next);
        EXPECT_LE(range.count(), shards / size + 1);
        EXPECT_GE(range.count(), shards / size);
        next = range.end;
      }
      EXPECT_EQ(next, shards);
    }
}

/// Blocks that are zero on some ranks only, a -0 and a NaN: what is added is what one process would add.
TEST(RankSum, ZeroBlocksAndSpecialNumbersKeepTheirBits) {
  ParameterLayout layout;
  for (const char* name : {"a", "b", "c"}) layout.add(name, ParameterRole::weight, 2, 1);
  const auto fillShard = [](GradientBuffer<float>& buffer, std::size_t shard) {
    buffer.zero();
    if (shard % 2 == 0) buffer.block(0)[1] = -0.0f;
    if (shard == 3) buffer.block(1)[0] = std::numeric_limits<float>::quiet_NaN();
    if (shard > 4) buffer.block(2)[0] = 1e-7f * static_cast<float>(shard);
  };
  constexpr std::size_t shards = 7;
  const auto sumOn = [&](Ranks* ranks, double& value) {
    GradientBuffer<float> into(layout);
    into.zero();
    ShardSum<float> sum(layout);
    std::optional<RankSum<float>> over;
    if (ranks != nullptr) over.emplace(*ranks);
    const ShardRange own = over ? over->own(shards) : ShardRange{0, shards};
    std::vector<double> values(shards);
    sum.start(into, shards, own, 1);
    for (std::size_t shard = own.first; shard < own.end; ++shard) {
      GradientBuffer<float>& buffer = sum.bufferOf(shard);
      fillShard(buffer, shard);
      values[shard] = 0.1 * static_cast<double>(shard);
      sum.finish(shard, buffer);
    }
    value = 0;
    for (const double part : values) value += part;
    if (over) value = over->sumOfGradients(sum, values, into);
    return bitsOf(into.all());
  };
  double expectedValue = 0;
  const auto expected = sumOn(nullptr, expectedValue);
  for (const std::size_t size : {2u, 3u, 7u, 9u}) {
    RankGroup group(size);
    const auto sentences = sentencesOnRanks(group, [&](Ranks& ranks) {
      double value = 0;
      if (sumOn(&ranks, value) != expected || value != expectedValue) fail("other bits");
    });
    EXPECT_EQ(sentences, std::vector<std::string>(size));
  }
}

TEST(RankSum, AMessageOfAWrongLengthIsNotUsed) {
  const auto attempt = [](std::size_t bytes) {
    RankGroup group(2);
    const auto sentences = sentencesOnRanks(group, [&](Ranks& ranks) {
      ParameterLayout layout;
      layout.add("a", ParameterRole::weight, 3, 1);
      GradientBuffer<float> into(layout);
      if (ranks.rank() == 0) {
        // What `broadcast` sends: a value, a word of bits, the numbers.
        std::vector<std::byte> message(bytes);
        return ranks.send(1, {0x103, 0, 1}, message);
      }
      RankSum<float> sum(ranks);
      sum.count();
      sum.broadcast(0, into);
    });
    return sentences[1];
  };
  EXPECT_EQ(attempt(8 + 8 + 12), "");
  for (const std::size_t bytes : {0u, 7u, 15u, 16u, 27u})
    EXPECT_EQ(attempt(bytes),
              "a gradient of another rank has a wrong length; do all ranks train the same model?");
  EXPECT_EQ(attempt(29), "rank 1 cannot take a message of rank 0: it is longer than agreed");
}

TEST(RankSum, RanksThatAreAtDifferentCallsAreFound) {
  RankGroup group(2);
  const auto sentences = sentencesOnRanks(group, [](Ranks& ranks) {
    RankSum<float> sum(ranks);
    std::vector<double> values(2, 1.0);
    if (ranks.rank() == 1) sum.count();
    sum.sumOfValues(values);
  });
  EXPECT_NE(sentences[0].find("expected message"), std::string::npos) << sentences[0];
}

/// Two gradients in a row have numbers of their own: the second message of a rank that stands still is not taken.
TEST(RankSum, AMessageOfTheGradientBeforeIsRefused) {
  RankGroup group(2);
  const auto sentences = sentencesOnRanks(group, [](Ranks& ranks) {
    if (ranks.rank() == 1) {
      for (int repeat = 0; repeat < 2; ++repeat)
        ranks.send(0, {0x102, 3, 1}, std::vector<std::byte>(8 + 8 + 12));
      ranks.receive(0, {0x103, 0, 1}, 100);
      return;
    }
    ParameterLayout layout;
    layout.add("a", ParameterRole::weight, 3, 1);
    GradientBuffer<float> into(layout);
    ShardSum<float> nodes(layout);
    RankSum<float> sum(ranks);
    for (int repeat = 0; repeat < 2; ++repeat) {
      std::vector<double> values(2);
      nodes.start(into, 2, {0, 1}, 1);
      GradientBuffer<float>& buffer = nodes.bufferOf(0);
      nodes.finish(0, buffer);
      sum.sumOfGradients(nodes, values, into);
    }
  });
  EXPECT_EQ(sentences[1], "");
  EXPECT_NE(sentences[0].find("expected message 258.3 of number 2 from rank 1, got 258.3 of number 1"),
            std::string::npos)
      << sentences[0];
}

struct Record {
  std::vector<std::uint32_t> parameters;
  std::vector<double> losses;
  bool operator==(const Record&) const = default;
};
/// A training of some steps, with a look that one rank takes alone.
Record trained(Ranks* ranks, std::uint64_t steps) {
  const Gpt<float> gpt(config);
  ParameterStore<float> store(gpt.layout(), 3);
  TokenOracle oracle(gpt, store, Samples{}, {.tile = 2, .shards = 5, .ranks = ranks});
  Optimizer<float> optimizer(AdamW{.learningRate = 1e-2}, store.size());
  Training training(oracle, oracle, optimizer, Schedule{ConstantRate{1e-2}},
                    {.steps = steps, .batch = 10, .clipNorm = 1, .evaluateEvery = 3, .evaluationSamples = 8},
                    9);
  Record run;
  training.run([&](const TrainingStep& step) {
    run.losses.push_back(step.loss);
    if (step.isEvaluated()) run.losses.push_back(step.validationLoss);
    // What one rank computes alone has the same bits and needs nobody.
    if (ranks != nullptr && ranks->rank() == 0) {
      oracle.setAlone(true);
      run.losses.push_back(oracle.value(training.batch()));
      oracle.setAlone(false);
    } else if (ranks == nullptr) {
      run.losses.push_back(oracle.value(training.batch()));
    }
    return true;
  });
  run.parameters = bitsOf(store.values());
  return run;
}
TEST(RankSum, ATrainingHasTheBitsOfOneProcess) {
  const Record expected = trained(nullptr, 12);
  RankGroup group(3);
  std::vector<Record> runs(3);
  const auto sentences =
      sentencesOnRanks(group, [&](Ranks& ranks) { runs[ranks.rank()] = trained(&ranks, 12); });
  EXPECT_EQ(sentences, std::vector<std::string>(3));
  EXPECT_EQ(runs[0], expected);
  for (const Record& run : runs) EXPECT_EQ(run.parameters, expected.parameters);
}

/// A rank that falls silent: the others get an error, and the training of each is as after its last whole step.
TEST(RankSum, AfterALostRankTheTrainingIsThatOfTheLastWholeStep) {
  constexpr std::uint64_t whole = 4;
  const auto session = [&](Ranks* ranks, std::uint64_t steps, std::uint64_t& random, std::uint64_t& done) {
    const Gpt<float> gpt(config);
    ParameterStore<float> store(gpt.layout(), 3);
    TokenOracle oracle(gpt, store, Samples{}, {.tile = 2, .shards = 5, .ranks = ranks});
    Optimizer<float> optimizer(Adam{.learningRate = 1e-2}, store.size());
    Training training(oracle, oracle, optimizer, Schedule{ConstantRate{1e-2}}, {.steps = steps, .batch = 10},
                      9);
    try {
      training.run([&](const TrainingStep& step) {
        return ranks == nullptr || ranks->rank() != 2 || step.step < whole;
      });
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::peerLost);
    }
    random = training.rng().next();
    done = training.stepsDone();
    return bitsOf(store.values());
  };
  std::uint64_t expectedRandom = 0, expectedDone = 0;
  const auto expected = session(nullptr, whole, expectedRandom, expectedDone);
  ASSERT_EQ(expectedDone, whole);
  RankGroup group(3);
  for (std::size_t rank = 0; rank < 3; ++rank) group[rank].setPatience(std::chrono::milliseconds(200));
  const auto sentences = sentencesOnRanks(group, [&](Ranks& ranks) {
    std::uint64_t random = 0, done = 0;
    const auto found = session(&ranks, 10, random, done);
    EXPECT_EQ(found, expected) << "rank " << ranks.rank();
    EXPECT_EQ(random, expectedRandom);
    EXPECT_EQ(done, whole);
  });
  EXPECT_EQ(sentences, std::vector<std::string>(3));
}

}  // namespace rank_sum_test
}  // namespace burtorch
