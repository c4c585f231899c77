// Products and transposes of matrices of nodes, and the mean squared error of two: what a network of one's own needs beside
// the layers.
#pragma once

#include "../core/reduce.hpp"
#include "../simd/transpose.hpp"
#include "elementwise.hpp"
#include "linear.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace ops {

/// Operand: x. Own words: its rows and columns.
struct TransposeLayer : LayerOp {
  static constexpr std::string_view name = "transpose", formula = "x'";

  template <class T> static void value(const Layer<T>& layer, T* y) {
    turn(layer.operand(0), layer.own()[0], layer.own()[1], [&](std::size_t to, const T& x) { y[to] = x; });
  }
  template <class T> static void vjp(const Layer<T>& layer) {
    if (!layer.wants(0)) return;
    T* gx = layer.operandGradient(0);
    turn(layer.resultGradients(), layer.own()[1], layer.own()[0],
         [&](std::size_t to, const T& g) { gx[to] = gx[to] + g; });
  }

 private:
  /// Calls `visit(where (j, i) lies in the transpose, element (i, j))`, in squares: a cache holds both sides of one.
  template <class T, class Visit>
  static void turn(const T* x, std::size_t rows, std::size_t columns, Visit visit) {
    constexpr std::size_t side = 16;
    for (std::size_t r = 0; r < rows; r += side)
      for (std::size_t c = 0; c < columns; c += side)
        for (std::size_t i = r; i < rows && i < r + side; ++i)
          for (std::size_t j = c; j < columns && j < c + side; ++j) visit(j * rows + i, x[i * columns + j]);
  }
};

}  // namespace ops

template <class T, Config C> Matrix<T, C> transpose(const Matrix<T, C>& x) {
  const Block operands[] = {x.block()};
  const Word own[] = {static_cast<Word>(x.rows()), static_cast<Word>(x.columns())};
  return {recordLayer<ops::TransposeLayer, T, C>(operands, own, x.size()), x.columns(), x.rows(),
          x.needsGradient()};
}

/// The product of matrices. A linear layer whose weights are nodes.
template <class T, Config C> Matrix<T, C> matmul(const Matrix<T, C>& x, const Matrix<T, C>& y) {
  if (x.columns() != y.rows())
    fail("matmul: %zu x %zu by %zu x %zu; expected as many rows as the first has columns", x.rows(),
         x.columns(), y.rows(), y.columns());
  const Block operands[] = {x.block(), y.block()};
  const Word own[] = {static_cast<Word>(x.rows()),
                      static_cast<Word>(x.columns()),
                      static_cast<Word>(y.columns()),
                      0,
                      Layer<T>::noId,
                      Layer<T>::noId};
  return {recordLayer<ops::LinearLayer, T, C>(operands, own, x.rows() * y.columns()), x.rows(), y.columns(),
          x.needsGradient() || y.needsGradient()};
}

/// The mean of the squares of all differences.
template <class T, Config C> Value<T, C> meanSquaredError(const Matrix<T, C>& x, const Matrix<T, C>& wanted) {
  return reduceMeanSquares((x - wanted).range());
}

BURTORCH_LAYER_ONCE(ops::TransposeLayer)

}  // namespace burtorch::inline BURTORCH_TARGET
