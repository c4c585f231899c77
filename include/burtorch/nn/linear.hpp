// The linear layer, y = W x + b for every column. W is [outputs][inputs], as PyTorch stores it. Its input may be a list of
// matrices that are read one below the other without being copied: the heads of an attention.
#pragma once

#include <span>

#include "matrix.hpp"
#include "parameter_layout.hpp"
#include "product.hpp"
#include "row_sums.hpp"
#include "vector_product.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace ops {

/// Operands: W, b (if it has one), then the inputs. Own words: outputs, inputs, columns, has b, ids of W and b.
struct LinearLayer : LayerOp {
  static constexpr std::string_view name = "linear", formula = "W x + b";

  struct Shape {
    std::size_t outputs, inputs, columns;
    std::uint32_t firstInput;  // operand
    std::uint32_t weightId, biasId;
    template <class T>
    explicit Shape(const Layer<T>& layer)
        : outputs(layer.own()[0]),
          inputs(layer.own()[1]),
          columns(layer.own()[2]),
          firstInput(1 + layer.own()[3]),
          weightId(layer.own()[4]),
          biasId(layer.own()[5]) {}
  };

  template <class T> static void value(const Layer<T>& layer, T* y) {
    const Shape shape(layer);
    const T* bias = shape.firstInput == 2 ? layer.operand(1) : nullptr;
    std::size_t offset = 0;
    for (std::uint32_t k = shape.firstInput; k < layer.operandCount(); ++k) {
      const std::size_t inputs = layer.operandSize(k) / shape.columns;
      const T* w = layer.operand(0) + offset;
      if (shape.columns == 1)
        nn::vectorProduct<T>({w, shape.inputs}, layer.operand(k), bias, y, shape.outputs, inputs, offset > 0);
      else
        nn::Product<T>{w,
                       shape.inputs,
                       1,
                       {layer.operand(k), shape.columns},
                       {y, shape.columns},
                       shape.outputs,
                       inputs,
                       shape.columns,
                       bias,
                       offset > 0}
            .run();
      offset += inputs;
    }
  }

  template <class T> static void vjp(const Layer<T>& layer) {
    const Shape shape(layer);
    const T* gy = layer.resultGradients();
    const bool wantsWeight = layer.wants(0), isAdded = wantsWeight && !layer.isFirstWrite(0, shape.weightId);
    vjpOfBias(shape, layer);
    std::size_t offset = 0;
    for (std::uint32_t k = shape.firstInput; k < layer.operandCount(); ++k) {
      const std::size_t inputs = layer.operandSize(k) / shape.columns;
      const T* w = layer.operand(0) + offset;
      T* gw = layer.operandGradient(0) + offset;
      const T* x = layer.operand(k);
      T* gx = layer.wants(k) ? layer.operandGradient(k) : nullptr;
      if (shape.columns == 1) {
        const auto pass = [&](T* toX, T* toW) {
          nn::vectorProductVjp<T>({w, shape.inputs}, x, gy, toX, {toW, shape.inputs}, shape.outputs, inputs,
                                  isAdded);
        };
        if (gx != nullptr && wantsWeight && overlap(layer, 0, k)) {
          pass(gx, nullptr);  // one after the other: a matrix times one of its own rows
          pass(nullptr, gw);
        } else {
          pass(gx, wantsWeight ? gw : nullptr);
        }
        offset += inputs;
        continue;
      }
      if (wantsWeight) vjpOfWeight(shape, layer, gw, x, inputs, isAdded);
      if (gx != nullptr)
        nn::Product<T>{.w = w,
                       .outputStride = 1,
                       .inputStride = shape.inputs,
                       .x = {gy, shape.columns},
                       .y = {gx, shape.columns},
                       .outputs = inputs,
                       .inputs = shape.outputs,
                       .columns = shape.columns,
                       .isAdded = true}
            .run();
      offset += inputs;
    }
  }

