// Which gradients somebody wants: leaves and parameters named one by one, and everything between them and the root. Layers
// ask it what to leave out (Layer::wants).
#pragma once

#include <span>

#include "../ops/instruction.hpp"
#include "analysis.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// `wanted` are leaves and ranges of parameters; `varied` marks the nodes that depend on any of them. No node before `first` does,
/// and those have no marks.
struct Selection {
  std::span<const Block> wanted;
  Marks<std::uint8_t> varied;
  NodeIndex first = 0;

  bool isVaried(NodeIndex from, NodeIndex count, std::int32_t stride) const {
    if (stride != 1) {
      for (std::int64_t i = 0; i < count; ++i)
        if (isVaried(static_cast<NodeIndex>(from + i * stride), 1, 1)) return true;
      return false;
    }
    const NodeIndex begin = from < first ? first : from;
    return begin < from + count && varied.hasAny(begin, from + count - begin, 1);
  }
  /// Whether the gradient of an operand leads to something wanted.
  bool wants(OperandWord operand, NodeIndex count) const {
    if (!operand.isParameter()) return isVaried(operand.first(), count, 1);
    for (const Block& block : wanted)
      if (block.isParameter && block.first < operand.first() + count &&
          operand.first() < block.first + block.count)
        return true;
    return false;
  }
};

}  // namespace burtorch::inline BURTORCH_TARGET
