// A server and clients over ranks: the bits of one process for any number of ranks, what goes over the wire, state, lost ranks,
// messages that are wrong.
#include "burtorch/optimise/over_ranks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "burtorch/base/thread_pool.hpp"
#include "burtorch/optimise/compressor_text.hpp"
#include "burtorch/optimise/ef21.hpp"
#include "burtorch/optimise/in_process.hpp"
#include "burtorch/optimise/marina.hpp"
#include "parallel/on_ranks.hpp"
#include "quadratics.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace over_ranks_test {

namespace messages = BURTORCH_TARGET::detail;

constexpr std::size_t n = 5, d = 11;
const std::vector<std::size_t> sizes{4, 1, 6};

struct Ef21 {
  using Server = Ef21Server<double>;
  using Client = Ef21Client<Quadratics>;
  static constexpr RoundMethod method = RoundMethod::ef21;
  static constexpr const char* texts[] = {"identity", "topk:0.3", "randk:0.3", "randseqk:0.3",
                                          "permk:5",  "natural",  "levels:3"};
  static Server server(const AnyCompressor& any, const VectorBlocks& blocks) {
    return Server(randomVector(d, 1),
                  {.compressor = any, .stepSize = 0.01, .workers = n, .seed = 4, .blocks = blocks});
  }
  static Client client(Quadratics& f, std::size_t worker, const AnyCompressor& any,
                       const VectorBlocks& blocks) {
    return Client(f, Ef21ClientOptions{.compressor = any, .worker = worker, .blocks = blocks});
  }
};
struct Marina {
  using Server = MarinaServer<double>;
  using Client = MarinaClient<Quadratics>;
  static constexpr RoundMethod method = RoundMethod::marina;
  static constexpr const char* texts[] = {"identity", "randk:0.3", "randseqk:0.3",
                                          "permk:5",  "natural",   "levels:3"};
  static Server server(const AnyCompressor& any, const VectorBlocks& blocks) {
    return Server(
        randomVector(d, 1),
        {.compressor = any, .stepSize = 0.01, .probability = 0.3, .workers = n, .seed = 4, .blocks = blocks});
  }
  static Client client(Quadratics& f, std::size_t worker, const AnyCompressor& any,
                       const VectorBlocks& blocks) {
    return Client(
        f, MarinaClientOptions{
               .compressor = any, .worker = worker, .batch = 2, .keepsPrevious = false, .blocks = blocks});
  }
};

/// The workers' functions; every rank makes its own.
using Functions = std::vector<Quadratics>;
Functions functionsOf(std::size_t workers = n) {
  Functions functions;
  for (std::size_t i = 0; i < workers; ++i)
    functions.emplace_back(d, 3, 0.5 + static_cast<double>(i), 2 + 100 * i);
  return functions;
}
template <class Method>
std::vector<typename Method::Client> clientsOf(Functions& all, const AnyCompressor& any,
                                               const VectorBlocks& blocks, WorkerRange range = {0, n}) {
  std::vector<typename Method::Client> clients;
  for (std::size_t i = range.first; i < range.end; ++i)
    clients.push_back(Method::client(all[i], i, any, blocks));
  return clients;
}
/// What a rank other than 0 does.
template <class Method>
void serve(Ranks& ranks, const AnyCompressor& any, const VectorBlocks& blocks, bool inParts,
           std::size_t threads = 1) {
  ThreadPool pool(threads);
  const CurrentWorkers here(pool);
  Functions own = functionsOf();
  const WorkerRange range = WorkerRange::of(ranks.rank(), ranks.size(), n);
  auto clients = clientsOf<Method>(own, any, blocks, range);
  ClientsOnRank(ranks, Method::method, std::span(clients), range.first, d, inParts).serve();
}

/// Everything a run shows.
struct Outcome {
  Vector x;
  std::vector<double> values;
  std::uint64_t bitsUp = 0, bitsDown = 0, gradients = 0;
  SavedState state;

