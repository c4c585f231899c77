// Distances in units of the last place. NaN equals NaN; zeros of different signs, and anything else against NaN or
// infinity, are infinitely far apart.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace ulps {

using std::fabs, std::frexp, std::isinf, std::isnan, std::ldexp, std::signbit;  // or those of Real

/// The ulp of T at `exact`, a number of any precision: for a result below the normal numbers, that of the denormals.
template <class T, class Real> Real at(Real exact) {
  using Limits = std::numeric_limits<T>;
  int exponent = 0;
  frexp(exact, &exponent);  // |exact| is in [1/2, 1) * 2^exponent
  return ldexp(Real{1}, std::max(exponent, Limits::min_exponent) - Limits::digits);
}

/// How far `found` is from the exact result. An infinity counts as the number after the largest one.
template <class T, class Real> Real error(T found, Real exact) {
  constexpr Real inf = std::numeric_limits<Real>::infinity();
  const Real end = ldexp(Real{1}, std::numeric_limits<T>::max_exponent), got = static_cast<Real>(found);
  if (isnan(got) || isnan(exact)) return isnan(got) && isnan(exact) ? Real{0} : inf;
  if ((got == 0 || exact == 0) && signbit(got) != signbit(exact)) return inf;
  if (fabs(exact) >= end) return isinf(got) && (got > 0) == (exact > 0) ? Real{0} : inf;
  return fabs(std::clamp(got, -end, end) - exact) / at<T>(exact);
}

/// How far apart two results are.
template <class T> T between(T x, T y) { return std::max(error(x, y), error(y, x)); }

}  // namespace ulps
