// Operators of lists, case by case: zeros in a product, constant and large lists in a variance, large, infinite and
// masked logits, lists in braces, and what is an error. The general comparison is in list_ops_test.cpp.
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace list_cases_test {

using burtorch::CurrentTape;
using burtorch::Dual;
using burtorch::Range;
using burtorch::Tape;
using burtorch::Value;

constexpr unsigned seed = 19970527;

template <class T> class ListCases : public testing::Test {
 private:
  testing::ScopedTrace seed_{__FILE__, __LINE__, "seed " + std::to_string(seed)};
};
using Scalars = testing::Types<double, float>;
struct ScalarName {
  template <class T> static std::string GetName(int) { return sizeof(T) == 8 ? "fp64" : "fp32"; }
};
TYPED_TEST_SUITE(ListCases, Scalars, ScalarName);

template <class T> std::vector<T> randomNumbers(std::size_t n) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<T> uniform(T{-2}, T{2});
  std::vector<T> numbers(n);
  for (T& x : numbers) x = uniform(random);
  return numbers;
}

/// Gradients of `f` of a list of leaves.
template <class T, class F> std::vector<T> gradientOf(const std::vector<T>& xs, F f, T* value = nullptr) {
  Tape<T> tape;
  CurrentTape here(tape);
  const auto leaves = tape.leaves(std::span<const T>(xs));
  const Value<T> root = f(leaves);
  burtorch::backward(root);
  if (value != nullptr) *value = root.dataCopy();
  const auto gradients = leaves.gradients();
  return {gradients.begin(), gradients.end()};
}
const auto product = [](const auto& xs) { return burtorch::reduceMul(xs); };
const auto biased = [](const auto& xs) { return burtorch::varianceBiased(xs); };
const auto unbiased = [](const auto& xs) { return burtorch::variance(xs); };

TYPED_TEST(ListCases, ReduceMulWithOneZeroHasOneGradient) {
  using T = TypeParam;
  T value = -1;
  EXPECT_EQ(gradientOf<T>({2, 0, 3}, product, &value), (std::vector<T>{0, 6, 0}));
  EXPECT_EQ(value, T{0});
}
TYPED_TEST(ListCases, ReduceMulWithTwoZerosHasNoGradient) {
  using T = TypeParam;
  EXPECT_EQ(gradientOf<T>({0, 0, 3}, product), (std::vector<T>{0, 0, 0}));
}
TYPED_TEST(ListCases, ReduceMulWithTheZeroAtEitherEnd) {
  using T = TypeParam;
  EXPECT_EQ(gradientOf<T>({0, 2, 3}, product), (std::vector<T>{6, 0, 0}));
  EXPECT_EQ(gradientOf<T>({2, 3, 0}, product), (std::vector<T>{0, 0, 6}));
}
TYPED_TEST(ListCases, ReduceMulOfOneZeroHasGradientOne) {
  using T = TypeParam;
  EXPECT_EQ(gradientOf<T>({0}, product), (std::vector<T>{1}));
}
TYPED_TEST(ListCases, ReduceMulOfTheSameZeroTwiceHasNoGradient) {
  using T = TypeParam;
  EXPECT_EQ(gradientOf<T>({0},
                          [](const auto& xs) {
                            return burtorch::reduceMul({xs[0], xs[0]});
                          }),
            (std::vector<T>{0}));
}
TYPED_TEST(ListCases, ReduceSubOfOneNumberIsTheNumber) {
  using T = TypeParam;
  T value = 0;
  EXPECT_EQ(gradientOf<T>(
                {T{0.7f}}, [](const auto& xs) { return burtorch::reduceSub(xs); }, &value),
            (std::vector<T>{1}));
  EXPECT_EQ(value, T{0.7f});
}

