// A mark: how far a tape is written, to be rewound to.
#pragma once

#include <cstddef>
#include <type_traits>

#include "handle.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// All that `rewind` must restore. Fields of two sizes alternate, and in the tape they lie apart, so that compilers copy
/// them one by one: a wide copy of counters that were just written one by one waits until all of them have reached the
/// cache, some 20 cycles at every sample.
template <class T, Config C> struct TapeMark {
  std::size_t codeSize = 0;
  NodeIndex lastName = 0;
  std::size_t bias = 0;
  NodeIndex tailCode = 0;
  std::size_t leadingLeaves = 0;
  NodeIndex wordCount = 0;

  /// With checks: whose mark it is, and the age of the last scalar below it, which changes if that is recorded again.
  struct Owner {
    const Tape<T, C>* tape = nullptr;
    NodeIndex epoch = 0;
  };
  struct NoOwner {};
  [[no_unique_address]] std::conditional_t<C.checks, Owner, NoOwner> owner = {};
};

}  // namespace burtorch::inline BURTORCH_TARGET
