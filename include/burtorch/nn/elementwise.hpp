// Scalar operators over whole matrices: `map<ops::Relu>(x)`, `x + y`, `x * 3.0`. The rules are those of the scalar operators, run on
// vectors; a new operator needs nothing here.
#pragma once

#include <type_traits>

#include "matrix.hpp"
#include "shares.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace ops {

/// A unary operator on every number.
template <class Op> struct Each : LayerOp {
  static constexpr std::string_view name = Op::name, formula = infoOf<Op>().formula;
  static constexpr bool hasPoles = burtorch::hasPoles<Op>;

  template <class T> static void value(const Layer<T>& layer, T* y) {
    const T* x = layer.operand(0);
    nn::forEachWideShared<T>(layer.operandSize(0),
                             [=](auto at) BURTORCH_INLINE_LAMBDA { at.store(y, apply<Op>(at.load(x))); });
  }
  template <class T> static void vjp(const Layer<T>& layer) {
    if (!layer.wants(0)) return;
    const T *x = layer.operand(0), *y = layer.results(), *gy = layer.resultGradients();
    T* gx = layer.operandGradient(0);
    nn::forEachWideShared<T>(layer.operandSize(0), [=](auto at) BURTORCH_INLINE_LAMBDA {
      at.store(gx, at.load(gx) + Op::vjp(at.load(gy), at.load(x), at.load(y)));
    });
  }
};

/// A binary operator on every pair of numbers.
template <class Op> struct EachPair : LayerOp {
  static constexpr std::string_view name = Op::name, formula = infoOf<Op>().formula;
  static constexpr bool hasPoles = burtorch::hasPoles<Op>;

  template <class T> static void value(const Layer<T>& layer, T* z) {
    const T *x = layer.operand(0), *y = layer.operand(1);
    nn::forEachWideShared<T>(layer.operandSize(0), [=](auto at) BURTORCH_INLINE_LAMBDA {
      at.store(z, apply<Op>(at.load(x), at.load(y)));
    });
  }
  template <class T> static void vjp(const Layer<T>& layer) {
    const T *x = layer.operand(0), *y = layer.operand(1), *z = layer.results(), *gz = layer.resultGradients();
    T *gx = layer.operandGradient(0), *gy = layer.operandGradient(1);
    const bool wantsX = layer.wants(0), wantsY = layer.wants(1);
    nn::forEachWideShared<T>(layer.operandSize(0), [=](auto at) BURTORCH_INLINE_LAMBDA {
      const auto g = at.load(gz), a = at.load(x), b = at.load(y), r = at.load(z);
      // One after the other: gx and gy may be the same.
      if (wantsX) at.store(gx, at.load(gx) + Op::vjpX(g, a, b, r));
      if (wantsY) at.store(gy, at.load(gy) + Op::vjpY(g, a, b, r));
    });
  }
};

/// An operator of a number and a constant on every number. Own words: the bytes of the constant.
template <class Op> struct EachConstant : LayerOp {
  static constexpr std::string_view name = Op::name, formula = infoOf<Op>().formula;
  static constexpr bool hasPoles = true;

  template <class T> static void value(const Layer<T>& layer, T* y) {
    const T* x = layer.operand(0);
    const auto c = constantAt<T>(layer.own(), 0);
    nn::forEachWideShared<T>(layer.operandSize(0), [=](auto at) BURTORCH_INLINE_LAMBDA {
      at.store(y, applyConstant<Op>(at.load(x), c));
    });
  }
  template <class T> static void vjp(const Layer<T>& layer) {
    if (!layer.wants(0)) return;
    const T *x = layer.operand(0), *y = layer.results(), *gy = layer.resultGradients();
    T* gx = layer.operandGradient(0);
    const auto c = constantAt<T>(layer.own(), 0);
    nn::forEachWideShared<T>(layer.operandSize(0), [=](auto at) BURTORCH_INLINE_LAMBDA {
      at.store(gx, at.load(gx) + Op::vjp(at.load(gy), at.load(x), c, at.load(y)));
    });
  }
};

}  // namespace ops

/// `Op` of every number of a matrix: `map<ops::Tanh>(x)`.
template <class Op, class T, Config C> Matrix<T, C> map(const Matrix<T, C>& x) {
  const Block operands[] = {x.block()};
  return {recordLayer<ops::Each<Op>, T, C>(operands, {}, x.size()), x.rows(), x.columns(), x.needsGradient()};
}
/// `Op` of every number and a constant: `map<ops::Pow>(x, 3)`.
template <class Op, class T, Config C, Plain N> Matrix<T, C> map(const Matrix<T, C>& x, N constant) {
  const Block operands[] = {x.block()};
  const auto c = static_cast<PlainOf<T>>(constant);
  Word own[sizeof c / sizeof(Word)];
  std::memcpy(own, &c, sizeof c);
  return {recordLayer<ops::EachConstant<Op>, T, C>(operands, own, x.size()), x.rows(), x.columns(),
          x.needsGradient()};
}
/// `Op` of the numbers of two matrices of one shape.
template <class Op, class T, Config C> Matrix<T, C> map(const Matrix<T, C>& x, const Matrix<T, C>& y) {
  if (x.rows() != y.rows() || x.columns() != y.columns())
    fail("%.*s: matrices of %zu x %zu and %zu x %zu; expected the same shape",
         static_cast<int>(Op::name.size()), Op::name.data(), x.rows(), x.columns(), y.rows(), y.columns());
  const Block operands[] = {x.block(), y.block()};
  return {recordLayer<ops::EachPair<Op>, T, C>(operands, {}, x.size()), x.rows(), x.columns(),
          x.needsGradient() || y.needsGradient()};
}

