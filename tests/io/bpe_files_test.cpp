// GPT-2's files: what is read from them, and that files which are damaged or hostile are errors that say why.
#include "burtorch/io/bpe_files.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "io/hostile_places.hpp"
#include "io/scratch.hpp"
#include "reference/bpe_naive.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace bpe_files_test {

const BytePairVocabulary& small() {
  static const BytePairVocabulary vocabulary =
      vocabularyOf({{"t", "h"}, {" ", "th"}, {" th", "e"}, {"\xC3", "\xA9"}, {"\n", "\n"}});
  return vocabulary;
}
std::string vocabularyText() { return vocabularyFile(small()); }
std::string mergesText() { return mergesFile(small()); }

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}
/// The error of a changed vocab.json, without its beginning.
std::string refusedVocabulary(std::string_view text, std::string_view merges = mergesText()) {
  const std::string said = sentenceOf([&] { readBytePairs(text, merges); });
  const std::string_view begin = "cannot read 'vocab.json': ";
  EXPECT_TRUE(said.starts_with(begin)) << said;
  return said.substr(std::min(begin.size(), said.size()));
}
std::string refusedMerges(std::string_view text) {
  const std::string said = sentenceOf([&] { readBytePairs(vocabularyText(), text); });
  const std::string_view begin = "cannot read 'merges.txt': ";
  EXPECT_TRUE(said.starts_with(begin)) << said;
  return said.substr(std::min(begin.size(), said.size()));
}
TokenList listOf(TokenView view) {
  TokenList list(view.size());
  view.copyTo(list);
  return list;
}
constexpr std::string_view text = "the the caf\u00E9\n\nthe <|endoftext|>";

// ---- What is read ----

TEST(BpeFiles, TheVocabularyOfTheFilesIsTheOneWritten) {
  const BytePairTokenizer tokenizer = readBytePairs(vocabularyText(), mergesText());
  EXPECT_EQ(tokenizer.size(), small().tokens.size());
  for (TokenId id = 0; id < tokenizer.size(); ++id) {
    EXPECT_EQ(tokenizer.bytesOf(id), small().tokens[id]);
    EXPECT_EQ(tokenizer.isSpecial(id), id == 0);
  }
  EXPECT_EQ(tokenizer.endOfText(), TokenId{0});
  EXPECT_EQ(listOf(tokenizer.encode(text)), encodedNaively(text, small()));
}
TEST(BpeFiles, EscapesOfJsonAreRead) {
  const std::string escaped = replaced(vocabularyText(), "\"\u0120the\"", "\"\\u0120t\\u0068e\"");
  EXPECT_EQ(listOf(readBytePairs(escaped, mergesText()).encode(text)), encodedNaively(text, small()));
}
TEST(BpeFiles, MergesMayLackTheirFirstLineTheLastNewlineOrHaveCarriageReturns) {
  const std::string merges = mergesText(), bare = merges.substr(merges.find('\n') + 1);
  std::string windows;
  for (const char c : merges) windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  for (const std::string& each : {bare, merges.substr(0, merges.size() - 1), windows})
    EXPECT_EQ(listOf(readBytePairs(vocabularyText(), each).encode(text)), encodedNaively(text, small()));
}
TEST(BpeFiles, OnlyTheFirstLineMayBeAVersion) {
  EXPECT_EQ(refusedMerges(mergesText() + "#version: 0.2\n"),
            "in line 7 expected tokens of the vocabulary, which has no '#version:'; do the two files belong "
            "together?");
}
TEST(BpeFiles, ANumberSignCanBeMerged) {
  const BytePairVocabulary vocabulary = vocabularyOf({{"#", "#"}, {"##", "!"}});
  const BytePairTokenizer tokenizer = readBytePairs(vocabularyFile(vocabulary), "# #\n## !\n");
  EXPECT_EQ(listOf(tokenizer.encode("##!")), (TokenList{258}));
}
TEST(BpeFiles, NoMergesMeanBytes) {
  const std::string bytes = vocabularyFile(vocabularyOf({}));
  for (const char* merges : {"", "#version: 0.2", "#version: 0.2\n"})
    EXPECT_EQ(readBytePairs(bytes, merges).encode("the").size(), 3u);
}
TEST(BpeFiles, ASpecialTokenOutsideTheAlphabetIsItsText) {
  const std::string vocabulary = replaced(vocabularyText(), "{", "{\"<\u4E2D \\n>\": 262, \"\\n\": 263, ");
  const BytePairTokenizer tokenizer = readBytePairs(vocabulary, mergesText());
  EXPECT_EQ(tokenizer.bytesOf(262), "<\u4E2D \n>");
  EXPECT_TRUE(tokenizer.isSpecial(262));
  EXPECT_EQ(tokenizer.bytesOf(263), "\n");
  EXPECT_EQ(listOf(tokenizer.encode("\n")), (TokenList{256 - '\n'})) << "the byte is written as U+010A";
}
TEST(BpeFiles, TwoPairsMayBecomeTheSameToken) {
  const BytePairVocabulary vocabulary = vocabularyOf({{"b", "c"}, {"a", "b"}, {"a", "bc"}, {"ab", "c"}});
  const BytePairTokenizer tokenizer = readBytePairs(vocabularyFile(vocabulary), mergesFile(vocabulary));
  EXPECT_EQ(tokenizer.size(), 260u);
  EXPECT_EQ(tokenizer.encode("abc").size(), 1u);
}

