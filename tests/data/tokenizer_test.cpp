// Vocabularies: what is in them, which token is which, texts that are not UTF-8, unknown characters, saved forms.
#include "burtorch/data/tokenizer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "burtorch/base/rng.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace tokenizer_test {

using namespace std::string_view_literals;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
std::vector<TokenId> listOf(TokenView view) {
  std::vector<TokenId> list(view.size());
  view.copyTo(list);
  return list;
}
void expectRoundTrip(std::string_view text) {
  const Tokenizer tokenizer(text);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
}

/// One of each kind of bytes that are not UTF-8; each stands after "ab", at byte 2.
const std::vector<std::string_view> notUtf8 = {
    "ab\x80 stray continuation"sv,
    "ab\xFF never a byte of UTF-8"sv,
    "ab\xC0\x80 overlong NUL"sv,
    "ab\xC1\xBF overlong DEL"sv,
    "ab\xE0\x9F\xBF overlong, three bytes"sv,
    "ab\xF0\x8F\xBF\xBF overlong, four bytes"sv,
    "ab\xED\xA0\x80 surrogate"sv,
    "ab\xED\xBF\xBF last surrogate"sv,
    "ab\xF4\x90\x80\x80 beyond the last code point"sv,
    "ab\xF8\x88\x80\x80\x80 five bytes"sv,
    "ab\xE2\x28\xAC continuation missing"sv,
    "ab\xC3"sv,
    "ab\xE2\x82"sv,
    "ab\xF0\x9F\x98"sv,
};

// ---- The vocabulary ----

TEST(Tokenizer, TokensAreInTheOrderOfTheCodePoints) {
  const Tokenizer tokenizer("hello, World\n");
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), "\n ,Wdehlor");
  EXPECT_EQ(tokenizer.size(), 10u);
}

TEST(Tokenizer, TheVocabularyDoesNotDependOnTheOrderOfTheText) {
  std::string text = "the quick brown fox, caf\u00E9 \u20AC \U0001F600";
  const std::string expected = Tokenizer(text).toString();
  EXPECT_EQ(Tokenizer("\U0001F600 \u20AC \u00E9facnworbkciuqehtx,").toString(),
            Tokenizer("nworbkciuqehtx,\u00E9fac \u20AC\U0001F600").toString());
  EXPECT_EQ(Tokenizer(text + text).toString(), expected);
}

TEST(Tokenizer, CodePointsOfAllLengthsAreOneTokenEach) {
  const std::string text = "a\u00E9\u20AC\U0001F600";
  const Tokenizer tokenizer(text);
  EXPECT_EQ(tokenizer.unit(), TokenUnit::codePoint);
  EXPECT_EQ(tokenizer.size(), 4u);
  EXPECT_EQ(listOf(tokenizer.encode(text)), (std::vector<TokenId>{0, 1, 2, 3}));
  EXPECT_EQ(tokenizer.decode(TokenId{3}), "\U0001F600");
}

TEST(Tokenizer, BytesAreTokensIfAskedFor) {
  const std::string text = "a\u00E9";
  const Tokenizer tokenizer(text, {.unit = TokenUnit::byte});
  EXPECT_EQ(tokenizer.unit(), TokenUnit::byte);
  EXPECT_EQ(tokenizer.size(), 3u);
  EXPECT_EQ(listOf(tokenizer.encode(text)), (std::vector<TokenId>{0, 2, 1}));
  EXPECT_FALSE(tokenizer.invalidAt().has_value()) << "it was asked for, not fallen back to";
}

TEST(Tokenizer, FindKnowsWhichCharactersThereAre) {
  const Tokenizer tokenizer("bd\u00E9\u20AC");
  EXPECT_EQ(tokenizer.find(U'b'), TokenId{0});
  EXPECT_EQ(tokenizer.find(U'd'), TokenId{1});
  EXPECT_EQ(tokenizer.find(0xE9), TokenId{2});
  EXPECT_EQ(tokenizer.find(0x20AC), TokenId{3});
  for (const char32_t absent :
       {U'a', U'c', U'e', char32_t{0}, char32_t{0x20AB}, char32_t{0x20AD}, codePointEnd})
    EXPECT_FALSE(tokenizer.find(absent).has_value()) << static_cast<unsigned>(absent);
}

