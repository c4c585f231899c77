// GPT-2's tokenizer with small vocabularies: known tokens, any bytes there and back, special tokens, vocabularies that do not
// hold together, threads.
#include "burtorch/data/bpe.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "burtorch/base/rng.hpp"
#include "burtorch/data/text.hpp"
#include "reference/bpe_naive.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace bpe_test {

using namespace std::string_view_literals;

TokenList listOf(TokenView view) {
  TokenList list(view.size());
  view.copyTo(list);
  return list;
}
/// Tokens as their bytes.
std::vector<std::string> piecesOf(const BytePairTokenizer& tokenizer, std::string_view text) {
  std::vector<std::string> pieces;
  tokenizer.encode(text, [&](TokenId token) { pieces.emplace_back(tokenizer.bytesOf(token)); });
  return pieces;
}
using Pieces = std::vector<std::string>;

const std::string prose =
    "The cat sat on the mat, and the dog didn't. They're the cat's; it's 1984, 2024 or 12.\n\n"
    "  So the rat that sat at the cat's mat had that hat -- that's that!\n\tCaf\u00E9s, na\u00EFve "
    "\u4E2D\u6587 "
    "\u4E2D\u6587 \U0001F600\U0001F600 e\u0301.";

const BytePairVocabulary& learned() {
  static const BytePairVocabulary vocabulary = learnedFrom(prose, 60);
  return vocabulary;
}

// ---- Tokens of texts ----

TEST(BytePairTokenizer, WordsAreMergedAndSplitAtTheirSpaces) {
  const BytePairTokenizer tokenizer(vocabularyOf({{"t", "h"}, {"th", "e"}, {" ", "the"}, {"a", "t"}}));
  EXPECT_EQ(tokenizer.size(), 261u);
  EXPECT_EQ(piecesOf(tokenizer, "the the that"), (Pieces{"the", " the", " ", "th", "at"}));
  EXPECT_EQ(listOf(tokenizer.encode("the")), (TokenList{258}));
}
TEST(BytePairTokenizer, NothingIsMergedOverTheEndOfAWord) {
  const BytePairTokenizer tokenizer(vocabularyOf({{"a", " "}, {" ", " "}, {"a", "1"}, {"1", "!"}}));
  EXPECT_EQ(piecesOf(tokenizer, "a a1!"), (Pieces{"a", " ", "a", "1", "!"}));
  EXPECT_EQ(piecesOf(tokenizer, "   a"), (Pieces{"  ", " ", "a"}));
}
TEST(BytePairTokenizer, MakesTheTokensOfACorpus) {
  const BytePairTokenizer tokenizer(vocabularyOf({{"t", "h"}, {"th", "e"}, {" ", "the"}}));
  const TextCorpusOf<BytePairTokenizer> corpus("the the the the", tokenizer, {.validation = 0.5});
  EXPECT_EQ(listOf(corpus.tokens()), (TokenList{258, 259, 259, 259}));
  EXPECT_EQ(corpus.tokenizer().decode(corpus.tokens(Part::validation)), " the the");
  const TextWindows windows = corpus.windows(Part::train, {.context = 1});
  EXPECT_EQ(windows[0].targets[0], 259u);
}
TEST(BytePairTokenizer, AnEmptyTextHasNoTokens) {
  const BytePairTokenizer tokenizer(vocabularyOf({}));
  EXPECT_EQ(tokenizer.encode("").size(), 0u);
  EXPECT_EQ(tokenizer.decode(TokenList{}), "");
}
TEST(BytePairTokenizer, ATokenThatMergingDoesNotReachIsNotUsed) {
  // "abc" is a token, made of "a" and "bc"; but "ab" is merged first.
  const BytePairTokenizer tokenizer(vocabularyOf({{"a", "b"}, {"b", "c"}, {"a", "bc"}}));
  EXPECT_EQ(piecesOf(tokenizer, "abc"), (Pieces{"ab", "c"}));
  EXPECT_EQ(piecesOf(tokenizer, "bc"), (Pieces{"bc"}));
}
TEST(BytePairTokenizer, OfTwoTokensWithTheSameBytesTheMergedOneIsUsed) {
  BytePairVocabulary vocabulary = vocabularyOf({{"a", "b"}, {"b", "c"}, {"ab", "c"}});
  const auto copy = static_cast<TokenId>(vocabulary.tokens.size());
  vocabulary.tokens.push_back("abc");
  vocabulary.merges.push_back({vocabulary.merges[0].left, vocabulary.merges[1].result, copy});
  EXPECT_EQ(listOf(BytePairTokenizer(vocabulary).encode("abc")), (TokenList{copy - 1}));
}
TEST(BytePairTokenizer, RandomTextsHaveTheTokensOfTheTwin) {
  const BytePairTokenizer tokenizer(learned());
  constexpr std::uint64_t seed = 31;
  Rng rng(seed);
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (std::size_t n = rng.index(8); n > 0; --n) {
      const std::size_t first = rng.index(prose.size());
      text += prose.substr(first, rng.index(12));
    }
    const Tokens tokens = tokenizer.encode(text);
    ASSERT_EQ(listOf(tokens), encodedNaively(text, learned())) << "seed " << seed << ", text " << i;
    ASSERT_EQ(tokenizer.decode(tokens), text);
  }
}

