// The training loop: what its observer sees, when it stops, and that a restored run goes on with the same bits.
#include <burtorch/train/training.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace burtorch {
namespace training_test {

/// f_i(x) = |x - centre_i|^2 / 2 with eight centres: all that the loop asks of an oracle.
struct Quadratic {
  using Scalar = double;
  std::vector<double> x = {3, -2}, g = {0, 0};
  bool isBroken = false;

  std::size_t size() const { return 8; }
  std::span<double> parameters() { return x; }
  std::span<double> gradients() { return g; }
  static double centre(std::size_t i, std::size_t k) { return std::sin(static_cast<double>(3 * i + k)); }
  double value(std::span<const std::size_t> batch) const {
    double sum = 0;
    for (const std::size_t i : batch)
      for (std::size_t k = 0; k < 2; ++k) sum += std::pow(x[k] - centre(i, k), 2) / 2;
    return sum / static_cast<double>(batch.size());
  }
  double gradient(std::span<const std::size_t> batch) {
    for (std::size_t k = 0; k < 2; ++k) {
      g[k] = 0;
      for (const std::size_t i : batch) g[k] += (x[k] - centre(i, k)) / static_cast<double>(batch.size());
    }
    return isBroken ? std::nan("") : value(batch);
  }
};

struct Session {
  Quadratic oracle, validation;
  Optimizer<double> optimizer{AnyMethod(Momentum{.learningRate = 0.05}), 2};
  Training<Quadratic, Quadratic> training;
  explicit Session(const TrainingOptions& options)
      : training(oracle, validation, optimizer, Schedule{ConstantRate{.learningRate = 0.05}}, options, 7) {}
};

TEST(Training, MinimisesAndReportsEveryStep) {
  Session run({.steps = 300, .batch = 4, .evaluateEvery = 100});
  std::vector<TrainingStep> seen;
  EXPECT_EQ(run.training.run([&](const TrainingStep& step) { return seen.push_back(step), true; }),
            StopReason::finished);
  ASSERT_EQ(seen.size(), 300u);
  EXPECT_LT(seen.back().loss, 0.2 * seen.front().loss);
  for (std::size_t i = 0; i < 300; ++i) {
    EXPECT_EQ(seen[i].step, i + 1);
    EXPECT_EQ(seen[i].isEvaluated(), (i + 1) % 100 == 0);
    EXPECT_EQ(seen[i].learningRate, 0.05);
  }
}
TEST(Training, StopsWhenTheObserverSaysSo) {
  Session run({.steps = 300, .batch = 4});
  EXPECT_EQ(run.training.run([](const TrainingStep& step) { return step.step < 5; }), StopReason::stopped);
  EXPECT_EQ(run.training.stepsDone(), 5u);
}
TEST(Training, StopsAtALossThatIsNotFiniteAndKeepsTheParameters) {
  Session run({.steps = 300, .batch = 4});
  std::vector<double> before;
  const StopReason end = run.training.run([&](const TrainingStep& step) {
    if (step.step == 10) run.oracle.isBroken = true, before = run.oracle.x;
    return true;
  });
  EXPECT_EQ(end, StopReason::notFinite);
  EXPECT_EQ(run.training.stepsDone(), 10u);
  EXPECT_EQ(run.oracle.x, before);
}
TEST(Training, GoesOnWithTheSameBitsAfterARestore) {
  Session whole({.steps = 60, .batch = 3}), first({.steps = 60, .batch = 3}),
      second({.steps = 60, .batch = 3});
  const auto always = [](const TrainingStep&) { return true; };
  whole.training.run(always);
  first.training.run([](const TrainingStep& step) { return step.step < 25; });
  second.oracle.x = first.oracle.x;
  std::ranges::copy(first.optimizer.state(), second.optimizer.state().begin());
  second.optimizer.setSteps(first.optimizer.steps());
  second.training.rng().setState(first.training.rng().state());
  second.training.run(always);
  EXPECT_EQ(second.oracle.x, whole.oracle.x);
}
TEST(Training, ClipsGradients) {
  Session run({.steps = 1, .batch = 8, .clipNorm = 0.5});
  double norm = 0;
  run.training.run([&](const TrainingStep& step) { return norm = step.gradientNorm, true; });
  EXPECT_GT(norm, 1);
  EXPECT_NEAR(std::hypot(run.oracle.g[0], run.oracle.g[1]), 0.5, 1e-5);
}
TEST(Training, RefusesBatchesThatTheDataCannotFill) {
  EXPECT_THROW(Session({.steps = 1, .batch = 9}), Error);
  EXPECT_THROW(Session({.steps = 1, .batch = 0}), Error);
}

TEST(Training, ARehearsalIsTheNextStepAndChangesNothing) {
  Session run({.steps = 1, .batch = 4});
  const std::vector<double> before = run.oracle.x;
  const std::uint64_t stream = run.training.rng().state();
  const TrainingStep rehearsed = run.training.rehearse();
  EXPECT_EQ(run.oracle.x, before);
  EXPECT_EQ(run.training.rng().state(), stream);
  EXPECT_EQ(run.training.stepsDone(), 0u);
  run.training.run([&](const TrainingStep& step) {
    EXPECT_EQ(step.loss, rehearsed.loss);
    EXPECT_EQ(step.gradientNorm, rehearsed.gradientNorm);
    return true;
  });
}
TEST(Training, AValidationThatIsNotFiniteEndsIt) {
  Session run({.steps = 10, .batch = 4, .evaluateEvery = 5});
  run.validation.x = {HUGE_VAL, 0};
  EXPECT_EQ(run.training.run([](const TrainingStep&) { return true; }), StopReason::notFinite);
  EXPECT_EQ(run.training.stepsDone(), 5u);
}

/// 2^40 samples; remembers which were asked for.
struct Huge {
  using Scalar = float;
  float x = 1, g = 0;
  std::vector<std::size_t> trained, evaluated;

