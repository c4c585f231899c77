// Safetensors files: what is saved is read again, files of the Python package are read, and ours have the same bytes.
#include "burtorch/io/safetensors.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "io/safetensors_cases.hpp"
#include "io/scratch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace safetensors_test {

using Shape = std::vector<std::uint64_t>;
constexpr float infinity = std::numeric_limits<float>::infinity();

template <class T>
std::vector<T> numbersOf(const SafetensorsFile& file, std::string_view name, std::size_t count) {
  std::vector<T> numbers(count);
  file.read(name, std::span(numbers));
  return numbers;
}
template <class T>
TensorView view(const std::string& name, const Shape& shape, const std::vector<T>& numbers) {
  return {name, shape, std::span<const T>(numbers)};
}
std::vector<std::string> namesOf(const SafetensorsFile& file) {
  std::vector<std::string> names;
  for (const TensorInfo& tensor : file.tensors()) names.push_back(tensor.name);
  return names;
}

template <class T> class SafetensorsOf : public testing::Test {};
using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(SafetensorsOf, Numbers);

TYPED_TEST(SafetensorsOf, WhatIsSavedIsReadAgain) {
  const Scratch scratch;
  using Limits = std::numeric_limits<TypeParam>;
  const std::vector<TypeParam> matrix{TypeParam(0.1),       -TypeParam(0.0),     Limits::max(),
                                      Limits::denorm_min(), -Limits::infinity(), TypeParam(1) / 3};
  const std::vector<TypeParam> one{TypeParam(42.5)}, none;
  const Metadata metadata{{"epoch", "3"}, {"note", "\"\\\n\xC3\xA9"}, {"", ""}};
  const std::vector<TensorView> tensors{view("w", {2, 3}, matrix), view("scalar", {}, one),
                                        view("none", {4, 0}, none), view("deep", {1, 1, 1, 1}, one),
                                        view("", {1}, one)};
  saveSafetensors(scratch.path("f"), tensors, metadata);

  const SafetensorsFile file(scratch.path("f"));
  EXPECT_EQ(file.metadata(), metadata);
  EXPECT_EQ(namesOf(file), (std::vector<std::string>{"", "deep", "none", "scalar", "w"}));
  EXPECT_EQ(file.tensor("w").shape, (Shape{2, 3}));
  EXPECT_EQ(file.tensor("scalar").shape, Shape{});
  EXPECT_EQ(file.tensor("none").shape, (Shape{4, 0}));
  EXPECT_EQ(file.tensor("w").dtype, (std::same_as<TypeParam, float> ? "F32" : "F64"));
  const std::vector<TypeParam> found = numbersOf<TypeParam>(file, "w", 6);
  EXPECT_EQ(std::memcmp(found.data(), matrix.data(), 6 * sizeof(TypeParam)), 0);
  EXPECT_EQ(numbersOf<TypeParam>(file, "scalar", 1), one);
  EXPECT_EQ(numbersOf<TypeParam>(file, "none", 0), none);
}
TEST(Safetensors, NumbersAreAligned) {
  const Scratch scratch;
  const std::vector<float> three(3, 1.5F);
  const std::vector<double> two(2, 2.5);
  for (std::size_t length = 1; length < 20; ++length) {
    saveSafetensors(scratch.path("f"),
                    std::vector{view("a", {3}, three), view(std::string(length, 'z'), {2}, two)});
    const SafetensorsFile file(scratch.path("f"));
    for (const TensorInfo& tensor : file.tensors())
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file.bytes(tensor).data()) % (tensor.dtype == "F64" ? 8 : 4),
                0U);
    EXPECT_EQ(contentOf(scratch.path("f"))[0] % 8, 0);
    EXPECT_EQ(numbersOf<float>(file, "a", 3), three);
  }
}
TEST(Safetensors, AFileMayHaveNoTensors) {
  const Scratch scratch;
  saveSafetensors(scratch.path("f"), {});
  EXPECT_EQ(SafetensorsFile(scratch.path("f")).tensors().size(), 0U);
  EXPECT_EQ(SafetensorsFile(scratch.put("g", fileOf("{}", ""))).tensors().size(), 0U);
}
TEST(Safetensors, AnOpenFileSurvivesItsReplacement) {
  const Scratch scratch;
  const std::vector<float> old{1, 2, 3}, next{4};
  saveSafetensors(scratch.path("f"), std::vector{view("x", {3}, old)});
  SafetensorsFile file(scratch.path("f"));
  saveSafetensors(scratch.path("f"), std::vector{view("x", {1}, next)});
  const SafetensorsFile moved(std::move(file));
  EXPECT_EQ(numbersOf<float>(moved, "x", 3), old);
}

