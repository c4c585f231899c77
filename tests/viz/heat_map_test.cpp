// Heat maps: which numbers and texts a script holds, the scale of colours, what is refused. What Python makes of the
// scripts is shown by scripts.py.
#include <burtorch/viz/heat_map.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <list>
#include <vector>

#include "reference/error_sentence.hpp"
#include "viz/text_parts.hpp"

namespace burtorch {
namespace heat_map_test {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();
using Rows = std::vector<std::vector<double>>;

TEST(HeatMap, BasicHoldsTheMatrixRowByRow) {
  EXPECT_TRUE(has(generateHeatMapBasic(Rows{{1, 2, 3}, {4, 5, 6}}), "\"values\":[[1,2,3],'\n    '[4,5,6]]"));
}
TEST(HeatMap, BasicTakesAnyListOfRows) {
  const std::list<std::vector<int>> whole{{1, 2}, {3, 4}};
  EXPECT_TRUE(has(generateHeatMapBasic(whole), "\"values\":[[1,2],'\n    '[3,4]]"));
  const float single[2][2] = {{0.5f, 1}, {2, 4}};
  EXPECT_TRUE(has(generateHeatMapBasic(single), "\"values\":[[0.5,1],'\n    '[2,4]]"));
}
TEST(HeatMap, BasicTakesValuesAndMatricesOfATape) {
  Tape<double> tape;
  const CurrentTape here(tape);
  const std::vector<std::vector<Value<double>>> values{{Value(1.5), Value(2.5)}};
  EXPECT_TRUE(has(generateHeatMapBasic(values), "\"values\":[[1.5,2.5]]"));
  const std::vector<double> numbers{1, 2, 3, 4, 5, 6};
  const Matrix<double> matrix(tape.leaves(numbers), 3, 2);
  const std::size_t before = tape.size();
  EXPECT_TRUE(has(generateHeatMapBasic(matrix), "\"values\":[[1,2],'\n    '[3,4],'\n    '[5,6]]"));
  EXPECT_EQ(tape.size(), before);
}
TEST(HeatMap, AsksTheGettersForRowAndColumn) {
  const std::string script = generateHeatMap(
      2, 3,
      [](std::size_t row, std::size_t column) { return std::to_string(row) + "/" + std::to_string(column); },
      [](std::size_t row, std::size_t column) { return 10 * row + column; });
  EXPECT_TRUE(has(script, "\"values\":[[0,1,2],'\n    '[10,11,12]]"));
  EXPECT_TRUE(has(script, "\"items\":[[\"0/0\",\"0/1\",\"0/2\"],'\n    '[\"1/0\",\"1/1\",\"1/2\"]]"));
  EXPECT_TRUE(has(script, "\"counters\":[[\"0\",\"1\",\"2\"],'\n    '[\"10\",\"11\",\"12\"]]"));
}
TEST(HeatMap, ItemsAreTextsCharactersOrNumbers) {
  const auto itemOf = [](auto item) {
    return makeHeatMap(
               1, 1, [&](auto, auto) { return item; }, [](auto, auto) { return 0; })
        .items[0];
  };
  EXPECT_EQ(itemOf("text"), "text");
  EXPECT_EQ(itemOf(std::string("text")), "text");
  EXPECT_EQ(itemOf(std::string_view("text")), "text");
  EXPECT_EQ(itemOf('c'), "c");
  EXPECT_EQ(itemOf(42), "42");
  EXPECT_EQ(itemOf(0.123456), "0.123");
}
TEST(HeatMap, CountersAreWholeOrHaveThreeDigits) {
  const auto counterOf = [](auto number) {
    return makeHeatMap(
               1, 1, [](auto, auto) { return ""; }, [&](auto, auto) { return number; })
        .counters[0];
  };
  EXPECT_EQ(counterOf(std::uint64_t{18446744073709551615u}), "18446744073709551615");
  EXPECT_EQ(counterOf(-7), "-7");
  EXPECT_EQ(counterOf(0.123456f), "0.123");
  EXPECT_EQ(counterOf(-1e300), "-1e+300");
  EXPECT_EQ(counterOf(nan), "nan");
}
TEST(HeatMap, GettersMayReturnValuesAndLeaveNoNodes) {
  Tape<float> tape;
  const CurrentTape here(tape);
  const auto get = [](std::size_t row, std::size_t column) {
    return Value<float>(static_cast<float>(row)) + Value<float>(static_cast<float>(column));
  };
  const HeatMap map = makeHeatMap(2, 2, get, get);
  EXPECT_EQ(map.values, (std::vector<double>{0, 1, 1, 2}));
  EXPECT_EQ(map.items, (std::vector<std::string>{"0", "1", "1", "2"}));
  EXPECT_EQ(tape.size(), 0u);
}
TEST(HeatMap, HoldsLabelsAndTitles) {
  const std::string script = generateHeatMapBasic(
      Rows{{1, 2}},
      {.title = "T", .xLabel = "X", .yLabel = "Y", .rowLabels = {"r"}, .columnLabels = {"c", "d"}});
  for (const char* part : {"\"title\":\"T\"", "\"xLabel\":\"X\"", "\"yLabel\":\"Y\"", "\"rowLabels\":[\"r\"]",
                           "\"columnLabels\":[\"c\",\"d\"]"})
    EXPECT_TRUE(has(script, part)) << part;
}

detail::HeatScale scaleOf(std::vector<double> values) {
  const std::size_t count = values.size();
  return detail::HeatScale({.maps = {{.rows = 1, .columns = count, .values = std::move(values)}}});
}
TEST(HeatScale, GoesFromTheLeastToTheLargest) {
  const auto scale = scaleOf({3, 5, 4});
  EXPECT_EQ(scale.low, 3);
  EXPECT_EQ(scale.high, 5);
  EXPECT_FALSE(scale.isDiverging);
  EXPECT_EQ(detail::hexColour(scale.colourOf(3)), "#ffffff");
  EXPECT_EQ(detail::hexColour(scale.colourOf(5)), "#172554");
}
TEST(HeatScale, OfBothSignsIsWhiteAtZero) {
  const auto scale = scaleOf({-1, 3});
  EXPECT_EQ(scale.low, -3);
  EXPECT_EQ(scale.high, 3);
  EXPECT_EQ(detail::hexColour(scale.colourOf(0)), "#ffffff");
  EXPECT_EQ(detail::hexColour(scale.colourOf(1.5)), "#dc2626");
  EXPECT_EQ(detail::hexColour(scale.colourOf(-1.5)), "#2563eb");
}
TEST(HeatScale, IsSharedByAllMaps) {
  const detail::HeatScale scale(
      {.maps = {{.rows = 1, .columns = 1, .values = {2}}, {.rows = 1, .columns = 1, .values = {7}}}});
  EXPECT_EQ(scale.low, 2);
  EXPECT_EQ(scale.high, 7);
}
TEST(HeatScale, DoesNotCountWhatIsNotFinite) {
  const auto scale = scaleOf({nan, 1, inf, 2, -inf});
  EXPECT_EQ(scale.low, 1);
  EXPECT_EQ(scale.high, 2);
}
TEST(HeatScale, OfOneNumberReachesToZero) {
  for (const auto& [number, low, high] : {std::tuple{5.0, 0.0, 5.0}, std::tuple{-5.0, -5.0, 0.0},
                                          std::tuple{0.0, 0.0, 1.0}, std::tuple{nan, 0.0, 1.0}}) {
    EXPECT_EQ(scaleOf({number}).low, low) << number;
    EXPECT_EQ(scaleOf({number}).high, high) << number;
  }
}
TEST(HeatScale, DoesNotOverflow) {
  constexpr double most = std::numeric_limits<double>::max();
  const auto scale = scaleOf({-most, most});
  EXPECT_EQ(scale.partOf(most), 1);
  EXPECT_EQ(scale.partOf(-most), 0);
  EXPECT_EQ(scale.partOf(0), 0.5);
}
TEST(HeatScale, TextIsReadOnDarkAndLightColours) {
  EXPECT_TRUE(detail::HeatScale::isDark({23, 37, 84}));
  EXPECT_FALSE(detail::HeatScale::isDark({255, 255, 255}));
}

TEST(HeatMapFigure, PutsMapsIntoASquareUnlessToldOtherwise) {
  const HeatMap one{.rows = 1, .columns = 1, .values = {1}};
  for (const auto& [count, wanted] :
       {std::pair{1u, 1u}, std::pair{2u, 2u}, std::pair{4u, 2u}, std::pair{5u, 3u}, std::pair{9u, 3u}}) {
    EXPECT_EQ((HeatMapFigure{.maps = std::vector<HeatMap>(count, one)}).perRow(), wanted) << count;
  }
  EXPECT_EQ((HeatMapFigure{.maps = std::vector<HeatMap>(5, one), .mapsPerRow = 4}).perRow(), 4u);
  EXPECT_EQ((HeatMapFigure{.maps = std::vector<HeatMap>(2, one), .mapsPerRow = 4}).perRow(), 2u);
}

TEST(HeatMap, RefusesWhatDoesNotFit) {
  const auto sentence = [](const HeatMap& map) {
    return sentenceOf([&] { generateHeatMaps({.maps = {map}}); });
  };
  EXPECT_TRUE(has(sentence({}), "0 x 0"));
  EXPECT_TRUE(has(sentence({.rows = 2, .columns = 2, .values = {1, 2, 3}}), "3 numbers"));
  EXPECT_TRUE(has(sentence({.rows = 1, .columns = 2, .values = {1, 2}, .items = {"a"}}), "1 items"));
  EXPECT_TRUE(has(sentence({.rows = 1, .columns = 2, .values = {1, 2}, .counters = {"a"}}), "1 counters"));
  EXPECT_TRUE(has(sentence({.rows = 1, .columns = 2, .values = {1, 2}, .options = {.rowLabels = {"a", "b"}}}),
                  "labels of rows"));
  EXPECT_TRUE(has(sentence({.rows = 1, .columns = 2, .values = {1, 2}, .options = {.columnLabels = {"a"}}}),
                  "labels of columns"));
  // A product of 2^64 is 0.
  EXPECT_TRUE(has(sentence({.rows = std::size_t{1} << 32, .columns = std::size_t{1} << 32}), "0 numbers"));
  EXPECT_TRUE(has(sentenceOf([] { generateHeatMaps({}); }), "no heat maps"));
  EXPECT_TRUE(has(sentenceOf([] { generateHeatMapBasic(Rows{{1, 2}, {3}}); }), "row 1"));
  EXPECT_TRUE(has(sentenceOf([] { generateHeatMapBasic(Rows{}); }), "0 x 0"));
}

}  // namespace heat_map_test
}  // namespace burtorch
