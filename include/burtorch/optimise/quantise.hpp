// Numbers as codes of a few bits, rounded up or down at random so that the mean is the number itself.
//
// Natural compression: |x| = 2^e (1 + m/M) becomes 2^(e+1) with probability m/M and 2^e otherwise, which is a comparison of the
// mantissa with random bits. The same rule holds below the smallest normal number, which becomes that number or 0: unbiased,
// but there the variance may exceed omega |x|^2.
// Levels: |x| s / norm becomes the whole number below or above, with the probability of its distance to the other.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "message.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {

template <class T> inline constexpr unsigned mantissaBits = std::numeric_limits<T>::digits - 1;

/// Sign and exponent of a number that was rounded to a power of two; `draw` is uniform, of as many bits as the mantissa.
template <class T> RawBits<T> naturalCode(T x, RawBits<T> draw) {
  const RawBits<T> bits = rawBits(x), mantissa = bits & ((RawBits<T>{1} << mantissaBits<T>)-1);
  return (bits >> mantissaBits<T>)+(draw < mantissa ? 1 : 0);
}
/// The number of a code, or infinity for one that no finite number has.
template <class T> T fromNaturalCode(RawBits<T> code) { return fromRawBits<T>(code << mantissaBits<T>); }
/// Larger numbers might be rounded to infinity.
template <class T> T largestNatural() {
  return fromRawBits<T>(static_cast<RawBits<T>>(2 * std::numeric_limits<T>::max_exponent - 2)
                        << mantissaBits<T>);
}

/// The level of |x| s / norm, which is at most s but for a rounding; `draw` is uniform in [0, 1).
inline std::uint32_t levelOf(double place, std::uint32_t levels, double draw) {
  const auto below = static_cast<std::uint32_t>(place);
  const std::uint32_t level = below + (draw < place - below ? 1u : 0u);
  return level < levels ? level : levels;
}
/// The number that many levels of `unit` are, with a sign.
template <class T> T fromLevel(std::uint64_t level, bool isNegative, T unit) {
  return fromRawBits<T>(rawBits(unit * static_cast<T>(level)) ^
                        static_cast<RawBits<T>>(RawBits<T>{isNegative} << (8 * sizeof(T) - 1)));
}

/// |x|, rounded up to a T, and infinity if that is too large for one. A square may be too large or too small for a double,
/// so numbers are divided by the largest of them first.
template <class Source> auto normOf(Source x, typename Source::Scalar largest) {
  using T = typename Source::Scalar;
  if (largest == 0) return T{0};
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double part = static_cast<double>(x[i]) / static_cast<double>(largest);
    sum += part * part;
  }
  const double norm = static_cast<double>(largest) * std::sqrt(sum);
  if (norm > static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::infinity();
  const T rounded = static_cast<T>(norm);
  return static_cast<double>(rounded) < norm ? std::nextafter(rounded, std::numeric_limits<T>::infinity())
                                             : rounded;
}

}  // namespace detail

}  // namespace burtorch::inline BURTORCH_TARGET
