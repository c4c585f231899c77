// The way back of a recorded graph with choices (select). What a choice does not choose passes nothing on, not even the NaN of a
// pole, and which side that is changes from replay to replay. So this sweep marks what is reached as it goes, as
// backwardWithScratchStorage does; graphs without choices are planned once instead (replay_code.hpp).
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../core/analysis.hpp"
#include "../core/op_dispatch.hpp"

namespace burtorch::inline BURTORCH_TARGET::graph {

template <class T> class ReachedSweep {
 public:
  /// Instructions are added from the root down; `last` is the last number that one writes.
  template <Config C> void add(const Tape<T, C>& tape, Instruction code, NodeIndex last) {
    const OpInfo& info = tape.infoOf(code.op());
    Pull at{code, last, info.writesMany() ? code.b() : 1, &info, nullptr};
    if (!OpList::visitAt(code.op(), [&]<class Op>() { at.pull = &burtorch::pull<Op, T>; }))
      at.pull = tape.userOp(code.op())->pull;
    pulls_.push_back(at);
    forEachOperandRange(code, info, tape.words(), [&](NodeIndex first, NodeIndex n, std::int32_t stride) {
      for (std::int64_t i = 0; i < n; ++i) touched_.push_back(static_cast<NodeIndex>(first + i * stride));
    });
    for (NodeIndex i = 0; i < at.count; ++i) touched_.push_back(last - i);
    reached_.resize(tape.size());
  }
  void finish() {
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
  }

  /// The gradients of `root`, to all that were added.
  void run(T* values, T* gradients, const Word* words, NodeIndex root) {
    for (const NodeIndex node : touched_) gradients[node] = T{0};
    std::fill(reached_.begin(), reached_.end(), std::uint8_t{0});
    const Marks marks(reached_.data());
    marks.set(root);
    gradients[root] = T{1};
    for (const Pull& at : pulls_) {
      if (!marks.hasAny(at.last + 1 - at.count, at.count, 1)) continue;
      at.pull({values, gradients, words}, at.code, at.last, Reached::all);
      forEachReachedRange(
          at.code, *at.info, words, values,
          [&](NodeIndex first, NodeIndex n, std::int32_t stride) { marks.set(first, n, stride); });
    }
  }

 private:
  struct Pull {
    Instruction code;
    NodeIndex last, count;
    const OpInfo* info;
    bool (*pull)(Frame<T>, Instruction, NodeIndex, Reached);
  };

  std::vector<Pull> pulls_;
  std::vector<NodeIndex> touched_;
  std::vector<std::uint8_t> reached_;
};

}  // namespace burtorch::inline BURTORCH_TARGET::graph
