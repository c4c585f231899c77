// The K numbers of the largest magnitude, and of equals those that come first.
//
// Magnitudes are compared as the bits of their numbers, so that a radix selection finds the K-th largest: each pass counts the
// values of the next few bits among those that agree with it so far, and random numbers are told apart after two or three. Then
// one pass lists what is above it. Linear, without comparisons of a sort and without memory beyond the counts; the source may
// compute its numbers, x[i] - y[i], since they are only read.
//
// Where a few of many are wanted, some numbers are looked at first: they tell a magnitude that hardly more than K have. One pass, a
// vector at a time, lists those that do, and the selection is among them; if they are fewer than K it is among all. So the result
// is exact whatever the numbers are, only the time is not.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "message.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Finds the K largest magnitudes, again and again, in memory that it keeps.
class TopSelection {
 public:
  /// The indices of the k largest, 1 <= k <= x.size(), in ascending order. A NaN is larger than everything.
  template <class Source> std::span<const std::uint32_t> select(Source x, std::size_t k) {
    const std::size_t d = x.size();
    indices_.resize(k + 1);
    if (k == d) {
      std::iota(indices_.begin(), indices_.end(), 0u);
      return std::span(indices_).first(k);
    }
    if (d >= fewest && k <= d / 8)
      if (const std::span<const std::uint32_t> candidates = listCandidates(x, k); candidates.size() >= k) {
        selectAmong(Listed<Source>{x, candidates}, k);
        for (std::size_t i = 0; i < k; ++i) indices_[i] = candidates[indices_[i]];
        return std::span(indices_).first(k);
      }
    return selectAmong(x, k);
  }

 private:
  static constexpr unsigned digitBits = 11, sampleBits = 16;
  static constexpr std::size_t fewest = 8192, sampleSize = 1024;

  /// Some numbers of a source.
  template <class Source> struct Listed {
    using Scalar = typename Source::Scalar;
    Source x;
    std::span<const std::uint32_t> indices;
    std::size_t size() const { return indices.size(); }
    Scalar operator[](std::size_t i) const { return x[indices[i]]; }
  };

  /// Lists all that are at least as large as a magnitude which a sample says is low enough, unless they are so many that nothing is
  /// gained.
  template <class Source> std::span<const std::uint32_t> listCandidates(Source x, std::size_t k) {
    using T = typename Source::Scalar;
    using Bits = detail::RawBits<T>;
    const std::size_t d = x.size(), step = d / sampleSize;
    Bits sample[sampleSize];
    for (std::size_t i = 0; i < sampleSize; ++i)
      sample[i] = detail::magnitudeBits(static_cast<T>(x[i * step]));
    // Of as many as k stands for, three deviations more, so that a second look is rare.
    const double expected = static_cast<double>(k) * sampleSize / static_cast<double>(d);
    const auto rank = static_cast<std::size_t>(expected + 3 * std::sqrt(expected) + 3);
    // The first bits of that magnitude will do, and without branches that nobody can predict: bit by bit, by counting.
    Bits least = 0;
    for (unsigned bit = 8 * sizeof(T) - 1; bit-- > 8 * sizeof(T) - 1 - sampleBits;) {
      const Bits higher = least | Bits{1} << bit;
      Bits count = 0;
      for (std::size_t i = 0; i < sampleSize; ++i) count += sample[i] >= higher ? 1 : 0;
      if (count > rank) least = higher;
    }
    if (candidates_.size() < d / 2 + 32) candidates_.resize(d / 2 + 32);  // more than a group over
    std::uint32_t *next = candidates_.data(), *const end = next + d / 2;
    // As many at once as fill 64 bytes: what is large enough is a byte of ones.
    constexpr std::size_t group = 64 / sizeof(T);
    using Signed = std::make_signed_t<Bits>;
    typedef Signed Magnitudes __attribute__((vector_size(64)));
    typedef signed char Bytes __attribute__((vector_size(group)));
    std::size_t i = 0;
    for (; i + group <= d && next < end; i += group) {
      T numbers[group];
      for (std::size_t j = 0; j < group; ++j) numbers[j] = x[i + j];
      Magnitudes magnitudes;
      std::memcpy(&magnitudes, numbers, sizeof magnitudes);
      magnitudes &= std::numeric_limits<Signed>::max();
      const Bytes isLarge = __builtin_convertvector(magnitudes >= static_cast<Signed>(least), Bytes);
      std::uint64_t words[group / 8];
      std::memcpy(words, &isLarge, sizeof words);
      for (std::size_t w = 0; w < group / 8; ++w)
        for (std::uint64_t left = words[w]; left != 0;) {
          const auto byte = static_cast<unsigned>(std::countr_zero(left)) / 8;
          *next++ = static_cast<std::uint32_t>(i + 8 * w + byte);
          left &= ~(std::uint64_t{255} << 8 * byte);
        }
    }
    if (next >= end) return {};
    for (; i < d; ++i)
      if (detail::magnitudeBits(static_cast<T>(x[i])) >= least) *next++ = static_cast<std::uint32_t>(i);
    return {candidates_.data(), next};
  }
  /// The indices of the k largest in ascending order, in `indices_`.
  template <class Source> std::span<const std::uint32_t> selectAmong(Source x, std::size_t k) {
    using T = typename Source::Scalar;
    const std::size_t d = x.size();
    const Threshold<T> threshold = find(x, k);
    // Without branches: what is not taken is overwritten by the next one. All of those above come to be listed, so ties end
    // as soon as the rest is for them.
    std::uint32_t* next = indices_.data();
    std::size_t ties = threshold.ties;
    for (std::size_t i = 0; i < d; ++i) {
      const detail::RawBits<T> magnitude = detail::magnitudeBits(static_cast<T>(x[i]));
      const bool isTie = (magnitude >> threshold.shift) == threshold.prefix && ties > 0;
      *next = static_cast<std::uint32_t>(i);
      next += (magnitude >> threshold.shift) > threshold.prefix || isTie;
      ties -= isTie;
    }
    return std::span(indices_).first(k);
  }

