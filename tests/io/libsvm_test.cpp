// LIBSVM files: what is read, what is refused and where, and numbers that survive a round trip.
#include <burtorch/base/rng.hpp>
#include <burtorch/io/libsvm.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <clocale>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "io/hostile_places.hpp"
#include "io/scratch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace libsvm_test {

using Rows = SampleRows<double>;

Rows rowsOf(std::string_view text, const LibsvmOptions& options = {}) { return parseLibsvm(text, options); }
std::string refusalOf(std::string_view text, const LibsvmOptions& options = {}) {
  return sentenceOf([&] { rowsOf(text, options); });
}
/// The value of `text`, as a value of a sample.
template <class T = double> T numberOf(const std::string& text) {
  return parseLibsvm<T>("1 1:" + text).row(0).value(0);
}

const Rows wanted = Rows::sparse(5, {0, 2, 2, 3}, {0, 4, 2}, {0.5, -3, 1e-3}, {1, -1, 2.5});

TEST(Libsvm, ReadsSamples) { EXPECT_EQ(rowsOf("1 1:0.5 5:-3\n-1\n2.5 3:1e-3\n"), wanted); }
TEST(Libsvm, LinesMayEndAndBeginInManyWays) {
  EXPECT_EQ(rowsOf("1 1:0.5 5:-3\n-1\n2.5 3:1e-3"), wanted);
  EXPECT_EQ(rowsOf("1 1:0.5 5:-3\r\n-1\r\n2.5 3:1e-3\r\n"), wanted);
  EXPECT_EQ(rowsOf("1 1:0.5 5:-3\n-1\n2.5 3:1e-3\r"), wanted);
  EXPECT_EQ(rowsOf("\n \t\n  +1\t1:+.5   5:-3.\n\r\n-1 \n\n2.5 3:0.001 \n\n  "), wanted);
}
TEST(Libsvm, CommentsArePassedOver) {
  EXPECT_EQ(rowsOf("# 7 1:2\n1 1:0.5 5:-3 # qid:1 x\n#\n-1# no\n \t# y\n2.5 3:1e-3#1:1"), wanted);
}
TEST(Libsvm, FeaturesCanBeGiven) {
  EXPECT_EQ(rowsOf("1 2:3\n", {.features = 9}).features(), 9u);
  EXPECT_EQ(rowsOf("1 9:3\n", {.features = 9}).features(), 9u);
  EXPECT_TRUE(contains(refusalOf("1 2:3\n0 10:3\n", {.features = 9}),
                       "expected an index of the features that were asked for at line 2, column 3"));
  EXPECT_EQ(rowsOf("1\n2\n").features(), 0u);
}
TEST(Libsvm, IndicesMayBeginWithZero) {
  const Rows rows = rowsOf("1 0:3 2:4\n", {.firstIndex = 0});
  EXPECT_EQ(rows, Rows::sparse(3, {0, 2}, {0, 2}, {3, 4}, {1}));
  EXPECT_TRUE(
      contains(refusalOf("1 0:3\n"), "expected indices from 1 on (see firstIndex) at line 1, column 3"));
}
TEST(Libsvm, TheLargestIndices) {
  EXPECT_EQ(rowsOf("1 4294967295:1\n").features(), 4294967295u);
  EXPECT_EQ(rowsOf("1 4294967294:1\n", {.firstIndex = 0}).features(), 4294967295u);
  EXPECT_TRUE(contains(refusalOf("1 4294967295:1\n", {.firstIndex = 0}), "line 1, column 3"));
  for (const char* index : {"4294967296", "18446744073709551617", "99999999999999999999999999999999"})
    EXPECT_TRUE(contains(refusalOf(std::string("1 ") + index + ":1"), "an index below 4294967296")) << index;
  EXPECT_EQ(rowsOf("1 00000000000000000000000000007:1\n").features(), 7u);
  EXPECT_THROW(rowsOf("1 1:1", {.features = std::size_t{1} << 32}), Error);
}
TEST(Libsvm, ErrorsNameLineAndColumn) {
  const auto expect = [](std::string_view text, const std::string& sentence) {
    EXPECT_EQ(refusalOf(text), "cannot read 'a text in memory': expected " + sentence) << text;
  };
  expect("1 1:2\n1 1;2\n", "':' after an index at line 2, column 4, found ';'");
  expect("# c\r\n\r\n1 1:2 x\n", "an index at line 3, column 7, found 'x'");
  expect("1 1:2\nx 1:2\n", "a finite number at line 2, column 1, found 'x'");
  expect("1 1:\n", "a finite number at line 1, column 5, found the end of the line");
  expect("1 1:\r\n", "a finite number at line 1, column 5, found the end of the line");
  expect("1 1:", "a finite number at line 1, column 5, found the end of the file");
  expect("1 1", "':' after an index at line 1, column 4, found the end of the file");
  expect("1 1:2 1:3", "an index larger than the one before at line 1, column 7, found '1'");
  expect("1 2:2 1:3", "an index larger than the one before at line 1, column 7, found '1'");
  expect("1 1:2,2:3", "white space or the end of the line at line 1, column 6, found ','");
  expect("1,3 1:2", "white space or the end of the line at line 1, column 2, found ','");
  expect("1:2 2:3", "white space or the end of the line at line 1, column 2, found ':'");
  expect("1 -1:2", "an index at line 1, column 3, found '-'");
  expect("1 1:2\r2 1:3", "white space or the end of the line at line 1, column 6, found the end of the line");
  expect("1 1:2\v", "white space or the end of the line at line 1, column 6, found byte 0x0B");
  expect("1 qid:7 1:2",
         "an index; the queries of rankings are not supported, at line 1, column 3, found 'q'");
  for (const char* number : {"nan", "inf", "-inf", "Infinity", "+nan", "--1", "+-1", "e5", "x", "."})
    EXPECT_TRUE(contains(refusalOf(std::string("1 1:") + number), "number at line 1, column")) << number;
  expect("1 1:0x10", "white space or the end of the line at line 1, column 6, found 'x'");
  expect("1 1:1e", "white space or the end of the line at line 1, column 6, found 'e'");
  expect("1 1:1.2.3", "white space or the end of the line at line 1, column 8, found '.'");
  EXPECT_EQ(codeOf([] { rowsOf("1 1:x"); }), ErrorCode::badFile);
}
TEST(Libsvm, NumbersOutOfRangeAreRefused) {
  for (const char* number : {"1e400", "-1e400", "1e-400", "123e999999999999", "0.5e-9999999999999"})
    EXPECT_TRUE(contains(refusalOf(std::string("1 1:") + number),
                         "a number within the range of a double at line 1, column 5"))
        << number;
  EXPECT_TRUE(contains(refusalOf("1e999 1:1"), "line 1, column 1"));
  EXPECT_TRUE(contains(sentenceOf([] { parseLibsvm<float>("1 1:1e39"); }), "the range of a float"));
  EXPECT_EQ(parseLibsvm<float>("1e39 1:1").label(0), 1e39);
  EXPECT_EQ(numberOf("1" + std::string(300, '0')), 1e300);
  EXPECT_TRUE(contains(refusalOf("1 1:1" + std::string(400, '0')), "the range of a double"));
}
TEST(Libsvm, ATextWithoutSamplesIsRefused) {
  for (const char* text : {"", "\n", "\r\n \n# only words\n"})
    EXPECT_EQ(refusalOf(text), "cannot read 'a text in memory': it has no samples");
}
// Against the C library's own reading, at the borders of the short way and beyond.
TEST(Libsvm, NumbersAreTheNearest) {
  for (const char* text : {"0",
                           "-0",
                           "1",
                           "0.1",
                           "0.3",
                           "123456.789",
                           "9007199254740992",
                           "9007199254740993",
                           "9007199254740991",
                           "16777216",
                           "16777217",
                           "3.14159265358979323846",
                           "0.0000000000000000000001",
                           "1e22",
                           "1e23",
                           "4.9e-324",
                           "2.2250738585072011e-308",
                           "1.7976931348623157e308",
                           "0.000000000000000000000000000001",
                           "8.5e-1",
                           "7.0064923216240854e-46",
                           "1.17549429e-38",
                           "3.4028235e38",
                           ".5",
                           "5.",
                           "00012.50"}) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(numberOf(text)),
              std::bit_cast<std::uint64_t>(std::strtod(text, nullptr)))
        << text;
    const float single = std::strtof(text, nullptr);
    if (std::isfinite(single) && (single != 0 || std::strtod(text, nullptr) == 0)) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(numberOf<float>(text)), std::bit_cast<std::uint32_t>(single))
          << text;
    }
  }
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int i = 0; i < 40'000; ++i) {
    std::string text;
    const auto digits = [&](std::uint32_t most) {
      for (std::uint32_t n = rng.below(most) + 1; n > 0; --n) text += static_cast<char>('0' + rng.below(10));
    };
    digits(12);
    if (rng.below(2) == 0) text += ".", digits(14);
    if (rng.below(4) == 0) text += "e-", digits(1);
    ASSERT_EQ(numberOf(text), std::strtod(text.c_str(), nullptr)) << text;
    ASSERT_EQ(numberOf<float>(text), std::strtof(text.c_str(), nullptr)) << text;
  }
}

