// How a client computes: gradients that end early on request, of oracles that can and of those that cannot, and the memory for
// them, which is nobody's between two answers, so clients that work one after the other share it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "../oracle/finite_sum.hpp"
#include "message.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Memory of a client at work: a gradient, and one more where differences need it.
template <class T> struct RoundScratch {
  std::vector<T> gradient, second;

  std::span<T> first(std::size_t d) {
    gradient.resize(d);
    return gradient;
  }
  std::span<T> other(std::size_t d) {
    second.resize(d);
    return second;
  }
};

/// Writes the gradient and its value and returns true, or returns false if `stop` said so. An oracle with knobs polls it during
/// the sweep and leaves out what is not wanted; any other one is asked only if `stop` says no before, and computes everything.
template <FiniteSum F>
bool roundGradient(F& f, std::span<const typename F::Scalar> x, Batch batch,
                   std::span<typename F::Scalar> into, const Wanted& wanted, FunctionRef<bool()> stop,
                   double& value) {
  if (stop && stop()) return false;
  if constexpr (GuidedSum<F>)
    if (stop || !wanted.isAll()) {
      GradientOptions<typename F::Scalar> options;
      options.stop = stop;
      options.wanted = wanted;
      const GradientResult result = f.gradient(x, batch, into, options);
      value = result.value;
      return static_cast<bool>(result);
    }
  value = f.gradient(x, batch, into);
  return true;
}

/// The coordinates that a message will hold, drawn before there is a gradient, as blocks in the caller's memory; everything if
/// they depend on values.
inline Wanted wantedOf(const MessageHeader& header, CoordinateSet& set, std::vector<Block>& blocks) {
  const bool isDrawn = header.kind == MessageKind::subset || header.kind == MessageKind::run ||
                       header.kind == MessageKind::part;
  if (!isDrawn) return {};
  detail::drawSet(header, set);
  set.blocks(blocks);
  return std::span<const Block>(blocks);
}

}  // namespace burtorch::inline BURTORCH_TARGET
