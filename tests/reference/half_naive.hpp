// Numbers of 16 bits by their definition, with powers of two: the slow twin of io/half.hpp.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace naive {

/// A float format of 1 bit of sign, then exponent, then fraction, 16 bits in all.
inline double fromSixteenBits(std::uint16_t bits, int exponentBits) {
  const int fractionBits = 15 - exponentBits, bias = (1 << (exponentBits - 1)) - 1;
  const int fraction = bits & ((1 << fractionBits) - 1), exponent = (bits & 0x7FFF) >> fractionBits;
  double size = 0;
  if (exponent == (1 << exponentBits) - 1)
    size = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  else if (exponent == 0)
    size = fraction * std::pow(2.0, 1 - bias - fractionBits);
  else
    size = ((1 << fractionBits) + fraction) * std::pow(2.0, exponent - bias - fractionBits);
  return (bits & 0x8000) != 0 ? std::copysign(size, -1.0) : size;
}

inline double fromHalf(std::uint16_t bits) { return fromSixteenBits(bits, 5); }
inline double fromBfloat16(std::uint16_t bits) { return fromSixteenBits(bits, 8); }

}  // namespace naive