TEST(Tokenizer, AnEmptyTextIsAnError) {
  EXPECT_TRUE(contains(sentenceOf([] { Tokenizer(""); }), "empty text"));
  EXPECT_TRUE(contains(sentenceOf([] { Tokenizer(std::string_view{}, {.endMark = '.'}); }), "empty text"));
}

TEST(Tokenizer, ATextOfOneCharacterIsAnErrorThatNamesIt) {
  EXPECT_TRUE(contains(sentenceOf([] { Tokenizer("a"); }), "'a' (U+0061)"));
  EXPECT_TRUE(contains(sentenceOf([] { Tokenizer(std::string(1000, '\0')); }), "U+0000"));
  EXPECT_TRUE(contains(sentenceOf([] { Tokenizer("\xFF\xFF"); }), "byte 0xFF"));
  EXPECT_EQ(sentenceOf([] { Tokenizer("ab"); }), "");
}

TEST(Tokenizer, TheEndMarkIsTokenZeroAndTheRestStaysSorted) {
  const Tokenizer tokenizer("-z'a.\u20AC", {.endMark = '.'});
  EXPECT_TRUE(tokenizer.hasEndMark());
  EXPECT_EQ(tokenizer.decode(std::vector<TokenId>{0, 1, 2, 3, 4, 5}), ".'-az\u20AC");
  EXPECT_EQ(listOf(tokenizer.encode("z.'\u20AC")), (std::vector<TokenId>{4, 0, 1, 5}));
}

TEST(Tokenizer, TheEndMarkIsThereEvenIfTheTextLacksIt) {
  const Tokenizer tokenizer("aaa", {.endMark = '.'});
  EXPECT_EQ(tokenizer.size(), 2u);
  EXPECT_EQ(tokenizer.decode(TokenId{0}), ".");
}

TEST(Tokenizer, AnEndMarkThatIsNotAsciiIsAnError) {
  EXPECT_TRUE(contains(sentenceOf([] { Tokenizer("ab", {.endMark = '\xE9'}); }), "0xE9"));
}

// ---- Encoding ----

TEST(Tokenizer, OddTextsComeBackByteForByte) {
  expectRoundTrip("line\r\nline\r\n");
  expectRoundTrip("no newline at the end");
  expectRoundTrip(
      "\xEF\xBB\xBF"
      "a byte order mark");
  expectRoundTrip("zero\0bytes\0"sv);
  expectRoundTrip("\U0010FFFF\U00010000\uFFFF\u0800\u07FF\u0080\x7F");
}

TEST(Tokenizer, AllOfUnicodeFitsIntoAVocabulary) {
  std::string text;
  for (char32_t c = 0; c < codePointEnd; ++c)
    if (!isSurrogate(c)) appendUtf8(text, c);
  const Tokenizer tokenizer(text);
  EXPECT_EQ(tokenizer.size(), 0x110000u - 0x800u);
  EXPECT_EQ(tokenizer.toString(), "characters 00-D7FF E000-10FFFF");
  const Tokens tokens = tokenizer.encode(text);
  EXPECT_EQ(tokens.bytesPerToken(), 4u);
  EXPECT_TRUE(tokenizer.decode(tokens) == text);
}

TEST(Tokenizer, RandomBytesComeBackByteForByte) {
  const std::uint64_t seed = 20250101;
  Rng rng(seed);
  for (int round = 0; round < 2000; ++round) {
    // Few kinds of bytes, so that many texts are UTF-8 and many nearly so.
    static constexpr unsigned char kinds[] = {0x00, 'a',  0x7F, 0x80, 0xBF, 0xC2, 0xC3,
                                              0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xFF, '\n'};
    std::string text = "ab";
    for (std::uint32_t left = rng.below(12); left > 0; --left)
      text += static_cast<char>(round % 2 ? rng.below(256) : kinds[rng.below(sizeof kinds)]);
    const Tokenizer tokenizer(text);
    ASSERT_EQ(tokenizer.decode(tokenizer.encode(text)), text) << "seed " << seed << ", round " << round;
    ASSERT_EQ(Tokenizer::fromString(tokenizer.toString()).decode(tokenizer.encode(text)), text);
  }
}