  bool operator==(const Outcome& o) const {
    return x == o.x && values == o.values && bitsUp == o.bitsUp && bitsDown == o.bitsDown &&
           gradients == o.gradients && state.names == o.state.names && state.arrays == o.state.arrays &&
           state.counters == o.state.counters;
  }
};
template <class Server, class Run> Outcome outcomeOf(Server& server, Run& run, int rounds) {
  Outcome outcome;
  for (int round = 0; round < rounds; ++round) outcome.values.push_back(run.round().value);
  outcome.x = copyOf(server.x());
  outcome.bitsUp = run.bitsUp(), outcome.bitsDown = run.bitsDown(), outcome.gradients = run.gradients();
  run.visitState(outcome.state.save());
  return outcome;
}
template <class Method>
Outcome inOneProcess(const AnyCompressor& any, const VectorBlocks& blocks, int rounds) {
  Functions all = functionsOf();
  auto server = Method::server(any, blocks);
  auto clients = clientsOf<Method>(all, any, blocks);
  InProcess run(server, std::span(clients));
  return outcomeOf(server, run, rounds);
}

template <class Method> struct OverRanks : testing::Test {};
using Methods = testing::Types<Ef21, Marina>;
TYPED_TEST_SUITE(OverRanks, Methods, );

TYPED_TEST(OverRanks, HasTheBitsOfOneProcessForAnyNumberOfRanksAndThreads) {
  for (const char* text : TypeParam::texts)
    for (const bool isInBlocks : {false, true}) {
      const AnyCompressor any = compressorFromText(text);
      const VectorBlocks blocks = isInBlocks ? VectorBlocks(sizes) : VectorBlocks();
      const Outcome expected = inOneProcess<TypeParam>(any, blocks, 12);
      for (const std::size_t size : {2u, 3u, 8u}) {
        RankGroup group(size);
        Outcome found;
        const auto sentences = sentencesOnRanks(group, [&](Ranks& ranks) {
          if (ranks.rank() > 0)
            return serve<TypeParam>(ranks, any, blocks, isInBlocks && size % 2 == 0, size == 3 ? 2 : 1);
          Functions all = functionsOf();
          auto server = TypeParam::server(any, blocks);
          auto followers = clientsOf<TypeParam>(all, any, blocks);
          ServerOverRanks run(ranks, server, std::span(followers));
          found = outcomeOf(server, run, 12);
          run.end();
          for (const Quadratics& f : all)
            if (f.counts().gradients != 0) fail("the server has computed");
        });
        EXPECT_EQ(sentences, std::vector<std::string>(size));
        EXPECT_TRUE(found == expected) << text << ", " << size << " ranks, in blocks: " << isInBlocks;
      }
    }
}

TYPED_TEST(OverRanks, WhatIsMeasuredOnTheWireIsWhatIsCountedAndTheStatedHeaders) {
  constexpr std::uint64_t rounds = 9;
  for (const char* text : TypeParam::texts)
    for (const bool isInBlocks : {false, true}) {
      const AnyCompressor any = compressorFromText(text);
      const VectorBlocks blocks = isInBlocks ? VectorBlocks(sizes) : VectorBlocks();
      RankGroup group(n + 1);  // a worker on each
      const auto sentences = sentencesOnRanks(group, [&](Ranks& ranks) {
        if (ranks.rank() > 0) return serve<TypeParam>(ranks, any, blocks, isInBlocks);
        Functions all = functionsOf();
        auto server = TypeParam::server(any, blocks);
        auto followers = clientsOf<TypeParam>(all, any, blocks);
        ServerOverRanks run(ranks, server, std::span(followers));
        for (std::uint64_t round = 0; round < rounds; ++round) run.round();
        EXPECT_EQ(run.up().messages, rounds * n * (isInBlocks ? 4 : 1));
        EXPECT_EQ(run.up().bytes, run.bitsUp() / 8 + run.up().messages * run.stated);
        EXPECT_EQ(run.down().messages, rounds * n);
        EXPECT_EQ(run.down().bytes, run.bitsDown() / 8 + run.down().messages * Ranks::headerBytes);
        EXPECT_EQ(ranks.received(), run.up());
        EXPECT_EQ(ranks.sent(), run.down());
        run.end();
      });
      EXPECT_EQ(sentences, std::vector<std::string>(n + 1));
    }
}

