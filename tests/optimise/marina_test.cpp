// MARINA: gradient descent without compression, the shared coin, bits, the error of g, VR-MARINA, PermK, resuming.
#include "burtorch/optimise/marina.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "burtorch/optimise/compressor_text.hpp"
#include "burtorch/optimise/step_sizes.hpp"
#include "quadratics.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace marina_test {

using Server = MarinaServer<double>;
using Client = MarinaClient<Quadratics>;
using Message = std::vector<std::byte>;
const char* const texts[] = {"identity", "randk:3", "randseqk:3", "permk:4", "natural", "levels:3"};

std::vector<Client> clientsOf(Federation& all, const AnyCompressor& any, std::size_t batch = 0) {
  std::vector<Client> clients;
  for (std::size_t i = 0; i < all.functions.size(); ++i)
    clients.emplace_back(all.functions[i],
                         MarinaClientOptions{.compressor = any, .worker = i, .batch = batch});
  return clients;
}

// Four workers and a step of a power of two: products are exact, and a fused sum is the same as a plain one.
TEST(Marina, WithProbabilityOneIsGradientDescentBitForBit) {
  Federation all(4, 7, 3, 1);
  const Vector start = randomVector(7, 2);
  Server server(start,
                {.compressor = RandK{{.count = 2}}, .stepSize = 0x1p-5, .probability = 1, .workers = 4});
  auto clients = clientsOf(all, RandK{{.count = 2}});
  for (int round = 0; round < 20; ++round) roundOverBytes(server, clients, ascending(4));
  EXPECT_EQ(copyOf(server.x()), all.descended(start, 0x1p-5, 20));
}

TEST(Marina, WithoutCompressionIsGradientDescentBitForBit) {
  Federation all(4, 7, 3, 1);
  const Vector start = randomVector(7, 2);
  for (const char* text : {"identity", "randk:7", "randseqk:100%"}) {
    const AnyCompressor any = compressorFromText(text);
    Server server(start, {.compressor = any, .stepSize = 0x1p-5, .probability = 0.1, .workers = 4});
    auto clients = clientsOf(all, any);
    for (int round = 0; round < 20; ++round) roundOverBytes(server, clients, ascending(4));
    EXPECT_EQ(copyOf(server.x()), all.descended(start, 0x1p-5, 20)) << text;
  }
}

TEST(Marina, AllWorkersSeeTheSameCoinAndItIsFair) {
  Federation all(3, 4, 1, 1);
  const AnyCompressor any = RandK{{.count = 1}};
  Server server(randomVector(4, 2),
                {.compressor = any, .stepSize = 0.001, .probability = 0.25, .workers = 3, .seed = 6});
  auto clients = clientsOf(all, any);
  int full = 0;
  constexpr int rounds = 4000;
  for (int round = 0; round < rounds; ++round) {
    const auto sent = server.broadcast();
    const Message broadcast(sent.begin(), sent.end());
    for (std::size_t i = 0; i < 3; ++i) {
      Message message;
      clients[i].answer(std::span<const std::byte>(broadcast), message);
      EXPECT_EQ(message[1], broadcast[2]);
      server.receive(i, message);
    }
    const bool isFull = server.finishRound().isFull;
    EXPECT_TRUE(isFull || round > 0);
    full += isFull;
  }
  // Six standard deviations of a binomial number, missed with probability 2e-9; the first round is always full.
  EXPECT_NEAR(full, 1 + 0.25 * (rounds - 1), 6 * std::sqrt(0.25 * 0.75 * rounds)) << "seed 6";
}

TEST(Marina, TheSeedThrowsTheCoin) {
  Federation all(1, 4, 1, 1);
  const auto coins = [&](std::uint64_t seed) {
    Server server(randomVector(4, 2), {.compressor = RandK{{.count = 1}},
                                       .stepSize = 0.001,
                                       .probability = 0.5,
                                       .workers = 1,
                                       .seed = seed});
    auto clients = clientsOf(all, RandK{{.count = 1}});
    std::vector<bool> fullRounds;
    for (int round = 0; round < 64; ++round)
      fullRounds.push_back(roundOverBytes(server, clients, {0}).isFull);
    return fullRounds;
  };
  EXPECT_EQ(coins(1), coins(1));
  EXPECT_NE(coins(1), coins(2));
}

