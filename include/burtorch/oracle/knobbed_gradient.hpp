// One gradient with knobs over the tiles of a batch: what each tile's sweep is told, and what becomes of the result.
//
// A gradient that may be stopped, or of which only some coordinates are wanted, is computed beside its destination and copied
// at the end, so that the destination holds all of it or is as it was.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>

#include "../core/guided_sweep.hpp"
#include "../nn/parameter_store.hpp"
#include "finite_sum.hpp"

namespace burtorch::inline BURTORCH_TARGET {

template <class T> class KnobbedGradient {
 public:
  /// `isOneShard`: sweeps follow each other, and blocks become final during the last one.
  KnobbedGradient(const GradientOptions<T>& options, bool isOneShard)
      : options_(options), isOneShard_(isOneShard) {}

  /// Whether the destination must not be written before the end.
  bool writesAside() const { return bool(options_.stop) || !options_.wanted.isAll(); }
  /// The sweep of a tile that begins with the sample `first` of its batch. Returns whether to go on.
  template <class Root>
  bool sweep(const Root& root, double share, std::size_t first, bool isLast, SweepMemory& memory) {
    return sweep(root, share, first, isLast, memory, options_.wanted);
  }
  /// The same where the tape has other names for what is wanted.
  template <class Root>
  bool sweep(const Root& root, double share, std::size_t first, bool isLast, SweepMemory& memory,
             const Wanted& wanted) {
    const auto stop = [&] {
      if (!isStopped_.load(std::memory_order_relaxed) && options_.stop()) isStopped_ = true;
      return isStopped_.load(std::memory_order_relaxed);
    };
    SweepOptions<T> sweep{.memory = &memory,
                          .seed = static_cast<T>(share),
                          .pollEvery = options_.pollEvery,
                          .wanted = wanted,
                          .keep = options_.keep};
    // Samples draw edges of their own.
    sweep.keep.seed = Rng(options_.keep.seed, first).next();
    if (options_.stop) {
      if (stop()) return false;
      sweep.stop = stop;
    }
    if (isOneShard_ && isLast) sweep.onFinal = options_.onFinal;
    const SweepResult result = backward(root, sweep);
    instructions_.fetch_add(result.visited, std::memory_order_relaxed);
    return bool(result);
  }
  /// After the last tile: `sum` is where sweeps wrote. Reports blocks that were not reported yet.
  SweepStatus finish(GradientBuffer<T>& sum, std::span<T> into, const ParameterLayout& layout) {
    if (isStopped_) return SweepStatus::stopped;
    if (options_.onFinal && !isOneShard_)
      for (const Parameter& block : layout.blocks())
        if (isWanted(block)) options_.onFinal({block.id, block.first, sum.block(block.id)});
    if (!writesAside()) {
      sum.all();
      return SweepStatus::finished;
    }
    if (options_.wanted.isAll()) {
      const std::span<const T> all = sum.all();
      std::copy(all.begin(), all.end(), into.begin());
      return SweepStatus::finished;
    }
    for (const Parameter& block : layout.blocks()) {
      if (!isWanted(block)) continue;
      const std::span<T> gradients = sum.block(block.id);
      for (const Block& wanted : options_.wanted.blocks()) {
        const std::size_t first = std::max(wanted.first, block.first),
                          end = std::min<std::size_t>(std::size_t{wanted.first} + wanted.count,
                                                      block.first + block.size());
        for (std::size_t i = first; i < end; ++i) into[i] = gradients[i - block.first];
      }
    }
    return SweepStatus::finished;
  }
  std::size_t instructions() const { return instructions_; }

 private:
  bool isWanted(const Parameter& block) const {
    const std::span<const Block> wishes = options_.wanted.blocks();
    return options_.wanted.isAll() || std::any_of(wishes.begin(), wishes.end(), [&](const Block& wanted) {
             return wanted.first < block.first + block.size() &&
                    block.first < std::size_t{wanted.first} + wanted.count;
           });
  }

  const GradientOptions<T>& options_;
  bool isOneShard_;
  std::atomic<bool> isStopped_{false};
  std::atomic<std::size_t> instructions_{0};
};

}  // namespace burtorch::inline BURTORCH_TARGET