 private:
  template <class T> static void vjpOfBias(const Shape& shape, const Layer<T>& layer) {
    if (shape.firstInput != 2 || !layer.wants(1)) return;
    const T* gy = layer.resultGradients();
    const bool isAdded = !layer.isFirstWrite(1, shape.biasId);
    T* gb = layer.operandGradient(1);
    if (shape.columns == 1)
      for (std::size_t o = 0; o < shape.outputs; ++o) gb[o] = isAdded ? gb[o] + gy[o] : gy[o];
    else
      nn::rowSums<T>(gb, shape.outputs, shape.columns, isAdded,
                     [gy, columns = shape.columns](std::size_t r, std::size_t c, std::size_t n)
                         BURTORCH_INLINE_LAMBDA { return nn::loadUpTo(gy + r * columns + c, n); });
  }
  template <class T>
  static void vjpOfWeight(const Shape& shape, const Layer<T>& layer, T* gw, const T* x, std::size_t inputs,
                          bool isAdded) {
    nn::OuterProduct<T>{{gw, shape.inputs},
                        {layer.resultGradients(), shape.columns},
                        {x, shape.columns},
                        shape.outputs,
                        inputs,
                        shape.columns,
                        isAdded}
        .run();
  }
  /// Whether two operands have numbers in common.
  template <class T> static bool overlap(const Layer<T>& layer, std::uint32_t i, std::uint32_t j) {
    const T *x = layer.operand(i), *y = layer.operand(j);
    return offsetWithin(x, layer.operandSize(i) * sizeof(T), y) != notWithin ||
           offsetWithin(y, layer.operandSize(j) * sizeof(T), x) != notWithin;
  }
};

}  // namespace ops

/// A linear layer; without a bias if `bias` is left out.
struct Linear {
  Parameter weight, bias;

  Linear(ParameterLayout& layout, const std::string& name, std::size_t inputs, std::size_t outputs,
         bool hasBias = true, ParameterRole role = ParameterRole::weight)
      : weight(layout.add(name + ".weight", role, outputs, inputs, FirstNumbers::likeLinear(inputs))) {
    if (hasBias)
      bias = layout.add(name + ".bias", ParameterRole::bias, outputs, 1, FirstNumbers::likeLinear(inputs));
  }
  Linear(const Parameter& w, const Parameter& b = {}) : weight(w), bias(b) {}

  template <class T, Config C> Matrix<T, C> operator()(const Matrix<T, C>& x) const {
    Block operands[3];
    return record(std::span<const Matrix<T, C>>(&x, 1), operands);
  }
  /// The inputs are read as if they stood one below the other.
  template <class T, Config C> Matrix<T, C> operator()(std::span<const Matrix<T, C>> inputs) const {
    constexpr std::size_t most = 64;
    if (inputs.empty() || inputs.size() > most)
      fail("Linear: expected 1 to %zu inputs, got %zu", most, inputs.size());
    Block operands[most + 2];
    return record(inputs, operands);
  }

 private:
  /// `operands` has room for the inputs, the weights and the bias.
  template <class T, Config C>
  Matrix<T, C> record(std::span<const Matrix<T, C>> inputs, Block* operands) const {
    operands[0] = weight.block();
    std::size_t count = 1, rows = 0;
    if (bias.isPresent()) operands[count++] = bias.block();
    const std::size_t columns = inputs[0].columns();
    for (const auto& x : inputs) {
      if (x.columns() != columns)
        fail("Linear: its inputs have %zu and %zu columns, expected the same", columns, x.columns());
      operands[count++] = x.block();
      rows += x.rows();
    }
    if (rows != weight.columns) fail("Linear: expected %u input rows, got %zu", weight.columns, rows);
    const Word own[] = {weight.rows, weight.columns, static_cast<Word>(columns), bias.isPresent() ? 1u : 0u,
                        weight.id,   bias.id};
    return {recordLayer<ops::LinearLayer, T, C>({operands, count}, own, weight.rows * columns), weight.rows,
            columns};
  }
};

BURTORCH_LAYER_ONCE(ops::LinearLayer)

}  // namespace burtorch::inline BURTORCH_TARGET
