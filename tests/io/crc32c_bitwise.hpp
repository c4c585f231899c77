// The naive twin of crc32c: the division by the polynomial, a bit at a time, without a table.
#pragma once

#include <cstdint>
#include <string_view>

inline std::uint32_t crc32cBitwise(std::string_view bytes) {
  std::uint32_t remainder = 0xFFFFFFFFU;
  for (const char c : bytes) {
    for (int bit = 0; bit < 8; ++bit) {
      const bool isOne = ((static_cast<unsigned char>(c) >> bit) & 1) != 0;
      const bool isCarried = (remainder & 1U) != 0;
      remainder >>= 1;
      if (isOne != isCarried) remainder ^= 0x82F63B78U;
    }
  }
  return ~remainder;
}
