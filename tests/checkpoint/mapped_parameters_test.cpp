// Parameters in a mapped file: the same numbers, changes that stay in memory, files that do not fit.
#include "burtorch/checkpoint/mapped_parameters.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "burtorch/core/backward.hpp"
#include "burtorch/model/gpt.hpp"
#include "io/scratch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace mapped_parameters_test {

TEST(MappedParameters, AreTheSavedNumbersAndLeaveTheFileAlone) {
  const Scratch scratch;
  const Gpt<float> gpt({.vocabulary = 7, .context = 5, .width = 6, .layers = 1, .heads = 2});
  ParameterStore<float> saved(gpt.layout(), 9);
  saveMapped(scratch.path("f"), saved);
  EXPECT_EQ(std::filesystem::file_size(scratch.path("f")), saved.size() * sizeof(float));
  const std::string before = contentOf(scratch.path("f"));
  MappedParameters<float> mapped(gpt.layout(), scratch.path("f"));
  const std::vector<TokenId> tokens{1, 4, 2, 0, 6};
  const auto lossOf = [&](ParameterStore<float>& parameters) {
    Tape<float> tape(parameters);
    const CurrentTape here(tape);
    const auto loss = gpt.loss(tokens, tokens);
    backward(loss);
    return loss.dataCopy();
  };
  EXPECT_EQ(lossOf(mapped.store()), lossOf(saved));
  EXPECT_TRUE(std::ranges::equal(mapped.store().gradients(), saved.gradients()));
  for (float& x : mapped.store().values()) x += 1;
  EXPECT_NE(lossOf(mapped.store()), lossOf(saved));
  EXPECT_EQ(contentOf(scratch.path("f")), before);
}
TEST(MappedParameters, RefuseAFileOfAnotherSize) {
  const Scratch scratch;
  ParameterLayout layout;
  layout.add("w", ParameterRole::weight, 2, 3);
  scratch.put("f", std::string(23, 'x'));
  EXPECT_NE(sentenceOf([&] {
              MappedParameters<float>(layout, scratch.path("f"));
            }).find("expected 24 bytes for 6 parameters, found 23"),
            std::string::npos);
  EXPECT_NE(sentenceOf([&] { MappedParameters<float>(layout, scratch.path("none")); }), "");
}

TEST(MappedParameters, ErrorsHaveTheCodeOfWhatIsWrong) {
  const Scratch scratch;
  ParameterLayout layout;
  layout.add("w", ParameterRole::weight, 2, 3);
  const auto code = [&](const std::string& path) {
    return codeOf([&] { MappedParameters<float>(layout, path); });
  };
  EXPECT_EQ(code(scratch.path("missing")), ErrorCode::fileAccess);
  EXPECT_EQ(code(scratch.put("f", std::string(23, 'x'))), ErrorCode::badFile) << "cut";
  EXPECT_EQ(codeOf([&] { saveMapped(scratch.path("no/folder"), ParameterStore<float>(layout)); }),
            ErrorCode::fileAccess);
}

}  // namespace mapped_parameters_test
}  // namespace burtorch
