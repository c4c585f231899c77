// A list of words: lines, the end mark, samples of every place, the split by words, batches by seed.
#include "burtorch/data/words.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "burtorch/io/mapped_file.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace words_test {

using namespace std::string_view_literals;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
std::string textOf(const WordList& list, const WordSample& sample) {
  std::vector<TokenId> context(sample.size());
  sample.copyContextTo(context);
  return list.tokenizer().decode(context) + '|' + list.tokenizer().decode(sample.target());
}
std::vector<std::string> textsOf(const WordList& list, const WordSamples& samples) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < samples.size(); ++i) texts.push_back(textOf(list, samples[i]));
  return texts;
}
/// The words of a part, sorted.
std::vector<std::string> wordsOf(const WordList& list, TokenView tokens) {
  std::vector<std::string> words(1);
  for (const TokenId token : tokens) {
    if (token == 0)
      words.emplace_back();
    else
      words.back() += list.tokenizer().decode(token);
  }
  words.pop_back();
  std::sort(words.begin(), words.end());
  return words;
}
std::vector<std::string> wordsOf(std::string_view text) {
  const WordList list(text);
  return wordsOf(list, list.tokens());
}
std::string numbered(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "w" + std::to_string(i) + "\n";
  return text;
}

// ---- Samples ----

TEST(WordSamples, EveryLetterAndTheEndIsATarget) {
  const WordList list("ab\n", {.validation = 0});
  EXPECT_EQ(textsOf(list, list.samples(Part::train, 3)),
            (std::vector<std::string>{"...|a", "..a|b", ".ab|."}));
}

TEST(WordSamples, AContextShorterThanTheWordKeepsTheLatestLetters) {
  const WordList list("abcd", {.validation = 0});
  EXPECT_EQ(textsOf(list, list.samples(Part::train, 2)),
            (std::vector<std::string>{"..|a", ".a|b", "ab|c", "bc|d", "cd|."}));
}

TEST(WordSamples, NoContextReachesIntoTheWordBefore) {
  const WordList list("abc\nxyz\nq\n", {.validation = 0});
  std::vector<std::string> texts = textsOf(list, list.samples(Part::train, 4));
  std::sort(texts.begin(), texts.end());
  EXPECT_EQ(texts, (std::vector<std::string>{"....|a", "....|q", "....|x", "...a|b", "...q|.", "...x|y",
                                             "..ab|c", "..xy|z", ".abc|.", ".xyz|."}));
}

TEST(WordSamples, TokenZeroIsTheEndMarkAndLettersFollowInOrder) {
  const WordList list("zoe\nann-marie\n", {.validation = 0});
  EXPECT_EQ(list.tokenizer().decode(TokenId{0}), ".");
  EXPECT_EQ(list.tokenizer().decode(TokenId{1}), "-");
  EXPECT_EQ(list.tokenizer().decode(TokenId{2}), "a");
  EXPECT_EQ(list.tokenizer().toString(), "characters end 2E 2D 61 65 69 6D-6F 72 7A");
}

TEST(WordSamples, ASampleOrContextThatCannotBeIsAnError) {
  const WordList list("ab", {.validation = 0});
  EXPECT_NE(sentenceOf([&] { list.samples(Part::train, 0); }), "");
  const WordSamples samples = list.samples(Part::train, 3);
  EXPECT_EQ(samples.size(), 3u);
  EXPECT_NE(sentenceOf([&] { samples[3]; }), "");
  EXPECT_EQ(codeOf([&] { samples[3]; }), ErrorCode::outOfRange);
  std::vector<TokenId> two(2);
  EXPECT_NE(sentenceOf([&] { samples[0].copyContextTo(two); }), "");
}

// ---- Lines ----

TEST(WordList, BlankLinesAndCarriageReturnsArePassedOver) {
  const std::vector<std::string> expected{"ann", "bob"};
  EXPECT_EQ(wordsOf("ann\nbob\n"), expected);
  EXPECT_EQ(wordsOf("ann\nbob"), expected) << "no newline at the end";
  EXPECT_EQ(wordsOf("ann\r\nbob\r\n"), expected);
  EXPECT_EQ(wordsOf("ann\r\nbob\r"), expected);
  EXPECT_EQ(wordsOf("\n\nann\n \t\n\r\nbob\n\n\n"), expected);
  EXPECT_EQ(wordsOf("\xEF\xBB\xBF"
                    "ann\nbob\n"),
            expected)
      << "byte order mark";
}

