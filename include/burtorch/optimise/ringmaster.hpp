// Ringmaster ASGD (Maranjyan et al. 2025, arXiv 2501.16168): workers compute gradients of the point they saw last and send them
// when they are done; the server takes a gradient only if fewer than R steps were made since its point.
//   x <- x - gamma * grad f_S(x^(k - delay))   if delay < R, otherwise the gradient is discarded
// With `stopsLate` a computation whose delay reached R is stopped where it is (early termination), and its worker starts
// again at the new point.
//
// RingmasterRule is the server's rule; SimulatedRingmaster runs any number of workers by a clock of its own, so a run is
// the same on every machine; ringmaster_threads.hpp has real threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sampling.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// What theory says of Ringmaster ASGD, for stochastic gradients of variance at most sigma^2 and a target |grad f|^2 <= epsilon.
namespace ringmaster {

/// max {1, ceil(sigma^2 / epsilon)}
inline std::uint64_t delayLimit(double sigmaSquared, double epsilon) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(sigmaSquared / epsilon)));
}
/// min {1 / (2 R L), epsilon / (4 L sigma^2)}
inline double stepSize(double smoothness, std::uint64_t delayLimit, double sigmaSquared, double epsilon) {
  const double first = 1 / (2 * static_cast<double>(delayLimit) * smoothness);
  return sigmaSquared > 0 ? std::min(first, epsilon / (4 * smoothness * sigmaSquared)) : first;
}

}  // namespace ringmaster

/// What server and workers agree on.
struct RingmasterOptions {
  double stepSize = 0;
  std::uint64_t delayLimit = 1;  // R
  std::size_t batch = 1;         // samples of a gradient
  bool stopsLate = true;
  std::uint64_t seed = 0;
};

/// computed = applied + discarded + stopped
struct RingmasterCounts {
  std::uint64_t computed = 0, applied = 0, discarded = 0, stopped = 0, longestDelay = 0;  // of applied ones
};

/// The server: a point, how often it moved, and which gradients may move it.
template <class T> class RingmasterRule {
 public:
  RingmasterRule(std::span<const T> start, const RingmasterOptions& options)
      : options_(options), x_(start.begin(), start.end()) {
    if (!(options.stepSize > 0 && std::isfinite(options.stepSize)))
      fail("Ringmaster: expected a step size above 0, got %g", options.stepSize);
    if (options.delayLimit == 0) fail("Ringmaster: expected a delay limit of at least 1, got 0");
  }

  std::span<const T> x() const { return x_; }
  std::uint64_t version() const { return version_; }
  const RingmasterCounts& counts() const { return counts_; }
  /// Whether a gradient of that version can no longer be applied.
  bool isLate(std::uint64_t version) const { return version_ - version >= options_.delayLimit; }

  /// A gradient of f at the point of that version has been computed. Returns whether it moved x.
  bool receive(std::span<const T> gradient, std::uint64_t version) {
    ++counts_.computed;
    if (isLate(version)) {
      ++counts_.discarded;
      return false;
    }
    const T gamma = static_cast<T>(options_.stepSize);
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = x_[i] - gamma * gradient[i];
    counts_.longestDelay = std::max(counts_.longestDelay, version_ - version);
    ++counts_.applied;
    ++version_;
    return true;
  }
  /// All that a run must remember to be resumed.
  template <class Visit> void visitState(Visit&& visit) {
    visit("x", std::span<T>(x_));
    visit("version", version_);
    visit("computed", counts_.computed);
    visit("applied", counts_.applied);
    visit("discarded", counts_.discarded);
    visit("stopped", counts_.stopped);
    visit("longestDelay", counts_.longestDelay);
  }
  /// A computation was stopped because it was late.
  void stopOne() {
    ++counts_.computed;
    ++counts_.stopped;
  }

 private:
  RingmasterOptions options_;
  std::vector<T> x_;
  std::uint64_t version_ = 0;
  RingmasterCounts counts_;
};

/// Workers by a simulated clock: `secondsOf(worker, k)` is how long the k-th gradient of a worker takes.
template <FiniteSum F, class Seconds> class SimulatedRingmaster {
 public:
  using T = typename F::Scalar;

  SimulatedRingmaster(F& f, std::span<const T> start, std::size_t workers, Seconds secondsOf,
                      const RingmasterOptions& options)
      : f_(f), options_(options), rule_(start, options), secondsOf_(secondsOf), gradient_(start.size()) {
    if (start.size() != f.parameterCount())
      fail("Ringmaster: expected a start of %zu numbers, got %zu", f.parameterCount(), start.size());
    if (workers == 0) fail("Ringmaster: expected at least 1 worker, got 0");
    for (std::size_t w = 0; w < workers; ++w) {
      workers_.push_back(Worker{NiceSampling(f.size(), options.batch, Rng(options.seed, w).next()), {}});
      begin(workers_[w], w);
    }
  }

  /// Until the next gradient has been applied.
  void step() {
    while (!event()) {
    }
  }
  /// The next worker is done. Returns whether its gradient was applied.
  bool event() {
    std::size_t first = 0;  // of workers that are done at the same time, the one of the lowest number
    for (std::size_t w = 1; w < workers_.size(); ++w)
      if (workers_[w].doneAt < workers_[first].doneAt) first = w;
    Worker& worker = workers_[first];
    seconds_ = worker.doneAt;
    f_.gradient(worker.x, worker.sampling.draw(worker.gradients++), gradient_);
    const bool isApplied = rule_.receive(gradient_, worker.version);
    begin(worker, first);
    if (isApplied && options_.stopsLate)
      for (std::size_t w = 0; w < workers_.size(); ++w)
        if (rule_.isLate(workers_[w].version)) {
          rule_.stopOne();
          ++workers_[w].gradients;
          begin(workers_[w], w);
        }
    return isApplied;
  }
  std::span<const T> x() const { return rule_.x(); }
  std::uint64_t round() const { return rule_.version(); }
  const RingmasterCounts& counts() const { return rule_.counts(); }
  double seconds() const { return seconds_; }
  /// All that a run must remember to be resumed; names of workers' state begin with "worker 0: ".
  template <class Visit> void visitState(Visit&& visit) {
    rule_.visitState(visit);
    visit("seconds", std::span<double>(&seconds_, 1));
    for (std::size_t w = 0; w < workers_.size(); ++w) {
      const std::string name = "worker " + std::to_string(w) + ": ";
      visit((name + "x").c_str(), std::span<T>(workers_[w].x));
      visit((name + "version").c_str(), workers_[w].version);
      visit((name + "gradients").c_str(), workers_[w].gradients);
      visit((name + "doneAt").c_str(), std::span<double>(&workers_[w].doneAt, 1));
    }
  }

 private:
  struct Worker {
    NiceSampling sampling;
    std::vector<T> x;
    std::uint64_t version = 0, gradients = 0;
    double doneAt = 0;
  };
  void begin(Worker& worker, std::size_t number) {
    worker.x.assign(rule_.x().begin(), rule_.x().end());
    worker.version = rule_.version();
    const double seconds = secondsOf_(number, worker.gradients);
    if (!(seconds >= 0 && std::isfinite(seconds)))
      fail("Ringmaster: worker %zu takes %g s; expected a finite time", number, seconds);
    worker.doneAt = seconds_ + seconds;
  }

  F& f_;
  RingmasterOptions options_;
  RingmasterRule<T> rule_;
  Seconds secondsOf_;
  std::vector<T> gradient_;
  std::vector<Worker> workers_;
  double seconds_ = 0;
};

}  // namespace burtorch::inline BURTORCH_TARGET
