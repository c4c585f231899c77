// How nodes are named, and the few types that the tape, the sweep and the user's handles share.
#pragma once

#include "config.hpp"
#include "instruction.hpp"

namespace burtorch {

template <class T, Config C = defaultConfig> class Tape;
template <class T, Config C = defaultConfig> class Value;
template <class T, Config C = defaultConfig> class Range;

/// Names a node. With checks it also knows its tape and its age, so that a stale or foreign one is caught.
template <Config C> struct Handle { Index index = static_cast<Index>(maxIndex); };
template <Config C>
requires(C.checks) struct Handle<C> {
  Index index = static_cast<Index>(maxIndex);
  Index epoch = 0;
  const void* tape = nullptr;
};

/// What the sweep needs of a tape.
template <class T> struct Frame {
  const T* values;
  T* gradients;
  const Index* words;
  std::uint64_t* fresh = nullptr;  // see Tape::setFresh
};

/// An operator of the user's, as a tape knows it.
template <class T> struct UserOp {
  OpInfo info;
  bool (*pull)(Frame<T>, Instruction, Index node, bool isReached);
  void (*compute)(T* values, const Index* words, Instruction, Index node);
};

}  // namespace burtorch
