// Softmax of every column of a matrix: exp(x - largest) over their sum.
#pragma once

#include <cmath>

#include "elementwise.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace ops {

/// Operand: x. Own words: rows, columns.
struct SoftmaxLayer : LayerOp {
  static constexpr std::string_view name = "softmaxOfColumns", formula = "exp(x_i) / sum of exp(x_j)";

  template <class T> static void value(const Layer<T>& layer, T* y) {
    using std::exp;
    const std::size_t rows = layer.own()[0], columns = layer.own()[1];
    const T* x = layer.operand(0);
    nn::forEachVector<T>(columns, [&](std::size_t c, std::size_t n) {
      using Pack = nn::LanePack<T>;
      const auto at = [&](std::size_t r) { return nn::loadSome(x + r * columns + c, n); };
      Pack most = at(0), sum(T{0});
      for (std::size_t r = 1; r < rows; ++r) most = select(most < at(r), at(r), most);
      for (std::size_t r = 0; r < rows; ++r) {
        const Pack part = exp(at(r) - most);
        nn::storeSome(y + r * columns + c, part, n);
        sum = sum + part;
      }
      for (std::size_t r = 0; r < rows; ++r)
        nn::storeSome<T>(y + r * columns + c, nn::loadSome(y + r * columns + c, n) / sum, n);
    });
  }
  // dx_i = y_i (g_i - sum of g_j y_j)
  template <class T> static void vjp(const Layer<T>& layer) {
    if (!layer.wants(0)) return;
    const std::size_t rows = layer.own()[0], columns = layer.own()[1];
    const T *y = layer.results(), *g = layer.resultGradients();
    T* gx = layer.operandGradient(0);
    nn::forEachVector<T>(columns, [&](std::size_t c, std::size_t n) {
      using Pack = nn::LanePack<T>;
      const auto at = [&](const T* numbers, std::size_t r) {
        return nn::loadSome(numbers + r * columns + c, n);
      };
      Pack sum(T{0});
      for (std::size_t r = 0; r < rows; ++r) sum = sum + at(g, r) * at(y, r);
      for (std::size_t r = 0; r < rows; ++r)
        nn::storeSome<T>(gx + r * columns + c, at(gx, r) + at(y, r) * (at(g, r) - sum), n);
    });
  }
};

}  // namespace ops

/// The softmax of every column.
template <class T, Config C> Matrix<T, C> softmax(const Matrix<T, C>& x) {
  const Block operands[] = {x.block()};
  const Word own[] = {static_cast<Word>(x.rows()), static_cast<Word>(x.columns())};
  return {recordLayer<ops::SoftmaxLayer, T, C>(operands, own, x.size()), x.rows(), x.columns()};
}

BURTORCH_LAYER_ONCE(ops::SoftmaxLayer)

}  // namespace burtorch::inline BURTORCH_TARGET
