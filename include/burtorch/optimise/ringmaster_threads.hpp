// Ringmaster ASGD with real threads: each has an oracle of its own, computes at the last point that it saw, and is stopped in
// the middle of a sweep once its gradient can no longer be applied. Who comes first depends on the machine, so runs differ;
// the rule and its counts hold in every one of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "ringmaster.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// What a run of threads ended with.
template <class T> struct RingmasterResult {
  std::vector<T> x;
  RingmasterCounts counts;
};

/// Runs a thread for every oracle until so many gradients were applied. An error in a thread ends the run and is thrown here.
template <GuidedSum F>
RingmasterResult<typename F::Scalar> runRingmaster(std::span<F* const> oracles,
                                                   std::span<const typename F::Scalar> start,
                                                   std::uint64_t steps, const RingmasterOptions& options) {
  using T = typename F::Scalar;
  if (oracles.empty()) fail("Ringmaster: expected at least 1 oracle, got none");
  for (const F* f : oracles)
    if (f->parameterCount() != start.size())
      fail("Ringmaster: expected a start of %zu numbers, got %zu", f->parameterCount(), start.size());
  std::mutex mutex;
  RingmasterRule<T> rule(start, options);
  // The version as threads see it in the middle of a sweep; steps: the run is over.
  std::atomic<std::uint64_t> version{0};
  std::exception_ptr error;

  const auto work = [&](std::size_t number) {
    F& f = *oracles[number];
    NiceSampling sampling(f.size(), options.batch, Rng(options.seed, number).next());
    std::vector<T> x(start.begin(), start.end()), gradient(x.size());
    std::uint64_t seen = 0;
    for (std::uint64_t draw = 0;; ++draw) {
      {
        const std::lock_guard lock(mutex);
        if (rule.version() >= steps || error != nullptr) return;
        seen = rule.version();
        x.assign(rule.x().begin(), rule.x().end());
      }
      const auto isLate = [&] {
        const std::uint64_t now = version.load(std::memory_order_relaxed);
        return now >= steps || now - seen >= options.delayLimit;
      };
      GradientOptions<T> knobs;
      if (options.stopsLate) knobs.stop = isLate;
      const GradientResult result = f.gradient(x, sampling.draw(draw), gradient, knobs);
      const std::lock_guard lock(mutex);
      if (rule.version() >= steps || !result)
        rule.stopOne();
      else if (rule.receive(gradient, seen))
        version = rule.version();
    }
  };
  const auto guarded = [&](std::size_t number) {
#if defined(__cpp_exceptions)
    try {
      work(number);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (error == nullptr) error = std::current_exception();
      version = steps;
    }
#else
    work(number);
#endif
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < oracles.size(); ++i) threads.emplace_back(guarded, i);
  guarded(0);
  for (std::thread& thread : threads) thread.join();
#if defined(__cpp_exceptions)
  if (error != nullptr) std::rethrow_exception(error);
#endif
  return {std::vector<T>(rule.x().begin(), rule.x().end()), rule.counts()};
}

}  // namespace burtorch::inline BURTORCH_TARGET
