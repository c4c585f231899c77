// Safetensors files from an enemy: any bytes lead to an error or to tensors that lie in the file, and fast.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <set>

#include "burtorch/io/safetensors.hpp"
#include "io/hostile_places.hpp"
#include "io/safetensors_cases.hpp"
#include "io/scratch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace safetensors_hostile_test {

std::string refusal(const std::string& path) {
  return sentenceOf([&] { const SafetensorsFile file(path); });
}
std::string refusalOf(std::string_view header, std::string_view data = "") {
  const Scratch scratch;
  return refusal(scratch.put("f", fileOf(header, data)));
}
/// {"x":{...}} with F32, shape [2] and 8 bytes, in which one part is replaced.
std::string headerWith(const std::string& part, const std::string& replacement) {
  std::string header = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_TRUE(contains(header, part)) << part;
  return header.replace(header.find(part), part.size(), replacement);
}
std::string tensorOf(const std::string& name, const std::string& begin, const std::string& end) {
  return "\"" + name + R"(":{"dtype":"U8","shape":[)" + std::to_string(std::stoi(end) - std::stoi(begin)) +
         R"(],"data_offsets":[)" + begin + "," + end + "]}";
}

/// Reads all that the file has; fails the test if anything leads outside it.
void readAll(const SafetensorsFile& file, std::size_t fileBytes) {
  std::set<std::string> names;
  std::size_t bytes = 0;
  unsigned sum = 0;
  for (const TensorInfo& tensor : file.tensors()) {
    EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name;
    for (const std::byte b : file.bytes(tensor)) sum += static_cast<unsigned>(b);
    bytes += file.bytes(tensor.name).size();
    EXPECT_EQ(file.find(tensor.name), &tensor);
    const std::uint64_t each = safetensors::bytesPerNumber(tensor.dtype);
    std::vector<double> into(each > 0 ? tensor.bytes() / each : 0, 7.0);
    const std::vector<double> before = into;
    const std::string sentence = sentenceOf([&] { file.read(tensor.name, std::span(into)); });
    EXPECT_TRUE(sentence.empty() || into == before) << sentence;
  }
  EXPECT_LT(bytes, fileBytes);
  EXPECT_LT(sum, 256 * fileBytes);
}

TEST(SafetensorsHostile, EveryPrefixIsAnError) {
  const Scratch scratch;
  const std::string whole = smallFile();
  EXPECT_EQ(refusal(scratch.put("f", whole)), "");
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes)
    EXPECT_TRUE(contains(refusal(scratch.put("f", whole.substr(0, bytes))), "cannot read '")) << bytes;
  EXPECT_TRUE(contains(refusal(scratch.put("f", whole + "x")), "was it cut or extended?"));
}
TEST(SafetensorsHostile, EveryFlippedBitIsAnErrorOrData) {
  const Scratch scratch;
  const std::string whole = smallFile();
  std::size_t errors = 0, bits = 8 * whole.size();
  for (std::size_t bit = 0; bit < bits; ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
    scratch.put("f", changed);
    const std::string sentence =
        sentenceOf([&] { readAll(SafetensorsFile(scratch.path("f")), changed.size()); });
    errors += !sentence.empty();
    EXPECT_TRUE(sentence.empty() || contains(sentence, "cannot read '")) << sentence;
    EXPECT_TRUE(bit >= 64 || !sentence.empty()) << "a header of another length, bit " << bit;
  }
  // Flips in names, in metadata and in the data change what is read, but not whether it can be.
  const std::size_t dataBits = 8 * 32;
  EXPECT_GT(errors, 64U);
  EXPECT_LE(errors, bits - dataBits);
}

