// The room that layers take is known exactly, and a tape without it says so before anything has changed.
#include <gtest/gtest.h>

#include <burtorch/core/backward.hpp>
#include <burtorch/nn/parameter_store.hpp>
#include <string>

#include "reference/error_sentence.hpp"
#include "reference/layer_network.hpp"

namespace burtorch {
namespace room_test {

template <class T> struct Experiment {
  LayerNetwork network;
  std::vector<T> x = network.point<T>();
  TapeCapacity room = capacityOf<T>([&] { gradient(currentTape<T>()); });

  /// The loss, with its gradient at the leaves of the tape.
  T gradient(Tape<T>& tape) {
    const CurrentTape here(tape);
    tape.leaves(std::span<const T>(x));
    const auto root = network.loss<T>();
    backward(root);
    return root.dataCopy();
  }
};

template <class T> class RoomTest : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(RoomTest, Scalars);

// A vector that reaches beyond the last number would write outside the arrays: for builds with sanitizers.
TYPED_TEST(RoomTest, WhatWasUsedOnceIsEnough) {
  Experiment<TypeParam> experiment;
  Tape<TypeParam> growing, exact(experiment.room);
  EXPECT_EQ(experiment.gradient(exact), experiment.gradient(growing));
  EXPECT_EQ(firstNonFinite(exact), exact.size());
  for (std::size_t i = 0; i < experiment.x.size(); ++i)
    EXPECT_EQ(exact.gradients()[i], growing.gradients()[i]) << i;
}

// firstNonFinite, and the sweep where zeros arrive, look at every number, also at those behind a layer's results.
TYPED_TEST(RoomTest, EveryNumberIsWritten) {
  Experiment<TypeParam> experiment;
  std::vector<std::byte> memory(Tape<TypeParam>::requiredBytes(experiment.room), std::byte{0xff});
  Tape<TypeParam> tape(memory, experiment.room);
  experiment.gradient(tape);
  EXPECT_EQ(firstNonFinite(tape), tape.size());
}

/// A linear layer of 2 inputs, 3 outputs and no bias, over 8 columns, behind its input and one more leaf.
TapeCapacity usedByALinearLayer(TapeCapacity room) {
  ParameterLayout layout;
  const Linear linear(layout, "w", 2, 3, false);
  ParameterStore<double> parameters(layout);
  Tape<double> tape(room);
  tape.bind(parameters);
  CurrentTape here(tape);
  const Matrix<double> x(tape.leaves(16, 0.5), 2, 8);
  const Value<double> one = 1.0;
  const TapeCapacity before = tape.used();
  const std::string sentence = sentenceOf([&] { linear(x); });
  if (sentence.empty()) return tape.used();
  EXPECT_EQ(sentence.find("the tape is full: "), 0u) << sentence;
  EXPECT_EQ(tape.used().scalars, before.scalars);
  EXPECT_EQ(tape.used().instructions, before.instructions);
  EXPECT_EQ(tape.used().words, before.words);
  EXPECT_EQ(one.dataCopy(), 1.0);
  return {};
}

TEST(TapeCapacity, AFullTapeSaysSoAndStaysAsItWas) {
  const TapeCapacity exact{.scalars = 16 + 1 + 24, .instructions = 3, .words = 1 + 2 * 2 + 6};
  EXPECT_EQ(usedByALinearLayer(exact).scalars, exact.scalars);
  EXPECT_EQ(usedByALinearLayer({exact.scalars - 1, exact.instructions, exact.words}).scalars, 0u);
  EXPECT_EQ(usedByALinearLayer({exact.scalars, exact.instructions - 1, exact.words}).scalars, 0u);
  EXPECT_EQ(usedByALinearLayer({exact.scalars, exact.instructions, exact.words - 1}).scalars, 0u);
}

TEST(TapeCapacity, AFullTapeNamesWhatIsNeeded) {
  ParameterLayout layout;
  const Linear linear(layout, "w", 2, 3, false);
  ParameterStore<double> parameters(layout);
  Tape<double> tape(TapeCapacity{.scalars = 40, .instructions = 2, .words = 11});
  tape.bind(parameters);
  CurrentTape here(tape);
  const Matrix<double> x(tape.leaves(16, 0.5), 2, 8);
  linear(x);
  EXPECT_EQ(
      sentenceOf([&] { linear(x); }),
      "the tape is full: 64 scalars, 3 instructions and 22 words are needed, it has room for 40, 2 and 11");
}

TEST(TapeCapacity, ALayerIsOneInstructionAndAFewWords) {
  ParameterLayout layout;
  const Linear linear(layout, "w", 24, 96);
  ParameterStore<double> parameters(layout);
  Tape<double> tape(parameters);
  CurrentTape here(tape);
  const Matrix<double> x(tape.leaves(24 * 64), 24, 64);
  const TapeCapacity before = tape.used();
  linear(x);
  EXPECT_EQ(tape.used().scalars - before.scalars, 96u * 64u);
  EXPECT_EQ(tape.used().instructions - before.instructions, 1u);
  EXPECT_LE(tape.used().words - before.words, 16u);
}

}  // namespace room_test
}  // namespace burtorch
