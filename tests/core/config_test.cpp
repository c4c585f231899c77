// Configurations for small machines: one current tape for the whole program, and tapes that know some operators only.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "burtorch/core/backward.hpp"
#include "burtorch/core/reduce.hpp"

namespace burtorch {
namespace config_test {

constexpr Config shared{.threads = false};
constexpr Config chosen{
    .ops = onlyOps<ops::Add, ops::Mul, ops::Tanh, ops::MulByConst, ops::Log, ops::AddVarying>};

TEST(WithoutThreads, TheProgramHasOneCurrentTape) {
  Tape<double, shared> tape;
  CurrentTape here(tape);
  Tape<double>* ofTheOther = nullptr;
  Tape<double> own;
  CurrentTape alsoHere(own);
  std::thread([&] {
    Value<double, shared> x(3.0);
    backward(x * x);
    ofTheOther = &currentTape<double>();
  }).join();
  EXPECT_EQ(tape.size(), 2u);
  EXPECT_EQ(tape.gradients()[0], 6.0);
  EXPECT_NE(ofTheOther, &own) << "with threads each has its own";
}

TEST(WithoutThreads, TheProgramsOwnTapeIsMadeWhenSomethingIsRecorded) {
  Value<float, shared> x(2.0f);
  backward(x * x * 3.0f);
  EXPECT_EQ(x.grad(), 12.0f);
  const auto* tape = &currentTape<float, shared>();
  std::thread([&] { EXPECT_EQ(tape, (&currentTape<float, shared>())); }).join();
}

TEST(WithoutThreads, TapesInnerToEachOtherComeBack) {
  Tape<double, shared> outer, inner;
  CurrentTape first(outer);
  {
    CurrentTape second(inner);
    Value<double, shared> x(1.0);
  }
  Value<double, shared> x(1.0), y(2.0);
  EXPECT_EQ(inner.size(), 1u);
  EXPECT_EQ(outer.size(), 2u);
}

/// The same graph on a tape of a configuration: values and gradients.
template <Config C> std::vector<double> run(double pole) {
  Tape<double, C> tape;
  CurrentTape here(tape);
  using V = Value<double, C>;
  const std::vector<V> x{V(0.3), V(-1.7), V(pole)};
  const V dead = log(x[2]);
  const V root = tanh(x[0] * x[1] + x[0] * 0.7) * x[1] + reduceSum(x) + dead * 0.0;
  backward(root);
  std::vector<double> numbers{root.value()};
  for (const V& leaf : x) numbers.push_back(leaf.grad());
  backward(tanh(x[0]));  // the sweep before it is cleared
  for (const V& leaf : x) numbers.push_back(leaf.grad());
  return numbers;
}
std::vector<std::string> text(const std::vector<double>& numbers) {
  std::vector<std::string> texts;
  for (const double number : numbers) texts.push_back(std::isnan(number) ? "nan" : std::to_string(number));
  return texts;
}

TEST(ChosenOperators, HaveTheGradientsOfAllOfThem) { EXPECT_EQ(run<chosen>(2.0), run<Config{}>(2.0)); }

// Through the careful walk, which has a table of its own.
TEST(ChosenOperators, HaveThemAtPolesToo) {
  const auto numbers = run<Config{}>(0.0);
  EXPECT_TRUE(std::isnan(numbers[3]));
  EXPECT_EQ(text(run<chosen>(0.0)), text(numbers));
}

TEST(ChosenOperators, AreThoseThatAreNamedAndLeaves) {
  std::size_t count = 0;
  for (std::size_t op = 0; op < OpList::size; ++op) count += chosen.ops.has(op) ? 1 : 0;
  EXPECT_EQ(count, 7u);
  EXPECT_TRUE(chosen.ops.has(OpList::indexOf<ops::Leaf>()));
  EXPECT_TRUE(chosen.ops.has(OpList::indexOf<ops::AddVarying>()));
  EXPECT_FALSE(chosen.ops.has(OpList::indexOf<ops::Sub>()));
  EXPECT_TRUE(Config{}.ops.has(OpList::size - 1));
}

struct Halve : UnaryOp {
  static constexpr std::string_view name = "halve";
  template <class T> static T value(T x) { return x * T{0.5}; }
  template <class T> static T vjp(T g, Unread, Unread) { return g * T{0.5}; }
};

TEST(ChosenOperators, LeaveTheUsersOwnAlone) {
  Tape<double, chosen> tape;
  CurrentTape here(tape);
  Value<double, chosen> x(3.0);
  backward(apply<Halve>(x * x));
  EXPECT_EQ(x.grad(), 3.0);
}

}  // namespace config_test
}  // namespace burtorch
