// One graph at two points: recorded once, computed and swept at one set of parameters, then at another one. The second point saves
// what a recording costs, and finds the tape, its words and its numbers in the caches. Each point has the bits that it has alone.
//
// The graph may depend on no value, since it is that of the first point, and consists of layers alone: how handles of scalar
// operators are to be recomputed only graph/record.hpp knows.
#pragma once

#include "../core/backward.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Computes what a tape holds at the parameters to which it is bound now. False, and nothing changed, if it holds anything but layers.
template <class T, Config C> bool recompute(Tape<T, C>& tape) {
  const std::size_t count = tape.used().instructions;
  for (std::size_t k = 0; k < count; ++k)
    if (!tape.infoOf(tape.instruction(k).op()).isLayer()) return false;
  T* const values = tape.values().data();
  NodeIndex first = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const Instruction code = tape.instruction(k);
    tape.userOp(code.op())->compute(tape.frame(), values, code, first + code.b() - 1);
    first += code.b();
  }
  return true;
}

}  // namespace burtorch::inline BURTORCH_TARGET
