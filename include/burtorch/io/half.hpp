// Numbers of 16 bits as float, exactly: every fp16 and every bf16 number is also a float. A NaN stays a NaN with its sign
// and its bits.
#pragma once

#include <cstdint>
#include <cstring>

#include "../base/config.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// A bf16 is the upper half of a float.
inline float fromBfloat16(std::uint16_t bits) {
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float result = 0;
  std::memcpy(&result, &wide, sizeof result);
  return result;
}

/// An fp16: 1 bit of sign, 5 of exponent (bias 15, a float's is 127), 10 of fraction (a float has 23).
inline float fromHalf(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16, exponent = (bits >> 10) & 0x1FU,
                      fraction = bits & 0x3FFU;
  if (exponent == 0) {  // fraction * 2^-24: zero, or too small for fp16's exponent but not for float's
    const float size = static_cast<float>(fraction) * 0x1p-24F;
    return sign != 0 ? -size : size;
  }
  const std::uint32_t wideExponent = exponent == 31 ? 255 : exponent + (127 - 15);
  const std::uint32_t wide = sign | (wideExponent << 23) | (fraction << 13);
  float result = 0;
  std::memcpy(&result, &wide, sizeof result);
  return result;
}

}  // namespace burtorch::inline BURTORCH_TARGET
