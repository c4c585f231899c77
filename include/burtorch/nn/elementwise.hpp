// Scalar operators over whole matrices: `each<ops::Relu>(x)`, `x + y`. The rules are those of the scalar operators, run on
// vectors; a new operator needs nothing here.
#pragma once

#include <type_traits>

#include "lanes.hpp"
#include "matrix.hpp"

namespace burtorch {

namespace ops {

/// A unary operator on every number.
template <class Op> struct Each : LayerOp {
  static constexpr std::string_view name = Op::name, formula = infoOf<Op>().formula;
  static constexpr bool hasPoles = !OpList::contains<Op> || std::is_same_v<Op, Sqrt>;

  template <class T> static void value(const Layer<T>& layer, T* y) {
    const T* x = layer.operand(0);
    nn::forEachVector<T>(layer.operandSize(0), [&](std::size_t i, std::size_t n) {
      nn::storeSome(y + i, apply<Op>(nn::loadSome(x + i, n)), n);
    });
  }
  template <class T> static void slope(const Layer<T>& layer) {
    const T *x = layer.operand(0), *y = layer.results(), *gy = layer.resultGradients();
    T* gx = layer.operandGradient(0);
    nn::forEachVector<T>(layer.operandSize(0), [&](std::size_t i, std::size_t n) {
      const auto g = Op::slope(nn::loadSome(gy + i, n), nn::loadSome(x + i, n), nn::loadSome(y + i, n));
      nn::storeSome<T>(gx + i, nn::loadSome(gx + i, n) + g, n);
    });
  }
};

/// A binary operator on every pair of numbers.
template <class Op> struct EachPair : LayerOp {
  static constexpr std::string_view name = Op::name, formula = infoOf<Op>().formula;
  static constexpr bool hasPoles = !OpList::contains<Op>;

  template <class T> static void value(const Layer<T>& layer, T* z) {
    const T *x = layer.operand(0), *y = layer.operand(1);
    nn::forEachVector<T>(layer.operandSize(0), [&](std::size_t i, std::size_t n) {
      nn::storeSome(z + i, apply<Op>(nn::loadSome(x + i, n), nn::loadSome(y + i, n)), n);
    });
  }
  template <class T> static void slope(const Layer<T>& layer) {
    const T *x = layer.operand(0), *y = layer.operand(1), *z = layer.results(), *gz = layer.resultGradients();
    T *gx = layer.operandGradient(0), *gy = layer.operandGradient(1);
    nn::forEachVector<T>(layer.operandSize(0), [&](std::size_t i, std::size_t n) {
      const auto g = nn::loadSome(gz + i, n), a = nn::loadSome(x + i, n), b = nn::loadSome(y + i, n),
                 r = nn::loadSome(z + i, n);
      nn::storeSome<T>(gx + i, nn::loadSome(gx + i, n) + Op::slopeX(g, a, b, r), n);
      nn::storeSome<T>(gy + i, nn::loadSome(gy + i, n) + Op::slopeY(g, a, b, r),
                       n);  // gx and gy may be the same
    });
  }
};

}  // namespace ops

/// `Op` of every number of a matrix: `each<ops::Tanh>(x)`.
template <class Op, class T, Config C> Matrix<T, C> each(const Matrix<T, C>& x) {
  const Block operands[] = {x.block()};
  return {recordLayer<ops::Each<Op>, T, C>(operands, {}, x.size()), x.rows(), x.columns()};
}
/// `Op` of the numbers of two matrices of one shape.
template <class Op, class T, Config C> Matrix<T, C> each(const Matrix<T, C>& x, const Matrix<T, C>& y) {
  if (x.rows() != y.rows() || x.columns() != y.columns())
    fail("%.*s of matrices of %zu x %zu and %zu x %zu", static_cast<int>(Op::name.size()), Op::name.data(),
         x.rows(), x.columns(), y.rows(), y.columns());
  const Block operands[] = {x.block(), y.block()};
  return {recordLayer<ops::EachPair<Op>, T, C>(operands, {}, x.size()), x.rows(), x.columns()};
}
template <class T, Config C> Matrix<T, C> operator+(const Matrix<T, C>& x, const Matrix<T, C>& y) {
  return each<ops::Add>(x, y);
}
template <class T, Config C> Matrix<T, C> relu(const Matrix<T, C>& x) { return each<ops::Relu>(x); }
template <class T, Config C> Matrix<T, C> tanh(const Matrix<T, C>& x) { return each<ops::Tanh>(x); }
template <class T, Config C> Matrix<T, C> sigmoid(const Matrix<T, C>& x) { return each<ops::Sigmoid>(x); }
template <class T, Config C> Matrix<T, C> gelu(const Matrix<T, C>& x) { return each<ops::Gelu>(x); }

}  // namespace burtorch
