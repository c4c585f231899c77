// Curves as SVG: every finite point is drawn, labels are harmless, and odd data still give a picture.
#include <burtorch/viz/curve_svg.hpp>

#include <gtest/gtest.h>

#include <limits>

#include "viz/text_parts.hpp"

namespace burtorch {
namespace {

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

}  // namespace
}  // namespace burtorch