TEST(SafetensorsHostile, WhatIsNoRegularFile) { expectOnlyRegularFilesAreRead(refusal); }
TEST(SafetensorsHostile, WhatMayNotBeRead) { expectPermissionsAreRespected(refusal, smallFile()); }
TEST(SafetensorsHostile, AnEnormousFileIsAnsweredAtOnce) {
  const Scratch scratch;
  const std::uint64_t terabyte = 1ULL << 40;
  scratch.put("zeros", "");
  if (truncate(scratch.path("zeros").c_str(), static_cast<off_t>(terabyte)) != 0)
    GTEST_SKIP() << "the file system of " << scratch.folder() << " holds no file of 1 TB";
  std::string header = R"({"x":{"dtype":"F64","shape":[137438953456],"data_offsets":[0,1099511627648]}})";
  header.resize(120, ' ');
  for (const auto& [name, content] : {std::pair("right", fileOf(header, "")),
                                      std::pair("wrong", dataOf(std::uint64_t{100'000'000}, '{', ' '))}) {
    scratch.put(name, content);
    ASSERT_EQ(truncate(scratch.path(name).c_str(), static_cast<off_t>(terabyte)), 0);
  }
  const std::clock_t start = std::clock();  // of the processor: other programs may be busy
  EXPECT_TRUE(contains(refusal(scratch.path("zeros")), "does not begin with '{'"));
  EXPECT_TRUE(contains(refusal(scratch.path("wrong")), "at byte 2 of its header"));
  EXPECT_EQ(refusal(scratch.path("right")), "");
  std::vector<double> into(3);
  const SafetensorsFile file(scratch.path("right"));
  EXPECT_TRUE(
      contains(sentenceOf([&] { file.read("x", std::span(into)); }), "137438953456 numbers, expected 3"));
  EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC / 50);
}

TEST(SafetensorsHostile, LengthsThatLie) {
  const Scratch scratch;
  const auto withLength = [&](std::uint64_t bytes) {
    std::string file = smallFile();
    std::memcpy(file.data(), &bytes, sizeof bytes);
    return refusal(scratch.put("f", file));
  };
  for (const std::uint64_t bytes : {100'000'001ULL, 1ULL << 32, 1ULL << 63, ~0ULL, ~0ULL - 7})
    EXPECT_TRUE(contains(withLength(bytes), "more than 100 MB")) << bytes;
  EXPECT_TRUE(contains(withLength(100'000'000), "would end after the file"));
  EXPECT_TRUE(contains(withLength(smallFile().size() - 7), "would end after the file"));
  EXPECT_TRUE(contains(withLength(smallFile().size() - 8), "expected the end of the header"));
  EXPECT_TRUE(contains(withLength(0), "does not begin with '{'"));
  EXPECT_TRUE(contains(withLength(1), "at byte 1 of its header expected a string, found its end"));
}

