// How GPT-2 splits a text: cases by hand, random texts beside the regular expression itself, bytes that are not UTF-8.
#include "burtorch/data/pre_tokens.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "burtorch/base/rng.hpp"
#include "reference/pre_tokens_naive.hpp"

namespace burtorch {
namespace pre_tokens_test {

using namespace std::string_view_literals;
using Pieces = std::vector<std::string>;

Pieces piecesOf(std::string_view text) {
  Pieces pieces;
  PreTokens words(text);
  for (std::string_view word = words.next(); !word.empty(); word = words.next()) pieces.emplace_back(word);
  EXPECT_TRUE(words.next().empty()) << "the end stays the end";
  return pieces;
}

TEST(PreTokens, AWordTakesTheSpaceBeforeIt) {
  EXPECT_EQ(piecesOf("Hello, my world"), (Pieces{"Hello", ",", " my", " world"}));
  EXPECT_EQ(piecesOf(" a 1 ."), (Pieces{" a", " 1", " ."}));
}
TEST(PreTokens, LettersNumbersAndTheRestAreApart) {
  EXPECT_EQ(piecesOf("ab12cd!?_e"), (Pieces{"ab", "12", "cd", "!?_", "e"}));
  EXPECT_EQ(piecesOf("\u03B1\u0416\u0664\u20AC"), (Pieces{"\u03B1\u0416", "\u0664", "\u20AC"}));
  EXPECT_EQ(piecesOf("e\u0301a"), (Pieces{"e", "\u0301", "a"})) << "a combining mark is no letter";
}
TEST(PreTokens, ContractionsAreApart) {
  EXPECT_EQ(
      piecesOf("he's it't we're I've I'm you'll she'd"),
      (Pieces{"he", "'s", " it", "'t", " we", "'re", " I", "'ve", " I", "'m", " you", "'ll", " she", "'d"}));
  EXPECT_EQ(piecesOf("'says 'tis 'Sup"), (Pieces{"'s", "ays", " '", "tis", " '", "Sup"}));
  EXPECT_EQ(piecesOf("!'s 'x'r'l'v"), (Pieces{"!'", "s", " '", "x", "'", "r", "'", "l", "'", "v"}));
  EXPECT_EQ(piecesOf("'"), (Pieces{"'"}));
  EXPECT_EQ(piecesOf("\u2019s"), (Pieces{"\u2019", "s"})) << "the typographic one is not meant";
}
TEST(PreTokens, TheLastBlankOfSeveralBelongsToWhatFollows) {
  EXPECT_EQ(piecesOf("a   b"), (Pieces{"a", "  ", " b"}));
  EXPECT_EQ(piecesOf("a \n b"), (Pieces{"a", " \n", " b"}));
  EXPECT_EQ(piecesOf("a\n\nb"), (Pieces{"a", "\n", "\n", "b"}));
  EXPECT_EQ(piecesOf("a\nb"), (Pieces{"a", "\n", "b"}));
  EXPECT_EQ(piecesOf("a \tb"), (Pieces{"a", " ", "\t", "b"}));
  EXPECT_EQ(piecesOf("a  "), (Pieces{"a", "  "}));
  EXPECT_EQ(piecesOf(" "), (Pieces{" "}));
  EXPECT_EQ(piecesOf("a\u3000\u00A0b"), (Pieces{"a", "\u3000", "\u00A0", "b"}));
}
TEST(PreTokens, NothingHasNoPieces) { EXPECT_EQ(piecesOf(""), Pieces{}); }

TEST(PreTokens, AByteThatIsNoCharacterSplitsAsTheReplacementCharacterDoes) {
  EXPECT_EQ(piecesOf("a\xFF\x80"
                     "b \xC3"sv),
            (Pieces{"a", "\xFF\x80", "b", " \xC3"}));
  EXPECT_EQ(piecesOf("a\0b"sv), (Pieces{"a", std::string(1, '\0'), "b"}));
}

TEST(PreTokens, RandomTextsAreSplitAsByTheRegularExpression) {
  const std::vector<std::string> parts{
      " ",      " ",      " ",      "\n",     "\t",         "\r",     "\u00A0",
      "\u2003", "\u3000", "\x85",   "\u0085", "a",          "s",      "t",
      "re",     "ve",     "ll",     "d",      "m",          "'",      "'",
      "\u2019", "7",      "\u0667", "\u00BD", "!",          "_",      "\u0301",
      "\u00E9", "\u4E2D", "\xFF",   "\xE2",   "\U0001F600", "\u200D", std::string(1, '\0')};
  constexpr std::uint64_t seed = 11;
  Rng rng(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::size_t n = rng.index(12); n > 0; --n) text += parts[rng.index(parts.size())];
    ASSERT_EQ(piecesOf(text), NaivePreTokens(text).pieces()) << "seed " << seed << ", text " << i;
  }
}
TEST(PreTokens, RandomBytesAreSplitAsByTheRegularExpression) {
  constexpr std::uint64_t seed = 12;
  Rng rng(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string text;
    for (std::size_t n = rng.index(20); n > 0; --n) text += static_cast<char>(rng.index(256));
    ASSERT_EQ(piecesOf(text), NaivePreTokens(text).pieces()) << "seed " << seed << ", text " << i;
  }
}
TEST(PreTokens, AMillionBlanksAndAMillionLettersTakeOnePass) {
  const std::string blanks(1'000'000, ' '), letters(1'000'000, 'a');
  EXPECT_EQ(piecesOf(blanks + letters), (Pieces{blanks.substr(1), " " + letters}));
  EXPECT_EQ(piecesOf(blanks + "\n"), (Pieces{blanks + "\n"}));
}

}  // namespace pre_tokens_test
}  // namespace burtorch