TEST(Safetensors, ReadsAFileOfThePythonPackage) {
  const SafetensorsFile file(BURTORCH_TEST_DATA "/python_types.safetensors");
  EXPECT_EQ(file.metadata(), (Metadata{{"format", "pt"}, {"not\xC3\xA9 \"q\"", "\t\xF0\x9F\x98\x80"}}));
  EXPECT_EQ(file.tensors().size(), 7U);
  EXPECT_EQ(numbersOf<float>(file, "half", 5), (std::vector<float>{0.5F, -2.25F, 65504, 0x1p-24F, infinity}));
  EXPECT_EQ(numbersOf<double>(file, "half", 5), (std::vector<double>{0.5, -2.25, 65504, 0x1p-24, infinity}));
  EXPECT_EQ(numbersOf<float>(file, "brain", 4), (std::vector<float>{0.5F, -3, 0x1p-133F, 1 + 0x1p-7F}));
  EXPECT_EQ(numbersOf<double>(file, "brain", 4), (std::vector<double>{0.5, -3, 0x1p-133, 1 + 0x1p-7}));
  EXPECT_EQ(numbersOf<float>(file, "single", 2), (std::vector<float>{0.1F, -0x1p-149F}));
  EXPECT_EQ(numbersOf<double>(file, "single", 2), (std::vector<double>{double{0.1F}, -0x1p-149}));
  EXPECT_EQ(numbersOf<double>(file, "double", 2), (std::vector<double>{0.1, 1e-320}));
  EXPECT_EQ(numbersOf<float>(file, "double", 2), (std::vector<float>{0.1F, 0}));
  EXPECT_EQ(numbersOf<float>(file, "quote\" back\\slash \n \x01 \xC3\xA9 \xF0\x9F\x98\x80", 1),
            std::vector<float>{1});
  EXPECT_EQ(file.tensor("brain").shape, (Shape{2, 2}));
  EXPECT_EQ(file.tensor("count").dtype, "I64");
  EXPECT_EQ(file.bytes("count").size(), 16U);
  EXPECT_EQ(file.bytes("mask").size(), 3U);
}
TEST(Safetensors, WritesTheBytesOfThePythonPackage) {
  const Scratch scratch;
  std::vector<float> weight;
  for (int i = 0; i < 6; ++i) weight.push_back(static_cast<float>(i) * 0.1F - 0.25F);
  const std::vector<float> bias{1.5F, -0.0F, 3e38F}, seven{7}, none;
  const std::vector<double> scale{0.1, 1e-300, -1e300}, step{12345};
  const std::vector<TensorView> tensors{view("blocks.0.weight", {2, 3}, weight),
                                        view("blocks.0.bias", {3}, bias),
                                        view("blocks.10.scale", {3, 1}, scale),
                                        view("head.weight", {1, 1}, seven),
                                        view("step", {}, step),
                                        view("unused", {0, 5}, none)};
  saveSafetensors(scratch.path("f"), tensors, {{"format", "pt"}});
  EXPECT_EQ(contentOf(scratch.path("f")), contentOf(BURTORCH_TEST_DATA "/python_floats.safetensors"));
}

TEST(Safetensors, ReadsNumbersThatAreNotAligned) {
  const Scratch scratch;
  const std::string header = R"({"x":{"dtype":"F64","shape":[2],"data_offsets":[1,17]},)"
                             R"("y":{"shape":[1],"data_offsets":[0,1],"dtype":"U8"}} )";
  for (int spaces = 0; spaces < 8; ++spaces) {
    const SafetensorsFile file(scratch.put(
        "f", fileOf(header + std::string(static_cast<std::size_t>(spaces), ' '), "!" + dataOf(0.1, -7.0))));
    EXPECT_EQ(numbersOf<double>(file, "x", 2), (std::vector<double>{0.1, -7}));
    EXPECT_EQ(numbersOf<float>(file, "x", 2), (std::vector<float>{0.1F, -7}));
  }
}
TEST(Safetensors, F64AsFloatIsRoundedAndNeverBecomesInfinite) {
  const Scratch scratch;
  const double large = std::numeric_limits<float>::max();
  const std::vector<double> fine{1.0 + 0x1p-25, large, -std::numeric_limits<double>::infinity(), 1e-60},
      tooLarge{1, -1e39};
  saveSafetensors(scratch.path("f"), std::vector{view("fine", {4}, fine), view("large", {2}, tooLarge)});
  const SafetensorsFile file(scratch.path("f"));
  EXPECT_EQ(numbersOf<float>(file, "fine", 4),
            (std::vector<float>{1, std::numeric_limits<float>::max(), -infinity, 0}));
  std::vector<float> into{7, 8};
  const std::string sentence = sentenceOf([&] { file.read("large", std::span(into)); });
  EXPECT_TRUE(contains(sentence, "at 1 a number too large for float")) << sentence;
  EXPECT_EQ(into, (std::vector<float>{7, 8}));
}
TEST(Safetensors, RefusesToReadIntoAnotherSizeOrFromAnotherType) {
  const SafetensorsFile file(BURTORCH_TEST_DATA "/python_types.safetensors");
  for (const std::size_t count : {0U, 4U, 6U}) {
    std::vector<float> into(count, 7);
    const std::string sentence = sentenceOf([&] { file.read("half", std::span(into)); });
    EXPECT_TRUE(contains(sentence, "has 5 numbers, expected " + std::to_string(count))) << sentence;
    EXPECT_EQ(into, std::vector<float>(count, 7));
  }
  std::vector<double> two(2, 7);
  EXPECT_TRUE(
      contains(sentenceOf([&] { file.read("count", std::span(two)); }), "is of type I64, expected F64"));
  EXPECT_TRUE(contains(sentenceOf([&] { file.read("nobody", std::span(two)); }), "has no tensor 'nobody'"));
  EXPECT_EQ(two, std::vector<double>(2, 7));
  EXPECT_EQ(file.find("nobody"), nullptr);
  EXPECT_EQ(file.find("zzz"), nullptr);
}

