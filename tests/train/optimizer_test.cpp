// Optimizer: what it remembers, where, parameters without decay, resuming, errors, and that a step allocates nothing.
#include "burtorch/train/optimizer.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "burtorch/base/rng.hpp"
#include "reference/error_sentence.hpp"
#include "torch_lines.hpp"

namespace {
// volatile: compilers assume that operator new changes nothing that the program can see.
volatile std::size_t allocations = 0;
}  // namespace
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocations = allocations + 1;
  void* memory = std::malloc(bytes > 0 ? bytes : 1);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
// noinline: g++ 12 would see free() in a caller, without the malloc() of operator new, and warn.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace burtorch {
namespace {

template <class T> struct OptimizerTest : testing::Test {};
TYPED_TEST_SUITE(OptimizerTest, Scalars, ScalarName);

const char* const names[] = {"sgd", "momentum", "nesterov", "adam", "adamw"};

AnyMethod decaying(const char* name) {
  const Setting settings[] = {{"learningRate", 0.03}, {"weightDecay", 0.4}};
  return methodFromName(name, settings);
}

template <class T> std::vector<T> randomNumbers(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<T> numbers(count);
  for (T& x : numbers) x = rng.uniform<T>() * T{4} - T{2};
  return numbers;
}
template <class T> std::vector<T> gradientsOf(std::size_t count, std::uint64_t step) {
  return randomNumbers<T>(count, 100 + step);
}
template <class T> std::vector<T> copyOf(std::span<const T> numbers) {
  return {numbers.begin(), numbers.end()};
}

TYPED_TEST(OptimizerTest, RemembersAsMuchAsTheRuleSays) {
  using T = TypeParam;
  const std::size_t want[] = {0, 7, 7, 14, 14};
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_EQ(Optimizer<T>(methodFromName(names[i]), 7).state().size(), want[i]);
}

TYPED_TEST(OptimizerTest, AStepAllocatesNothing) {
  using T = TypeParam;
  for (const char* name : names) {
    Optimizer<T> optimizer(decaying(name), 37);
    const ParameterBlock biases[] = {{30, 7}, {4, 3}};
    optimizer.exemptFromDecay(biases);
    auto values = randomNumbers<T>(37, 1);
    const auto gradients = gradientsOf<T>(37, 0);
    const std::size_t before = allocations;
    for (int step = 0; step < 10; ++step) optimizer.step(values, gradients, 0.01);
    EXPECT_EQ(allocations, before) << name;
  }
}

TYPED_TEST(OptimizerTest, BorrowedMemoryAllocatesNothingAtAll) {
  using T = TypeParam;
  std::vector<T> state(74, T{9});
  auto values = randomNumbers<T>(37, 1);
  const auto gradients = gradientsOf<T>(37, 0);
  const std::size_t before = allocations;
  Optimizer<T, Adam> optimizer(Adam{.learningRate = 0.1}, 37, state);
  optimizer.step(values, gradients);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(optimizer.state().data(), state.data());
}

TYPED_TEST(OptimizerTest, BorrowedMemoryGivesTheSameBits) {
  using T = TypeParam;
  for (const char* name : names) {
    std::vector<T> state(Optimizer<T>::stateSize(methodFromName(name), 37), T{9});
    Optimizer<T> owner(decaying(name), 37), borrower(decaying(name), 37, state);
    auto x = randomNumbers<T>(37, 1), y = x;
    for (std::uint64_t step = 0; step < 5; ++step) {
      owner.step(x, gradientsOf<T>(37, step));
      borrower.step(y, gradientsOf<T>(37, step));
    }
    EXPECT_EQ(x, y) << name;
    EXPECT_EQ(copyOf<T>(owner.state()), state) << name;
  }
}

// Packs must not show: n parameters at once, or each with an optimiser of its own.
TYPED_TEST(OptimizerTest, AParameterHasTheSameBitsWhereverItLies) {
  using T = TypeParam;
  for (const char* name : names)
    for (const std::size_t count : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 9u, 15u, 16u, 17u, 33u}) {
      Optimizer<T> together(decaying(name), count);
      auto x = randomNumbers<T>(count, 1), y = x;
      for (std::uint64_t step = 0; step < 5; ++step) together.step(x, gradientsOf<T>(count, step));
      for (std::size_t i = 0; i < count; ++i) {
        Optimizer<T> alone(decaying(name), 1);
        for (std::uint64_t step = 0; step < 5; ++step) {
          const T gradient = gradientsOf<T>(count, step)[i];
          alone.step(std::span(&y[i], 1), std::span(&gradient, 1));
        }
      }
      EXPECT_EQ(x, y) << name << ", " << count << " parameters";
    }
}

