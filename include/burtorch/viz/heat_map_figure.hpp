// What heat maps are drawn from, as a script (heat_map.hpp) or as SVG (heat_map_svg.hpp): tables of numbers, what is
// written into their cells and beside them, and which colour a number has.
//
// All maps of a figure share one scale, so their colours can be compared: from the least number in white to the largest
// in dark blue or, if there are numbers of both signs, from blue over white at 0 to red. Numbers that are not finite are
// grey and do not count for the scale.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "../base/check.hpp"
#include "../base/number_text.hpp"
#include "plain_number.hpp"

namespace burtorch::inline BURTORCH_TARGET {

// All members have a value, so that a caller may name a few without a warning of g++.
struct HeatMapOptions {
  std::string title = {}, xLabel = {}, yLabel = {};
  std::vector<std::string> rowLabels = {}, columnLabels = {};  // none, or one for each
};

struct HeatMap {
  std::size_t rows = 0, columns = 0;
  std::vector<double> values = {};  // row by row
  // Written into the cells, one above the other: none, or one for each cell.
  std::vector<std::string> items = {}, counters = {};
  HeatMapOptions options = {};

  void check() const {
    if (rows == 0 || columns == 0) fail("a heat map of %zu x %zu cells: there must be some", rows, columns);
    // Divided, since a product could overflow.
    const auto isFull = [&](std::size_t size) { return size % columns == 0 && size / columns == rows; };
    const auto mustBe = [&](bool isRight, const char* what, std::size_t found) {
      if (!isRight) fail("heat map: %zu x %zu cells do not fit %zu %s", rows, columns, found, what);
    };
    mustBe(isFull(values.size()), "numbers", values.size());
    mustBe(items.empty() || isFull(items.size()), "items", items.size());
    mustBe(counters.empty() || isFull(counters.size()), "counters", counters.size());
    const std::size_t rowLabels = options.rowLabels.size(), columnLabels = options.columnLabels.size();
    mustBe(rowLabels == 0 || rowLabels == rows, "labels of rows", rowLabels);
    mustBe(columnLabels == 0 || columnLabels == columns, "labels of columns", columnLabels);
  }
  bool hasText() const { return !items.empty() || !counters.empty(); }
};

struct HeatMapFigure {
  std::string title = {};
  std::vector<HeatMap> maps = {};
  std::size_t mapsPerRow = 0;  // 0: about as many as there are rows of maps

  void check() const {
    if (maps.empty()) fail("a figure of no heat maps: give it at least one");
    for (const HeatMap& map : maps) map.check();
  }
  std::size_t perRow() const {
    std::size_t count = mapsPerRow;
    while (mapsPerRow == 0 && count * count < maps.size()) ++count;
    return std::min(count, maps.size());
  }
};

namespace detail {

/// A counter as people write it: whole numbers in full, others with three digits.
template <class N> std::string counterText(N number) {
  if constexpr (std::is_floating_point_v<N>)
    return digits::rounded(static_cast<double>(number), 3);
  else
    return std::to_string(number);
}
/// What an itemGetter gives: text, a character, or a number.
template <class Getter> std::string itemText(Getter&& getter, std::size_t row, std::size_t column) {
  using Item = std::remove_cvref_t<std::invoke_result_t<Getter, std::size_t, std::size_t>>;
  if constexpr (std::is_convertible_v<const Item&, std::string_view>)
    return std::string(std::string_view(getter(row, column)));
  else if constexpr (std::is_same_v<Item, char>)
    return std::string(1, getter(row, column));
  else
    return counterText(plainNumber(getter, row, column));
}

/// Which part of the scale a number is at, and its colour.
struct HeatScale {
  static constexpr std::string_view gap = "#d1d5db";  // for what is not finite
  /// Differences of larger numbers would overflow.
  static constexpr double largest = 1e300;

  double low = 0, high = 1;
  bool isDiverging = false;

  explicit HeatScale(const HeatMapFigure& figure) {
    bool isFirst = true;
    for (const HeatMap& map : figure.maps)
      for (const double x : map.values) {
        if (!std::isfinite(x)) continue;
        const double number = std::clamp(x, -largest, largest);
        low = isFirst ? number : std::min(low, number);
        high = isFirst ? number : std::max(high, number);
        isFirst = false;
      }
    isDiverging = low < 0 && high > 0;
    if (isDiverging) {
      high = std::max(-low, high);
      low = -high;
    } else if (low == high) {  // all the same: seen from 0
      if (low > 0) low = 0;
      high = low < 0 ? 0 : high > 0 ? high : 1;
    }
  }
  /// From 0 to 1. Of a number that is finite.
  double partOf(double number) const {
    return std::clamp((std::clamp(number, -largest, largest) - low) / (high - low), 0.0, 1.0);
  }
  using Colour = std::array<int, 3>;
  /// The colours at equal distances along the scale; between them, mixtures.
  std::span<const Colour> colours() const {
    static constexpr Colour sequential[] = {{255, 255, 255}, {147, 197, 253}, {37, 99, 235}, {23, 37, 84}};
    static constexpr Colour diverging[] = {
        {23, 37, 84}, {37, 99, 235}, {255, 255, 255}, {220, 38, 38}, {69, 10, 10}};
    if (isDiverging) return diverging;
    return sequential;
  }
  Colour colourOf(double number) const {
    const double place = partOf(number) * static_cast<double>(colours().size() - 1);
    const std::size_t below = std::min(static_cast<std::size_t>(place), colours().size() - 2);
    Colour mixed{};
    for (std::size_t i = 0; i < 3; ++i)
      mixed[i] = static_cast<int>(std::lround(
          std::lerp(colours()[below][i], colours()[below + 1][i], place - static_cast<double>(below))));
    return mixed;
  }
  /// Whether white can be read on a colour better than black.
  static bool isDark(const Colour& c) { return 299 * c[0] + 587 * c[1] + 114 * c[2] < 127'500; }
};

inline std::string hexColour(const HeatScale::Colour& colour) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = "#";
  for (const int part : colour)
    text += {digits[static_cast<unsigned>(part) / 16], digits[static_cast<unsigned>(part) % 16]};
  return text;
}

}  // namespace detail

/// A map of rows x columns cells. Each shows the text `itemGetter(row, column)` and, below it, the number
/// `counterGetter(row, column)`, which gives its colour. Either may return a Value; what they record is forgotten.
template <class ItemGetter, class CounterGetter>
HeatMap makeHeatMap(std::size_t rows, std::size_t columns, ItemGetter&& itemGetter,
                    CounterGetter&& counterGetter, HeatMapOptions options = {}) {
  HeatMap map{.rows = rows, .columns = columns, .options = std::move(options)};
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column) {
      const auto number = detail::plainNumber(counterGetter, row, column);
      map.values.push_back(static_cast<double>(number));
      map.counters.push_back(detail::counterText(number));
      map.items.push_back(detail::itemText(itemGetter, row, column));
    }
  return map;
}

}  // namespace burtorch::inline BURTORCH_TARGET
