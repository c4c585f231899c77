// Operators of one number: y = f(x), and of one number and a constant: y = f(x, c).
//
// An operator is one struct: its name, the paper's opcode name (Table 8), its formula, the value rule and the slope
// rule. `vjp(g, x, y)` is g * dy/dx. Reverse mode calls it with the gradient that arrives at y, forward mode with
// the derivative that arrives at x. The rule, not a product, decides what happens at kinks and poles: the conventions
// are PyTorch's. A parameter of type `Unread` says that the rule does not look at that value.
#pragma once

#include <cmath>
#include <numbers>
#include <string_view>

#include "scalar.hpp"

BURTORCH_FUSE_BEGIN
namespace burtorch::inline BURTORCH_TARGET {

/// One whose value is a function of the C library: packs take it lane by lane.
struct LibraryOp : UnaryOp {
  static constexpr bool isLaneByLane = true;
};

namespace ops {

// Here `exp(x)` means std::exp for plain numbers and, found by its argument, ours for all others.
using std::abs, std::atan, std::cos, std::erf, std::exp, std::expm1, std::log, std::log1p, std::pow, std::sin,
    std::sqrt, std::tanh;

struct Relu : UnaryOp, NoPoles {
  static constexpr std::string_view name = "relu", opcode = "eRelu", formula = "max(0, x)";
  // relu(-0) is -0, as PyTorch 2.13 has it.
  template <class T> static constexpr T value(T x) { return select(x < T{0}, T{0}, x); }
  // Selected, not multiplied: whatever arrives at a closed gate, inf or NaN too, stays outside. The kink takes 0.
  template <class T> static constexpr T vjp(T g, T x, Unread) { return select(x <= T{0}, T{0}, g); }
};

struct Tanh : UnaryOp, NoPoles {
  static constexpr std::string_view name = "tanh", opcode = "eTanh", formula = "tanh(x)";
  template <class T> static constexpr T value(T x) { return tanh(x); }
  template <class T> static constexpr T vjp(T g, Unread, T y) { return g * (T{1} - y * y); }
};

struct Exp : UnaryOp, NoPoles {
  static constexpr std::string_view name = "exp", opcode = "eExp", formula = "exp(x)";
  template <class T> static constexpr T value(T x) { return exp(x); }
  template <class T> static constexpr T vjp(T g, Unread, T y) { return g * y; }
};

struct NegLog : UnaryOp, NoPoles {
  static constexpr std::string_view name = "negativeLog", opcode = "eNegLog", formula = "-log(x)";
  template <class T> static constexpr T value(T x) { return -log(x); }
  template <class T> static constexpr T vjp(T g, T x, Unread) { return -(g / x); }
};

/// x / (1 + e) for 0 <= e <= 1. Packs lose less in the sum (simd/pack.hpp).
template <class T> constexpr T overOnePlus(const T& x, const T& e) { return x / (T{1} + e); }

struct Sigmoid : UnaryOp, NoPoles {
  static constexpr std::string_view name = "sigmoid", opcode = "eSigmoid", formula = "1 / (1 + exp(-x))";
  // exp only ever sees a negative number, so nothing overflows on the way.
  template <class T> static constexpr T value(T x) {
    const auto positive = x >= T{0};
    const T e = exp(select(positive, -x, x));
    return overOnePlus(select(positive, T{1}, e), e);
  }
  template <class T> static constexpr T vjp(T g, Unread, T y) { return g * (T{1} - y) * y; }
};

struct Inv : UnaryOp, NoPoles {
  static constexpr std::string_view name = "inv", opcode = "eInv", formula = "1 / x";
  template <class T> static constexpr T value(T x) { return T{1} / x; }
  template <class T> static constexpr T vjp(T g, Unread, T y) { return -(g * y) * y; }
};

struct Sqr : UnaryOp, NoPoles {
  static constexpr std::string_view name = "sqr", opcode = "eSqr", formula = "x^2";
  template <class T> static constexpr T value(T x) { return x * x; }
  template <class T> static constexpr T vjp(T g, T x, Unread) { return g * (x + x); }
};

struct Cub : UnaryOp, NoPoles {
  static constexpr std::string_view name = "pow3", opcode = "eCub", formula = "x^3";
  template <class T> static constexpr T value(T x) { return x * x * x; }
  template <class T> static constexpr T vjp(T g, T x, Unread) { return g * (T{3} * (x * x)); }
};

struct Log : UnaryOp, NoPoles {
  static constexpr std::string_view name = "logarithm", opcode = "eLog", formula = "log(x)";
  template <class T> static constexpr T value(T x) { return log(x); }
  template <class T> static constexpr T vjp(T g, T x, Unread) { return g / x; }
};

struct Sqrt : UnaryOp {
  static constexpr std::string_view name = "sqrt", opcode = "eSqrt", formula = "sqrt(x)";
  template <class T> static constexpr T value(T x) { return sqrt(x); }
  template <class T> static constexpr T vjp(T g, Unread, T y) { return g / (y + y); }
};

struct InvSqrt : UnaryOp {
  static constexpr std::string_view name = "invSqrt", opcode = "eInvSqrt", formula = "1 / sqrt(x)";
  template <class T> static constexpr T value(T x) { return T{1} / sqrt(x); }
  template <class T> static constexpr T vjp(T g, Unread, T y) { return number<T>(-0.5) * g * (y * y * y); }
};

struct Neg : UnaryOp, NoPoles {
  static constexpr std::string_view name = "neg", opcode = "eNeg", formula = "-x";
  template <class T> static constexpr T value(T x) { return -x; }
  template <class T> static constexpr T vjp(T g, Unread, Unread) { return -g; }
};

struct Sin : UnaryOp, NoPoles {
  static constexpr std::string_view name = "sin", opcode = "eSin", formula = "sin(x)";
  template <class T> static constexpr T value(T x) { return sin(x); }
  template <class T> static constexpr T vjp(T g, T x, Unread) { return g * cos(x); }
};

struct Cos : UnaryOp, NoPoles {
  static constexpr std::string_view name = "cos", opcode = "eCos", formula = "cos(x)";
  template <class T> static constexpr T value(T x) { return cos(x); }
  template <class T> static constexpr T vjp(T g, T x, Unread) { return g * -sin(x); }
};

struct Abs : UnaryOp, NoPoles {
  static constexpr std::string_view name = "abs", opcode = "eAbs", formula = "abs(x)";
  template <class T> static constexpr T value(T x) { return abs(x); }
  template <class T> static constexpr T vjp(T g, T x, Unread) {
    return g * select(x > T{0}, T{1}, select(x < T{0}, T{-1}, x));
  }
};

struct Softplus : UnaryOp, NoPoles {
  static constexpr std::string_view name = "softplus", opcode = "eSoftplus", formula = "log(1 + exp(x))";
  template <class T> static constexpr T value(T x) {
    const T tail = log1p(exp(select(x >= T{0}, -x, x)));
    return select(x <= T{0}, T{0}, x) + tail;
  }
  template <class T> static constexpr T vjp(T g, T x, Unread) { return g * Sigmoid::value(x); }
};

template <class T> constexpr PlainOf<T> twoByRootOfPi() {
  return constantOf<T>(2 * std::numbers::inv_sqrtpi, 0x1.1ae3a914fed8p-56, -0x1.3cbbebf65f145p-111);
}
template <class T> constexpr PlainOf<T> rootOfHalf() {
  return constantOf<T>(std::numbers::sqrt2 / 2, -0x1.bdd3413b26456p-55, 0x1.57d3e3adec175p-109);
}
template <class T> constexpr PlainOf<T> rootOfTwoByPi() {
  return constantOf<T>(std::numbers::inv_sqrtpi * std::numbers::sqrt2, -0x1.cbc0d30ebfd15p-55,
                       -0x1.c7402c7d60cfbp-111);
}

struct Erf : UnaryOp, NoPoles {
  static constexpr std::string_view name = "erf", opcode = "eErf", formula = "erf(x)";
  template <class T> static constexpr T value(T x) { return erf(x); }
  template <class T> static constexpr T vjp(T g, T x, Unread) {
    return twoByRootOfPi<T>() * exp(-(x * x)) * g;
  }
};

/// erf(x), for rules that also need exp(-x^2). Packs make the one of the other (simd/pack.hpp).
template <class T> constexpr T erfBeside(T x, const T& /*bell*/) { return erf(x); }

struct Gelu : UnaryOp, NoPoles {
  static constexpr std::string_view name = "gelu", opcode = "eGelu",
                                    formula = "x / 2 * (1 + erf(x / sqrt(2)))";
  template <class T> static constexpr T value(T x) {
    return x * number<T>(0.5) * (T{1} + erf(x * rootOfHalf<T>()));
  }
  // (1 + erf(x / sqrt(2))) / 2 + x times the normal density, both halved at the end: one product in the sum.
  template <class T> static constexpr T vjp(T g, T x, Unread) {
    const T bell = exp(x * x * number<T>(-0.5));
    const T twiceBelow = T{1} + erfBeside(x * rootOfHalf<T>(), bell);
    const T twiceDensity = bell * rootOfTwoByPi<T>();
    return g * (number<T>(0.5) * (twiceBelow + x * twiceDensity));
  }
};

/// gelu by its approximation with tanh, as GPT-2 has it ("gelu_new"). As in PyTorch, the slope is NaN where the square of x
/// overflows.
struct GeluTanh : UnaryOp {
  static constexpr std::string_view name = "geluTanh", opcode = "eGeluTanh",
                                    formula = "x / 2 * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))";
  template <class T> static constexpr T value(T x) {
    return x * number<T>(0.5) * (T{1} + tanh(inner(x, x * x)));
  }
  template <class T> static constexpr T vjp(T g, T x, Unread) {
    const T square = x * x, t = tanh(inner(x, square)), twiceShare = T{1} + t;
    // 3 sqrt(2 / pi) 0.044715
    const auto threefold = constantOf<T>(3 * (std::numbers::inv_sqrtpi * std::numbers::sqrt2) * 0.044715,
                                         -0x1.222c6573ebaabp-57, 0x1.d2798719211a3p-111);
    const T innerSlope = threefold * square + T{rootOfTwoByPi<T>()};
    return g * (number<T>(0.5) * twiceShare + x * number<T>(0.5) * ((T{1} - t) * twiceShare) * innerSlope);
  }

