// Parameters as single numbers: a block copied to the tape, where each of its elements is a Value. Layers read parameters
// where they lie; this is for everything else that uses one, `nodes<float>(layer.weight)(0, 3) * x`.
#pragma once

#include "matrix.hpp"
#include "parameter_layout.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace ops {

/// Operand: the block. Own word: its id.
struct ParameterNodes : LayerOp {
  static constexpr std::string_view name = "parameter", formula = "x";

  template <class T> static void value(const Layer<T>& layer, T* y) {
    const T* x = layer.operand(0);
    for (std::uint32_t i = 0; i < layer.operandSize(0); ++i) y[i] = x[i];
  }
  template <class T> static void vjp(const Layer<T>& layer) {
    if (!layer.wants(0)) return;
    const bool isFirst = layer.isFirstWrite(0, layer.own()[0]);
    const T* g = layer.resultGradients();
    T* gx = layer.operandGradient(0);
    for (std::uint32_t i = 0; i < layer.operandSize(0); ++i) gx[i] = isFirst ? g[i] : gx[i] + g[i];
  }
};

}  // namespace ops

/// The block as nodes of the current tape, which must be bound to a store.
template <class T, Config C = defaultConfig> Matrix<T, C> nodes(const Parameter& block) {
  const Block operands[] = {block.block()};
  const Word own[] = {block.id};
  return {recordLayer<ops::ParameterNodes, T, C>(operands, own, block.size()), block.rows, block.columns};
}

/// Copies all parameters to an empty tape as leaves, a block at a time, and binds it to them. Then they are ordinary
/// leaves: for pictures, replays and second derivatives.
template <class T, Config C>
Range<T, C> bindToLeaves(Tape<T, C>& tape, const ParameterLayout& layout, std::span<const T> values) {
  if (tape.size() != 0) fail("bindToLeaves: expected an empty tape, got one of %zu nodes", tape.size());
  if (values.size() != layout.size())
    fail("bindToLeaves: expected %zu values, got %zu", layout.size(), values.size());
  for (const Parameter& block : layout.blocks()) tape.leaves(values.subspan(block.first, block.size()));
  const CurrentTape here(tape);
  const Range<T, C> all(tape.handleOf(0), layout.size());
  tape.bind(all);
  return all;
}

BURTORCH_LAYER_ONCE(ops::ParameterNodes)

}  // namespace burtorch::inline BURTORCH_TARGET
