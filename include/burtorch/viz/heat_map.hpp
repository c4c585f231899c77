// Heat maps as Matplotlib scripts (paper F.6). Text only; runs nothing. What a script promises is in python_script.hpp,
// what a heat map is in heat_map_figure.hpp.
#pragma once

#include <string>
#include <utility>

#include "../nn/matrix.hpp"
#include "heat_map_figure.hpp"
#include "python_script.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {

inline std::string heatMapJson(const HeatMap& map) {
  const auto cells = [&](const auto& list, auto element) {
    using Cell = typename std::remove_cvref_t<decltype(list)>::value_type;
    std::vector<std::span<const Cell>> rows;
    for (std::size_t row = 0; row < map.rows && !list.empty(); ++row)
      rows.emplace_back(list.data() + row * map.columns, map.columns);
    return toJsonArray(
        rows, [&](const auto& row) { return toJsonArray(row, element); }, ",\n");
  };
  const HeatMapOptions& options = map.options;
  return "{\"title\":" + toJson(options.title) + ",\n\"xLabel\":" + toJson(options.xLabel) +
         ",\n\"yLabel\":" + toJson(options.yLabel) +
         ",\n\"rowLabels\":" + toJsonArray(options.rowLabels, textToJson) +
         ",\n\"columnLabels\":" + toJsonArray(options.columnLabels, textToJson) +
         ",\n\"values\":" + cells(map.values, numberToJson) + ",\n\"items\":" + cells(map.items, textToJson) +
         ",\n\"counters\":" + cells(map.counters, textToJson) + "}";
}

inline constexpr std::string_view heatMapDrawing =
    R"(from matplotlib.colors import LinearSegmentedColormap, Normalize

MAPS = DATA["maps"]
COLOURS = LinearSegmentedColormap.from_list("heat", DATA["colours"])
SCALE = Normalize(DATA["low"], DATA["high"])


def drawable(number):
    """Finite, and small enough that differences do not overflow."""
    return max(-1e300, min(1e300, number)) if abs(number) < float("inf") else float("nan")


def label(axis, labels, count, inches):
    """As many labels, or numbers, as have room."""
    step = next(k * 10 ** p for p in range(9) for k in (1, 2, 5) if k * 10 ** p * inches >= 0.17 * count)
    axis.set_ticks(range(0, count, step))
    axis.set_ticklabels([literal(labels[i], 24) if labels else str(i) for i in range(0, count, step)])
    axis.set_tick_params(length=0)


def write(axes, heat, cell):
    """The texts of the cells, in black or white, whichever can be read on the cell's colour."""
    size = min(11, 72 * cell / 4)
    for texts, place, weight in ((heat["items"], "bottom", "bold"), (heat["counters"], "top", "normal")):
        for row, line in enumerate(texts):
            for column, text in enumerate(line):
                number = drawable(heat["values"][row][column])
                r, g, b, _ = COLOURS(SCALE(number)) if number == number else (0.8, 0.8, 0.8, 1)
                axes.text(column, row + (0.04 if place == "top" else -0.04), literal(text, 12), ha="center", va=place, fontsize=size, weight=weight,
                          color="white" if 0.299 * r + 0.587 * g + 0.114 * b < 0.5 else "black", clip_on=True)


def draw(axes, heat, cell):
    rows, columns = len(heat["values"]), len(heat["values"][0])
    axes.set_facecolor(DATA["gap"])
    image = axes.imshow([[drawable(x) for x in row] for row in heat["values"]], cmap=COLOURS, norm=SCALE,
                        interpolation="nearest")
    label(axes.xaxis, heat["columnLabels"], columns, columns * cell)
    label(axes.yaxis, heat["rowLabels"], rows, rows * cell)
    if any(len(text) > 2 for text in heat["columnLabels"]):
        axes.tick_params(axis="x", labelrotation=90)
    axes.set_title(literal(heat["title"]), fontsize="medium")
    axes.set_xlabel(literal(heat["xLabel"]))
    axes.set_ylabel(literal(heat["yLabel"]))
    write(axes, heat, cell)
    return image