  static std::size_t size() { return std::size_t{1} << 40; }
  std::span<float> parameters() { return {&x, 1}; }
  std::span<float> gradients() { return {&g, 1}; }
  double value(std::span<const std::size_t> batch) {
    evaluated.insert(evaluated.end(), batch.begin(), batch.end());
    return static_cast<double>(x);
  }
  double gradient(std::span<const std::size_t> batch) {
    trained.insert(trained.end(), batch.begin(), batch.end());
    g = 1;
    return static_cast<double>(x);
  }
};
/// Moves towards smaller values by a fixed amount: an optimiser that shares nothing with ours.
struct Walk {
  std::uint64_t count = 0;
  void step(std::span<float> values, std::span<const float> gradients, double rate) {
    ++count;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] -= gradients[i] > 0 ? static_cast<float>(rate) : -static_cast<float>(rate);
  }
  std::uint64_t steps() const { return count; }
};
static_assert(TrainingOracle<Huge> && TrainingOptimizer<Walk, float> && !TrainingOracle<Walk>);
static_assert(TrainingOptimizer<Optimizer<float, AdamW>, float> && !TrainingOptimizer<Huge, float>);

TEST(Training, TakesAnyOracleAndAnyOptimizer) {
  Huge oracle;
  Walk walk;
  Training training(oracle, oracle, walk, Schedule{ConstantRate{.learningRate = 0.125}},
                    {.steps = 4, .batch = 2}, 1);
  EXPECT_EQ(training.run([](const TrainingStep&) { return true; }), StopReason::finished);
  EXPECT_EQ(oracle.x, 0.5f);
  Optimizer<float, AdamW> adam(AdamW{.learningRate = 0.1}, 1);
  Training(oracle, oracle, adam, Schedule{}, {.steps = 4, .batch = 2}, 1).run([](const TrainingStep&) {
    return true;
  });
  EXPECT_LT(oracle.x, 0.5f);
}
TEST(Training, DrawsFromMoreSamplesThan32BitsCanCount) {
  Huge oracle;
  Walk walk;
  Training(oracle, oracle, walk, Schedule{}, {.steps = 50, .batch = 20}, 1).run([](const TrainingStep&) {
    return true;
  });
  ASSERT_EQ(oracle.trained.size(), 1000u);
  EXPECT_GT(std::ranges::count_if(oracle.trained, [](std::size_t i) { return i > (Huge::size() / 2); }), 400);
  EXPECT_GT(oracle.evaluated.back(), Huge::size() - Huge::size() / 256);
}
TEST(Training, ADefaultValidationIsCheapComparedWithTheTrainingBeforeIt) {
  Huge oracle;
  Walk walk;
  Training(oracle, oracle, walk, Schedule{}, {}, 1).run([](const TrainingStep&) { return true; });
  EXPECT_LE(oracle.evaluated.size() * 50, oracle.trained.size());
}
TEST(Training, SaysHowLongAValidationTook) {
  Session run({.steps = 4, .batch = 4, .evaluateEvery = 2});
  run.training.run([&](const TrainingStep& step) {
    EXPECT_EQ(step.validationSeconds > 0, step.isEvaluated()) << step.step;
    return true;
  });
}

}  // namespace training_test
}  // namespace burtorch