// ---- Any bytes ----

TEST(BytePairTokenizer, RandomBytesComeBack) {
  const BytePairTokenizer tokenizer(learned());
  constexpr std::uint64_t seed = 32;
  Rng rng(seed);
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (std::size_t n = rng.index(120); n > 0; --n) text += static_cast<char>(rng.index(256));
    const Tokens tokens = tokenizer.encode(text);
    ASSERT_EQ(listOf(tokens), encodedNaively(text, learned())) << "seed " << seed << ", text " << i;
    ASSERT_EQ(tokenizer.decode(tokens), text) << "seed " << seed << ", text " << i;
  }
}
TEST(BytePairTokenizer, EveryCodePointComesBack) {
  const BytePairTokenizer tokenizer(learned());
  std::string text;
  for (char32_t c = 0; c < codePointEnd; c += c < 0x3000 ? 1 : 37)
    if (!isSurrogate(c)) appendUtf8(text, c);
  EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
}
TEST(BytePairTokenizer, HostileTextsComeBack) {
  const BytePairTokenizer tokenizer(learned());
  for (const std::string_view text :
       {"\0"sv, "a\0b\0"sv, "\x1B[2J\a\b\x7F"sv, "\xFF\xFE"sv, "\xC3"sv, "\xED\xA0\x80"sv,
        "\xF4\x90\x80\x80"sv, "e\u0301\u0301\u0301"sv, "\u202Eabc"sv, "\uFEFF"sv,
        "\U0001F469\u200D\U0001F4BB"sv, "\r\n\r\n \u2028\u2029\u3000"sv, "\u0661\u0662\u00BD\u2167"sv,
        "'s't're've'm'll'd''"sv})
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
}
TEST(BytePairTokenizer, AMegabyteWithoutSpacesAndOneOfSpacesTakeLittleTime) {
  const BytePairTokenizer tokenizer(
      vocabularyOf({{"a", "a"}, {"aa", "aa"}, {"a", "b"}, {" ", " "}, {"  ", "  "}}));
  std::string letters;
  Rng rng(33);
  for (int i = 0; i < 1'000'000; ++i) letters += rng.index(8) == 0 ? 'b' : 'a';
  for (const std::string& text : {letters, std::string(1'000'000, 'a'), std::string(1'000'000, ' ') + "a"}) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30)) << "quadratic: an hour";
  }
}

// ---- Single tokens ----