TYPED_TEST(OptimizerTest, TouchesNothingBesideItsSpans) {
  using T = TypeParam;
  for (const char* name : names) {
    std::vector<T> values(9, T{0.5}), gradients(9, T{0.25});
    std::vector<T> state(Optimizer<T>::stateSize(methodFromName(name), 7) + 2, T{9});
    Optimizer<T> optimizer(decaying(name), 7, std::span(state).subspan(1, state.size() - 2));
    optimizer.step(std::span(values).subspan(1, 7), std::span(gradients).subspan(1, 7));
    EXPECT_EQ(values.front(), T{0.5});
    EXPECT_EQ(values.back(), T{0.5});
    EXPECT_EQ(state.front(), T{9});
    EXPECT_EQ(state.back(), T{9});
    EXPECT_EQ(gradients, std::vector<T>(9, T{0.25})) << name;
    EXPECT_NE(values[1], T{0.5}) << name;
    EXPECT_NE(values[7], T{0.5}) << name;
  }
}

TYPED_TEST(OptimizerTest, NoParametersAreNoError) {
  using T = TypeParam;
  for (const char* name : names) {
    Optimizer<T> optimizer(methodFromName(name), 0);
    optimizer.step({}, {});
    EXPECT_EQ(optimizer.steps(), 1u);
  }
}

TYPED_TEST(OptimizerTest, ANanStaysWithItsParameter) {
  using T = TypeParam;
  const T nan = std::numeric_limits<T>::quiet_NaN();
  for (const char* name : names) {
    Optimizer<T> optimizer(decaying(name), 5), clean(decaying(name), 5);
    auto x = randomNumbers<T>(5, 1), y = x;
    auto gradients = gradientsOf<T>(5, 0);
    clean.step(y, gradients);
    gradients[2] = nan;
    optimizer.step(x, gradients);
    EXPECT_TRUE(x[2] != x[2]) << name;
    x[2] = y[2];
    EXPECT_EQ(x, y) << name;
  }
}

TYPED_TEST(OptimizerTest, MovesWithItsMemory) {
  using T = TypeParam;
  Optimizer<T> one(Adam{}, 5), other(Adam{}, 5);
  auto x = randomNumbers<T>(5, 1), y = x;
  one.step(x, gradientsOf<T>(5, 0));
  other.step(y, gradientsOf<T>(5, 0));
  Optimizer<T> moved(std::move(other));
  one.step(x, gradientsOf<T>(5, 1));
  moved.step(y, gradientsOf<T>(5, 1));
  EXPECT_EQ(x, y);
}

// ---- Rates ----

TYPED_TEST(OptimizerTest, TheRateOfAStepReplacesTheRules) {
  using T = TypeParam;
  for (const char* name : names) {
    const Setting slow[] = {{"learningRate", 0.03}}, fast[] = {{"learningRate", 0.7}};
    Optimizer<T> own(methodFromName(name, slow), 11), given(methodFromName(name, fast), 11);
    auto x = randomNumbers<T>(11, 1), y = x;
    for (std::uint64_t step = 0; step < 3; ++step) {
      own.step(x, gradientsOf<T>(11, step));
      given.step(y, gradientsOf<T>(11, step), 0.03);
    }
    EXPECT_EQ(x, y) << name;
  }
}

