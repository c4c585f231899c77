// What a compressor is: a struct of options that knows how much it sends and how far it is from the identity.
//
//   unbiased     E C(x) = x, E|C(x) - x|^2 <= omega |x|^2
//   contractive  E|C(x) - x|^2 <= (1 - alpha) |x|^2
//
// An unbiased compressor divided by 1 + omega is contractive with alpha = 1/(1 + omega); encode.hpp writes either form. One
// that is value-independent chooses its coordinates before it sees a number (coordinate_set.hpp). Text names a compressor,
// compressor_text.hpp.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "../base/check.hpp"
#include "../base/config.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// K of d coordinates: as a count, or as a fraction of d, rounded to a count of at least 1.
struct Share {
  double fraction = 0;      // above 0, up to 1
  std::uint64_t count = 0;  // or a count, at least 1

  /// K; `who` is for the error.
  std::size_t of(std::size_t d, const char* who) const {
    if (count > 0 && fraction == 0) {
      if (count > d)
        fail(ErrorCode::outOfRange, "%s: expected at most %zu coordinates, got K = %llu", who, d,
             static_cast<unsigned long long>(count));
      return static_cast<std::size_t>(count);
    }
    if (count > 0 || !(fraction > 0 && fraction <= 1))
      fail(
          "%s: expected K, a count of at least 1, or a fraction above 0 and up to 1, got a fraction of %g "
          "and a "
          "count of %llu",
          who, fraction, static_cast<unsigned long long>(count));
    return std::max<std::size_t>(1, static_cast<std::size_t>(fraction * static_cast<double>(d) + 0.5));
  }
};

/// Sends everything.
struct Identity {
  static constexpr std::string_view name = "identity";
  static constexpr bool isUnbiased = true, isValueIndependent = true;
  double omega(std::size_t) const { return 0; }
};

/// Sends K coordinates, every set of K equally likely.
struct RandK {
  Share share{};
  static constexpr std::string_view name = "randk";
  static constexpr bool isUnbiased = true, isValueIndependent = true;
  double omega(std::size_t d) const {
    return static_cast<double>(d) / static_cast<double>(share.of(d, "RandK")) - 1;
  }
};

/// Sends K consecutive coordinates from a random one on, around the end: one draw, at most two copies.
struct RandSeqK {
  Share share{};
  static constexpr std::string_view name = "randseqk";
  static constexpr bool isUnbiased = true, isValueIndependent = true;
  double omega(std::size_t d) const {
    return static_cast<double>(d) / static_cast<double>(share.of(d, "RandSeqK")) - 1;
  }
};

/// Sends the K coordinates of the largest magnitude, and of equals the first ones. Biased.
struct TopK {
  Share share{};
  static constexpr std::string_view name = "topk";
  static constexpr bool isUnbiased = false, isValueIndependent = false;
  double alpha(std::size_t d) const {
    return static_cast<double>(share.of(d, "TopK")) / static_cast<double>(d);
  }
};

/// Deals all coordinates out to the workers by a permutation that they share: what they send together is everything.
struct PermK {
  std::uint64_t workers = 1;
  static constexpr std::string_view name = "permk";
  static constexpr bool isUnbiased = true, isValueIndependent = true;
  double omega(std::size_t) const {
    if (workers == 0 || workers > UINT32_MAX) fail("PermK: expected from 1 to 2^32 - 1 workers");
    return static_cast<double>(workers) - 1;
  }
};

/// Rounds every number to a power of two, up or down at random: sends signs and exponents.
struct NaturalCompression {
  static constexpr std::string_view name = "natural";
  static constexpr bool isUnbiased = true, isValueIndependent = false;
  double omega(std::size_t) const { return 0.125; }
};

/// Rounds |x_j| / |x| to one of the levels 0, 1/s, ..., 1, up or down at random: sends |x|, signs and levels.
struct KLevelQuantisation {
  std::uint64_t levels = 4;
  static constexpr std::string_view name = "levels";
  static constexpr bool isUnbiased = true, isValueIndependent = false;
  double omega(std::size_t d) const {
    if (levels == 0 || levels > 65535)
      fail("KLevelQuantisation: expected from 1 to 65535 levels, got %llu",
           static_cast<unsigned long long>(levels));
    const double n = static_cast<double>(d), s = static_cast<double>(levels);
    return std::min(n / (s * s), std::sqrt(n) / s);
  }
};

/// Any compressor.
using AnyCompressor =
    std::variant<Identity, RandK, RandSeqK, TopK, PermK, NaturalCompression, KLevelQuantisation>;

/// Whether E C(x) = x.
inline bool isUnbiased(const AnyCompressor& any) {
  return std::visit([](const auto& c) { return c.isUnbiased; }, any);
}
/// Whether the coordinates that are sent depend on no value.
inline bool isValueIndependent(const AnyCompressor& any) {
  return std::visit([](const auto& c) { return c.isValueIndependent; }, any);
}

/// The variance omega of an unbiased compressor of d numbers.
inline double omega(const AnyCompressor& any, std::size_t d) {
  return std::visit(
      [&]<class C>(const C& c) -> double {
        if constexpr (C::isUnbiased) return c.omega(d);
        fail("%s is biased: it has an alpha and no omega; choose an unbiased compressor", C::name.data());
      },
      any);
}
/// The contraction alpha of a compressor of d numbers, of its contractive form if it is unbiased.
inline double alpha(const AnyCompressor& any, std::size_t d) {
  return std::visit(
      [&]<class C>(const C& c) -> double {
        if constexpr (C::isUnbiased)
          return 1 / (1 + c.omega(d));
        else
          return c.alpha(d);
      },
      any);
}
/// Fails unless the compressor can take d numbers.
inline void checkCompressor(const AnyCompressor& any, std::size_t d) {
  if (d == 0 || d > UINT32_MAX) fail("a compressor takes from 1 to 2^32 - 1 numbers, got %zu", d);
  alpha(any, d);
}

/// Whether what arrives is what was sent: nothing is left out or rounded.
inline bool isIdentity(const AnyCompressor& any, std::size_t d) {
  return std::visit(
      [&]<class C>(const C& c) {
        if constexpr (requires { c.share; })
          return c.share.of(d, C::name.data()) == d;
        else if constexpr (std::same_as<C, PermK>)
          return c.workers == 1;
        else
          return std::same_as<C, Identity>;
      },
      any);
}

}  // namespace burtorch::inline BURTORCH_TARGET