TYPED_TEST(OverRanks, ARunIsResumedOnAnotherNumberOfRanks) {
  const AnyCompressor any = compressorFromText("randk:0.3");
  const Outcome expected = inOneProcess<TypeParam>(any, {}, 14);
  SavedState state;
  const auto part = [&](std::size_t size, int rounds, bool isFirst, bool isLast) {
    RankGroup group(size);
    const auto sentences = sentencesOnRanks(group, [&](Ranks& ranks) {
      if (ranks.rank() > 0) return serve<TypeParam>(ranks, any, {}, false);
      Functions all = functionsOf();
      auto server = TypeParam::server(any, {});
      auto followers = clientsOf<TypeParam>(all, any, {});
      ServerOverRanks run(ranks, server, std::span(followers));
      if (!isFirst) {
        run.visitState(state.load());
        run.sendState();
      }
      const Outcome found = outcomeOf(server, run, rounds);
      run.end();
      state = found.state;
      if (!isLast) return;
      EXPECT_EQ(found.x, expected.x);
      EXPECT_EQ(found.state.arrays, expected.state.arrays);
      EXPECT_EQ(found.state.counters, expected.state.counters);
    });
    EXPECT_EQ(sentences, std::vector<std::string>(size));
  };
  part(3, 4, true, false);
  part(6, 5, false, false);
  part(2, 5, false, true);
}

TYPED_TEST(OverRanks, AfterALostRankTheStateIsThatOfTheLastWholeRound) {
  const AnyCompressor any = compressorFromText("randk:0.3");
  const Outcome expected = inOneProcess<TypeParam>(any, {}, 4);
  RankGroup group(3);
  group[0].setPatience(std::chrono::milliseconds(100));
  const auto sentences = sentencesOnRanks(group, [&](Ranks& ranks) {
    if (ranks.rank() == 1) return serve<TypeParam>(ranks, any, {}, false);
    if (ranks.rank() == 2) {  // answers four rounds, then dies with its clients
      Functions own = functionsOf();
      const WorkerRange range = WorkerRange::of(2, 3, n);
      auto clients = clientsOf<TypeParam>(own, any, {}, range);
      ranks.setStop([&ranks] { return ranks.sent().messages >= 4 * 3; });
      ClientsOnRank<typename TypeParam::Client> rank(ranks, TypeParam::method, std::span(clients),
                                                     range.first, d, false);
      EXPECT_EQ(codeOf([&] { rank.serve(); }), ErrorCode::stopped);
      return;  // and says nothing, so that the others answer in the round in which it is missed
    }
    Functions all = functionsOf();
    auto server = TypeParam::server(any, {});
    auto followers = clientsOf<TypeParam>(all, any, {});
    ServerOverRanks run(ranks, server, std::span(followers));
    Outcome found = outcomeOf(server, run, 4);
    EXPECT_EQ(codeOf([&] { run.round(); }), ErrorCode::peerLost);
    EXPECT_EQ(run.gradients(), expected.gradients);
    SavedState after;
    run.visitState(after.save());
    EXPECT_EQ(after.arrays, expected.state.arrays);
    EXPECT_EQ(after.counters, expected.state.counters);
    fail("the end");
  });
  EXPECT_EQ(sentences[0], "the end");
}

