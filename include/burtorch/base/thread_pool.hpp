// A pool of threads for short jobs: the caller works too, and hands out tickets to as many others as there are jobs. Whoever
// takes a ticket claims jobs until none is left. When the caller finds none left it takes back the tickets that nobody
// took, so a thread that is late delays nobody, and waits for those who still work.
//
// A thread without work looks for a ticket for some microseconds, since layers hand out many short jobs in a row, and then
// sleeps. Nothing is allocated after the constructor. Programs for old C libraries are linked with -pthread.
//
// After fork() a child has no threads but its own. The pool notices at the child's next `run`, leaves what it shared with
// the lost threads alone, and starts new ones; a child may also just destroy it. A job must not return in a child.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#if __has_include(<unistd.h>)
#include <unistd.h>
#endif

#include "config.hpp"
#include "workers.hpp"

namespace burtorch {

class ThreadPool final : public Workers {
 public:
  /// `threads` in all, the caller's included; 0: as many as the machine has cores. Where the default configuration has no
  /// threads, and so one current tape, there is only the caller.
  explicit ThreadPool(std::size_t threads = 0)
      : size_(threads > 0 && defaultConfig.threads ? threads : coreCount()) {
    start();
  }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool() override { stop(); }

  std::size_t size() const override { return size_; }

  /// How many cores the machine has, at least 1; 1 in a program without threads.
  static std::size_t coreCount() {
    const std::size_t count = defaultConfig.threads ? std::thread::hardware_concurrency() : 1;
    return count > 0 ? count : 1;
  }

 private:
  /// What the threads share. It is a child's duty not to touch that of its parent: a lost thread may hold the lock.
  struct Shared {
    std::mutex mutex;
    std::condition_variable hasTicket, isDone;
    // Changed under the lock; read without it by who looks before going to sleep.
    alignas(64) std::atomic<std::size_t> tickets{0};
    alignas(64) std::atomic<std::size_t> active{0};
    std::atomic<bool> isStopping{false};
    const Jobs* jobs = nullptr;
    std::size_t workerNames = 0;  // given out in this run
    std::size_t failedJob = 0;
    std::exception_ptr error;
    alignas(64) std::atomic<std::size_t> next{0};
    alignas(64) std::atomic<bool> isBusy{false};
    std::vector<std::thread> threads;
  };

  static constexpr int looks = 4000;  // of some 10 ns each
  static void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  template <class Condition> static bool comesSoon(Condition condition) {
    for (int look = 0; look < looks; ++look) {
      if (condition()) return true;
      pause();
    }
    return false;
  }
  static long processId() {
#if __has_include(<unistd.h>)
    return static_cast<long>(getpid());
#else
    return 0;
#endif
  }

  void start() {
    if (size_ == 1) return;
    process_ = processId();
    shared_ = std::make_unique<Shared>();
    shared_->threads.reserve(size_ - 1);
#if defined(__cpp_exceptions)
    try {
#endif
      for (std::size_t i = 1; i < size_; ++i)
        shared_->threads.emplace_back([shared = shared_.get()] { work(*shared); });
#if defined(__cpp_exceptions)
    } catch (...) {  // the system gives no more threads
      stop();
      throw;
    }
#endif
  }
  void stop() {
    if (shared_ == nullptr) return;
    if (process_ != processId()) return forget();
    {
      const std::lock_guard lock(shared_->mutex);
      shared_->isStopping = true;
    }
    shared_->hasTicket.notify_all();
    for (std::thread& thread : shared_->threads) thread.join();
    shared_.reset();
  }
  /// In a child: destroying a condition would wait for threads that are not there. Their memory is lost to the child.
  void forget() { [[maybe_unused]] const Shared* lost = shared_.release(); }

  static void work(Shared& shared) {
    for (;;) {
      const auto isCalled = [&] { return shared.tickets > 0 || shared.isStopping; };
      comesSoon(isCalled);
      std::unique_lock lock(shared.mutex);
      shared.hasTicket.wait(lock, isCalled);
      if (shared.isStopping) return;
      --shared.tickets;
      ++shared.active;
      const std::size_t worker = ++shared.workerNames;
      lock.unlock();
      claim(shared, worker);
      lock.lock();
      const bool isLast = --shared.active == 0;
      lock.unlock();
      if (isLast) shared.isDone.notify_one();
    }
  }
  static void claim(Shared& shared, std::size_t worker) {
    const CurrentWorkers nobody(nullptr);  // a job helps itself
    const Jobs& jobs = *shared.jobs;
    for (std::size_t job; (job = shared.next++) < jobs.count;) {
#if defined(__cpp_exceptions)
      try {
        jobs(job, worker);
      } catch (...) {
        // Jobs are claimed in order, so all before this one have begun: the first error is the same on every run.
        const std::lock_guard lock(shared.mutex);
        if (shared.error == nullptr || job < shared.failedJob) {
          shared.failedJob = job;
          shared.error = std::current_exception();
        }
        shared.next = jobs.count;
      }
#else
      jobs(job, worker);
#endif
    }
  }

  void runAll(const Jobs& jobs) override {
    if (shared_ != nullptr && process_ != processId()) {
      forget();
      start();
    }
    // One job, a job of a job, or a pool that another thread uses: the caller alone.
    if (shared_ == nullptr || jobs.count <= 1 || shared_->isBusy.exchange(true)) {
      const CurrentWorkers nobody(nullptr);
      for (std::size_t job = 0; job < jobs.count; ++job) jobs(job, 0);
      return;
    }
    Shared& shared = *shared_;
    const std::size_t others = std::min(size_, jobs.count) - 1;
    {
      const std::lock_guard lock(shared.mutex);
      shared.jobs = &jobs;
      shared.next = 0;
      shared.workerNames = 0;
      shared.tickets = others;
    }
    if (others + 1 == size_)
      shared.hasTicket.notify_all();
    else
      for (std::size_t i = 0; i < others; ++i) shared.hasTicket.notify_one();
    claim(shared, 0);
    finish(shared);
  }
  static void finish(Shared& shared) {
    std::exception_ptr error;
    {
      std::unique_lock lock(shared.mutex);
      shared.tickets = 0;
      const auto isDone = [&] { return shared.active == 0; };
      if (!isDone()) {
        lock.unlock();
        comesSoon(isDone);
        lock.lock();
        shared.isDone.wait(lock, isDone);
      }
      std::swap(error, shared.error);
    }
    shared.isBusy = false;
#if defined(__cpp_exceptions)
    if (error != nullptr) std::rethrow_exception(error);
#endif
  }

  std::size_t size_;
  long process_ = 0;
  std::unique_ptr<Shared> shared_;
};

}  // namespace burtorch
