// Curves as an SVG picture: axes with round numbers, linear or logarithmic, a line for each series, a legend; one panel or several.
// Text only; runs nothing, needs nothing installed. Labels may be anything: they are escaped. Points that an axis cannot show
// (not finite, or not positive on a logarithmic one) are left out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "curve.hpp"
#include "svg.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Which axes are logarithmic.
struct CurveAxes {
  bool isLogX = false, isLogY = false;
};
/// One of several pictures side by side.
struct CurvePanel {
  std::string title, xLabel, yLabel;
  std::span<const Curve> curves;
  CurveAxes axes{};
};

namespace detail {

class PanelDrawing {
 public:
  static constexpr double width = 800, height = 440;

  PanelDrawing(std::string& svg, std::string_view title, std::string_view xLabel, std::string_view yLabel,
               std::span<const Curve> curves, CurveAxes axes)
      : svg_(svg), axes_(axes) {
    for (const Curve& curve : curves)
      for (const CurvePoint& p : curve.points)
        if (isShown(p)) xs_.hold(along(p.x, axes.isLogX)), ys_.hold(along(p.y, axes.isLogY));
    if (std::count_if(curves.begin(), curves.end(), [&](const Curve& curve) { return isShown(curve); }) > 1)
      right_ += legendWidth(curves);
    text(left, 28, "start", title, " font-size=\"17\" font-weight=\"600\"");
    text((left + width - right_) / 2, height - 14, "middle", xLabel);
    char turn[64];
    std::snprintf(turn, sizeof turn, " transform=\"rotate(-90 18 %g)\"", (top + height - bottom) / 2);
    text(18, (top + height - bottom) / 2, "middle", yLabel, turn);
    // Numbers of up to seven characters and a gap.
    ticks(xs_, (width - left - right_) / 87.5, axes.isLogX, [&](double at, const char* number) {
      line(placeX(at), top, placeX(at), height - bottom);
      text(placeX(at), height - bottom + 18, "middle", number);
    });
    ticks(ys_, 6, axes.isLogY, [&](double at, const char* number) {
      line(left, placeY(at), width - right_, placeY(at));
      text(left - 8, placeY(at) + 4, "end", number);
    });
    for (std::size_t i = 0; i < curves.size(); ++i) draw(curves[i], colourOf(i));
    legend(curves);
  }

 private:
  static constexpr double left = 76, top = 48, bottom = 56;

  static const char* colourOf(std::size_t i) {
    constexpr const char* colours[] = {"#2563eb", "#dc2626", "#059669", "#d97706",
                                       "#7c3aed", "#0891b2", "#db2777", "#4b5563"};
    return colours[i % std::size(colours)];
  }

  static double along(double x, bool isLog) { return isLog ? std::log10(x) : x; }
  static bool fits(double x, bool isLog) { return std::isfinite(x) && (!isLog || x > 0); }
  bool isShown(const CurvePoint& p) const { return fits(p.x, axes_.isLogX) && fits(p.y, axes_.isLogY); }
  double placeX(double at) const { return left + (at - xs_.low) / xs_.width() * (width - left - right_); }
  double placeY(double at) const {
    return height - bottom - (at - ys_.low) / ys_.width() * (height - top - bottom);
  }