template <class T> void expectRoundTrip(std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::size_t> starts{0};
  std::vector<std::uint32_t> columns;
  std::vector<T> values;
  std::vector<double> labels;
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  for (int i = 0; i < 300; ++i) {
    for (std::uint32_t column = rng.below(9); column < 1'000'000'000; column += 1 + rng.below(300'000'000)) {
      const T value = std::bit_cast<T>(static_cast<Bits>(rng.next()));
      columns.push_back(column);
      values.push_back(std::isfinite(value) ? value : T{0});
    }
    starts.push_back(values.size());
    labels.push_back(rng.normal<double>());
  }
  const auto rows = SampleRows<T>::sparse(1'000'000'000, starts, columns, values, labels);
  const Scratch scratch;
  saveLibsvm(scratch.path("f"), rows, {.durable = false});
  EXPECT_EQ(loadLibsvm<T>(scratch.path("f"), {.features = rows.features()}), rows);
  EXPECT_EQ(contentOf(scratch.path("f")), toLibsvm(rows));
}
TEST(Libsvm, AnyNumbersSurviveARoundTrip) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  expectRoundTrip<double>(seed);
  expectRoundTrip<float>(seed);
}
TEST(Libsvm, DenseRowsAreSavedWithoutTheirZeros) {
  EXPECT_EQ(toLibsvm(wanted.toDense()), "1 1:0.5 5:-3\n-1\n2.5 3:0.001\n");
}
TEST(Libsvm, WhatIsNotFiniteIsNotSaved) {
  const Scratch scratch;
  const std::string path = scratch.put("f", "1 1:1\n");
  const double inf = std::numeric_limits<double>::infinity();
  for (const Rows& rows : {Rows::dense(1, {1, inf}, {1, 1}), Rows::dense(1, {1, 1}, {1, std::nan("")})})
    EXPECT_EQ(codeOf([&] { saveLibsvm(path, rows); }), ErrorCode::notFinite);
  EXPECT_EQ(contentOf(path), "1 1:1\n");
  EXPECT_EQ(scratch.entries().size(), 1u);
}
TEST(Libsvm, TheLocaleChangesNothing) {
  if (std::setlocale(LC_ALL, "de_DE.UTF-8") == nullptr) GTEST_SKIP() << "there is no German locale here";
  EXPECT_EQ(rowsOf("1 1:0.5 5:-3\n-1\n2.5 3:1e-3\n"), wanted);
  EXPECT_EQ(toLibsvm(wanted), "1 1:0.5 5:-3\n-1\n2.5 3:0.001\n");
  std::setlocale(LC_ALL, "C");
}

