// EF21: gradient descent without compression, the mean of the workers' estimates, the descent of every step, EF21-W, absence,
// resuming, messages that are wrong.
#include "burtorch/optimise/ef21.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "burtorch/optimise/compressor_text.hpp"
#include "burtorch/optimise/step_sizes.hpp"
#include "quadratics.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace ef21_test {

using Server = Ef21Server<double>;
using Client = Ef21Client<Quadratics>;
using Message = std::vector<std::byte>;
const char* const texts[] = {"identity", "topk:2", "randk:3", "randseqk:3", "permk:4", "natural", "levels:3"};

std::vector<Client> clientsOf(Federation& all, const AnyCompressor& any, const Vector& weights = {}) {
  std::vector<Client> clients;
  for (std::size_t i = 0; i < all.functions.size(); ++i)
    clients.emplace_back(
        all.functions[i],
        Ef21ClientOptions{.compressor = any, .worker = i, .weight = weights.empty() ? 0 : weights[i]});
  return clients;
}

// With four workers and a step of a power of two, products are exact, and a fused sum is the same as a plain one.
TEST(Ef21, WithoutCompressionIsGradientDescentBitForBit) {
  Federation all(4, 7, 3, 1);
  const Vector start = randomVector(7, 2);
  for (const char* text : {"identity", "topk:7", "randk:100%"}) {
    const AnyCompressor any = compressorFromText(text);
    Server server(start, {.compressor = any, .stepSize = 0x1p-5, .workers = 4});
    auto clients = clientsOf(all, any);
    for (int round = 0; round < 20; ++round)
      EXPECT_TRUE(roundOverBytes(server, clients, ascending(4)).isFull);
    EXPECT_EQ(copyOf(server.x()), all.descended(start, 0x1p-5, 20)) << text;
  }
}

TEST(Ef21, TheServerHoldsTheMeanOfTheWorkersEstimates) {
  Federation all(4, 9, 2, 3);
  for (const char* text : texts) {
    const AnyCompressor any = compressorFromText(text);
    Server server(randomVector(9, 4), {.compressor = any, .stepSize = 0.01, .workers = 4, .seed = 5});
    auto clients = clientsOf(all, any);
    for (int round = 0; round < 30; ++round) {
      roundOverBytes(server, clients, ascending(4));
      for (std::size_t k = 0; k < 9; ++k) {
        double mean = 0, size = 1;
        for (const Client& client : clients)
          mean += client.estimate()[k] / 4, size += std::abs(client.estimate()[k]);
        EXPECT_NEAR(server.gradient()[k], mean, 30 * 4e-16 * size) << text << ", round " << round;
      }
    }
  }
}

TEST(Ef21, TheFirstEstimateIsTheCompressedGradient) {
  Federation all(3, 9, 2, 3);
  const AnyCompressor any = TopK{{.count = 4}};
  const Vector start = randomVector(9, 4);
  Server server(start, {.compressor = any, .stepSize = 0.01, .workers = 3});
  auto clients = clientsOf(all, any);
  const RoundReport report = roundOverBytes(server, clients, ascending(3));
  EXPECT_NEAR(report.value, all.value(start), 1e-12 * all.value(start));
  for (std::size_t i = 0; i < 3; ++i) {
    CompressorMemory memory;
    Message message;
    Vector expected(9);
    encode<double>(any, {}, all.gradientOf(i, start), memory, message);
    decodeAdd<double>(message, 1, expected, memory);
    EXPECT_EQ(copyOf(clients[i].estimate()), expected);
  }
}