// ---- Parameters without decay ----

TYPED_TEST(OptimizerTest, AnExemptParameterMovesAsWithoutDecayAndTheOthersAsWithIt) {
  using T = TypeParam;
  for (const char* name : names) {
    const Setting settings[] = {{"learningRate", 0.03}, {"weightDecay", 0}};
    Optimizer<T> some(decaying(name), 40), all(decaying(name), 40), none(methodFromName(name, settings), 40);
    const ParameterBlock blocks[] = {{31, 9}, {3, 6}, {0, 1},
                                     {5, 2},  {8, 3}, {20, 0}};  // unsorted, overlapping, empty
    some.exemptFromDecay(blocks);
    auto x = randomNumbers<T>(40, 1), y = x, z = x;
    for (std::uint64_t step = 0; step < 5; ++step) {
      some.step(x, gradientsOf<T>(40, step));
      all.step(y, gradientsOf<T>(40, step));
      none.step(z, gradientsOf<T>(40, step));
    }
    for (std::size_t i = 0; i < 40; ++i) {
      const bool isExempt = i == 0 || (i >= 3 && i < 11) || i >= 31;
      EXPECT_EQ(x[i], isExempt ? z[i] : y[i]) << name << ", parameter " << i;
      EXPECT_NE(y[i], z[i]) << name << ", parameter " << i;
    }
  }
}

TYPED_TEST(OptimizerTest, ABlockBeyondTheParametersIsAnErrorThatChangesNothing) {
  using T = TypeParam;
  Optimizer<T> optimizer(decaying("adamw"), 10), same(decaying("adamw"), 10);
  const ParameterBlock good[] = {{2, 3}};
  optimizer.exemptFromDecay(good);
  same.exemptFromDecay(good);
  for (const ParameterBlock bad :
       {ParameterBlock{8, 3}, ParameterBlock{11, 0}, ParameterBlock{SIZE_MAX, 2}}) {
    const ParameterBlock blocks[] = {{0, 1}, bad};
    EXPECT_NE(sentenceOf([&] { optimizer.exemptFromDecay(blocks); }), "");
  }
  const ParameterBlock bad[] = {{8, 3}};
  EXPECT_EQ(sentenceOf([&] { optimizer.exemptFromDecay(bad); }),
            "a block of 3 parameters from 8 on is not among the 10 of the optimiser");
  EXPECT_EQ(codeOf([&] { optimizer.exemptFromDecay(bad); }), ErrorCode::outOfRange);
  auto x = randomNumbers<T>(10, 1), y = x;
  optimizer.step(x, gradientsOf<T>(10, 0));
  same.step(y, gradientsOf<T>(10, 0));
  EXPECT_EQ(x, y);
}

// ---- Resuming ----

TYPED_TEST(OptimizerTest, ARestoredOptimizerGoesOnWithTheSameBits) {
  using T = TypeParam;
  for (const char* name : names) {
    Optimizer<T> first(decaying(name), 21);
    auto x = randomNumbers<T>(21, 1);
    for (std::uint64_t step = 0; step < 6; ++step) first.step(x, gradientsOf<T>(21, step));
    Optimizer<T> second(decaying(name), 21);
    const std::vector<T> state = copyOf<T>(std::as_const(first).state());
    std::copy(state.begin(), state.end(), second.state().begin());
    second.setSteps(first.steps());
    auto y = x;
    for (std::uint64_t step = 6; step < 12; ++step) {
      first.step(x, gradientsOf<T>(21, step));
      second.step(y, gradientsOf<T>(21, step));
    }
    EXPECT_EQ(x, y) << name;
    EXPECT_EQ(second.steps(), 12u);
  }
}

// ---- Errors ----