TEST(Tokenizer, NothingIsEncodedToNothing) {
  const Tokenizer tokenizer("ab");
  EXPECT_EQ(tokenizer.encode("").size(), 0u);
  EXPECT_EQ(tokenizer.decode(TokenView()), "");
}

TEST(Tokenizer, AnUnknownCharacterIsNamedWithItsPlace) {
  const Tokenizer tokenizer("abc\u20AC");
  const std::string plain = sentenceOf([&] { tokenizer.encode("ab\u20ACxyz"); });
  EXPECT_TRUE(contains(plain, "'x' (U+0078) at byte 5")) << plain;
  EXPECT_TRUE(contains(plain, "vocabulary of 4")) << plain;
  EXPECT_TRUE(contains(sentenceOf([&] { tokenizer.encode("a\u00E9"); }), "'\u00E9' (U+00E9)"));
  EXPECT_TRUE(contains(sentenceOf([&] { tokenizer.encode("a\U0001F600"); }), "U+1F600"));
  EXPECT_TRUE(contains(sentenceOf([&] { tokenizer.encode("a\n"); }), "U+000A"));
  const Tokenizer bytes("abc", {.unit = TokenUnit::byte});
  EXPECT_TRUE(contains(sentenceOf([&] { bytes.encode("a\u00E9"); }), "byte 0xC3 at byte 1"));
}

TEST(Tokenizer, ATokenOutsideTheVocabularyIsAnError) {
  const Tokenizer tokenizer("abc");
  const std::string sentence = sentenceOf([&] { tokenizer.decode(std::vector<TokenId>{0, 3}); });
  EXPECT_TRUE(contains(sentence, "token 3 is outside the vocabulary of 3")) << sentence;
  EXPECT_NE(sentenceOf([&] { tokenizer.decode(TokenId{UINT32_MAX}); }), "");
  EXPECT_EQ(codeOf([&] { tokenizer.decode(TokenId{UINT32_MAX}); }), ErrorCode::outOfRange);
}

// ---- Texts that are not UTF-8 ----

TEST(Tokenizer, ATextThatIsNotUtf8IsTakenByteByByteAndSaysWhere) {
  for (const std::string_view text : notUtf8) {
    const Tokenizer tokenizer(text);
    EXPECT_EQ(tokenizer.unit(), TokenUnit::byte) << text;
    ASSERT_TRUE(tokenizer.invalidAt().has_value()) << text;
    EXPECT_EQ(*tokenizer.invalidAt(), 2u) << text;
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  }
}

// What was seen before the first wrong byte must not stay in the vocabulary as code points.
TEST(Tokenizer, FallingBackForgetsTheCodePointsSeenBefore) {
  const Tokenizer tokenizer("\u00E9\u20AC\xFF"sv);
  EXPECT_EQ(tokenizer.toString(), "bytes 82 A9 AC C3 E2 FF");
}

TEST(Tokenizer, IfCodePointsAreAskedForOtherTextsAreAnError) {
  for (const std::string_view text : notUtf8) {
    const std::string sentence = sentenceOf([&] { Tokenizer(text, {.unit = TokenUnit::codePoint}); });
    EXPECT_TRUE(contains(sentence, "not UTF-8 at byte 2")) << sentence;
  }
}

TEST(Tokenizer, AVocabularyOfCharactersDoesNotEncodeWhatIsNotUtf8) {
  const Tokenizer tokenizer("abcdefghijklmnopqrstuvwxyz ,DELNUT8F-");
  for (const std::string_view text : notUtf8) {
    const std::string sentence = sentenceOf([&] { tokenizer.encode(text); });
    EXPECT_TRUE(contains(sentence, "not UTF-8 at byte 2")) << sentence;
  }
}

