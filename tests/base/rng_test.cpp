// Random numbers: the published stream of SplitMix64, the same bits on every platform, and the right distributions.
//
// Seeds are fixed, so a test of a distribution passes always or never. Its bound is the one that one seed in 10,000 would
// break if the distribution were exact.
#include "burtorch/base/rng.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "reference/error_sentence.hpp"

namespace rng_test {

using burtorch::Rng;

// ---- the stream ----

TEST(Rng, IsSplitMix64) {
  Rng zero(0), other(1234567);
  for (const std::uint64_t want : {0xe220a8397b1dcdafu, 0x6e789e6aa1b965f4u, 0x06c45d188009454fu})
    EXPECT_EQ(zero.next(), want);
  for (const std::uint64_t want : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                   4593380528125082431u, 16408922859458223821u})
    EXPECT_EQ(other.next(), want);
}
TEST(Rng, RunsInConstantExpressions) {
  static_assert([] {
    Rng rng(0);
    rng.discard(1);
    return rng.next() == 0x6e789e6aa1b965f4u && rng.below(6) < 6 && rng.uniform<double>() < 1;
  }());
}
TEST(Rng, SkipIsRepeatedNext) {
  for (const std::uint64_t count : {0u, 1u, 2u, 1000u}) {
    Rng slow(99), fast(99);
    for (std::uint64_t i = 0; i < count; ++i) slow.next();
    fast.discard(count);
    EXPECT_EQ(fast.next(), slow.next()) << count;
  }
}
TEST(Rng, TheStateIsAllThereIs) {
  Rng rng(5), other(6);
  for (int i = 0; i < 3; ++i) rng.normal<double>();
  other.setState(rng.state());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(other.normal<double>(), rng.normal<double>());
}
TEST(Rng, StreamsOfDifferentKeysHaveNothingInCommon) {
  std::set<std::uint64_t> seen;
  constexpr std::uint64_t keys = 300, draws = 100;
  for (std::uint64_t key = 0; key < keys; ++key) {
    Rng rng(42, key);
    for (std::uint64_t i = 0; i < draws; ++i) seen.insert(rng.next());
  }
  Rng plain(42);
  for (std::uint64_t i = 0; i < draws; ++i) seen.insert(plain.next());
  EXPECT_EQ(seen.size(), (keys + 1) * draws);
  EXPECT_NE(Rng(42, 1).next(), Rng(43, 1).next());
  EXPECT_NE(Rng(1, 2).next(), Rng(2, 1).next());
}

// ---- whole numbers ----

/// Sum of (found - expected)^2 / expected over equally likely bins.
template <std::size_t n> double chiSquare(const std::array<int, n>& bins) {
  double total = 0, sum = 0;
  for (const int found : bins) total += found;
  const double expected = total / static_cast<double>(n);
  for (const int found : bins) sum += (found - expected) * (found - expected) / expected;
  return sum;
}

TEST(RngBelow, IsFair) {
  Rng rng(2024);
  std::array<int, 10> bins{};
  for (int i = 0; i < 200'000; ++i) ++bins.at(rng.below(10));
  EXPECT_LT(chiSquare(bins), 33.72);  // 9 degrees of freedom
}
/// Four random words for three results: without drawing again, every third result would come twice as often.
TEST(RngBelow, IsFairWhereWordsDoNotDivideEvenly) {
  Rng rng(2025);
  std::array<int, 3> bins{};
  for (int i = 0; i < 100'000; ++i) ++bins.at(rng.below(std::size_t{3} << 30) % 3);
  EXPECT_LT(chiSquare(bins), 18.42);  // 2 degrees of freedom
}
TEST(RngBelow, ReachesEveryNumberAndNoOther) {
  Rng rng(3);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rng.below(1), 0u);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(rng.below(7));
  EXPECT_EQ(seen, (std::set<std::uint32_t>{0, 1, 2, 3, 4, 5, 6}));
  for (int i = 0; i < 1000; ++i) EXPECT_LT(rng.below(UINT32_MAX), UINT32_MAX);
}
TEST(RngBelow, RefusesWhatItCannotDraw) {
  Rng rng(3);
  EXPECT_EQ(sentenceOf([&] { rng.below(0); }), "Rng::below(0): from 1 to 2^32 - 1 is possible");
  EXPECT_EQ(sentenceOf([&] { rng.below(std::size_t{1} << 32); }),
            "Rng::below(4294967296): from 1 to 2^32 - 1 is possible");
}

// ---- real numbers ----

/// The largest distance between the share of samples below x and `distribution(x)`.
template <class F> double kolmogorovSmirnov(std::vector<double> samples, F distribution) {
  std::sort(samples.begin(), samples.end());
  const auto n = static_cast<double>(samples.size());
  double largest = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double p = distribution(samples[i]), before = static_cast<double>(i) / n;
    largest = std::max({largest, p - before, before + 1 / n - p});
  }
  return largest;
}
constexpr double ksBound = 2.226;  // over the root of the number of samples

