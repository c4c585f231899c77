// Replay: a recorded tape computed anew with other numbers, without recording it again.
//
// Set the leaves (`setData`, or through a Range's `values()`), call `replay(root)`, then `backward(root)` as usual. The
// structure is as it was recorded: a function that would branch another way with the new numbers is not noticed here.
// `record` (record.hpp) keeps the function, and checks in debug builds.
#pragma once

#include "../core/backward.hpp"

namespace burtorch {

/// Computes instructions [0, count) of a tape on numbers of type E, which may be packs of the tape's.
template <class E, class T, Config C>
void computeInstructions(const Tape<T, C>& tape, std::size_t count, E* values) {
  const Instruction* code = tape.code();
  const Index* words = tape.words();
  Index last = static_cast<Index>(-1);
  for (std::size_t k = 0; k < count; ++k) {
    const Instruction here = code[k];
    const auto visit = [&]<class Op>() __attribute__((always_inline)) {
      last += infoOf<Op>().writesMany() ? here.b() : 1;
      if constexpr (Op::arity != Arity::leaf) compute<Op, E>(values, words, here, last);
    };
    if (!OpList::visitAt(here.op(), visit)) {
      last += tape.infoOf(here.op()).writesMany() ? here.b() : 1;
      if constexpr (std::is_same_v<E, T>) tape.userOp(here.op())->compute(values, words, here, last);
    }
  }
}

/// Computes every number up to `root` anew from the present numbers of the leaves.
template <class T, Config C> void replay(const Value<T, C>& root) {
  Tape<T, C>& tape = *currentTapeSlot<T, C>;
  const auto position = tape.find(tape.indexOf(root.handle()));
  computeInstructions(tape, position.instruction + 1, tape.values().data());
}

}  // namespace burtorch