  /// Magnitudes whose leading bits are above `prefix` are taken, and the first `ties` of those whose are equal.
  template <class T> struct Threshold {
    detail::RawBits<T> prefix = 0;
    unsigned shift = 8 * sizeof(T) - 1;
    std::size_t ties = 0;
  };

  template <class Source> auto find(Source x, std::size_t k) {
    using T = typename Source::Scalar;
    Threshold<T> threshold{.ties = k};
    while (threshold.shift > 0) {
      const unsigned bits = threshold.shift < digitBits ? threshold.shift : digitBits;
      const unsigned shift = threshold.shift - bits;
      const detail::RawBits<T> mask = (detail::RawBits<T>{1} << bits) - 1;
      count(x, threshold, shift, mask);
      std::size_t digit = mask;
      for (; counts_[digit] < threshold.ties; --digit) threshold.ties -= counts_[digit];
      threshold.prefix = static_cast<detail::RawBits<T>>(threshold.prefix << bits | digit);
      threshold.shift = shift;
      if (counts_[digit] == threshold.ties) break;  // all of them are taken
    }
    return threshold;
  }

  /// Counts the next digit of those that agree with the prefix. Four counters for each: neighbours that are alike would wait
  /// for each other.
  template <class Source, class T>
  void count(Source x, const Threshold<T>& threshold, unsigned shift, detail::RawBits<T> mask) {
    constexpr std::size_t lanes = 4, digits = std::size_t{1} << digitBits;
    counts_.assign(lanes * digits, 0);
    std::uint32_t* const counts = counts_.data();
    const auto add = [&](std::size_t i, std::size_t lane) {
      const detail::RawBits<T> magnitude = detail::magnitudeBits(static_cast<T>(x[i]));
      if ((magnitude >> threshold.shift) == threshold.prefix)
        ++counts[lane * digits + (magnitude >> shift & mask)];
    };
    std::size_t i = 0;
    for (; i + lanes <= x.size(); i += lanes)
      for (std::size_t lane = 0; lane < lanes; ++lane) add(i + lane, lane);
    for (; i < x.size(); ++i) add(i, 0);
    for (std::size_t digit = 0; digit < digits; ++digit)
      for (std::size_t lane = 1; lane < lanes; ++lane) counts[digit] += counts[lane * digits + digit];
  }

  std::vector<std::uint32_t> counts_, indices_, candidates_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
