// A batch divided into shards, for oracles: a shard is computed by one thread, with a lane of its own (a tape, and whatever else
// it needs), and shards are summed in a fixed order. How many shards there are is the oracle's decision, and may depend on
// batch and problem only; then the bits are the same for any number of threads, one included.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "../base/workers.hpp"
#include "shard_sum.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Samples `first` to `end` - 1 of a batch.
struct Shard {
  std::size_t first, end, index = 0;
};

template <class T, class Lane> class Sharded {
 public:
  explicit Sharded(const ParameterLayout& layout) : sum_(layout) {}

  /// The first lane; `make()` returns a std::unique_ptr of a lane.
  template <class Make> Lane& lane(Make make) {
    if (lanes_.empty()) lanes_.push_back(make());
    return *lanes_[0];
  }
  /// The sum of `use(lane, shard)` over the shards of a batch of so many samples.
  template <class Make, class Use>
  double value(std::size_t samples, std::size_t shards, Workers* help, Make make, Use use) {
    lane(make);
    if (shards == 1) {
      const CurrentWorkers here(help);
      return use(*lanes_[0], Shard{0, samples});
    }
    return overShards(samples, shards, help, make, use);
  }
  /// The same of `use(lane, shard, buffer)`, which adds the gradients of the shard to a buffer of zeros; the sum of the buffers
  /// is then in `into`.
  template <class Make, class Use>
  double gradient(GradientBuffer<T>& into, std::size_t samples, std::size_t shards, Workers* help, Make make,
                  Use use) {
    lane(make);
    if (shards == 1) {
      into.zero();
      const CurrentWorkers here(help);
      return use(*lanes_[0], Shard{0, samples}, into);
    }
    sum_.start(into, shards, help != nullptr ? help->size() : 1);
    return overShards(samples, shards, help, make, [&](Lane& lane, const Shard& shard) {
      GradientBuffer<T>& buffer = sum_.bufferOf(shard.index);
      const double value = use(lane, shard, buffer);
      sum_.finish(shard.index, buffer);
      return value;
    });
  }
  /// Calls `run(lane, job)` for jobs that need not be summed.
  template <class Make, class Run> void forEachJob(std::size_t jobs, Workers* help, Make make, Run run) {
    makeLanes(help, jobs, make);
    const auto call = [&](std::size_t job, std::size_t worker) { run(*lanes_[worker], job); };
    if (help != nullptr)
      help->run(jobs, call);
    else
      for (std::size_t job = 0; job < jobs; ++job) call(job, 0);
  }

 private:
  template <class Make> void makeLanes(Workers* help, std::size_t jobs, Make make) {
    const std::size_t count = help != nullptr ? std::min(help->size(), jobs) : 1;
    while (lanes_.size() < count) lanes_.push_back(make());
  }
  template <class Make, class Use>
  double overShards(std::size_t samples, std::size_t shards, Workers* help, Make make, Use use) {
    values_.assign(shards, 0);
    forEachJob(shards, help, make, [&](Lane& lane, std::size_t shard) {
      values_[shard] = use(lane, Shard{samples * shard / shards, samples * (shard + 1) / shards, shard});
    });
    double sum = 0;
    for (const double value : values_) sum += value;
    return sum;
  }

  std::vector<std::unique_ptr<Lane>> lanes_;
  ShardSum<T> sum_;
  std::vector<double> values_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