/// What rank 0 says to a message that is not a proper answer.
std::string refusal(std::span<const std::byte> bytes, MessageLabel label) {
  RankGroup group(2);
  group[0].setPatience(std::chrono::milliseconds(20));
  const AnyCompressor any = TopK{{.count = 2}};
  Functions all = functionsOf(1);
  Ef21Server<double> server(randomVector(d, 1), {.compressor = any, .stepSize = 0.01, .workers = 1});
  std::vector<Ef21Client<Quadratics>> followers;
  followers.emplace_back(all[0], Ef21ClientOptions{any, 0});
  ServerOverRanks run(group[0], server, std::span(followers));
  group[1].send(0, label, bytes);
  const std::string sentence = sentenceOf([&] { run.round(); });
  EXPECT_FALSE(server.hasArrived(0));
  EXPECT_EQ(server.round() == 0, !sentence.empty());
  EXPECT_EQ(squaredNorm(followers[0].estimate()) == 0, !sentence.empty());
  return sentence;
}
TEST(OverRanks, AMessageThatIsWrongIsRefused) {
  const AnyCompressor any = TopK{{.count = 2}};
  Functions all = functionsOf(1);
  Ef21Server<double> server(randomVector(d, 1), {.compressor = any, .stepSize = 0.01, .workers = 1});
  Ef21Client<Quadratics> client(all[0], {any, 0});
  std::vector<std::byte> answer;
  client.answer(server.broadcast(), answer);
  std::vector<std::byte> good(8);
  good.insert(good.end(), answer.begin(), answer.end());
  const MessageLabel label = messages::wireLabel(messages::RoundWire::answer, 0, 0);
  EXPECT_EQ(refusal(good, label), "");
  EXPECT_NE(refusal(good, messages::wireLabel(messages::RoundWire::answer, 0, 1)).find("another round"),
            std::string::npos);
  EXPECT_NE(
      refusal(good, messages::wireLabel(messages::RoundWire::answer, 1, 0)).find("another round or worker"),
      std::string::npos);
  EXPECT_NE(refusal(good, messages::wireLabel(messages::RoundWire::state, 0, 0)).find("damaged"),
            std::string::npos);
  EXPECT_NE(refusal(good, messages::wireLabel(messages::RoundWire::part, 0, 0)), "");
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(refusal(std::span(good).first(length), label), "") << length;
  auto infinite = good;
  const double infinity = std::numeric_limits<double>::infinity();
  std::memcpy(infinite.data() + infinite.size() - 8, &infinity, 8);
  EXPECT_NE(refusal(infinite, label).find("finite"), std::string::npos);
  std::vector<std::byte> large(1000);
  EXPECT_NE(refusal(large, label).find("longer than agreed"), std::string::npos);
}
TEST(OverRanks, ACommandThatIsWrongIsRefused) {
  const auto said = [](messages::RoundWire kind, std::size_t part, std::size_t bytes) {
    RankGroup group(2);
    Functions all = functionsOf(1);
    std::vector<Ef21Client<Quadratics>> clients;
    clients.emplace_back(all[0], Ef21ClientOptions{TopK{{.count = 2}}, 0});
    ClientsOnRank rank(group[1], RoundMethod::ef21, std::span(clients), 0, d, false);
    group[0].send(1, messages::wireLabel(kind, part, 0), std::vector<std::byte>(bytes));
    group[0].send(1, messages::wireLabel(messages::RoundWire::end, 0, 0), {});
    return sentenceOf([&] { rank.serve(); });
  };
  EXPECT_EQ(said(messages::RoundWire::previous, 0, d * 8), "");
  EXPECT_EQ(said(messages::RoundWire::state, 0, d * 8 + 8), "");
  EXPECT_NE(said(messages::RoundWire::previous, 0, d * 8 - 1), "");
  EXPECT_NE(said(messages::RoundWire::state, 0, d * 8), "");
  EXPECT_NE(said(messages::RoundWire::state, 1, d * 8 + 8), "");
  EXPECT_NE(said(messages::RoundWire::answer, 0, 0), "");
  EXPECT_NE(said(messages::RoundWire::round, 0, 32 + d * 8), "");
}
TEST(OverRanks, WorkersAreDealtOutAndTheServerHasNone) {
  for (std::size_t ranks = 1; ranks <= 9; ++ranks)
    for (std::size_t workers = 1; workers <= 30; ++workers) {
      std::size_t next = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const WorkerRange range = WorkerRange::of(rank, ranks, workers);
        EXPECT_EQ(range.first, next);
        EXPECT_TRUE(rank > 0 || ranks == 1 || range.end == 0);
        next = range.end;
      }
      EXPECT_EQ(next, workers);
    }
}

}  // namespace over_ranks_test
}  // namespace burtorch