TEST(Safetensors, RefusesToSaveWhatNobodyCouldRead) {
  const Scratch scratch;
  scratch.put("f", "old");
  const std::vector<float> two(2);
  const auto refusal = [&](const std::vector<TensorView>& tensors, const Metadata& metadata = {}) {
    return sentenceOf([&] { saveSafetensors(scratch.path("f"), tensors, metadata); });
  };
  EXPECT_TRUE(contains(refusal({view("x", {3}, two)}), "has 2 numbers, which its shape [3] does not hold"));
  EXPECT_TRUE(contains(refusal({view("x", {}, two)}), "its shape [] does not hold"));
  EXPECT_TRUE(contains(refusal({view("x", {1ULL << 63, 2}, std::vector<float>{})}), "does not hold"));
  EXPECT_TRUE(contains(refusal({view("x", {1ULL << 62}, std::vector<float>{})}), "does not hold"));
  EXPECT_TRUE(contains(refusal({view("x", {2}, two), view("y", {2}, two), view("x", {2}, two)}),
                       "two tensors have the name 'x'"));
  EXPECT_TRUE(
      contains(refusal({view("x", {2}, two), view("x", {1}, std::vector<double>(1))}), "the name 'x'"));
  EXPECT_TRUE(contains(refusal({view("__metadata__", {2}, two)}), "has the name of the metadata"));
  EXPECT_TRUE(contains(refusal({view("x\xFF", {2}, two)}), "not UTF-8"));
  EXPECT_TRUE(contains(refusal({view("x", {2}, two)}, {{"k", "\xC0"}}), "not UTF-8"));
  EXPECT_TRUE(contains(refusal({view("x", Shape(65, 1), std::vector<float>(1))}), "has 65 dimensions"));
  EXPECT_EQ(contentOf(scratch.path("f")), "old");
  EXPECT_EQ(refusal({view("x", Shape(64, 1), std::vector<float>(1))}), "");
  EXPECT_EQ(SafetensorsFile(scratch.path("f")).tensor("x").shape.size(), 64U);
}
TEST(Safetensors, RefusesToSaveALargerHeaderThanItWouldRead) {
  const Scratch scratch;
  const std::string sentence = sentenceOf([&] {
    saveSafetensors(scratch.path("f"), {}, {{"k", std::string(100'000'000, 'x')}});
  });
  EXPECT_TRUE(contains(sentence, "at most 100 MB are possible")) << sentence;
  EXPECT_TRUE(scratch.entries().empty());
}

TEST(SafetensorsErrors, HaveTheCodeOfWhatIsWrong) {
  const Scratch scratch;
  std::vector<float> two(2);
  saveSafetensors(scratch.path("f"), std::vector{view("x", {3}, std::vector<float>(3))});
  const SafetensorsFile file(scratch.path("f"));
  const std::string whole = contentOf(scratch.path("f"));
  EXPECT_EQ(codeOf([&] { SafetensorsFile(scratch.path("missing")); }), ErrorCode::fileAccess);
  EXPECT_EQ(codeOf([&] { saveSafetensors(scratch.path("no/folder"), {}); }), ErrorCode::fileAccess);
  for (const std::string& content :
       {std::string("no tensors"), whole.substr(0, 20), whole + "x",
        fileOf(R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "1234"),
        fileOf(R"({"x":{"dtype":"F32","dtype":"F32"}})", "")})
    EXPECT_EQ(codeOf([&] { SafetensorsFile(scratch.put("g", content)); }), ErrorCode::badFile) << content;
  EXPECT_EQ(codeOf([&] { file.read("x", std::span(two)); }), ErrorCode::invalidArgument);
  EXPECT_EQ(codeOf([&] { file.tensor("y"); }), ErrorCode::invalidArgument);
  EXPECT_EQ(codeOf([&] { saveSafetensors(scratch.path("g"), std::vector{view("x", {3}, two)}); }),
            ErrorCode::invalidArgument);
}

}  // namespace safetensors_test
}  // namespace burtorch