// ---- Files ----

TEST(BpeFiles, AFolderHasOneOrTheOtherPairOfNames) {
  for (const auto& [vocabulary, merges] :
       {std::pair("vocab.json", "merges.txt"), std::pair("encoder.json", "vocab.bpe")}) {
    const Scratch scratch;
    EXPECT_EQ(sentenceOf([&] { loadBytePairs(scratch.folder()); }),
              "cannot read a tokenizer from '" + printable(scratch.folder()) +
                  "': expected a folder with vocab.json and merges.txt, or encoder.json and vocab.bpe; is "
                  "the name right?");
    scratch.put(vocabulary, vocabularyText());
    EXPECT_NE(sentenceOf([&] { loadBytePairs(scratch.folder()); }), "");
    scratch.put(merges, mergesText());
    EXPECT_EQ(listOf(loadBytePairs(scratch.folder()).encode(text)), encodedNaively(text, small()));
    EXPECT_EQ(loadBytePairs(scratch.path(vocabulary), scratch.path(merges)).size(), small().tokens.size());
  }
}
TEST(BpeFiles, OnlyRegularFilesAreRead) {
  const Scratch scratch;
  const std::string vocabulary = scratch.put("v", vocabularyText()), merges = scratch.put("m", mergesText());
  expectOnlyRegularFilesAreRead(
      [&](const std::string& path) { return sentenceOf([&] { loadBytePairs(path, merges); }); });
  expectOnlyRegularFilesAreRead(
      [&](const std::string& path) { return sentenceOf([&] { loadBytePairs(vocabulary, path); }); });
}
TEST(BpeFiles, HugeFilesAreNotRead) {
  const Scratch scratch;
  const std::string vocabulary = scratch.put("v", vocabularyText()), merges = scratch.put("m", mergesText());
  std::filesystem::resize_file(merges, std::uintmax_t{1} << 40);
  EXPECT_TRUE(
      contains(sentenceOf([&] { loadBytePairs(vocabulary, merges); }), "at most 67108864 are allowed"));
}
TEST(BpeFiles, ErrorsNameTheFile) {
  const Scratch scratch;
  const std::string vocabulary = scratch.put("v.json", "[1]"), merges = scratch.put("m.txt", "a\n");
  EXPECT_TRUE(
      contains(sentenceOf([&] { loadBytePairs(vocabulary, merges); }), "/v.json': at byte 0 of the file"));
  scratch.put("v.json", vocabularyText());
  EXPECT_TRUE(contains(sentenceOf([&] { loadBytePairs(vocabulary, merges); }), "/m.txt': in line 1"));
}

