// A batch divided into shards, for oracles: a shard is computed by one thread, with a lane of its own (a tape, and whatever else
// it needs), and shards are summed in a fixed order. How many shards there are is the oracle's decision, and may depend on
// batch and problem only; then the bits are the same for any number of threads, one included. With ranks (rank_sum.hpp) each
// process computes some of the shards, all get the result, and the bits are still the same.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "../base/workers.hpp"
#include "rank_sum.hpp"

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
  /// The sum of `use(lane, shard)` over the shards of a batch of so many samples; with `ranks` all of them call this at the same
  /// time.
  template <class Make, class Use>
  double value(std::size_t samples, std::size_t shards, Workers* help, RankSum<T>* ranks, Make make,
               Use use) {
    lane(make);
    if (shards == 1 && ranks == nullptr) return alone(help, Shard{0, samples}, use);
    const ShardRange own = ranks != nullptr ? ranks->own(shards) : ShardRange{0, shards};
    overShards(samples, shards, own, help, make, use);
    return ranks != nullptr ? ranks->sumOfValues(values_) : sumOfValues();
  }
  /// The same of `use(lane, shard, buffer)`, which adds the gradients of the shard to a buffer of zeros; the sum of the buffers
  /// is then in `into`.
  template <class Make, class Use>
  double gradient(GradientBuffer<T>& into, std::size_t samples, std::size_t shards, Workers* help,
                  RankSum<T>* ranks, Make make, Use use) {
    lane(make);
    if (shards == 1) {
      double value = 0;
      if (ranks != nullptr) ranks->count();
      if (ranks == nullptr || ranks->ranks().rank() == 0) {
        into.zero();
        value = alone(help, Shard{0, samples},
                      [&](Lane& lane, const Shard& shard) { return use(lane, shard, into); });
      }
      return ranks != nullptr ? ranks->broadcast(value, into) : value;
    }
    const ShardRange own = ranks != nullptr ? ranks->own(shards) : ShardRange{0, shards};
    sum_.start(into, shards, own, help != nullptr ? help->size() : 1);
    overShards(samples, shards, own, help, make, [&](Lane& lane, const Shard& shard) {
      GradientBuffer<T>& buffer = sum_.bufferOf(shard.index);
      const double value = use(lane, shard, buffer);
      sum_.finish(shard.index, buffer);
      return value;
    });
    return ranks != nullptr ? ranks->sumOfGradients(sum_, values_, into) : sumOfValues();
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
  /// One shard on this thread, whom the others help in single layers.
  template <class Use> double alone(Workers* help, const Shard& shard, Use use) {
    const CurrentWorkers here(help);
    return use(*lanes_[0], shard);
  }
  template <class Make, class Use>
  void overShards(std::size_t samples, std::size_t shards, const ShardRange& own, Workers* help, Make make,
                  Use use) {
    values_.assign(shards, 0);
    const auto one = [&](Lane& lane, std::size_t shard) {
      values_[shard] = use(lane, Shard{samples * shard / shards, samples * (shard + 1) / shards, shard});
    };
    if (own.count() > 1)
      return forEachJob(own.count(), help, make,
                        [&](Lane& lane, std::size_t job) { one(lane, own.first + job); });
    const CurrentWorkers here(help);
    if (own.count() == 1) one(*lanes_[0], own.first);
  }
  double sumOfValues() const {
    double sum = 0;
    for (const double value : values_) sum += value;
    return sum;
  }

  std::vector<std::unique_ptr<Lane>> lanes_;
  ShardSum<T> sum_;
  std::vector<double> values_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
