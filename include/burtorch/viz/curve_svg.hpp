// Curves as an SVG picture: axes with round numbers, a line for each series, a legend. Text only; runs nothing, needs
// nothing installed. Labels may be anything: they are escaped. Points that are not finite are left out.
#pragma once

#include <cmath>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

#include "curve.hpp"
#include "svg.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// A whole SVG file.
inline std::string curveSvg(std::string_view title, std::string_view xLabel, std::string_view yLabel,
                            std::span<const Curve> curves) {
  constexpr double width = 800, height = 440, left = 64, right = 24, top = 48, bottom = 56;
  constexpr const char* colours[] = {"#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed"};
  detail::Span1d xs, ys;
  for (const Curve& curve : curves)
    for (const CurvePoint& p : curve.points)
      if (std::isfinite(p.x) && std::isfinite(p.y)) xs.hold(p.x), ys.hold(p.y);
  const auto placeX = [&](double x) { return left + (x - xs.low) / xs.width() * (width - left - right); };
  const auto placeY = [&](double y) {
    return height - bottom - (y - ys.low) / ys.width() * (height - top - bottom);
  };

  const detail::PlainDecimalPoint plain;
  std::string svg;
  detail::appendFormatted(svg,
                          "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" "
                          "font-family=\"system-ui, sans-serif\" font-size=\"13\">\n"
                          "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
                          width, height);
  const auto text = [&](double x, double y, const char* anchor, std::string_view words,
                        const char* more = "") {
    detail::appendFormatted(svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"#1f2937\"%s>", x, y,
                            anchor, more);
    svg += detail::escapedForXml(words) + "</text>\n";
  };
  text(left, 28, "start", title, " font-size=\"17\" font-weight=\"600\"");
  text((left + width - right) / 2, height - 14, "middle", xLabel);
  char turn[64];
  std::snprintf(turn, sizeof turn, " transform=\"rotate(-90 18 %g)\"", (top + height - bottom) / 2);
  text(18, (top + height - bottom) / 2, "middle", yLabel, turn);

  const auto ticks = [&](const detail::Span1d& range, double count, auto draw) {
    const double step = detail::roundStep(range.width(), count);
    for (double at = std::ceil(range.low / step) * step; at <= range.low + range.width() * 1.0001;
         at += step) {
      char number[32];
      std::snprintf(number, sizeof number, "%g", std::abs(at) < step / 1000 ? 0 : at);
      draw(at, number);
    }
  };
  constexpr const char* line = "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#e5e7eb\"/>\n";
  ticks(xs, 8, [&](double at, const char* number) {
    detail::appendFormatted(svg, line, placeX(at), top, placeX(at), height - bottom);
    text(placeX(at), height - bottom + 18, "middle", number);
  });
  ticks(ys, 6, [&](double at, const char* number) {
    detail::appendFormatted(svg, line, left, placeY(at), width - right, placeY(at));
    text(left - 8, placeY(at) + 4, "end", number);
  });

  for (std::size_t i = 0; i < curves.size(); ++i) {
    const char* colour = colours[i % std::size(colours)];
    svg += "<polyline fill=\"none\" stroke-width=\"2\" stroke-linejoin=\"round\" stroke=\"";
    svg += colour;
    svg += "\" points=\"";
    for (const CurvePoint& p : curves[i].points)
      if (std::isfinite(p.x) && std::isfinite(p.y))
        detail::appendFormatted(svg, "%.1f,%.1f ", placeX(p.x), placeY(p.y));
    svg += "\"/>\n";
    const double y = top + 10 + 20 * static_cast<double>(i);
    detail::appendFormatted(svg, "<rect x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"4\" fill=\"%s\"/>\n",
                            width - right - 150, y - 2, colour);
    text(width - right - 130, y + 4, "start", curves[i].label);
  }
  return svg + "</svg>\n";
}

}  // namespace burtorch::inline BURTORCH_TARGET
