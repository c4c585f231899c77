// Quadruple precision, 113 bits, as a scalar: for gradients to compare others with. Some fifty times slower than double, and so
// not for anything else.
//
// Optional: neither burtorch.hpp nor core includes it. Where long double has these bits (ARM64, RISC-V), Fp128 is long double.
// Elsewhere it is a class around the compiler's __float128, not __float128 itself: that has operators, but no functions that
// templates could find, and whether it counts as a floating-point number depends on -std=. Its functions are those of glibc
// 2.26 or later; with another C library, or with BURTORCH_QUADMATH, those of libquadmath, and the program links -lquadmath.
#pragma once

#include <cfloat>
#include <cmath>
#include <compare>
#include <limits>
#include <type_traits>

#include "scalar.hpp"

#if LDBL_MANT_DIG == 113
namespace burtorch::inline BURTORCH_TARGET {
using Fp128 = long double;
}
#elif defined(__SIZEOF_FLOAT128__)

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 26) && !defined(BURTORCH_QUADMATH)
#define BURTORCH_FP128_NAME(name) name##f128
#else
#define BURTORCH_FP128_NAME(name) name##q
#endif

namespace burtorch::fp128 {
__extension__ typedef __float128 Number;
}

// Declared here: clang does not see glibc's own declarations, and the header of libquadmath belongs to g++.
extern "C" {
#define BURTORCH_FP128_FUNCTION(name) \
  burtorch::fp128::Number BURTORCH_FP128_NAME(name)(burtorch::fp128::Number) noexcept;
BURTORCH_FP128_FUNCTION(exp)
BURTORCH_FP128_FUNCTION(log)
BURTORCH_FP128_FUNCTION(tanh)
BURTORCH_FP128_FUNCTION(sqrt)
BURTORCH_FP128_FUNCTION(sin)
BURTORCH_FP128_FUNCTION(cos)
BURTORCH_FP128_FUNCTION(cosh)
BURTORCH_FP128_FUNCTION(erf)
BURTORCH_FP128_FUNCTION(erfc)
BURTORCH_FP128_FUNCTION(log1p)
BURTORCH_FP128_FUNCTION(expm1)
BURTORCH_FP128_FUNCTION(atan)
#undef BURTORCH_FP128_FUNCTION
burtorch::fp128::Number BURTORCH_FP128_NAME(pow)(burtorch::fp128::Number, burtorch::fp128::Number) noexcept;
burtorch::fp128::Number BURTORCH_FP128_NAME(ldexp)(burtorch::fp128::Number, int) noexcept;
burtorch::fp128::Number BURTORCH_FP128_NAME(frexp)(burtorch::fp128::Number, int*) noexcept;
}

namespace burtorch::inline BURTORCH_TARGET {

struct Fp128;
template <> inline constexpr bool isPlainFloat<Fp128> = true;

/// A number of 113 bits.
struct Fp128 {
  using Number = fp128::Number;
  Number number;

  Fp128() = default;
  template <class N>
  requires std::is_arithmetic_v<N>
  constexpr Fp128(N n) : number(n) {}
  explicit constexpr Fp128(Number n) : number(n) {}
  template <class N>
  requires std::is_arithmetic_v<N>
  explicit constexpr operator N() const { return static_cast<N>(number); }

  friend constexpr Fp128 operator+(Fp128 x) { return x; }
  friend constexpr Fp128 operator-(Fp128 x) { return Fp128(-x.number); }
  friend constexpr Fp128 operator+(Fp128 x, Fp128 y) { return Fp128(x.number + y.number); }
  friend constexpr Fp128 operator-(Fp128 x, Fp128 y) { return Fp128(x.number - y.number); }
  friend constexpr Fp128 operator*(Fp128 x, Fp128 y) { return Fp128(x.number * y.number); }
  friend constexpr Fp128 operator/(Fp128 x, Fp128 y) { return Fp128(x.number / y.number); }
  constexpr Fp128& operator+=(Fp128 y) { return *this = *this + y; }
  constexpr Fp128& operator-=(Fp128 y) { return *this = *this - y; }
  constexpr Fp128& operator*=(Fp128 y) { return *this = *this * y; }
  constexpr Fp128& operator/=(Fp128 y) { return *this = *this / y; }

