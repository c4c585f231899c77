// Who may help a thread: a pool that oracles, layers and optimisers ask for, or nobody, which costs them the test of one
// pointer. No thread is started here (thread_pool.hpp does), so a program that never uses several pays for nothing.
//
// The rule for everybody who asks: how work is divided may decide who computes a number, never how. So the bits are the same
// for any number of threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace burtorch {

/// Threads that run jobs together with the one that asks.
class Workers {
 public:
  virtual ~Workers() = default;
  /// How many threads there are, the one that asks included.
  virtual std::size_t size() const = 0;

  /// Calls `f(job, worker)` for the jobs 0 to count - 1, each once, and returns when all are done. Jobs are begun in order;
  /// two that run at the same time see different workers, of 0 to size() - 1. Of the errors that jobs throw, the one of
  /// the first job is thrown here; then later jobs may have been left out. A job that calls `run` runs those jobs itself.
  template <class F> void run(std::size_t count, F&& f) {
    using Callee = std::remove_reference_t<F>;
    const Jobs jobs{count,
                    [](void* context, std::size_t job, std::size_t worker) {
                      (*static_cast<Callee*>(context))(job, worker);
                    },
                    const_cast<void*>(static_cast<const void*>(std::addressof(f)))};
    runAll(jobs);
  }

 protected:
  struct Jobs {
    std::size_t count;
    void (*call)(void* context, std::size_t job, std::size_t worker);
    void* context;

    void operator()(std::size_t job, std::size_t worker) const { call(context, job, worker); }
  };

 private:
  virtual void runAll(const Jobs& jobs) = 0;
};

/// Where a thread keeps who helps it; use `currentWorkers` and `CurrentWorkers`.
inline constinit thread_local Workers* currentWorkersSlot = nullptr;

/// Who helps this thread, or nullptr.
inline Workers* currentWorkers() { return currentWorkersSlot; }

/// Lets workers help this thread until the end of the block; nullptr: nobody.
class CurrentWorkers {
 public:
  explicit CurrentWorkers(Workers* workers) : previous_(currentWorkersSlot) { currentWorkersSlot = workers; }
  explicit CurrentWorkers(Workers& workers) : CurrentWorkers(&workers) {}
  CurrentWorkers(const CurrentWorkers&) = delete;
  CurrentWorkers& operator=(const CurrentWorkers&) = delete;
  ~CurrentWorkers() { currentWorkersSlot = previous_; }

 private:
  Workers* previous_;
};

/// When work is worth another thread: what one of many things costs, and what a part of them must cost at least.
struct Worth {
  std::size_t ofEach, ofPart;

  constexpr bool isEnoughForTwo(std::size_t count) const { return count * ofEach >= 2 * ofPart; }
  /// How many things make up a part.
  constexpr std::size_t fewest() const { return (ofPart + ofEach - 1) / ofEach; }
};

namespace detail {

/// The parts of forEachPart.
template <class F>
inline void forEachOfManyParts(std::size_t count, std::size_t unit, Worth worth, const F& f) {
  Workers* const workers = currentWorkers();
  const std::size_t units = (count + unit - 1) / unit, threads = workers != nullptr ? workers->size() : 1;
  std::size_t parts = std::min(count / worth.fewest(), units);
  if (threads == 1 || parts <= 1) return f(std::size_t{0}, count);
  // The same for every thread, and more than one: who is late takes fewer.
  constexpr std::size_t partsPerThread = 4;
  if (parts > threads) parts = std::min(partsPerThread, parts / threads) * threads;
  workers->run(parts, [&](std::size_t part, std::size_t) {
    const std::size_t first = units * part / parts * unit, end = units * (part + 1) / parts * unit;
    f(first, std::min(end, count));
  });
}
/// Out of the way of those who have too little work for two threads. What is inlined there is compiled for size.
template <class F>
[[gnu::noinline, gnu::cold]] void outOfTheWay(std::size_t count, std::size_t unit, Worth worth, F f) {
  forEachOfManyParts(count, unit, worth, f);
}
template <class F> [[gnu::noinline]] void atFullSpeed(std::size_t count, std::size_t unit, Worth worth, F f) {
  forEachOfManyParts(count, unit, worth, f);
}

}  // namespace detail

/// Calls `f(first, end)` for parts that make up 0 to count, in parallel if the thread has help and there is work for two. Parts
/// begin at multiples of `unit`. An `f` that captures by value leaves its numbers in registers where there is one part. It
/// only calls kernels; one that is a loop itself wants forEachPartOfLoop.
template <class F> inline void forEachPart(std::size_t count, std::size_t unit, Worth worth, F f) {
  if (!worth.isEnoughForTwo(count)) return f(std::size_t{0}, count);
  detail::outOfTheWay(count, unit, worth, f);
}
/// As forEachPart, where `f` is itself the loop over numbers: large work is compiled for speed as well.
template <class F> inline void forEachPartOfLoop(std::size_t count, std::size_t unit, Worth worth, F f) {
  if (!worth.isEnoughForTwo(count)) [[likely]]
    return f(std::size_t{0}, count);
  detail::atFullSpeed(count, unit, worth, f);
}

}  // namespace burtorch
