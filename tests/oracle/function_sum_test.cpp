// Any loss as a finite sum: recorded and compiled agree with the gradient by hand, threads give the same bits, knobs hold.
#include <burtorch/oracle/function_sum.hpp>

#include <gtest/gtest.h>

#include <array>
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/burtorch.hpp>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace function_sum_test {

struct Point {
  double a, b;
};
std::vector<Point> points(std::size_t count) {
  Rng rng(5);
  std::vector<Point> all(count);
  for (Point& p : all) p = {rng.normal<double>(), rng.normal<double>()};
  return all;
}
// f_i(x) = (x0 a + x1 - b)^2
constexpr auto loss = [](const Point& p, auto x) { return sqr(x[0] * p.a + x[1] - p.b); };
struct ByHand {
  double value = 0;
  std::array<double, 2> gradient{};
};
ByHand byHand(std::span<const Point> all, std::array<double, 2> x, Batch batch) {
  ByHand result;
  const double n = static_cast<double>(batch.size());
  for (const std::size_t i : batch) {
    const double r = x[0] * all[i].a + x[1] - all[i].b;
    result.value += r * r / n;
    result.gradient[0] += 2 * r * all[i].a / n;
    result.gradient[1] += 2 * r / n;
  }
  return result;
}
void expectError(auto action, const char* part) {
  EXPECT_NE(sentenceOf(action).find(part), std::string::npos) << sentenceOf(action);
}
constexpr std::array<double, 2> at{0.7, -1.3};
constexpr std::array<std::size_t, 4> batch{3, 0, 7, 7};

static_assert(GuidedSum<FunctionSum<double, Point, decltype(loss)>>);

TEST(FunctionSum, IsTheGradientByHand) {
  const auto all = points(9);
  auto f = finiteSum(all, 2, loss);
  std::array<double, 2> gradient;
  const double value = f.gradient(at, batch, gradient);
  const ByHand want = byHand(all, at, batch);
  EXPECT_NEAR(value, want.value, 1e-14);
  EXPECT_NEAR(f.value(at, batch), want.value, 1e-14);
  for (std::size_t k = 0; k < 2; ++k) EXPECT_NEAR(gradient[k], want.gradient[k], 1e-14);
  EXPECT_EQ(f.counts(), (OracleCounts{.values = 4, .gradients = 4, .instructions = 0}));
}
TEST(FunctionSum, OfACompiledFunctionIsTheSame) {
  const auto all = points(9);
  std::vector<std::array<double, 2>> samples;
  for (const Point& p : all) samples.push_back({p.a, p.b});
  auto f = finiteSum<std::array<double, 2>>(
      samples, compile([](auto sample, auto x) { return sqr(x[0] * sample[0] + x[1] - sample[1]); }));
  static_assert(FiniteSum<decltype(f)> && FiniteSum<const decltype(f)>);
  std::array<double, 2> gradient;
  const ByHand want = byHand(all, at, batch);
  EXPECT_NEAR(f.gradient(at, batch, gradient), want.value, 1e-14);
  EXPECT_NEAR(f.value(at, batch), want.value, 1e-14);
  for (std::size_t k = 0; k < 2; ++k) EXPECT_NEAR(gradient[k], want.gradient[k], 1e-14);
}
TEST(FunctionSum, HasTheSameBitsForAnyNumberOfThreads) {
  const auto all = points(333);
  auto f = finiteSum(all, 2, loss);
  const AllSamples everything(all.size());
  std::array<double, 2> first, found;
  const double value = f.gradient(at, everything, first);
  for (const std::size_t threads : {2u, 3u, 8u}) {
    ThreadPool pool(threads);
    const CurrentWorkers here(pool);
    EXPECT_EQ(f.gradient(at, everything, found), value);
    EXPECT_EQ(found, first) << threads;
  }
  const ByHand want = byHand(all, at, everything);
  for (std::size_t k = 0; k < 2; ++k) EXPECT_NEAR(first[k], want.gradient[k], 1e-13);
}
TEST(FunctionSum, LeavesUnwantedCoordinatesAlone) {
  const auto all = points(40);
  auto f = finiteSum(all, 2, loss);
  const AllSamples everything(all.size());
  std::array<double, 2> whole, part{-7, -7};
  f.gradient(at, everything, whole);
  const Block wanted[] = {{1, 1, true}};
  EXPECT_TRUE(f.gradient(at, everything, part, {.wanted = Wanted(wanted)}));
  EXPECT_EQ(part[0], -7);
  EXPECT_EQ(part[1], whole[1]);
}
TEST(FunctionSum, AStopLeavesEverythingAsItWas) {
  const auto all = points(40);
  auto f = finiteSum(all, 2, loss);
  const AllSamples everything(all.size());
  std::array<double, 2> whole, part{-7, -7};
  f.gradient(at, everything, whole);
  // 40 samples, each of which is asked about before its sweep and at every second instruction.
  for (int after = 0; after < 80; after += 7) {
    int asked = 0;
    const auto stop = [&] { return asked++ >= after; };
    const auto result = f.gradient(at, everything, part, {.stop = stop, .pollEvery = 2});
    ASSERT_EQ(result.status, SweepStatus::stopped) << after;
    EXPECT_EQ(part, (std::array<double, 2>{-7, -7}));
  }
  EXPECT_TRUE(f.gradient(at, everything, part, {.stop = [] { return false; }}));
  EXPECT_EQ(part, whole);
}
TEST(FunctionSum, KeepsEdgesWithoutBias) {
  const auto all = points(3);
  auto f = finiteSum(all, 2, loss);
  const AllSamples everything(all.size());
  std::array<double, 2> whole, part, mean{}, square{};
  f.gradient(at, everything, whole);
  constexpr int draws = 20000;
  for (int draw = 0; draw < draws; ++draw) {
    f.gradient(at, everything, part,
               {.keep = {.probability = 0.7, .seed = 3, .step = static_cast<std::uint64_t>(draw)}});
    for (std::size_t k = 0; k < 2; ++k) mean[k] += part[k] / draws, square[k] += part[k] * part[k] / draws;
  }
  // Five standard errors: a false alarm once in a million.
  for (std::size_t k = 0; k < 2; ++k) {
    const double deviation = std::sqrt((square[k] - mean[k] * mean[k]) / draws);
    EXPECT_GT(deviation, 0);
    EXPECT_NEAR(mean[k], whole[k], 5 * deviation);
  }
}
// One mask for all would not be wrong on average, but its variance would not shrink with the batch.
TEST(FunctionSum, EverySampleDropsEdgesOfItsOwn) {
  const auto all = points(3);
  auto f = finiteSum(all, 2, loss);
  std::array<double, 2> found;
  std::array<std::set<std::array<double, 2>>, 2> seen;
  const std::array<std::size_t, 2> twice{1, 1};
  for (std::uint64_t step = 0; step < 2000; ++step)
    for (const std::size_t count : {1u, 2u}) {
      f.gradient(at, Batch(twice).first(count), found,
                 {.keep = {.probability = 0.9, .seed = 3, .step = step}});
      seen[count - 1].insert(found);
    }
  EXPECT_GT(seen[0].size(), 3u);
  EXPECT_GT(seen[1].size(), 2 * seen[0].size());
}
TEST(FunctionSum, SaysWhatIsWrong) {
  const auto all = points(3);
  auto f = finiteSum(all, 2, loss);
  std::array<double, 2> into;
  std::array<double, 3> wrong{};
  const std::array<std::size_t, 1> outside{3};
  expectError([&] { f.gradient(wrong, AllSamples(3), into); }, "expected 2 numbers, got 3");
  expectError([&] { f.gradient(at, AllSamples(3), wrong); }, "expected 2 numbers, got 3");
  expectError([&] { f.gradient(at, outside, into); }, "sample 3 is out of range for 3 samples");
  expectError([&] { f.value(at, Batch()); }, "empty batch");
}

// --- What every finite sum has ---

TEST(FiniteSum, GradientsOfSamplesStandSideBySide) {
  const auto all = points(9);
  auto f = finiteSum(all, 2, loss);
  std::array<double, 8> each;
  sampleGradients(f, std::span<const double>(at), batch, std::span<double>(each));
  for (std::size_t i = 0; i < 4; ++i) {
    const ByHand want = byHand(all, at, Batch(batch).subspan(i, 1));
    for (std::size_t k = 0; k < 2; ++k) EXPECT_NEAR(each[2 * i + k], want.gradient[k], 1e-14);
  }
  expectError(
      [&] { sampleGradients(f, std::span<const double>(at), batch, std::span<double>(each).first(7)); },
      "4 gradients of 2 numbers");
}
TEST(FiniteSum, GradientsAtTwoPointsAreThoseOfEach) {
  const auto all = points(9);
  auto f = finiteSum(all, 2, loss);
  const std::array<double, 2> y{1.5, 0.25};
  std::array<double, 2> gx, gy, wantX, wantY;
  const ValuesAtTwo values = gradientsAtTwo(f, std::span<const double>(at), std::span<const double>(y), batch,
                                            std::span<double>(gx), std::span<double>(gy));
  EXPECT_EQ(values.atX, f.gradient(at, batch, wantX));
  EXPECT_EQ(values.atY, f.gradient(y, batch, wantY));
  EXPECT_EQ(gx, wantX);
  EXPECT_EQ(gy, wantY);
}
TEST(FiniteSum, APartCountsAndRenumbers) {
  const auto all = points(9);
  auto f = finiteSum(all, 2, loss);
  PartOf part(f, {8, 2, 5});
  static_assert(FiniteSum<decltype(part)>);
  std::array<double, 2> found, want;
  const std::array<std::size_t, 2> inPart{0, 2}, inWhole{8, 5};
  EXPECT_EQ(part.gradient(at, inPart, found), f.gradient(at, inWhole, want));
  EXPECT_EQ(found, want);
  EXPECT_EQ(part.size(), 3u);
  EXPECT_EQ(part.counts().gradients, 2u);
  // What the whole can do beyond the concept its part can do too, and counts.
  static_assert(GuidedSum<decltype(part)>);
  std::array<double, 2> onePart{-7, -7};
  const Block second[] = {{1, 1, true}};
  EXPECT_TRUE(part.gradient(at, inPart, onePart, {.wanted = Wanted(second)}));
  EXPECT_EQ(onePart, (std::array<double, 2>{-7, want[1]}));
  EXPECT_FALSE(part.gradient(at, inPart, onePart, {.stop = [] { return true; }}));
  EXPECT_EQ(part.counts().gradients, 6u);
  EXPECT_EQ(part.counts().instructions, f.counts().instructions);
  EXPECT_GT(part.counts().instructions, 0u);
  expectError([&] { part.gradient(at, std::array<std::size_t, 1>{3}, found); },
              "sample 3 is out of range for 3");
  expectError([&] { PartOf(f, {9}); }, "sample 9 is out of range for 9");
}

}  // namespace function_sum_test
}  // namespace burtorch
