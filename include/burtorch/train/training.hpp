// The training loop: batches by seed, gradient, clipping, a step of the optimiser, validation now and then. It prints
// nothing; an observer sees every step and may stop it. All that the next step depends on can be read and restored.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "../core/rng.hpp"
#include "clip.hpp"
#include "optimizer.hpp"
#include "schedule.hpp"

namespace burtorch {

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

  bool isEvaluated() const { return !std::isnan(validationLoss); }
};

enum class TrainingEnd { finished, stopped, notFinite };

/// `Train` and `Validation` are oracles (oracle/token_oracle.hpp) over the same parameters.
template <class Train, class Validation> class Training {
 public:
  using T = typename Train::Scalar;

  Training(Train& train, Validation& validation, Optimizer<T>& optimizer, const Schedule& schedule,
           const TrainingOptions& options, std::uint64_t seed)
      : train_(train),
        validation_(validation),
        optimizer_(optimizer),
        schedule_(schedule),
        options_(options),
        rng_(seed),
        batch_(options.batch) {
    if (options.batch == 0) fail("a batch of 0 samples: at least 1 is needed");
    if (options.batch > train.size())
      fail("a batch of %zu samples is larger than the data, which has %zu: take a smaller batch or more data",
           options.batch, train.size());
  }

  std::uint64_t stepsDone() const { return optimizer_.steps(); }
  /// The state of the random stream that draws batches.
  Rng& rng() { return rng_; }
  std::span<const std::size_t> batch() const { return batch_; }

  /// Until all steps are done, the observer answers false, or a loss is not finite; then the parameters are those that
  /// gave this loss.
  template <class Observer> TrainingEnd run(Observer observer) {
    while (stepsDone() < options_.steps) {
      for (std::size_t& sample : batch_) sample = rng_.below(train_.size());
      TrainingStep step{.step = stepsDone() + 1};
      step.loss = train_.gradient(batch_);
      step.gradientNorm = options_.clipNorm > 0 ? clipByNorm(train_.gradients(), options_.clipNorm)
                                                : normOf(std::span<const T>(train_.gradients()));
      if (!std::isfinite(step.loss) || !std::isfinite(step.gradientNorm)) {
        observer(step);
        return TrainingEnd::notFinite;
      }
      step.learningRate = schedule_.at(stepsDone());
      optimizer_.step(train_.parameters(), train_.gradients(), step.learningRate);
      const bool isLast = stepsDone() == options_.steps;
      if (isLast || (options_.evaluateEvery > 0 && stepsDone() % options_.evaluateEvery == 0))
        step.validationLoss = validationLoss();
      if (!observer(step) && !isLast) return TrainingEnd::stopped;
    }
    return TrainingEnd::finished;
  }

  /// Over samples spread evenly over the validation part: the same ones every time.
  double validationLoss() {
    const std::size_t count = std::min(options_.evaluationSamples, validation_.size());
    std::vector<std::size_t> samples(count);
    for (std::size_t i = 0; i < count; ++i) samples[i] = i * validation_.size() / count;
    return validation_.value(samples);
  }

 private:
  Train& train_;
  Validation& validation_;
  Optimizer<T>& optimizer_;
  Schedule schedule_;
  TrainingOptions options_;
  Rng rng_;
  std::vector<std::size_t> batch_;
};

}  // namespace burtorch
