// CRC-32C gives the published checksums, and those of a division done bit by bit.
#include "burtorch/io/crc32c.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "burtorch/base/rng.hpp"
#include "io/crc32c_bitwise.hpp"

namespace burtorch {
namespace crc32c_test {

std::string sequence(int first, int step) {
  std::string bytes;
  for (int i = 0; i < 32; ++i) bytes += static_cast<char>(first + step * i);
  return bytes;
}

TEST(Crc32c, PublishedChecksums) {
  EXPECT_EQ(crc32c(""), 0U);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43U);
  EXPECT_EQ(crc32c(sequence(0, 1)), 0x46DD794EU);
  EXPECT_EQ(crc32c(sequence(31, -1)), 0x113FDB5CU);
}
TEST(Crc32c, IsKnownToTheCompiler) { static_assert(crc32c("123456789") == 0xE3069283U); }
TEST(Crc32c, IsThatOfTheDivisionBitByBit) {
  Rng rng(3);
  for (std::size_t length = 0; length < 300; ++length) {
    std::string bytes;
    for (std::size_t i = 0; i < length; ++i) bytes += static_cast<char>(rng.below(256));
    ASSERT_EQ(crc32c(bytes), crc32cBitwise(bytes)) << length;
  }
}
TEST(Crc32c, MaskedIsTurnedRightBy15BitsAndThenShifted) {
  EXPECT_EQ(maskedCrc32c(""), 0xA282EAD8U);
  EXPECT_EQ(maskedCrc32c("123456789"), 0x2507C60DU + 0xA282EAD8U);
  EXPECT_EQ(maskedCrc32c(std::string(32, '\0')), 0x0FD7FFFAU) << "0x6D551522 + 0xA282EAD8, beyond 2^32";
}

}  // namespace crc32c_test
}  // namespace burtorch
