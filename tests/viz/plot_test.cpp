// Plots of functions: where they are computed, that they leave no nodes, what is refused. What Python makes of the scripts
// is shown by scripts.py.
#include <burtorch/viz/plot.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "reference/error_sentence.hpp"
#include "viz/text_parts.hpp"

namespace burtorch {
namespace plot_test {

TEST(Plot, ComputesTheFunctionAtRegularIntervalsAndBothEnds) {
  std::vector<double> seen;
  const auto f = [&](double x) {
    seen.push_back(x);
    return 2 * x;
  };
  const std::string script = generatePlot(f, -1, 2, {.points = 7});
  EXPECT_EQ(seen, (std::vector<double>{-1, -0.5, 0, 0.5, 1, 1.5, 2}));
  EXPECT_TRUE(has(script, "\"x\":[-1,-0.5,0,0.5,1,1.5,2]"));
  EXPECT_TRUE(has(script, "\"y\":[-2,-1,0,1,2,3,4]"));
}
TEST(Plot, EndsExactlyAtTheEndOfAnyRange) {
  constexpr double most = std::numeric_limits<double>::max();
  for (const auto& [start, end] :
       {std::pair{0.1, 0.7}, std::pair{-most, most}, std::pair{1.0, 1.0 + 0x1p-52}}) {
    std::vector<double> seen;
    generatePlot([&](double x) { return seen.push_back(x), x; }, start, end, {.points = 11});
    EXPECT_EQ(seen.front(), start);
    EXPECT_EQ(seen.back(), end);
    for (const double x : seen) EXPECT_TRUE(std::isfinite(x));
  }
}
TEST(Plot, TakesWholeNumbersAndSinglePrecision) {
  EXPECT_TRUE(
      has(generatePlot([](double x) { return static_cast<int>(x); }, 0, 2, {.points = 3}), "\"y\":[0,1,2]"));
  EXPECT_TRUE(has(generatePlot([](double x) { return static_cast<float>(x) / 4; }, 0, 2, {.points = 3}),
                  "\"y\":[0,0.25,0.5]"));
}

TEST(Plot, TakesFunctionsOfValuesAndLeavesNoNodes) {
  Tape<double> tape;
  const CurrentTape here(tape);
  const Value<double> a(3.0);
  const TapeCapacity before = tape.used();
  const std::string script = generatePlot([&](Value<double> x) { return a * x + 1.0; }, 0, 2, {.points = 3});
  EXPECT_TRUE(has(script, "\"y\":[1,4,7]"));
  EXPECT_EQ(tape.used().scalars, before.scalars);
  EXPECT_EQ(tape.used().words, before.words);
  EXPECT_EQ(a.dataCopy(), 3.0);
}
TEST(Plot, LeavesNoNodesOfAFunctionThatFails) {
  Tape<float> tape;
  const CurrentTape here(tape);
  const auto f = [](double x) -> Value<float> {
    const Value<float> y(static_cast<float>(x));
    if (x > 0) fail("enough");
    return y;
  };
  EXPECT_EQ(sentenceOf([&] { generatePlot(f, -1, 1); }), "enough");
  EXPECT_EQ(tape.size(), 0u);
}

TEST(Plot, WritesWhatIsNotFiniteAsPythonReadsIt) {
  const std::string script = generatePlot([](double x) { return 1 / x; }, 0, 1, {.points = 2});
  EXPECT_TRUE(has(script, "\"y\":[Infinity,1]"));
}
TEST(Plot, RefusesRangesAndCountsThatGiveNoPlot) {
  const auto f = [](double x) { return x; };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  using Range = std::pair<double, double>;
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const Range& range : {Range{1, 1}, Range{2, 1}, Range{0, nan}, Range{nan, 0}, Range{0, inf}})
    EXPECT_TRUE(has(sentenceOf([&] { generatePlot(f, range.first, range.second); }), "finite"))
        << range.first << " to " << range.second;
  EXPECT_TRUE(has(sentenceOf([&] { generatePlot(f, 0, 1, {.points = 1}); }), "at least 2"));
  EXPECT_EQ(codeOf([&] { generatePlot(f, 1, 0); }), ErrorCode::invalidArgument);
  EXPECT_EQ(codeOf([&] { generatePlot(f, 0, std::numeric_limits<double>::infinity()); }),
            ErrorCode::notFinite);
}
TEST(Plot, DrawsSeveralCurvesWithTheirLabels) {
  const std::vector<Curve> curves{{"first", {{1, 2}, {3, 4}}}, {"second", {}}};
  const std::string script = generatePlot(curves, {.title = "T", .xLabel = "X", .yLabel = "Y"});
  for (const char* part : {"\"title\":\"T\"", "\"xLabel\":\"X\"", "\"yLabel\":\"Y\"", "\"label\":\"first\"",
                           "\"x\":[1,3]", "\"y\":[2,4]", "\"label\":\"second\"", "\"x\":[]"})
    EXPECT_TRUE(has(script, part)) << part;
}

}  // namespace plot_test
}  // namespace burtorch
