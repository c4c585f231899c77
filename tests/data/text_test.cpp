// A corpus of text: the split, windows at the edges, batches by seed, and the corpus that is part of the repository.
#include "burtorch/data/text.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "burtorch/io/mapped_file.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace text_test {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
const std::string alphabet = "abcdefghijklmnopqrstuvwxyz";

/// The texts of the windows, "abc>bcd".
std::vector<std::string> textsOf(const TextCorpus& corpus, const TextWindows& windows) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < windows.size(); ++i)
    texts.push_back(corpus.tokenizer().decode(windows[i].inputs) + '>' +
                    corpus.tokenizer().decode(windows[i].targets));
  return texts;
}

TEST(TextCorpus, TheFirstPartTrainsAndTheLastValidates) {
  const TextCorpus corpus(alphabet, {.validation = 0.5});
  EXPECT_EQ(corpus.tokenizer().decode(corpus.tokens(Part::train)), "abcdefghijklm");
  EXPECT_EQ(corpus.tokenizer().decode(corpus.tokens(Part::validation)), "nopqrstuvwxyz");
  EXPECT_EQ(corpus.tokenizer().decode(corpus.tokens()), alphabet);
}

TEST(TextCorpus, TheVocabularyIsThatOfBothParts) {
  const TextCorpus corpus("aaaaaaaaab", {.validation = 0.1});
  EXPECT_EQ(corpus.tokenizer().size(), 2u);
}

TEST(TextCorpus, TokensTakeAByteEachAsLongAsTheyFit) {
  std::string text = alphabet;
  EXPECT_EQ(TextCorpus(text).tokens().bytesPerToken(), 1u);
  for (char32_t c = 0x400; c < 0x500; ++c) appendUtf8(text, c);
  const TextCorpus corpus(text, {.validation = 0});
  EXPECT_EQ(corpus.tokens().bytesPerToken(), 2u);
  EXPECT_EQ(corpus.tokens()[281], 281u);
  EXPECT_EQ(corpus.tokenizer().decode(corpus.tokens()), text);
}

TEST(TextCorpus, ASavedVocabularyCanBeUsedForAnotherText) {
  const Tokenizer saved = Tokenizer::fromString(Tokenizer(alphabet).toString());
  const TextCorpus corpus("hello", saved, {.validation = 0});
  EXPECT_EQ(corpus.tokenizer().size(), 26u);
  EXPECT_EQ(corpus.tokens()[0], 7u);
  EXPECT_TRUE(contains(sentenceOf([&] { TextCorpus("Hello", saved); }), "'H' (U+0048)"));
}

TEST(TextCorpus, ATextThatIsNotUtf8StillMakesACorpus) {
  const TextCorpus corpus("caf\xE9 caf\xE9", {.validation = 0});
  EXPECT_EQ(corpus.tokenizer().invalidAt(), std::size_t{3});
  EXPECT_EQ(corpus.tokens().size(), 9u);
}

// ---- Windows ----

TEST(TextWindows, TargetsAreTheNextTokens) {
  const TextCorpus corpus("abcde", {.validation = 0});
  EXPECT_EQ(textsOf(corpus, corpus.windows(Part::train, {.context = 3})),
            (std::vector<std::string>{"abc>bcd", "bcd>cde"}));
}

TEST(TextWindows, ATextOneTokenLongerThanTheContextHasOneWindow) {
  const TextCorpus corpus("abcd", {.validation = 0});
  EXPECT_EQ(textsOf(corpus, corpus.windows(Part::train, {.context = 3})),
            (std::vector<std::string>{"abc>bcd"}));
  EXPECT_EQ(corpus.windows(Part::train, {.context = 3, .stride = 3}).size(), 1u);
}

TEST(TextWindows, ATextAsLongAsTheContextIsAnErrorThatNamesThePart) {
  const TextCorpus corpus("abcdefgh", {.validation = 0.5});
  for (const Part part : {Part::train, Part::validation}) {
    EXPECT_EQ(corpus.windows(part, {.context = 3}).size(), 1u);
    const std::string sentence = sentenceOf([&] { corpus.windows(part, {.context = 4}); });
    EXPECT_TRUE(contains(sentence, std::string("the ") + nameOf(part) + " part has 4 tokens")) << sentence;
    EXPECT_TRUE(contains(sentence, "context of 4")) << sentence;
    EXPECT_NE(sentenceOf([&] { corpus.windows(part, {.context = SIZE_MAX}); }), "");
  }
}

TEST(TextWindows, APartWithoutTokensIsAnError) {
  const TextCorpus corpus(alphabet, {.validation = 0});
  EXPECT_TRUE(contains(sentenceOf([&] { corpus.windows(Part::validation, {.context = 1}); }),
                       "validation part has 0 tokens"));
}

TEST(TextWindows, AContextOrStrideOfZeroIsAnError) {
  const TextCorpus corpus(alphabet);
  EXPECT_NE(sentenceOf([&] { corpus.windows(Part::train, {.context = 0}); }), "");
  EXPECT_NE(sentenceOf([&] { corpus.windows(Part::train, {.context = 4, .stride = 0}); }), "");
}

