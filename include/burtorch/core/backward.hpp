// backward: the gradients of everything that a root depends on.
//
// Leaves accumulate over calls, as in PyTorch; inner nodes hold the gradients of the last call. Any number of roots,
// any number of calls, in any order. All forms give the same bits. A gradient that is written through tape.gradients()
// stays where it is: at a leaf and at an inner node above the last root it is added to; `setGrad` at an inner node is
// cleared by the next call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <type_traits>

#include "list_mode.hpp"
#include "sweep.hpp"
#include "value.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Adds seed * d root / d leaf to the gradient of every leaf, and sets the gradients of inner nodes.
template <class T, Config C>
BURTORCH_INLINE void backward(const Value<T, C>& root, typename Sweep<T, C>::Seed seed = T{1}) {
  Tape<T, C>& tape = *currentTapeSlot<T, C>;
  if (root.isZero()) [[unlikely]]
    return Sweep<T, C>(tape).clearInner();  // nothing depends on a constant
  const NodeIndex node = tape.indexOf(root.handle());
  const auto position = tape.find(node);
  Sweep<T, C> sweep(tape);
  sweep.clearInner();
  sweep.seed(position, node, seed.value);
  sweep.run(position, seed.value);
  tape.setSwept(position);
}

namespace detail {
template <class T, Config C>
void backwardFrom(std::span<const Value<T, C>> roots, std::span<const T> seeds, bool hasSeeds) {
  Tape<T, C>& tape = *currentTapeSlot<T, C>;
  if (hasSeeds && seeds.size() != roots.size())
    fail("backward: expected a seed for each of %zu roots, got %zu", roots.size(), seeds.size());
  std::size_t end = 0;  // of the nodes up to the topmost root
  for (const auto& root : roots)
    if (!root.isZero()) end = std::max(end, std::size_t{tape.indexOf(root.handle())} + 1);
  Sweep<T, C> sweep(tape);
  sweep.clearInner();
  if (end == 0) return;  // nothing depends on constants
  for (std::size_t i = 0; i < roots.size(); ++i)
    if (!roots[i].isZero()) sweep.addSeed(roots[i].handle().index, hasSeeds ? seeds[i] : T{1});
  const auto position = tape.find(static_cast<NodeIndex>(end - 1));
  sweep.run(position, tape.gradients()[position.last], [&](auto visit) {
    for (const auto& root : roots)
      if (!root.isZero()) visit(root.handle().index);
  });
  tape.setSwept(position);
}
template <class X> struct IsTapeValue : std::false_type {};
template <class T, Config C> struct IsTapeValue<Value<T, C>> : std::true_type {};
}  // namespace detail

/// A list of Values in memory: vector, array, span.
template <class L>
concept ValueList = detail::IsTapeValue<std::remove_cvref_t<detail::ItemOf<L>>>::value;

/// Several roots in one sweep: the gradient of sum seed_i * root_i. Without seeds they are all 1.
template <ValueList L> void backward(const L& roots) {
  using V = detail::ItemOf<L>;
  detail::backwardFrom(std::span<const V>(std::data(roots), std::size(roots)),
                       std::span<const typename V::Scalar>(), false);
}
template <ValueList L, class S> void backward(const L& roots, const S& seeds) {
  using V = detail::ItemOf<L>;
  detail::backwardFrom(std::span<const V>(std::data(roots), std::size(roots)),
                       std::span<const typename V::Scalar>(std::data(seeds), std::size(seeds)), true);
}
template <class T, Config C> void backward(std::initializer_list<Value<T, C>> roots) {
  backward(std::span<const Value<T, C>>(roots.begin(), roots.size()));
}
template <class T, Config C>
void backward(std::initializer_list<Value<T, C>> roots,
              std::initializer_list<std::type_identity_t<T>> seeds) {
  backward(std::span<const Value<T, C>>(roots.begin(), roots.size()), seeds);
}

/// How many 64-bit words of scratch storage a sweep from `root` needs: a byte for every scalar up to it, and to
/// the end of its block if it is one of many results.
template <class T, Config C> std::size_t scratchWords(const Value<T, C>& root) {
  return root.isZero() ? 1 : currentTapeSlot<T, C>->find(root.index()).last / 8 + 1;
}

/// As `backward`, but visits only the nodes that the root depends on, which it marks in the caller's storage
/// (paper E.7). Pays when the root depends on a small part of what lies below it on the tape.
template <class T, Config C>
void backwardWithScratchStorage(const Value<T, C>& root, std::span<std::uint64_t> scratch,
                                typename Sweep<T, C>::Seed seed = T{1}) {
  Tape<T, C>& tape = *currentTapeSlot<T, C>;
  if (root.isZero()) return Sweep<T, C>(tape).clearInner();
  const NodeIndex node = tape.indexOf(root.handle());
  const std::size_t words = scratchWords(root);
  if (scratch.size() < words)
    fail(ErrorCode::outOfRoom,
         "backwardWithScratchStorage needs %zu words of scratch storage, it was given %zu", words,
         scratch.size());
  for (std::size_t i = 0; i < words; ++i) scratch[i] = 0;
  const auto position = tape.find(node);
  Sweep<T, C> sweep(tape);
  sweep.clearInner();
  sweep.seed(position, node, seed.value);
  sweep.runReached(position, node, seed.value, scratch.data());
  tape.setSwept(position);
}

/// Sets the gradients of a range, typically the parameters, to zero.
template <class T, Config C> void zeroGrad(const Range<T, C>& parameters) {
  // Without setGrad, which looks for the instruction of every element: zeros are nothing to clear later.
  if (parameters.stride() == 1) {
    for (T& g : parameters.gradients()) g = T{0};
  } else {
    const std::span<T> gradients = currentTape<T, C>().gradients();
    for (std::size_t i = 0; i < parameters.size(); ++i) gradients[parameters[i].index()] = T{0};
  }
}

/// The first node, in the order of recording, whose value or gradient is not finite; the tape's size if there is none.
template <class T, Config C> std::size_t firstNonFinite(const Tape<T, C>& tape) {
  for (std::size_t i = 0; i < tape.size(); ++i)
    if (!all(ScalarTraits<T>::isFinite(tape.values()[i]) && ScalarTraits<T>::isFinite(tape.gradients()[i])))
      return i;
  return tape.size();
}

}  // namespace burtorch::inline BURTORCH_TARGET
