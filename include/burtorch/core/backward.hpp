// backward: the gradients of everything that a root depends on.
//
// Leaves accumulate over calls, as in PyTorch; inner nodes hold the gradients of the last call. Any number of roots,
// any number of calls, in any order. All forms give the same bits.
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
  const auto position = tape.find(node);
  Sweep<T, C> sweep(tape);
  sweep.clearInner();
  sweep.seed(position, node, seed);
  sweep.run(position, seed);
  tape.setSwept(position);
}

/// Several roots in one sweep: the gradient of sum seed_i * root_i. Without seeds they are all 1.
template <class T, Config C>
void backward(std::span<const Value<T, C>> roots, std::span<const T> seeds = {}) {
  Tape<T, C>& tape = *currentTapeSlot<T, C>;
  if (roots.empty()) return;
  if (!seeds.empty() && seeds.size() != roots.size())
    fail("backward from %zu roots with %zu seeds", roots.size(), seeds.size());
  Index top = 0;
  for (const auto& root : roots) {
    const Index node = tape.indexOf(root.handle());
    if (node > top) top = node;
  }
  Sweep<T, C> sweep(tape);
  sweep.clearInner();
  for (std::size_t i = 0; i < roots.size(); ++i)
    sweep.addSeed(tape.indexOf(roots[i].handle()), seeds.empty() ? T{1} : seeds[i]);
  const auto position = tape.find(top);
  sweep.run(position, tape.gradients()[position.last], [&](auto visit) {
    for (const auto& root : roots) visit(tape.indexOf(root.handle()));
  });
  tape.setSwept(position);
}

/// How many 64-bit words of scratch storage a sweep from `root` needs: a bit for every scalar up to it.
template <class T, Config C> std::size_t scratchWords(const Value<T, C>& root) {
  return root.sysGetRawNodeIndex() / 64 + 1;
}

/// As `backward`, but visits only the nodes that the root depends on, which it marks in the caller's storage
/// (paper E.7). Pays when the root depends on a small part of what lies below it on the tape.
template <class T, Config C>
void backwardWithScratchStorage(const Value<T, C>& root, std::span<std::uint64_t> scratch,
                                std::type_identity_t<T> seed = T{1}) {
  Tape<T, C>& tape = *currentTapeSlot<T, C>;
  const Index node = tape.indexOf(root.handle());
  const std::size_t words = scratchWords(root);
  if (scratch.size() < words)
    fail("backwardWithScratchStorage needs %zu words of scratch storage, it was given %zu", words,
         scratch.size());
  for (std::size_t i = 0; i < words; ++i) scratch[i] = 0;
  const auto position = tape.find(node);
  const auto setReached = [&](Index reached) { scratch[reached / 64] |= std::uint64_t{1} << (reached % 64); };
  Sweep<T, C> sweep(tape);
  sweep.clearInner();
  sweep.addSeed(node, seed);
  setReached(node);
  sweep.runReached(
      position, position.instruction,
      [&](Index reached) { return ((scratch[reached / 64] >> (reached % 64)) & 1) != 0; }, setReached);
  tape.setSwept(position);
}

/// Sets the gradients of a range, typically the parameters, to zero.
template <class T, Config C> void zeroGrad(const Range<T, C>& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) parameters[i].setGrad(T{0});
}

/// The first node, in the order of recording, whose value or gradient is not finite; the tape's size if there is none.
template <class T, Config C> std::size_t firstNonFinite(const Tape<T, C>& tape) {
  for (std::size_t i = 0; i < tape.size(); ++i)
    if (!ScalarTraits<T>::isFinite(tape.values()[i]) || !ScalarTraits<T>::isFinite(tape.gradients()[i]))
      return i;
  return tape.size();
}

}  // namespace burtorch
