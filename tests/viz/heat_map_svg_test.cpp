// Heat maps as SVG: a rectangle of the right colour for every cell, harmless labels, odd data still give a picture. That
// it is well-formed XML is shown by the tests of burt and by scripts.py.
#include <burtorch/viz/heat_map_svg.hpp>

#include <gtest/gtest.h>

#include <clocale>
#include <cstdio>
#include <limits>
#include <vector>

#include "reference/error_sentence.hpp"
#include "viz/text_parts.hpp"

namespace burtorch {
namespace heat_map_svg_test {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();

std::string svgOf(std::size_t rows, std::size_t columns, std::vector<double> values,
                  HeatMapOptions options = {}) {
  return heatMapSvg(
      {.maps = {
           {.rows = rows, .columns = columns, .values = std::move(values), .options = std::move(options)}}});
}

TEST(HeatMapSvg, DrawsEveryCellWithItsColourAndNumber) {
  const std::string svg = svgOf(2, 3, {0, 1, 2, 3, 0.123456789, 5});
  EXPECT_EQ(countOf(svg, "<title>"), 6u);
  EXPECT_TRUE(has(svg, "fill=\"#ffffff\"><title>0</title>"));
  EXPECT_TRUE(has(svg, "fill=\"#172554\"><title>5</title>"));
  EXPECT_TRUE(has(svg, "<title>0.123456789</title>"));
}
TEST(HeatMapSvg, RowsGoDownAndColumnsGoRight) {
  const std::string svg = svgOf(2, 2, {1, 2, 3, 4});
  const auto corner = [&](const std::string& number) {
    const std::string_view before =
        std::string_view(svg).substr(0, svg.find("<title>" + number + "</title>"));
    const std::string_view rect = before.substr(before.rfind("<rect x="));
    double x = 0, y = 0;
    EXPECT_EQ(std::sscanf(std::string(rect).c_str(), "<rect x=\"%lf\" y=\"%lf\"", &x, &y), 2);
    return std::pair(x, y);
  };
  EXPECT_LT(corner("1").first, corner("2").first);
  EXPECT_EQ(corner("1").second, corner("2").second);
  EXPECT_LT(corner("1").second, corner("3").second);
  EXPECT_EQ(corner("2").first, corner("4").first);
}
TEST(HeatMapSvg, WhatIsNotFiniteIsGrey) {
  EXPECT_EQ(countOf(svgOf(1, 4, {1, nan, inf, -inf}), "fill=\"#d1d5db\""), 3u);
}
TEST(HeatMapSvg, EscapesEveryText) {
  const std::string bad = "<b>&\"\x01\xff";
  HeatMap map{
      .rows = 1,
      .columns = 1,
      .values = {1},
      .items = {bad},
      .counters = {bad},
      .options = {.title = bad, .xLabel = bad, .yLabel = bad, .rowLabels = {bad}, .columnLabels = {bad}}};
  const std::string svg = heatMapSvg({.title = bad, .maps = {map}});
  EXPECT_FALSE(has(svg, "<b>"));
  EXPECT_EQ(countOf(svg, "&lt;b&gt;"), 8u);
  EXPECT_FALSE(has(svg, "\x01"));
  EXPECT_FALSE(has(svg, "\xff"));
}
TEST(HeatMapSvg, ShowsCharactersOfAnyScript) {
  EXPECT_TRUE(has(svgOf(1, 1, {1}, {.rowLabels = {"é日😀"}}), ">é日😀</text>"));
}
TEST(HeatMapSvg, CutsLongLabelsBetweenCharacters) {
  std::string label;
  for (int i = 0; i < 1000; ++i) label += "é";
  std::string cut;
  for (int i = 0; i < 23; ++i) cut += "é";
  EXPECT_TRUE(has(svgOf(1, 1, {1}, {.rowLabels = {label}}), ">" + cut + "…</text>"));
  EXPECT_TRUE(has(svgOf(1, 1, {1}, {.rowLabels = {cut + "é"}}), ">" + cut + "é</text>"));
}
TEST(HeatMapSvg, WritesItemsAboveCountersInReadableColours) {
  const HeatMap map = makeHeatMap(
      1, 2, [](auto, std::size_t column) { return column == 0 ? "light" : "dark"; },
      [](auto, std::size_t column) { return column; });
  const std::string svg = heatMapSvg({.maps = {map}});
  EXPECT_TRUE(has(svg, "\" font-weight=\"600\">light</text>"));
  EXPECT_TRUE(has(svg, "fill=\"#ffffff\" font-weight=\"600\">dark</text>"));
}
TEST(HeatMapSvg, DrawsAllMapsOfAFigure) {
  const HeatMap one{.rows = 2, .columns = 2, .values = {1, 2, 3, 4}};
  EXPECT_EQ(countOf(heatMapSvg({.maps = std::vector<HeatMap>(5, one)}), "<title>"), 20u);
}
TEST(HeatMapSvg, GivesAPictureOfOddData) {
  constexpr double most = std::numeric_limits<double>::max(),
                   least = std::numeric_limits<double>::denorm_min();
  for (const auto& values : std::vector<std::vector<double>>{
           {nan}, {inf}, {0}, {most, -most}, {least, 0}, {most}, {1, 1, 1}, std::vector<double>(3000, 1.5)}) {
    const std::size_t count = values.size();
    const std::string svg = svgOf(1, count, values);
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
    EXPECT_EQ(countOf(svg, "\"nan") + countOf(svg, "\"inf") + countOf(svg, "\"-nan") + countOf(svg, "\"-inf"),
              0u);
    EXPECT_LT(countOf(svg, "<text"), 400u);
  }
}
TEST(HeatMapSvg, DoesNotFollowTheLocaleAndLeavesItAsItWas) {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr) GTEST_SKIP() << "there is no German locale here";
  const std::string svg = svgOf(1, 2, {1.5, 2});
  char after[8];
  std::snprintf(after, sizeof after, "%.1f", 1.5);
  std::setlocale(LC_NUMERIC, before.c_str());
  EXPECT_EQ(svg, svgOf(1, 2, {1.5, 2}));
  EXPECT_STREQ(after, "1,5");
}
TEST(HeatMapSvg, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(has(sentenceOf([] { svgOf(2, 2, {1}); }), "1 numbers"));
  EXPECT_TRUE(has(sentenceOf([] { heatMapSvg({}); }), "no heat maps"));
}

}  // namespace heat_map_svg_test
}  // namespace burtorch