// Element by element; for the product of matrices see matmul.
template <class T, Config C> Matrix<T, C> operator+(const Matrix<T, C>& x, const Matrix<T, C>& y) {
  return map<ops::Add>(x, y);
}
template <class T, Config C> Matrix<T, C> operator-(const Matrix<T, C>& x, const Matrix<T, C>& y) {
  return map<ops::Sub>(x, y);
}
template <class T, Config C> Matrix<T, C> operator*(const Matrix<T, C>& x, const Matrix<T, C>& y) {
  return map<ops::Mul>(x, y);
}
template <class T, Config C> Matrix<T, C> operator/(const Matrix<T, C>& x, const Matrix<T, C>& y) {
  return map<ops::Div>(x, y);
}
template <class T, Config C> Matrix<T, C> operator-(const Matrix<T, C>& x) { return map<ops::Neg>(x); }
template <class T, Config C, Plain N> Matrix<T, C> operator+(const Matrix<T, C>& x, N c) {
  return map<ops::AddConst>(x, c);
}
template <class T, Config C, Plain N> Matrix<T, C> operator+(N c, const Matrix<T, C>& x) {
  return map<ops::AddConst>(x, c);
}
template <class T, Config C, Plain N> Matrix<T, C> operator-(const Matrix<T, C>& x, N c) {
  return map<ops::AddConst>(x, -static_cast<PlainOf<T>>(c));
}
template <class T, Config C, Plain N> Matrix<T, C> operator-(N c, const Matrix<T, C>& x) {
  return map<ops::SubFromConst>(x, c);
}
template <class T, Config C, Plain N> Matrix<T, C> operator*(const Matrix<T, C>& x, N c) {
  return map<ops::MulByConst>(x, c);
}
template <class T, Config C, Plain N> Matrix<T, C> operator*(N c, const Matrix<T, C>& x) {
  return map<ops::MulByConst>(x, c);
}
template <class T, Config C, Plain N> Matrix<T, C> operator/(const Matrix<T, C>& x, N c) {
  return map<ops::DivByConst>(x, c);
}
template <class T, Config C, Plain N> Matrix<T, C> operator/(N c, const Matrix<T, C>& x) {
  return map<ops::ConstDiv>(x, c);
}
template <class T, Config C> Matrix<T, C> relu(const Matrix<T, C>& x) { return map<ops::Relu>(x); }
template <class T, Config C> Matrix<T, C> tanh(const Matrix<T, C>& x) { return map<ops::Tanh>(x); }
template <class T, Config C> Matrix<T, C> sigmoid(const Matrix<T, C>& x) { return map<ops::Sigmoid>(x); }
template <class T, Config C> Matrix<T, C> gelu(const Matrix<T, C>& x) { return map<ops::Gelu>(x); }
template <class T, Config C> Matrix<T, C> geluTanh(const Matrix<T, C>& x) { return map<ops::GeluTanh>(x); }

// What the functions above use.
BURTORCH_LAYER_ONCE(ops::Each<ops::Neg>)
BURTORCH_LAYER_ONCE(ops::Each<ops::Relu>)
BURTORCH_LAYER_ONCE(ops::Each<ops::Tanh>)
BURTORCH_LAYER_ONCE(ops::Each<ops::Sigmoid>)
BURTORCH_LAYER_ONCE(ops::Each<ops::Gelu>)
BURTORCH_LAYER_ONCE(ops::Each<ops::GeluTanh>)
BURTORCH_LAYER_ONCE(ops::EachPair<ops::Add>)
BURTORCH_LAYER_ONCE(ops::EachPair<ops::Sub>)
BURTORCH_LAYER_ONCE(ops::EachPair<ops::Mul>)
BURTORCH_LAYER_ONCE(ops::EachPair<ops::Div>)
BURTORCH_LAYER_ONCE(ops::EachConstant<ops::AddConst>)
BURTORCH_LAYER_ONCE(ops::EachConstant<ops::SubFromConst>)
BURTORCH_LAYER_ONCE(ops::EachConstant<ops::MulByConst>)
BURTORCH_LAYER_ONCE(ops::EachConstant<ops::DivByConst>)
BURTORCH_LAYER_ONCE(ops::EachConstant<ops::ConstDiv>)

}  // namespace burtorch::inline BURTORCH_TARGET
