// InProcess: the bits of a run over bytes, for any number of threads; counts; stragglers; state.
#include "burtorch/optimise/in_process.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "burtorch/base/thread_pool.hpp"
#include "burtorch/optimise/compressor_text.hpp"
#include "burtorch/optimise/ef21.hpp"
#include "burtorch/optimise/marina.hpp"
#include "quadratics.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace in_process_test {

constexpr std::size_t n = 5, d = 11;

struct Ef21 {
  using Server = Ef21Server<double>;
  using Client = Ef21Client<Quadratics>;
  static constexpr const char* texts[] = {"identity", "topk:2",  "randk:3", "randseqk:3",
                                          "permk:5",  "natural", "levels:3"};

  static Server server(const AnyCompressor& any) {
    return Server(randomVector(d, 1), {.compressor = any, .stepSize = 0.01, .workers = n, .seed = 4});
  }
  static std::vector<Client> clients(Federation& all, const AnyCompressor& any, bool /*overBytes*/) {
    std::vector<Client> clients;
    for (std::size_t i = 0; i < n; ++i) clients.emplace_back(all.functions[i], Ef21ClientOptions{any, i});
    return clients;
  }
};
struct Marina {
  using Server = MarinaServer<double>;
  using Client = MarinaClient<Quadratics>;
  static constexpr const char* texts[] = {"identity", "randk:3", "randseqk:3",
                                          "permk:5",  "natural", "levels:3"};

  static Server server(const AnyCompressor& any) {
    return Server(randomVector(d, 1),
                  {.compressor = any, .stepSize = 0.01, .probability = 0.3, .workers = n, .seed = 4});
  }
  static std::vector<Client> clients(Federation& all, const AnyCompressor& any, bool overBytes) {
    std::vector<Client> clients;
    for (std::size_t i = 0; i < n; ++i)
      clients.emplace_back(
          all.functions[i],
          MarinaClientOptions{.compressor = any, .worker = i, .batch = 2, .keepsPrevious = overBytes});
    return clients;
  }
};

template <class Method> struct InProcessTest : testing::Test {};
using Methods = testing::Types<Ef21, Marina>;
TYPED_TEST_SUITE(InProcessTest, Methods, );

TYPED_TEST(InProcessTest, HasTheBitsOfARunOverBytesForAnyNumberOfThreads) {
  for (const char* text : TypeParam::texts) {
    const AnyCompressor any = compressorFromText(text);
    Federation all(n, d, 3, 2);
    auto server = TypeParam::server(any);
    auto clients = TypeParam::clients(all, any, true);
    std::vector<RoundReport> reports;
    for (int round = 0; round < 12; ++round)
      reports.push_back(roundOverBytes(server, clients, {4, 2, 0, 1, 3}));
    for (const std::size_t threads : {1u, 2u, 3u, 8u}) {
      ThreadPool pool(threads);
      const CurrentWorkers here(pool);
      Federation same(n, d, 3, 2);
      auto local = TypeParam::server(any);
      auto localClients = TypeParam::clients(same, any, false);
      InProcess run(local, std::span(localClients));
      for (const RoundReport& expected : reports) {
        const RoundReport report = run.round();
        EXPECT_EQ(report.value, expected.value);
        EXPECT_EQ(report.bitsUp, expected.bitsUp);
        EXPECT_EQ(report.bitsDown, expected.bitsDown);
      }
      EXPECT_EQ(copyOf(local.x()), copyOf(server.x())) << text << ", " << threads << " threads";
      EXPECT_EQ(run.bitsUp(), server.bitsUp());
      EXPECT_EQ(run.bitsDown(), server.bitsDown());
      std::uint64_t gradients = 0;
      for (const Quadratics& f : all.functions) gradients += f.counts().gradients;
      EXPECT_EQ(run.gradients(), gradients);
    }
  }
}

TYPED_TEST(InProcessTest, AResumedRunGoesOnBitForBit) {
  const AnyCompressor any = compressorFromText("randk:3");
  Federation all(n, d, 3, 2);
  auto server = TypeParam::server(any), otherServer = TypeParam::server(any);
  auto clients = TypeParam::clients(all, any, false), otherClients = TypeParam::clients(all, any, false);
  InProcess run(server, std::span(clients)), other(otherServer, std::span(otherClients));
  for (int round = 0; round < 5; ++round) run.round();
  SavedState state;
  run.visitState(state.save());
  other.visitState(state.load());
  for (int round = 0; round < 9; ++round) run.round(), other.round();
  EXPECT_EQ(copyOf(otherServer.x()), copyOf(server.x()));
  EXPECT_EQ(state.names.front(), "x");
  EXPECT_EQ(state.names.back(), "client 4: nextRound");
}

/// Quadratics with knobs: computes what is wanted and makes the rest unusable; stops in the middle.
struct Guided : Quadratics {
  using Quadratics::gradient;
  using Quadratics::Quadratics;
  std::size_t computed = 0;