TEST(BpeFiles, ErrorsHaveTheCodeOfWhatIsWrong) {
  const Scratch scratch;
  const std::string vocabulary = scratch.put("v", vocabularyText()), merges = scratch.put("m", mergesText());
  EXPECT_EQ(codeOf([&] { loadBytePairs(scratch.path("missing")); }), ErrorCode::fileAccess);
  EXPECT_EQ(codeOf([&] { loadBytePairs(scratch.folder()); }), ErrorCode::fileAccess) << "without the files";
  EXPECT_EQ(codeOf([&] { loadBytePairs(scratch.path("missing"), merges); }), ErrorCode::fileAccess);
  EXPECT_EQ(codeOf([&] { loadBytePairs(vocabulary, scratch.path("missing")); }), ErrorCode::fileAccess);
  EXPECT_EQ(codeOf([&] { loadBytePairs(merges, merges); }), ErrorCode::badFile);
  EXPECT_EQ(codeOf([&] { loadBytePairs(vocabulary, vocabulary); }), ErrorCode::badFile);
  const std::string twice = mergesText() + mergesText().substr(mergesText().find('\n') + 1);
  EXPECT_EQ(codeOf([&] { readBytePairs(vocabularyText(), twice); }), ErrorCode::badFile);
}

// ---- Vocabularies that are wrong ----

TEST(BpeFiles, AVocabularyIsAnObjectOfNumbers) {
  EXPECT_EQ(refusedVocabulary("[]"), "at byte 0 of the file expected '{', found '['; was the file damaged?");
  EXPECT_EQ(refusedVocabulary(R"({"a": "b"})"),
            "at byte 6 of the file expected a whole number without sign, found '\"'; was the file damaged?");
  for (const char* value : {"-1", "1.5", "1e3", "null", "true", "{\"b\": 1}", "[0]", "0x10", "01", "", "NaN"})
    refusedVocabulary(std::string("{\"a\": ") + value + "}");
  EXPECT_EQ(refusedVocabulary(vocabularyText() + "x"),
            "at byte " + std::to_string(vocabularyText().size()) +
                " of the file expected the end of the file, found 'x'; was the file damaged?");
}
TEST(BpeFiles, HugeNumbersAreRefused) {
  EXPECT_TRUE(
      contains(refusedVocabulary(R"({"a": 99999999999999999999999})"), "expected a number below 2^64"));
  EXPECT_EQ(refusedVocabulary(R"({"a": 18446744073709551615})"),
            "an id above 2^32 - 2 for token 'a' at byte 1 of the file; was the file damaged?");
  EXPECT_TRUE(contains(refusedVocabulary(R"({"a": 4294967295})"), "an id above 2^32 - 2"));
  EXPECT_EQ(refusedVocabulary(R"({"a": 4294967294})"),
            "expected ids from 0 to 0 for its 1 tokens, found 4294967294 for 'a'; was the file damaged?");
}
TEST(BpeFiles, DeepNestingIsRefusedAtOnce) {
  refusedVocabulary(std::string(1'000'000, '{'));
  refusedVocabulary(std::string(1'000'000, '['));
  refusedVocabulary("{\"a\":" + std::string(1'000'000, '['));
}
TEST(BpeFiles, IdsAreDistinctAndWithoutHoles) {
  EXPECT_EQ(refusedVocabulary(replaced(vocabularyText(), "\"a\": 159", "\"a\": 262")),
            "expected ids from 0 to 261 for its 262 tokens, found 262 for 'a'; was the file damaged?");
  const std::string said = refusedVocabulary(replaced(vocabularyText(), "\"a\": 159", "\"a\": 158"));
  EXPECT_TRUE(said == "expected one token for each id, found 'a' and 'b' for id 158; was the file damaged?" ||
              said == "expected one token for each id, found 'b' and 'a' for id 158; was the file damaged?")
      << said;
}
TEST(BpeFiles, ATokenIsThereOnce) {
  const std::string said = refusedVocabulary(replaced(vocabularyText(), "\"a\"", "\"b\""));
  EXPECT_TRUE(contains(said, "a second token 'b' at byte")) << said;
  EXPECT_TRUE(contains(refusedVocabulary(R"({"": 0})"), "the empty token")) << said;
}
TEST(BpeFiles, EveryByteHasAToken) {
  EXPECT_EQ(refusedVocabulary(replaced(vocabularyText(), "\"a\"", "\"aq\"")),
            "expected a token for each of the 256 bytes, found none for byte 0x61, written 'a'; is it the "
            "vocabulary of a "
            "byte-level tokenizer?");
  EXPECT_TRUE(contains(refusedVocabulary("{}"), "found none for byte 0x00, written '\u0100'"));
}
TEST(BpeFiles, TextThatIsNotUtf8IsRefused) {
  refusedVocabulary(replaced(vocabularyText(), "\"a\"", "\"a\xFF\""));
  EXPECT_TRUE(contains(refusedMerges("a \xFF\n"), "which has no '?'"));
}

