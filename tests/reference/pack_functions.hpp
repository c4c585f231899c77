// Operators that call exp, log, tanh, sin and the like. Packs compute these by themselves (simd/pack_math.hpp), plain numbers leave them to
// the C library, so their results may differ in the last bits; all others must have equal bits.
#pragma once

#include <algorithm>
#include <string_view>

namespace packs {

constexpr std::string_view values[] = {
    "exp", "logarithm", "negativeLog", "tanh",  "sigmoid", "softplus",  "erf",          "gelu",   "geluTanh",
    "sin", "cos",       "log1p",       "expm1", "atan",    "logSumExp", "crossEntropy", "softmax"};
constexpr std::string_view slopes[] = {"softplus", "erf", "gelu",      "geluTanh",
                                       "sin",      "cos", "logSumExp", "crossEntropy"};

inline bool isOwnValue(std::string_view op) {
  return std::find(std::begin(values), std::end(values), op) != std::end(values);
}
/// Whether the vjp rule itself calls one of them, besides using the operator's value.
inline bool isOwnSlope(std::string_view op) {
  return std::find(std::begin(slopes), std::end(slopes), op) != std::end(slopes);
}
/// How many ulp they may differ in at the points of the tests. One ulp of erf(x) is 64 of 1 + erf(x), where that is 0.01.
inline int ulpsOf(std::string_view op) { return op.starts_with("gelu") ? 64 : 1; }

}  // namespace packs
