// Parameters of models in files: what is saved is loaded again, and a file that does not fit changes nothing.
#include "burtorch/checkpoint/parameters_file.hpp"

#include <gtest/gtest.h>

#include "burtorch/base/rng.hpp"
#include "burtorch/model/gpt.hpp"
#include "io/safetensors_cases.hpp"
#include "io/scratch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace parameters_file_test {

/// A matrix of 2 x 3 and a vector of 2.
template <class T> struct Small {
  ParameterLayout layout;
  Parameter weight = layout.add("w", ParameterRole::weight, 2, 3),
            bias = layout.add("b", ParameterRole::bias, 2);
  ParameterStore<T> parameters{layout};

  explicit Small(T first) {
    for (T& x : parameters.values()) x = first++;
  }
  std::vector<T> values() const { return {parameters.values().begin(), parameters.values().end()}; }
};
std::string tensorText(const std::string& name, const std::string& shape, int begin, int end) {
  return "\"" + name + R"(":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[)" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}
/// Loads a file with this header and data into a small model, which must stay as it was.
std::string refusalOf(const std::string& header, std::size_t dataBytes) {
  const Scratch scratch;
  const SafetensorsFile file(scratch.put("f", fileOf("{" + header + "}", std::string(dataBytes, 'x'))));
  Small<float> model(1);
  const std::vector<float> before = model.values();
  std::string sentence = sentenceOf([&] { loadParameters(file, model.parameters); });
  if (!sentence.empty()) {
    EXPECT_EQ(model.values(), before);
  }
  return sentence;
}

template <class T> class ParametersFile : public testing::Test {};
using Numbers = testing::Types<float, double>;
TYPED_TEST_SUITE(ParametersFile, Numbers);

TYPED_TEST(ParametersFile, WhatIsSavedIsLoadedAgain) {
  const Scratch scratch;
  Small<TypeParam> saved(TypeParam(0.1)), loaded(100);
  saveParameters(scratch.path("f"), saved.parameters, {{"epoch", "3"}});
  const SafetensorsFile file(scratch.path("f"));
  EXPECT_EQ(file.tensor("w").shape, (std::vector<std::uint64_t>{2, 3}));
  EXPECT_EQ(file.tensor("b").shape, std::vector<std::uint64_t>{2});
  EXPECT_EQ(file.metadata().at("epoch"), "3");
  loadParameters(file, loaded.parameters);
  EXPECT_EQ(loaded.values(), saved.values());
}
TYPED_TEST(ParametersFile, AModelComesBackBitForBit) {
  const Scratch scratch;
  const Gpt<TypeParam> gpt(GptConfig{});
  ParameterStore<TypeParam> saved(gpt.layout(), 11), loaded(gpt.layout(), 12);
  saveParameters(scratch.path("f"), saved, {}, {.durable = false});
  loadParameters(SafetensorsFile(scratch.path("f")), loaded);
  const auto wanted = std::as_bytes(saved.values());
  const auto found = std::as_bytes(loaded.values());
  EXPECT_EQ(wanted.size(), 46'289 * sizeof(TypeParam));
  EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), found.begin(), found.end()));
}

TEST(ParametersFiles, TypesAreConverted) {
  const Scratch scratch;
  Small<double> saved(0.1), wide(100);
  Small<float> narrow(100);
  saveParameters(scratch.path("f64"), saved.parameters);
  loadParameters(SafetensorsFile(scratch.path("f64")), narrow.parameters);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(narrow.values()[i], static_cast<float>(saved.values()[i]));
  saveParameters(scratch.path("f32"), narrow.parameters);
  loadParameters(SafetensorsFile(scratch.path("f32")), wide.parameters);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(wide.values()[i], double{narrow.values()[i]});
}
TEST(ParametersFiles, ANumberTooLargeInTheLastBlockChangesNothing) {
  const Scratch scratch;
  Small<double> saved(1);
  saved.parameters.values(saved.bias)[1] = 1e200;
  saveParameters(scratch.path("f"), saved.parameters);
  Small<float> model(7);
  const std::vector<float> before = model.values();
  const SafetensorsFile file(scratch.path("f"));
  EXPECT_TRUE(contains(sentenceOf([&] { loadParameters(file, model.parameters); }), "too large for float"));
  EXPECT_EQ(model.values(), before);
}