across = int(DATA["mapsPerRow"])
down = -(-len(MAPS) // across)
rows = max(len(heat["values"]) for heat in MAPS)
columns = max(len(heat["values"][0]) for heat in MAPS)
has_text = any(heat["items"] or heat["counters"] for heat in MAPS)
cell = min(0.5 if has_text else 0.26, 24 / (rows * down), 24 / (columns * across))
# A small map among several is drawn larger: its title needs room.
cell = max(cell, min(2.0 if len(MAPS) > 1 else 3.0, 24 / across) / max(rows, columns))
# And so do the titles of narrow ones.
letters = min(60, max(len(DATA["title"]), across * max(len(heat["title"]) for heat in MAPS)))
width = max(across * (columns * cell + 0.7) + 1.2, 0.12 * letters)
figure, grid = plt.subplots(down, across, squeeze=False, constrained_layout=True,
                            figsize=(width, down * (rows * cell + 0.8) + 0.5))
places = [axes for line in grid for axes in line]
for axes in places[len(MAPS):]:
    axes.axis("off")
for axes, heat in zip(places, MAPS):
    image = draw(axes, heat, cell)
figure.colorbar(image, ax=places, fraction=0.05, aspect=30)
if DATA["title"]:
    figure.suptitle(literal(DATA["title"]))
)";

}  // namespace detail

/// A script that draws all maps of a figure.
inline std::string generateHeatMaps(const HeatMapFigure& figure) {
  using namespace detail;
  figure.check();
  const HeatScale scale(figure);
  const std::string json = "{\"title\":" + toJson(figure.title) +
                           ",\n\"mapsPerRow\":" + toJson(static_cast<double>(figure.perRow())) +
                           ",\n\"low\":" + toJson(scale.low) + ",\"high\":" + toJson(scale.high) +
                           ",\"gap\":" + toJson(HeatScale::gap) + ",\"colours\":" +
                           toJsonArray(scale.colours(), [](const auto& c) { return toJson(hexColour(c)); }) +
                           ",\n\"maps\":" + toJsonArray(figure.maps, heatMapJson, ",\n") + "}";
  return matplotlibScript(figure.maps.size() == 1 ? "A heat map" : "Heat maps", json, heatMapDrawing);
}

/// A script that draws a map whose cells show a text and a counter: see makeHeatMap.
template <class ItemGetter, class CounterGetter>
std::string generateHeatMap(std::size_t rows, std::size_t columns, ItemGetter&& itemGetter,
                            CounterGetter&& counterGetter, HeatMapOptions options = {}) {
  return generateHeatMaps(
      {.maps = {makeHeatMap(rows, columns, itemGetter, counterGetter, std::move(options))}});
}

/// A script that draws a matrix as colours alone. The matrix is a list of rows, such as a vector of vectors of numbers.
template <class Rows> std::string generateHeatMapBasic(const Rows& matrix, HeatMapOptions options = {}) {
  HeatMap map{.options = std::move(options)};
  for (const auto& row : matrix) {
    if (map.rows++ == 0) map.columns = std::size(row);
    if (std::size(row) != map.columns)
      fail("row %zu of a heat map has %zu numbers, the first has %zu", map.rows - 1, std::size(row),
           map.columns);
    for (const auto& number : row)
      map.values.push_back(static_cast<double>(detail::plainNumber([&] { return number; })));
  }
  return generateHeatMaps({.maps = {std::move(map)}});
}
template <class T, Config C>
std::string generateHeatMapBasic(const Matrix<T, C>& matrix, HeatMapOptions options = {}) {
  const std::span<const T> values = matrix.values();
  return generateHeatMaps({.maps = {{.rows = matrix.rows(),
                                     .columns = matrix.columns(),
                                     .values = {values.begin(), values.end()},
                                     .options = std::move(options)}}});
}

}  // namespace burtorch::inline BURTORCH_TARGET
