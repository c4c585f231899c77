// .npy files from an enemy: any bytes lead to an error or to an array that lies in the file, and fast.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <random>

#include "burtorch/io/npy.hpp"
#include "io/hostile_places.hpp"
#include "io/npy_cases.hpp"
#include "io/scratch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace npy_hostile_test {

constexpr std::string_view small = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";

std::string refusal(const std::string& path) {
  return sentenceOf([&] { const NpyFile file(path); });
}
std::string refusalOf(std::string_view file) {
  return sentenceOf([&] { const NpyArray array(bytesOf(file)); });
}
/// Whether the array can be opened; fails the test if it leads outside its bytes or is half read.
bool isSafe(const std::string& file) {
  const std::string sentence = sentenceOf([&] {
    const NpyArray array(bytesOf(file));
    EXPECT_EQ(array.bytes().data() + array.bytes().size(), bytesOf(file).data() + file.size());
    EXPECT_LT(array.bytes().size(), file.size());
    EXPECT_EQ(array.bytes().size() % static_cast<std::size_t>(std::max<std::uint64_t>(1, array.count())), 0U);
    unsigned sum = 0;
    for (const std::byte b : array.bytes()) sum += static_cast<unsigned>(b);
    EXPECT_LE(sum, 255 * file.size());
    std::vector<double> into(static_cast<std::size_t>(array.count()), 7);
    const std::vector<double> before = into;
    const std::string whyNot = sentenceOf([&] { array.read(std::span(into)); });
    EXPECT_TRUE(whyNot.empty() || into == before) << whyNot;
    EXPECT_TRUE(whyNot.empty() || contains(whyNot, "cannot load '")) << whyNot;
  });
  EXPECT_TRUE(sentence.empty() || contains(sentence, "cannot read '")) << sentence;
  return sentence.empty();
}

TEST(NpyHostile, EveryPrefixIsAnError) {
  const Scratch scratch;
  for (const char major : {'\1', '\2', '\3'}) {
    const std::string whole = npyOf(small, smallNpy().substr(10 + small.size()), major);
    EXPECT_EQ(refusal(scratch.put("f", whole)), "");
    for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
      EXPECT_TRUE(contains(refusal(scratch.put("f", whole.substr(0, bytes))), "cannot read '")) << bytes;
      EXPECT_FALSE(isSafe(whole.substr(0, bytes)));
    }
    EXPECT_TRUE(contains(refusal(scratch.put("f", whole + "x")), "was it cut or extended?"));
  }
}
TEST(NpyHostile, EveryFlippedBitIsAnErrorOrAnArray) {
  for (const char major : {'\1', '\2', '\3'}) {
    const std::string whole = npyOf(small, smallNpy().substr(10 + small.size()), major);
    std::size_t errors = 0;
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
      std::string changed = whole;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
      errors += !isSafe(changed);
    }
    // Flips in the numbers, in spaces and from f4 to i4 or u4 change what is read, but not whether it can be.
    const std::size_t dataBits = 8 * 24;
    EXPECT_GT(errors, 8 * 60U);
    EXPECT_LE(errors, 8 * whole.size() - dataBits);
  }
}
TEST(NpyHostile, EveryByteReplacedByAnyOther) {
  const std::string whole = smallNpy();
  for (std::size_t at = 0; at < 10 + small.size(); ++at)
    for (int byte = 0; byte < 256; ++byte) {
      std::string changed = whole;
      changed[at] = static_cast<char>(byte);
      const bool isRead = isSafe(changed);
      EXPECT_TRUE(isRead || changed != whole);
    }
}
TEST(NpyHostile, PartsOfHeadersInRandomOrder) {
  const char* parts[] = {"{",
                         "}",
                         "(",
                         ")",
                         ",",
                         ":",
                         " ",
                         "\n",
                         "'descr'",
                         "'fortran_order'",
                         "'shape'",
                         "True",
                         "False",
                         "'<f8'",
                         "'|u1'",
                         "0",
                         "1",
                         "8",
                         "99999999999999999999",
                         "\"",
                         "\\",
                         "'"};
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int i = 0; i < 20'000; ++i) {
    std::string header = i % 2 == 0 ? "{'descr':'<f8','fortran_order':False,'shape':(" : "{";
    for (auto n = random() % 12; n > 0; --n) header += parts[random() % std::size(parts)];
    isSafe(npyOf(header + "\n", "12345678"));
  }
}

