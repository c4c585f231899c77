// Clipping against PyTorch; the norm against a sum in long double.
#include "burtorch/train/clip.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "burtorch/base/rng.hpp"
#include "reference/error_sentence.hpp"
#include "torch_lines.hpp"

namespace burtorch {
namespace clip_test {

using torch_lines::Words;

template <class T> struct ClipTest : testing::Test {};
TYPED_TEST_SUITE(ClipTest, Scalars, ScalarName);

template <class T> std::vector<T> randomNumbers(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<T> numbers(count);
  for (T& x : numbers) x = rng.uniform<T>() * T{4} - T{2};
  return numbers;
}
template <class T> double norm(const std::vector<T>& numbers) { return normOf(std::span<const T>(numbers)); }

TYPED_TEST(ClipTest, FollowsPyTorch) {
  using T = TypeParam;
  const std::vector<Words> lines = torch_lines::read();
  int norms = 0, values = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].at(1) != torch_lines::typeName<T>) continue;
    if (lines[i][0] != "norm" && lines[i][0] != "value") continue;
    const double limit = torch_lines::numberOf(lines[i].at(2));
    const std::string title = lines[i][0] + " to " + std::to_string(limit);
    std::vector<T> gradients = torch_lines::numbersOf<T>(lines.at(i + 1), 1);
    const std::vector<T> want = torch_lines::numbersOf<T>(lines.at(i + 2), 1);
    if (lines[i][0] == "norm") {
      const double torch = torch_lines::numberOf(lines[i].at(3));
      EXPECT_NEAR(clipByNorm(std::span(gradients), limit), torch, torch_lines::tolerance<T> * torch) << title;
      torch_lines::expectNear(gradients, want, torch_lines::tolerance<T>, title);
      ++norms;
    } else {
      clipByValue(std::span(gradients), limit);
      EXPECT_EQ(gradients, want) << title;
      ++values;
    }
  }
  EXPECT_EQ(norms, 8);
  EXPECT_EQ(values, 3);
}

TYPED_TEST(ClipTest, AShortGradientKeepsItsBits) {
  using T = TypeParam;
  for (const std::size_t count : {1u, 7u, 100u}) {
    const auto before = randomNumbers<T>(count, count);
    auto gradients = before;
    const double found = clipByNorm(std::span(gradients), norm(before) * 1.001);
    EXPECT_EQ(gradients, before);
    EXPECT_EQ(found, norm(before));
  }
}

TYPED_TEST(ClipTest, ALongGradientKeepsItsDirectionAndGetsTheNorm) {
  using T = TypeParam;
  const auto before = randomNumbers<T>(333, 4);
  auto gradients = before;
  clipByNorm(std::span(gradients), 0.75);
  EXPECT_NEAR(norm(gradients), 0.75, 1e-6);
  const double factor = static_cast<double>(gradients[0]) / static_cast<double>(before[0]);
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_NEAR(gradients[i], factor * static_cast<double>(before[i]), 2 * std::numeric_limits<T>::epsilon());
}

TYPED_TEST(ClipTest, ZerosStayZeros) {
  using T = TypeParam;
  std::vector<T> gradients(9, T{0});
  EXPECT_EQ(clipByNorm(std::span(gradients), 1.0), 0);
  EXPECT_EQ(clipByNorm(std::span(gradients), 0.0), 0);
  EXPECT_EQ(gradients, std::vector<T>(9, T{0}));
}

TYPED_TEST(ClipTest, OfNothingTheNormIsZero) {
  using T = TypeParam;
  std::vector<T> none;
  EXPECT_EQ(clipByNorm(std::span(none), 1.0), 0);
  clipByValue(std::span(none), 1.0);
}

TYPED_TEST(ClipTest, AGradientThatIsNotFiniteStaysVisible) {
  using T = TypeParam;
  for (const T bad : {std::numeric_limits<T>::quiet_NaN(), std::numeric_limits<T>::infinity()}) {
    std::vector<T> gradients{T{1}, bad, T{2}};
    EXPECT_FALSE(std::isfinite(clipByNorm(std::span(gradients), 1.0)));
    EXPECT_TRUE(std::isnan(gradients[1]));
  }
}

TYPED_TEST(ClipTest, ClippingByValueLetsANanThrough) {
  using T = TypeParam;
  const T inf = std::numeric_limits<T>::infinity();
  std::vector<T> gradients{inf, std::numeric_limits<T>::quiet_NaN(), -inf, T{0.25}};
  clipByValue(std::span(gradients), 0.5);
  EXPECT_EQ(gradients[0], T{0.5});
  EXPECT_TRUE(std::isnan(gradients[1]));
  EXPECT_EQ(gradients[2], T{-0.5});
  EXPECT_EQ(gradients[3], T{0.25});
}

// Left to right in its own type, the sum of so many equal squares would be off by far more.
TYPED_TEST(ClipTest, TheNormOfManyNumbersIsAccurate) {
  using T = TypeParam;
  for (const std::size_t count : {1u, 15u, 16u, 17u, 100u, 1000003u}) {
    const auto numbers = randomNumbers<T>(count, count);
    long double sum = 0;
    for (const T x : numbers) sum += static_cast<long double>(x) * static_cast<long double>(x);
    const double want = static_cast<double>(std::sqrt(sum));
    EXPECT_NEAR(norm(numbers), want, 1e-14 * want) << count;
  }
}

TEST(Clip, SquaresOfFloatsDoNotOverflow) {
  const std::vector<float> gradients{3e30f, -4e30f};
  EXPECT_NEAR(norm(gradients), 5e30, 5e30 * 1e-7);
}

TYPED_TEST(ClipTest, AWrongLimitIsAnErrorThatChangesNothing) {
  using T = TypeParam;
  std::vector<T> gradients(3, T{2});
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const double limit : {-1.0, nan, inf})
    EXPECT_NE(sentenceOf([&] { clipByNorm(std::span(gradients), limit); }), "") << limit;
  for (const double limit : {-1.0, nan})
    EXPECT_NE(sentenceOf([&] { clipByValue(std::span(gradients), limit); }), "") << limit;
  EXPECT_EQ(sentenceOf([&] { clipByNorm(std::span(gradients), -1); }),
            "clipByNorm to -1: expected a finite norm, 0 or more");
  EXPECT_EQ(codeOf([&] { clipByNorm(std::span(gradients), -1); }), ErrorCode::invalidArgument);
  EXPECT_EQ(codeOf([&] { clipByNorm(std::span(gradients), nan); }), ErrorCode::notFinite);
  EXPECT_EQ(gradients, std::vector<T>(3, T{2}));
}

}  // namespace clip_test
}  // namespace burtorch
