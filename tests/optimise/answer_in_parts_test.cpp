// Answers in parts: blocks that are compressed and sent while the sweep goes on. Every coordinate once, the bits of compressing
// afterwards, early ends that leave everything as it was, what is not sent is not computed; the constants of block by block.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "burtorch/learn.hpp"
#include "burtorch/optimise/compressor_text.hpp"
#include "burtorch/optimise/ef21.hpp"
#include "burtorch/optimise/in_process.hpp"
#include "burtorch/optimise/marina.hpp"
#include "burtorch/optimise/over_ranks.hpp"
#include "parallel/on_ranks.hpp"
#include "quadratics.hpp"

namespace burtorch {
namespace answer_in_parts_test {

struct Samples {
  std::size_t size() const { return 6; }
  void read(std::size_t i, std::span<TokenId> tokens, std::span<TokenId> targets) const {
    for (std::size_t k = 0; k < tokens.size(); ++k) {
      tokens[k] = static_cast<TokenId>((3 * i + k * k) % 7);
      targets[k] = static_cast<TokenId>((5 * i + k) % 7);
    }
  }
};
using Oracle = TokenOracle<Gpt<double>, Samples>;
using Message = std::vector<std::byte>;

/// A GPT and an oracle over it; several tiles, so that blocks are final in the last one's sweep.
struct Experiment {
  Gpt<double> gpt;
  ParameterStore<double> store{gpt.layout(), 3};
  Oracle oracle;
  VectorBlocks blocks{gpt.layout()};
  std::size_t d = store.size();
  Vector x{store.values().begin(), store.values().end()}, previous = x;