TEST(Marina, SendsAsManyBitsAsExpected) {
  constexpr std::size_t n = 2, d = 40, k = 4;
  Federation all(n, d, 1, 1);
  const AnyCompressor any = RandK{{.count = k}};
  const double p = marinaProbability<double>(any, d);
  EXPECT_EQ(p, 0.1);
  Server server(randomVector(d, 2),
                {.compressor = any, .stepSize = 1e-3, .probability = p, .workers = n, .seed = 8});
  auto clients = clientsOf(all, any);
  const double header = 8 * 48, first = n * (header + 64 * d);
  constexpr int rounds = 2000;
  double full = 0;
  for (int round = 0; round < rounds; ++round) {
    const RoundReport report = roundOverBytes(server, clients, ascending(n));
    EXPECT_EQ(static_cast<double>(report.bitsUp), n * (header + 64 * (report.isFull ? d : k)));
    full += report.isFull;
  }
  const double expected = first + (rounds - 1) * n * (header + 64 * (p * d + (1 - p) * k));
  const double deviation = std::sqrt(p * (1 - p) * rounds) * n * 64 * (d - k);
  EXPECT_NEAR(static_cast<double>(server.bitsUp()), expected, 6 * deviation)
      << "seed 8, " << full << " full rounds";
}

TEST(Marina, GIsTheMeanOfWhatWasSent) {
  Federation all(4, 6, 2, 3);
  for (const char* text : texts) {
    const AnyCompressor any = compressorFromText(text);
    Server server(randomVector(6, 4),
                  {.compressor = any, .stepSize = 0.01, .probability = 0.3, .workers = 4, .seed = 5});
    auto clients = clientsOf(all, any);
    roundOverBytes(server, clients, ascending(4));
    for (int round = 0; round < 20; ++round) {
      const Vector x = copyOf(server.x()), before = copyOf(server.previous()), g = copyOf(server.gradient());
      const RoundHeader header = server.header();
      Vector expected = g;
      for (std::uint32_t i = 0; i < 4; ++i) {
        Vector difference = all.gradientOf(i, x);
        const Vector old = all.gradientOf(i, before);
        CompressorMemory memory;
        Message message;
        for (std::size_t k = 0; k < 6; ++k) difference[k] -= old[k];
        encode(any, {header.seed, header.round, i}, MessageForm::unbiased, Numbers<double>{difference},
               memory, message);
        decodeAdd<double>(message, 0.25, expected, memory);
      }
      if (roundOverBytes(server, clients, ascending(4)).isFull) expected = all.gradient(x);
      EXPECT_EQ(copyOf(server.gradient()), expected) << text << ", round " << round;
    }
  }
}

/// After some rounds, the last one again with many seeds: the mean of |g+ - grad f(x+)|^2, and its standard error.
struct ErrorOfG {
  double mean = 0, deviation = 0, before = 0, moved = 0;

  ErrorOfG(Federation& all, const AnyCompressor& any, double p, std::size_t batch) {
    const std::size_t n = all.functions.size(), d = all.dimension();
    Server server(randomVector(d, 4),
                  {.compressor = any, .stepSize = 0.02, .probability = p, .workers = n, .seed = 5});
    auto clients = clientsOf(all, any, batch);
    for (int round = 0; round < 6; ++round) roundOverBytes(server, clients, ascending(n));
    SavedState state;
    server.visitState(state.save());
    for (Client& client : clients) client.visitState(state.save());
    const Vector gradient = all.gradient(server.x());
    before = squaredDistance(server.gradient(), all.gradient(server.previous()));
    moved = squaredDistance(server.x(), server.previous());
    constexpr int seeds = 20000;
    double squares = 0;
    for (std::uint64_t seed = 0; seed < seeds; ++seed) {
      state.counters[1] = 1000 + seed;  // of round, seed, bitsUp, bitsDown
      auto load = state.load();
      server.visitState(load);
      for (Client& client : clients) client.visitState(load);
      roundOverBytes(server, clients, ascending(n));
      const double error = squaredDistance(server.gradient(), gradient);
      mean += error / seeds;
      squares += error * error / seeds;
    }
    deviation = std::sqrt((squares - mean * mean) / seeds);
  }
};