TEST(Libsvm, ReadsTheDataOfTheRepository) {
  const Rows digits = loadLibsvm(BURTORCH_TEST_DATA "/../../data/digits.libsvm");
  EXPECT_EQ(digits.size(), 1797u);
  EXPECT_EQ(digits.features(), 64u);
  for (const double digit : {0.0, 1.0, 8.0, 9.0})
    EXPECT_EQ(std::count(digits.labels().begin(), digits.labels().end(), digit), digit == 0   ? 178
                                                                                 : digit == 1 ? 182
                                                                                 : digit == 8 ? 174
                                                                                              : 180);
  EXPECT_EQ(digits.toDense().row(0).value(2), 5);
  EXPECT_EQ(digits.toDense().row(1796).value(61), 12);
  const Rows rows = loadLibsvm(BURTORCH_TEST_DATA "/../../data/breast_cancer.libsvm");
  EXPECT_EQ(rows.size(), 569u);
  EXPECT_EQ(rows.features(), 30u);
  EXPECT_EQ(std::count(rows.labels().begin(), rows.labels().end(), 1.0), 357);
  EXPECT_EQ(std::count(rows.labels().begin(), rows.labels().end(), 0.0), 212);
  EXPECT_EQ(rows.toDense().row(0).value(0), 17.99);
  EXPECT_EQ(rows.toDense().row(568).value(29), 0.07039);
  EXPECT_EQ(parseLibsvm(toLibsvm(rows)), rows);
}