  explicit Experiment(std::size_t layers = 1, std::size_t tile = 2)
      : gpt({.vocabulary = 7, .context = 5, .width = 6, .layers = layers, .heads = 2}),
        oracle(gpt, store, Samples{}, TokenOracleOptions{.tile = tile, .shards = 1}) {
    for (double& number : previous) number *= 0.9;
  }
};

struct Ef21 {
  using Client = Ef21Client<Oracle>;
  using Server = Ef21Server<double>;
  static constexpr RoundMethod method = RoundMethod::ef21;
  static constexpr const char* texts[] = {"identity", "topk:0.2", "randk:0.2", "randseqk:0.2",
                                          "permk:3",  "natural",  "levels:3"};
  static Client client(Experiment& e, const AnyCompressor& any, std::size_t worker,
                       bool computesOnlySent = false) {
    return Client(e.oracle, {any, worker, 0, computesOnlySent, e.blocks});
  }
  static Server server(Experiment& e, const AnyCompressor& any, std::size_t workers) {
    return Server(e.x,
                  {.compressor = any, .stepSize = 0.05, .workers = workers, .seed = 7, .blocks = e.blocks});
  }
};
struct Marina {
  using Client = MarinaClient<Oracle>;
  using Server = MarinaServer<double>;
  static constexpr RoundMethod method = RoundMethod::marina;
  static constexpr const char* texts[] = {"identity", "randk:0.2", "randseqk:0.2",
                                          "permk:3",  "natural",   "levels:3"};
  static Client client(Experiment& e, const AnyCompressor& any, std::size_t worker,
                       bool computesOnlySent = false) {
    return Client(e.oracle, {any, worker, 0, computesOnlySent, false, e.blocks});
  }
  static Server server(Experiment& e, const AnyCompressor& any, std::size_t workers) {
    return Server(e.x, {.compressor = any,
                        .stepSize = 0.05,
                        .probability = 0.3,
                        .workers = workers,
                        .seed = 7,
                        .blocks = e.blocks});
  }
};

template <class Method> struct AnswerInParts : testing::Test {
  static RoundHeader header(std::uint64_t round) { return {Method::method, round == 0, 3, round, 7}; }
};
using Methods = testing::Types<Ef21, Marina>;
TYPED_TEST_SUITE(AnswerInParts, Methods, );

TYPED_TEST(AnswerInParts, HasTheBytesOfAnAnswerAndEveryBlockOnce) {
  for (const char* text : TypeParam::texts)
    for (const bool computesOnlySent : {false, true}) {
      const AnyCompressor any = compressorFromText(text);
      Experiment e;
      auto whole = TypeParam::client(e, any, 1), parted = TypeParam::client(e, any, 1, computesOnlySent);
      RoundScratch<double> scratch;
      for (std::uint64_t round = 0; round < 4; ++round) {
        Message expected, head;
        ASSERT_TRUE(whole.answer(this->header(round), e.x, e.previous, scratch, expected));
        std::vector<Message> parts(e.blocks.count());
        std::vector<std::size_t> order;
        AnswerParts memory;
        ASSERT_TRUE(parted.answerInParts(this->header(round), e.x, e.previous, scratch, memory, head,
                                         [&](std::size_t block, std::span<const std::byte> part) {
                                           order.push_back(block);
                                           parts[block].assign(part.begin(), part.end());
                                         }));
        Message joined = head;
        for (const Message& part : parts) joined.insert(joined.end(), part.begin(), part.end());
        EXPECT_EQ(joined, expected) << text << ", round " << round;
        std::ranges::sort(order);
        EXPECT_EQ(order, ascending(e.blocks.count())) << text;
        for (double& number : e.x) number += 0.01;
      }
    }
}

TYPED_TEST(AnswerInParts, BlocksAreSentWhileTheSweepGoesOn) {
  Experiment e;
  auto client = TypeParam::client(e, compressorFromText("randk:0.2"), 0);
  RoundScratch<double> scratch;
  AnswerParts memory;
  Message head;
  std::vector<std::size_t> order;
  client.answerInParts(this->header(0), e.x, e.previous, scratch, memory, head,
                       [&](std::size_t block, std::span<const std::byte>) { order.push_back(block); });
  EXPECT_GT(order.front(), order.back());  // the head's gradient is final first, the embedding's last
}

TYPED_TEST(AnswerInParts, AnEarlyEndLeavesClientAndOracleAsTheyWere) {
  const AnyCompressor any = compressorFromText("natural");
  for (const std::size_t stopAt : {0u, 1u, 5u, 40u})
    for (const bool isThrown : {true, false}) {
      Experiment e(8);  // so many instructions that a sweep polls on its way
      auto broken = TypeParam::client(e, any, 0), fresh = TypeParam::client(e, any, 0);
      RoundScratch<double> scratch;
      AnswerParts memory;
      Message head, expected, found;
      for (auto* client : {&broken, &fresh}) client->answer(this->header(0), e.x, e.previous, scratch, found);
      std::size_t emitted = 0;
      const auto emit = [&](std::size_t, std::span<const std::byte>) {
        if (isThrown && emitted == stopAt) throw std::runtime_error("the line is cut");
        ++emitted;
      };
      const auto stop = [&] { return emitted >= stopAt; };
      if (isThrown) {
        EXPECT_THROW(broken.answerInParts(this->header(1), e.x, e.previous, scratch, memory, head, emit),
                     std::runtime_error);
        EXPECT_EQ(emitted, stopAt);
      } else {
        EXPECT_FALSE(
            broken.answerInParts(this->header(1), e.x, e.previous, scratch, memory, head, emit, stop));
      }
      fresh.answer(this->header(1), e.x, e.previous, scratch, expected);
      broken.answer(this->header(1), e.x, e.previous, scratch, found);
      EXPECT_EQ(found, expected) << "after " << stopAt << " blocks";
    }
}

TYPED_TEST(AnswerInParts, WhatIsNotSentIsNotComputed) {
  // So many workers that most blocks of most of them are empty: the sweep goes on only as far as there is something to send.
  constexpr std::uint32_t many = 400;
  const AnyCompressor any = PermK{many};
  std::uint64_t visited = 0, visitedOfAll = 0;
  for (std::size_t worker = 0; worker < many; worker += 20) {
    Experiment e(1, 6), lean(1, 6);
    auto all = TypeParam::client(e, any, worker), few = TypeParam::client(lean, any, worker, true);
    RoundScratch<double> scratch;
    AnswerParts parts, leanParts;
    Message head, leanHead;
    std::size_t emitted = 0;
    const auto emit = [&](std::size_t, std::span<const std::byte>) { ++emitted; };
    for (std::uint64_t round = 0; round < 2; ++round) {
      const RoundHeader header{TypeParam::method, round == 0, many, round, 7};
      const auto before = lean.oracle.counts(), beforeOfAll = e.oracle.counts();
      all.answerInParts(header, e.x, e.previous, scratch, parts, head, emit);
      few.answerInParts(header, e.x, e.previous, scratch, leanParts, leanHead, emit);
      const auto whole = parts.joined(head), leanWhole = leanParts.joined(leanHead);
      ASSERT_TRUE(std::ranges::equal(whole, leanWhole));
      if (round == 0) continue;
      visited += lean.oracle.counts().instructions - before.instructions;
      visitedOfAll += e.oracle.counts().instructions - beforeOfAll.instructions;
    }
    EXPECT_EQ(emitted, 4 * e.blocks.count());
  }
  // A difference takes two sweeps, of which the first has no knobs, and is not counted, where everything is computed.
  EXPECT_LT(visited, (TypeParam::method == RoundMethod::marina ? 2 : 1) * visitedOfAll * 9 / 10);
}

TYPED_TEST(AnswerInParts, OverRanksHasTheBitsOfOneProcess) {
  for (const char* text : {"randk:0.2", "natural"}) {
    const AnyCompressor any = compressorFromText(text);
    constexpr std::size_t workers = 3;
    std::vector<Experiment> all(workers);
    auto expected = TypeParam::server(all[0], any, workers);
    std::vector<typename TypeParam::Client> clients;
    for (std::size_t i = 0; i < workers; ++i) clients.push_back(TypeParam::client(all[i], any, i));
    InProcess run(expected, std::span(clients));
    for (int round = 0; round < 6; ++round) run.round();
    RankGroup group(3);
    const auto sentences = sentencesOnRanks(group, [&](Ranks& ranks) {
      const WorkerRange range =
          ranks.rank() == 0 ? WorkerRange{0, workers} : WorkerRange::of(ranks.rank(), 3, workers);
      std::vector<Experiment> own(range.end - range.first);
      std::vector<typename TypeParam::Client> mine;
      for (std::size_t i = range.first; i < range.end; ++i)
        mine.push_back(TypeParam::client(own[i - range.first], any, i));
      if (ranks.rank() > 0)
        return ClientsOnRank(ranks, TypeParam::method, std::span(mine), range.first, own[0].d, true).serve();
      auto server = TypeParam::server(own[0], any, workers);
      ServerOverRanks over(ranks, server, std::span(mine));
      for (int round = 0; round < 6; ++round) over.round();
      over.end();
      EXPECT_EQ(copyOf(server.x()), copyOf(expected.x()));
      EXPECT_EQ(over.bitsUp(), run.bitsUp());
      EXPECT_EQ(over.up().bytes, over.bitsUp() / 8 + over.up().messages * over.stated);
      EXPECT_EQ(over.up().messages, 6 * workers * (own[0].blocks.count() + 1));
    });
    EXPECT_EQ(sentences, std::vector<std::string>(3));
  }
}

TEST(VectorBlocks, AContractiveCompressorHasTheLeastAlphaAndAnUnbiasedOneTheLargestOmega) {
  const std::vector<std::size_t> sizes{10, 40, 3};
  const VectorBlocks blocks(sizes);
  EXPECT_EQ(alpha(TopK{{.count = 2}}, blocks, 53), 2.0 / 40);
  EXPECT_EQ(omega(RandK{{.count = 2}}, blocks, 53), 40.0 / 2 - 1);
  EXPECT_EQ(alpha(TopK{{.count = 2}}, VectorBlocks(), 53), 2.0 / 53);
  EXPECT_EQ(omega(RandK{{.count = 2}}, VectorBlocks(), 53), 53.0 / 2 - 1);
}
/// The inequality of TopK on vectors of any shape, with equality where it is tight.
TEST(VectorBlocks, TopKKeepsItsShareOfEveryVector) {
  const std::vector<std::size_t> sizes{10, 40, 3};
  const VectorBlocks blocks(sizes);
  const AnyCompressor any = TopK{{.fraction = 0.3}};
  CompressorMemory memory;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Vector x = randomVector(53, seed);
    for (std::size_t i = 0; i < 53; ++i)
      if (Rng(seed, i).below(3) == 0) x[i] *= 100;
    Message message;
    encodeBlocks(any, blocks, {1, seed, 0}, MessageForm::contractive, Numbers<double>{x}, memory, message);
    Vector found(53);
    const VectorForm form{any, blocks, MessageForm::contractive};
    form.forEachVector<double>(
        message, 53, {1, seed, 0},
        [&](std::size_t block, const MessageHeader& header, std::span<const std::byte> vector) {
          EXPECT_TRUE(checkMessage<double>(vector, sizes[block]) == header);
          decodeAdd<double>(vector, 1, blocks.of(std::span(found), block), memory);
        });
    EXPECT_LE(squaredDistance(found, x), (1 - alpha(any, blocks, 53)) * squaredNorm(x) * (1 + 1e-12));
  }
}
TEST(VectorBlocks, BlocksDrawApartFromEachOther) {
  const std::vector<std::size_t> sizes{50, 50};
  const VectorBlocks blocks(sizes);
  const CompressionKey key{1, 2, 3};
  EXPECT_NE(blocks.keyOf(key, 0).own(), blocks.keyOf(key, 1).own());
  EXPECT_EQ(VectorBlocks().keyOf(key, 0).own(), key.own());
  EXPECT_THROW(blocks.check(Identity{}, 99), Error);
  EXPECT_THROW(blocks.check(TopK{{.count = 51}}, 100), Error);
}

}  // namespace answer_in_parts_test
}  // namespace burtorch
