// Plain numbers as data in list operators: copied at recording, without nodes and gradients, in every mode.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "burtorch/burtorch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace data_lists_test {

/// 70 numbers: more than one block of every width.
std::vector<double> data() {
  std::vector<double> numbers;
  for (int i = 0; i < 70; ++i) numbers.push_back(std::sin(1.0 + i));
  return numbers;
}

template <class T> struct DataLists : testing::Test {};
using Scalars = testing::Types<double, float>;
TYPED_TEST_SUITE(DataLists, Scalars);

TYPED_TEST(DataLists, GiveTheBitsOfLeaves) {
  using T = TypeParam;
  const auto numbers = data();
  const std::vector<T> x(numbers.begin(), numbers.end());
  Tape<T> tape;
  CurrentTape here(tape);
  const auto w = tape.leaves(70, T(0.3));
  for (std::size_t i = 0; i < 70; ++i) w[i].setData(static_cast<T>(std::cos(1.0 + double(i))));
  const Value<T> b(T(0.7));
  const auto leaves = tape.leaves(x);
  const auto before = tape.size();
  const auto expected = innerProduct(w, leaves), withData = innerProduct(w, x), swapped = innerProduct(x, w);
  const auto biased = innerProductWithBias(w, x, b), swappedBiased = innerProductWithBias(x, w, b);
  EXPECT_EQ(tape.size(), before + 5);
  EXPECT_EQ(withData.dataCopy(), expected.dataCopy());
  EXPECT_EQ(swapped.dataCopy(), expected.dataCopy());
  EXPECT_EQ(biased.dataCopy(), expected.dataCopy() + T(0.7));
  EXPECT_EQ(swappedBiased.dataCopy(), biased.dataCopy());
  for (const auto& root : {withData, swapped, biased, swappedBiased}) {
    tape.zeroGrad();
    backward(root, T(1.5));
    for (std::size_t i = 0; i < 70; ++i) EXPECT_EQ(w.gradients()[i], T(1.5) * x[i]) << i;
  }
  EXPECT_EQ(b.gradCopy(), T(1.5));
}

TEST(Data, OfAnotherPrecisionIsConverted) {
  Tape<double> tape;
  CurrentTape here(tape);
  const auto w = tape.leaves(2, 0.5);
  EXPECT_EQ(innerProduct(w, std::vector<float>{1.5f, -4.0f}).dataCopy(), -1.25);
}

TEST(Data, WorksWithDualNumbersAndTheirTapes) {
  const std::array w{Dual<double>(0.5, 1.0), Dual<double>(-0.25, 0.0)};
  const std::array x{1.5, -4.0};
  EXPECT_EQ(innerProduct(w, x).value, 1.75);
  EXPECT_EQ(innerProduct(x, w).tangent, 1.5);
  EXPECT_EQ(innerProductWithBias(w, x, Dual<double>(0.25)).value, 2.0);
  std::array<double, 2> product{};
  const std::array at{0.5, -0.25}, v{1.0, 0.0};
  hvp<double>([&](auto u) { return sqr(innerProduct(u, x)); }, at, v, product);
  EXPECT_EQ(product, (std::array{2 * 1.5 * 1.5, 2 * 1.5 * -4.0}));
}

TEST(Data, IsKeptByRecordedFunctions) {
  const std::array x{1.5, -4.0};
  const auto f = [x](auto w) { return sqr(innerProduct(w, x)); };
  auto recorded = record(f, std::array{0.0, 0.0});
  std::array<double, 2> gradient{};
  EXPECT_EQ(recorded.valueAndGrad(std::array{0.5, -0.25}, gradient), 1.75 * 1.75);
  EXPECT_EQ(gradient, (std::array{2 * 1.75 * 1.5, 2 * 1.75 * -4.0}));
  const std::vector<double> points{0.5, -0.25, 1.0, 0.5, 0.5, -0.25};
  std::vector<double> gradients(6);
  recorded.gradBatch(points, gradients);
  EXPECT_EQ(gradients[0], gradient[0]);
  EXPECT_EQ(gradients[2], 2 * -0.5 * 1.5);
  EXPECT_EQ(gradients[5], gradient[1]);
}

TEST(Data, SparseRowsTouchTheirElementsOnly) {
  Tape<double> tape;
  CurrentTape here(tape);
  const auto w = tape.leaves(100, 0.5);
  const std::vector<std::uint32_t> indices{7, 90, 7};
  const std::vector<double> values{1.5, -4.0, 0.25};
  const auto before = tape.size();
  const auto y = innerProduct(w, indices, values);
  EXPECT_EQ(tape.size(), before + 1);
  EXPECT_EQ(y.dataCopy(), 0.5 * (1.75 - 4.0));
  backward(y);
  EXPECT_EQ(w[7].gradCopy(), 1.75);
  EXPECT_EQ(w[90].gradCopy(), -4.0);
  EXPECT_EQ(w[8].gradCopy(), 0.0);
  const std::vector<double> plain(100, 0.5);
  EXPECT_EQ(innerProduct(plain, indices, values), y.dataCopy());
}

TEST(Data, ErrorsChangeNothing) {
  Tape<double> tape;
  CurrentTape here(tape);
  const auto w = tape.leaves(3, 0.5);
  const auto before = tape.used();
  EXPECT_NE(sentenceOf([&] { innerProduct(w, std::vector<double>(2)); }), "");
  EXPECT_EQ(sentenceOf([&] {
              innerProduct(w, std::vector<int>{1, 3}, std::vector<double>(2));
            }),
            "index 3 is out of range for a list of 3 numbers");
  EXPECT_NE(sentenceOf([&] { innerProduct(w, std::vector<int>{-1}, std::vector<double>(1)); }), "");
  EXPECT_NE(sentenceOf([&] { innerProduct(w, std::vector<int>{1, 2}, std::vector<double>(1)); }), "");
  EXPECT_EQ(tape.used().scalars, before.scalars);
  EXPECT_EQ(tape.used().words, before.words);
}

}  // namespace data_lists_test
}  // namespace burtorch