TYPED_TEST(ListCases, GradientsOfAnInnerProductAreTheOtherSideExactly) {
  using T = TypeParam;
  Tape<T> tape;
  CurrentTape here(tape);
  const auto numbers = randomNumbers<T>(100);
  const auto leaves = tape.leaves(std::span<const T>(numbers));
  const Value<T> bias(T{0.7f});
  const T g = T{1.9f};
  backward(innerProductWithBias(leaves.subrange(0, 50), leaves.subrange(50, 50), bias), g);
  for (std::size_t i = 0; i < 50; ++i) {
    EXPECT_EQ(leaves.gradients()[i], g * numbers[50 + i]);
    EXPECT_EQ(leaves.gradients()[50 + i], g * numbers[i]);
  }
  EXPECT_EQ(bias.gradCopy(), g);
}
TYPED_TEST(ListCases, InnerProductOfAListWithItselfHasTwiceItsGradient) {
  using T = TypeParam;
  const auto xs = randomNumbers<T>(33);
  const auto gradients =
      gradientOf<T>(xs, [](const auto& list) { return burtorch::innerProduct(list, list); });
  for (std::size_t i = 0; i < xs.size(); ++i) EXPECT_EQ(gradients[i], T{2} * xs[i]);
}
TYPED_TEST(ListCases, TheBiasMayBeAnElementToo) {
  using T = TypeParam;
  const auto gradients = gradientOf<T>(
      {T{0.7f}, T{1.9f}}, [](const auto& xs) { return burtorch::innerProductWithBias(xs, xs, xs[1]); });
  EXPECT_EQ(gradients, (std::vector<T>{T{2} * T{0.7f}, T{1} + T{1.9f} + T{1.9f}}));
}

TYPED_TEST(ListCases, VarianceOfAConstantListIsExactlyZeroWithGradientZero) {
  using T = TypeParam;
  for (const std::size_t n : {2u, 3u, 7u, 16u, 33u, 100u, 1000u}) {
    T value = -1;
    const std::vector<T> constant(n, T{0.1f}), zeros(n, T{0});
    EXPECT_EQ(gradientOf(constant, biased, &value), zeros) << n;
    EXPECT_EQ(value, T{0}) << n;
    EXPECT_EQ(gradientOf(constant, unbiased, &value), zeros) << n;
    EXPECT_EQ(value, T{0}) << n;
  }
}
TYPED_TEST(ListCases, BiasedVarianceOfOneNumberIsZero) {
  using T = TypeParam;
  T value = -1;
  EXPECT_EQ(gradientOf<T>({T{0.7f}}, biased, &value), (std::vector<T>{0}));
  EXPECT_EQ(value, T{0});
}
TYPED_TEST(ListCases, UnbiasedVarianceOfOneNumberIsNan) {
  using T = TypeParam;
  T value = -1;
  EXPECT_TRUE(std::isnan(gradientOf<T>({T{0.7f}}, unbiased, &value)[0]));
  EXPECT_TRUE(std::isnan(value));
}
// E[x^2] - E[x]^2 gives 480 here in fp32.
TYPED_TEST(ListCases, VarianceOfLargeNumbersDoesNotCancel) {
  using T = TypeParam;
  std::vector<T> xs;
  for (int i = 0; i < 50; ++i) xs.insert(xs.end(), {T{9999.5}, T{10000.5}});
  T value = -1;
  const auto gradients = gradientOf(xs, biased, &value);
  EXPECT_EQ(value, T{0.25});
  for (std::size_t i = 0; i < xs.size(); ++i)
    EXPECT_EQ(gradients[i], T{2} / T{100} * (i % 2 == 0 ? T{-0.5} : T{0.5})) << i;
}
TYPED_TEST(ListCases, MeanAndMeanSquaresAreTwoNodes) {
  using T = TypeParam;
  Tape<T> tape;
  CurrentTape here(tape);
  const auto xs = tape.leaves(std::span<const T>(std::array<T, 4>{1, 2, 3, 6}));
  const auto [mean, meanSquares] = reduceMeanAndMeanSquares(xs);
  EXPECT_EQ(mean.dataCopy(), T{3});
  EXPECT_EQ(meanSquares.dataCopy(), T{12.5});
  EXPECT_EQ(tape.used().instructions, 3u);
}

