// The inputs of a function that takes std::span<const X> of any number type X, as leaves on a tape of their own.
#pragma once

#include <cstddef>
#include <span>

#include "../core/backward.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {

/// While it lives, operators of this thread record on its tape.
template <class T, Config C> class FunctionInputs {
 public:
  explicit FunctionInputs(std::size_t count) : here_(tape_), leaves_(tape_.leaves(count)) {
    handles_.allocate(count);
    for (std::size_t i = 0; i < count; ++i) handles_.data()[i] = leaves_[i];
  }

  std::span<T> values() const { return leaves_.values(); }
  std::span<T> gradients() const { return leaves_.gradients(); }
  /// What the function is called with.
  std::span<const Value<T, C>> handles() const { return {handles_.data(), leaves_.size()}; }

 private:
  Tape<T, C> tape_;
  CurrentTape<T, C> here_;
  Range<T, C> leaves_;
  Buffer<Value<T, C>> handles_;
};

}  // namespace detail

}  // namespace burtorch::inline BURTORCH_TARGET