TEST(WordList, SpacesAndZeroBytesInAWordAreCharacters) {
  EXPECT_EQ(wordsOf("ann lee\na\0b\n"sv), (std::vector<std::string>{std::string("a\0b", 3), "ann lee"}));
}

TEST(WordList, AListWithoutWordsIsAnError) {
  for (const std::string_view text : {""sv, "\n"sv, "\r\n\r\n"sv, "  \n"sv, "\xEF\xBB\xBF"sv, "\r"sv})
    EXPECT_TRUE(contains(sentenceOf([&] { WordList{text}; }), "has no words")) << text.size();
}

TEST(WordList, OneWordOfOneLetterIsEnough) {
  const WordList list("a", {.validation = 0});
  EXPECT_EQ(list.tokenizer().size(), 2u);
  EXPECT_EQ(textsOf(list, list.samples(Part::train, 1)), (std::vector<std::string>{".|a", "a|."}));
}

TEST(WordList, AWordWithTheEndMarkIsAnErrorThatNamesTheLine) {
  const std::string sentence = sentenceOf([] { WordList("ann\n\nj.r\n"); });
  EXPECT_TRUE(contains(sentence, "line 3")) << sentence;
  EXPECT_TRUE(contains(sentence, "'.' (U+002E)")) << sentence;
  const WordList list("ann\n\nj.r\n", {.endMark = '\n'});
  EXPECT_EQ(list.tokenizer().decode(TokenId{0}), "\n");
  EXPECT_EQ(list.wordCount(), 2u);
}

TEST(WordList, WordsThatAreNotUtf8AreTakenByteByByte) {
  const WordList list("caf\xE9\nbar\n", {.validation = 0});
  EXPECT_EQ(list.tokenizer().unit(), TokenUnit::byte);
  EXPECT_TRUE(list.tokenizer().invalidAt().has_value());
  EXPECT_EQ(wordsOf(list, list.tokens()), (std::vector<std::string>{"bar", "caf\xE9"}));
}

TEST(WordList, ASavedVocabularyIsKept) {
  const WordList first("abcdefghijklmnopqrstuvwxyz");
  const WordList second("zoe\n", {.tokenizer = Tokenizer::fromString(first.tokenizer().toString())});
  EXPECT_EQ(second.tokenizer().size(), 27u);
  EXPECT_EQ(second.tokens()[0], 26u);
  EXPECT_TRUE(contains(sentenceOf([&] { WordList("Zoe", {.tokenizer = first.tokenizer()}); }), "'Z'"));
}

TEST(WordList, AVocabularyWithoutTheEndMarkIsAnError) {
  EXPECT_NE(sentenceOf([] { WordList("ab", {.tokenizer = Tokenizer("ab")}); }), "");
  EXPECT_TRUE(contains(sentenceOf([] { WordList("ab", {.tokenizer = Tokenizer("a-b.")}); }), "not token 0"));
}

// ---- Shuffle and split ----

TEST(WordList, BothPartsTogetherAreTheList) {
  const std::string text = numbered(100);
  const WordList list(text, {.validation = 0.2, .seed = 5});
  EXPECT_EQ(list.wordCount(), 100u);
  EXPECT_EQ(list.wordCount(Part::train), 80u);
  EXPECT_EQ(list.wordCount(Part::validation), 20u);
  const std::vector<std::string> train = wordsOf(list, list.tokens(Part::train));
  const std::vector<std::string> validation = wordsOf(list, list.tokens(Part::validation));
  EXPECT_EQ(train.size(), 80u);
  EXPECT_EQ(validation.size(), 20u);
  std::set<std::string> all(train.begin(), train.end());
  all.insert(validation.begin(), validation.end());
  EXPECT_EQ(all.size(), 100u);
}

TEST(WordList, TheSeedDecidesTheOrder) {
  const std::string text = numbered(100);
  const auto order = [&](std::uint64_t seed) {
    const WordList list(text, {.seed = seed});
    return list.tokenizer().decode(list.tokens());
  };
  EXPECT_EQ(order(5), order(5));
  EXPECT_NE(order(5), order(6));
}

