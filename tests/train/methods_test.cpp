// The rules against PyTorch, ten steps each, with zero, tiny and large gradients; and against each other, to the bit.
#include "burtorch/train/methods.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "burtorch/base/rng.hpp"
#include "burtorch/train/optimizer.hpp"
#include "reference/error_sentence.hpp"
#include "torch_lines.hpp"

namespace burtorch {
namespace methods_test {

using torch_lines::Words;

template <class T> struct RulesTest : testing::Test {};
TYPED_TEST_SUITE(RulesTest, Scalars, ScalarName);

/// A case of the file: a rule and its options.
struct Case {
  std::string title, name;
  std::vector<Setting> settings;
  std::optional<ParameterBlock> exempt;
  std::optional<std::uint64_t> halved;

  double rateAt(std::uint64_t step, double start) const {
    return halved ? std::ldexp(start, -static_cast<int>(step / *halved)) : start;
  }
};
/// `words` must outlive the case.
Case caseOf(const Words& words) {
  Case one{.title = "", .name = words.at(2), .settings = {}, .exempt = {}, .halved = {}};
  for (const std::string& word : words) one.title += word + " ";
  for (std::size_t i = 3; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string_view field = std::string_view(words[i]).substr(0, equals);
    const std::string value = words[i].substr(equals + 1);
    if (field == "exempt")
      one.exempt = ParameterBlock{std::stoul(value), std::stoul(value.substr(value.find(':') + 1))};
    else if (field == "halved")
      one.halved = std::stoul(value);
    else
      one.settings.push_back({field, torch_lines::numberOf(value)});
  }
  return one;
}

double learningRateOf(const AnyMethod& any) {
  return std::visit([](const auto& rule) { return rule.learningRate; }, any);
}

TYPED_TEST(RulesTest, FollowPyTorch) {
  using T = TypeParam;
  const std::vector<Words> lines = torch_lines::read();
  std::vector<T> start, values;
  std::vector<std::vector<T>> gradients;
  std::optional<Case> current;
  std::optional<Optimizer<T>> optimizer;
  std::map<std::string, int> steps;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Words& words = lines[i];
    const bool isOurs = words.at(1) == torch_lines::typeName<T>;
    if (words[0] == "values" && isOurs) start = torch_lines::numbersOf<T>(words, 2);
    if (words[0] == "gradients" && isOurs) gradients.push_back(torch_lines::numbersOf<T>(words, 3));
    if (words[0] == "rule" && isOurs) {
      current = caseOf(words);
      optimizer.emplace(methodFromName(current->name, current->settings), start.size());
      if (current->exempt) optimizer->exemptFromDecay(std::span(&*current->exempt, 1));
      values = start;
    }
    if (!optimizer) continue;
    if (words[0] == "after") {
      const std::size_t step = std::stoul(words[1]);
      if (current->halved)
        optimizer->step(values, gradients.at(step),
                        current->rateAt(step, learningRateOf(optimizer->method())));
      else
        optimizer->step(values, gradients.at(step));
      torch_lines::expectNear(values, torch_lines::numbersOf<T>(words, 2), torch_lines::tolerance<T>,
                              current->title + "after step " + words[1]);
      ++steps[current->name];
    }
    if (words[0] == "memory") {
      const auto want = words[1] == "none" ? std::vector<T>{} : torch_lines::numbersOf<T>(words, 1);
      const std::vector<T> got(optimizer->state().begin(), optimizer->state().end());
      torch_lines::expectNear(got, want, torch_lines::tolerance<T>, current->title + "memory");
      optimizer.reset();
    }
  }
  const std::map<std::string, int> want{
      {"sgd", 40}, {"momentum", 30}, {"nesterov", 30}, {"adam", 40}, {"adamw", 40}};
  EXPECT_EQ(steps, want) << "cases of the file that were not compared";
}

/// Generic numbers of both signs, with a few zeros.
template <class T> std::vector<T> randomNumbers(std::size_t count, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<T> numbers(count);
  for (T& x : numbers) x = rng.below(8) == 0 ? T{0} : rng.uniform<T>() * T{4} - T{2};
  return numbers;
}

/// The values after 20 steps with random gradients.
template <class T, class Rule> std::vector<T> trained(const Rule& rule, std::size_t count) {
  Optimizer<T, Rule> optimizer(rule, count);
  std::vector<T> values = randomNumbers<T>(count, 1);
  for (std::uint64_t step = 0; step < 20; ++step) optimizer.step(values, randomNumbers<T>(count, 2 + step));
  return values;
}

TYPED_TEST(RulesTest, MomentumOfZeroIsSgdToTheBit) {
  using T = TypeParam;
  for (const double decay : {0.0, 0.3}) {
    const auto sgd = trained<T>(Sgd{.learningRate = 0.07, .weightDecay = decay}, 101);
    EXPECT_EQ(trained<T>(Momentum{.learningRate = 0.07, .momentum = 0, .weightDecay = decay}, 101), sgd);
    EXPECT_EQ(trained<T>(Nesterov{.learningRate = 0.07, .momentum = 0, .weightDecay = decay}, 101), sgd);
  }
}

TYPED_TEST(RulesTest, AdamWithoutDecayIsAdamWToTheBit) {
  using T = TypeParam;
  EXPECT_EQ(trained<T>(Adam{.learningRate = 0.07}, 101),
            trained<T>(AdamW{.learningRate = 0.07, .weightDecay = 0}, 101));
}

TYPED_TEST(RulesTest, LearningRateZeroStaysPut) {
  using T = TypeParam;
  const auto start = randomNumbers<T>(101, 1);
  EXPECT_EQ(trained<T>(Sgd{.learningRate = 0, .weightDecay = 0.1}, 101), start);
  EXPECT_EQ(trained<T>(Momentum{.learningRate = 0, .weightDecay = 0.1}, 101), start);
  EXPECT_EQ(trained<T>(Nesterov{.learningRate = 0, .weightDecay = 0.1}, 101), start);
  EXPECT_EQ(trained<T>(Adam{.learningRate = 0, .weightDecay = 0.1}, 101), start);
  EXPECT_EQ(trained<T>(AdamW{.learningRate = 0, .weightDecay = 0.1}, 101), start);
}

TYPED_TEST(RulesTest, WithZeroGradientsEveryRuleStaysPut) {
  using T = TypeParam;
  for (const char* name : {"sgd", "momentum", "nesterov", "adam", "adamw"}) {
    const std::vector<Setting> noDecay{{"weightDecay", 0}};
    Optimizer<T> optimizer(methodFromName(name, noDecay), 13);
    const auto start = randomNumbers<T>(13, 5);
    auto values = start;
    for (int step = 0; step < 5; ++step) optimizer.step(values, std::vector<T>(13, T{0}));
    EXPECT_EQ(values, start) << name;
    for (const T m : optimizer.state()) EXPECT_EQ(m, T{0}) << name;
  }
}

// Adam's first step is the sign of the gradient, whatever its size, as long as epsilon does not show.
TYPED_TEST(RulesTest, AdamsFirstStepHasTheSizeOfTheLearningRate) {
  using T = TypeParam;
  std::vector<T> values(4, T{0});
  Optimizer<T> optimizer(Adam{.learningRate = 0.25}, 4);
  optimizer.step(values, std::vector<T>{T{3}, T{-0.5}, T{2e4f}, T{-7}});
  torch_lines::expectNear(values, {T{-0.25}, T{0.25}, T{-0.25}, T{0.25}}, 1e-6, "first step");
}

TYPED_TEST(RulesTest, ScalingTheGradientDoesNotChangeAdamWithoutEpsilon) {
  using T = TypeParam;
  const Adam rule{.learningRate = 0.1, .epsilon = 1e-30};
  Optimizer<T> one(rule, 9), other(rule, 9);
  auto x = randomNumbers<T>(9, 3), y = x;
  for (std::uint64_t step = 0; step < 10; ++step) {
    auto g = randomNumbers<T>(9, 10 + step);
    one.step(x, g);
    for (T& number : g) number *= T{1024};  // exact
    other.step(y, g);
  }
  EXPECT_EQ(x, y);
}

/// The step counter stops at its last number: the step after it would divide 0 by 0.
TYPED_TEST(RulesTest, StayFiniteAfterTheLastStepThatCanBeCounted) {
  using T = TypeParam;
  for (const char* name : {"adam", "adamw"}) {
    Optimizer<T> optimizer(methodFromName(name), 1);
    optimizer.setSteps(UINT64_MAX - 1);
    T x = 1;
    const T g = T{0.5};
    for (int i = 0; i < 3; ++i) {
      optimizer.step(std::span(&x, 1), std::span(&g, 1));
      EXPECT_TRUE(std::isfinite(x)) << name;
    }
    EXPECT_EQ(optimizer.steps(), UINT64_MAX);
  }
}

TEST(Rules, DefaultsArePyTorchs) {
  EXPECT_EQ(Sgd{}.learningRate, 1e-3);
  EXPECT_EQ(Sgd{}.weightDecay, 0);
  EXPECT_EQ(Momentum{}.learningRate, 1e-3);
  EXPECT_EQ(Nesterov{}.learningRate, 1e-3);
  EXPECT_EQ(Adam{}.weightDecay, 0);
  EXPECT_EQ(AdamW{}.weightDecay, 1e-2);
  EXPECT_EQ(AdamW{}.learningRate, 1e-3);
  EXPECT_EQ(AdamW{}.beta1, 0.9);
  EXPECT_EQ(AdamW{}.beta2, 0.999);
  EXPECT_EQ(AdamW{}.epsilon, 1e-8);
}

// ---- By name ----

TEST(Rules, AreMadeByName) {
  EXPECT_TRUE(std::holds_alternative<Sgd>(methodFromName("sgd")));
  EXPECT_TRUE(std::holds_alternative<Momentum>(methodFromName("momentum")));
  EXPECT_TRUE(std::holds_alternative<Nesterov>(methodFromName("nesterov")));
  EXPECT_TRUE(std::holds_alternative<Adam>(methodFromName("adam")));
  const Setting settings[] = {{"learningRate", 3e-4}, {"beta2", 0.95}};
  const AnyMethod rule = methodFromName("adamw", settings);
  ASSERT_TRUE(std::holds_alternative<AdamW>(rule));
  EXPECT_EQ(std::get<AdamW>(rule).learningRate, 3e-4);
  EXPECT_EQ(std::get<AdamW>(rule).beta2, 0.95);
  EXPECT_EQ(std::get<AdamW>(rule).beta1, 0.9);
}

TEST(Rules, AnUnknownNameIsAnErrorThatListsTheNames) {
  for (const char* name : {"adamax", "Adam", ""})
    EXPECT_EQ(sentenceOf([&] { methodFromName(name); }),
              "there is no optimiser called \"" + std::string(name) +
                  "\": choose from sgd, momentum, nesterov, adam, adamw");
}

TEST(Rules, AnUnknownOptionIsAnErrorThatListsTheOptions) {
  const Setting settings[] = {{"beta1", 0.5}};
  EXPECT_EQ(sentenceOf([&] { methodFromName("momentum", settings); }),
            "momentum has no option beta1: it has learningRate, momentum, weightDecay");
}

TEST(Rules, AnOptionOutOfItsRangeIsAnError) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                   inf = std::numeric_limits<double>::infinity();
  const auto sentence = [](const char* name, std::string_view field, double value) {
    const Setting setting{field, value};
    return sentenceOf([&] { methodFromName(name, std::span(&setting, 1)); });
  };
  for (const char* name : {"sgd", "momentum", "nesterov", "adam", "adamw"})
    for (const char* field : {"learningRate", "weightDecay"}) {
      EXPECT_EQ(sentence(name, field, 0), "");
      for (const double value : {-1e-9, nan, inf, -inf}) EXPECT_NE(sentence(name, field, value), "") << value;
    }
  for (const char* name : {"adam", "adamw"}) {
    for (const char* field : {"beta1", "beta2"}) {
      EXPECT_EQ(sentence(name, field, 0), "");
      for (const double value : {1.0, -0.1, nan, inf}) EXPECT_NE(sentence(name, field, value), "") << value;
    }
    for (const double value : {0.0, -1e-8, nan, inf})
      EXPECT_NE(sentence(name, "epsilon", value), "") << value;
  }
  for (const char* name : {"momentum", "nesterov"})
    for (const double value : {1.0, -0.1, nan}) EXPECT_NE(sentence(name, "momentum", value), "") << value;
  EXPECT_EQ(sentence("adam", "beta1", 1.5), "beta1 of adam is 1.5: expected a number from 0 to below 1");
}

}  // namespace methods_test
}  // namespace burtorch
