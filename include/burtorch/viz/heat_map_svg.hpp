// Heat maps as an SVG picture: the maps of a figure side by side, and the scale of their colours. Text only; runs nothing,
// needs nothing installed. Labels may be anything: they are escaped, and cut if they are long. The exact number of a cell
// is its tooltip. Some 100 bytes for each cell.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "../base/number_text.hpp"
#include "../data/utf8.hpp"
#include "heat_map_figure.hpp"
#include "svg.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {

/// At most `longest` characters of a text, and how many characters it has. Bytes that are not UTF-8 count as one.
struct CutText {
  std::string text;
  std::size_t length = 0;
  CutText(std::string_view whole, std::size_t longest) {
    std::size_t at = 0, end = 0;
    for (; at < whole.size() && length <= longest; ++length) {
      if (length + 1 == longest) end = at;  // where the ellipsis would go
      at += std::max<std::size_t>(decodeUtf8(whole, at).bytes, 1);
    }
    if (length <= longest) {
      text = whole;
    } else {
      text = std::string(whole.substr(0, end)) + "\xE2\x80\xA6";
      length = longest;
    }
  }
};

class HeatMapSvg {
 public:
  explicit HeatMapSvg(const HeatMapFigure& figure) : figure_(figure), scale_(figure) {
    std::size_t rows = 1, columns = 1, rowLabel = 2, columnLabel = 1;  // their lengths
    bool hasText = false;
    for (const HeatMap& map : figure.maps) {
      rows = std::max(rows, map.rows);
      columns = std::max(columns, map.columns);
      hasText = hasText || map.hasText();
      for (const std::string& label : map.options.rowLabels)
        rowLabel = std::max(rowLabel, CutText(label, longestLabel).length);
      for (const std::string& label : map.options.columnLabels)
        columnLabel = std::max(columnLabel, CutText(label, longestLabel).length);
      hasTitles_ = hasTitles_ || !map.options.title.empty();
      hasXLabels_ = hasXLabels_ || !map.options.xLabel.empty();
      hasYLabels_ = hasYLabels_ || !map.options.yLabel.empty();
    }
    const auto most = static_cast<double>(std::max(rows, columns));
    // A single map of moderate size has room for all its labels.
    const double least = figure.maps.size() == 1 && most <= 100 ? 15 : 3;
    cell_ = hasText ? 44 : std::clamp(std::floor(640 / most), least, figure.maps.size() == 1 ? 36.0 : 20.0);
    isTurned_ = columnLabel > 2;
    columnRoom_ = isTurned_ ? 14 : 7.5 * static_cast<double>(std::to_string(columns).size()) + 6;
    left_ = 14 + 7.5 * static_cast<double>(rowLabel) + (hasYLabels_ ? 20 : 0);
    top_ = hasTitles_ ? 26 : 8;
    bottom_ = 10 + (isTurned_ ? 7.5 * static_cast<double>(columnLabel) : 14) + (hasXLabels_ ? 20 : 0);
    // At least as wide as a title.
    panelWidth_ = left_ + std::max(120.0, cell_ * static_cast<double>(columns)) + 16;
    panelHeight_ = top_ + cell_ * static_cast<double>(rows) + bottom_ + 8;
  }

  std::string text() {
    const std::size_t across = figure_.perRow(), down = (figure_.maps.size() + across - 1) / across;
    const double head = figure_.title.empty() ? 4 : 44, barRoom = 84;
    const double maps = static_cast<double>(across) * panelWidth_;
    const double title = 28 + 10 * static_cast<double>(CutText(figure_.title, longestTitle).length);
    const double width = std::max(maps + barRoom, title);
    const double height = head + std::max(static_cast<double>(down) * panelHeight_, 180.0);
    appendFormatted(svg_,
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
                    "height=\"%.0f\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"%s\">\n"
                    "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
                    width, height, width, height, ink);
    if (!figure_.title.empty())
      words(14, 28, "start", figure_.title, longestTitle, " font-size=\"17\" font-weight=\"600\"");
    for (std::size_t i = 0; i < figure_.maps.size(); ++i)
      drawMap(figure_.maps[i], static_cast<double>(i % across) * panelWidth_,
              head + static_cast<double>(i / across) * panelHeight_);
    drawScale(maps + 8, head + top_, height - head - top_ - bottom_ - 8);
    return std::move(svg_ += "</svg>\n");
  }

 private:
  static constexpr std::size_t longestLabel = 24, longestTitle = 80;
  static constexpr const char *ink = "#1f2937", *frame = "#9ca3af";

