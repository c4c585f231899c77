// MindFlayer SGD (Maranjyan et al. 2024, arXiv 2410.04285): in every round worker i makes B_i trials to compute a gradient at the
// same point, and a trial that takes longer than t_i seconds is killed in its sweep (early termination) and counts for nothing.
//   x <- x - gamma / B * sum of the gradients that were in time,   B = sum p_i B_i
// where p_i is the probability that a trial of worker i is in time: so the expected step is that of SGD, and nobody waits for a
// worker that hangs.
//
// SimulatedMindFlayer runs any number of workers by a clock of its own, so a run is the same on every machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sampling.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// A worker's trials in a round, how long each may take, and the probability that one is in time.
struct MindFlayerWorker {
  std::uint64_t trials = 1;                                  // B_i
  double seconds = std::numeric_limits<double>::infinity();  // t_i
  double probability = 1;                                    // p_i
};

/// What theory says of MindFlayer, for stochastic gradients of variance at most sigma^2 and a target |grad f|^2 <= epsilon.
namespace mindflayer {

/// B = sum p_i B_i, how many gradients a round is expected to have.
inline double expectedBatch(std::span<const MindFlayerWorker> workers) {
  double sum = 0;
  for (const MindFlayerWorker& worker : workers)
    sum += worker.probability * static_cast<double>(worker.trials);
  return sum;
}
/// min {1 / (2 L), epsilon B / (2 L sigma^2)}
inline double stepSize(double smoothness, double expectedBatch, double sigmaSquared, double epsilon) {
  const double first = 1 / (2 * smoothness);
  return sigmaSquared > 0 ? std::min(first, epsilon * expectedBatch / (2 * smoothness * sigmaSquared))
                          : first;
}

}  // namespace mindflayer

/// What server and workers agree on.
struct MindFlayerOptions {
  double stepSize = 0;
  std::vector<MindFlayerWorker> workers{};
  std::size_t batch = 1;  // samples of a gradient
  std::uint64_t seed = 0;
};

/// trials = applied + killed
struct MindFlayerCounts {
  std::uint64_t trials = 0, applied = 0, killed = 0;
};

/// Workers by a simulated clock: `secondsOf(worker, k)` is how long the k-th trial of a worker would take, for ever if infinite.
template <FiniteSum F, class Seconds> class SimulatedMindFlayer {
 public:
  using T = typename F::Scalar;

  SimulatedMindFlayer(F& f, std::span<const T> start, Seconds secondsOf, MindFlayerOptions options)
      : f_(f),
        options_(std::move(options)),
        secondsOf_(secondsOf),
        x_(start.begin(), start.end()),
        gradient_(start.size()),
        sum_(start.size()),
        begun_(options_.workers.size()) {
    if (start.size() != f.parameterCount())
      fail("MindFlayer: expected a start of %zu numbers, got %zu", f.parameterCount(), start.size());
    if (!(options_.stepSize > 0 && std::isfinite(options_.stepSize)))
      fail("MindFlayer: expected a step size above 0, got %g", options_.stepSize);
    for (const MindFlayerWorker& worker : options_.workers)
      if (!(worker.seconds > 0 && worker.probability > 0 && worker.probability <= 1))
        fail("MindFlayer: expected a time above 0 and a probability above 0 and up to 1, got %g s and %g",
             worker.seconds, worker.probability);
    expected_ = mindflayer::expectedBatch(options_.workers);
    if (!(expected_ > 0)) fail("MindFlayer: expected at least 1 worker with at least 1 trial");
    for (std::size_t w = 0; w < options_.workers.size(); ++w)
      sampling_.emplace_back(f.size(), options_.batch, Rng(options_.seed, w).next());
  }

  /// One round. Returns how many gradients were in time; without any x stays where it is.
  std::uint64_t step() {
    std::fill(sum_.begin(), sum_.end(), T{0});
    std::uint64_t inTime = 0;
    double longest = 0;  // the round is over when the last worker has made its trials
    for (std::size_t w = 0; w < options_.workers.size(); ++w) {
      double busy = 0;
      for (std::uint64_t trial = 0; trial < options_.workers[w].trials; ++trial) inTime += attempt(w, busy);
      longest = std::max(longest, busy);
    }
    seconds_ += longest;
    const T scale = static_cast<T>(options_.stepSize / expected_);
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = x_[i] - scale * sum_[i];
    ++round_;
    return inTime;
  }
  std::span<const T> x() const { return x_; }
  std::uint64_t round() const { return round_; }
  const MindFlayerCounts& counts() const { return counts_; }
  double seconds() const { return seconds_; }
  /// All that a run must remember to be resumed.
  template <class Visit> void visitState(Visit&& visit) {
    visit("x", std::span<T>(x_));
    visit("round", round_);
    visit("seconds", std::span<double>(&seconds_, 1));
    visit("trials", counts_.trials);
    visit("applied", counts_.applied);
    visit("killed", counts_.killed);
    for (std::size_t w = 0; w < begun_.size(); ++w)
      visit(("worker " + std::to_string(w) + ": trials").c_str(), begun_[w]);
  }

 private:
  bool attempt(std::size_t w, double& busy) {
    const double limit = options_.workers[w].seconds;
    const std::uint64_t trial = begun_[w]++;
    const double seconds = secondsOf_(w, trial);
    if (!(seconds >= 0) || !std::isfinite(std::min(seconds, limit)))
      fail("MindFlayer: trial %llu of worker %zu takes %g s of %g s; expected a finite time",
           static_cast<unsigned long long>(trial), w, seconds, limit);
    busy += std::min(seconds, limit);
    ++counts_.trials;
    if (seconds > limit) {
      ++counts_.killed;
      return false;
    }
    f_.gradient(x_, sampling_[w].draw(trial), gradient_);
    for (std::size_t i = 0; i < sum_.size(); ++i) sum_[i] = sum_[i] + gradient_[i];
    ++counts_.applied;
    return true;
  }

  F& f_;
  MindFlayerOptions options_;
  Seconds secondsOf_;
  std::vector<T> x_, gradient_, sum_;
  std::vector<NiceSampling> sampling_;
  std::vector<std::uint64_t> begun_;
  double expected_ = 0, seconds_ = 0;
  std::uint64_t round_ = 0;
  MindFlayerCounts counts_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
