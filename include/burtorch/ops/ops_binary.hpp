// Operators of two numbers: z = f(x, y), a choice, which takes three, arithmetic with constants on either side, and the in-place forms (Table 9).
//
// `vjpX(g, x, y, z)` is g * dz/dx, `vjpY` likewise: see ops_unary.hpp for what the rules promise.
#pragma once

#include "ops_unary.hpp"

BURTORCH_FUSE_BEGIN
namespace burtorch::inline BURTORCH_TARGET {

namespace ops {

struct Add : BinaryOp, NoPoles {
  static constexpr std::string_view name = "add", opcode = "eBinaryAdd", formula = "x + y";
  template <class T> static constexpr T value(T x, T y) { return x + y; }
  template <class T> static constexpr T vjpX(T g, Unread, Unread, Unread) { return g; }
  template <class T> static constexpr T vjpY(T g, Unread, Unread, Unread) { return g; }
};

struct Sub : BinaryOp, NoPoles {
  static constexpr std::string_view name = "sub", opcode = "eBinarySub", formula = "x - y";
  template <class T> static constexpr T value(T x, T y) { return x - y; }
  template <class T> static constexpr T vjpX(T g, Unread, Unread, Unread) { return g; }
  template <class T> static constexpr T vjpY(T g, Unread, Unread, Unread) { return -g; }
};

struct Mul : BinaryOp, NoPoles {
  static constexpr std::string_view name = "mul", opcode = "eBinaryMult", formula = "x y";
  template <class T> static constexpr T value(T x, T y) { return x * y; }
  template <class T> static constexpr T vjpX(T g, Unread, T y, Unread) { return g * y; }
  template <class T> static constexpr T vjpY(T g, T x, Unread, Unread) { return g * x; }
};

struct Div : BinaryOp {
  static constexpr std::string_view name = "div", opcode = "eBinaryDiv", formula = "x / y";
  template <class T> static constexpr T value(T x, T y) { return x / y; }
  template <class T> static constexpr T vjpX(T g, Unread, T y, Unread) { return g / y; }
  // Through z, not x / (y * y): y * y would overflow or vanish long before the quotient does.
  template <class T> static constexpr T vjpY(T g, Unread, T y, T z) { return -g * (z / y); }
};

struct Mean : BinaryOp, NoPoles {
  static constexpr std::string_view name = "mean", opcode = "eBinaryMean", formula = "(x + y) / 2";
  template <class T> static constexpr T value(T x, T y) { return (x + y) * number<T>(0.5); }
  template <class T> static constexpr T vjpX(T g, Unread, Unread, Unread) { return g * number<T>(0.5); }
  template <class T> static constexpr T vjpY(T g, Unread, Unread, Unread) { return g * number<T>(0.5); }
};

struct AddSquares : BinaryOp, NoPoles {
  static constexpr std::string_view name = "addSquares", opcode = "eBinaryAddSquares", formula = "x^2 + y^2";
  template <class T> static constexpr T value(T x, T y) { return x * x + y * y; }
  template <class T> static constexpr T vjpX(T g, T x, Unread, Unread) { return g * x + g * x; }
  template <class T> static constexpr T vjpY(T g, Unread, T y, Unread) { return g * y + g * y; }
};

struct MeanSquares : BinaryOp, NoPoles {
  static constexpr std::string_view name = "meanSquares", opcode = "eBinaryMeanSquares",
                                    formula = "(x^2 + y^2) / 2";
  template <class T> static constexpr T value(T x, T y) { return (x * x + y * y) * number<T>(0.5); }
  template <class T> static constexpr T vjpX(T g, T x, Unread, Unread) { return g * x; }
  template <class T> static constexpr T vjpY(T g, Unread, T y, Unread) { return g * y; }
};

struct NegativeMean : BinaryOp, NoPoles {
  static constexpr std::string_view name = "negativeMean", opcode = "eBinaryNegativeMean",
                                    formula = "-(x + y) / 2";
  template <class T> static constexpr T value(T x, T y) { return (x + y) * number<T>(-0.5); }
  template <class T> static constexpr T vjpX(T g, Unread, Unread, Unread) { return g * number<T>(-0.5); }
  template <class T> static constexpr T vjpY(T g, Unread, Unread, Unread) { return g * number<T>(-0.5); }
};

struct Max : BinaryOp, NoPoles {
  static constexpr std::string_view name = "max", opcode = "eBinaryMax", formula = "max(x, y)";
  // NaN wins, and a tie shares the gradient. Of 0 and -0 the first is taken, as PyTorch does.
  template <class T> static constexpr T value(T x, T y) { return select(x != x, x, select(x >= y, x, y)); }
  template <class T> static constexpr T vjpX(T g, T x, T y, Unread) {
    return select(x == y, g * number<T>(0.5), select(x < y, T{0}, g));
  }
  template <class T> static constexpr T vjpY(T g, T x, T y, Unread) {
    return select(x == y, g * number<T>(0.5), select(x > y, T{0}, g));
  }
};

struct Min : BinaryOp, NoPoles {
  static constexpr std::string_view name = "min", opcode = "eBinaryMin", formula = "min(x, y)";
  template <class T> static constexpr T value(T x, T y) { return select(x != x, x, select(x <= y, x, y)); }
  template <class T> static constexpr T vjpX(T g, T x, T y, Unread) {
    return select(x == y, g * number<T>(0.5), select(x > y, T{0}, g));
  }
  template <class T> static constexpr T vjpY(T g, T x, T y, Unread) {
    return select(x == y, g * number<T>(0.5), select(x < y, T{0}, g));
  }
};

struct MulByConst : ConstantOp, NoPoles {
  static constexpr std::string_view name = "mulByConstant", opcode = "eBinaryMultByConst", formula = "x c";
  template <class T, class C> static constexpr T value(T x, C c) { return x * c; }
  template <class T, class C> static constexpr T vjp(T g, Unread, C c, Unread) { return g * c; }
};

struct AddConst : ConstantOp, NoPoles {
  static constexpr std::string_view name = "addConstant", opcode = "eBinaryAddConst", formula = "x + c";
  template <class T, class C> static constexpr T value(T x, C c) { return x + c; }
  template <class T, class C> static constexpr T vjp(T g, Unread, C, Unread) { return g; }
};

struct SubFromConst : ConstantOp, NoPoles {
  static constexpr std::string_view name = "subFromConstant", opcode = "eBinarySubFromConst",
                                    formula = "c - x";
  template <class T, class C> static constexpr T value(T x, C c) { return c - x; }
  template <class T, class C> static constexpr T vjp(T g, Unread, C, Unread) { return -g; }
};

struct DivByConst : ConstantOp, NoPoles {
  static constexpr std::string_view name = "divByConstant", opcode = "eBinaryDivByConst", formula = "x / c";
  // A true division: x * (1 / c) would round twice.
  template <class T, class C> static constexpr T value(T x, C c) { return x / c; }
  template <class T, class C> static constexpr T vjp(T g, Unread, C c, Unread) { return g / c; }
};

struct ConstDiv : ConstantOp {
  static constexpr std::string_view name = "constantDiv", opcode = "eBinaryConstDiv", formula = "c / x";
  template <class T, class C> static constexpr T value(T x, C c) { return c / x; }
  template <class T, class C> static constexpr T vjp(T g, T x, C, T y) { return -g * (y / x); }
};

struct MaxConst : ConstantOp, NoPoles {
  static constexpr std::string_view name = "maxConstant", opcode = "eBinaryMaxConst", formula = "max(x, c)";
  template <class T, class C> static constexpr T value(T x, C c) { return Max::value(x, T{c}); }
  template <class T, class C> static constexpr T vjp(T g, T x, C c, Unread) {
    return Max::vjpX(g, x, T{c}, Unread{});
  }
};

struct MinConst : ConstantOp, NoPoles {
  static constexpr std::string_view name = "minConstant", opcode = "eBinaryMinConst", formula = "min(x, c)";
  template <class T, class C> static constexpr T value(T x, C c) { return Min::value(x, T{c}); }
  template <class T, class C> static constexpr T vjp(T g, T x, C c, Unread) {
    return Min::vjpX(g, x, T{c}, Unread{});
  }
};

/// A choice between two numbers by a third. Only what is chosen gets a gradient; the other one gets nothing, not even the
/// NaN of a pole: the same as if the function had branched.
struct Select : TernaryOp, NoPoles {
  static constexpr std::string_view name = "select", formula = "x != 0 ? y : z";
  static constexpr bool isChoice = true;
  // What is not chosen gets -0, the only number that changes no sum: the careful sweep reads the sign of a zero.
  template <class T> static constexpr auto choosesY(T x) { return x != T{0}; }
  template <class T> static constexpr T value(T x, T y, T z) { return select(x != T{0}, y, z); }
  template <class T> static constexpr T vjpY(T g, T x, Unread, Unread, Unread) {
    return select(x != T{0}, g, -T{0});
  }
  template <class T> static constexpr T vjpZ(T g, T x, Unread, Unread, Unread) {
    return select(x != T{0}, -T{0}, g);
  }
};

}  // namespace ops

template <Number X> BURTORCH_INLINE constexpr X add(X x, X y) { return apply<ops::Add>(x, y); }
template <Number X> BURTORCH_INLINE constexpr X sub(X x, X y) { return apply<ops::Sub>(x, y); }
template <Number X> BURTORCH_INLINE constexpr X mul(X x, X y) { return apply<ops::Mul>(x, y); }
template <Number X> BURTORCH_INLINE constexpr X div(X x, X y) { return apply<ops::Div>(x, y); }
template <Number X> BURTORCH_INLINE constexpr X mean(X x, X y) { return apply<ops::Mean>(x, y); }
template <Number X> BURTORCH_INLINE constexpr X addSquares(X x, X y) { return apply<ops::AddSquares>(x, y); }
template <Number X> BURTORCH_INLINE constexpr X meanSquares(X x, X y) {
  return apply<ops::MeanSquares>(x, y);
}
template <Number X> BURTORCH_INLINE constexpr X negativeMean(X x, X y) {
  return apply<ops::NegativeMean>(x, y);
}
// By reference, as std::max takes them: with both in scope, the more constrained of two equal forms is ours.
template <Number X> BURTORCH_INLINE constexpr X max(const X& x, const X& y) { return apply<ops::Max>(x, y); }
template <Number X> BURTORCH_INLINE constexpr X min(const X& x, const X& y) { return apply<ops::Min>(x, y); }
template <Number X, Plain N> BURTORCH_INLINE constexpr X mulByConstant(X x, N c) {
  return applyConstant<ops::MulByConst>(x, c);
}

template <TracedNumber X> BURTORCH_INLINE constexpr X operator+(X x, X y) { return apply<ops::Add>(x, y); }
template <TracedNumber X> BURTORCH_INLINE constexpr X operator-(X x, X y) { return apply<ops::Sub>(x, y); }
template <TracedNumber X> BURTORCH_INLINE constexpr X operator*(X x, X y) { return apply<ops::Mul>(x, y); }
template <TracedNumber X> BURTORCH_INLINE constexpr X operator/(X x, X y) { return apply<ops::Div>(x, y); }

template <TracedNumber X, Plain N> BURTORCH_INLINE constexpr X operator+(X x, N c) {
  return applyConstant<ops::AddConst>(x, c);
}
template <TracedNumber X, Plain N> BURTORCH_INLINE constexpr X operator+(N c, X x) {
  return applyConstant<ops::AddConst>(x, c);
}
template <TracedNumber X, Plain N> BURTORCH_INLINE constexpr X operator-(N c, X x) {
  return applyConstant<ops::SubFromConst>(x, c);
}
template <TracedNumber X, Plain N> BURTORCH_INLINE constexpr X operator*(X x, N c) {
  return applyConstant<ops::MulByConst>(x, c);
}
template <TracedNumber X, Plain N> BURTORCH_INLINE constexpr X operator*(N c, X x) {
  return applyConstant<ops::MulByConst>(x, c);
}
template <TracedNumber X, Plain N> BURTORCH_INLINE constexpr X operator/(X x, N c) {
  return applyConstant<ops::DivByConst>(x, c);
}
template <TracedNumber X, Plain N> BURTORCH_INLINE constexpr X operator/(N c, X x) {
  return applyConstant<ops::ConstDiv>(x, c);
}
template <TracedNumber X, Plain N> BURTORCH_INLINE constexpr X max(X x, N c) {
  return applyConstant<ops::MaxConst>(x, c);
}
template <TracedNumber X, Plain N> BURTORCH_INLINE constexpr X max(N c, X x) {
  return applyConstant<ops::MaxConst>(x, c);
}
template <TracedNumber X, Plain N> BURTORCH_INLINE constexpr X min(X x, N c) {
  return applyConstant<ops::MinConst>(x, c);
}
template <TracedNumber X, Plain N> BURTORCH_INLINE constexpr X min(N c, X x) {
  return applyConstant<ops::MinConst>(x, c);
}
// x - c is x + (-c) to the last bit. The constant is converted first: -c of an unsigned would wrap.
template <TracedNumber X, Plain N> BURTORCH_INLINE constexpr X operator-(X x, N c) {
  return applyConstant<ops::AddConst>(x, -static_cast<PlainOf<typename Mode<X>::Scalar>>(c));
}

// In place: a new node, to which the handle rebinds; the old value is untouched (`c += c` has derivative 2).
template <TracedNumber X, class Y> BURTORCH_INLINE constexpr X& operator+=(X& x, Y y) { return x = x + y; }
template <TracedNumber X, class Y> BURTORCH_INLINE constexpr X& operator-=(X& x, Y y) { return x = x - y; }
template <TracedNumber X, class Y> BURTORCH_INLINE constexpr X& operator*=(X& x, Y y) { return x = x * y; }
template <TracedNumber X, class Y> BURTORCH_INLINE constexpr X& operator/=(X& x, Y y) { return x = x / y; }
template <TracedNumber X, class Y> BURTORCH_INLINE constexpr X& addInplace(X& x, Y y) { return x += y; }
template <TracedNumber X, class Y> BURTORCH_INLINE constexpr X& subInplace(X& x, Y y) { return x -= y; }
template <TracedNumber X, class Y> BURTORCH_INLINE constexpr X& multInplace(X& x, Y y) { return x *= y; }
template <TracedNumber X, class Y> BURTORCH_INLINE constexpr X& divInplace(X& x, Y y) { return x /= y; }

}  // namespace burtorch::inline BURTORCH_TARGET
BURTORCH_FUSE_END