  void words(double x, double y, const char* anchor, std::string_view text, std::size_t longest,
             const char* more = "") {
    appendFormatted(svg_, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>", x, y, anchor, more);
    svg_ += escapedForXml(CutText(text, longest).text) + "</text>\n";
  }
  /// Upwards.
  void turnedWords(double x, double y, const char* anchor, std::string_view text, std::size_t longest) {
    char turn[64];
    std::snprintf(turn, sizeof turn, " transform=\"rotate(-90 %.1f %.1f)\"", x, y);
    words(x, y, anchor, text, longest, turn);
  }

  void drawMap(const HeatMap& map, double panelX, double panelY) {
    const double x = panelX + left_, y = panelY + top_;
    const double width = cell_ * static_cast<double>(map.columns),
                 height = cell_ * static_cast<double>(map.rows);
    const HeatMapOptions& options = map.options;
    words(x, y - 10, "start", options.title, 40, " font-weight=\"600\"");
    words(x + width / 2, y + height + bottom_ - 4, "middle", options.xLabel, 60);
    turnedWords(panelX + 14, y + height / 2, "middle", options.yLabel, 60);
    drawLabels(map, x, y);
    svg_ += "<g shape-rendering=\"crispEdges\">\n";
    for (std::size_t row = 0; row < map.rows; ++row)
      for (std::size_t column = 0; column < map.columns; ++column)
        drawCell(map, row, column, x + cell_ * static_cast<double>(column),
                 y + cell_ * static_cast<double>(row));
    appendFormatted(
        svg_,
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" stroke=\"%s\"/>\n</g>\n", x,
        y, width, height, frame);
    if (map.hasText()) drawTexts(map, x, y);
  }
  /// How many cells from label to label: 1, 2, 5, 10, ...
  std::size_t stepFor(double room) const {
    return room <= cell_ ? 1 : static_cast<std::size_t>(std::ceil(roundStep(room / cell_ * 1.4, 1)));
  }
  void drawLabels(const HeatMap& map, double x, double y) {
    const std::size_t rowStep = stepFor(14), columnStep = stepFor(columnRoom_);
    const auto label = [](const std::vector<std::string>& labels, std::size_t i) {
      return labels.empty() ? std::to_string(i) : labels[i];
    };
    for (std::size_t row = 0; row < map.rows; row += rowStep)
      words(x - 6, y + cell_ * (static_cast<double>(row) + 0.5) + 4, "end", label(map.options.rowLabels, row),
            longestLabel);
    const double below = y + cell_ * static_cast<double>(map.rows);
    for (std::size_t column = 0; column < map.columns; column += columnStep) {
      const double middle = x + cell_ * (static_cast<double>(column) + 0.5);
      const std::string text = label(map.options.columnLabels, column);
      if (isTurned_)
        turnedWords(middle + 4, below + 6, "end", text, longestLabel);
      else
        words(middle, below + 16, "middle", text, longestLabel);
    }
  }
  void drawCell(const HeatMap& map, std::size_t row, std::size_t column, double x, double y) {
    const double number = map.values[row * map.columns + column];
    const std::string colour =
        std::isfinite(number) ? hexColour(scale_.colourOf(number)) : std::string(HeatScale::gap);
    appendFormatted(
        svg_, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%g\" height=\"%g\" fill=\"%s\"><title>%s</title></rect>\n",
        x, y, cell_, cell_, colour.c_str(), digits::shortest(number).c_str());
  }
  void drawTexts(const HeatMap& map, double x, double y) {
    for (std::size_t i = 0; i < map.values.size(); ++i) {
      const double middle = x + cell_ * (static_cast<double>(i % map.columns) + 0.5);
      const double centre = y + cell_ * (static_cast<double>(i / map.columns) + 0.5);
      const bool isLight = std::isfinite(map.values[i]) && HeatScale::isDark(scale_.colourOf(map.values[i]));
      const std::string colour = isLight ? " fill=\"#ffffff\"" : "";
      const bool isPair = !map.items.empty() && !map.counters.empty();
      if (!map.items.empty())
        words(middle, centre + (isPair ? -4 : 4), "middle", map.items[i], 6,
              (colour + " font-weight=\"600\"").c_str());
      if (!map.counters.empty())
        words(middle, centre + (isPair ? 13 : 4), "middle", map.counters[i], 9,
              (colour + " font-size=\"11\"").c_str());
    }
  }

  void drawScale(double x, double y, double height) {
    constexpr double width = 14;
    svg_ += "<defs><linearGradient id=\"scale\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">";
    const std::span<const HeatScale::Colour> colours = scale_.colours();
    for (std::size_t i = 0; i < colours.size(); ++i)
      appendFormatted(svg_, "<stop offset=\"%g\" stop-color=\"%s\"/>",
                      static_cast<double>(i) / static_cast<double>(colours.size() - 1),
                      hexColour(colours[i]).c_str());
    svg_ += "</linearGradient></defs>\n";
    appendFormatted(
        svg_,
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%g\" height=\"%.1f\" fill=\"url(#scale)\" stroke=\"%s\"/>\n", x,
        y, width, height, frame);
    const double step = roundStep(scale_.high - scale_.low, 5);
    const double first = std::ceil(scale_.low / step);
    for (double k = 0; (first + k) * step <= scale_.high && k < 20; ++k) {
      const double at = (first + k) * step;
      words(x + width + 6, y + height * (1 - scale_.partOf(at)) + 4, "start", counterText(at), 12);
    }
  }

  const HeatMapFigure& figure_;
  HeatScale scale_;
  double cell_ = 0, columnRoom_ = 0, left_ = 0, top_ = 0, bottom_ = 0, panelWidth_ = 0, panelHeight_ = 0;
  bool isTurned_ = false, hasTitles_ = false, hasXLabels_ = false, hasYLabels_ = false;
  std::string svg_;
};

}  // namespace detail

/// A whole SVG file.
inline std::string heatMapSvg(const HeatMapFigure& figure) {
  figure.check();
  const detail::PlainDecimalPoint plain;
  return detail::HeatMapSvg(figure).text();
}

}  // namespace burtorch::inline BURTORCH_TARGET