TEST(BytePairTokenizer, SpecialTokensDoNotComeFromText) {
  const BytePairTokenizer tokenizer(learned());
  ASSERT_EQ(tokenizer.endOfText(), TokenId{0});
  EXPECT_TRUE(tokenizer.isSpecial(0));
  EXPECT_FALSE(tokenizer.isSpecial(1));
  EXPECT_EQ(tokenizer.bytesOf(0), "<|endoftext|>");
  const Tokens spelled = tokenizer.encode("a<|endoftext|>b");
  for (const TokenId token : spelled.view()) EXPECT_NE(token, 0u);
  EXPECT_EQ(tokenizer.decode(spelled), "a<|endoftext|>b");
}
TEST(BytePairTokenizer, AVocabularyMayLackEndOfText) {
  BytePairVocabulary vocabulary = vocabularyOf({});
  vocabulary.tokens[0] = "\n";  // special: not the byte
  const BytePairTokenizer tokenizer(vocabulary);
  EXPECT_FALSE(tokenizer.endOfText().has_value());
  EXPECT_EQ(listOf(tokenizer.encode("\n")), (TokenList{256 - 10}));
}
TEST(BytePairTokenizer, TheBytesOfTokensInTheirOrderAreTheText) {
  const BytePairTokenizer tokenizer(learned());
  std::string text;
  const Tokens tokens = tokenizer.encode(prose);
  for (const TokenId token : tokens.view()) text += tokenizer.bytesOf(token);
  EXPECT_EQ(text, prose);
  EXPECT_EQ(tokenizer.decode(TokenId{256 - 'q'}), "q");
}
TEST(BytePairTokenizer, ATokenOutsideTheVocabularyIsAnError) {
  const BytePairTokenizer tokenizer(vocabularyOf({}));
  const std::string expected =
      "token 257 is outside the vocabulary of 257; was it made with another vocabulary?";
  EXPECT_EQ(sentenceOf([&] { tokenizer.bytesOf(257); }), expected);
  EXPECT_EQ(sentenceOf([&] { tokenizer.decode(TokenList{1, 257}); }), expected);
  EXPECT_EQ(sentenceOf([&] { tokenizer.isSpecial(257); }), expected);
  EXPECT_NE(sentenceOf([&] { tokenizer.bytesOf(noToken); }), "");
}
TEST(BytePairTokenizer, TokensTakeTwoBytesEach) {
  EXPECT_EQ(BytePairTokenizer(learned()).encode(prose).bytesPerToken(), 2u);
}
TEST(BytePairTokenizer, ACopyIsWorthAsMuch) {
  BytePairTokenizer copy(vocabularyOf({}));
  {
    const BytePairTokenizer original(learned());
    copy = original;
  }
  EXPECT_EQ(listOf(copy.encode(prose)), encodedNaively(prose, learned()));
}
TEST(BytePairTokenizer, ThreadsShareOne) {
  const BytePairTokenizer tokenizer(learned());
  const TokenList expected = listOf(tokenizer.encode(prose));
  std::vector<TokenList> results(4);
  std::vector<std::thread> threads;
  for (TokenList& result : results)
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) result = listOf(tokenizer.encode(prose));
    });
  for (std::thread& thread : threads) thread.join();
  for (const TokenList& result : results) EXPECT_EQ(result, expected);
}

// ---- Vocabularies that do not hold together ----

TEST(BytePairTokenizer, WhatDoesNotHoldTogetherIsAnError) {
  const auto said = [](const std::function<void(BytePairVocabulary&)>& change) {
    BytePairVocabulary vocabulary = vocabularyOf({{"a", "b"}, {"ab", "c"}});
    change(vocabulary);
    return sentenceOf([&] { BytePairTokenizer{vocabulary}; });
  };
  using V = BytePairVocabulary;
  EXPECT_EQ(said([](V&) {}), "");
  EXPECT_EQ(said([](V& v) { v = {}; }),
            "BytePairTokenizer: expected 256 tokens or more, one for each byte, got 0");
  EXPECT_EQ(said([](V& v) { v.special.push_back(300); }),
            "BytePairTokenizer: special token 300 is outside the vocabulary of 259");
  EXPECT_EQ(said([](V& v) { v.special.push_back(256 - 'q'); }),
            "BytePairTokenizer: expected a token for each of the 256 bytes, got none for 0x71");
  EXPECT_EQ(said([](V& v) { v.tokens[256 - 'q'] = "x"; }),
            "BytePairTokenizer: tokens 136 and 143 are the same byte 0x78; leave one out");
  EXPECT_EQ(
      said([](V& v) { v.merges[1].left = 259; }),
      "BytePairTokenizer: the merge of 259 and 157 to 258 names token 259, which is outside the vocabulary");
  EXPECT_EQ(said([](V& v) { v.merges[1].right = 0; }),
            "BytePairTokenizer: the merge of 257 and 0 to 258 names token 0, which is special");
  EXPECT_EQ(said([](V& v) { v.merges[1].result = noToken; }),
            "BytePairTokenizer: the merge of 257 and 157 to 4294967295 names token 4294967295, which is "
            "outside the "
            "vocabulary");
  EXPECT_EQ(
      said([](V& v) { v.tokens[258] = "abd"; }),
      "BytePairTokenizer: the merge of tokens 257 and 157 must have the bytes of both, token 258 has others");
  EXPECT_EQ(said([](V& v) { v.merges.pop_back(); }),
            "BytePairTokenizer: token 258 is 3 bytes long, but no merge makes it; list it as special if no "
            "text has it");
  EXPECT_EQ(said([](V& v) { v.tokens.push_back(""); }),
            "BytePairTokenizer: token 259 is 0 bytes long, but no merge makes it; list it as special if no "
            "text has it");
  EXPECT_EQ(said([](V& v) { v.merges.push_back(v.merges[0]); }),
            "BytePairMerges: tokens 159 and 158 are merged twice, by merges 0 and 2; leave one out");
}

}  // namespace bpe_test
}  // namespace burtorch