TEST(ParametersFiles, AFileThatFits) {
  EXPECT_EQ(refusalOf(tensorText("b", "[2]", 0, 8) + "," + tensorText("w", "[2,3]", 8, 32), 32), "");
  EXPECT_EQ(refusalOf(tensorText("w", "[2,3]", 0, 24) + "," + tensorText("b", "[2,1]", 24, 32), 32), "");
}
TEST(ParametersFiles, FilesThatDoNotFitChangeNothing) {
  const std::string w = tensorText("w", "[2,3]", 0, 24), b = tensorText("b", "[2]", 24, 32);
  EXPECT_TRUE(contains(refusalOf(w, 24), "lacks the parameter 'b' of shape [2]"));
  EXPECT_TRUE(contains(refusalOf("", 0), "lacks the parameter 'w' of shape [2,3]"));
  EXPECT_TRUE(
      contains(refusalOf(w + "," + b + "," + tensorText("c", "[0]", 32, 32), 32), "has the tensor 'c'"));
  EXPECT_TRUE(
      contains(refusalOf(w + "," + b + "," + tensorText("", "[0]", 32, 32), 32), "has the tensor ''"));
  for (const char* shape : {"[3,2]", "[6]", "[2,3,1]", "[1,6]"})
    EXPECT_TRUE(contains(refusalOf(tensorText("w", shape, 0, 24) + "," + b, 32),
                         std::string("'w' of shape ") + shape + ", expected [2,3]"))
        << shape;
  for (const char* shape : {"[1,2]", "[2,1,1]"})
    EXPECT_TRUE(contains(refusalOf(w + "," + tensorText("b", shape, 24, 32), 32), "expected [2]")) << shape;
  EXPECT_TRUE(
      contains(refusalOf(w + "," + tensorText("b", "[]", 24, 28), 28), "'b' of shape [], expected [2]"));
  std::string whole = b;
  whole.replace(whole.find("F32"), 3, "I32");
  EXPECT_TRUE(contains(refusalOf(w + "," + whole, 32), "is of type I32"));
}
TEST(ParametersFiles, BlocksOfOneNameAreNotSaved) {
  const Scratch scratch;
  ParameterLayout layout;
  layout.add("same", ParameterRole::weight, 2);
  layout.add("same", ParameterRole::weight, 3);
  const ParameterStore<float> parameters(layout);
  EXPECT_TRUE(
      contains(sentenceOf([&] { saveParameters(scratch.path("f"), parameters); }), "the name 'same'"));
  EXPECT_TRUE(scratch.entries().empty());
}
TEST(ParametersFiles, EveryPrefixAndFlippedBitLoadsOrChangesNothing) {
  const Scratch scratch;
  Small<float> saved(0.5F);
  saveParameters(scratch.path("f"), saved.parameters);
  const std::string whole = contentOf(scratch.path("f"));
  const std::vector<float> before = Small<float>(100).values();
  for (std::size_t i = 0; i < whole.size() * 9; ++i) {
    std::string changed = whole;
    if (i < whole.size())
      changed.resize(i);
    else
      changed[(i - whole.size()) / 8] = static_cast<char>(changed[(i - whole.size()) / 8] ^ (1 << (i % 8)));
    scratch.put("f", changed);
    Small<float> model(100);
    const std::string sentence =
        sentenceOf([&] { loadParameters(SafetensorsFile(scratch.path("f")), model.parameters); });
    ASSERT_EQ(model.values() == before, !sentence.empty()) << i << ": " << sentence;
    ASSERT_TRUE(i >= whole.size() || !sentence.empty()) << "prefix of " << i;
  }
}
TEST(ParametersFiles, ErrorsHaveTheCodeOfWhatIsWrong) {
  const Scratch scratch;
  Small<float> model(1);
  const auto code = [&](const std::string& path) {
    return codeOf([&] { loadParameters(SafetensorsFile(path), model.parameters); });
  };
  const auto file = [&](const std::string& header, std::size_t bytes) {
    return scratch.put("f", fileOf("{" + header + "}", std::string(bytes, 'x')));
  };
  const std::string bias = "," + tensorText("b", "[2]", 24, 32);
  EXPECT_EQ(code(scratch.path("missing")), ErrorCode::fileAccess);
  EXPECT_EQ(codeOf([&] { saveParameters(scratch.path("no/folder"), model.parameters); }),
            ErrorCode::fileAccess);
  EXPECT_EQ(code(scratch.put("f", "no tensors")), ErrorCode::badFile);
  EXPECT_EQ(code(file(tensorText("w", "[2,3]", 0, 24) + bias, 31)), ErrorCode::badFile);
  EXPECT_EQ(code(file(tensorText("w", "[3,2]", 0, 24) + bias, 32)), ErrorCode::invalidArgument);
  EXPECT_EQ(code(file(tensorText("v", "[2,3]", 0, 24) + bias, 32)), ErrorCode::invalidArgument);
}

}  // namespace parameters_file_test
}  // namespace burtorch