// The mean of 20,000 errors exceeds its expectation by six standard errors with probability below 1e-8 (normal approximation).
TEST(Marina, TheErrorOfGIsBounded) {
  constexpr std::size_t n = 3, d = 8;
  Federation all(n, d, 1, 11);
  const double smoothness = rootMeanSquare(all.smoothness);
  for (const char* text : {"randk:2", "randseqk:3", "natural", "levels:2"}) {
    const AnyCompressor any = compressorFromText(text);
    const double p = 0.3;
    const ErrorOfG error(all, any, p, 0);
    const double bound = (1 - p) * (error.before + omega(any, d) * smoothness * smoothness / n * error.moved);
    EXPECT_GT(error.mean, 0) << text;
    EXPECT_LE(error.mean, bound + 6 * error.deviation) << text << ", seeds 1000 to 20999";
    // What was wrong stays wrong where nothing is sent in full: Q is unbiased, so errors add.
    EXPECT_GE(error.mean, (1 - p) * error.before - 6 * error.deviation) << text;
  }
}

TEST(Marina, TheErrorOfGIsBoundedForBatches) {
  constexpr std::size_t n = 3, d = 8, m = 5, batch = 2;
  Federation all(n, d, m, 11);
  double samples = 0;  // mean of squared smoothness over all samples
  for (const Quadratics& f : all.functions)
    for (std::size_t j = 0; j < m; ++j) samples += std::pow(largestEigenvalue(f.matrix(j), d), 2) / (m * n);
  const double smoothness = rootMeanSquare(all.smoothness), p = 0.3;
  const AnyCompressor any = RandK{{.count = 4}};
  const ErrorOfG error(all, any, p, batch);
  const double variance = omega(any, d) * smoothness * smoothness + (1 + omega(any, d)) * samples / batch;
  EXPECT_LE(error.mean, (1 - p) * (error.before + variance / n * error.moved) + 6 * error.deviation);
  EXPECT_GE(error.mean, (1 - p) * error.before - 6 * error.deviation);
}

TEST(Marina, ABatchOfTheSameSamplesIsTakenAtBothPoints) {
  Federation all(1, 5, 4, 3);
  const AnyCompressor any = RandK{{.count = 2}};
  Server server(randomVector(5, 4),
                {.compressor = any, .stepSize = 1e-300, .probability = 1e-9, .workers = 1, .seed = 5});
  auto clients = clientsOf(all, any, 2);
  const auto gradients = [&] { return clients[0].counts().gradients; };
  roundOverBytes(server, clients, {0});
  EXPECT_EQ(gradients(), 4u);
  const Vector g = copyOf(server.gradient());
  // x does not move, so differences are zero if the samples are the same.
  for (int round = 0; round < 10; ++round) roundOverBytes(server, clients, {0});
  EXPECT_EQ(copyOf(server.gradient()), g);
  EXPECT_EQ(gradients(), 4u + 10 * 2 * 2);
}

/// Remembers which samples it was asked for.
struct Remembering : Quadratics {
  using Quadratics::Quadratics;
  std::vector<std::vector<std::size_t>> batches;

  double gradient(std::span<const double> x, Batch batch, std::span<double> into) {
    batches.emplace_back(batch.begin(), batch.end());
    return Quadratics::gradient(x, batch, into);
  }
};
TEST(Marina, EveryWorkerDrawsBatchesOfItsOwnInEveryRound) {
  std::vector<Remembering> functions(2, Remembering(5, 20, 1, 3));
  std::vector<MarinaClient<Remembering>> clients;
  for (std::size_t i = 0; i < 2; ++i)
    clients.emplace_back(functions[i],
                         MarinaClientOptions{.compressor = RandK{{.count = 2}}, .worker = i, .batch = 3});
  Server server(
      randomVector(5, 4),
      {.compressor = RandK{{.count = 2}}, .stepSize = 1e-3, .probability = 1e-9, .workers = 2, .seed = 5});
  for (int round = 0; round < 11; ++round) roundOverBytes(server, clients, ascending(2));
  std::set<std::vector<std::size_t>> seen;
  for (const Remembering& f : functions) {
    ASSERT_EQ(f.batches.size(), 1u + 2 * 10);
    for (std::size_t i = 1; i < f.batches.size(); i += 2) {
      EXPECT_EQ(f.batches[i], f.batches[i + 1]);  // at both points
      seen.insert(f.batches[i]);
    }
  }
  EXPECT_GE(seen.size(), 19u);  // 20 draws of 8,000
}

