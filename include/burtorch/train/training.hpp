// The training loop: batches by seed, gradient, clipping, a step of the optimiser, validation now and then. It prints
// nothing; an observer sees every step and may stop it. All that the next step depends on can be read and restored.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "../base/rng.hpp"
#include "../base/step_key.hpp"
#include "clip.hpp"
#include "optimizer.hpp"
#include "schedule.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// What a validation needs: how many samples there are, and the mean loss over some of them.
template <class O>
concept EvaluationOracle = requires(O& oracle, std::span<const std::size_t> batch) {
  { oracle.size() } -> std::convertible_to<std::size_t>;
  { oracle.value(batch) } -> std::convertible_to<double>;
};

/// What a training also needs: the parameters as one span, and a gradient that lands in another one of the same size.
/// `gradient` returns the mean loss and replaces what `gradients()` held before.
template <class O>
concept TrainingOracle = EvaluationOracle<O> && requires(O& oracle, std::span<const std::size_t> batch) {
  typename O::Scalar;
  { oracle.parameters() } -> std::convertible_to<std::span<typename O::Scalar>>;
  { oracle.gradients() } -> std::convertible_to<std::span<typename O::Scalar>>;
  { oracle.gradient(batch) } -> std::convertible_to<double>;
};

/// What a training whose gradients are random within a step has: `gradient` takes the step too, and its result depends on the
/// batch and this key alone. A TokenOracle is one, for the dropout of its model.
template <class O>
concept SteppedOracle = TrainingOracle<O> &&
    requires(O& oracle, std::span<const std::size_t> batch, const StepKey& step) {
  { oracle.gradient(batch, step) } -> std::convertible_to<double>;
};

/// Optimizer<T, Method> of optimizer.hpp, or any other type with these two functions.
template <class O, class T>
concept TrainingOptimizer = requires(O& optimizer, const O& unchanged, std::span<T> values,
                                     std::span<const T> gradients, double learningRate) {
  optimizer.step(values, gradients, learningRate);
  { unchanged.steps() } -> std::convertible_to<std::uint64_t>;  // how often `step` was called
};

struct TrainingOptions {
  std::uint64_t steps = 1000;           // in all, also after a resume
  std::size_t batch = 32;               // samples per step, drawn with replacement
  double clipNorm = 0;                  // gradients longer than this are shortened to it; 0: never
  std::uint64_t evaluateEvery = 0;      // steps from one validation to the next; 0: only at the end
  std::size_t evaluationSamples = 512;  // how many samples of the validation part, evenly spread
};

/// What an observer sees.
struct TrainingStep {
  std::uint64_t step = 0;  // counted from 1
  double loss = 0, gradientNorm = 0, learningRate = 0;
  double validationLoss = std::numeric_limits<double>::quiet_NaN();  // NaN if it was not evaluated
  double validationSeconds = 0;                                      // how long the validation took

  bool isEvaluated() const { return !std::isnan(validationLoss); }
  bool isFinite() const { return std::isfinite(loss) && std::isfinite(gradientNorm); }
};

enum class StopReason { finished, stopped, notFinite };

/// The indices of `count` of `size` samples, or of all if there are fewer, spread evenly: the same ones every time.
inline std::vector<std::size_t> spreadEvenly(std::size_t size, std::size_t count) {
  std::vector<std::size_t> samples(std::min(count, size));
  count = samples.size();
  // The place i * size / count, in parts that cannot overflow.
  for (std::size_t i = 0; i < count; ++i) samples[i] = i * (size / count) + i * (size % count) / count;
  return samples;
}

