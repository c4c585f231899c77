// What a sweep for some gradients would cost, before it is run: how many instructions lie between what is wanted and the root,
// and how many numbers they would pass gradients to. One pass up the tape and one down, no arithmetic.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "../core/guided_sweep.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Of a sweep, and of one for everything.
struct SweepCost {
  std::size_t instructions = 0, edges = 0, ofAllInstructions = 0, ofAllEdges = 0;

  /// Which part of the edges of a whole sweep.
  double share() const {
    return ofAllEdges == 0 ? 0 : static_cast<double>(edges) / static_cast<double>(ofAllEdges);
  }
};

/// The cost of `backward(root, {.wanted = wanted})`: an edge is a number that an instruction passes a gradient to.
template <class T, Config C>
SweepCost costOfBackward(const Value<T, C>& root, const Wanted& wanted, SweepMemory& memory) {
  SweepCost cost;
  if (root.isZero()) return cost;
  const Tape<T, C>& tape = *currentTapeSlot<T, C>;
  const NodeIndex node = tape.indexOf(root.handle());
  const auto position = tape.find(node);
  const std::size_t scalars = position.last + 1;
  auto* bytes = reinterpret_cast<std::uint8_t*>(memory.bytes(2 * scalars));
  std::fill(bytes, bytes + 2 * scalars, std::uint8_t{0});
  const Marks<std::uint8_t> isReached(bytes);
  const Selection selection{wanted.blocks(), Marks<std::uint8_t>(bytes + scalars)};
  const detail::TapeGraph<T, C> graph(tape, position.instruction + 1);
  const auto leads = [&](OperandWord operand, NodeIndex count) {
    return wanted.isAll() || selection.wants(operand, count);
  };
  const auto varies = [&](NodeIndex first, NodeIndex count, std::int32_t stride) {
    return wanted.isAll() || selection.varied.hasAny(first, count, stride);
  };
  for (const Block& block : wanted.blocks())
    if (!block.isParameter && block.first < scalars)
      selection.varied.set(block.first, std::min<std::size_t>(block.count, scalars - block.first), 1);
  graph.forEach([&](std::size_t, Instruction code, OpShape info, NodeIndex first, NodeIndex count) {
    if (info.isLeaf()) return;
    bool does = false;
    forEachOperandRange(code, info, tape.words(), [&](NodeIndex from, NodeIndex n, std::int32_t stride) {
      does = does || varies(from, n, stride);
    });
    graph.forEachParameter(code, info, tape.words(),
                           [&](OperandWord operand, NodeIndex n) { does = does || leads(operand, n); });
    if (does) selection.varied.set(first, count, 1);
  });
  isReached.set(node);
  NodeIndex last = position.last;
  for (std::size_t k = position.instruction + 1; k-- > 0;) {
    const Instruction code = tape.code()[k];
    OpShape info = tape.infoOf(code.op());
    const NodeIndex count = info.writesMany() ? code.b() : 1, first = last + 1 - count;
    last = first - 1;
    if (info.isLeaf() || !isReached.hasAny(first, count, 1)) continue;
    const bool isActive = selection.varied.hasAny(first, count, 1);
    ++cost.ofAllInstructions;
    cost.instructions += isActive ? 1 : 0;
    forEachReachedRange(code, info, tape.words(), tape.values().data(),
                        [&](NodeIndex from, NodeIndex n, std::int32_t stride) {
                          isReached.set(from, n, stride);
                          cost.ofAllEdges += n;
                          if (isActive && varies(from, n, stride)) cost.edges += n;
                        });
    graph.forEachParameter(code, info, tape.words(), [&](OperandWord operand, NodeIndex n) {
      cost.ofAllEdges += n;
      if (leads(operand, n)) cost.edges += n;
    });
  }
  return cost;
}

}  // namespace burtorch::inline BURTORCH_TARGET
