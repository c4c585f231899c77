// First numbers of parameters: their bounds, their spread, and that they follow their seed.
#include <burtorch/nn/initialise.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <burtorch/model/gpt.hpp>
#include <burtorch/model/mlp.hpp>
#include <cmath>

namespace burtorch {
namespace {

double deviationOf(std::span<const double> numbers) {
  double sum = 0;
  for (const double x : numbers) sum += x * x;
  return std::sqrt(sum / static_cast<double>(numbers.size()));
}

TEST(Initialise, ByFanInKeepsTheSizeOfASignal) {
  std::vector<double> weights(100000);
  Rng rng(3);
  fillByFanIn(std::span(weights), 50, 5.0 / 3.0, rng);
  EXPECT_NEAR(deviationOf(weights), 5.0 / 3.0 / std::sqrt(50.0), 0.002);
  const double bound = 5.0 / 3.0 * std::sqrt(3.0 / 50);
  EXPECT_LE(*std::ranges::max_element(weights), bound);
  EXPECT_GE(*std::ranges::min_element(weights), -bound);
  EXPECT_GT(*std::ranges::max_element(weights), 0.99 * bound);
}

template <class Initialise> void forEachBlock(Initialise initialise, auto check) {
  Tape<double> tape;
  Gpt<double> gpt(tape, {.vocabulary = 65, .context = 8, .width = 96, .layers = 1, .heads = 6});
  Rng rng(5);
  initialise(gpt.parameters(), rng);
  for (const Parameter& block : gpt.parameters().blocks()) {
    SCOPED_TRACE(gpt.parameters().name(block));
    check(block, gpt.parameters().values(block));
  }
}

TEST(Initialise, LikePyTorch) {
  std::size_t inputs = 0;
  forEachBlock([](auto& parameters, Rng& rng) { initialiseLikePyTorch(parameters, rng); },
               [&](const Parameter& block, std::span<const double> values) {
                 if (block.role == ParameterRole::weight) inputs = block.columns;
                 const double bound = 1 / std::sqrt(static_cast<double>(inputs));
                 if (block.role == ParameterRole::weight) {
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
  Tape<double> tape;
  Gpt<double> gpt(tape, {});
  Rng rng(5);
  initialiseLikePyTorch(gpt.parameters(), rng);
  for (const Parameter& block : gpt.parameters().blocks()) {
    const std::string& name = gpt.parameters().name(block);
    const double largest = std::abs(
        *std::ranges::max_element(gpt.parameters().values(block), {}, [](double x) { return std::abs(x); }));
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
    Tape<float> tape;
    Rng rng(seed);
    const Mlp<float> mlp(tape, {.sizes = {3, 5, 2}}, rng);
    return std::vector<float>(mlp.parameters().values().begin(), mlp.parameters().values().end());
  };
  EXPECT_EQ(numbers(1), numbers(1));
  EXPECT_NE(numbers(1), numbers(2));
}

}  // namespace
}  // namespace burtorch
