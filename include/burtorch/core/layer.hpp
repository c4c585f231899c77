// Layers: operators of whole blocks of numbers, one instruction each. What a matrix product or an attention costs on
// the tape is a few words, and its results are still ordinary nodes.
//
// A layer is a struct like any operator. Its two rules get the numbers of its operands, which are blocks, and fill in
// or read its results:
//   struct Twice : LayerOp {
//     static constexpr std::string_view name = "twice";
//     template <class T> static void value(const Layer<T>& layer, T* results);
//     template <class T> static void slope(const Layer<T>& layer);  // adds to the gradients of the operands
//   };
// Among the words lies [how many operands, first, count, first, count, ..., the layer's own words].
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

#include "current_tape.hpp"

namespace burtorch {

struct LayerOp {
  static constexpr Arity arity = Arity::layer;
  /// Whether a slope may be infinite where the results are finite, as that of sqrt at 0.
  static constexpr bool hasPoles = false;
};

/// Nodes side by side.
struct Block {
  Index first = 0, count = 0;
};

/// One layer on the tape, as its rules see it.
template <class T> struct Layer {
  const T* values;
  T* gradients;  // only for the slope
  const Index* words;
  Index first;  // result
  std::uint64_t* fresh = nullptr;

  const T* operand(Index k) const { return values + words[1 + 2 * k]; }
  T* operandGradient(Index k) const { return gradients + words[1 + 2 * k]; }
  Index operandSize(Index k) const { return words[2 + 2 * k]; }
  Index operandCount() const { return words[0]; }
  const T* results() const { return values + first; }
  T* resultGradients() const { return gradients + first; }
  const Index* own() const { return words + 1 + 2 * words[0]; }

  /// Whether the gradients of parameter block `id` are to be stored, not added to. Asked once for every use.
  bool takeFresh(Index id) const {
    if (fresh == nullptr || id == noId) return false;
    const std::uint64_t bit = std::uint64_t{1} << (id % 64);
    const bool isFresh = (fresh[id / 64] & bit) != 0;
    fresh[id / 64] &= ~bit;
    return isFresh;
  }
  static constexpr Index noId = static_cast<Index>(maxIndex);
};

}  // namespace burtorch
