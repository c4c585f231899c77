// valueAndGradSum: the sum over samples of a value and of its gradient with respect to what the samples share. Exact
// where the numbers are small whole ones; otherwise to 1e-13 of the sum of absolute terms, whatever the order.
// label: full
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace batch_sum_test {

constexpr double inf = std::numeric_limits<double>::infinity();

template <class T> class BatchSum : public testing::Test {};
using Scalars = testing::Types<double, float>;
struct ScalarName {
  template <class T> static std::string GetName(int) { return sizeof(T) == 8 ? "fp64" : "fp32"; }
};
TYPED_TEST_SUITE(BatchSum, Scalars, ScalarName);

template <class X> struct Line { X slope, offset; };

template <class T> std::vector<T> wholeNumbers(std::size_t count) {
  std::vector<T> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(static_cast<T>((i * 7 + 3) % 11) - T{5});
  return list;
}

TYPED_TEST(BatchSum, OfWholeNumbersIsExact) {
  using T = TypeParam;
  constexpr auto f =
      compile([](const auto& line, auto x, auto y) { return sqr(line.slope * x + line.offset - y); });
  const Line<T> line{T{3}, T{-2}};
  for (std::size_t count = 0; count <= 4 * Pack<T>::count + 3; ++count) {
    const auto xs = wholeNumbers<T>(count), ys = wholeNumbers<T>(count / 2 + count % 2 + count / 2);
    T value = 0, slope = 0, offset = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const T error = line.slope * xs[i] + line.offset - ys[i];
      value += error * error, slope += 2 * error * xs[i], offset += 2 * error;
    }
    const auto sum = f.valueAndGradSum(line, xs, ys);
    EXPECT_EQ(sum.value, value) << count;
    EXPECT_EQ(sum.gradient.slope, slope) << count;
    EXPECT_EQ(sum.gradient.offset, offset) << count;
  }
}

/// The parameters are read in place by lists, alone, and mixed with a sample.
constexpr auto inPlace =
    compile([](const auto& w, const auto& x) { return tanh(innerProduct(w, x)) * exp(x[0]); });
constexpr auto alone = compile(
    [](const auto& w, const auto& x) { return sqrt(sqr(w[0] * x[0]) + 0.5) * w[2] + w[1] / (x[1] + 3.0); });
constexpr auto mixedIn = compile([](const auto& w, const auto& x) {
  return logSumExp(std::array{w[0], x[0], w[2]}) * w[1];
});

template <class T, class F> void expectSumOverSamples(const F& f) {
  const std::array<T, 3> w{T(0.7), T(-0.4), T(1.3)};
  for (std::size_t count = 0; count <= 2 * Pack<T>::count + 1; ++count) {
    std::vector<std::array<T, 3>> xs;
    for (std::size_t i = 0; i < count; ++i) {
      const T x = T(0.3) * static_cast<T>(i) - T(0.8);
      xs.push_back({x, 1 - x, x * x});
    }
    double value = 0, size = 0;
    std::array<double, 3> gradient{}, sizes{};
    for (const auto& x : xs) {
      const auto one = f.template valueAndGrad<0>(w, x);
      value += one.value, size += std::abs(one.value);
      for (std::size_t k = 0; k < 3; ++k)
        gradient[k] += one.gradient[k], sizes[k] += std::abs(one.gradient[k]);
    }
    const double tolerance = sizeof(T) == 8 ? 1e-15 : 5e-7;
    const auto sum = f.valueAndGradSum(w, xs);
    EXPECT_NEAR(sum.value, value, tolerance * size) << count << " samples";
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_NEAR(sum.gradient[k], gradient[k], tolerance * sizes[k]) << count << " samples, parameter " << k;
  }
}
TYPED_TEST(BatchSum, WithParametersInAList) { expectSumOverSamples<TypeParam>(inPlace); }
TYPED_TEST(BatchSum, WithParametersAlone) { expectSumOverSamples<TypeParam>(alone); }
TYPED_TEST(BatchSum, WithParametersAmongSamples) { expectSumOverSamples<TypeParam>(mixedIn); }

