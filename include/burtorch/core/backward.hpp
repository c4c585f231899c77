// backward: the gradients of everything that a root depends on.
//
// Leaves accumulate over calls, as in PyTorch; inner nodes hold the gradients of the last call. Any number of roots,
// any number of calls, in any order.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "value.hpp"

namespace burtorch {

/// Adds seed * d root / d leaf to the gradient of every leaf, and sets the gradients of inner nodes.
template <class T, Config C>
BURTORCH_INLINE void backward(const Value<T, C>& root, std::type_identity_t<T> seed = T{1}) {
  Tape<T, C>& tape = *currentTapeSlot<T, C>;
  const Index node = tape.indexOf(root.handle());
  Sweep<T, C> sweep(tape);
  sweep.clearInner();
  const auto position = tape.find(node);
  sweep.run(position, sweep.seed(node, seed));
  tape.setSwept(position);
}

namespace detail {

/// Gathers the roots' indices, puts the seeds in place and calls `sweep(top root, its gradient, indices)`.
template <class T, Config C, class Run>
void seedAll(std::span<const Value<T, C>> roots, std::span<const T> seeds, std::span<Index> indices, Run run);

}  // namespace detail

}  // namespace burtorch