TEST(NpyHostile, WhatIsNoRegularFile) { expectOnlyRegularFilesAreRead(refusal); }
TEST(NpyHostile, WhatMayNotBeRead) { expectPermissionsAreRespected(refusal, smallNpy()); }
TEST(NpyHostile, AnEnormousFileIsAnsweredAtOnce) {
  const Scratch scratch;
  const std::uint64_t terabyte = 1ULL << 40;
  scratch.put("zeros", "");
  if (truncate(scratch.path("zeros").c_str(), static_cast<off_t>(terabyte)) != 0)
    GTEST_SKIP() << "the file system of " << scratch.folder() << " holds no file of 1 TB";
  std::string header = "{'descr': '<f8', 'fortran_order': True, 'shape': (137438953456,)}";
  header.resize(117, ' ');
  for (const auto& [name, content] :
       {std::pair("right", npyOf(header + "\n", "")), std::pair("wrong", smallNpy())}) {
    scratch.put(name, content);
    ASSERT_EQ(truncate(scratch.path(name).c_str(), static_cast<off_t>(terabyte)), 0);
  }
  const std::clock_t start = std::clock();  // of the processor: other programs may be busy
  EXPECT_TRUE(contains(refusal(scratch.path("zeros")), "does not begin with \\x93NUMPY"));
  EXPECT_TRUE(contains(refusal(scratch.path("wrong")), "take 24 bytes and it has 1099511627706"));
  EXPECT_EQ(refusal(scratch.path("right")), "");
  std::vector<double> into(3);
  const NpyFile file(scratch.path("right"));
  EXPECT_TRUE(contains(sentenceOf([&] { file.read(std::span(into)); }), "137438953456 numbers, expected 3"));
  EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC / 50);
}

TEST(NpyHostile, LengthsThatLie) {
  const auto withLength = [](std::uint32_t bytes) {
    std::string file = npyOf(small, "", 2);
    std::memcpy(file.data() + 8, &bytes, sizeof bytes);
    return refusalOf(file);
  };
  const auto length = static_cast<std::uint32_t>(small.size());
  for (const std::uint32_t bytes : {10'001U, 1U << 16, 1U << 31, ~0U, ~0U - 7})
    EXPECT_TRUE(contains(withLength(bytes), "more than 10000 bytes")) << bytes;
  EXPECT_TRUE(contains(withLength(10'000), "would end after the file"));
  EXPECT_TRUE(contains(withLength(length + 1), "would end after the file"));
  EXPECT_TRUE(contains(withLength(length), "take 24 bytes and it has 0"));
  EXPECT_TRUE(contains(withLength(length - 1), "a new line before this"));
  EXPECT_TRUE(contains(withLength(0), "at byte 0 of its header expected '{', found its end"));
}
TEST(NpyHostile, AHeaderOfTheLargestLengthIsRead) {
  std::string header(small.substr(0, small.size() - 1));
  header.resize(9'999, ' ');
  EXPECT_TRUE(isSafe(npyOf(header + "\n", std::string(24, 'x'))));
  EXPECT_FALSE(isSafe(npyOf(header + " \n", std::string(24, 'x'))));
}
TEST(NpyHostile, VersionsThatNobodyKnows) {
  for (int major = 0; major < 256; ++major)
    for (const char minor : {'\0', '\1'}) {
      std::string file = smallNpy();
      file[6] = static_cast<char>(major);
      file[7] = minor;
      const bool isKnown = major >= 1 && major <= 3 && minor == 0;
      const std::string wanted = "version " + std::to_string(major) + (minor == 0 ? ".0," : ".1,");
      EXPECT_EQ(!contains(refusalOf(file), wanted), isKnown) << major;
    }
}
TEST(NpyHostile, SentencesShowNoControlCharactersAndHaveRoomForTheReason) {
  const Scratch scratch;
  std::string folder = scratch.path("\x1b[31m" + std::string(200, 'n'));
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/f";
  std::ofstream(path, std::ios::binary) << smallNpy() << "x";
  const std::string sentence = refusal(path);
  EXPECT_FALSE(contains(sentence, "\x1b")) << sentence;
  EXPECT_TRUE(sentence.ends_with("was it cut or extended?")) << sentence;
}
TEST(NpyHostile, EveryRefusalEndsWithItsAdvice) {
  // The longest shape, type and source that a sentence may have to show.
  std::string shape = "(";
  for (int i = 0; i < 40; ++i) shape += "1, ";
  const std::string file =
      npyOf("{'descr': '<c16', 'fortran_order': False, 'shape': " + shape + "1000000000000)}\n", "");
  const std::string sentence = sentenceOf([&] { NpyArray(bytesOf(file), std::string(300, 's')); });
  EXPECT_TRUE(sentence.ends_with("was it cut or extended?")) << sentence;
}

}  // namespace npy_hostile_test
}  // namespace burtorch
