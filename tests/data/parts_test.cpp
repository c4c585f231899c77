// Where data is split, and random places in it.
#include "burtorch/data/parts.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace parts_test {

TEST(Parts, ValidationGetsItsFractionRounded) {
  EXPECT_EQ(trainingCount(1000, 0.1), 900u);
  EXPECT_EQ(trainingCount(10, 0.3), 7u);
  EXPECT_EQ(trainingCount(7, 0.1), 6u);
  EXPECT_EQ(trainingCount(3, 0.1), 3u);
  EXPECT_EQ(trainingCount(1115394, 0.1), 1003855u);
}

TEST(Parts, AllOrNothingCanBeForValidation) {
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{12345}, SIZE_MAX}) {
    EXPECT_EQ(trainingCount(count, 0.0), count);
    EXPECT_EQ(trainingCount(count, 1.0), 0u);
  }
}

TEST(Parts, AFractionOutsideZeroToOneIsAnError) {
  for (const double fraction : {-0.1, 1.01, std::nan(""), static_cast<double>(INFINITY)})
    EXPECT_NE(sentenceOf([&] { trainingCount(10, fraction); }).find("between 0 and 1"), std::string::npos)
        << fraction;
}

TEST(Parts, PlacesAreThoseOfTheGeneratorAsLongAsItReaches) {
  Rng places(5), numbers(5);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(places.index(77), numbers.below(77));
}

// Each third of the data is hit about as often; the standard deviation of a count is 82.
TEST(Parts, PlacesOfLargeDataAreSpreadEvenly) {
  const std::uint64_t seed = 11;
  for (const std::uint64_t count : {(UINT64_C(1) << 32) + 1, UINT64_C(3) << 33, UINT64_C(1000000000000)}) {
    Rng rng(seed);
    int hits[3] = {};
    for (int i = 0; i < 30000; ++i) {
      const std::uint64_t place = rng.index(count);
      ASSERT_LT(place, count);
      ++hits[place / (count / 3 + 1)];
    }
    for (const int hit : hits) EXPECT_NEAR(hit, 10000, 400) << "count " << count << ", seed " << seed;
  }
}

}  // namespace parts_test
}  // namespace burtorch
