// One instruction of a randomised sweep: what is left out passes nothing on, and what only it leads to is not visited.
#pragma once

#include "../ops/some_terms.hpp"
#include "op_dispatch.hpp"
#include "sweep_options.hpp"

namespace burtorch::inline BURTORCH_TARGET::detail {

/// Passes on what `keep` keeps of an instruction that writes `first` to `last`. `pull` passes all of it on;
/// `mark(first, count, stride)` hears where something has arrived.
template <class T, class Pull, class Mark>
void passSome(const KeepEdges& keep, const Frame<T>& frame, Instruction code, OpShape info, NodeIndex first,
              NodeIndex last, Pull pull, Mark mark) {
  const auto passAll = [&] {
    forEachReachedRange(code, info, frame.words, frame.values, mark);
    pull();
  };
  Rng rng(Rng(keep.seed, keep.step).next(), last);
  if (keep.what == KeptParts::terms) {
    if (info.arity != Arity::pair || code.op() >= firstUserOpcode) return passAll();
    return passSomeTerms(frame.values, frame.gradients, frame.words + code.a(), info.hasBias, code.b(),
                         frame.gradients[last], keep.probability, rng, mark);
  }
  if (code.op() == OpList::indexOf<ops::Relu>()) return passAll();
  const auto isKept = [&] { return rng.uniform<double>() < keep.probability; };
  const T scale(static_cast<PlainOf<T>>(1 / keep.probability));
  if (!info.isScalar() || keep.what == KeptParts::nodes) {
    bool isAny = false;
    for (NodeIndex node = first; node <= last; ++node) {
      const bool isOne = isKept();
      T& g = frame.gradients[node];
      ReachedLanes<T>::of(g).set(g, isOne ? g * scale : T{0});
      isAny = isAny || isOne;
    }
    return isAny ? passAll() : void();
  }
  // The share of every operand is taken apart: what arrives at a zero is that share.
  struct Operand {
    NodeIndex node;
    T before;
  } operands[3];
  std::size_t count = 0;
  forEachReachedRange(code, info, frame.words, frame.values, [&](NodeIndex node, NodeIndex, std::int32_t) {
    for (std::size_t i = 0; i < count; ++i)
      if (operands[i].node == node) return;
    operands[count++] = {node, frame.gradients[node]};
    frame.gradients[node] = -T{0};  // changes no sum
  });
  pull();
  for (std::size_t i = 0; i < count; ++i) {
    const auto [node, before] = operands[i];
    const bool isOne = isKept();
    frame.gradients[node] = isOne ? before + frame.gradients[node] * scale : before;
    if (isOne) mark(node, NodeIndex{1}, 1);
  }
}

}  // namespace burtorch::inline BURTORCH_TARGET::detail
