// What a plot of curves is drawn from, as SVG (curve_svg.hpp) or by a script (plot.hpp).
#pragma once

#include <string>
#include <vector>

#include "../base/config.hpp"

namespace burtorch::inline BURTORCH_TARGET {

struct CurvePoint {
  double x, y;
};
struct Curve {
  std::string label;
  std::vector<CurvePoint> points;
};

}  // namespace burtorch::inline BURTORCH_TARGET
