// Ranks: messages whole and in order, labels and lengths checked, waits that end, broadcasts, what is counted.
#include <burtorch/parallel/ranks_in_process.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>

#include "on_ranks.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace ranks_test {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;

Bytes bytesOf(std::size_t count, std::uint64_t seed) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7 + seed);
  return bytes;
}
Bytes copyOf(std::span<const std::byte> bytes) { return {bytes.begin(), bytes.end()}; }

TEST(Ranks, MessagesArriveWholeAndInOrder) {
  RankGroup group(3);
  const auto sentences = sentencesOnRanks(group, [](Ranks& ranks) {
    for (std::uint64_t i = 0; i < 50; ++i)
      for (std::size_t to = 0; to < 3; ++to)
        if (to != ranks.rank()) ranks.send(to, {1, 2, i}, bytesOf(i * 31, i + ranks.rank()));
    for (std::uint64_t i = 0; i < 50; ++i)
      for (std::size_t from = 0; from < 3; ++from)
        if (from != ranks.rank()) {
          const Bytes found = copyOf(ranks.receive(from, {1, 2, i}, 50 * 31));
          if (found != bytesOf(i * 31, i + from)) fail("message %zu is another", static_cast<std::size_t>(i));
        }
    if (!(ranks.sent() == ranks.received())) fail("what was sent and received differs");
    if (ranks.sent().messages != 100) fail("a message was not counted");
    if (ranks.sent().bytes != 100 * Ranks::headerBytes + 2 * 31 * (49 * 50 / 2))
      fail("bytes were not counted");
  });
  EXPECT_EQ(sentences, std::vector<std::string>(3));
}

TEST(Ranks, ABroadcastReachesEveryoneOnceForAnyNumber) {
  for (std::size_t size = 1; size <= 9; ++size) {
    RankGroup group(size);
    std::atomic<std::uint64_t> sent{0};
    const auto sentences = sentencesOnRanks(group, [&](Ranks& ranks) {
      for (std::uint64_t i = 0; i < 5; ++i) {
        Bytes bytes = bytesOf(100 + i, ranks.rank() + i);
        ranks.broadcast(
            {3, 0, i}, 200, [&](std::byte* at) { return std::copy(bytes.begin(), bytes.end(), at); },
            [&](std::span<const std::byte> found) { bytes = copyOf(found); });
        if (bytes != bytesOf(100 + i, i)) fail("broadcast %zu is another", static_cast<std::size_t>(i));
      }
      sent += ranks.sent().messages;
    });
    EXPECT_EQ(sentences, std::vector<std::string>(size));
    EXPECT_EQ(sent, 5 * (size - 1));
  }
}

TEST(Ranks, AnotherLabelOrALongerMessageIsAnError) {
  RankGroup group(2);
  group[1].send(0, {1, 2, 3}, bytesOf(8, 0));
  EXPECT_EQ(
      sentenceOf([&] {
        group[0].receive(1, {1, 2, 4}, 8);
      }),
      "rank 0: expected message 1.2 of number 4 from rank 1, got 1.2 of number 3; do all ranks run the same "
      "program?");
  group[1].send(0, {1, 2, 3}, bytesOf(9, 0));
  EXPECT_EQ(sentenceOf([&] {
              group[0].receive(1, {1, 2, 3}, 8);
            }),
            "rank 0 cannot take a message of rank 1: it is longer than agreed");
  EXPECT_EQ(codeOf([&] { group[0].send(0, {}, {}); }), ErrorCode::outOfRange);
  EXPECT_EQ(codeOf([&] { group[0].receive(2, 8); }), ErrorCode::outOfRange);
  EXPECT_EQ(codeOf([] { RankGroup none(0); }), ErrorCode::invalidArgument);
}

TEST(Ranks, AStopEndsAWait) {
  RankGroup group(2);
  int polls = 0;
  group[0].setStop([&] { return ++polls == 1000; });
  EXPECT_EQ(codeOf([&] { group[0].receive(1, 8); }), ErrorCode::stopped);
  EXPECT_EQ(polls, 1000);
  // A message that is there is taken, whatever the stop says.
  group[0].setStop([] { return true; });
  group[1].send(0, {1, 0, 0}, bytesOf(8, 0));
  EXPECT_EQ(copyOf(group[0].receive(1, {1, 0, 0}, 8)), bytesOf(8, 0));
}

TEST(Ranks, ASilentRankIsNotWaitedForForever) {
  RankGroup group(2);
  group[0].setPatience(30ms);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(codeOf([&] { group[0].receive(1, 8); }), ErrorCode::peerLost);
  const auto waited = std::chrono::steady_clock::now() - start;
  EXPECT_GE(waited, 30ms);
  EXPECT_LT(waited, 2s);
}

TEST(Ranks, OneThatLeavesEndsTheWaitsOfAllButWhatItSentIsTaken) {
  RankGroup group(4);
  const auto sentences = sentencesOnRanks(group, [](Ranks& ranks) {
    if (ranks.rank() == 2) {
      ranks.send(0, {1, 0, 0}, bytesOf(8, 0));
      fail("there is no more data");
    }
    if (ranks.rank() == 0) {
      std::this_thread::sleep_for(20ms);
      ranks.receive(2, {1, 0, 0}, 8);
    }
    ranks.receive(ranks.rank() == 3 ? 1 : 3, 8);  // two that wait for each other
  });
  EXPECT_EQ(sentences[2], "there is no more data");
  for (const std::size_t rank : {0u, 1u, 3u})
    EXPECT_EQ(sentences[rank], "rank 2 has left: there is no more data");
}

TEST(Ranks, AMessageThatComesJustBeforeItsRankLeavesIsTaken) {
  for (const int when : {1, 63, 64, 65, 128}) {
    RankGroup group(2);
    int polls = 0;
    group[0].setStop([&] {  // the other rank acts between two looks of this one
      if (++polls == when) {
        group[1].send(0, {1, 0, 0}, bytesOf(8, 0));
        group[1].leave("done");
      }
      return false;
    });
    EXPECT_EQ(copyOf(group[0].receive(1, {1, 0, 0}, 8)), bytesOf(8, 0)) << when;
    EXPECT_EQ(codeOf([&] { group[0].receive(1, 8); }), ErrorCode::peerLost);
  }
}

TEST(Ranks, WhoStartsFromSomethingElseIsFound) {
  RankGroup group(3);
  const auto sentences = sentencesOnRanks(group, [](Ranks& ranks) {
    ranks.requireSame({5, 0, 0}, ranks.rank() == 2 ? 8 : 7, "options");
  });
  EXPECT_EQ(sentences[0] + sentences[1], "");
  EXPECT_EQ(sentences[2], "rank 2 has other options than rank 0");
}

}  // namespace ranks_test
}  // namespace burtorch
