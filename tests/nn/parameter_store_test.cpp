// Layouts and stores: offsets from 0, flat spans, gradients that are zero without being written, tapes bound to either.
#include <burtorch/nn/parameter_store.hpp>

#include <gtest/gtest.h>

#include <array>
#include <burtorch/core/backward.hpp>
#include <burtorch/core/reduce.hpp>
#include <burtorch/nn/linear.hpp>
#include <burtorch/nn/parameter_nodes.hpp>
#include <memory>
#include <string>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace parameter_store_test {

struct TwoBlocks {
  ParameterLayout layout;
  Parameter a = layout.add("a", ParameterRole::table, 2, 3, FirstNumbers::normal(1)),
            b = layout.add("b", ParameterRole::bias, 4, 1, FirstNumbers::constant(0.25));
};

TEST(ParameterLayout, CountsFromZeroWhateverLiesWhere) {
  const TwoBlocks two;
  EXPECT_EQ(two.layout.size(), 10u);
  EXPECT_EQ(two.a.first, 0u);
  EXPECT_EQ(two.b.first, 6u);
  EXPECT_EQ(two.layout.name(two.a), "a");
  EXPECT_EQ(two.layout.blocks().size(), 2u);
  EXPECT_EQ(two.layout.blocks()[1].id, two.b.id);
  EXPECT_TRUE(two.a.decays());
  EXPECT_FALSE(two.b.decays());
}
TEST(ParameterLayout, RefusesSizesThatWrapOrAreNothing) {
  const std::size_t large[][2] = {{0, 3},
                                  {3, 0},
                                  {std::size_t{1} << 32, std::size_t{1} << 32},
                                  {std::size_t{1} << 63, 2},
                                  {std::size_t{1} << 30, 1},
                                  {(std::size_t{1} << 62) + 1, 4}};
  for (const auto& size : large) {
    TwoBlocks two;
    const std::string sentence =
        sentenceOf([&] { two.layout.add("w", ParameterRole::weight, size[0], size[1]); });
    EXPECT_EQ(sentence.find("parameter w of "), 0u) << sentence;
    EXPECT_EQ(two.layout.size(), 10u);
  }
}
TEST(Parameter, ThatWasNotGivenIsAbsent) {
  EXPECT_FALSE(Parameter{}.isPresent());
  EXPECT_TRUE((Parameter{.first = 0, .rows = 1, .columns = 1}).isPresent());
}

TEST(ParameterStore, IsTwoFlatSpansWithTheFirstNumbersOfItsLayout) {
  const TwoBlocks two;
  ParameterStore<double> store(two.layout, 3), same(two.layout, 3), other(two.layout, 4);
  EXPECT_EQ(store.values().size(), 10u);
  EXPECT_EQ(store.values(two.b).data(), store.values().data() + 6);
  EXPECT_EQ(store.gradients(two.b).data(), store.gradients().data() + 6);
  EXPECT_NE(store.values()[0], 0.0);
  EXPECT_EQ(store.values()[9], 0.25);
  for (const double g : store.gradients()) EXPECT_EQ(g, 0.0);
  EXPECT_EQ(store.values()[3], same.values()[3]);
  EXPECT_NE(store.values()[3], other.values()[3]);
}
TEST(ParameterStore, LeavesTheCallersNumbersAsTheyAre) {
  const TwoBlocks two;
  std::array<float, 10> values, gradients;
  values.fill(7);
  gradients.fill(9);
  ParameterStore<float> half(two.layout, values), all(two.layout, values, gradients);
  EXPECT_EQ(half.values().data(), values.data());
  EXPECT_NE(half.gradients().data(), gradients.data());
  EXPECT_EQ(values[9], 7);
  EXPECT_EQ(all.gradients().data(), gradients.data());
  EXPECT_EQ(gradients[9], 0);
  EXPECT_EQ(sentenceOf([&] { ParameterStore<float>(two.layout, std::span(values).first(9)); }),
            "ParameterStore: expected 10 values, got 9");
  EXPECT_NE(sentenceOf([&] { ParameterStore<float>(two.layout, values, std::span(gradients).first(9)); }),
            "");
}
TEST(ParameterStore, MovesWithoutMovingItsNumbers) {
  const TwoBlocks two;
  ParameterStore<float> first(two.layout);
  const float* values = first.values().data();
  ParameterStore<float> second(std::move(first));
  EXPECT_EQ(second.values().data(), values);
}

