// Merging: the order of ranks and places, random merges in any order beside the naive twin, long lists in little time.
#include "burtorch/data/bpe_merges.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "burtorch/base/rng.hpp"
#include "reference/bpe_naive.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace bpe_merges_test {

TokenList merged(TokenList tokens, const BytePairMerges& merges) {
  BytePairMerges::Scratch scratch;
  tokens.resize(merges.merge(tokens, scratch));
  return tokens;
}
/// Short and long at once: a list behind as many tokens that are never merged.
void expectMerged(const TokenList& tokens, const std::vector<BytePairMerge>& list,
                  const TokenList& expected) {
  const BytePairMerges merges(list);
  EXPECT_EQ(merged(tokens, merges), expected);
  TokenList longer(BytePairMerges::longestShort, 999), longerExpected = longer;
  longer.insert(longer.end(), tokens.begin(), tokens.end());
  longerExpected.insert(longerExpected.end(), expected.begin(), expected.end());
  EXPECT_EQ(merged(longer, merges), longerExpected);
}

TEST(BytePairMerges, TheLowestRankIsMergedFirst) {
  expectMerged({1, 2, 3}, {{2, 3, 10}, {1, 2, 11}}, {1, 10});
  expectMerged({1, 2, 3}, {{1, 2, 11}, {2, 3, 10}}, {11, 3});
}
TEST(BytePairMerges, OfOneRankTheLeftmostIsMergedFirst) {
  expectMerged({1, 1, 1}, {{1, 1, 10}}, {10, 1});
  expectMerged({1, 1, 1, 1, 1}, {{1, 1, 10}, {10, 10, 11}}, {11, 1});
}
TEST(BytePairMerges, WhatIsMergedIsMergedAgain) {
  expectMerged({1, 2, 3, 4}, {{1, 2, 10}, {3, 4, 11}, {10, 11, 12}}, {12});
}
TEST(BytePairMerges, ANewPairOfLowerRankGoesFirst) {
  // Of 1 2 1 2 the first two become 10, and 10 1 has the lower rank: the second 1 2 is not merged any more.
  expectMerged({1, 2, 1, 2}, {{10, 1, 11}, {1, 2, 10}}, {11, 2});
}
TEST(BytePairMerges, NothingToMerge) {
  const std::vector<BytePairMerge> list{{1, 2, 10}};
  expectMerged({}, list, {});
  expectMerged({1}, list, {1});
  expectMerged({2, 1}, list, {2, 1});
  expectMerged({1, 2}, {}, {1, 2});
}
TEST(BytePairMerges, ARankOfZeroAndTokenZeroAreLikeOthers) { expectMerged({0, 0, 0}, {{0, 0, 0}}, {0}); }
TEST(BytePairMerges, APairThatIsMergedTwiceIsAnError) {
  const std::string said = sentenceOf([] {
    BytePairMerges(std::vector<BytePairMerge>{{1, 2, 10}, {3, 4, 11}, {1, 2, 12}});
  });
  EXPECT_EQ(said, "BytePairMerges: tokens 1 and 2 are merged twice, by merges 0 and 2; leave one out");
}

TEST(BytePairMerges, RandomMergesOfRandomListsAreThoseOfTheTwin) {
  constexpr std::uint64_t seed = 21;
  Rng rng(seed);
  for (int i = 0; i < 2000; ++i) {
    // Merges in any order, of tokens that may themselves come from later merges, several to the same result.
    const std::size_t kinds = 2 + rng.index(8);
    std::vector<BytePairMerge> list;
    std::set<std::pair<TokenId, TokenId>> pairs;
    for (std::size_t n = rng.index(30); n > 0; --n) {
      const auto token = [&] { return static_cast<TokenId>(rng.index(kinds)); };
      const BytePairMerge merge{token(), token(), token()};
      if (pairs.emplace(merge.left, merge.right).second) list.push_back(merge);
    }
    TokenList tokens(rng.index(i % 10 == 0 ? 300 : 60));
    for (TokenId& token : tokens) token = static_cast<TokenId>(rng.index(kinds));
    ASSERT_EQ(merged(tokens, BytePairMerges(list)), mergedNaively(tokens, list))
        << "seed " << seed << ", case " << i;
  }
}
TEST(BytePairMerges, AMillionTokensTakeNoQuadraticTime) {
  std::vector<BytePairMerge> list;
  for (TokenId t = 0; t < 12; ++t) list.push_back({t, t, t + 1});
  const BytePairMerges merges(list);
  const auto start = std::chrono::steady_clock::now();
  const TokenList result = merged(TokenList(1'000'000, 0), merges);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30)) << "quadratic: an hour";
  EXPECT_EQ(result.size(), 244u + 2) << "1,000,000 is 244 * 4096 and 512 + 64";
}

}  // namespace bpe_merges_test
}  // namespace burtorch
