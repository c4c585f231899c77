// Curves as SVG: every finite point is drawn, labels are harmless, and odd data still give a picture.
#include <burtorch/viz/curve_svg.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "viz/text_parts.hpp"

namespace burtorch {
namespace curve_svg_test {

std::string svgOf(std::vector<CurvePoint> points, const std::string& label = "loss") {
  const Curve curves[] = {{label, std::move(points)}};
  return curveSvg("title", "x", "y", curves);
}

TEST(CurveSvg, DrawsEveryFinitePoint) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const std::string svg = svgOf({{0, 1}, {1, nan}, {2, inf}, {3, 2}});
  const std::size_t from = svg.find("points=\"") + 8;
  EXPECT_EQ(countOf(svg.substr(from, svg.find('"', from) - from), ","), 2u);
  EXPECT_EQ(countOf(svg, "nan") + countOf(svg, "inf"), 0u);
}
TEST(CurveSvg, TheLegendNamesWhatIsShownBesideThePlot) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Curve curves[] = {
      {"one", {{0, 1}, {1, 2}}}, {"none", {{0, nan}}}, {"a name of twenty-six here", {{0, 3}}}};
  const std::string svg = curveSvg("title", "x", "y", curves);
  EXPECT_EQ(countOf(svg, ">none<"), 0u);
  EXPECT_EQ(countOf(svg, "<polyline"), 2u);
  // As wide as the longest name: grid and curves end at 552, names begin at 580.
  EXPECT_EQ(countOf(svg, "x2=\"552.0\""), countOf(svg, "x1=\"76.0\""));
  EXPECT_EQ(countOf(svg, "points=\"76.0,384.0 552.0,"), 1u);
  EXPECT_EQ(countOf(svg, "<text x=\"580.0\" y=\"62.0\" text-anchor=\"start\""), 1u);
  EXPECT_EQ(countOf(svg, "<text x=\"580.0\" y=\"82.0\" text-anchor=\"start\""), 1u);
}
TEST(CurveSvg, ANarrowPlotHasFewerNumbers) {
  const auto numbers = [](const std::string& label) {
    const Curve curves[] = {{label, {{0, 1}, {1e6, 2}}}, {"b", {{0, 3}}}};
    return countOf(curveSvg("title", "x", "y", curves), "y=\"402.0\" text-anchor=\"middle\"");
  };
  EXPECT_EQ(numbers("a"), 11u);
  EXPECT_LE(numbers(std::string(30, 'a')), 6u);
}
TEST(CurveSvg, EightCurvesHaveColoursOfTheirOwn) {
  std::vector<Curve> curves;
  for (int i = 0; i < 8; ++i) curves.push_back({std::to_string(i), {{0, 1.0 + i}, {1, 2.0 + i}}});
  const std::string svg = curveSvg("title", "x", "y", curves);
  std::set<std::string> colours;
  for (std::size_t at = svg.find("stroke=\"#"); at != std::string::npos; at = svg.find("stroke=\"#", at + 1))
    if (svg.compare(at + 9, 6, "e5e7eb") != 0) colours.insert(svg.substr(at + 9, 6));
  EXPECT_EQ(colours.size(), 8u);
}
TEST(CurveSvg, EscapesLabels) {
  const std::string svg = svgOf({{0, 1}, {1, 2}}, "<script>\"&'\x01\xff");
  EXPECT_EQ(countOf(svg, "<script>"), 0u);
  EXPECT_EQ(countOf(svg, "&lt;script&gt;&quot;&amp;'??"), 1u);
}
TEST(CurveSvg, TakesNoPointsOnePointAndAFlatLine) {
  for (const auto& points : {std::vector<CurvePoint>{}, {{5, 5}}, {{0, 3}, {1, 3}, {2, 3}}}) {
    const std::string svg = svgOf(points);
    EXPECT_EQ(countOf(svg, "nan") + countOf(svg, "inf"), 0u);
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
  }
}
TEST(CurveSvg, TakesNumbersOfAnySize) {
  for (const double size : {1e-300, 1e-9, 1e9, 1e300}) {
    const std::string svg = svgOf({{0, 0}, {size, size}});
    EXPECT_LT(countOf(svg, "<line"), 40u);
    EXPECT_GT(countOf(svg, "<line"), 4u);
  }
}
TEST(CurveSvg, ALogarithmicAxisHasPowersOfTenAndOnlyPositiveNumbers) {
  const Curve curves[] = {{"loss", {{1, 1e-8}, {10, 1e-3}, {100, 1}, {0, 1}, {50, 0}, {50, -1}}}};
  const std::string svg = curveSvg("title", "x", "y", curves, {.isLogX = true, .isLogY = true});
  for (const char* label : {">1<", ">10<", ">100<", ">1e-08<", ">1e-06<", ">0.01<"})
    EXPECT_GE(countOf(svg, label), 1u) << label;
  const std::size_t from = svg.find("points=\"") + 8;
  EXPECT_EQ(countOf(svg.substr(from, svg.find('"', from) - from), ","), 3u);
  // Evenly spaced in the logarithm: 10 lies in the middle between 1 and 100.
  EXPECT_EQ(countOf(svg, "points=\"76.0,384.0 426.0,"), 1u);
}
TEST(CurveSvg, ALogarithmicAxisOfLessThanADecadeHasRoundNumbers) {
  const Curve curves[] = {{"loss", {{2, 3}, {4, 5}, {6, 7}}}};
  const std::string svg = curveSvg("title", "x", "y", curves, {.isLogX = true, .isLogY = true});
  EXPECT_GT(countOf(svg, "<line"), 6u);
  EXPECT_GE(countOf(svg, ">4<"), 2u);
}
TEST(CurveSvg, OddDataOnALogarithmicAxisStillGiveAPicture) {
  for (const auto& points : {std::vector<CurvePoint>{},
                             {{0, 0}},
                             {{-1, -1}, {0, 0}},
                             {{1e-300, 1e300}, {1e300, 1e-300}},
                             {{1e308, 1e308}}}) {
    const Curve curves[] = {{"loss", points}};
    const std::string svg = curveSvg("title", "x", "y", curves, {.isLogX = true, .isLogY = true});
    EXPECT_EQ(countOf(svg, "nan") + countOf(svg, "inf"), 0u);
    EXPECT_LT(countOf(svg, "<line"), 40u);
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
  }
}
TEST(CurveSvg, PanelsStandSideBySide) {
  const Curve curves[] = {{"loss", {{0, 1}, {1, 2}}}};
  const std::vector<CurvePanel> panels(3, {.title = "<t>", .xLabel = "x", .yLabel = "y", .curves = curves});
  const std::string svg = curvePanelsSvg(panels, 2);
  EXPECT_EQ(countOf(svg, "<svg"), 4u);
  EXPECT_EQ(countOf(svg, "</svg>"), 4u);
  EXPECT_EQ(countOf(svg, "<polyline"), 3u);
  EXPECT_EQ(countOf(svg, "viewBox=\"0 0 1600 880\""), 1u);
  EXPECT_EQ(countOf(svg, "&lt;t&gt;"), 3u);
}

}  // namespace curve_svg_test
}  // namespace burtorch