// Five words have 120 orders; in 12,000 shuffles the standard deviation of a count is 10.
TEST(WordList, EveryOrderIsAboutAsLikely) {
  std::vector<std::pair<std::string, int>> orders;
  for (std::uint64_t seed = 0; seed < 12000; ++seed) {
    const WordList list("a\nb\nc\nd\ne\n", {.seed = seed});
    const std::string order = list.tokenizer().decode(list.tokens());
    const auto known = std::find_if(orders.begin(), orders.end(), [&](auto& o) { return o.first == order; });
    if (known == orders.end())
      orders.emplace_back(order, 1);
    else
      ++known->second;
  }
  EXPECT_EQ(orders.size(), 120u);
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, 100, 50) << order;
}

TEST(WordList, APartWithoutWordsIsAnErrorThatNamesIt) {
  const WordList list("ann\nbob\n", {.validation = 0});
  EXPECT_TRUE(
      contains(sentenceOf([&] { list.samples(Part::validation, 3); }), "the validation part has no words"));
  const WordList other("ann\nbob\n", {.validation = 1});
  EXPECT_TRUE(contains(sentenceOf([&] { other.samples(Part::train, 3); }), "the training part has no words"));
}

// ---- Batches ----

TEST(WordSamples, TheSameSeedGivesTheSameBatch) {
  const WordList list(numbered(50));
  const WordSamples samples = list.samples(Part::train, 3);
  const auto batchOf = [&](std::uint64_t seed) {
    std::vector<WordSample> batch(32);
    Rng rng(seed);
    samples.sample(rng, batch);
    std::vector<std::string> texts;
    for (const WordSample& sample : batch) texts.push_back(textOf(list, sample));
    return texts;
  };
  EXPECT_EQ(batchOf(1), batchOf(1));
  EXPECT_NE(batchOf(1), batchOf(2));
}

TEST(WordSamples, EverySampleIsDrawnAboutAsOften) {
  const WordList list("abcdefghi\n", {.validation = 0});
  const WordSamples samples = list.samples(Part::train, 3);
  std::vector<int> hits(10);
  const std::uint64_t seed = 1;
  Rng rng(seed);
  std::vector<WordSample> batch(10);
  for (int round = 0; round < 1000; ++round) {
    samples.sample(rng, batch);
    for (const WordSample& sample : batch) ++hits[sample.target()];
  }
  // The standard deviation of a count is 30.
  for (const int hit : hits) EXPECT_NEAR(hit, 1000, 150) << "seed " << seed;
}

TEST(WordSamples, ABatchLargerThanTheDataIsAnErrorThatChangesNothing) {
  const WordList list("abc\n", {.validation = 0});
  const WordSamples samples = list.samples(Part::train, 3);
  std::vector<WordSample> four(4), five(5);
  Rng rng(1);
  EXPECT_EQ(sentenceOf([&] { samples.sample(rng, four); }), "");
  const std::uint64_t state = rng.state();
  const std::string sentence = sentenceOf([&] { samples.sample(rng, five); });
  EXPECT_TRUE(contains(sentence, "batch of 5")) << sentence;
  EXPECT_TRUE(contains(sentence, "only 4 samples")) << sentence;
  EXPECT_EQ(rng.state(), state);
}

// ---- The list of the repository ----

TEST(Names, AreLowerCaseWordsOf27Tokens) {
  const MappedFile file(BURTORCH_TEST_DATA "/../../data/names.txt");
  const WordList list(file.text());
  EXPECT_EQ(list.tokenizer().toString(), "characters end 2E 61-7A");
  EXPECT_EQ(list.tokenizer().size(), 27u);
  EXPECT_EQ(list.wordCount(), 4000u);
  const std::vector<std::string> words = wordsOf(list, list.tokens());
  EXPECT_EQ(std::adjacent_find(words.begin(), words.end()), words.end()) << "no name twice";
  for (const std::string& word : words) {
    EXPECT_GE(word.size(), 3u) << word;
    EXPECT_LE(word.size(), 11u) << word;
  }
}

}  // namespace words_test
}  // namespace burtorch
