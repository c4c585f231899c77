// Rounding at random: the exact mean by counting all draws, the variance, and what the codes decode to.
#include "burtorch/optimise/quantise.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>

#include "burtorch/base/rng.hpp"

namespace burtorch {
namespace quantise_test {

using detail::fromNaturalCode;
using detail::naturalCode;

/// Of 2^23 draws, how many round up: found by bisection, which the test below justifies.
double shareUp(float x) {
  const std::uint32_t down = naturalCode(x, (1u << 23) - 1);
  std::uint32_t first = 0, end = (1u << 23) - 1;
  while (first < end) {
    const std::uint32_t middle = (first + end) / 2;
    if (naturalCode(x, middle) != down)
      first = middle + 1;
    else
      end = middle;
  }
  return first / 8388608.0;
}
TEST(Natural, RoundsUpForAsManyDrawsAsTheMantissaSays) {
  for (const float x : {1.0f, -1.5f, 1.75f, 3.1415927f, -0.1f, 1e-40f}) {
    std::uint32_t up = 0;
    const std::uint32_t down = naturalCode(x, (1u << 23) - 1);
    for (std::uint32_t draw = 0; draw < 1u << 23; ++draw) up += naturalCode(x, draw) != down;
    EXPECT_EQ(up, detail::rawBits(x) & 0x7fffffu) << x;
    EXPECT_EQ(up / 8388608.0, shareUp(x)) << x;
  }
}

TEST(Natural, HasTheNumberAsItsMeanExactly) {
  Rng rng(3);
  for (int i = 0; i < 2000; ++i) {
    const float x = rng.normal<float>() * std::ldexp(1.0f, static_cast<int>(rng.below(200)) - 100);
    const double up = shareUp(x), below = fromNaturalCode<float>(naturalCode(x, (1u << 23) - 1)),
                 above = fromNaturalCode<float>(naturalCode(x, 0));
    EXPECT_EQ((1 - up) * below + up * above, static_cast<double>(x)) << "seed 3, number " << i;
    const double variance = (1 - up) * (below - x) * (below - x) + up * (above - x) * (above - x);
    EXPECT_LE(variance, 0.125 * x * x * (1 + 1e-14)) << "seed 3, number " << i;
  }
}

TEST(Natural, TheVarianceReachesItsBound) {
  const float x = 4.0f / 3;  // where (x - 1)(2 - x)/x^2 is largest
  const double up = shareUp(x);
  EXPECT_NEAR((1 - up) * (x - 1) * (x - 1) + up * (2 - x) * (2 - x), 0.125 * x * x, 1e-7);
}

TEST(Natural, IsUnbiasedBelowTheSmallestNormalNumber) {
  const float x = std::ldexp(0.3f, -126);
  const double up = shareUp(x);
  EXPECT_EQ(up * std::ldexp(1.0, -126), static_cast<double>(x));
  EXPECT_EQ(fromNaturalCode<float>(naturalCode(x, (1u << 23) - 1)), 0);
}

TEST(Natural, KeepsPowersOfTwoAndZeros) {
  for (const double x : {1.0, -2.0, 0.0, -0.0, 0x1p1023, 0x1p-1022})
    for (const std::uint64_t draw : {std::uint64_t{0}, (std::uint64_t{1} << 52) - 1}) {
      EXPECT_EQ(fromNaturalCode<double>(naturalCode(x, draw)), x);
      EXPECT_EQ(std::signbit(fromNaturalCode<double>(naturalCode(x, draw))), std::signbit(x));
    }
}

TEST(Natural, TheLargestNumberItTakesStaysFinite) {
  EXPECT_EQ(detail::largestNatural<float>(), 0x1p127f);
  EXPECT_EQ(detail::largestNatural<double>(), 0x1p1023);
  EXPECT_EQ(fromNaturalCode<float>(naturalCode(0x1p127f, 0u)), 0x1p127f);
  EXPECT_TRUE(std::isinf(fromNaturalCode<float>(naturalCode(std::nextafter(0x1p127f, 0x1.8p127f), 0u))));
}

TEST(Levels, HaveTheNumberAsTheirMeanExactly) {
  // Places that are multiples of 1/64 and all draws that are: the sums are exact.
  for (int place = 0; place <= 4 * 64; ++place) {
    double sum = 0, squares = 0;
    for (int draw = 0; draw < 64; ++draw) {
      const double level = detail::levelOf(place / 64.0, 4, draw / 64.0);
      sum += level;
      squares += (level - place / 64.0) * (level - place / 64.0);
    }
    EXPECT_EQ(sum / 64, place / 64.0);
    EXPECT_LE(squares / 64, 0.25);
    EXPECT_LE(squares / 64, place / 64.0);  // which together bound the variance by min(d/s^2, sqrt(d)/s)
  }
}

TEST(Levels, StayBelowTheirNumber) {
  EXPECT_EQ(detail::levelOf(std::nextafter(4.0, 5.0), 4, 0.0), 4u);
  EXPECT_EQ(detail::levelOf(4.0, 4, 0.999), 4u);
}

TEST(Levels, DecodeWithTheirSign) {
  EXPECT_EQ(detail::fromLevel(3, false, 0.5), 1.5);
  EXPECT_EQ(detail::fromLevel(3, true, 0.5f), -1.5f);
}

struct Vector {
  using Scalar = double;
  const double* numbers;
  std::size_t count;
  std::size_t size() const { return count; }
  double operator[](std::size_t i) const { return numbers[i]; }
};
TEST(Levels, TheNormNeitherOverflowsNorVanishes) {
  const double large[] = {3e200, -4e200}, small[] = {3e-310, 4e-310}, none[] = {0, 0},
               huge[] = {1.7e308, 1.7e308};
  EXPECT_DOUBLE_EQ(detail::normOf(Vector{large, 2}, 4e200), 5e200);
  EXPECT_NEAR(detail::normOf(Vector{small, 2}, 4e-310) / 5e-310, 1, 1e-13);
  EXPECT_EQ(detail::normOf(Vector{none, 2}, 0.0), 0);
  EXPECT_TRUE(std::isinf(detail::normOf(Vector{huge, 2}, 1.7e308)));
}

}  // namespace quantise_test
}  // namespace burtorch
