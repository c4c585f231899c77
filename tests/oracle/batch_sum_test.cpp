// Sums over batches: the fixed tree, parts that depend on the work alone, memory that is used again.
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/oracle/batch_sum.hpp>
#include <burtorch/oracle/linear_problem.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "oracle/problem_points.hpp"
#include "reference/allocation_counter.hpp"

namespace burtorch {
namespace batch_sum_test {

TEST(BatchSum, PartsArePowersOfTwoThatPay) {
  using Sum = BatchSum<double>;
  EXPECT_EQ(Sum::partCount(1, 1, 1), 1u);
  EXPECT_EQ(Sum::partCount(1000, 32, 10), 1u);
  EXPECT_EQ(Sum::partCount(1024, 224, 10), 4u);
  EXPECT_EQ(Sum::partCount(1'000'000, 1000, 10), 32u);
  EXPECT_EQ(Sum::partCount(1'000'000, 100'000, 1'000'000), 4u) << "no more memory than that";
  EXPECT_EQ(Sum::partCount(1'000'000, 100'000, 100'000'000), 1u);
}
// Numbers whose sum depends on the order.
double termOf(std::size_t i, std::size_t j) {
  return std::ldexp(1.0 + static_cast<double>(i % 7), static_cast<int>((i * 13 + j * 5) % 90));
}
TEST(BatchSum, IsThatOfTheTree) {
  constexpr std::size_t batch = 37, d = 700;
  for (const std::size_t parts : {1u, 2u, 8u, 32u}) {
    const auto add = [&](std::size_t first, std::size_t end, std::span<double> sum, double* scratch) {
      double total = 0;
      scratch[2] = 5;
      for (std::size_t i = first; i < end; ++i) {
        total += termOf(i, 0);
        for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += termOf(i, j);
      }
      return total;
    };
    // The naive twin: every part, then neighbours, then pairs of them.
    std::vector<std::vector<double>> level;
    for (std::size_t p = 0; p < parts; ++p) {
      level.emplace_back(d);
      for (std::size_t i = batch * p / parts; i < batch * (p + 1) / parts; ++i)
        for (std::size_t j = 0; j < d; ++j) level.back()[j] += termOf(i, j);
    }
    while (level.size() > 1) {
      std::vector<std::vector<double>> above;
      for (std::size_t p = 0; p < level.size(); p += 2) {
        above.push_back(level[p]);
        for (std::size_t j = 0; j < d; ++j) above.back()[j] += level[p + 1][j];
      }
      level = above;
    }
    const BatchSum<double> sums;
    for (const std::size_t threads : {1u, 2u, 3u, 8u}) {
      ThreadPool pool(threads);
      const CurrentWorkers here(pool);
      std::vector<double> into(d, std::nan(""));
      EXPECT_EQ(sums.run(batch, parts, std::span(into), 3, add), level[0][0]) << parts;
      EXPECT_EQ(into, level[0]) << parts << " parts, " << threads << " threads";
      EXPECT_EQ(sums.run(batch, parts, std::span<double>(), 3, add), level[0][0]) << parts;
    }
  }
}
TEST(BatchSum, ProblemsAllocateInTheirFirstStepOnly) {
  const SoftmaxRegression<double> f(randomRows(500, 20, 0.5, 4, 1), {.l2 = 0.1});
  const std::vector<double> x = randomPoint(f.parameterCount(), 1), y = randomPoint(f.parameterCount(), 2);
  std::vector<double> g(x.size());
  const std::vector<std::size_t> small = randomBatch(8, 500, 1), large = randomBatch(4000, 500, 1);
  const auto step = [&] {
    for (const auto* batch : {&large, &small}) {
      f.value(x, *batch);
      f.gradient(x, *batch, g);
      f.difference(x, y, *batch, g);
      f.hessianProduct(x, y, *batch, g);
    }
  };
  step();
  allocations = 0;
  isCounting = true;
  for (int i = 0; i < 10; ++i) step();
  isCounting = false;
  EXPECT_EQ(static_cast<std::size_t>(allocations), 0u);
}

}  // namespace batch_sum_test
}  // namespace burtorch
