// Stored tokens: as many bytes as the vocabulary needs, and views that read them.
#include "burtorch/data/tokens.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace tokens_test {

std::vector<TokenId> listOf(TokenView view) {
  std::vector<TokenId> list(view.size());
  view.copyTo(list);
  return list;
}

TEST(Tokens, TakeTheFewestBytesThatHoldTheVocabulary) {
  EXPECT_EQ(Tokens(2).bytesPerToken(), 1u);
  EXPECT_EQ(Tokens(256).bytesPerToken(), 1u);
  EXPECT_EQ(Tokens(257).bytesPerToken(), 2u);
  EXPECT_EQ(Tokens(65536).bytesPerToken(), 2u);
  EXPECT_EQ(Tokens(65537).bytesPerToken(), 4u);
}

TEST(Tokens, AnyWidthGivesBackWhatWasPushed) {
  for (const TokenId vocabulary : {256u, 65536u, 0x10F7FFu}) {
    Tokens tokens(vocabulary);
    std::vector<TokenId> expected;
    for (TokenId i = 0; i < 100; ++i) {
      expected.push_back(vocabulary - 1 - i * (vocabulary / 100));
      tokens.push(expected.back());
    }
    EXPECT_EQ(tokens.size(), 100u);
    EXPECT_EQ(listOf(tokens), expected) << "vocabulary " << vocabulary;
  }
}

TEST(Tokens, AViewOfAPartStartsAtItsFirstToken) {
  for (const std::size_t vocabulary : {200u, 2000u, 200000u}) {
    Tokens tokens(vocabulary);
    for (TokenId i = 0; i < 10; ++i) tokens.push(100 + i);
    EXPECT_EQ(listOf(tokens.view().subview(3, 4)), (std::vector<TokenId>{103, 104, 105, 106}));
    EXPECT_EQ(listOf(tokens.view().subview(3, 4).subview(1, 2)), (std::vector<TokenId>{104, 105}));
    EXPECT_TRUE(tokens.view().subview(10, 0).empty());
  }
}

TEST(Tokens, AViewThatWouldReachBeyondTheEndIsAnError) {
  const std::vector<TokenId> tokens{1, 2, 3};
  EXPECT_NE(sentenceOf([&] { TokenView(tokens).subview(1, 3); }), "");
  EXPECT_NE(sentenceOf([&] { TokenView(tokens).subview(4, 0); }), "");
  EXPECT_EQ(codeOf([&] { TokenView(tokens).subview(4, 0); }), ErrorCode::outOfRange);
  EXPECT_NE(sentenceOf([&] { TokenView(tokens).subview(1, SIZE_MAX); }), "");
  EXPECT_EQ(sentenceOf([&] { TokenView(tokens).subview(1, 2); }), "");
}

TEST(Tokens, CopyingAsksForExactlyAsManyPlaces) {
  const std::vector<TokenId> tokens{1, 2, 3};
  std::vector<TokenId> two(2);
  EXPECT_EQ(sentenceOf([&] { TokenView(tokens).copyTo(two); }), "3 tokens cannot be copied to 2 places");
}

TEST(Tokens, AViewCanBeWalkedThrough) {
  const std::vector<TokenId> tokens{4, 0, 70000};
  std::vector<TokenId> seen;
  for (const TokenId token : TokenView(tokens)) seen.push_back(token);
  EXPECT_EQ(seen, tokens);
}

}  // namespace tokens_test
}  // namespace burtorch
