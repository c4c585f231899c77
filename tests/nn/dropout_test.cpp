// Dropout of matrices beside its definition, number by number; how often it drops, and that nothing but key and place decides.
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/core/guided_sweep.hpp>
#include <burtorch/graph/record.hpp>
#include <burtorch/nn/dropout.hpp>
#include <burtorch/nn/elementwise.hpp>

#include <cmath>
#include <limits>
#include <string>

#include "reference/error_sentence.hpp"
#include "reference/layer_checks.hpp"

namespace burtorch {
namespace dropout_test {

template <class T> class DropoutTest : public testing::Test {};
using Scalars = testing::Types<float, double, Dual<double>>;
TYPED_TEST_SUITE(DropoutTest, Scalars);

/// The numbers of a dropout of ones.
template <class T = double>
std::vector<T> maskOf(const Dropout& dropped, std::size_t rows, std::size_t columns) {
  Tape<T> tape;
  const CurrentTape here(tape);
  const auto y = dropout(Matrix<T>(tape.leaves(rows * columns, 1), rows, columns), dropped);
  return {y.values().begin(), y.values().end()};
}

TYPED_TEST(DropoutTest, IsItsDefinitionAtEveryWidth) {
  std::vector<std::size_t> counts = columnCounts<TypeParam>();
  for (const std::size_t more : manyColumns()) counts.push_back(more);
  for (const std::size_t columns : counts)
    for (const double probability : {0.1, 0.5, 0.97}) {
      LayerChecks<TypeParam> checks;
      const auto x = checks.matrix(5, columns);
      checks.fill();
      const Dropout dropped{probability, 0x123456789abcdef0 + columns, 7 * columns};
      checks.expectSame([&] { return twin::elementsOf(dropout(x, dropped)); },
                        [&] { return twin::dropout(x, dropped); }, std::to_string(columns) + " columns");
    }
}
TEST(Dropout, GradientsAreSlopes) {
  LayerChecks<double> checks;
  const auto x = checks.matrix(3, 11);
  checks.fill();
  checks.expectSlopes([&] { return twin::elementsOf(dropout(x, {0.4, 5})); });
}

// The same on every machine: these bits may never change, or runs that are resumed would.
TEST(Dropout, HasTheMaskOfItsKeyForEver) {
  const auto bitsOf = [](const Dropout& dropped) {
    std::string bits;
    for (const double x : maskOf(dropped, 4, 20)) bits += x == 0 ? '.' : '1';
    return bits;
  };
  EXPECT_EQ(bitsOf({0.5, 1}),
            "11.11.1...11.1.1.11.....1.....11...11.11.1.11.1...1.1.1...111.1...1...11.111.1..");
  EXPECT_EQ(bitsOf({0.2, 0xfedcba9876543210, 1000}),
            "111.1111..11111.1111...11.111.1.111..11111111.1.1111111111..111111111111.11111.1");
  const DropoutKey key{{.seed = 1337, .step = 12}};
  EXPECT_EQ(key.of(0), UINT64_C(0x37a2ef7aff0ca629));
  EXPECT_EQ(key.of(3), UINT64_C(0xb21386ff92d9bbd7));
}

TEST(Dropout, DropsAsOftenAsItSaysAndKeepsTheMean) {
  constexpr std::size_t rows = 400, columns = 500;
  for (const double p : {0.001, 0.1, 0.2, 0.5, 0.9}) {
    const auto mask = maskOf({p, 99}, rows, columns);
    double zeros = 0, sum = 0, together = 0;
    for (std::size_t i = 0; i < mask.size(); ++i) {
      EXPECT_TRUE(mask[i] == 0 || std::abs(mask[i] * (1 - p) - 1) < 1e-9);
      zeros += mask[i] == 0;
      sum += mask[i];
      // Neighbours, in a row and in a column, are independent.
      if (i + columns + 1 < mask.size())
        together += (mask[i] == 0 && mask[i + 1] == 0) + (mask[i] == 0 && mask[i + columns] == 0);
    }
    const double n = rows * columns, error = std::sqrt(p * (1 - p) / n);
    EXPECT_NEAR(zeros / n, p, 4 * error);
    EXPECT_NEAR(sum / n, 1, 4 * error / (1 - p));
    EXPECT_NEAR(together / n, 2 * p * p, 8 * std::sqrt(p * p / n));
  }
}
TEST(Dropout, HasAnotherMaskForAnotherKeyStepSeedAndSite) {
  const auto share = [](std::uint64_t a, std::uint64_t b) {
    const auto x = maskOf({0.5, a}, 40, 50), y = maskOf({0.5, b}, 40, 50);
    double same = 0;
    for (std::size_t i = 0; i < x.size(); ++i) same += x[i] == y[i];
    return same / static_cast<double>(x.size());
  };
  const std::uint64_t key = DropoutKey{{1, 1}}.of(0);
  EXPECT_EQ(share(key, key), 1);
  for (const std::uint64_t other :
       {DropoutKey{{2, 1}}.of(0), DropoutKey{{1, 2}}.of(0), DropoutKey{{1, 1}}.of(1), key + 1})
    EXPECT_NEAR(share(key, other), 0.5, 0.05);
}
TEST(Dropout, OfSomeColumnsIsAPartOfThatOfAll) {
  const auto all = maskOf<float>({0.3, 8}, 6, 40);
  for (const std::size_t first : {1u, 7u, 16u, 33u}) {
    const auto part = maskOf<float>({0.3, 8, first}, 6, 5);
    for (std::size_t r = 0; r < 6; ++r)
      for (std::size_t c = 0; c < 5; ++c) EXPECT_EQ(part[r * 5 + c], all[r * 40 + first + c]);
  }
}
TEST(Dropout, HasTheSameMaskForFloatsAndDoubles) {
  const auto f = maskOf<float>({0.1, 8}, 9, 33);
  const auto d = maskOf<double>({0.1, 8}, 9, 33);
  for (std::size_t i = 0; i < f.size(); ++i) EXPECT_EQ(f[i], static_cast<float>(d[i]));
}
TEST(Dropout, HasTheSameBitsForAnyNumberOfThreads) {
  constexpr std::size_t rows = 700, columns = 130;
  const auto wanted = maskOf<float>({0.2, 3}, rows, columns);
  for (const std::size_t threads : {1u, 2u, 3u, 8u}) {
    ThreadPool pool(threads);
    const CurrentWorkers help(pool);
    EXPECT_EQ(maskOf<float>({0.2, 3}, rows, columns), wanted) << threads;
  }
}

TEST(Dropout, OfNothingIsTheMatrixItself) {
  Tape<float> tape;
  const CurrentTape here(tape);
  const Matrix<float> x(tape.leaves(6, 2), 2, 3);
  const std::size_t before = tape.size();
  EXPECT_EQ(dropout(x, {}).block().first, x.block().first);
  EXPECT_EQ(tape.size(), before);
}
TEST(Dropout, OfNearlyNothingAndOfNearlyAllIsFinite) {
  for (const float x : maskOf<float>({1e-15, 4}, 3, 50)) EXPECT_EQ(x, 1);
  for (const float x : maskOf<float>({1 - 1e-15, 4}, 3, 50)) EXPECT_TRUE(std::isfinite(x));
}
TEST(Dropout, RefusesWhatIsNoProbability) {
  EXPECT_EQ(sentenceOf([] {
              maskOf({1.0, 4}, 1, 1);
            }),
            "a dropout of 1; expected a probability of at least 0 and below 1");
  EXPECT_EQ(sentenceOf([] {
              maskOf({-0.1, 4}, 1, 1);
            }),
            "a dropout of -0.1; expected a probability of at least 0 and below 1");
  EXPECT_NE(sentenceOf([] { maskOf({std::numeric_limits<double>::quiet_NaN(), 4}, 1, 1); }), "");
}
// What is dropped is gone: a NaN of it too.
TEST(Dropout, DropsWhatIsNotFinite) {
  Tape<float> tape;
  const CurrentTape here(tape);
  const Matrix<float> x(tape.leaves(64, std::numeric_limits<float>::quiet_NaN()), 8, 8);
  const auto y = dropout(x, {0.5, 4});
  const auto mask = maskOf({0.5, 4}, 8, 8);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(std::isnan(y.values()[i]), mask[i] != 0);
}

TEST(Dropout, LeavesOutGradientsThatNobodyWants) {
  Tape<double> tape;
  const CurrentTape here(tape);
  const Matrix<double> x(tape.leaves(4, 1), 2, 2), z(tape.leaves(4, 1), 2, 2);
  EXPECT_FALSE(dropout(x.withoutGradient(), {0.5, 4}).needsGradient());
  const auto root = reduceSum((dropout(x, {0.5, 4}) + dropout(z, {0.5, 5})).range());
  SweepMemory memory;
  const Block wanted[] = {x.block()};
  backward(root, {.memory = &memory, .wanted = std::span<const Block>(wanted)});
  const auto mask = maskOf({0.5, 4}, 2, 2);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(x.gradients()[i], mask[i]);
    EXPECT_EQ(z.gradients()[i], 0);
  }
}
TEST(Dropout, AReplayHasTheSameMask) {
  std::vector<double> x(12);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i + 1));
  auto recorded = record(
      [](auto numbers) {
        const Matrix<double> m(numbers[0].handle(), 3, 4);
        const auto y = dropout(m, {0.5, 21});
        return reduceSum((y * y).range());
      },
      x);
  const auto mask = maskOf({0.5, 21}, 3, 4);
  for (double& number : x) number += 0.25;
  std::vector<double> gradient(x.size());
  recorded.valueAndGrad(x, gradient);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_DOUBLE_EQ(gradient[i], 2 * mask[i] * mask[i] * x[i]) << i;
}

}  // namespace dropout_test
}  // namespace burtorch
