// A finite sum without its type: the same numbers, counts and knobs.
#include <burtorch/oracle/any_sum.hpp>

#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <burtorch/oracle/function_sum.hpp>
#include <vector>

#include "optimise/small_problems.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace any_sum_test {

static_assert(GuidedSum<AnySum<double>>);
const std::vector<double> samples{0.5, -1.25, 3};
constexpr auto loss = [](double sample, auto x) { return sqr(x[0] * sample - x[1]); };
constexpr std::array<double, 2> x{1.5, 0.25}, y{-0.5, 2};

TEST(AnySum, GivesWhatTheSumGives) {
  auto f = finiteSum(samples, 2, loss);
  AnySum<double> any(&f);
  std::array<double, 2> found, want, foundY, wantY;
  EXPECT_EQ(any.size(), 3u);
  EXPECT_EQ(any.parameterCount(), 2u);
  EXPECT_EQ(any.value(x, AllSamples(3)), f.value(x, AllSamples(3)));
  EXPECT_EQ(any.gradient(x, AllSamples(3), found), f.gradient(x, AllSamples(3), want));
  EXPECT_EQ(found, want);
  any.gradientsAtTwo(x, y, AllSamples(3), found, foundY);
  f.gradient(y, AllSamples(3), wantY);
  EXPECT_EQ(found, want);
  EXPECT_EQ(foundY, wantY);
  any.difference(x, y, AllSamples(3), found);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(found[i], want[i] - wantY[i]);
  EXPECT_EQ(any.counts(), f.counts());
}
TEST(AnySum, HasTheKnobsOfTheSum) {
  auto f = finiteSum(samples, 2, loss);
  AnySum<double> any(&f);
  std::array<double, 2> part{-7, -7}, whole;
  f.gradient(x, AllSamples(3), whole);
  const Block wanted[] = {{1, 1, true}};
  EXPECT_TRUE(any.gradient(x, AllSamples(3), part, {.wanted = Wanted(wanted)}));
  EXPECT_EQ(part, (std::array<double, 2>{-7, whole[1]}));
  EXPECT_FALSE(any.gradient(x, AllSamples(3), part, {.stop = [] { return true; }}));
}
/// Without knobs.
struct Plain {
  using Scalar = double;
  small_problems::Bowls bowls{3, 2, 1};
  std::size_t size() const { return 3; }
  std::size_t parameterCount() const { return 2; }
  OracleCounts counts() const { return bowls.counts(); }
  double value(std::span<const double> at, Batch batch) const { return bowls.value(at, batch); }
  double gradient(std::span<const double> at, Batch batch, std::span<double> into) const {
    return bowls.gradient(at, batch, into);
  }
};
TEST(AnySum, SaysThatASumHasNoKnobs) {
  AnySum<double> any{Plain()};
  std::array<double, 2> found, want;
  EXPECT_TRUE(any.gradient(x, AllSamples(3), found, {}));
  Plain().gradient(x, AllSamples(3), want);
  EXPECT_EQ(found, want);
  EXPECT_EQ(sentenceOf([&] { any.gradient(x, AllSamples(3), found, {.stop = [] { return true; }}); }),
            "AnySum: this sum has gradients without knobs only");
}

}  // namespace any_sum_test
}  // namespace burtorch
