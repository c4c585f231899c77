// The sum of the gradients of shards, in the order of a fixed tree: shards 2k and 2k+1, then pairs of pairs, and so on. Which
// thread adds two nodes of it, and when, depends on who is ready; what is added to what does not. So the bits of the sum
// depend on the number of shards alone.
//
// A shard is added as soon as its neighbour is there, so with one thread there are at most log2(shards) + 1 buffers in use, and
// some more with several. The first shard has the buffer of the caller, and with it the sum.
//
// A process that has only some of the shards, side by side, adds what lies between them; nodes whose neighbour is another
// process's wait in their places until rank_sum.hpp fetches them.
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "../nn/parameter_store.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Shards `first` to `end` - 1 of a batch: those of one process.
struct ShardRange {
  std::size_t first, end;

  bool holds(std::size_t from, std::size_t to) const { return first <= from && to <= end; }
  std::size_t count() const { return end - first; }
};

template <class T> class ShardSum {
 public:
  /// Of gradients of this layout.
  explicit ShardSum(const ParameterLayout& layout) : layout_(layout) {}

  /// How many buffers there are at most, that of the sum included.
  static std::size_t bufferCount(std::size_t shards, std::size_t threads) {
    // A node waits for a shard that is under way below its neighbour: one at each level for each thread, which has one in
    // hand besides.
    const std::size_t levels = static_cast<std::size_t>(std::bit_width(shards - 1));
    return std::min(shards, threads * (levels + 1));
  }

  /// The same of a process that has some of the shards: nodes wait at both ends of its range.
  static std::size_t bufferCount(const ShardRange& own, std::size_t shards, std::size_t threads) {
    const std::size_t levels = static_cast<std::size_t>(std::bit_width(shards - 1));
    return std::min(own.count(), threads * (levels + 1) + 2 * levels) + 1;
  }

  /// Before the first shard of so many, of which at most `threads` are begun at the same time. `sum` holds the sum in the end.
  void start(GradientBuffer<T>& sum, std::size_t shards, std::size_t threads) {
    start(sum, shards, {0, shards}, threads);
  }
  /// The same in a process that has some of the shards; `sum` is where the first of these begins.
  void start(GradientBuffer<T>& sum, std::size_t shards, const ShardRange& own, std::size_t threads) {
    sum_ = &sum;
    shards_ = shards;
    first_ = own.first;
    waiting_.assign(std::bit_ceil(shards) * 2, nullptr);
    // Memory that is never used is never touched.
    const std::size_t most =
        own.count() == shards ? bufferCount(shards, threads) : bufferCount(own, shards, threads);
    while (owned_.size() + 1 < most) owned_.push_back(std::make_unique<GradientBuffer<T>>(layout_));
    free_.clear();
    free_.reserve(owned_.size());
    for (auto at = owned_.rbegin(); at != owned_.rend(); ++at) free_.push_back(at->get());
  }
  /// The buffer of a shard that begins, with zeros.
  GradientBuffer<T>& bufferOf(std::size_t shard) {
    GradientBuffer<T>* buffer = sum_;
    if (shard > first_) {
      const std::lock_guard lock(mutex_);
      if (free_.empty()) fail(ErrorCode::internal, "ShardSum: no buffer is free for shard %zu", shard);
      buffer = free_.back();
      free_.pop_back();
    }
    buffer->zero();
    return *buffer;
  }
  /// A shard is complete: adds its buffer as far up the tree as others are complete.
  void finish(std::size_t shard, GradientBuffer<T>& buffer) {
    GradientBuffer<T>* node = &buffer;
    std::size_t index = shard;
    for (std::size_t level = 0; (std::size_t{1} << level) < shards_; ++level, index /= 2) {
      const std::size_t neighbour = index ^ 1;
      if ((neighbour << level) >= shards_) continue;  // nothing there: the node is its own parent
      GradientBuffer<T>* other = takeOrWait(level, index, neighbour, node);
      if (other == nullptr) return;
      if (index % 2 != 0) std::swap(node, other);  // the left one is added to
      node->add(*other);
      free(*other);
    }
  }

  // For rank_sum.hpp, when all shards of this process are complete.

  /// The node that waits there, or nullptr.
  GradientBuffer<T>*& waitingAt(std::size_t level, std::size_t index) {
    return waiting_[placeOf(level, index)];
  }
  /// The number of a place among all.
  std::size_t placeOf(std::size_t level, std::size_t index) const {
    // Level k has its places from bit_ceil(shards) / 2^k on, as a heap has.
    return (std::bit_ceil(shards_) >> level) + index;
  }
  /// A buffer that is used no more.
  void free(GradientBuffer<T>& buffer) {
    if (&buffer == sum_) return;
    const std::lock_guard lock(mutex_);
    free_.push_back(&buffer);
  }

 private:
  /// The neighbour's buffer, or nullptr: then the node waits for it, or for another process.
  GradientBuffer<T>* takeOrWait(std::size_t level, std::size_t index, std::size_t neighbour,
                                GradientBuffer<T>* node) {
    const std::lock_guard lock(mutex_);
    GradientBuffer<T>* other = waitingAt(level, neighbour);
    if (other == nullptr) waitingAt(level, index) = node;
    return other;
  }

  GradientBuffer<T>* sum_ = nullptr;
  ParameterLayout layout_;
  std::size_t shards_ = 0, first_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<GradientBuffer<T>>> owned_;
  std::vector<GradientBuffer<T>*> free_, waiting_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
