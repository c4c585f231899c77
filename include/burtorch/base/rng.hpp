// Random numbers with an explicit seed: the same stream on every platform and compiler.
//
// SplitMix64: a counter that advances by an odd constant, mixed into 64 bits. So any place of the stream can be reached
// directly (`skip`), streams of one seed can be split by a key, and the whole state is one number that can be saved.
// The standard library's distributions are not used: they may differ between implementations. Nor are its functions, but
// sqrt and fma, which IEEE 754 defines to the last bit.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "check.hpp"

namespace burtorch {

class Rng {
 public:
  constexpr explicit Rng(std::uint64_t seed = 0) : state_(seed) {}
  /// An independent stream of the same seed.
  constexpr Rng(std::uint64_t seed, std::uint64_t key) : state_(mix(seed ^ mix(key + step))) {}

  /// 64 random bits.
  constexpr std::uint64_t next() { return mix(state_ += step); }
  constexpr void discard(std::uint64_t count) { state_ += step * count; }

  /// A whole number from 0 to count - 1, each equally likely.
  constexpr std::uint32_t below(std::size_t count) {
    if (count == 0 || count > UINT32_MAX) fail("Rng::below(%zu): from 1 to 2^32 - 1 is possible", count);
    // Lemire: the high word of a product; the few low words that would favour some results are drawn again. They are
    // less than 2^32 % count < count, so that the division is rarely needed.
    std::uint64_t product = (next() >> 32) * count;
    if ((product & UINT32_MAX) < count) {
      const std::uint64_t unfair = (UINT64_C(1) << 32) % count;
      while ((product & UINT32_MAX) < unfair) product = (next() >> 32) * count;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }
  /// An index from 0 to count - 1 in data of any size, each equally likely; below 2^32 the same as `below`.
  constexpr std::size_t index(std::size_t count) {
    if (count <= UINT32_MAX) return below(count);
    // The fewest bits that can name every index: at least every second draw is inside.
    std::uint64_t mask = UINT64_MAX;
    while (mask >> 1 >= count - 1) mask >>= 1;
    std::uint64_t drawn = next() & mask;
    while (drawn >= count) drawn = next() & mask;
    return static_cast<std::size_t>(drawn);
  }
  /// From [0, 1), as many bits as T holds.
  template <std::floating_point T> constexpr T uniform() {
    constexpr int bits = sizeof(T) == 4 ? 24 : 53;
    return static_cast<T>(next() >> (64 - bits)) / static_cast<T>(UINT64_C(1) << bits);
  }
  /// From the normal distribution of mean 0 and variance 1; a float is the rounded double. Takes two numbers of the stream,
  /// or four, six, ...: `skip` cannot jump over a given count of these.
  // Marsaglia's polar method: of a point in the unit circle, one coordinate, stretched. The other one would be a second
  // normal number, but keeping it would make the state more than one number.
  // A product and a sum that follow each other are fused by some compilers and not by others, so here they are fused by
  // hand; and a division comes last, which nobody can fuse with what the caller adds.
  template <std::floating_point T> T normal() {
    double u = 0, square = 0;
    while (square == 0 || square >= 1) {
      u = 2 * uniform<double>() - 1;  // exact, either way
      const double v = 2 * uniform<double>() - 1;
      square = std::fma(u, u, v * v);
    }
    return static_cast<T>(u / std::sqrt(square / (-2 * logarithm(square))));
  }

  constexpr std::uint64_t state() const { return state_; }
  constexpr void setState(std::uint64_t state) { state_ = state; }

 private:
  static constexpr std::uint64_t step = 0x9e3779b97f4a7c15;  // 2^64 / golden ratio, odd
  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  /// Of a normal number. x = 2^k m with m around 1, log(m) = 2 atanh(s) = 2 s + 2/3 s^3 + 2/5 s^5 + ...
  static double logarithm(double x) {
    constexpr std::uint64_t rootOfHalf = 0x3fe6a09e667f3bcd, mantissa = (UINT64_C(1) << 52) - 1;
    std::uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    bits += (UINT64_C(1023) << 52) - rootOfHalf;
    const double k = static_cast<double>(bits >> 52) - 1023;
    bits = (bits & mantissa) + rootOfHalf;
    double m;
    std::memcpy(&m, &bits, sizeof m);
    const double s = (m - 1) / (m + 1), z = s * s;
    double series = 2.0 / 23;  // |s| <= 0.172: what is left out is less than a rounding
    for (int n = 21; n > 1; n -= 2) series = std::fma(series, z, 2.0 / n);
    constexpr double ln2 = 0x1.62e42fefa39efp-1;
    return std::fma(k, ln2, std::fma(s * z, series, s + s));
  }

  std::uint64_t state_;
};

}  // namespace burtorch
