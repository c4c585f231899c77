// Which gradients somebody wants: leaves and parameters named one by one, and everything between them and the root. Layers
// ask it what to leave out (Layer::wants).
#pragma once

#include <span>

#include "../ops/instruction.hpp"
#include "analysis.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// `wanted` are leaves and ranges of parameters; `varied` marks the nodes that depend on any of them.
struct Selection {
  std::span<const Block> wanted;
  Marks<std::uint8_t> varied;

  /// Whether the gradient of an operand leads to something wanted.
  bool wants(OperandWord operand, NodeIndex count) const {
    if (!operand.isParameter()) return varied.hasAny(operand.first(), count, 1);
    for (const Block& block : wanted)
      if (block.isParameter && block.first < operand.first() + count &&
          operand.first() < block.first + block.count)
        return true;
    return false;
  }
};

}  // namespace burtorch::inline BURTORCH_TARGET
