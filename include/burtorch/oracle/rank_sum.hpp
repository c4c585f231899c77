// The sum of the gradients of shards over ranks, in the tree of shard_sum.hpp: each rank has shards side by side, and a node belongs
// to the rank that has its first shard. Where the two children of a node belong to different ranks, the right one is sent to the
// left one's rank, which adds it. What is added to what is the same as in one process, so the sum has the same bits for any
// number of ranks. Rank 0 has the first shard, and so the sum, which it gives to all.
//
// A gradient on the wire is the values of its shards, a bit for each block that is zero, and the numbers of the other blocks. Its
// length must be what these bits say. Numbers may be infinite or NaN: a training reports them, and does not step.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "../parallel/ranks.hpp"
#include "shard_sum.hpp"

namespace burtorch::inline BURTORCH_TARGET {

template <class T> class RankSum {
 public:
  explicit RankSum(Ranks& ranks) : ranks_(&ranks) {}

  Ranks& ranks() { return *ranks_; }
  /// The shards of a rank. Rank 0 always has the first one.
  static ShardRange shardsOf(std::size_t rank, std::size_t ranks, std::size_t shards) {
    return {(shards * rank + ranks - 1) / ranks, (shards * (rank + 1) + ranks - 1) / ranks};
  }
  ShardRange shardsOf(std::size_t rank, std::size_t shards) const {
    return shardsOf(rank, ranks_->size(), shards);
  }
  ShardRange own(std::size_t shards) const { return shardsOf(ranks_->rank(), shards); }

  /// The sum of the values of all shards, of which this rank has its own, in the order of the shards.
  double sumOfValues(std::span<double> values) {
    ++number_;
    for (std::size_t rank = 1; rank < ranks_->size(); ++rank) {
      const ShardRange range = shardsOf(rank, values.size());
      if (range.count() == 0) continue;
      const std::span<double> part = values.subspan(range.first, range.count());
      if (ranks_->rank() == 0)
        copyExactly(ranks_->receive(rank, label(Kind::values), part.size_bytes()),
                    std::as_writable_bytes(part));
      else if (ranks_->rank() == rank)
        ranks_->send(0, label(Kind::values), std::as_bytes(part));
    }
    double sum = sumInOrder(values);
    ranks_->broadcastNumber(label(Kind::sumOfValues), sum);
    return sum;
  }
  /// The same of gradients: `nodes` has those of this rank's shards, `into` gets their sum. Returns the sum of the values.
  double sumOfGradients(ShardSum<T>& nodes, std::span<double> values, GradientBuffer<T>& into) {
    ++number_;
    const std::size_t shards = values.size();
    for (std::size_t level = 0; (std::size_t{1} << level) < shards; ++level)
      for (std::size_t left = 0; (left << level) < shards; left += 2)
        addNeighbours(nodes, values, level, left);
    return broadcast(sumInOrder(values), into);
  }
  /// Of a batch of one shard, which is rank 0's: gives its value and gradient to all.
  double broadcast(double value, GradientBuffer<T>& gradient) {
    ranks_->broadcast(
        label(Kind::sum), mostBytes(1, gradient),
        [&](std::byte* at) {
          return pack({&value, 1}, gradient, at);
        },
        [&](std::span<const std::byte> message) {
          gradient.zero();
          add(message, {&value, 1}, gradient);
        });
    return value;
  }
  /// Before `broadcast` of a batch of one shard.
  void count() { ++number_; }

 private:
  enum class Kind : std::uint32_t { values = 0x100, sumOfValues, node, sum };

  MessageLabel label(Kind kind, std::size_t part = 0) const {
    return {static_cast<std::uint32_t>(kind), static_cast<std::uint32_t>(part), number_};
  }
  static double sumInOrder(std::span<const double> values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum;
  }
  [[noreturn]] static void failLength() {
    fail(ErrorCode::badFile,
         "a gradient of another rank has a wrong length; do all ranks train the same model?");
  }
  static void copyExactly(std::span<const std::byte> from, std::span<std::byte> to) {
    if (from.size() != to.size()) failLength();
    if (!to.empty()) std::memcpy(to.data(), from.data(), to.size());
  }

  std::size_t ownerOf(std::size_t shard, std::size_t shards) const {
    std::size_t rank = 0;
    while (shardsOf(rank, shards).end <= shard) ++rank;
    return rank;
  }
  /// Adds the node right of `left`, or sends it; a node without a neighbour moves up.
  void addNeighbours(ShardSum<T>& nodes, std::span<double> values, std::size_t level, std::size_t left) {
    const std::size_t shards = values.size(), right = left + 1, me = ranks_->rank(), middle = right << level,
                      end = std::min(shards, (right + 1) << level);
    if (own(shards).holds(left << level, end)) return;  // was added here before, or has moved up
    const std::size_t leftOwner = ownerOf(left << level, shards);
    GradientBuffer<T>*& leftNode = nodes.waitingAt(level, left);
    if (middle < shards) {
      const std::size_t rightOwner = ownerOf(middle, shards);
      const MessageLabel message = label(Kind::node, nodes.placeOf(level, right));
      const std::span<double> rightValues = values.subspan(middle, end - middle);
      GradientBuffer<T>*& rightNode = nodes.waitingAt(level, right);
      if (leftOwner != rightOwner && rightOwner == me) {
        ranks_->send(leftOwner, message, mostBytes(rightValues.size(), *rightNode),
                     [&](std::byte* at) { return pack(rightValues, *rightNode, at); });
        nodes.free(*rightNode);
        return;
      }
      if (leftOwner != me) return;
      if (leftOwner != rightOwner) {
        add(ranks_->receive(rightOwner, message, mostBytes(rightValues.size(), *leftNode)), rightValues,
            *leftNode);
      } else {
        leftNode->add(*rightNode);
        nodes.free(*rightNode);
      }
    }
    if (leftOwner == me && leftNode != nullptr) nodes.waitingAt(level + 1, left / 2) = leftNode;
  }

  static std::size_t mostBytes(std::size_t values, GradientBuffer<T>& gradient) {
    return values * sizeof(double) + gradient.unwrittenWords() * sizeof(std::uint64_t) +
           gradient.size() * sizeof(T);
  }
  static bool isZero(const std::uint64_t* bits, std::size_t id) {
    return (bits[id / 64] >> (id % 64) & 1) != 0;
  }
  /// Writes a gradient and the values of its shards, and returns the place behind them.
  static std::byte* pack(std::span<const double> values, GradientBuffer<T>& gradient, std::byte* to) {
    const auto put = [&](const void* from, std::size_t bytes) {
      std::memcpy(to, from, bytes);
      to += bytes;
    };
    put(values.data(), values.size_bytes());
    put(gradient.unwritten(), gradient.unwrittenWords() * sizeof(std::uint64_t));
    std::size_t first = 0;
    for (std::size_t id = 0; id < gradient.blockEnds().size(); first = gradient.blockEnds()[id++])
      if (!isZero(gradient.unwritten(), id))
        put(gradient.data() + first, (gradient.blockEnds()[id] - first) * sizeof(T));
    return to;
  }
  /// Takes the values of a message and adds its gradient, as GradientBuffer::add does. Nothing changes unless the length is right.
  static void add(std::span<const std::byte> message, std::span<double> values, GradientBuffer<T>& gradient) {
    const std::size_t words = gradient.unwrittenWords(),
                      head = values.size_bytes() + words * sizeof(std::uint64_t);
    if (message.size() < head) failLength();
    std::vector<std::uint64_t> bits(words);
    std::memcpy(bits.data(), message.data() + values.size_bytes(), words * sizeof(std::uint64_t));
    const std::span<const std::uint32_t> ends = gradient.blockEnds();
    std::size_t numbers = 0;
    for (std::size_t id = 0; id < ends.size(); ++id)
      if (!isZero(bits.data(), id)) numbers += ends[id] - (id > 0 ? ends[id - 1] : 0);
    if (message.size() != head + numbers * sizeof(T)) failLength();
    std::memcpy(values.data(), message.data(), values.size_bytes());
    const std::byte* from = message.data() + head;
    for (std::size_t id = 0; id < ends.size(); ++id) {
      if (isZero(bits.data(), id)) continue;
      const std::size_t first = id > 0 ? ends[id - 1] : 0, count = ends[id] - first;
      addNumbers(gradient.data() + first, from, count, isZero(gradient.unwritten(), id));
      gradient.unwritten()[id / 64] &= ~(std::uint64_t{1} << (id % 64));
      from += count * sizeof(T);
    }
  }
  static void addNumbers(T* to, const std::byte* from, std::size_t count, bool isFirst) {
    if (isFirst) {
      std::memcpy(to, from, count * sizeof(T));
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      T number;
      std::memcpy(&number, from + i * sizeof(T), sizeof(T));
      to[i] = to[i] + number;
    }
  }

  Ranks* ranks_;
  std::uint64_t number_ = 0;  // of this call among all, the same on every rank
};

}  // namespace burtorch::inline BURTORCH_TARGET