 private:
  template <class T> static constexpr T inner(T x, T square) {
    const auto cubic = constantOf<T>(0.044715, 0x1.441355475a31ap-59, 0x1.2f6e82949a565p-113);
    return rootOfTwoByPi<T>() * (x + cubic * (square * x));
  }
};

struct Log1p : UnaryOp, NoPoles {
  static constexpr std::string_view name = "log1p", opcode = "eLog1p", formula = "log(1 + x)";
  template <class T> static constexpr T value(T x) { return log1p(x); }
  template <class T> static constexpr T vjp(T g, T x, Unread) { return g / (x + T{1}); }
};

struct Expm1 : UnaryOp, NoPoles {
  static constexpr std::string_view name = "expm1", opcode = "eExpm1", formula = "exp(x) - 1";
  template <class T> static constexpr T value(T x) { return expm1(x); }
  template <class T> static constexpr T vjp(T g, Unread, T y) { return g * (y + T{1}); }
};

struct Atan : UnaryOp, NoPoles {
  static constexpr std::string_view name = "atan", opcode = "eAtan", formula = "atan(x)";
  template <class T> static constexpr T value(T x) { return atan(x); }
  template <class T> static constexpr T vjp(T g, T x, Unread) { return g / (x * x + T{1}); }
};

struct LeakyRelu : ConstantOp, NoPoles {
  static constexpr std::string_view name = "leakyRelu", opcode = "eLeakyRelu", formula = "x > 0 ? x : c x";
  template <class T, class C> static constexpr T value(T x, C c) { return select(x > T{0}, x, x * c); }
  template <class T, class C> static constexpr T vjp(T g, T x, C c, Unread) {
    return select(x > T{0}, g, g * c);
  }
};

struct Pow : ConstantOp {
  static constexpr std::string_view name = "pow", opcode = "ePow", formula = "x^c";
  template <class T, class C> static constexpr T value(T x, C c) {
    if (c == C{2}) return x * x;
    if (c == C{3}) return x * x * x;
    if (c == C{0.5}) return sqrt(x);
    if (c == C{-0.5}) return T{1} / sqrt(x);
    return pow(x, c);
  }
  // x^0 is the constant 1 even at x = 0, where 0 * 0^-1 would be NaN.
  template <class T, class C> static constexpr T vjp(T g, T x, C c, Unread) {
    return c == C{0} ? T{0} : g * (value(x, c - C{1}) * c);
  }
};

}  // namespace ops

template <Number X> BURTORCH_INLINE constexpr X relu(X x) { return apply<ops::Relu>(x); }
template <Number X> BURTORCH_INLINE constexpr X tanh(X x) { return apply<ops::Tanh>(x); }
template <Number X> BURTORCH_INLINE constexpr X exp(X x) { return apply<ops::Exp>(x); }
template <Number X> BURTORCH_INLINE constexpr X negativeLog(X x) { return apply<ops::NegLog>(x); }
template <Number X> BURTORCH_INLINE constexpr X sigmoid(X x) { return apply<ops::Sigmoid>(x); }
template <Number X> BURTORCH_INLINE constexpr X inv(X x) { return apply<ops::Inv>(x); }
template <Number X> BURTORCH_INLINE constexpr X sqr(X x) { return apply<ops::Sqr>(x); }
template <Number X> BURTORCH_INLINE constexpr X pow3(X x) { return apply<ops::Cub>(x); }
template <Number X> BURTORCH_INLINE constexpr X logarithm(X x) { return apply<ops::Log>(x); }
template <Number X> BURTORCH_INLINE constexpr X log(X x) { return apply<ops::Log>(x); }
template <Number X> BURTORCH_INLINE constexpr X sqrt(X x) { return apply<ops::Sqrt>(x); }
template <Number X> BURTORCH_INLINE constexpr X invSqrt(X x) { return apply<ops::InvSqrt>(x); }
template <TracedNumber X> BURTORCH_INLINE constexpr X operator-(X x) { return apply<ops::Neg>(x); }
template <TracedNumber X> BURTORCH_INLINE constexpr X operator+(X x) { return x; }
template <Number X> BURTORCH_INLINE constexpr X sin(X x) { return apply<ops::Sin>(x); }
template <Number X> BURTORCH_INLINE constexpr X cos(X x) { return apply<ops::Cos>(x); }
template <Number X> BURTORCH_INLINE constexpr X abs(X x) { return apply<ops::Abs>(x); }
template <Number X> BURTORCH_INLINE constexpr X softplus(X x) { return apply<ops::Softplus>(x); }
template <Number X> BURTORCH_INLINE constexpr X erf(X x) { return apply<ops::Erf>(x); }
template <Number X> BURTORCH_INLINE constexpr X gelu(X x) { return apply<ops::Gelu>(x); }
template <Number X> BURTORCH_INLINE constexpr X geluTanh(X x) { return apply<ops::GeluTanh>(x); }
template <Number X> BURTORCH_INLINE constexpr X log1p(X x) { return apply<ops::Log1p>(x); }
template <Number X> BURTORCH_INLINE constexpr X expm1(X x) { return apply<ops::Expm1>(x); }
template <Number X> BURTORCH_INLINE constexpr X atan(X x) { return apply<ops::Atan>(x); }
template <Number X> BURTORCH_INLINE constexpr X leakyRelu(X x, double slope = 0.01) {
  return applyConstant<ops::LeakyRelu>(x, slope);
}
template <Number X, Plain N> BURTORCH_INLINE constexpr X pow(X x, N exponent) {
  return applyConstant<ops::Pow>(x, exponent);
}

}  // namespace burtorch::inline BURTORCH_TARGET
BURTORCH_FUSE_END