TYPED_TEST(ListCases, CrossEntropyOfLargeLogits) {
  using T = TypeParam;
  T value = 0;
  const auto gradients = gradientOf<T>(
      {1000, 0, -1000}, [](const auto& xs) { return burtorch::crossEntropy(xs, 2); }, &value);
  EXPECT_EQ(value, T{2000});
  EXPECT_EQ(gradients, (std::vector<T>{1, 0, -1}));
}
TYPED_TEST(ListCases, CrossEntropyIgnoresAMaskedLogit) {
  using T = TypeParam;
  T value = 0, unmasked = 0;
  const auto loss = [](const auto& xs) { return burtorch::crossEntropy(xs, 0); };
  const auto gradients = gradientOf<T>({T{0.7f}, T{1.9f}, -std::numeric_limits<T>::infinity()}, loss, &value);
  const auto others = gradientOf<T>({T{0.7f}, T{1.9f}}, loss, &unmasked);
  EXPECT_EQ(value, unmasked);
  EXPECT_EQ(gradients, (std::vector<T>{others[0], others[1], 0}));
}
TYPED_TEST(ListCases, LogSumExpNeitherOverflowsNorVanishes) {
  using T = TypeParam;
  const T log2 = std::log(T{2});
  EXPECT_EQ(burtorch::logSumExp(std::array<T, 2>{1000, 1000}), T{1000} + log2);
  EXPECT_EQ(burtorch::logSumExp(std::array<T, 2>{-1000, -1000}), T{-1000} + log2);
}
TYPED_TEST(ListCases, LogSumExpOfInfinities) {
  using T = TypeParam;
  const T inf = std::numeric_limits<T>::infinity();
  EXPECT_EQ(burtorch::logSumExp(std::array<T, 2>{inf, 1}), inf);
  EXPECT_EQ(burtorch::logSumExp(std::array<T, 2>{-inf, -inf}), -inf);
  EXPECT_EQ(burtorch::logSumExp(std::array<T, 2>{-inf, 1}), T{1});
  EXPECT_TRUE(std::isnan(burtorch::logSumExp(std::array<T, 2>{1, inf - inf})));
  EXPECT_TRUE(std::isnan(burtorch::logSumExp(std::array<T, 2>{inf - inf, 1})));
}

TYPED_TEST(ListCases, SoftmaxOfEqualLogitsIsUniformWhateverTheirSize) {
  using T = TypeParam;
  for (const T logit : {T{0}, T{1000}, T{-1000}}) {
    std::array<T, 4> out{};
    burtorch::softmax(std::array<T, 4>{logit, logit, logit, logit}, std::span<T>(out));
    EXPECT_EQ(out, (std::array<T, 4>{0.25, 0.25, 0.25, 0.25})) << logit;
  }
}
TYPED_TEST(ListCases, SoftmaxSumsToOne) {
  using T = TypeParam;
  const auto logits = randomNumbers<T>(1000);
  std::vector<T> out(1000);
  burtorch::softmax(logits, std::span<T>(out));
  long double sum = 0;
  for (const T p : out) sum += p;
  EXPECT_NEAR(static_cast<double>(sum), 1, 70 * std::numeric_limits<T>::epsilon());
}
TYPED_TEST(ListCases, SoftmaxGivesAMaskedLogitNothing) {
  using T = TypeParam;
  const auto gradients = gradientOf<T>({0, -std::numeric_limits<T>::infinity(), 0}, [](const auto& xs) {
    const auto ps = softmax(xs);
    EXPECT_EQ(ps[0].dataCopy(), T{0.5});
    EXPECT_EQ(ps[1].dataCopy(), T{0});
    return ps[0];
  });
  EXPECT_EQ(gradients, (std::vector<T>{T{0.25}, 0, T{-0.25}}));
}
TYPED_TEST(ListCases, AGradientThroughSoftmaxOfASumIsZero) {
  using T = TypeParam;
  const auto gradients =
      gradientOf<T>({T{0.7f}, T{1.9f}, T{-0.4f}}, [](const auto& xs) { return reduceSum(softmax(xs)); });
  for (const T g : gradients) EXPECT_NEAR(g, 0, 2 * std::numeric_limits<T>::epsilon());
}