  GradientResult gradient(std::span<const double> x, Batch batch, std::span<double> into,
                          const GradientOptions<double>& options) {
    if (options.stop && options.stop()) return {SweepStatus::stopped, 0};
    Vector all(parameterCount());
    const double value = gradient(x, batch, all);
    if (options.wanted.isAll()) {
      std::copy(all.begin(), all.end(), into.begin());
      computed += all.size();
      return {SweepStatus::finished, value};
    }
    std::fill(into.begin(), into.end(), std::numeric_limits<double>::quiet_NaN());
    for (const Block& block : options.wanted.blocks()) {
      std::copy_n(all.begin() + block.first, block.count, into.begin() + block.first);
      computed += block.count;
    }
    return {SweepStatus::finished, value};
  }
};
static_assert(GuidedSum<Guided> && !GuidedSum<Quadratics>);

template <class Client, class Options, class Server>
void expectOnlyWhatIsSent(const AnyCompressor& any, Server server, Server fullServer,
                          std::size_t evaluations) {
  std::vector<Guided> functions, fullFunctions;
  for (std::uint64_t i = 0; i < n; ++i)
    functions.emplace_back(d, 2, 1.0, i), fullFunctions.emplace_back(d, 2, 1.0, i);
  std::vector<Client> clients, fullClients;
  for (std::size_t i = 0; i < n; ++i) {
    clients.emplace_back(functions[i], Options{.compressor = any, .worker = i, .computesOnlySent = true});
    fullClients.emplace_back(fullFunctions[i], Options{.compressor = any, .worker = i});
  }
  InProcess run(server, std::span(clients)), full(fullServer, std::span(fullClients));
  run.round(), full.round();
  const std::size_t before = functions[0].computed;
  for (int round = 0; round < 10; ++round) run.round(), full.round();
  EXPECT_EQ(copyOf(server.x()), copyOf(fullServer.x()));
  EXPECT_EQ(functions[0].computed - before, 10 * evaluations);
}
TEST(InProcess, WhatIsNotSentNeedNotBeComputed) {
  for (const char* text : {"randk:3", "randseqk:3"}) {
    const AnyCompressor any = compressorFromText(text);
    expectOnlyWhatIsSent<Ef21Client<Guided>, Ef21ClientOptions>(any, Ef21::server(any), Ef21::server(any), 3);
    const auto marina = [&] {
      return MarinaServer<double>(randomVector(d, 1),
                                  {.compressor = any, .stepSize = 0.01, .probability = 1e-9, .workers = n});
    };
    expectOnlyWhatIsSent<MarinaClient<Guided>, MarinaClientOptions>(any, marina(), marina(), 2 * 3);
  }
}

TEST(InProcess, AnOracleWithKnobsIsStoppedDuringItsSweep) {
  const AnyCompressor any = RandK{{.count = 3}};
  std::vector<Guided> functions;
  for (std::uint64_t i = 0; i < n; ++i) functions.emplace_back(d, 2, 1.0, i);
  std::vector<Ef21Client<Guided>> clients;
  for (std::size_t i = 0; i < n; ++i) clients.emplace_back(functions[i], Ef21ClientOptions{any, i});
  auto server = Ef21::server(any);
  InProcess run(server, std::span(clients));
  int polls = 0;
  const auto secondPoll = [&](std::size_t worker) { return worker == 2 && ++polls == 2; };
  EXPECT_EQ(run.round(secondPoll).answers, n - 1);
  EXPECT_EQ(functions[2].computed, 0u);
  EXPECT_EQ(squaredNorm(clients[2].estimate()), 0);
}

TEST(InProcess, AStragglerThatIsStoppedSendsNothing) {
  const AnyCompressor any = TopK{{.count = 3}};
  Federation all(n, d, 1, 2);
  auto server = Ef21::server(any);
  auto clients = Ef21::clients(all, any, false);
  InProcess run(server, std::span(clients));
  run.round();
  const auto stopTwo = [](std::size_t worker) { return worker == 1 || worker == 3; };
  EXPECT_EQ(run.round(stopTwo).answers, n - 2);
  EXPECT_EQ(run.round().answers, n);
  const auto stopAll = [](std::size_t) { return true; };
  EXPECT_NE(sentenceOf([&] { run.round(stopAll); }).find("nobody"), std::string::npos);
}

TEST(InProcess, AnErrorOfAClientArrives) {
  const AnyCompressor any = TopK{{.count = 3}};
  Federation all(n, d, 1, 2);
  auto server = Ef21Server<double>(randomVector(d, 1), {.compressor = any, .stepSize = 1e200, .workers = n});
  auto clients = Ef21::clients(all, any, false);
  InProcess run(server, std::span(clients));
  const std::string sentence = sentenceOf([&] {
    for (int round = 0; round < 10; ++round) run.round();
  });
  EXPECT_NE(sentence.find("finite"), std::string::npos) << sentence;
}

TEST(InProcess, NeedsAClientForEveryWorker) {
  const AnyCompressor any = TopK{{.count = 3}};
  Federation all(n, d, 1, 2);
  auto server = Ef21::server(any);
  auto clients = Ef21::clients(all, any, false);
  EXPECT_NE(sentenceOf([&] { InProcess(server, std::span(clients).first(4)); }).find("expects 5 clients"),
            std::string::npos);
}

}  // namespace in_process_test
}  // namespace burtorch