TYPED_TEST(OptimizerTest, SizesThatDifferAreAnErrorThatChangesNothing) {
  using T = TypeParam;
  Optimizer<T> optimizer(Momentum{}, 4);
  std::vector<T> four(4, T{1}), five(5, T{1});
  EXPECT_EQ(sentenceOf([&] { optimizer.step(five, four); }),
            "Optimizer: expected 4 values and gradients, got 5 values and 4 gradients");
  EXPECT_EQ(sentenceOf([&] { optimizer.step(four, five); }),
            "Optimizer: expected 4 values and gradients, got 4 values and 5 gradients");
  EXPECT_EQ(optimizer.steps(), 0u);
  EXPECT_EQ(four, std::vector<T>(4, T{1}));
  EXPECT_EQ(copyOf<T>(optimizer.state()), std::vector<T>(4, T{0}));
}

TYPED_TEST(OptimizerTest, AMemoryOfAnotherSizeIsAnError) {
  using T = TypeParam;
  std::vector<T> state(7, T{9});
  EXPECT_EQ(sentenceOf([&] { Optimizer<T>(Adam{}, 4, state); }),
            "Optimizer: expected a state of 8 numbers for 4 parameters, got 7");
  EXPECT_EQ(state, std::vector<T>(7, T{9}));
}

TYPED_TEST(OptimizerTest, AWrongRateIsAnErrorThatChangesNothing) {
  using T = TypeParam;
  constexpr double inf = std::numeric_limits<double>::infinity();
  Optimizer<T> optimizer(Adam{}, 3);
  std::vector<T> values(3, T{1}), gradients(3, T{1});
  for (const double rate : {-1e-3, inf, -inf, std::numeric_limits<double>::quiet_NaN()})
    EXPECT_NE(sentenceOf([&] { optimizer.step(values, gradients, rate); }), "") << rate;
  EXPECT_EQ(sentenceOf([&] { optimizer.step(values, gradients, -0.5); }),
            "a step with learning rate -0.5: expected a finite number, 0 or more");
  EXPECT_EQ(codeOf([&] { optimizer.step(values, gradients, -0.5); }), ErrorCode::invalidArgument);
  EXPECT_EQ(codeOf([&] { optimizer.step(values, gradients, std::numeric_limits<double>::infinity()); }),
            ErrorCode::notFinite);
  EXPECT_EQ(optimizer.steps(), 0u);
  EXPECT_EQ(values, std::vector<T>(3, T{1}));
}

TYPED_TEST(OptimizerTest, AWrongOptionIsAnErrorOfTheConstructor) {
  using T = TypeParam;
  EXPECT_EQ(sentenceOf([] { Optimizer<T>(Adam{.beta2 = 1}, 3); }),
            "beta2 of adam is 1: expected a number from 0 to below 1");
  EXPECT_EQ(sentenceOf([] { Optimizer<T, Sgd>(Sgd{.learningRate = -1}, 3); }),
            "learningRate of sgd is -1: expected a number from 0 to below inf");
}

// A rule of the user's own: the sign of the gradient decides.
struct SignDescent {
  static constexpr std::string_view name = "sign";
  static constexpr std::size_t stateCount = 0;
  static constexpr bool decouplesDecay = true;
  double learningRate = 0.5, weightDecay = 0;
  static constexpr auto fields = std::tuple(optionField("learningRate", &SignDescent::learningRate),
                                            optionField("weightDecay", &SignDescent::weightDecay));
  template <class T> auto update(double rate, std::uint64_t) const {
    return [rate = static_cast<T>(rate)](auto& x, const auto& g) {
      using X = std::remove_reference_t<decltype(x)>;
      x = x - rate * (select(g > X(0), X(1), X(0)) - select(g < X(0), X(1), X(0)));
    };
  }
};
TYPED_TEST(OptimizerTest, TakesARuleOfTheUsersOwn) {
  using T = TypeParam;
  Optimizer<T, SignDescent> optimizer(SignDescent{}, 3);
  std::vector<T> values(3, T{1});
  optimizer.step(values, std::vector<T>{T{7}, T{0}, T{-0.1f}});
  EXPECT_EQ(values, (std::vector<T>{T{0.5}, T{1}, T{1.5}}));
}

}  // namespace
}  // namespace burtorch