/// y = W x for one column, W in a store.
struct Bound {
  ParameterLayout layout;
  Linear linear{layout, "w", 3, 2, false};
  ParameterStore<double> store{layout, 5};
};

TEST(BoundTape, ReadsWeightsWhereTheyLieAndWritesGradientsThere) {
  Bound b;
  Tape<double> tape(b.store);
  CurrentTape here(tape);
  const Matrix<double> x(tape.leaves(3, 2.0), 3, 1);
  const auto y = b.linear(x);
  EXPECT_EQ(tape.size(), 3u + 2u);  // no parameter is on the tape
  backward(y(0, 0));
  const double g[] = {2, 2, 2, 0, 0, 0};
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(b.store.gradients()[i], g[i]) << i;
  backward(y(0, 0));
  EXPECT_EQ(b.store.gradients()[0], 4);
  zeroGrad(b.store);
  EXPECT_EQ(b.store.gradients()[0], 0);
}
TEST(BoundTape, TakesAnotherIterateWithoutTouchingTheLayer) {
  Bound b;
  ParameterStore<double> other(b.layout, 6);
  Tape<double> tape(b.store);
  CurrentTape here(tape);
  const auto value = [&] {
    const SampleScope sample(tape);
    return b.linear(Matrix<double>(tape.leaves(3, 1.0), 3, 1))(1, 0).dataCopy();
  };
  const double atFirst = value();
  tape.bind(other);
  EXPECT_EQ(value(), other.values()[3] + other.values()[4] + other.values()[5]);
  tape.bind(b.store);
  EXPECT_EQ(value(), atFirst);
}
TEST(BoundTape, GradientsMayBeTheCallersOwn) {
  Bound b;
  GradientBuffer<double> mine(b.layout);
  Tape<double> tape;
  tape.bind(b.store.binding(mine));
  CurrentTape here(tape);
  backward(b.linear(Matrix<double>(tape.leaves(3, 2.0), 3, 1))(1, 0));
  EXPECT_EQ(mine.all()[5], 2);
  EXPECT_EQ(b.store.gradients()[5], 0);
}
TEST(BoundTape, AParameterIsANumberToo) {
  Bound b;
  Tape<double> tape(b.store);
  CurrentTape here(tape);
  const Value<double> x(3.0);
  const auto w = nodes<double>(b.linear.weight);
  const auto root = w(1, 2) * x + sqr(w.range()[0]);
  EXPECT_EQ(root.dataCopy(), b.store.values()[5] * 3.0 + b.store.values()[0] * b.store.values()[0]);
  backward(root);
  EXPECT_EQ(b.store.gradients()[5], 3);
  EXPECT_EQ(b.store.gradients()[0], 2 * b.store.values()[0]);
  EXPECT_EQ(b.store.gradients()[1], 0);
  EXPECT_EQ(x.gradCopy(), b.store.values()[5]);
  backward(root);
  EXPECT_EQ(b.store.gradients()[5], 6);
}
TEST(BoundTape, ParametersMayBeLeaves) {
  Bound b;
  Tape<double> tape;
  CurrentTape here(tape);
  const auto leaves = bindToLeaves(tape, b.layout, std::span<const double>(b.store.values()));
  backward(b.linear(Matrix<double>(tape.leaves(3, 2.0), 3, 1))(0, 0));
  EXPECT_EQ(leaves.gradients()[1], 2);
  EXPECT_EQ(b.store.gradients()[1], 0);
}
TEST(ParameterStore, RefusesMemoryOfAnotherSizeForGradients) {
  ParameterLayout layout;
  layout.add("w", ParameterRole::weight, 3);
  std::array<double, 3> values{}, gradients{};
  for (const std::size_t count : {0u, 2u})
    EXPECT_EQ(sentenceOf([&] { ParameterStore<double>(layout, values, std::span(gradients).first(count)); }),
              "gradients of 3 parameters: expected memory for as many, got " + std::to_string(count));
}
TEST(BoundTape, SaysWhatIsMissing) {
  Bound b;
  Tape<double> tape;
  CurrentTape here(tape);
  const Matrix<double> x(tape.leaves(3, 1.0), 3, 1);
  EXPECT_EQ(sentenceOf([&] { b.linear(x); }),
            "linear: the tape is not bound to parameters; make it with Tape(store) or call tape.bind(store)");
  EXPECT_EQ(tape.size(), 3u);
  ParameterLayout small;
  small.add("w", ParameterRole::weight, 5);
  ParameterStore<double> other(small);
  tape.bind(other);
  EXPECT_EQ(sentenceOf([&] { b.linear(x); }),
            "linear: its parameters end at 6, the tape is bound to 5; is that the store of another model?");
  EXPECT_EQ(sentenceOf([&] { tape.bind(b.store); }),
            "bind: the tape has nodes of 5 parameters in 1 blocks, got 6 in 1 others; rewind it first");
  ParameterLayout split;
  for (const char* name : {"v", "w"}) split.add(name, ParameterRole::weight, name[0] == 'v' ? 2 : 3);
  ParameterStore<double> blocks(split);
  EXPECT_EQ(sentenceOf([&] { tape.bind(blocks); }),
            "bind: the tape has nodes of 5 parameters in 1 blocks, got 5 in 2 others; rewind it first");
  tape.clear();
  tape.bind(b.store);
}
ParameterLayout layoutOf(const std::vector<std::size_t>& sizes) {
  ParameterLayout layout;
  for (const std::size_t size : sizes) layout.add("w", ParameterRole::weight, size);
  return layout;
}
// Its layers know their blocks by number: another border would write the gradients of one block as those of another.
TEST(BoundTape, RefusesTheStoreOfALayoutWithOtherBorders) {
  ParameterStore<double> first(layoutOf({2, 3, 1})), shifted(layoutOf({2, 1, 3})),
      swapped(layoutOf({3, 2, 1}));
  Tape<double> tape(first);
  CurrentTape here(tape);
  const Value<double> x(3.0);
  for (ParameterStore<double>* other : {&shifted, &swapped}) {
    EXPECT_EQ(sentenceOf([&] { tape.bind(*other); }),
              "bind: the tape has nodes of 6 parameters in 3 blocks, got 6 in 3 others; rewind it first");
    EXPECT_EQ(tape.binding().values, first.values().data()) << "bound as before";
  }
  tape.clear();
  tape.bind(shifted);
  EXPECT_EQ(tape.binding().values, shifted.values().data());
}
TEST(BoundTape, TakesTheStoreOfAnEqualLayoutEvenAfterTheOldOneDied) {
  auto old = std::make_unique<ParameterStore<double>>(layoutOf({2, 3, 1}));
  ParameterStore<double> equal(layoutOf({2, 3, 1}));
  Tape<double> tape(*old);
  CurrentTape here(tape);
  const Value<double> x(3.0);
  old.reset();
  EXPECT_EQ(sentenceOf([&] { tape.bind(equal); }), "");
}
TEST(BoundTape, TakesParametersWhoseBlocksAreNotKnown) {
  ParameterStore<double> store(layoutOf({2, 3, 1}));
  std::array<double, 6> values{}, gradients{};
  Tape<double> tape(store);
  CurrentTape here(tape);
  const Value<double> x(3.0);
  EXPECT_EQ(sentenceOf([&] {
              tape.bind(Binding<double>{.values = values.data(), .gradients = gradients.data(), .size = 6});
            }),
            "");
}
// The first write of a block is noted under its number, which another layout may not have.
TEST(BoundTape, ABlockOfAnotherLayoutIsOnlyAdded) {
  ParameterLayout many, one;
  for (int i = 0; i < 700; ++i) many.add("p", ParameterRole::weight, 1);
  one.add("all", ParameterRole::weight, 700);
  ParameterStore<double> store(one);
  for (double& g : store.gradients()) g = 1;
  Tape<double> tape(store);
  CurrentTape here(tape);
  backward(nodes<double>(many.blocks()[699])(0, 0));
  EXPECT_EQ(store.gradients()[699], 2);
  EXPECT_EQ(store.gradients()[698], 1);
}
TEST(BoundTape, AStaleInputIsReported) {
  Bound b;
  Tape<double, Config{.checks = false}> tape(b.store);
  CurrentTape here(tape);
  const Matrix<double, Config{.checks = false}> x(tape.leaves(3, 1.0), 3, 1);
  tape.clear();
  EXPECT_EQ(sentenceOf([&] { b.linear(x); }),
            "linear: its operand ends at node 3, the tape has 0; was it rewound?");
}

}  // namespace parameter_store_test
}  // namespace burtorch