TEST(BatchSumOf, NoSamplesIsZero) {
  const auto sum = inPlace.valueAndGradSum(std::array{0.7, -0.4, 1.3}, std::vector<std::array<double, 3>>{});
  EXPECT_EQ(sum.value, 0);
  EXPECT_EQ(sum.gradient, (std::array{0.0, 0.0, 0.0}));
}
TEST(BatchSumOf, OneNumberAsParameter) {
  constexpr auto f = compile([](auto w, auto x) { return w * w * x; });
  const auto sum = f.valueAndGradSum(1.5, std::array{2.0, 4.0, -1.0});
  EXPECT_EQ(sum.value, 11.25);
  EXPECT_EQ(sum.gradient, 15.0);
}
TEST(BatchSumOf, AParameterThatIsNotUsedHasGradientZero) {
  constexpr auto f = compile([](const auto& w, auto x) { return w[0] * x; });
  EXPECT_EQ(f.valueAndGradSum(std::array{1.5, 2.5}, std::array{2.0, 4.0, -1.0}).gradient,
            (std::array{5.0, 0.0}));
}
TEST(BatchSumOf, AFunctionThatIsAParameter) {
  constexpr auto f = compile([](auto w, auto) { return w; });
  const auto sum = f.valueAndGradSum(1.5, std::array{2.0, 4.0, -1.0});
  EXPECT_EQ(sum.value, 4.5);
  EXPECT_EQ(sum.gradient, 3.0);
}

/// A sample whose value and gradient are infinite, first, last or in between: infinity plus numbers is infinity.
TEST(BatchSumOf, AnInfiniteSampleIsInfinite) {
  constexpr auto f = compile([](auto w, auto x) { return w / x; });
  for (std::size_t count = 1; count <= 2 * Pack<double>::count + 1; ++count)
    for (std::size_t at = 0; at < count; ++at) {
      std::vector<double> xs(count, 2.0);
      xs[at] = 0;
      const auto sum = f.valueAndGradSum(1.5, xs);
      EXPECT_EQ(sum.value, inf) << at << " of " << count;
      EXPECT_EQ(sum.gradient, inf) << at << " of " << count;
    }
}
/// What the lanes left over compute is dropped, not multiplied with zero.
TEST(BatchSumOf, AListWithAnInfiniteGradientInTheTail) {
  constexpr auto f = compile([](const auto& w, auto x) { return reduceSum(w) / x; });
  for (std::size_t count = 1; count <= 2 * Pack<double>::count + 1; ++count) {
    std::vector<double> xs(count, 2.0);
    xs.back() = 0;
    const auto sum = f.valueAndGradSum(std::array{1.5, 2.5}, xs);
    EXPECT_EQ(sum.value, inf) << count;
    EXPECT_EQ(sum.gradient, (std::array{inf, inf})) << count;
  }
}
TEST(BatchSumOf, ChoicesAreMadeForEachSample) {
  constexpr auto f = compile([](auto w, auto x) { return select(x > 0.0, w / x, w * 8.0); });
  const auto sum = f.valueAndGradSum(1.5, std::array{2.0, 0.0, -1.0, 4.0, 0.0});
  EXPECT_EQ(sum.value, 1.5 * 24.75);
  EXPECT_EQ(sum.gradient, 24.75);
}
/// Of the two lists of the product only the parameters have gradients; 1 / x[1] is infinite where it is not chosen.
TEST(BatchSumOf, ChoicesBetweenListsAreMadeForEachSample) {
  constexpr auto f = compile([](const auto& w, const auto& x) {
    const auto product = innerProduct(w, std::array{x[0], 1.0 / x[1]});
    return select(x[1] > 0.0, product, reduceMul(w) * x[0]);
  });
  const std::vector<std::array<double, 2>> xs{{2, 4}, {1, 0}, {3, -2}, {-1, 8}, {2, 0}};
  const auto sum = f.valueAndGradSum(std::array{1.5, -2.0}, xs);
  EXPECT_EQ(sum.value, 1.5 * 1 - 2 * 0.375 - 3.0 * 6);
  EXPECT_EQ(sum.gradient, (std::array{1 - 2.0 * 6, 0.375 + 1.5 * 6}));
}
TEST(BatchSumOf, SampleListsOfDifferentLengthsIsAnError) {
  constexpr auto f = compile([](auto w, auto x, auto y, auto z) { return w * x * y * z; });
  const std::vector<double> three(3), two(2);
  const std::string want = "batch: expected lists of 3 samples, got one of 2";
  EXPECT_EQ(sentenceOf([&] { f.valueAndGradSum(1.5, three, two, three); }), want);
  EXPECT_EQ(sentenceOf([&] { f.valueAndGradSum(1.5, three, three, two); }), want);
}

}  // namespace batch_sum_test
}  // namespace burtorch