/// f + (step / 2 theta) sum w_i |g_i - grad f_i / (n w_i)|^2; the infimum of f cancels.
double lyapunov(Federation& all, const std::vector<Client>& clients, std::span<const double> x,
                const Vector& weights, double stepSize, double theta) {
  double errors = 0;
  const double n = static_cast<double>(clients.size());
  for (std::size_t i = 0; i < clients.size(); ++i) {
    Vector gradient = all.gradientOf(i, x);
    for (double& number : gradient) number /= n * weights[i];
    errors += weights[i] * squaredDistance(clients[i].estimate(), gradient);
  }
  return all.value(x) + stepSize / (2 * theta) * errors;
}
void expectDescent(std::uint64_t seed, std::size_t k, bool isWeighted) {
  constexpr std::size_t n = 5, d = 8;
  Federation all(n, d, 2, seed);
  const AnyCompressor any = TopK{{.count = k}};
  Vector weights(n, 1.0 / n);
  if (isWeighted) ef21Weights(all.smoothness, weights);
  const double workersSmoothness =
      isWeighted ? meanSmoothness(all.smoothness) : rootMeanSquare(all.smoothness);
  const double stepSize = ef21StepSize(all.meanSmoothness, workersSmoothness, alpha(any, d));
  const double theta = Ef21Constants(alpha(any, d)).theta;
  Server server(randomVector(d, seed + 7),
                {.compressor = any, .stepSize = stepSize, .workers = n, .weights = weights});
  auto clients = clientsOf(all, any, weights);
  double before = 0, gradientBefore = 0;
  for (int round = 0; round < 60; ++round) {
    const Vector x = copyOf(server.x());
    roundOverBytes(server, clients, ascending(n));
    // Now estimates belong to x, which this round broadcast.
    const double now = lyapunov(all, clients, x, weights, stepSize, theta);
    if (round > 0) {
      EXPECT_LE(now, before - stepSize / 2 * gradientBefore + 1e-13 * std::abs(before))
          << "seed " << seed << ", K = " << k << ", round " << round << (isWeighted ? ", weighted" : "");
    }
    before = now;
    gradientBefore = squaredNorm(all.gradient(x));
  }
}
TEST(Ef21, EveryStepWithTopKDescends) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    for (const std::size_t k : {1u, 3u, 7u, 8u}) expectDescent(seed, k, false);
}
TEST(Ef21, EveryWeightedStepWithTopKDescends) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    for (const std::size_t k : {1u, 3u, 7u, 8u}) expectDescent(seed, k, true);
}

TEST(Ef21, TheWeightedServerHoldsTheWeightedMean) {
  Federation all(3, 6, 1, 5);
  const Vector weights{0.5, 0.3, 0.2};
  const AnyCompressor any = RandK{{.count = 2}};
  Server server(randomVector(6, 1), {.compressor = any, .stepSize = 0.01, .workers = 3, .weights = weights});
  auto clients = clientsOf(all, any, weights);
  for (int round = 0; round < 20; ++round) roundOverBytes(server, clients, ascending(3));
  for (std::size_t k = 0; k < 6; ++k) {
    double mean = 0;
    for (std::size_t i = 0; i < 3; ++i) mean += weights[i] * clients[i].estimate()[k];
    EXPECT_NEAR(server.gradient()[k], mean, 1e-13 * (1 + std::abs(mean)));
  }
}

TEST(Ef21, ConvergesWithEveryCompressor) {
  Federation all(4, 6, 2, 9);
  for (const char* text : texts) {
    const AnyCompressor any = compressorFromText(text);
    const double stepSize = ef21StepSize(all.meanSmoothness, rootMeanSquare(all.smoothness), alpha(any, 6));
    Server server(randomVector(6, 1), {.compressor = any, .stepSize = stepSize, .workers = 4, .seed = 3});
    auto clients = clientsOf(all, any);
    const double first = squaredNorm(all.gradient(server.x()));
    for (int round = 0; round < 2000; ++round) roundOverBytes(server, clients, ascending(4));
    EXPECT_LT(squaredNorm(all.gradient(server.x())), 1e-3 * first) << text << ", seed 3";
  }
}

TEST(Ef21, TheOrderOfArrivalDoesNotMatter) {
  Federation all(4, 9, 2, 3);
  for (const char* text : texts) {
    const AnyCompressor any = compressorFromText(text);
    const Ef21Options options{.compressor = any, .stepSize = 0.01, .workers = 4, .seed = 5};
    Server one(randomVector(9, 4), options), other(randomVector(9, 4), options);
    auto ones = clientsOf(all, any), others = clientsOf(all, any);
    for (int round = 0; round < 10; ++round) {
      roundOverBytes(one, ones, {0, 1, 2, 3});
      roundOverBytes(other, others, {2, 0, 3, 1});
    }
    EXPECT_EQ(copyOf(one.x()), copyOf(other.x())) << text;
  }
}