  void text(double x, double y, const char* anchor, std::string_view words, const char* more = "") {
    appendFormatted(svg_, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"#1f2937\"%s>", x, y, anchor,
                    more);
    svg_ += escapedForXml(words) + "</text>\n";
  }
  void line(double x1, double y1, double x2, double y2) {
    appendFormatted(svg_, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#e5e7eb\"/>\n", x1,
                    y1, x2, y2);
  }
  /// Calls `draw(at, number)` at round numbers; on a logarithmic axis these are powers of ten if it has two.
  template <class Draw> static void ticks(const Span1d& range, double count, bool isLog, Draw draw) {
    char number[32];
    const double end = range.low + range.width() * 1.0001;
    if (isLog && std::floor(end) > std::ceil(range.low)) {
      const double step = std::max(1.0, std::ceil(range.width() / count));
      for (double at = std::ceil(range.low); at <= end; at += step) {
        if (!std::isfinite(std::pow(10, at))) break;
        std::snprintf(number, sizeof number, "%g", std::pow(10, at));
        draw(at, number);
      }
      return;
    }
    const double low = isLog ? std::pow(10, range.low) : range.low,
                 span = isLog ? std::pow(10, range.low + range.width()) - low : range.width(),
                 step = roundStep(span, count);
    for (double at = std::ceil(low / step) * step; at <= low + span * 1.0001; at += step) {
      std::snprintf(number, sizeof number, "%g", std::abs(at) < step / 1000 ? 0 : at);
      draw(along(at, isLog), number);
    }
  }
  void draw(const Curve& curve, const char* colour) {
    if (!isShown(curve)) return;
    svg_ += "<polyline fill=\"none\" stroke-width=\"2\" stroke-linejoin=\"round\" stroke=\"";
    svg_ += colour;
    svg_ += "\" points=\"";
    for (const CurvePoint& p : curve.points)
      if (isShown(p))
        appendFormatted(svg_, "%.1f,%.1f ", placeX(along(p.x, axes_.isLogX)),
                        placeY(along(p.y, axes_.isLogY)));
    svg_ += "\"/>\n";
  }
  bool isShown(const Curve& curve) const {
    return std::any_of(curve.points.begin(), curve.points.end(),
                       [&](const CurvePoint& p) { return isShown(p); });
  }
  /// Beside the plot, so that nothing lies behind names; of a single curve inside, where there is room.
  double legendWidth(std::span<const Curve> curves) const {
    double longest = 0;
    for (const Curve& curve : curves)
      if (isShown(curve)) longest = std::max(longest, static_cast<double>(curve.label.size()));
    return std::min(34 + 7.6 * longest, (width - left) / 2);
  }
  /// The curves that are shown.
  void legend(std::span<const Curve> curves) {
    const double start = width - 24 - legendWidth(curves);
    double y = top + 10;
    for (std::size_t i = 0; i < curves.size(); ++i) {
      if (!isShown(curves[i])) continue;
      appendFormatted(svg_, "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"4\" fill=\"%s\"/>\n",
                      start + 8, y - 2, colourOf(i));
      text(start + 28, y + 4, "start", curves[i].label);
      y += 20;
    }
  }

  std::string& svg_;
  CurveAxes axes_;
  Span1d xs_, ys_;
  double right_ = 24;
};

inline void beginSvg(std::string& svg, double width, double height) {
  appendFormatted(svg,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
                  "font-family=\"system-ui, sans-serif\" font-size=\"13\">\n"
                  "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
                  width, height);
}

}  // namespace detail

/// A whole SVG file.
inline std::string curveSvg(std::string_view title, std::string_view xLabel, std::string_view yLabel,
                            std::span<const Curve> curves, CurveAxes axes = {}) {
  const detail::PlainDecimalPoint plain;
  std::string svg;
  detail::beginSvg(svg, detail::PanelDrawing::width, detail::PanelDrawing::height);
  detail::PanelDrawing(svg, title, xLabel, yLabel, curves, axes);
  return svg + "</svg>\n";
}
/// A whole SVG file of several panels, so many in a row.
inline std::string curvePanelsSvg(std::span<const CurvePanel> panels, std::size_t perRow = 2) {
  using detail::PanelDrawing;
  const detail::PlainDecimalPoint plain;
  const std::size_t columns = std::max<std::size_t>(1, std::min(perRow, panels.size())),
                    rows = (panels.size() + columns - 1) / columns;
  std::string svg;
  detail::beginSvg(svg, PanelDrawing::width * static_cast<double>(columns),
                   PanelDrawing::height * static_cast<double>(rows));
  for (std::size_t i = 0; i < panels.size(); ++i) {
    detail::appendFormatted(svg, "<svg x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\">\n",
                            PanelDrawing::width * static_cast<double>(i % columns),
                            PanelDrawing::height * static_cast<double>(i / columns), PanelDrawing::width,
                            PanelDrawing::height);
    PanelDrawing(svg, panels[i].title, panels[i].xLabel, panels[i].yLabel, panels[i].curves, panels[i].axes);
    svg += "</svg>\n";
  }
  return svg + "</svg>\n";
}

}  // namespace burtorch::inline BURTORCH_TARGET
