// Layers: operators of whole blocks of numbers, one instruction each. What a matrix product or an attention costs on
// the tape is a few words, and its results are still ordinary nodes.
//
// A layer is a struct like any operator. Its two rules get the numbers of its operands, which are blocks, and fill in
// or read its results:
//   struct Twice : LayerOp {
//     static constexpr std::string_view name = "twice";
//     template <class T> static void value(const Layer<T>& layer, T* results);
//     template <class T> static void vjp(const Layer<T>& layer);  // adds to the gradients of the operands
//   };
// Among the words lies [how many operands, where, count, where, count, ..., the layer's own words]. An operand's `where` is
// a node, or with its top bit set an offset into the parameters that the tape is bound to (Tape::bind).
#pragma once

#include <cstdint>
#include <span>

#include "current_tape.hpp"
#include "selection.hpp"

namespace burtorch::inline BURTORCH_TARGET {

struct LayerOp {
  static constexpr Arity arity = Arity::layer;
  /// Whether a slope may be infinite where the results are finite, as that of sqrt at 0.
  static constexpr bool hasPoles = false;
};

/// One layer on the tape, as its rules see it.
template <class T> struct Layer {
  Frame<T> frame;  // gradients only for the slope
  const Word* words;
  NodeIndex first;  // result

  NodeIndex operandCount() const { return words[0]; }
  NodeIndex operandSize(NodeIndex k) const { return words[2 + 2 * k]; }
  const T* operand(NodeIndex k) const {
    const OperandWord at(words[1 + 2 * k]);
    return (at.isParameter() ? frame.parameters->values : frame.values) + at.first();
  }
  /// Whether anybody wants the gradient of an operand.
  bool wants(NodeIndex k) const {
    const OperandWord operand(words[1 + 2 * k]);
    if (!operand.needsGradient()) return false;
    return frame.selection == nullptr || frame.selection->wants(operand, words[2 + 2 * k]);
  }
  T* operandGradient(NodeIndex k) const {
    const OperandWord at(words[1 + 2 * k]);
    return (at.isParameter() ? frame.parameters->gradients : frame.gradients) + at.first();
  }
  const T* results() const { return frame.values + first; }
  T* resultGradients() const { return frame.gradients + first; }
  const Word* own() const { return words + 1 + 2 * words[0]; }

  /// Whether the gradients of operand `k`, parameter block `id`, are zero and not written yet: then the slope stores them.
  /// Asked once for every use.
  bool isFirstWrite(NodeIndex k, NodeIndex id) const {
    if (!OperandWord(words[1 + 2 * k]).isParameter()) return false;
    std::uint64_t* bits = frame.parameters->unwritten;
    if (bits == nullptr || id / 64 >= frame.parameters->unwrittenWords)
      return false;  // noId, or another layout's block
    const std::uint64_t bit = std::uint64_t{1} << (id % 64);
    const bool isFirst = (bits[id / 64] & bit) != 0;
    bits[id / 64] &= ~bit;
    return isFirst;
  }
  static constexpr NodeIndex noId = static_cast<NodeIndex>(maxIndex);
};

/// Where everybody calls the rules of a layer. Not inline: burtorch::compiled holds those of the library's own layers.
template <class Op, class T> void layerValue(const Layer<T>& layer, T* results) { Op::value(layer, results); }
template <class Op, class T> void layerVjp(const Layer<T>& layer) { Op::vjp(layer); }

}  // namespace burtorch::inline BURTORCH_TARGET