TEST(Ef21, AWorkerThatIsAbsentKeepsItsEstimate) {
  Federation all(4, 9, 2, 3);
  const AnyCompressor any = TopK{{.count = 3}};
  Server server(randomVector(9, 4), {.compressor = any, .stepSize = 0.01, .workers = 4});
  auto clients = clientsOf(all, any);
  roundOverBytes(server, clients, {0, 1, 2, 3});
  const Vector before = copyOf(clients[2].estimate());
  EXPECT_EQ(roundOverBytes(server, clients, {3, 0}).answers, 2u);
  EXPECT_EQ(copyOf(clients[2].estimate()), before);
  roundOverBytes(server, clients, {1, 2});
  for (std::size_t k = 0; k < 9; ++k) {
    double mean = 0;
    for (const Client& client : clients) mean += client.estimate()[k] / 4;
    EXPECT_NEAR(server.gradient()[k], mean, 1e-13 * (1 + std::abs(mean)));
  }
  EXPECT_NE(sentenceOf([&] { server.finishRound(); }), "");
}

TEST(Ef21, AStoppedClientIsAsBefore) {
  Federation all(2, 9, 2, 3);
  const AnyCompressor any = TopK{{.count = 3}};
  Server server(randomVector(9, 4), {.compressor = any, .stepSize = 0.01, .workers = 2});
  auto clients = clientsOf(all, any);
  roundOverBytes(server, clients, {0, 1});
  const Vector before = copyOf(clients[0].estimate());
  const auto sent = server.broadcast();
  const Message broadcast(sent.begin(), sent.end());
  Message message;
  const auto now = [] { return true; };
  const auto never = [] { return false; };
  EXPECT_FALSE(clients[0].answer(std::span<const std::byte>(broadcast), message, now));
  EXPECT_EQ(copyOf(clients[0].estimate()), before);
  EXPECT_TRUE(clients[0].answer(std::span<const std::byte>(broadcast), message, never));
  server.receive(0, message);
}

TEST(Ef21, CountsBits) {
  Federation all(4, 9, 2, 3);
  const AnyCompressor any = RandK{{.count = 3}};
  Server server(randomVector(9, 4), {.compressor = any, .stepSize = 0.01, .workers = 4});
  auto clients = clientsOf(all, any);
  for (int round = 0; round < 5; ++round) {
    const RoundReport report = roundOverBytes(server, clients, ascending(4));
    EXPECT_EQ(report.bitsUp, 8u * 4 * (24 + 24 + 3 * 8));
    EXPECT_EQ(report.bitsDown, 8u * 4 * (32 + 9 * 8));
  }
  EXPECT_EQ(server.bitsUp(), 5u * 8 * 4 * (24 + 24 + 3 * 8));
  EXPECT_EQ(server.bitsDown(), 5u * 8 * 4 * (32 + 9 * 8));
}

TEST(Ef21, ARunThatIsResumedGoesOnBitForBit) {
  Federation all(4, 9, 2, 3);
  for (const char* text : texts) {
    const AnyCompressor any = compressorFromText(text);
    const Ef21Options options{.compressor = any, .stepSize = 0.01, .workers = 4, .seed = 5};
    Server server(randomVector(9, 4), options), resumed(Vector(9), options);
    auto clients = clientsOf(all, any), resumedClients = clientsOf(all, any);
    for (int round = 0; round < 7; ++round) roundOverBytes(server, clients, ascending(4));
    SavedState state;
    server.visitState(state.save());
    for (Client& client : clients) client.visitState(state.save());
    auto load = state.load();
    resumed.visitState(load);
    for (Client& client : resumedClients) client.visitState(load);
    for (int round = 0; round < 7; ++round) {
      roundOverBytes(server, clients, ascending(4));
      roundOverBytes(resumed, resumedClients, ascending(4));
    }
    EXPECT_EQ(copyOf(resumed.x()), copyOf(server.x())) << text;
    EXPECT_EQ(resumed.bitsUp(), server.bitsUp()) << text;
  }
}

/// A server that waits for the answer of worker 1, which lies ready.
struct Waiting {
  Federation all{2, 9, 1, 3};
  Server server;
  std::vector<Client> clients;
  Message broadcast, answer;

