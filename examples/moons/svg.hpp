// The picture as an SVG file without anything outside it: regions, the boundary, the margins of the loss, the samples.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>

#include "plane.hpp"

namespace moons {

class Svg {
 public:
  Svg(std::FILE* file, const View& view) : file_(file), view_(view) {}

  template <class Score>
  void draw(const std::string& title, const std::string& subtitle, std::span<const Sample<double>> samples,
            const Score& scoreAt) const {
    open();
    text(left, 30, "title", title);
    text(left, 52, "", subtitle);
    std::fputs("<clipPath id=\"frame\">", file_);
    frame("");
    std::fputs("</clipPath>\n<g clip-path=\"url(#frame)\">\n", file_);
    // A little wider than what is seen: there the lines close.
    regions(Grid(view_.grownBy(1.05), 169, 113, scoreAt));
    for (const auto& [x, y, label] : samples) {
      const char* moon = label < 0 ? "upper" : "lower";
      const char* mistake = label * scoreAt(x, y) > 0 ? "" : " wrong";
      std::fprintf(file_, "<circle class=\"%s%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"/>\n", moon, mistake,
                   across(x), down(y));
    }
    std::fputs("</g>\n", file_);
    frame("fill=\"none\" stroke=\"#888\"");
    ticks();
    legend();
    std::fputs("</svg>\n", file_);
  }

 private:
  // Pixels: the frame of the plot, three to two as the view.
  static constexpr double left = 50, top = 70, width = 660, height = 440;

  double across(double x) const { return left + (x - view_.left) / view_.width * width; }
  double down(double y) const { return top + height - (y - view_.bottom) / view_.height * height; }

  void open() const {
    std::fputs(R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 740 585" width="740" height="585">
<style>
  text { font: 13px system-ui, "Segoe UI", "Helvetica Neue", "DejaVu Sans", sans-serif; fill: #555 }
  .title { font-size: 19px; font-weight: 600; fill: #222 }
  .x { text-anchor: middle } .y { text-anchor: end }
  .tick { stroke: #888 }
  .margin { stroke: #444; stroke-width: 1.2; stroke-dasharray: 6 5 }
  .boundary { stroke: #222; stroke-width: 2.4; stroke-linejoin: round }
  circle { stroke: #fff; stroke-width: 1 }
  .upper { fill: #1f5fa8 } .lower { fill: #cf4a13 } .wrong { stroke: #000; stroke-width: 2.2 }
</style>
<rect width="740" height="585" fill="#fff"/>
)",
               file_);
  }

  void frame(const char* style) const {
    std::fprintf(file_, "<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" %s/>\n", left, top, width, height,
                 style);
  }

  /// From the lowest score to the highest, each painted over the one before.
  void regions(const Grid& grid) const {
    frame("fill=\"#a9c9ea\"");
    region(grid, -1, "margin", "#d7e6f5");
    region(grid, 0, "boundary", "#fde5d3");
    region(grid, 1, "margin", "#f9c39d");
  }
  void region(const Grid& grid, double level, const char* line, const char* colour) const {
    std::fprintf(file_, "<path class=\"%s\" fill=\"%s\" d=\"", line, colour);
    for (const auto& points : grid.linesAt(level)) {
      char command = 'M';
      for (const Point& point : points) {
        std::fprintf(file_, "%c%.1f %.1f", command, across(point.x), down(point.y));
        command = 'L';
      }
      std::fputs("Z\n", file_);
    }
    std::fputs("\"/>\n", file_);
  }

  /// Round numbers, three to seven of them along the width.
  void ticks() const {
    const double power = std::pow(10.0, std::floor(std::log10(view_.width / 3)));
    const double digit = view_.width / 3 / power;
    const double step = power * (digit < 2 ? 1 : digit < 5 ? 2 : 5);
    const double bottom = top + height;
    for (double i = std::ceil(view_.left / step); i * step <= view_.left + view_.width; ++i) {
      const double at = across(i * step);
      std::fprintf(file_, "<path class=\"tick\" d=\"M%.1f %gv5\"/>", at, bottom);
      text(at, bottom + 20, "x", number(i * step));
    }
    for (double i = std::ceil(view_.bottom / step); i * step <= view_.bottom + view_.height; ++i) {
      const double at = down(i * step);
      std::fprintf(file_, "<path class=\"tick\" d=\"M%g %.1fh-5\"/>", left, at);
      text(left - 9, at + 4.5, "y", number(i * step));
    }
  }

  void legend() const {
    const double y = top + height + 52, middle = y - 4.5;
    std::fprintf(file_, "<circle class=\"upper\" cx=\"%g\" cy=\"%g\" r=\"5\"/>", left + 5, middle);
    text(left + 17, y, "", "upper moon");
    std::fprintf(file_, "<circle class=\"lower\" cx=\"%g\" cy=\"%g\" r=\"5\"/>", left + 133, middle);
    text(left + 145, y, "", "lower moon");
    std::fprintf(file_, "<path class=\"boundary\" d=\"M%g %gh30\"/>", left + 256, middle);
    text(left + 293, y, "", "boundary, score 0");
    std::fprintf(file_, "<path class=\"margin\" d=\"M%g %gh30\"/>", left + 440, middle);
    text(left + 477, y, "", "margins, scores -1 and 1");
  }

  void text(double x, double y, const char* style, const std::string& words) const {
    std::fprintf(file_, "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", style, x, y, words.c_str());
  }
  static std::string number(double x) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%g", x);
    return buffer;
  }

  std::FILE* file_;
  View view_;
};

}  // namespace moons
