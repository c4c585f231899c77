// Schedules against PyTorch and against their definition.
#include "burtorch/train/schedule.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "reference/error_sentence.hpp"
#include "torch_lines.hpp"

namespace burtorch {
namespace schedule_test {

using torch_lines::Words;

TEST(Schedule, FollowsPyTorch) {
  int step = 0, cosine = 0;
  const std::vector<Words> lines = torch_lines::read();
  for (const Words& words : lines) {
    if (words[0] != "rates") continue;
    std::vector<Setting> settings;
    std::size_t next = 2;
    std::string title = words[1];
    for (std::size_t equals; (equals = words.at(next).find('=')) != std::string::npos; ++next) {
      const std::string& word = words[next];
      settings.push_back(
          {std::string_view(word).substr(0, equals), torch_lines::numberOf(word.substr(equals + 1))});
      title += " " + word;
    }
    const Schedule schedule = scheduleFromName(words[1], settings);
    const auto want = torch_lines::numbersOf<double>(words, next);
    for (std::size_t i = 0; i < want.size(); ++i) {
      // Relative to the whole rate: PyTorch goes from step to step, and what is left near 0 is rounding.
      EXPECT_NEAR(schedule.at(i), want[i], 1e-15) << title << ", step " << i;
      ++(words[1] == "step" ? step : cosine);
    }
  }
  EXPECT_EQ(step, 36);
  EXPECT_EQ(cosine, 11 + 12 + 16 + 7);
}

TEST(Schedule, ConstantIsConstant) {
  const ConstantRate schedule{.learningRate = 0.3};
  for (const std::uint64_t step : {UINT64_C(0), UINT64_C(7), UINT64_MAX}) EXPECT_EQ(schedule.at(step), 0.3);
}

TEST(Schedule, WarmupCosineIsItsFormula) {
  const WarmupCosine schedule{.learningRate = 0.3, .minimumRate = 0.03, .warmupSteps = 10, .totalSteps = 110};
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.3 / 11);
  EXPECT_DOUBLE_EQ(schedule.at(4), 0.3 * 5 / 11);
  EXPECT_DOUBLE_EQ(schedule.at(9), 0.3 * 10 / 11);
  EXPECT_EQ(schedule.at(10), 0.3);
  EXPECT_DOUBLE_EQ(schedule.at(35), 0.03 + 0.27 * 0.5 * (1 + std::sqrt(0.5)));
  EXPECT_DOUBLE_EQ(schedule.at(60), 0.165);
  EXPECT_EQ(schedule.at(110), 0.03);
  EXPECT_EQ(schedule.at(111), 0.03);
  EXPECT_EQ(schedule.at(UINT64_MAX), 0.03);
}

TEST(Schedule, WarmupCosineRisesThenFalls) {
  const WarmupCosine schedule{.learningRate = 0.3, .minimumRate = 0.03, .warmupSteps = 10, .totalSteps = 110};
  for (std::uint64_t step = 0; step < 10; ++step) EXPECT_LT(schedule.at(step), schedule.at(step + 1));
  for (std::uint64_t step = 10; step < 110; ++step) EXPECT_GT(schedule.at(step), schedule.at(step + 1));
}

TEST(Schedule, WarmupMayTakeAllSteps) {
  const WarmupCosine schedule{.learningRate = 0.3, .minimumRate = 0.03, .warmupSteps = 4, .totalSteps = 4};
  EXPECT_DOUBLE_EQ(schedule.at(3), 0.3 * 4 / 5);
  EXPECT_EQ(schedule.at(4), 0.03);
}

TEST(Schedule, FactorOneIsConstant) {
  const StepDecay schedule{.learningRate = 0.3, .factor = 1, .every = 3};
  for (std::uint64_t step = 0; step < 20; ++step) EXPECT_EQ(schedule.at(step), 0.3);
}

TEST(Schedule, AnUnknownNameIsAnErrorThatListsTheNames) {
  EXPECT_EQ(sentenceOf([] { scheduleFromName("linear"); }),
            "there is no schedule called \"linear\": choose from constant, step, cosine");
}

TEST(Schedule, AWrongOptionIsReportedByName) {
  const auto sentence = [](const char* name, std::vector<Setting> settings) {
    return sentenceOf([&] { scheduleFromName(name, settings); });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(sentence("step", {{"every", 2.5}}),
            "every of step is 2.5: expected a whole number from 1 to below 9.0072e+15");
  EXPECT_EQ(sentence("cosine", {{"every", 2}}),
            "cosine has no option every: it has learningRate, minimumRate, warmupSteps, totalSteps");
  EXPECT_EQ(sentence("cosine", {}),
            "totalSteps of cosine is 0: expected a whole number from 1 to below 9.0072e+15");
  EXPECT_EQ(sentence("cosine", {{"warmupSteps", 7}, {"totalSteps", 5}}),
            "cosine has 7 warmupSteps of 5 totalSteps: it needs at least as many in total");
  EXPECT_EQ(sentence("cosine", {{"minimumRate", 0.5}, {"totalSteps", 5}}),
            "cosine falls from learningRate 0.001 to minimumRate 0.5: the minimum must not be larger");
  EXPECT_NE(sentence("cosine", {{"totalSteps", -1}}), "");
  EXPECT_NE(sentence("cosine", {{"totalSteps", 1e300}}), "");
  for (const char* name : {"constant", "step", "cosine"})
    EXPECT_NE(sentence(name, {{"learningRate", nan}}), "");
}

TEST(Schedule, AWrongStructIsReportedWhenItIsAsked) {
  EXPECT_NE(sentenceOf([] { StepDecay{}.at(3); }), "");
  EXPECT_NE(sentenceOf([] { WarmupCosine{}.at(3); }), "");
  EXPECT_NE(sentenceOf([] { ConstantRate{.learningRate = -1}.at(3); }), "");
}

}  // namespace schedule_test
}  // namespace burtorch
