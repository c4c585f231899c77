// How nodes are named, and the few types that the tape, the sweep and the user's handles share.
#pragma once

#include "../base/config.hpp"
#include "../ops/instruction.hpp"

namespace burtorch::inline BURTORCH_TARGET {

template <class T, Config C = defaultConfig> class Tape;
template <class T, Config C = defaultConfig> class Value;
template <class T, Config C = defaultConfig> class Range;

/// Names a node. With checks it also knows its tape and its age, so that a stale or foreign one is caught.
template <Config C> struct Handle { NodeIndex index = static_cast<NodeIndex>(maxIndex); };
template <Config C>
requires(C.checks) struct Handle<C> {
  NodeIndex index = static_cast<NodeIndex>(maxIndex);
  NodeIndex epoch = 0;
  const void* tape = nullptr;
};

/// Parameters that lie outside the tape: layers read the values where they are and add to the gradients. Any number of
/// tapes may be bound to the same values, each with gradients of its own.
template <class T> struct Binding {
  const T* values = nullptr;
  T* gradients = nullptr;
  std::size_t size = 0;
  /// A bit for each parameter block whose gradients are zero but not written yet: the first layer that reaches the block
  /// stores instead of adding, and clears the bit. nullptr: all are written.
  std::uint64_t* unwritten = nullptr;
  std::size_t unwrittenWords = 0;
  /// Where each block ends, if blocks are known.
  const Word* blockEnds = nullptr;
  std::size_t blockCount = 0;
  /// A checksum of the block ends, 0 if they are not known. When a tape is bound again, the old ends may be gone.
  std::uint64_t bordersSum = 0;

  /// Layers remember the numbers of their blocks, so these must mean the same.
  bool hasShapeOf(const Binding& other) const {
    return size == other.size && (bordersSum == other.bordersSum || bordersSum == 0 || other.bordersSum == 0);
  }
};

struct Selection;  // selection.hpp

/// What the sweep needs of a tape.
template <class T> struct Frame {
  const T* values;
  T* gradients;
  const Word* words;
  const Binding<T>* parameters = nullptr;
  const Selection* selection = nullptr;  // nullptr: all gradients are wanted
};

template <class T> struct UserOp;  // op_dispatch.hpp

}  // namespace burtorch::inline BURTORCH_TARGET