TYPED_TEST(ListCases, TakeListsInBraces) {
  using T = TypeParam;
  Tape<T> tape;
  CurrentTape here(tape);
  const Value<T> a(2), b(3), c(4);
  EXPECT_EQ(burtorch::reduceSum({a, b, c}), T{9});
  EXPECT_EQ(burtorch::reduceSub({a, b, c}), T{-5});
  EXPECT_EQ(burtorch::reduceMul({a, b, c}), T{24});
  EXPECT_EQ(burtorch::reduceMean({a, b, c}), T{3});
  EXPECT_EQ(burtorch::reduceNegativeMean({a, b, c}), T{-3});
  EXPECT_EQ(burtorch::reduceSumOfSquares({a, b, c}), T{29});
  EXPECT_EQ(burtorch::reduceMeanSquares({a, b, c, a}), T{8.25});
  EXPECT_EQ(burtorch::innerProduct({a, b}, {b, c}), T{18});
}

/// That `f` fails with a sentence in which all of `words` occur, and that the tape is as before.
template <class T, class F> void expectError(Tape<T>& tape, std::vector<std::string> words, F f) {
  const auto before = tape.used();
  try {
    f();
    ADD_FAILURE() << "no error; expected one that says " << words[0];
  } catch (const burtorch::Error& error) {
    for (const std::string& word : words)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what() << " lacks " << word;
  }
  const auto after = tape.used();
  EXPECT_EQ(after.scalars, before.scalars) << words[0];
  EXPECT_EQ(after.instructions, before.instructions) << words[0];
  EXPECT_EQ(after.words, before.words) << words[0];
}

/// Every list operator on a list without elements.
template <class T, class L, class X> void expectErrorsOfEmpty(Tape<T>& tape, const L& none, X bias) {
  using namespace burtorch;
  expectError(tape, {"reduceSum", "empty"}, [&] { reduceSum(none); });
  expectError(tape, {"reduceSub", "empty"}, [&] { reduceSub(none); });
  expectError(tape, {"reduceMul", "empty"}, [&] { reduceMul(none); });
  expectError(tape, {"reduceMean", "empty"}, [&] { reduceMean(none); });
  expectError(tape, {"reduceSumOfSquares", "empty"}, [&] { reduceSumOfSquares(none); });
  expectError(tape, {"reduceMeanSquares", "empty"}, [&] { reduceMeanSquares(none); });
  expectError(tape, {"reduceNegativeMean", "empty"}, [&] { reduceNegativeMean(none); });
  expectError(tape, {"reduceMean", "empty"}, [&] { reduceMeanAndMeanSquares(none); });
  expectError(tape, {"innerProduct", "empty"}, [&] { innerProduct(none, none); });
  expectError(tape, {"innerProductWithBias", "empty"}, [&] { innerProductWithBias(none, none, bias); });
  expectError(tape, {"varianceBiased", "empty"}, [&] { varianceBiased(none); });
  expectError(tape, {"variance ", "empty"}, [&] { variance(none); });
  expectError(tape, {"logSumExp", "empty"}, [&] { logSumExp(none); });
  expectError(tape, {"crossEntropy", "empty"}, [&] { crossEntropy(none, 0); });
  expectError(tape, {"softmax", "empty"}, [&] { softmax(none, std::span<X>()); });
}
TYPED_TEST(ListCases, AnEmptyRangeIsAnError) {
  Tape<TypeParam> tape;
  CurrentTape here(tape);
  expectErrorsOfEmpty(tape, Range<TypeParam>(), Value<TypeParam>(1));
}
TYPED_TEST(ListCases, NoHandlesAreAnError) {
  Tape<TypeParam> tape;
  CurrentTape here(tape);
  expectErrorsOfEmpty(tape, std::vector<Value<TypeParam>>(), Value<TypeParam>(1));
}
TYPED_TEST(ListCases, AListOfEmptyRangesIsAnError) {
  Tape<TypeParam> tape;
  CurrentTape here(tape);
  expectErrorsOfEmpty(tape, std::vector<Range<TypeParam>>(2), Value<TypeParam>(1));
}
TYPED_TEST(ListCases, NoPlainNumbersAreAnError) {
  Tape<TypeParam> tape;
  expectErrorsOfEmpty(tape, std::vector<TypeParam>(), TypeParam{1});
}
TYPED_TEST(ListCases, NoDualNumbersAreAnError) {
  Tape<TypeParam> tape;
  expectErrorsOfEmpty(tape, std::vector<Dual<TypeParam>>(), Dual<TypeParam>(1));
}

