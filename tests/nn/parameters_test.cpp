// The parameters of a model: named blocks, one flat span.
#include <burtorch/nn/parameters.hpp>

#include <gtest/gtest.h>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace {

TEST(Parameters, AreOneFlatSpan) {
  Tape<double> tape;
  tape.leaves(3);
  Parameters<double> parameters(tape);
  const Parameter a = parameters.add("a", ParameterRole::table, 2, 3),
                  b = parameters.add("b", ParameterRole::bias, 4);
  EXPECT_EQ(parameters.size(), 10u);
  EXPECT_EQ(parameters.values().size(), 10u);
  EXPECT_EQ(parameters.values(b).data(), parameters.values().data() + 6);
  EXPECT_EQ(parameters.gradients(b).data(), parameters.gradients().data() + 6);
  EXPECT_EQ(parameters.name(a), "a");
  EXPECT_EQ(parameters.blocks().size(), 2u);
  EXPECT_EQ(parameters.blocks()[1].id, b.id);
  EXPECT_EQ(a.role, ParameterRole::table);
  EXPECT_EQ(b.role, ParameterRole::bias);
  EXPECT_EQ(&parameters.tape(), &tape);
}

TEST(Parameters, StayWhereTheyAreWhenTheTapeGrows) {
  Tape<double> tape;
  Parameters<double> parameters(tape);
  const Parameter a = parameters.add("a", ParameterRole::weight, 2, 3);
  parameters.values(a)[5] = 0.7;
  tape.leaves(10'000);
  EXPECT_EQ(parameters.values(a)[5], 0.7);
}

TEST(Parameters, RefuseABlockAfterOtherNodes) {
  Tape<double> tape;
  Parameters<double> parameters(tape);
  parameters.add("a", ParameterRole::weight, 2, 3);
  tape.leaves(1);
  EXPECT_EQ(sentenceOf([&] { parameters.add("late", ParameterRole::gain, 2); }),
            "parameter late is added after other nodes");
  EXPECT_EQ(parameters.size(), 6u);
  EXPECT_EQ(tape.size(), 7u);
}

TEST(Parameters, AlignedColumnsStartAtACacheLine) {
  for (std::size_t size = 1; size < 20; ++size) {
    Tape<float> tape;
    Parameters<float> parameters(tape);
    parameters.add("a", ParameterRole::weight, size);
    parameters.align();
    EXPECT_EQ(tape.size() % 16, 0u) << size;
    EXPECT_LT(tape.size(), size + 16) << size;
    EXPECT_EQ(parameters.size(), size);
  }
}

TEST(Parameter, ThatWasNotGivenIsAbsent) {
  EXPECT_FALSE(Parameter{}.isPresent());
  EXPECT_TRUE((Parameter{.first = 0, .rows = 1, .columns = 1}).isPresent());
}

}  // namespace
}  // namespace burtorch