TEST(TextWindows, NoWindowReachesIntoTheOtherPart) {
  const TextCorpus corpus(alphabet, {.validation = 0.5});
  EXPECT_EQ(textsOf(corpus, corpus.windows(Part::train, {.context = 4})).back(), "ijkl>jklm");
  EXPECT_EQ(textsOf(corpus, corpus.windows(Part::validation, {.context = 4})).front(), "nopq>opqr");
}

TEST(TextWindows, AStrideOfTheContextGivesEveryTargetOnce) {
  for (std::size_t length = 5; length <= alphabet.size(); ++length) {
    const TextCorpus corpus(alphabet.substr(0, length), {.validation = 0});
    const TextWindows windows = corpus.windows(Part::train, {.context = 4, .stride = 4});
    EXPECT_EQ(windows.size(), (length - 1) / 4);
    std::string targets;
    for (std::size_t i = 0; i < windows.size(); ++i) targets += corpus.tokenizer().decode(windows[i].targets);
    EXPECT_EQ(targets, alphabet.substr(1, windows.size() * 4));
  }
}

TEST(TextWindows, AWindowBeyondTheLastIsAnError) {
  const TextCorpus corpus(alphabet, {.validation = 0});
  const TextWindows windows = corpus.windows(Part::train, {.context = 8});
  EXPECT_EQ(windows.size(), 18u);
  EXPECT_EQ(sentenceOf([&] { windows[17]; }), "");
  EXPECT_EQ(sentenceOf([&] { windows[18]; }), "window 18 was asked for, but there are only 18");
  EXPECT_EQ(codeOf([&] { windows[18]; }), ErrorCode::outOfRange);
  EXPECT_NE(sentenceOf([&] { windows[SIZE_MAX]; }), "");
}

// ---- Batches ----

std::vector<std::string> sampledTexts(std::uint64_t seed, std::size_t count) {
  const TextCorpus corpus(alphabet, {.validation = 0});
  const TextWindows windows = corpus.windows(Part::train, {.context = 8});
  std::vector<TextWindow> batch(count);
  Rng rng(seed);
  windows.sample(rng, batch);
  std::vector<std::string> texts;
  for (const TextWindow& window : batch)
    texts.push_back(corpus.tokenizer().decode(window.inputs) + '>' +
                    corpus.tokenizer().decode(window.targets));
  return texts;
}

TEST(TextWindows, TheSameSeedGivesTheSameBatch) {
  EXPECT_EQ(sampledTexts(3, 50), sampledTexts(3, 50));
  EXPECT_NE(sampledTexts(3, 50), sampledTexts(4, 50));
}

// One draw per window, in order: a run that is resumed with a saved generator goes on as if never stopped.
TEST(TextWindows, TwoBatchesAreOneBatchOfBoth) {
  const TextCorpus corpus(alphabet, {.validation = 0});
  const TextWindows windows = corpus.windows(Part::train, {.context = 8});
  std::vector<TextWindow> halves(20), whole(20);
  Rng first(9), second(9);
  windows.sample(first, std::span(halves).first(7));
  Rng resumed;
  resumed.setState(first.state());
  windows.sample(resumed, std::span(halves).subspan(7));
  windows.sample(second, whole);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(halves[i].inputs[0], whole[i].inputs[0]) << i;
}

TEST(TextWindows, EveryWindowIsDrawnAboutAsOften) {
  std::vector<int> hits(18);
  const std::uint64_t seed = 1;
  for (const std::string& text : sampledTexts(seed, 18000)) ++hits[static_cast<std::size_t>(text[0] - 'a')];
  // The standard deviation of a count is 31.
  for (const int hit : hits) EXPECT_NEAR(hit, 1000, 150) << "seed " << seed;
}

TEST(TextWindows, ABatchMayBeLargerThanTheNumberOfWindows) {
  const TextCorpus corpus("abcd", {.validation = 0});
  const TextWindows windows = corpus.windows(Part::train, {.context = 3});
  std::vector<TextWindow> batch(5);
  Rng rng(1);
  windows.sample(rng, batch);
  for (const TextWindow& window : batch) EXPECT_EQ(corpus.tokenizer().decode(window.targets), "bcd");
}

// ---- The corpus of the repository ----

// The vocabulary of 65 gives the mini GPT of the paper its 46,289 parameters.
TEST(Scenes, HaveAVocabularyOf65) {
  const MappedFile file(BURTORCH_TEST_DATA "/../../data/scenes.txt");
  const TextCorpus corpus(file.text());
  EXPECT_EQ(corpus.tokenizer().toString(), "characters 0A 20-22 27 2C-2E 3A-3B 3F 41-5B 5D 61-7A");
  EXPECT_EQ(corpus.tokenizer().size(), 65u);
  EXPECT_NEAR(static_cast<double>(file.size()), 100000, 5000);
}

}  // namespace text_test
}  // namespace burtorch