TYPED_TEST(ListCases, InnerProductsOfListsOfDifferentLengthAreErrors) {
  using T = TypeParam;
  Tape<T> tape;
  CurrentTape here(tape);
  const auto leaves = tape.leaves(100);
  const auto xs = leaves.subrange(0, 17), ys = leaves.subrange(0, 23);
  expectError(tape, {"innerProduct", "17", "23"}, [&] { innerProduct(xs, ys); });
  expectError(tape, {"innerProduct", "23", "17"}, [&] { innerProduct(ys, xs); });
  expectError(tape, {"innerProductWithBias", "17", "23"}, [&] { innerProductWithBias(xs, ys, leaves[0]); });
  const std::vector<T> plain17(17), plain23(23);
  expectError(tape, {"innerProduct", "17", "23"}, [&] { burtorch::innerProduct(plain17, plain23); });
}
TYPED_TEST(ListCases, CrossEntropyWithATargetOutOfRangeIsAnError) {
  using T = TypeParam;
  Tape<T> tape;
  CurrentTape here(tape);
  const auto logits = tape.leaves(27);
  const std::vector<Range<T>> ranges = {logits.subrange(0, 13), logits.subrange(13, 14)};
  expectError(tape, {"crossEntropy", "27", "27"}, [&] { crossEntropy(logits, 27); });
  expectError(tape, {"crossEntropy", "99", "27"}, [&] { crossEntropy(ranges, 99); });
  expectError(tape, {"crossEntropy", "31", "27"}, [&] { burtorch::crossEntropy(std::vector<T>(27), 31); });
  expectError(tape, {"crossEntropy", "31", "27"},
              [&] { burtorch::crossEntropy(std::vector<Dual<T>>(27), 31); });
}
TYPED_TEST(ListCases, SoftmaxIntoAListOfAnotherLengthIsAnError) {
  using T = TypeParam;
  Tape<T> tape;
  CurrentTape here(tape);
  const auto logits = tape.leaves(17);
  std::vector<Value<T>> out(23);
  std::vector<T> plain(23);
  expectError(tape, {"softmax", "17", "23"},
              [&] { burtorch::softmax(std::vector<T>(17), std::span<T>(plain)); });
  expectError(tape, {"softmax", "17", "23"}, [&] { burtorch::softmax(logits, std::span<Value<T>>(out)); });
}
TYPED_TEST(ListCases, AfterAnErrorTheTapeGoesOn) {
  using T = TypeParam;
  Tape<T> tape;
  CurrentTape here(tape);
  const auto xs = tape.leaves(std::span<const T>(std::array<T, 3>{1, 2, 4}));
  EXPECT_THROW(innerProduct(xs, xs.subrange(0, 2)), burtorch::Error);
  backward(innerProduct(xs, xs));
  EXPECT_EQ(xs.gradients()[2], T{8});
}

}  // namespace list_cases_test
