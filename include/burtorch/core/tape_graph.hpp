// The instructions of a tape in the order of recording, with their results and the parameters that they read: what the passes
// before a guided sweep walk over (guided_sweep.hpp).
#pragma once

#include "tape.hpp"

namespace burtorch::inline BURTORCH_TARGET::detail {

/// The instructions of a tape up to a root, for the analysis.
template <class T, Config C> class TapeGraph {
 public:
  TapeGraph(const Tape<T, C>& tape, std::size_t instructions) : tape_(tape), count_(instructions) {}

  /// Calls `visit(k, instruction, info, first, count)` in order.
  template <class Visit> void forEach(Visit visit) const {
    NodeIndex first = 0;
    for (std::size_t k = 0; k < count_; ++k) {
      const Instruction code = tape_.code()[k];
      const OpShape info = tape_.shapeOf(code.op());
      const NodeIndex count = info.writesMany() ? code.b() : 1;
      visit(k, code, info, first, count);
      first += count;
    }
  }
  /// Calls `visit(operand, count)` for every parameter range that an instruction reads.
  template <class Visit>
  static void forEachParameter(Instruction code, OpShape info, const Word* words, Visit visit) {
    if (!info.isLayer()) return;
    const Word* at = words + code.a();
    for (const Word* block = at + 1; block < at + 1 + 2 * at[0]; block += 2)
      if (const OperandWord operand(block[0]); operand.isParameter()) visit(operand, block[1]);
  }

 private:
  const Tape<T, C>& tape_;
  std::size_t count_;
};

}  // namespace burtorch::inline BURTORCH_TARGET::detail
