// All numbers of 16 bits against their definition.
#include "burtorch/io/half.hpp"

#include <gtest/gtest.h>

#include "reference/half_naive.hpp"

namespace burtorch {
namespace half_test {

template <class Fast, class Naive> void expectAllEqual(Fast fast, Naive naive) {
  int nans = 0;
  for (std::uint32_t i = 0; i < 65'536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const double found = static_cast<double>(fast(bits)), wanted = naive(bits);
    ASSERT_EQ(std::isnan(found), std::isnan(wanted)) << i;
    ASSERT_EQ(std::signbit(found), std::signbit(wanted)) << i;
    nans += std::isnan(found);
    ASSERT_TRUE(std::isnan(found) || found == wanted) << i;
  }
  EXPECT_GT(nans, 0);
}

TEST(Half, EveryFp16IsItsDefinition) { expectAllEqual(fromHalf, naive::fromHalf); }
TEST(Half, EveryBf16IsItsDefinition) { expectAllEqual(fromBfloat16, naive::fromBfloat16); }
TEST(Half, KnownNumbers) {
  EXPECT_EQ(fromHalf(0x3C00), 1.0F);
  EXPECT_EQ(fromHalf(0xC500), -5.0F);
  EXPECT_EQ(fromHalf(0x7BFF), 65504.0F);
  EXPECT_EQ(fromHalf(0x0001), 0x1p-24F);
  EXPECT_EQ(fromBfloat16(0x3F80), 1.0F);
  EXPECT_EQ(fromBfloat16(0xC0A0), -5.0F);
  EXPECT_EQ(fromBfloat16(0x0001), 0x1p-133F);
}

}  // namespace half_test
}  // namespace burtorch
