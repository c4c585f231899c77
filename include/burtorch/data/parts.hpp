// What all kinds of training data share: a part to train on and a part to validate with.
//
// The first part trains and the last validates, at a place that depends on nothing but the amount of data and the
// fraction, so that two runs, and a run that is resumed, validate with the same data.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "../base/check.hpp"

namespace burtorch::inline BURTORCH_TARGET {

enum class Part : std::uint8_t { train, validation };

constexpr const char* nameOf(Part part) { return part == Part::train ? "training" : "validation"; }

/// How many of `count` items train if the fraction `validation` of them, rounded, is left for validation.
inline std::size_t trainingCount(std::size_t count, double validation) {
  if (!(validation >= 0 && validation <= 1))
    fail("the fraction for validation is %g; it must lie between 0 and 1", validation);
  // A double holds no more than 53 bits of a count; the result must not leave the data.
  const double left = std::round(static_cast<double>(count) * validation);
  return left >= static_cast<double>(count) ? 0 : count - static_cast<std::size_t>(left);
}

}  // namespace burtorch::inline BURTORCH_TARGET
