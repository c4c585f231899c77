// The part of the plane that is drawn, and lines of equal score in it. Both pictures show the same part.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "model.hpp"

namespace moons {

struct Point {
  double x, y;
};

struct View {
  double left, bottom, width, height;

  View grownBy(double factor) const {
    const double dx = width * (factor - 1), dy = height * (factor - 1);
    return {left - dx / 2, bottom - dy / 2, width + dx, height + dy};
  }
};

/// All samples with some room around them, three units wide for two units high.
inline View viewOf(std::span<const Sample<double>> samples) {
  const auto range = [&](double Sample<double>::*coordinate) {
    const auto [least, most] = std::ranges::minmax(samples, {}, coordinate);
    return std::pair(least.*coordinate, most.*coordinate);
  };
  const auto [left, right] = range(&Sample<double>::x);
  const auto [bottom, top] = range(&Sample<double>::y);
  const double height = std::max((right - left + 1) / 1.5, top - bottom + 1);
  return {(left + right - 1.5 * height) / 2, (bottom + top - height) / 2, 1.5 * height, height};
}

/// Scores at the crossings of a grid.
class Grid {
 public:
  template <class Score>
  Grid(const View& view, std::size_t columns, std::size_t rows, const Score& scoreAt)
      : view_(view), columns_(columns), rows_(rows) {
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t column = 0; column < columns; ++column) {
        const Point at = pointAt(row * columns + column);
        // Outside all lines, so that a line that leaves the grid comes back along its border and every line is closed.
        const bool isBorder = row == 0 || row + 1 == rows || column == 0 || column + 1 == columns;
        scores_.push_back(isBorder ? -1e300 : scoreAt(at.x, at.y));
      }
  }

  /// The closed lines around the regions of at least this score: marching squares.
  std::vector<std::vector<Point>> linesAt(double level) const {
    std::vector<std::size_t> next = segmentsAt(level);
    std::vector<std::vector<Point>> lines;
    for (std::size_t start = 0; start < next.size(); ++start) {
      if (next[start] == none) continue;
      auto& line = lines.emplace_back();
      for (std::size_t edge = start; next[edge] != none; edge = std::exchange(next[edge], none))
        line.push_back(crossing(edge, level));
    }
    return lines;
  }

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  Point pointAt(std::size_t node) const {
    const auto column = static_cast<double>(node % columns_), row = static_cast<double>(node / columns_);
    return {view_.left + view_.width * column / static_cast<double>(columns_ - 1),
            view_.bottom + view_.height * row / static_cast<double>(rows_ - 1)};
  }

  /// Every node has two edges: 2 * node goes to the right of it, 2 * node + 1 upwards.
  Point crossing(std::size_t edge, double level) const {
    const std::size_t a = edge / 2, b = a + (edge % 2 == 0 ? 1 : columns_);
    const Point from = pointAt(a), to = pointAt(b);
    const double part = (level - scores_[a]) / (scores_[b] - scores_[a]);
    return {from.x + part * (to.x - from.x), from.y + part * (to.y - from.y)};
  }

  /// For every edge that a line crosses, the edge that it crosses next. Going around a cell to the left, the line enters
  /// where the region ends and leaves where it begins again: so the region is always on the same side of it, and the
  /// cell beyond an edge agrees about where the line goes on.
  std::vector<std::size_t> segmentsAt(double level) const {
    std::vector<std::size_t> next(2 * columns_ * rows_, none);
    for (std::size_t row = 0; row + 1 < rows_; ++row)
      for (std::size_t column = 0; column + 1 < columns_; ++column) {
        const std::size_t a = row * columns_ + column, above = a + columns_;
        const std::array corners{a, a + 1, above + 1, above};
        const std::array edges{2 * a, 2 * (a + 1) + 1, 2 * above, 2 * a + 1};
        const auto isInside = [&](std::size_t corner) { return scores_[corners[corner % 4]] >= level; };
        for (std::size_t in = 0; in < 4; ++in) {
          if (!isInside(in) || isInside(in + 1)) continue;
          std::size_t out = in + 1;
          while (isInside(out) || !isInside(out + 1)) ++out;
          next[edges[in]] = edges[out % 4];
        }
      }
    return next;
  }

  View view_;
  std::size_t columns_, rows_;
  std::vector<double> scores_;
};

}  // namespace moons
