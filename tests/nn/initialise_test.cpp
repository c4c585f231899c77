// First numbers of parameters: their bounds, their spread, and that they follow their seed.
#include <burtorch/nn/initialise.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <burtorch/model/gpt.hpp>
#include <burtorch/model/mlp.hpp>
#include <cmath>

namespace burtorch {
namespace initialise_test {

double deviationOf(std::span<const double> numbers) {
  double sum = 0;
  for (const double x : numbers) sum += x * x;
  return std::sqrt(sum / static_cast<double>(numbers.size()));
}

TEST(Initialise, ByFanInKeepsTheSizeOfASignal) {
  std::vector<double> weights(100000);
  Rng rng(3);
  fill(std::span(weights), FirstNumbers::byFanIn(50, 5.0 / 3.0), rng);
  EXPECT_NEAR(deviationOf(weights), 5.0 / 3.0 / std::sqrt(50.0), 0.002);
  const double bound = 5.0 / 3.0 * std::sqrt(3.0 / 50);
  EXPECT_LE(*std::ranges::max_element(weights), bound);
  EXPECT_GE(*std::ranges::min_element(weights), -bound);
  EXPECT_GT(*std::ranges::max_element(weights), 0.99 * bound);
}

template <class Initialise> void forEachBlock(Initialise initialise, auto check) {
  const Gpt<double> gpt({.vocabulary = 65, .context = 8, .width = 96, .layers = 3, .heads = 6});
  ParameterStore<double> parameters(gpt.layout());
  Rng rng(5);
  initialise(parameters, rng);
  for (const Parameter& block : gpt.layout().blocks()) {
    SCOPED_TRACE(gpt.layout().name(block));
    check(block, parameters.values(block));
  }
}

TEST(Initialise, LikePyTorch) {
  std::size_t inputs = 0;
  forEachBlock([](auto& parameters, Rng& rng) { parameters.initialise(rng); },
               [&](const Parameter& block, std::span<const double> values) {
                 if (block.role == ParameterRole::weight || block.role == ParameterRole::residual)
                   inputs = block.columns;
                 const double bound = 1 / std::sqrt(static_cast<double>(inputs));
                 if (block.role == ParameterRole::weight || block.role == ParameterRole::residual) {
                   EXPECT_NEAR(deviationOf(values), bound / std::sqrt(3.0), 0.05 * bound);
                 }
                 if (block.role == ParameterRole::gain) {
                   EXPECT_EQ(deviationOf(values), 1);
                 }
                 if (block.role == ParameterRole::table) {
                   EXPECT_NEAR(deviationOf(values), 1, 0.1);
                 }
               });
}
TEST(Initialise, NormsStartAtOneAndZeroAndBiasesWithinTheirFanIn) {
  const Gpt<double> gpt(GptConfig{});
  ParameterStore<double> parameters(gpt.layout(), 5);
  for (const Parameter& block : gpt.layout().blocks()) {
    const std::string& name = gpt.layout().name(block);
    const double largest = std::abs(
        *std::ranges::max_element(parameters.values(block), {}, [](double x) { return std::abs(x); }));
    if (name.ends_with("ln1.bias") || name.ends_with("ln2.bias")) {
      EXPECT_EQ(largest, 0) << name;
    }
    if (name.ends_with("fc2.bias")) {
      EXPECT_NEAR(largest, 1 / std::sqrt(96.0), 0.02) << name;
    }
  }
}
TEST(Initialise, LikeGpt2) {
  forEachBlock([](auto& parameters, Rng& rng) { initialiseLikeGpt2(parameters, rng); },
               [](const Parameter& block, std::span<const double> values) {
                 if (block.role == ParameterRole::weight || block.role == ParameterRole::table) {
                   EXPECT_NEAR(deviationOf(values), 0.02, 0.002);
                 }
                 if (block.role == ParameterRole::residual) {  // two branches in each of 3 layers
                   EXPECT_NEAR(deviationOf(values), 0.02 / std::sqrt(6.0), 0.0006);
                 }
                 if (block.role == ParameterRole::bias) {
                   EXPECT_EQ(deviationOf(values), 0);
                 }
                 if (block.role == ParameterRole::gain) {
                   EXPECT_EQ(deviationOf(values), 1);
                 }
               });
}
TEST(Initialise, FollowsItsSeed) {
  const auto numbers = [](std::uint64_t seed) {
    const ParameterStore<float> parameters(Mlp<float>({.sizes = {3, 5, 2}}).layout(), seed);
    return std::vector<float>(parameters.values().begin(), parameters.values().end());
  };
  EXPECT_EQ(numbers(1), numbers(1));
  EXPECT_NE(numbers(1), numbers(2));
}

}  // namespace initialise_test
}  // namespace burtorch