// ---- Merges that are wrong ----

TEST(BpeFiles, ALineHasTwoTokens) {
  for (const char* line : {"a", "a b c", "", "a  b", " ", "  ", "a\tb"})
    EXPECT_FALSE(refusedMerges("#version: 0.2\n" + std::string(line) + "\nt h\n").empty()) << line;
  EXPECT_EQ(refusedMerges("t h\nabc\n"),
            "in line 2 expected two tokens with a space between them, found 'abc'; was the file damaged?");
}
TEST(BpeFiles, MergesNameTokens) {
  EXPECT_EQ(
      refusedMerges("t h\ntt h\n"),
      "in line 2 expected tokens of the vocabulary, which has no 'tt'; do the two files belong together?");
  EXPECT_EQ(
      refusedMerges("h t\n"),
      "in line 1 expected tokens of the vocabulary, which has no 'ht'; do the two files belong together?");
  EXPECT_TRUE(contains(refusedMerges(" a\n"), "which has no ''"));
  EXPECT_TRUE(contains(refusedMerges(std::string(100'000, 'x') + " a\n"), "which has no '...xxx"));
}
TEST(BpeFiles, APartIsAByteOrMadeByAnotherLine) {
  EXPECT_EQ(refusedMerges(replaced(mergesText(), "t h\n", "")),
            "in line 2 expected bytes or results of other lines, found 'th'; was the file damaged?");
  EXPECT_EQ(refusedMerges("\u0120 th\n"),
            "in line 1 expected bytes or results of other lines, found 'th'; was the file damaged?");
}
TEST(BpeFiles, APairIsMergedOnce) {
  EXPECT_EQ(refusedMerges(mergesText() + "t h\n"),
            "in line 7 expected a new pair, found that of line 2, 't h'; was the file damaged?");
}
TEST(BpeFiles, MergesAreWrittenInTheAlphabet) {
  const std::string vocabulary =
      replaced(vocabularyText(), "{", "{\"\u4E2D\": 262, \"\u6587\": 263, \"\u4E2D\u6587\": 264, ");
  const std::string said = sentenceOf([&] { readBytePairs(vocabulary, "\u4E2D \u6587\n"); });
  EXPECT_TRUE(
      contains(said, "in line 1 expected characters of GPT-2's alphabet of bytes, found '\u4E2D\u6587'"))
      << said;
}

// ---- Damaged files ----

/// Either a tokenizer that encodes and decodes, or an error of one sentence with a reason.
void expectSafe(std::string_view vocabulary, std::string_view merges) {
  const std::string said = sentenceOf([&] {
    const BytePairTokenizer tokenizer = readBytePairs(vocabulary, merges);
    ASSERT_EQ(tokenizer.decode(tokenizer.encode(text)), text);
  });
  ASSERT_TRUE(said.empty() || contains(said, "cannot read '")) << said;
}
TEST(BpeFiles, EveryPrefixOfTheVocabularyIsRefused) {
  const std::string whole = vocabularyText();
  for (std::size_t size = 0; size < whole.size(); ++size)
    ASSERT_FALSE(refusedVocabulary(whole.substr(0, size)).empty()) << size;
}
TEST(BpeFiles, EveryFlippedBitOfTheVocabularyIsReadOrRefused) {
  std::string damaged = vocabularyText();
  for (std::size_t bit = 0; bit < 8 * damaged.size(); ++bit) {
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    expectSafe(damaged, mergesText());
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
  }
}
TEST(BpeFiles, EveryPrefixAndFlippedBitOfTheMergesIsReadOrRefused) {
  std::string damaged = mergesText();
  for (std::size_t size = 0; size < damaged.size(); ++size)
    expectSafe(vocabularyText(), damaged.substr(0, size));
  for (std::size_t bit = 0; bit < 8 * damaged.size(); ++bit) {
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    expectSafe(vocabularyText(), damaged);
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
  }
}

}  // namespace bpe_files_test
}  // namespace burtorch
