// What a plot of curves is drawn from, as SVG (curve_svg.hpp) or by a script (plot.hpp).
#pragma once

#include <string>
#include <vector>

namespace burtorch {

struct CurvePoint {
  double x, y;
};
struct Curve {
  std::string label;
  std::vector<CurvePoint> points;
};

}  // namespace burtorch
