// Curves as a Matplotlib script (paper F.6): a function over a range, or given points. Text only; runs nothing. What a
// script promises is in python_script.hpp. A point that is not finite leaves a gap.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>

#include "curve.hpp"
#include "plain_number.hpp"
#include "python_script.hpp"

namespace burtorch::inline BURTORCH_TARGET {

struct PlotOptions {
  std::size_t points = 200;  // at which a function is computed
  std::string title = {}, xLabel = "x", yLabel = "y";
};

/// A script that draws several curves; a legend names those that have a label.
inline std::string generatePlot(std::span<const Curve> curves, const PlotOptions& options = {}) {
  using namespace detail;
  const auto coordinates = [](const Curve& curve, double CurvePoint::*member) {
    return toJsonArray(curve.points, [=](const CurvePoint& point) { return toJson(point.*member); });
  };
  const auto curveJson = [&](const Curve& curve) {
    return "{\"label\":" + toJson(curve.label) + ",\n\"x\":" + coordinates(curve, &CurvePoint::x) +
           ",\n\"y\":" + coordinates(curve, &CurvePoint::y) + "}";
  };
  const std::string json = "{\"title\":" + toJson(options.title) + ",\n\"xLabel\":" + toJson(options.xLabel) +
                           ",\n\"yLabel\":" + toJson(options.yLabel) +
                           ",\n\"curves\":" + toJsonArray(curves, curveJson, ",\n") + "}";
  return matplotlibScript("A plot", json,
                          R"(# Numbers near the largest possible would overflow on the way into the picture.
def drawable(numbers):
    return [x if abs(x) < 1e300 else float("nan") for x in numbers]


def draw(axes, curve):
    """Few points are marked, so that one between two gaps is seen."""
    marker = "." if len(curve["x"]) <= 40 else None
    return axes.plot(drawable(curve["x"]), drawable(curve["y"]), marker=marker)[0]


figure, axes = plt.subplots(figsize=(8, 4.5), constrained_layout=True)
lines = [draw(axes, curve) for curve in DATA["curves"]]
axes.set_title(literal(DATA["title"]))
axes.set_xlabel(literal(DATA["xLabel"]))
axes.set_ylabel(literal(DATA["yLabel"]))
axes.grid(True, alpha=0.4)
axes.set_axisbelow(True)
named = [(line, c["label"]) for line, c in zip(lines, DATA["curves"]) if c["label"]]
if named:
    # Set afterwards: Matplotlib leaves out what begins with an underscore.
    legend = axes.legend([line for line, _ in named], ["curve"] * len(named))
    for text, (_, label) in zip(legend.get_texts(), named):
        text.set_text(literal(label))
)");
}

/// A script that draws f from xStart to xEnd, computed at regular intervals. `f` takes a double and returns a number or a
/// Value; what it records is forgotten.
template <class Function>
std::string generatePlot(Function&& f, double xStart, double xEnd, const PlotOptions& options = {}) {
  const bool isFinite = std::isfinite(xStart) && std::isfinite(xEnd);
  if (!(isFinite && xStart < xEnd))
    fail(isFinite ? ErrorCode::invalidArgument : ErrorCode::notFinite,
         "a plot from %g to %g: the range must be finite and its start below its end", xStart, xEnd);
  if (options.points < 2) fail("a plot of %zu points: at least 2 are needed", options.points);
  Curve curve;
  for (std::size_t i = 0; i < options.points; ++i) {
    // Weighted, not added up: exact at both ends, and at 0 in the middle of -a ... a.
    const double steps = static_cast<double>(options.points - 1), done = static_cast<double>(i);
    const double x = xStart * ((steps - done) / steps) + xEnd * (done / steps);
    curve.points.push_back({x, static_cast<double>(detail::plainNumber(f, x))});
  }
  return generatePlot(std::span<const Curve>(&curve, 1), options);
}

}  // namespace burtorch::inline BURTORCH_TARGET
