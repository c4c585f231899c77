// CoordinateSet: every set equally likely, by counting all sequences of draws; what a key draws, as bits, runs and blocks.
#include "burtorch/optimise/coordinate_set.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace burtorch {
namespace coordinate_set_test {

using Members = std::set<std::uint32_t>;

Members membersOf(const CoordinateSet& set, std::size_t d) {
  Members members;
  if (!set.isRun()) return {set.indices().begin(), set.indices().end()};
  const auto [front, back] = set.halves();
  for (std::size_t i = 0; i < set.size(); ++i)
    members.insert(static_cast<std::uint32_t>((front.first + i) % d));
  EXPECT_EQ(front.count + back.count, set.size());
  return members;
}
std::size_t choose(std::size_t n, std::size_t k) { return k == 0 ? 1 : choose(n - 1, k - 1) * n / k; }

/// How many sequences of exactly `length` draws end with each set.
std::map<Members, std::size_t> endings(std::uint32_t d, std::size_t k, std::size_t length) {
  std::map<Members, std::size_t> counts;
  std::size_t sequences = 1;
  for (std::size_t i = 0; i < length; ++i) sequences *= d;
  struct Exhausted {};
  for (std::size_t sequence = 0; sequence < sequences; ++sequence) {
    std::size_t rest = sequence, used = 0;
    std::uint64_t bits = 0;
    std::array<std::uint32_t, 8> list{};
    try {
      detail::drawDistinct(
          k,
          [&]() -> std::uint32_t {
            if (++used > length) throw Exhausted{};
            const auto drawn = static_cast<std::uint32_t>(rest % d);
            rest /= d;
            return drawn;
          },
          &bits, list.data());
    } catch (const Exhausted&) {
      continue;
    }
    if (used == length) ++counts[Members(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(k))];
  }
  return counts;
}
TEST(CoordinateSet, EverySubsetEndsEquallyManySequencesOfDraws) {
  for (const std::uint32_t d : {3u, 5u})
    for (std::size_t k = 1; k <= d; ++k)
      for (std::size_t length = k; length <= 7; ++length) {
        const auto counts = endings(d, k, length);
        if (k == 1 && length > 1) {
          EXPECT_TRUE(counts.empty());
          continue;
        }
        EXPECT_EQ(counts.size(), choose(d, k)) << "d = " << d << ", k = " << k << ", length " << length;
        for (const auto& [members, count] : counts) EXPECT_EQ(count, counts.begin()->second);
      }
}

TEST(CoordinateSet, EveryPermutationComesFromOneSequenceOfDraws) {
  std::set<std::vector<std::uint32_t>> seen;
  for (std::uint32_t sequence = 0; sequence < 120; ++sequence) {
    std::uint32_t rest = sequence;
    std::vector<std::uint32_t> permutation(5);
    detail::drawPermutation(permutation, [&](std::uint32_t bound) {
      const std::uint32_t drawn = rest % bound;
      rest /= bound;
      return drawn;
    });
    seen.insert(permutation);
  }
  EXPECT_EQ(seen.size(), 120u);
}

// Over all shifts, so with any permutation every coordinate falls to every worker equally often.
TEST(CoordinateSet, EveryPlaceFallsToEveryPartEquallyOften) {
  for (std::size_t d = 1; d <= 7; ++d)
    for (std::size_t parts = 1; parts <= 9; ++parts) {
      std::vector<std::size_t> times(d * parts);
      for (std::size_t shift = 0; shift < parts; ++shift) {
        std::size_t together = 0;
        for (std::size_t part = 0; part < parts; ++part) {
          const auto [first, end] = detail::partBounds(d, parts, part, shift);
          together += end - first;
          for (std::size_t place = first; place < end; ++place) ++times[place * parts + part];
        }
        EXPECT_EQ(together, d);
      }
      for (const std::size_t count : times) EXPECT_EQ(count, 1u) << "d = " << d << ", parts = " << parts;
    }
}

TEST(CoordinateSet, HalfDrawsAreUniform) {
  // Pearson's statistic with 9 degrees of freedom: above 33.7 with probability 1e-4. The seed is fixed.
  detail::HalfDraws draw(/*key=*/7, 10);
  std::array<double, 10> counts{};
  constexpr int draws = 100000;
  for (int i = 0; i < draws; ++i) ++counts[draw()];
  double statistic = 0;
  for (const double count : counts)
    statistic += (count - draws / 10.0) * (count - draws / 10.0) / (draws / 10.0);
  EXPECT_LT(statistic, 33.7);
}

TEST(CoordinateSet, KeysDrawEverySubsetAboutEquallyOften) {
  // 10 subsets of 2 and of 3 of 5, the latter by leaving out: 9 degrees of freedom, as above.
  for (const std::size_t k : {2u, 3u}) {
    std::map<Members, double> counts;
    CoordinateSet set;
    constexpr int keys = 20000;
    for (std::uint64_t key = 0; key < keys; ++key) {
      set.drawSubset(5, k, Rng(11, key).next());
      ++counts[membersOf(set, 5)];
    }
    ASSERT_EQ(counts.size(), 10u);
    double statistic = 0;
    for (const auto& [members, count] : counts)
      statistic += (count - keys / 10.0) * (count - keys / 10.0) / (keys / 10.0);
    EXPECT_LT(statistic, 33.7);
  }
}

TEST(CoordinateSet, HasAsManyMembersAsAskedFor) {
  CoordinateSet set;
  for (const std::size_t d : {1u, 2u, 63u, 64u, 65u, 1000u})
    for (const std::size_t k : {std::size_t{1}, d / 3 + 1, d / 2 + 1, d}) {
      if (k > d) continue;
      set.drawSubset(d, k, d + k);
      EXPECT_EQ(membersOf(set, d).size(), k) << "d = " << d;
      EXPECT_LT(*membersOf(set, d).rbegin(), d);
      set.drawRun(d, k, d + k);
      EXPECT_EQ(membersOf(set, d).size(), k) << "d = " << d;
    }
}

TEST(CoordinateSet, ARunBeginsAtEveryCoordinate) {
  std::set<std::size_t> starts;
  CoordinateSet set;
  for (std::uint64_t key = 0; key < 200; ++key) {
    set.drawRun(6, 4, key);
    starts.insert(set.halves().first.first);
  }
  EXPECT_EQ(starts.size(), 6u);
}

TEST(CoordinateSet, PartsOfOneKeyAreDisjointAndMakeUpEverything) {
  CoordinateSet set;
  for (const std::size_t parts : {1u, 3u, 7u, 20u}) {
    Members all;
    std::size_t together = 0;
    for (std::size_t part = 0; part < parts; ++part) {
      set.drawPart(17, parts, part, 5);
      EXPECT_EQ(set.size(), CoordinateSet::partSize(17, parts, part, 5));
      together += set.size();
      all.merge(membersOf(set, 17));
    }
    EXPECT_EQ(together, 17u);
    EXPECT_EQ(all.size(), 17u);
  }
}

TEST(CoordinateSet, BlocksAreTheMembersInOrder) {
  CoordinateSet set;
  std::vector<Block> blocks;
  const auto expectBlocks = [&](std::size_t d) {
    set.blocks(blocks);
    Members inBlocks;
    std::size_t count = 0, end = 0;
    for (const Block& block : blocks) {
      EXPECT_TRUE(block.isParameter);
      EXPECT_TRUE(count == 0 || block.first > end) << "neighbours are one block";
      end = block.first + block.count;
      count += block.count;
      for (NodeIndex i = block.first; i < end; ++i) inBlocks.insert(i);
    }
    EXPECT_EQ(inBlocks, membersOf(set, d));
    EXPECT_EQ(count, set.size());
  };
  for (std::uint64_t key = 0; key < 40; ++key)
    for (const std::size_t k : {1u, 7u, 12u, 13u}) {
      set.drawSubset(13, k, key);
      expectBlocks(13);
      set.drawRun(13, k, key);
      expectBlocks(13);
    }
}

TEST(CoordinateSet, TheSameKeyDrawsTheSameAfterOthers) {
  CoordinateSet set, other;
  set.drawSubset(100, 9, 1);
  const Members first = membersOf(set, 100);
  set.drawSubset(100, 9, 2);
  EXPECT_NE(membersOf(set, 100), first);
  set.drawPart(100, 4, 1, 1);
  set.drawSubset(100, 9, 1);
  EXPECT_EQ(membersOf(set, 100), first);
  other.drawSubset(100, 9, 1);
  EXPECT_EQ(membersOf(other, 100), first);
}

}  // namespace coordinate_set_test
}  // namespace burtorch