template <class T> class RngOf : public testing::Test {};
using Scalars = testing::Types<double, float>;
TYPED_TEST_SUITE(RngOf, Scalars);

TYPED_TEST(RngOf, UniformFillsTheUnitInterval) {
  Rng rng(11);
  std::vector<double> samples(100'000);
  for (double& x : samples) {
    const TypeParam drawn = rng.uniform<TypeParam>();
    ASSERT_TRUE(drawn >= 0 && drawn < 1) << drawn;
    x = drawn;
  }
  EXPECT_LT(kolmogorovSmirnov(samples, [](double x) { return x; }), ksBound / std::sqrt(1e5));
}
TYPED_TEST(RngOf, UniformIsAWholeNumberOfItsSmallestSteps) {
  Rng rng(12), words(12);
  constexpr int bits = std::numeric_limits<TypeParam>::digits;
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(std::ldexp(rng.uniform<TypeParam>(), bits),
              static_cast<TypeParam>(words.next() >> (64 - bits)));
}

/// The k-th moment of n samples strays from its expectation m_k by sqrt((m_2k - m_k^2) / n); 3.9 of these are allowed.
TYPED_TEST(RngOf, NormalHasTheMomentsOfTheBell) {
  Rng rng(13);
  constexpr int n = 200'000;
  double moments[5] = {};
  for (int i = 0; i < n; ++i) {
    const double x = rng.normal<TypeParam>();
    for (int k = 1; k <= 4; ++k) moments[k] += std::pow(x, k) / n;
  }
  EXPECT_NEAR(moments[1], 0, 3.9 * std::sqrt(1.0 / n));
  EXPECT_NEAR(moments[2], 1, 3.9 * std::sqrt(2.0 / n));
  EXPECT_NEAR(moments[3], 0, 3.9 * std::sqrt(15.0 / n));
  EXPECT_NEAR(moments[4], 3, 3.9 * std::sqrt(96.0 / n));
}
TYPED_TEST(RngOf, NormalHasTheDistributionOfTheBell) {
  Rng rng(14);
  std::vector<double> samples(200'000);
  for (double& x : samples) x = rng.normal<TypeParam>();
  const auto bell = [](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; };
  EXPECT_LT(kolmogorovSmirnov(samples, bell), ksBound / std::sqrt(2e5));
}
/// One in 31,574 samples lies beyond 4; of 200,000 that is 12.7 with a spread of 3.6.
TEST(RngNormal, HasTails) {
  Rng rng(15);
  int beyond = 0;
  for (int i = 0; i < 200'000; ++i) beyond += std::abs(rng.normal<double>()) > 4;
  EXPECT_GE(beyond, 2);
  EXPECT_LE(beyond, 28);
}

/// Checked with g++ 12 and clang 14 at -O0, at -O3 -march=native, with -ffp-contract=off and fast: always these bits.
TEST(RngNormal, HasTheSameBitsEverywhere) {
  Rng rng(42), single(42);
  for (const double want :
       {0x1.f8c80e851c08cp-2, -0x1.47f4af60c7f94p+0, -0x1.342959c9fa344p-1, -0x1.8ad8264f1e64ep+0,
        -0x1.73962f43d35a8p+0, 0x1.f0006370cf65bp+0, 0x1.360cd49f8cac2p-1, -0x1.ed400da52bb3fp-1}) {
    EXPECT_EQ(rng.normal<double>(), want);
    EXPECT_EQ(single.normal<float>(), static_cast<float>(want));
  }
}
/// Against the formula with the C library's logarithm: the right number, not only the right distribution.
TEST(RngNormal, IsMarsagliasPolarMethod) {
  Rng rng(16), coordinates(16);
  for (int i = 0; i < 10'000; ++i) {
    long double u = 0, square = 0;
    while (square == 0 || square >= 1) {
      u = 2 * coordinates.uniform<double>() - 1;
      const long double v = 2 * coordinates.uniform<double>() - 1;
      square = u * u + v * v;
    }
    const auto want = static_cast<double>(u * std::sqrt(-2 * std::log(square) / square));
    // Where the point is close to the circle, log(square) takes over the rounding of the square.
    EXPECT_NEAR(rng.normal<double>(), want,
                4e-16 * std::abs(want) * (1 + 1 / (1 - static_cast<double>(square))));
  }
}

}  // namespace rng_test