TEST(SafetensorsHostile, TensorsThatDoNotCoverTheData) {
  const auto with = [](const std::string& tensors) { return refusalOf("{" + tensors + "}", "12345678"); };
  EXPECT_EQ(with(tensorOf("a", "0", "3") + "," + tensorOf("b", "3", "8")), "");
  EXPECT_EQ(with(tensorOf("a", "3", "8") + "," + tensorOf("b", "0", "3") + "," + tensorOf("c", "3", "3")),
            "");
  EXPECT_TRUE(
      contains(with(tensorOf("a", "0", "4") + "," + tensorOf("b", "3", "8")), "'b' begins at byte 3"));
  EXPECT_TRUE(
      contains(with(tensorOf("a", "0", "3") + "," + tensorOf("b", "4", "8")), "'b' begins at byte 4"));
  EXPECT_TRUE(contains(with(tensorOf("a", "0", "8") + "," + tensorOf("b", "0", "8")), "begins at byte 0"));
  EXPECT_TRUE(
      contains(with(tensorOf("a", "0", "8") + "," + tensorOf("b", "2", "2")), "'b' begins at byte 2"));
  EXPECT_TRUE(contains(with(tensorOf("a", "1", "8")), "'a' begins at byte 1"));
  EXPECT_TRUE(contains(with(tensorOf("a", "0", "7")), "take 7 bytes and it has 8"));
  EXPECT_TRUE(contains(with(tensorOf("a", "0", "9")), "take 9 bytes and it has 8"));
  EXPECT_TRUE(contains(with(""), "take 0 bytes and it has 8"));
}
TEST(SafetensorsHostile, NamesThatOccurTwice) {
  EXPECT_TRUE(
      contains(refusalOf("{" + tensorOf("a", "0", "3") + "," + tensorOf("a", "3", "8") + "}", "12345678"),
               "two tensors 'a'"));
  EXPECT_TRUE(contains(refusalOf("{" + tensorOf("a", "0", "0") + "," + tensorOf("\\u0061", "0", "0") + "}"),
                       "two tensors 'a'"));
  EXPECT_TRUE(
      contains(refusalOf(R"({"__metadata__":{},"__metadata__":{}})"), "twice the member '__metadata__'"));
  EXPECT_TRUE(
      contains(refusalOf(R"({"__metadata__":{"k":"","l":"","k":""}})"), "twice the key 'k' at byte 31"));
  EXPECT_TRUE(
      contains(refusalOf(headerWith("\"shape\"", R"("dtype":"F32","shape")")), "twice the member 'dtype'"));
}
TEST(SafetensorsHostile, TensorsThatAreNone) {
  EXPECT_EQ(refusalOf(headerWith("x", "y"), "12345678"), "");
  const std::pair<const char*, const char*> cases[] = {
      {R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", "7"},
      {R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", "{}"},
      {R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})", "null"},
      {R"("dtype":"F32",)", ""},
      {R"("shape":[2],)", ""},
      {R"(,"data_offsets":[0,8])", ""},
      {"\"dtype\"", "\"type\""},
      {"\"F32\"", "32"},
      {"[2]", "2"},
      {"[2]", "[-2]"},
      {"[2]", "[2.0]"},
      {"[2]", "[2e0]"},
      {"[2]", "[[2]]"},
      {"[2]", "[18446744073709551618]"},
      {"[0,8]", "[0]"},
      {"[0,8]", "[0,8,8]"},
      {"[0,8]", "[]"},
      {"[0,8]", "[8,0]"},
      {"[0,8]", "[0,-8]"},
      {"[0,8]", "[0,8"},
      {"}}", "}"},
      {"}}", "}}}"},
      {"}}", "},}"},
      {"{\"x\"", " {\"x\""},
      {"{\"x\"", "\xEF\xBB\xBF{\"x\""},
      {"{\"x\"", "[\"x\""},
      {"x", "\xFF"},
      {"x", "\x01"},
      {"x", "\\q"},
  };
  for (const auto& [part, replacement] : cases)
    EXPECT_TRUE(contains(refusalOf(headerWith(part, replacement), "12345678"), "cannot read '"))
        << part << " -> " << replacement;
  EXPECT_TRUE(contains(refusalOf(headerWith("x", std::string(1, '\0')), "12345678"), "found byte 0x00"));
}
TEST(SafetensorsHostile, TensorsThatAreNoneAndHaveNoNumbersEither) {
  const std::string empty = R"({"x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})";
  EXPECT_EQ(refusalOf(empty), "");
  for (const std::string part : {R"("dtype":"F32",)", R"("shape":[0],)", R"(,"data_offsets":[0,0])", ",0"}) {
    std::string header = empty;
    header.erase(header.find(part), part.size());
    EXPECT_TRUE(contains(refusalOf(header), "before this")) << header;
  }
}
TEST(SafetensorsHostile, ATensorThatEndsBeforeItBegins) {
  // Of an unknown type, so that only the offsets can be wrong; the two together would cover nothing.
  const std::string backwards = R"("y":{"dtype":"F4","shape":[1],"data_offsets":[8,0]})";
  EXPECT_TRUE(
      contains(refusalOf("{" + tensorOf("x", "0", "8") + "," + backwards + "}"), "ends before it begins"));
}
TEST(SafetensorsHostile, ANameMayHoldAnEscapedZero) {
  const Scratch scratch;
  const SafetensorsFile file(scratch.put("f", fileOf(headerWith("x", "x\\u0000y"), "12345678")));
  EXPECT_NE(file.find(std::string_view("x\0y", 3)), nullptr);
  EXPECT_EQ(file.find("x"), nullptr);
}
TEST(SafetensorsHostile, ShapesWhoseProductOverflows) {
  for (const char* shape :
       {"[4294967296,4294967296]", "[9223372036854775808,2,2]", "[18446744073709551615,3]",
        "[4611686018427387904,4,1]", "[4611686018427387906]", "[9223372036854775809,2]"})
    EXPECT_TRUE(
        contains(refusalOf(headerWith("[2]", shape), "12345678"), "more numbers than 64 bits can count"))
        << shape;
  for (const char* shape : {"[3]", "[1]", "[0]", "[]", "[2,2]", "[0,18446744073709551615]"})
    EXPECT_TRUE(contains(refusalOf(headerWith("[2]", shape), "12345678"), "bytes and has 8")) << shape;
  EXPECT_TRUE(
      contains(refusalOf(headerWith("[0,8]", "[18446744073709551608,18446744073709551615]"), "12345678"),
               "needs 8 bytes and has 7"));
  EXPECT_TRUE(
      contains(refusalOf(headerWith("[0,8]", "[18446744073709551607,18446744073709551615]"), "12345678"),
               "begins at byte 18446744073709551607"));
}
TEST(SafetensorsHostile, TypesThatNobodyKnowsMayBeThereButNotBeRead) {
  const Scratch scratch;
  const SafetensorsFile file(scratch.put("f", fileOf(headerWith("F32", "F4"), "12345678")));
  EXPECT_EQ(file.bytes("x").size(), 8U);
  std::vector<float> into(2, 7);
  EXPECT_TRUE(contains(sentenceOf([&] { file.read("x", std::span(into)); }), "is of type F4, expected F64"));
  EXPECT_EQ(into, std::vector<float>(2, 7));
}
TEST(SafetensorsHostile, DeepNestingIsRefusedAtItsFirstLevel) {
  const auto deep = [](std::string header, std::string_view level) {
    while (header.size() < 1'000'000) header += level;
    return refusalOf(header);
  };
  EXPECT_TRUE(contains(deep("", "{\"a\":"), "at byte 6 "));
  EXPECT_TRUE(contains(deep("{\"x\":", "["), "at byte 5 "));
  EXPECT_TRUE(contains(deep("{\"x\":{\"shape\":", "["), "at byte 15 "));
  EXPECT_TRUE(contains(deep("{\"x\":{\"shape\":", "{\"a\":"), "at byte 14 "));
  EXPECT_TRUE(contains(deep("{\"__metadata__\":", "["), "at byte 16 "));
  EXPECT_TRUE(contains(deep("{\"__metadata__\":", "{\"a\":"), "at byte 21 "));
}
TEST(SafetensorsHostile, AShapeHasAtMost64Sizes) {
  std::string sizes = "[2";
  for (int i = 1; i < 64; ++i) sizes += ",1";
  EXPECT_EQ(refusalOf(headerWith("[2]", sizes + "]"), "12345678"), "");
  EXPECT_TRUE(contains(refusalOf(headerWith("[2]", sizes + ",1]"), "12345678"), "no more than 64 sizes"));
}
TEST(SafetensorsHostile, SentencesShowNoControlCharactersAndHaveRoomForTheReason) {
  const std::string name = "\\u001b[31m" + std::string(5'000, 'n');
  const std::string sentence = refusalOf("{" + tensorOf(name, "1", "2") + "}", "12");
  EXPECT_FALSE(contains(sentence, "\x1b")) << sentence;
  EXPECT_TRUE(sentence.ends_with("was the file damaged?")) << sentence;
}

}  // namespace safetensors_hostile_test
}  // namespace burtorch
