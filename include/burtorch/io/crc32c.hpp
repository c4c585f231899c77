// CRC-32C (Castagnoli): 32 bits that tell a damaged record of an event file from a whole one. Against accidents only: anyone
// can make bytes with a wanted checksum.
//
// By a table of 256 numbers, which the compiler makes, a byte at a time: records have some fifty bytes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "../base/config.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {

/// What a byte does to the remainder. The polynomial is 0x1EDC6F41; here its bits are reversed, since the first bit of a
/// byte is its lowest one.
inline constexpr std::array<std::uint32_t, 256> crc32cTable = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit) remainder = (remainder >> 1) ^ ((remainder & 1U) * 0x82F63B78U);
    table[byte] = remainder;
  }
  return table;
}();

}  // namespace detail

constexpr std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t remainder = ~std::uint32_t{0};
  for (const char byte : bytes)
    remainder =
        detail::crc32cTable[(remainder ^ static_cast<unsigned char>(byte)) & 0xFFU] ^ (remainder >> 8);
  return ~remainder;
}

/// As it stands beside the bytes in a file: turned and shifted, because the checksum of bytes that contain their own
/// checksum says little.
constexpr std::uint32_t maskedCrc32c(std::string_view bytes) {
  const std::uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

}  // namespace burtorch::inline BURTORCH_TARGET