  friend constexpr bool operator==(Fp128 x, Fp128 y) { return x.number == y.number; }
  friend constexpr std::partial_ordering operator<=>(Fp128 x, Fp128 y) {
    return x.number < y.number    ? std::partial_ordering::less
           : x.number > y.number  ? std::partial_ordering::greater
           : x.number == y.number ? std::partial_ordering::equivalent
                                  : std::partial_ordering::unordered;
  }

#define BURTORCH_FP128_FUNCTION(name) \
  friend Fp128 name(Fp128 x) { return Fp128(::BURTORCH_FP128_NAME(name)(x.number)); }
  BURTORCH_FP128_FUNCTION(exp)
  BURTORCH_FP128_FUNCTION(log)
  BURTORCH_FP128_FUNCTION(tanh)
  BURTORCH_FP128_FUNCTION(sqrt)
  BURTORCH_FP128_FUNCTION(sin)
  BURTORCH_FP128_FUNCTION(cos)
  BURTORCH_FP128_FUNCTION(cosh)
  BURTORCH_FP128_FUNCTION(erf)
  BURTORCH_FP128_FUNCTION(erfc)
  BURTORCH_FP128_FUNCTION(log1p)
  BURTORCH_FP128_FUNCTION(expm1)
  BURTORCH_FP128_FUNCTION(atan)
#undef BURTORCH_FP128_FUNCTION
  friend Fp128 pow(Fp128 x, Fp128 y) { return Fp128(::BURTORCH_FP128_NAME(pow)(x.number, y.number)); }
  friend Fp128 ldexp(Fp128 x, int n) { return Fp128(::BURTORCH_FP128_NAME(ldexp)(x.number, n)); }
  friend Fp128 frexp(Fp128 x, int* n) { return Fp128(::BURTORCH_FP128_NAME(frexp)(x.number, n)); }
  friend constexpr bool isnan(Fp128 x) { return x != x; }
  friend constexpr bool isinf(Fp128 x) { return x == x && x - x != x - x; }
  friend constexpr bool isunordered(Fp128 x, Fp128 y) { return isnan(x) || isnan(y); }
  // The top bit is that of the double too, whatever becomes of the others.
  friend bool signbit(Fp128 x) { return std::signbit(static_cast<double>(x.number)); }
  friend Fp128 abs(Fp128 x) { return signbit(x) ? -x : x; }
  friend Fp128 fabs(Fp128 x) { return abs(x); }
  friend Fp128 copysign(Fp128 x, Fp128 y) { return signbit(x) == signbit(y) ? x : -x; }
  friend Fp128 fmax(Fp128 x, Fp128 y) { return x < y || isnan(x) ? y : x; }
  friend Fp128 fmin(Fp128 x, Fp128 y) { return x > y || isnan(x) ? y : x; }
};
}  // namespace burtorch::inline BURTORCH_TARGET

template <> class std::numeric_limits<burtorch::Fp128> {
  using Fp128 = burtorch::Fp128;
  /// 2 to the power of `exponent`.
  static constexpr Fp128 power(int exponent) {
    Fp128 result = 1, factor = exponent < 0 ? Fp128(0.5) : Fp128(2);
    for (unsigned left = static_cast<unsigned>(exponent < 0 ? -exponent : exponent); left > 0; left /= 2) {
      if (left % 2 != 0) result *= factor;
      if (left > 1) factor *= factor;
    }
    return result;
  }

 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false,
                        has_infinity = true, has_quiet_NaN = true, has_signaling_NaN = false,
                        is_iec559 = true, is_bounded = true, is_modulo = false, traps = false,
                        tinyness_before = false;
  static constexpr std::float_round_style round_style = std::round_to_nearest;
  static constexpr int digits = 113, digits10 = 33, max_digits10 = 36, radix = 2, min_exponent = -16381,
                       min_exponent10 = -4931, max_exponent = 16384, max_exponent10 = 4932;
  static constexpr Fp128 min() { return power(min_exponent - 1); }
  static constexpr Fp128 max() { return (Fp128(2) - epsilon()) * power(max_exponent - 1); }
  static constexpr Fp128 lowest() { return -max(); }
  static constexpr Fp128 epsilon() { return power(1 - digits); }
  static constexpr Fp128 round_error() { return 0.5; }
  static constexpr Fp128 denorm_min() { return min() * epsilon(); }
  static constexpr Fp128 infinity() { return std::numeric_limits<double>::infinity(); }
  static constexpr Fp128 quiet_NaN() { return std::numeric_limits<double>::quiet_NaN(); }
};

#undef BURTORCH_FP128_NAME
#else
#error "ops/fp128.hpp: this compiler has no numbers of 113 bits"
#endif
