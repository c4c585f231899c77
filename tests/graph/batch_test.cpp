// Batches of a compile-time graph: every sample has the bits that it has in a batch of its own, wherever it stands, the tail
// too; and outside of batches as well, unless the graph goes through exp, log, tanh, sin and the like.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <burtorch/burtorch.hpp>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "reference/error_sentence.hpp"

namespace batch_test {

using namespace burtorch;

constexpr auto mixed = compile([](auto a, auto b) {
  const auto c = pow(sqr(a * b) + 0.5, 0.3) - abs(a * 0.25);
  const auto d = select(a < b, sqr(c), relu(c - b));
  const auto e = reduceSumOfSquares(std::array{a, b, d});
  return e * sqrt(c + 3.0) + 1.0 / (2.0 + sqr(b));
});
constexpr auto transcendental = compile([](auto a, auto b) {
  const auto c = tanh(a * b) + exp(a * 0.25) + erf(b);
  const auto d = select(a < b, sqr(c), log(c + 2.0)) + sin(a) * atan(b) + log1p(sqr(a)) - expm1(b);
  const auto e = logSumExp(std::array{a, b, d});
  return e * c + 1.0 / (2.0 + sqr(b));
});

template <class X> struct Line { X slope, offset; };
constexpr auto ofLine =
    compile([](auto line) { return pow(sqr(line.slope) + 0.5, 0.3) * line.offset + sqr(line.offset); });
constexpr auto ofArray = compile([](const auto& x) {
  const auto product = innerProduct(x, x);
  return product * x[1] + abs(x[0]);
});

template <class T> std::vector<T> numbers(std::size_t count, T first, T step) {
  std::vector<T> list(count);
  for (std::size_t i = 0; i < count; ++i) list[i] = first + step * static_cast<T>(i);
  return list;
}

template <class T> class Batch : public testing::Test {};
using Scalars = testing::Types<double, float>;
TYPED_TEST_SUITE(Batch, Scalars);

/// `check(a, b, gradients, place)` for every sample of batches of many lengths; nothing behind them changes.
template <class T, class F, class Check> void forEachSample(const F& f, Check check) {
  for (std::size_t count = 0; count <= 4 * Pack<T>::count + 3; ++count) {
    const auto as = numbers<T>(count, T(-1.3), T(0.21)), bs = numbers<T>(count, T(0.9), T(-0.13));
    std::vector<T> das(count + 2, T(77)), dbs(count + 2, T(77));
    f.gradBatch(as, bs, std::span(das).first(count), std::span(dbs).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      SCOPED_TRACE(testing::Message() << i << " of " << count);
      check(as[i], bs[i], das[i], dbs[i]);
    }
    EXPECT_EQ(das[count], 77) << "what lies behind the samples stays";
    EXPECT_EQ(dbs[count], 77);
  }
}

TYPED_TEST(Batch, EverySampleHasTheBitsItHasAlone) {
  using T = TypeParam;
  forEachSample<T>(mixed, [](T a, T b, T da, T db) {
    const auto alone = mixed.grad(a, b);
    EXPECT_EQ(da, alone[0]);
    EXPECT_EQ(db, alone[1]);
  });
}
TYPED_TEST(Batch, ThroughExpLogAndTanhTheBitsOfABatchOfOne) {
  using T = TypeParam;
  forEachSample<T>(transcendental, [](T a, T b, T da, T db) {
    T aloneA[1], aloneB[1];
    transcendental.gradBatch(std::array{a}, std::array{b}, aloneA, aloneB);
    EXPECT_EQ(da, aloneA[0]);
    EXPECT_EQ(db, aloneB[0]);
    // An ulp of c becomes several of the sums that cancel in the gradients. Most lie between -3 and 3; the wider the
    // packs, the more samples there are, and some of those lie further out.
    const auto plain = transcendental.grad(a, b);
    const auto bound = [](T g) {
      return 2 * std::max(T{3}, std::abs(g)) * std::numeric_limits<T>::epsilon();
    };
    EXPECT_NEAR(da, plain[0], bound(plain[0]));
    EXPECT_NEAR(db, plain[1], bound(plain[1]));
  });
}

TEST(GradBatch, StructsAndArrays) {
  std::vector<Line<double>> lines, lineGradients(11);
  std::array<std::array<double, 3>, 11> arrays{}, arrayGradients{};
  for (std::size_t i = 0; i < 11; ++i) {
    const double x = 0.3 * static_cast<double>(i) - 1.45;
    lines.push_back({x, 1.7 - x});
    arrays[i] = {x, 0.4 + x, -x * x};
  }
  ofLine.gradBatch(lines, lineGradients);
  ofArray.gradBatch(arrays, arrayGradients);
  for (std::size_t i = 0; i < 11; ++i) {
    const auto line = ofLine.grad(lines[i]);
    EXPECT_EQ(lineGradients[i].slope, line.slope);
    EXPECT_EQ(lineGradients[i].offset, line.offset);
    EXPECT_EQ(arrayGradients[i], ofArray.grad(arrays[i])) << i;
  }
}

TEST(GradBatch, OnlyTheNamedArguments) {
  const auto as = numbers(9, 0.2, 0.3), bs = numbers(9, 1.1, -0.2);
  std::vector<double> das(9), dbs(9), all(9), both(9);
  mixed.gradBatch(as, bs, all, both);
  mixed.gradBatch<1>(as, bs, dbs);
  mixed.gradBatch<0>(as, bs, das);
  EXPECT_EQ(das, all);
  EXPECT_EQ(dbs, both);
  mixed.gradBatch<1, 0>(as, bs, dbs, das);
  EXPECT_EQ(das, all);
  EXPECT_EQ(dbs, both);
}

TEST(GradBatch, ListsOfDifferentLengthsAreAnError) {
  std::vector<double> three(3), four(4);
  EXPECT_EQ(sentenceOf([&] { mixed.gradBatch(three, four, three, three); }),
            "batch: expected lists of 3 samples, got one of 4");
  EXPECT_EQ(sentenceOf([&] { mixed.gradBatch(three, three, three, four); }),
            "batch: expected lists of 3 samples, got one of 4");
}

constexpr auto loss = compile([](const auto& w, const auto& sample, auto weight) {
  const auto error = w[0] * sample.slope + tanh(w[1]) - sample.offset;
  return sqr(error) * weight + reduceSumOfSquares(w) * 0.125;
});

TEST(ValueAndGradSum, IsTheSumOverSamples) {
  const std::array<double, 3> w{0.7, -0.4, 1.3};
  for (std::size_t count = 0; count <= 2 * Pack<double>::count + 1; ++count) {
    std::vector<Line<double>> samples(count);
    const auto weights = numbers(count, 0.5, 0.25);
    double value = 0;
    std::array<double, 3> gradient{};
    for (std::size_t i = 0; i < count; ++i) {
      samples[i] = {0.3 + 0.1 * static_cast<double>(i), -0.9 + 0.2 * static_cast<double>(i)};
      const auto one = loss.valueAndGrad<0>(w, samples[i], weights[i]);
      value += one.value;
      for (std::size_t k = 0; k < 3; ++k) gradient[k] += one.gradient[k];
    }
    const auto sum = loss.valueAndGradSum(w, samples, weights);
    EXPECT_NEAR(sum.value, value, 1e-14 * std::abs(value)) << count;
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_NEAR(sum.gradient[k], gradient[k], 1e-14 * (std::abs(gradient[k]) + 1)) << count;
  }
}

TEST(ValueAndGradSum, AnInfiniteGradientInTheTailStaysInfinite) {
  constexpr auto root = compile([](auto w, auto x) { return sqrt(w * x); });
  const std::vector<double> samples{1, 4, 9, 16, 0};  // the slope at 0 is infinite, and so is the sum
  const auto sum = root.valueAndGradSum(0.0, samples);
  EXPECT_EQ(sum.value, 0);
  EXPECT_TRUE(std::isinf(sum.gradient) || std::isnan(sum.gradient));
  double alone = 0;
  for (const double x : samples) alone += root.grad<0>(0.0, x);
  EXPECT_EQ(std::isnan(alone), std::isnan(sum.gradient));
  const auto inverse = compile([](auto w, auto x) { return logarithm(w) * x; });
  EXPECT_EQ(inverse.valueAndGradSum(0.0, std::vector<double>{1, 2, 3}).gradient,
            std::numeric_limits<double>::infinity());
}

TEST(ValueAndGradSum, ParametersAsAStruct) {
  constexpr auto f = compile([](auto line, auto x) { return sqr(line.slope * x + line.offset); });
  const auto sum = f.valueAndGradSum(Line<float>{2.0f, 1.0f}, std::array{1.0f, 2.0f, 3.0f});
  EXPECT_EQ(sum.value, 9.0f + 25.0f + 49.0f);
  EXPECT_EQ(sum.gradient.slope, 2 * (3.0f + 10.0f + 21.0f));
  EXPECT_EQ(sum.gradient.offset, 2 * (3.0f + 5.0f + 7.0f));
}

TEST(ValueAndGradSum, ListsOfDifferentLengthsAreAnError) {
  const std::vector<Line<double>> samples(3);
  const std::vector<double> weights(2);
  EXPECT_EQ(sentenceOf([&] {
              loss.valueAndGradSum(std::array{1.0, 2.0, 3.0}, samples, weights);
            }),
            "batch: expected lists of 3 samples, got one of 2");
}

}  // namespace batch_test
