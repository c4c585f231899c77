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
    message_.assign(sizeof sum, std::byte{});
    std::memcpy(message_.data(), &sum, sizeof sum);
    ranks_->broadcast(label(Kind::sumOfValues), message_, sizeof sum);
    copyExactly(message_, std::as_writable_bytes(std::span(&sum, 1)));
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
    if (ranks_->rank() == 0) pack({&value, 1}, gradient);
    ranks_->broadcast(label(Kind::sum), message_, mostBytes(1, gradient));
    if (ranks_->rank() != 0) unpack(message_, {&value, 1}, gradient);
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
        pack(rightValues, *rightNode);
        ranks_->send(leftOwner, message, message_);
        nodes.free(*rightNode);
        return;
      }
      if (leftOwner != me) return;
      if (leftOwner != rightOwner) {
        rightNode = &nodes.take();
        unpack(ranks_->receive(rightOwner, message, mostBytes(rightValues.size(), *rightNode)), rightValues,
               *rightNode);
      }
      leftNode->add(*rightNode);
      nodes.free(*rightNode);
    }
    if (leftOwner == me && leftNode != nullptr) nodes.waitingAt(level + 1, left / 2) = leftNode;
  }

  static std::size_t mostBytes(std::size_t values, GradientBuffer<T>& gradient) {
    return values * sizeof(double) + gradient.unwrittenWords() * sizeof(std::uint64_t) +
           gradient.size() * sizeof(T);
  }
  /// Calls `use(first, count)` for the numbers of each block that has some.
  template <class Use> static void forEachWritten(GradientBuffer<T>& gradient, Use use) {
    std::size_t first = 0;
    for (std::size_t id = 0; id < gradient.blockEnds().size(); first = gradient.blockEnds()[id++])
      if ((gradient.unwritten()[id / 64] >> (id % 64) & 1) == 0) use(first, gradient.blockEnds()[id] - first);
  }
  void pack(std::span<const double> values, GradientBuffer<T>& gradient) {
    const std::size_t words = gradient.unwrittenWords() * sizeof(std::uint64_t);
    message_.resize(mostBytes(values.size(), gradient));
    std::byte* to = message_.data();
    const auto put = [&](const void* from, std::size_t bytes) {
      std::memcpy(to, from, bytes);
      to += bytes;
    };
    put(values.data(), values.size_bytes());
    put(gradient.unwritten(), words);
    forEachWritten(gradient, [&](std::size_t first, std::size_t count) {
      put(gradient.data() + first, count * sizeof(T));
    });
    message_.resize(static_cast<std::size_t>(to - message_.data()));
  }
  /// Nothing is written unless the length is right.
  static void unpack(std::span<const std::byte> message, std::span<double> values,
                     GradientBuffer<T>& gradient) {
    const std::size_t words = gradient.unwrittenWords() * sizeof(std::uint64_t),
                      head = values.size_bytes() + words;
    if (message.size() < head) failLength();
    std::memcpy(gradient.unwritten(), message.data() + values.size_bytes(), words);
    std::size_t numbers = 0;
    forEachWritten(gradient, [&](std::size_t, std::size_t count) { numbers += count; });
    if (message.size() != head + numbers * sizeof(T)) {
      gradient.zero();
      failLength();
    }
    std::memcpy(values.data(), message.data(), values.size_bytes());
    const std::byte* from = message.data() + head;
    forEachWritten(gradient, [&](std::size_t first, std::size_t count) {
      std::memcpy(gradient.data() + first, from, count * sizeof(T));
      from += count * sizeof(T);
    });
  }

  Ranks* ranks_;
  std::uint64_t number_ = 0;  // of this call among all, the same on every rank
  std::vector<std::byte> message_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
