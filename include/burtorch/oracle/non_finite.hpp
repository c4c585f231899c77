// Where a loss that is not finite comes from, in words: the first number, in the order of recording, that is not.
#pragma once

#include <span>
#include <string>

#include "../core/tape.hpp"
#include "../nn/parameter_store.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// A sentence about the first parameter that is not finite; empty if all are.
template <class T>
std::string describeFirstNonFinite(const ParameterLayout& layout, const ParameterStore<T>& parameters) {
  for (const Parameter& block : layout.blocks())
    for (std::size_t i = 0; i < block.size(); ++i)
      if (!ScalarTraits<T>::isFinite(parameters.values(block)[i]))
        return "number " + std::to_string(i) + " of parameter " + layout.name(block) + " is not finite";
  return {};
}
/// The same of numbers of a tape's nodes; `what` they are.
template <class T, Config C>
std::string describeFirstNonFinite(const Tape<T, C>& tape, std::span<const T> numbers, const char* what) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    if (!ScalarTraits<T>::isFinite(numbers[i]))
      return std::string("the ") + what + " of node " + std::to_string(i) + ", of a " +
             std::string(tape.opOf(static_cast<NodeIndex>(i)).name) + ", is the first that is not finite";
  return {};
}

}  // namespace burtorch::inline BURTORCH_TARGET