// ---- Saved vocabularies ----

TEST(Tokenizer, ASavedVocabularyIsOneLineOfRanges) {
  EXPECT_EQ(Tokenizer("cab\n z").toString(), "characters 0A 20 61-63 7A");
  EXPECT_EQ(Tokenizer("ab\u20AC\U0001F600").toString(), "characters 61-62 20AC 1F600");
  EXPECT_EQ(Tokenizer("ba", {.endMark = '.'}).toString(), "characters end 2E 61-62");
  EXPECT_EQ(Tokenizer("-/", {.endMark = '.'}).toString(), "characters end 2E 2D 2F");
  EXPECT_EQ(Tokenizer("a\xFF\xFE"sv).toString(), "bytes 61 FE-FF");
}

TEST(Tokenizer, ASavedVocabularyEncodesLikeTheFirst) {
  const std::string text = "the caf\u00E9, 5 \u20AC \U0001F600.";
  for (const TokenizerOptions& options :
       {TokenizerOptions{}, TokenizerOptions{.endMark = '.'}, TokenizerOptions{.unit = TokenUnit::byte}}) {
    const Tokenizer first(text, options);
    const Tokenizer second = Tokenizer::fromString(first.toString());
    EXPECT_EQ(second.toString(), first.toString());
    EXPECT_EQ(second.unit(), first.unit());
    EXPECT_EQ(second.hasEndMark(), first.hasEndMark());
    EXPECT_EQ(listOf(second.encode(text)), listOf(first.encode(text)));
  }
}

TEST(Tokenizer, WhatIsNotASavedVocabularyIsAnError) {
  for (const std::string_view saved : {
           ""sv,
           "characters"sv,
           "characters 61"sv,
           "characters end 2E"sv,
           "letters 61-7A"sv,
           "characters 61-7a"sv,
           "characters 61-7A "sv,
           "characters  61-7A"sv,
           "characters 61-7A\n"sv,
           "characters 61-7A\0"sv,
           "characters 61-7A,"sv,
           "characters 061-7A"sv,
           "characters 61 62"sv,
           "characters 7A-61"sv,
           "characters 63 61"sv,
           "characters 61-63 63-65"sv,
           "characters 61-"sv,
           "characters -61"sv,
           "characters 61--63"sv,
           "characters D800-D801"sv,
           "characters 61-E000"sv,
           "characters 61 110000"sv,
           "characters 61-FFFFFFFFFFFFFFFFFFFF"sv,
           "characters end 61-7A"sv,
           "characters end 2E 2D-2F"sv,
           "characters end 2E 2E 61"sv,
           "characters end E9 61"sv,
           "characters 61-62 end 2E"sv,
           "bytes 61 100"sv,
           "bytes61-62"sv,
       })
    EXPECT_TRUE(contains(sentenceOf([&] { Tokenizer::fromString(saved); }), "expected a saved vocabulary"))
        << saved;
  EXPECT_EQ(codeOf([] { Tokenizer::fromString("bytes61-62"); }), ErrorCode::badFile);
}

// Damage at any place is noticed or gives another well-formed vocabulary; nothing crashes.
TEST(Tokenizer, ADamagedVocabularyIsRefusedOrReadsAsItIsWritten) {
  const std::uint64_t seed = 7;
  Rng rng(seed);
  const std::string good = Tokenizer("the caf\u00E9, 5 \u20AC \U0001F600.", {.endMark = '.'}).toString();
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = good.substr(0, 1 + rng.below(good.size()));
    for (int hits = 0; hits < 2; ++hits)
      damaged[rng.below(damaged.size())] = " -0123456789ABCDEFendbytes"[rng.below(26)];
    const std::string sentence =
        sentenceOf([&] { ASSERT_EQ(Tokenizer::fromString(damaged).toString(), damaged) << "seed " << seed; });
    ASSERT_TRUE(sentence.empty() || contains(sentence, "expected a saved vocabulary")) << sentence;
  }
}

}  // namespace tokenizer_test
}  // namespace burtorch
