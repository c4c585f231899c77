// Summaries: counts, least, mean and greatest as computed by hand, and a histogram that equals its naive twin.
#include "burtorch/io/summary.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace burtorch {
namespace summary_test {

constexpr double infinity = std::numeric_limits<double>::infinity(),
                 largest = std::numeric_limits<double>::max();
using Counts = std::vector<std::uint64_t>;

template <std::size_t Bins = 16> Summary<Bins> summaryOf(const std::vector<double>& numbers) {
  return summarize<Bins>(NumberType::f64, std::as_bytes(std::span(numbers)));
}
template <std::size_t Bins = 16> Histogram<Bins> histogramOf(const std::vector<double>& numbers) {
  Histogram<Bins> histogram;
  for (const double x : numbers) histogram.add(x);
  return histogram;
}
template <std::size_t Bins> Counts countsOf(const Histogram<Bins>& histogram) {
  return {histogram.counts().begin(), histogram.counts().end()};
}

TEST(Summary, CountsLeastMeanAndGreatest) {
  const auto summary = summaryOf({0.5, -1.25, 3, 0.25});
  EXPECT_EQ(summary.count(), 4U);
  EXPECT_EQ(summary.finite(), 4U);
  EXPECT_EQ(summary.min(), -1.25);
  EXPECT_EQ(summary.mean(), 0.625);
  EXPECT_EQ(summary.max(), 3);
}
TEST(Summary, WhatIsNotFiniteIsCountedAndLeftOut) {
  const auto summary = summaryOf({std::nan(""), 2, infinity, -infinity, 4, -std::nan(""), infinity});
  EXPECT_EQ(summary.count(), 7U);
  EXPECT_EQ(summary.nans(), 2U);
  EXPECT_EQ(summary.infinities(), 3U);
  EXPECT_EQ(summary.finite(), 2U);
  EXPECT_EQ(summary.min(), 2);
  EXPECT_EQ(summary.mean(), 3);
  EXPECT_EQ(summary.max(), 4);
}
TEST(Summary, WithoutFiniteNumbersThereIsNoLeastMeanOrGreatest) {
  for (const std::vector<double>& numbers :
       {std::vector<double>{}, {std::nan("")}, {infinity, std::nan("")}}) {
    const auto summary = summaryOf(numbers);
    EXPECT_EQ(summary.count(), numbers.size());
    EXPECT_EQ(summary.finite(), 0U);
    EXPECT_TRUE(std::isnan(summary.min()) && std::isnan(summary.mean()) && std::isnan(summary.max()));
    EXPECT_TRUE(summary.histogram().counts().empty());
  }
}
TEST(Summary, NumbersOfOneSign) {
  EXPECT_EQ(summaryOf({-3, -2}).max(), -2);
  EXPECT_EQ(summaryOf({-3, -2}).min(), -3);
  EXPECT_EQ(summaryOf({3, 2}).min(), 2);
}
TEST(Summary, TheMeanIsNotWornDownByMany) {
  // Added one after the other in double, a million tenths miss the mean by 1e-12.
  EXPECT_EQ(summaryOf(std::vector<double>(1'000'000, 0.1)).mean(), 0.1);
  std::vector<double> numbers(1'000, 1.0);
  numbers.front() = 1e17;
  numbers.back() = -1e17;
  EXPECT_EQ(summaryOf(numbers).mean(), 0.998);
}
TEST(Summary, TheMeanOfTheLargestNumbersIsFinite) {
  EXPECT_EQ(summaryOf({largest, largest, largest}).mean(), largest);
  EXPECT_EQ(summaryOf({largest, largest, -largest, -largest}).mean(), 0);
  EXPECT_EQ(summaryOf({-largest, -largest}).mean(), -largest);
}
TEST(Summary, TheMeanOfTheSmallestNumbersIsNotZero) { EXPECT_EQ(summaryOf({1e-320, 3e-320}).mean(), 2e-320); }
TEST(Summary, NumbersOfEveryTypeOfFiles) {
  const std::vector<float> single{0.5F, -2};
  const std::vector<std::uint16_t> half{0x3800, 0xC000}, brain{0x3F00, 0xC000};
  for (const auto& summary : {summarize(NumberType::f32, std::as_bytes(std::span(single))),
                              summarize(NumberType::f16, std::as_bytes(std::span(half))),
                              summarize(NumberType::bf16, std::as_bytes(std::span(brain)))}) {
    EXPECT_EQ(summary.min(), -2);
    EXPECT_EQ(summary.mean(), -0.75);
    EXPECT_EQ(summary.max(), 0.5);
  }
  const std::vector<std::int64_t> whole{-3, 5};
  EXPECT_EQ(summarize(NumberType::i64, std::as_bytes(std::span(whole))).mean(), 1);
}

TEST(Histogram, CountsTheNumbersOfEachBin) {
  const auto histogram = histogramOf({0, 1, 1.5, 3, 3.25, 3.5, 7.75, 15.75});
  EXPECT_EQ(histogram.width(), 1);
  EXPECT_EQ(histogram.lower(0), 0);
  EXPECT_EQ(histogram.lower(3), 3);
  EXPECT_EQ(countsOf(histogram), (Counts{1, 2, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}));
}
TEST(Histogram, ANumberOutsideJoinsBinsInPairs) {
  auto histogram = histogramOf({0, 1, 1.5, 3, 3.25, 3.5, 7.75, 15.75});
  histogram.add(16);
  EXPECT_EQ(histogram.width(), 2);
  EXPECT_EQ(countsOf(histogram), (Counts{3, 3, 0, 1, 0, 0, 0, 1, 1}));
}
TEST(Histogram, ZeroLiesBetweenBins) {
  const auto histogram = histogramOf({-8, -0.5, -0.0, 0, 0.5, 7});
  EXPECT_EQ(histogram.width(), 1);
  EXPECT_EQ(histogram.lower(0), -8);
  EXPECT_EQ(countsOf(histogram), (Counts{1, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 0, 0, 1}));
}
TEST(Histogram, EqualNumbersTakeOneBin) {
  for (const double x : {0.0, 1.0, -0.1, 1e300, -5e-324, largest}) {
    const auto histogram = histogramOf({x, x, x});
    EXPECT_EQ(countsOf(histogram), Counts{3}) << x;
    EXPECT_LE(histogram.lower(0), x);
    EXPECT_GT(histogram.lower(1), x);
  }
}
TEST(Histogram, NumbersFarFromZeroHaveNarrowBins) {
  std::vector<double> numbers;
  for (int i = 0; i < 16; ++i) numbers.push_back(1 + i * 0x1p-20);
  EXPECT_EQ(countsOf(histogramOf(numbers)), Counts(16, 1));
  EXPECT_EQ(histogramOf(numbers).width(), 0x1p-20);
}
TEST(Histogram, TheExtremesOfTheTypeFit) {
  const auto histogram = histogramOf({-largest, -5e-324, 5e-324, largest, 0});
  EXPECT_EQ(histogram.width(), 0x1p1021);
  EXPECT_EQ(countsOf(histogram), (Counts{1, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_EQ(countsOf(histogramOf<4>({-largest, largest})), (Counts{1, 0, 0, 1}));
}

/// The least power of two that lets the bins cover all numbers, found by trying, and their counts, in two passes.
Counts naive(const std::vector<double>& numbers, std::size_t bins, double& width, double& lower) {
  double low = numbers[0], high = numbers[0], size = 0;
  for (const double x : numbers) {
    low = std::min(low, x);
    high = std::max(high, x);
    size = std::max(size, std::abs(x));
  }
  int exponent = size < 0x1p-969 ? -1022 : std::ilogb(size) - 52;
  const auto binOf = [&](double x) {  // floor(x / 2^exponent); a tiny quotient must not become zero
    const double quotient = std::ldexp(x, -exponent);
    return quotient == 0 && x < 0 ? -1.0 : std::floor(quotient);
  };
  while (binOf(high) - binOf(low) >= static_cast<double>(bins)) ++exponent;
  Counts counts(static_cast<std::size_t>(binOf(high) - binOf(low)) + 1);
  for (const double x : numbers) ++counts[static_cast<std::size_t>(binOf(x) - binOf(low))];
  width = std::ldexp(1.0, exponent);
  lower = std::ldexp(binOf(low), exponent);
  return counts;
}
template <std::size_t Bins> void expectNaive(const std::vector<double>& numbers) {
  double width = 0, lower = 0;
  const Counts wanted = naive(numbers, Bins, width, lower);
  const auto histogram = histogramOf<Bins>(numbers);
  EXPECT_EQ(countsOf(histogram), wanted);
  EXPECT_EQ(histogram.width(), width);
  EXPECT_EQ(histogram.lower(0), lower);
}
TEST(Histogram, EqualsItsNaiveTwinWhateverTheOrder) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (int round = 0; round < 3'000 && !testing::Test::HasFailure(); ++round) {
    std::vector<double> numbers(1 + random() % 40);
    const double centre = round % 3 == 0 ? 0 : normal(random) * std::ldexp(1.0, round % 70 - 35);
    const int spread = round % 5 == 0 ? 600 : static_cast<int>(random() % 20);
    for (double& x : numbers)
      x = centre + std::ldexp(normal(random),
                              static_cast<int>(random() % (1U + static_cast<unsigned>(spread))) - spread / 2);
    expectNaive<16>(numbers);
    std::shuffle(numbers.begin(), numbers.end(), random);
    expectNaive<16>(numbers);
    expectNaive<4>(numbers);
    expectNaive<33>(numbers);
  }
}
TEST(Histogram, NumbersOfAnyBitsEqualTheNaiveTwin) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int round = 0; round < 3'000 && !testing::Test::HasFailure(); ++round) {
    std::vector<double> numbers;
    while (numbers.size() < 1 + static_cast<std::size_t>(round) % 9) {
      const std::uint64_t bits = random();
      double x = 0;
      std::memcpy(&x, &bits, sizeof x);
      if (std::isfinite(x)) numbers.push_back(x);
    }
    expectNaive<16>(numbers);
  }
}

}  // namespace summary_test
}  // namespace burtorch