TEST(Marina, PermKOfEqualWorkersIsExact) {
  std::vector<Quadratics> functions(4, Quadratics(10, 2, 1, 7));
  std::vector<Client> clients;
  for (std::size_t i = 0; i < 4; ++i)
    clients.emplace_back(functions[i], MarinaClientOptions{.compressor = PermK{4}, .worker = i});
  Server server(randomVector(10, 1),
                {.compressor = PermK{4}, .stepSize = 0.05, .probability = 0.01, .workers = 4, .seed = 2});
  Vector gradient(10);
  for (int round = 0; round < 40; ++round) {
    roundOverBytes(server, clients, ascending(4));
    functions[0].gradient(server.previous(), AllSamples(2), gradient);
    EXPECT_LE(squaredDistance(server.gradient(), gradient), 1e-26) << "round " << round;
  }
}

TEST(Marina, ConvergesWithEveryCompressor) {
  Federation all(4, 6, 2, 9);
  for (const char* text : texts)
    for (const std::size_t batch : {0u, 1u}) {
      const AnyCompressor any = compressorFromText(text);
      const double p = 0.2, w = omega(any, 6), smoothness = rootMeanSquare(all.smoothness);
      const double stepSize = batch == 0 ? marinaStepSize(smoothness, w, p, 4)
                                         : vrMarinaStepSize(smoothness, 3 * smoothness, w, p, 4, batch);
      Server server(randomVector(6, 1),
                    {.compressor = any, .stepSize = stepSize, .probability = p, .workers = 4, .seed = 3});
      auto clients = clientsOf(all, any, batch);
      const double first = squaredNorm(all.gradient(server.x()));
      for (int round = 0; round < 2000; ++round) roundOverBytes(server, clients, ascending(4));
      EXPECT_LT(squaredNorm(all.gradient(server.x())), 1e-3 * first) << text << ", seed 3";
    }
}

TEST(Marina, ARunThatIsResumedGoesOnBitForBit) {
  Federation all(4, 9, 3, 3);
  for (const char* text : texts) {
    const AnyCompressor any = compressorFromText(text);
    const MarinaOptions options{
        .compressor = any, .stepSize = 0.01, .probability = 0.2, .workers = 4, .seed = 5};
    Server server(randomVector(9, 4), options), resumed(Vector(9), options);
    auto clients = clientsOf(all, any, 2), resumedClients = clientsOf(all, any, 2);
    for (int round = 0; round < 7; ++round) roundOverBytes(server, clients, ascending(4));
    SavedState state;
    server.visitState(state.save());
    for (Client& client : clients) client.visitState(state.save());
    auto load = state.load();
    resumed.visitState(load);
    for (Client& client : resumedClients) client.visitState(load);
    for (int round = 0; round < 17; ++round) {
      roundOverBytes(server, clients, {0, 1, 2, 3});
      roundOverBytes(resumed, resumedClients, {3, 1, 0, 2});
    }
    EXPECT_EQ(copyOf(resumed.x()), copyOf(server.x())) << text;
  }
}

TEST(Marina, NobodyMayBeMissing) {
  Federation all(2, 4, 1, 1);
  const AnyCompressor any = RandK{{.count = 1}};
  Server server(randomVector(4, 2),
                {.compressor = any, .stepSize = 0.001, .probability = 1e-9, .workers = 2});
  auto clients = clientsOf(all, any), late = clientsOf(all, any);
  const std::vector<std::size_t> one{0};
  EXPECT_NE(sentenceOf([&] { roundOverBytes(server, clients, one); }).find("expected answers of all 2"),
            std::string::npos);
  Message message;
  const auto sent = server.broadcast();
  clients[1].answer(std::span<const std::byte>(sent), message);
  server.receive(1, message);
  server.finishRound();
  // A client that was not there in the first round knows no x before.
  EXPECT_NE(sentenceOf([&] { roundOverBytes(server, late, one); }).find("missed a round"), std::string::npos);
}

TEST(Marina, RejectsOptionsThatCannotWork) {
  const Vector start(4);
  Federation all(1, 4, 1, 1);
  EXPECT_NE(sentenceOf([&] { Server(start, {.stepSize = 1, .probability = 0}); }), "");
  EXPECT_NE(sentenceOf([&] { Server(start, {.stepSize = 1, .probability = 1.1}); }), "");
  EXPECT_NE(sentenceOf([&] {
              Server(start, {.compressor = TopK{{.count = 1}}, .stepSize = 1, .probability = 1});
            }).find("biased"),
            std::string::npos);
  EXPECT_NE(sentenceOf([&] { clientsOf(all, TopK{{.count = 1}}); }).find("biased"), std::string::npos);
}

}  // namespace marina_test
}  // namespace burtorch