/// Both oracles work on the same parameters.
template <class Train, class Validation, class Steps = Optimizer<typename Train::Scalar>> class Training {
  static_assert(TrainingOracle<Train>,
                "Training: the training oracle needs a type Scalar and size(), parameters(), gradients(), "
                "value(batch), gradient(batch), where batch is a std::span<const std::size_t>");
  static_assert(EvaluationOracle<Validation>,
                "Training: the validation oracle needs size() and value(batch), where batch is a "
                "std::span<const std::size_t>");
  static_assert(TrainingOptimizer<Steps, typename Train::Scalar>,
                "Training: the optimiser needs step(std::span<Scalar> values, std::span<const Scalar> "
                "gradients, double learningRate) and steps() const");

 public:
  using T = typename Train::Scalar;

  Training(Train& train, Validation& validation, Steps& optimizer, const Schedule& schedule,
           const TrainingOptions& options, std::uint64_t seed)
      : train_(train),
        validation_(validation),
        optimizer_(optimizer),
        schedule_(schedule),
        options_(options),
        seed_(seed),
        rng_(seed) {
    if (options.batch == 0) fail("Training: expected a batch of at least 1 sample, got 0");
    if (options.batch > train.size())
      fail(
          "Training: a batch of %zu samples is larger than the data, which has %zu: take a smaller batch or "
          "more data",
          options.batch, static_cast<std::size_t>(train.size()));
    batch_.resize(options.batch);
  }

  std::uint64_t stepsDone() const { return optimizer_.steps(); }
  /// The state of the random stream that draws batches.
  Rng& rng() { return rng_; }
  /// What a step draws its dropout from.
  StepKey keyOf(std::uint64_t step) const { return {seed_, step}; }
  /// The samples of the last step.
  std::span<const std::size_t> batch() const { return batch_; }

  /// Runs until all steps are done, the observer returns false, or a loss is not finite; then the parameters are those
  /// that gave this loss, which is the validation's if the step itself was finite.
  template <class Observer> StopReason run(Observer observer) {
    while (stepsDone() < options_.steps) {
      TrainingStep step = measure();
      if (!step.isFinite()) {
        observer(step);
        return StopReason::notFinite;
      }
      step.learningRate = schedule_.at(stepsDone());
      optimizer_.step(train_.parameters(), train_.gradients(), step.learningRate);
      const bool isLast = stepsDone() >= options_.steps;
      const bool isDue = options_.evaluateEvery > 0 && stepsDone() % options_.evaluateEvery == 0;
      if (isLast || isDue) {
        const auto start = std::chrono::steady_clock::now();
        step.validationLoss = validationLoss();
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
        step.validationSeconds = time.count();
      }
      const bool goesOn = observer(step);
      if ((isLast || isDue) && !std::isfinite(step.validationLoss)) return StopReason::notFinite;
      if (!goesOn && !isLast) return StopReason::stopped;
    }
    return StopReason::finished;
  }

  /// The next step without its update: shows whether a run can start. Parameters and random stream stay as they are.
  TrainingStep rehearse() {
    const Rng before = rng_;
    const TrainingStep step = measure();
    rng_ = before;
    return step;
  }

  /// Over samples spread evenly over the validation part: the same ones every time.
  double validationLoss() {
    return validation_.value(spreadEvenly(validation_.size(), options_.evaluationSamples));
  }

 private:
  /// Draws a batch and takes its gradient.
  TrainingStep measure() {
    RngGuard guard(rng_);
    for (std::size_t& sample : batch_) sample = rng_.index(train_.size());
    TrainingStep step{.step = stepsDone() + 1};
    if constexpr (SteppedOracle<Train>)
      step.loss = train_.gradient(batch_, keyOf(step.step));
    else
      step.loss = train_.gradient(batch_);
    step.gradientNorm = options_.clipNorm > 0
                            ? clipByNorm(std::span<T>(train_.gradients()), options_.clipNorm)
                            : normOf(std::span<const T>(train_.gradients()));
    guard.keep();
    return step;
  }
  /// A step whose gradient ends with an error leaves the random stream as it was, so that the state before it can be saved.
  class RngGuard {
   public:
    explicit RngGuard(Rng& rng) : rng_(rng), before_(rng) {}
    RngGuard(const RngGuard&) = delete;
    RngGuard& operator=(const RngGuard&) = delete;
    ~RngGuard() {
      if (!isKept_) rng_ = before_;
    }
    void keep() { isKept_ = true; }

   private:
    Rng& rng_;
    const Rng before_;
    bool isKept_ = false;
  };

  Train& train_;
  Validation& validation_;
  Steps& optimizer_;
  Schedule schedule_;
  TrainingOptions options_;
  std::uint64_t seed_;
  Rng rng_;
  std::vector<std::size_t> batch_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