  Waiting(const AnyCompressor& any = TopK{{.count = 3}})
      : server(randomVector(9, 4), {.compressor = any, .stepSize = 0.01, .workers = 2, .seed = 1}),
        clients(clientsOf(all, any)) {
    const auto sent = server.broadcast();
    broadcast.assign(sent.begin(), sent.end());
    clients[1].answer(std::span<const std::byte>(broadcast), answer);
  }
  std::string sentenceFor(std::size_t worker, const Message& message) {
    return sentenceOf([&] { server.receive(worker, message); });
  }
};
Message changed(Message message, std::size_t at, int by = 1) {
  message[at] = static_cast<std::byte>(static_cast<int>(message[at]) + by);
  return message;
}
TEST(Ef21, TheServerTakesOnlyWhatFits) {
  Waiting w;
  EXPECT_NE(w.sentenceFor(2, w.answer).find("out of range"), std::string::npos);
  EXPECT_NE(w.sentenceFor(0, w.answer).find("another worker's"), std::string::npos);
  EXPECT_NE(w.sentenceFor(1, changed(w.answer, 0)).find("another method"), std::string::npos);
  EXPECT_NE(w.sentenceFor(1, changed(w.answer, 1)).find("confused"), std::string::npos);
  EXPECT_NE(w.sentenceFor(1, changed(w.answer, 2)).find("damaged"), std::string::npos);
  EXPECT_NE(w.sentenceFor(1, changed(w.answer, 8)).find("another round"), std::string::npos);
  Message notFinite = w.answer;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  std::memcpy(notFinite.data() + 16, &nan, sizeof nan);
  EXPECT_NE(w.sentenceFor(1, notFinite).find("not finite"), std::string::npos);
  for (std::size_t length = 0; length < w.answer.size(); ++length)
    EXPECT_NE(
        w.sentenceFor(1, Message(w.answer.begin(), w.answer.begin() + static_cast<std::ptrdiff_t>(length))),
        "");
  EXPECT_FALSE(w.server.hasArrived(1));
  EXPECT_EQ(w.sentenceFor(1, w.answer), "");
  EXPECT_NE(w.sentenceFor(1, w.answer).find("already"), std::string::npos);
}

TEST(Ef21, TheServerTakesNothingThatWasCompressedInAnotherWay) {
  Waiting top, other(RandK{{.count = 3}});
  EXPECT_NE(top.sentenceFor(1, other.answer).find("as agreed"), std::string::npos);
  // Another key would be another set of coordinates.
  EXPECT_NE(other.sentenceFor(1, changed(other.answer, 24 + 16)).find("as agreed"), std::string::npos);
  EXPECT_EQ(other.sentenceFor(1, other.answer), "");
}

TEST(Ef21, TheClientTakesOnlyBroadcastsThatFit) {
  Waiting w;
  Message message;
  const auto sentence = [&](const Message& broadcast) {
    return sentenceOf([&] { w.clients[0].answer(std::span<const std::byte>(broadcast), message); });
  };
  for (std::size_t length = 0; length < w.broadcast.size(); ++length)
    EXPECT_NE(
        sentence(Message(w.broadcast.begin(), w.broadcast.begin() + static_cast<std::ptrdiff_t>(length))),
        "");
  for (const std::size_t at : {0u, 1u, 3u, 16u}) EXPECT_NE(sentence(changed(w.broadcast, at)), "") << at;
  EXPECT_NE(sentence(changed(w.broadcast, 4, -2)).find("not among"), std::string::npos);
  Message notFinite = w.broadcast;
  const double infinity = std::numeric_limits<double>::infinity();
  std::memcpy(notFinite.data() + 32 + 3 * 8, &infinity, sizeof infinity);
  EXPECT_NE(sentence(notFinite).find("not finite"), std::string::npos);
  EXPECT_EQ(sentence(w.broadcast), "");
  EXPECT_NE(sentence(w.broadcast).find("already"), std::string::npos);
}

TEST(Ef21, RejectsOptionsThatCannotWork) {
  const Vector start(4), nan(4, std::numeric_limits<double>::quiet_NaN());
  EXPECT_NE(sentenceOf([&] { Server(start, {.stepSize = 0}); }), "");
  EXPECT_NE(sentenceOf([&] { Server(start, {.stepSize = 1, .workers = 0}); }), "");
  EXPECT_NE(sentenceOf([&] { Server(nan, {.stepSize = 1}); }), "");
  EXPECT_NE(sentenceOf([&] { Server(start, {.compressor = TopK{{.count = 5}}, .stepSize = 1}); }), "");
  EXPECT_NE(sentenceOf([&] { Server(start, {.compressor = PermK{3}, .stepSize = 1, .workers = 2}); }), "");
  EXPECT_NE(sentenceOf([&] { Server(start, {.stepSize = 1, .workers = 2, .weights = {0.5, 0.6}}); }), "");
  EXPECT_NE(sentenceOf([&] { Server(start, {.stepSize = 1, .workers = 2, .weights = {1}}); }), "");
}

}  // namespace ef21_test
}  // namespace burtorch
