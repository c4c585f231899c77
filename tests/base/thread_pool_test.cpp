// The pool: every job once, errors, nested and empty runs, several callers, a child of fork.
#include <burtorch/base/thread_pool.hpp>

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <burtorch/base/check.hpp>
#include <chrono>
#include <ctime>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace burtorch {
namespace thread_pool_test {

#if defined(__SANITIZE_THREAD__)
constexpr bool canFork = false;  // the thread sanitizer's child may not start threads
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool canFork = false;
#else
constexpr bool canFork = true;
#endif
#else
constexpr bool canFork = true;
#endif

constexpr std::size_t sizes[] = {1, 2, 3, 8};

TEST(ThreadPool, RunsEveryJobOnce) {
  for (const std::size_t size : sizes) {
    ThreadPool pool(size);
    EXPECT_EQ(pool.size(), size);
    for (std::size_t round = 0; round < 200; ++round) {
      std::vector<int> runs(round % 23);
      pool.run(runs.size(), [&](std::size_t job, std::size_t worker) {
        ASSERT_LT(worker, size);
        ++runs[job];
      });
      EXPECT_EQ(runs, std::vector<int>(runs.size(), 1)) << size << " threads, round " << round;
    }
  }
}
TEST(ThreadPool, WorkersOfJobsAtTheSameTimeDiffer) {
  ThreadPool pool(4);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> inUse[4] = {};
    std::atomic<int> clashes = 0;
    pool.run(16, [&](std::size_t, std::size_t worker) {
      clashes += inUse[worker].exchange(1);
      std::this_thread::yield();
      inUse[worker] = 0;
    });
    EXPECT_EQ(clashes, 0);
  }
}
TEST(ThreadPool, UsesItsThreads) {
  ThreadPool pool(2);
  std::atomic<int> arrived = 0;  // each waits for the other
  pool.run(2, [&](std::size_t, std::size_t) {
    ++arrived;
    while (arrived < 2) std::this_thread::yield();
  });
  EXPECT_EQ(arrived, 2);
}
TEST(ThreadPool, ThrowsTheErrorOfTheFirstJobAndGoesOn) {
  for (const std::size_t size : sizes) {
    ThreadPool pool(size);
    for (int round = 0; round < 200; ++round) {
      std::string found;
      try {
        pool.run(20, [](std::size_t job, std::size_t) {
          if (job % 5 == 3) fail("job %zu", job);
        });
      } catch (const Error& error) {
        found = error.what();
      }
      EXPECT_EQ(found, "job 3") << size << " threads";
      std::atomic<std::size_t> sum = 0;
      pool.run(10, [&](std::size_t job, std::size_t) { sum += job; });
      EXPECT_EQ(sum, 45u);
    }
  }
}
TEST(ThreadPool, AJobRunsItsOwnJobsItself) {
  ThreadPool pool(3);
  const CurrentWorkers here(pool);
  std::vector<int> runs(6 * 5);
  pool.run(6, [&](std::size_t outer, std::size_t) {
    EXPECT_EQ(currentWorkers(), nullptr);
    const auto thread = std::this_thread::get_id();
    pool.run(5, [&](std::size_t inner, std::size_t) {
      EXPECT_EQ(std::this_thread::get_id(), thread);
      ++runs[outer * 5 + inner];
    });
  });
  EXPECT_EQ(runs, std::vector<int>(runs.size(), 1));
  EXPECT_EQ(currentWorkers(), &pool);
}
TEST(ThreadPool, ServesSeveralCallers) {
  ThreadPool pool(3);
  std::vector<std::size_t> sums(4);
  std::vector<std::thread> callers;
  for (std::size_t& sum : sums)
    callers.emplace_back([&pool, &sum] {
      for (int round = 0; round < 200; ++round) {
        std::vector<std::size_t> found(12);
        pool.run(found.size(), [&](std::size_t job, std::size_t) { found[job] = job; });
        sum += std::accumulate(found.begin(), found.end(), std::size_t{0});
      }
    });
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(sums, std::vector<std::size_t>(4, 200 * 66));
}
TEST(ThreadPool, SleepsWithoutWork) {
  ThreadPool pool(4);
  pool.run(8, [](std::size_t, std::size_t) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.05);
}
/// What the child's exit code says; it is killed after ten seconds.
template <class F> int codeOfChild(F f) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    f();
    _exit(7);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}
TEST(ThreadPool, AChildStartsThreadsOfItsOwn) {
  if (!canFork) GTEST_SKIP() << "not under the thread sanitizer";
  for (int round = 0; round < 20; ++round) {
    ThreadPool pool(3);
    pool.run(6, [](std::size_t, std::size_t) {});
    EXPECT_EQ(codeOfChild([&] {
                std::atomic<int> arrived = 0;
                pool.run(3, [&](std::size_t, std::size_t) {
                  ++arrived;
                  while (arrived < 3) std::this_thread::yield();
                });
                pool.~ThreadPool();
              }),
              7);
    pool.run(6, [](std::size_t, std::size_t) {});
  }
}
TEST(ThreadPool, AChildMayDestroyIt) {
  if (!canFork) GTEST_SKIP() << "not under the thread sanitizer";
  for (int round = 0; round < 20; ++round) {
    ThreadPool pool(3);
    if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));  // asleep, or looking
    EXPECT_EQ(codeOfChild([&] { pool.~ThreadPool(); }), 7);
  }
}
TEST(ForEachPart, CoversEverythingInWholeUnits) {
  for (const std::size_t size : sizes) {
    ThreadPool pool(size);
    for (const std::size_t count : {0u, 1u, 63u, 64u, 65u, 1000u, 4096u}) {
      const CurrentWorkers here(pool);
      std::vector<int> visits(count);
      forEachPart(count, 16, Worth{1, 64}, [&](std::size_t first, std::size_t end) {
        EXPECT_EQ(first % 16, 0u);
        for (std::size_t i = first; i < end; ++i) ++visits[i];
      });
      EXPECT_EQ(visits, std::vector<int>(count, 1)) << count;
    }
  }
}

}  // namespace thread_pool_test
}  // namespace burtorch