std::string refusalOfFile(const std::string& path) {
  return sentenceOf([&] { loadLibsvm(path); });
}
TEST(LibsvmHostile, WhatIsNoRegularFile) { expectOnlyRegularFilesAreRead(refusalOfFile); }
TEST(LibsvmHostile, WhatMayNotBeRead) { expectPermissionsAreRespected(refusalOfFile, "1 1:1\n"); }

// Mostly a hole: what is wrong stands in front and is found before the rest is read.
TEST(LibsvmHostile, AFileOfATerabyte) {
  const Scratch scratch;
  for (const std::string& begin : {std::string("1 1:1\n"), std::string()}) {
    const std::string path = scratch.put("f", begin);
    std::error_code error;
    std::filesystem::resize_file(path, std::uintmax_t{1} << 40, error);
    if (error) GTEST_SKIP() << "this file system has no files of a terabyte";
    const auto before = std::chrono::steady_clock::now();
    const std::string sentence = refusalOfFile(path);
    if (contains(sentence, "map")) GTEST_SKIP() << sentence;
    EXPECT_TRUE(contains(sentence, begin.empty() ? "at line 1, column 1, found byte 0x00"
                                                 : "at line 2, column 1, found byte 0x00"))
        << sentence;
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(5));
  }
}

/// Fails the test unless the text is read or refused with its place.
void expectSafe(const std::string& text) {
  // A block of its own without a zero behind it: a sanitizer sees a read beyond the end.
  const std::vector<char> exact(text.begin(), text.end());
  const std::string sentence = sentenceOf([&] {
    const Rows rows = parseLibsvm(std::string_view(exact.data(), exact.size()));
    EXPECT_EQ(parseLibsvm(toLibsvm(rows), {.features = rows.features()}), rows) << text;
  });
  EXPECT_TRUE(sentence.empty() || contains(sentence, ", column ") || contains(sentence, "it has no samples"))
      << sentence;
}
const std::string good = "# c\n+1 1:0.5 5:-3 # x\r\n-1\n\n2.5e0 3:1e-3 4294967295:12345678901234567890\n";

TEST(LibsvmHostile, EveryPrefixAndSuffix) {
  for (std::size_t i = 0; i <= good.size(); ++i) expectSafe(good.substr(0, i)), expectSafe(good.substr(i));
}
TEST(LibsvmHostile, EveryByteReplacedByAnyOther) {
  for (std::size_t at = 0; at < good.size(); ++at)
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = good;
      changed[at] = static_cast<char>(byte);
      expectSafe(changed);
    }
}
TEST(LibsvmHostile, PiecesInRandomOrder) {
  const std::vector<std::string> pieces{
      "1",     "-",   "+",       ":",    " ",    "\t",  "\n",   "\r",    "\r\n", "#",
      ".",     "e",   "9",       "0",    "qid:", "1:1", " 2:5", "nan",   "inf",  "4294967295",
      "1e999", "\0x", "1.5 7:3", "\xff", "1 ",   "::",  "0x1p", "1e-99", "00",   "E+5"};
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int i = 0; i < 25'000; ++i) {
    std::string text;
    for (std::uint32_t n = rng.below(14); n > 0; --n) text += pieces[rng.below(pieces.size())];
    expectSafe(text);
  }
}
// What could make a reader reserve more than the file can hold.
TEST(LibsvmHostile, ManyColonsAndLinesOfNothing) {
  EXPECT_TRUE(contains(refusalOf(std::string(1'000'000, ':')), "line 1, column 1"));
  EXPECT_TRUE(contains(refusalOf(std::string(1'000'000, '\n')), "no samples"));
  EXPECT_TRUE(contains(refusalOf("#" + std::string(1'000'000, ':')), "no samples"));
  EXPECT_EQ(rowsOf(std::string(1'000'000, '\n') + "1 1:1").size(), 1u);
}
TEST(LibsvmHostile, SentencesShowNoControlCharacters) {
  const Scratch scratch;
  const std::string path = scratch.put("\x1b[31m" + std::string(150, 'n'), "1 1:1\n1 2:\x1b\n");
  const std::string sentence = refusalOfFile(path);
  EXPECT_FALSE(contains(sentence, "\x1b"));
  EXPECT_TRUE(sentence.ends_with("expected a finite number at line 2, column 5, found byte 0x1B"))
      << sentence;
}

}  // namespace libsvm_test
}  // namespace burtorch
