// Operators of a list of numbers (Table 8, "varying"; Table 10) and of two lists.
//
//   varying  value(xs)             vjp(g, xs, y, gs)       one list to one number
//   pair     value(xs, ys)         vjp(g, xs, ys, gx, gy)  two lists to one number
//   block    value(xs, y)          vjp(g, xs, y, gs)       one list to a list y of the same length
// A slope adds g * dy/dx_i to the gradient of every x_i; of a pair, nothing to a list of gradients that is not wanted
// (base is null). Forward mode needs no slope here: the value rules are plain
// arithmetic and run on dual numbers. An empty list is an error by contract, reported before a rule is called.
#pragma once

#include <initializer_list>
#include <iterator>
#include <string_view>
#include <utility>

#include "kernels.hpp"
#include "ops_binary.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace ops {

/// n as a constant of the scalar type T.
template <class T> PlainOf<T> countOf(std::size_t n) { return static_cast<PlainOf<T>>(n); }

struct AddVarying : VaryingOp, NoPoles {
  static constexpr std::string_view name = "reduceSum", opcode = "eAddVarying", formula = "sum x_i";
  template <class T> static T value(const List<T>& xs) {
    return kernels::sum([](auto& s, const auto& x) { s = s + x; }, xs);
  }
  template <class T> static void vjp(T g, const List<T>& xs, Unread, const GradientList<T>& gs) {
    kernels::accumulate(gs, xs, [g](auto& to, const auto&) { to = to + g; });
  }
};

struct SubVarying : VaryingOp, NoPoles {
  static constexpr std::string_view name = "reduceSub", opcode = "eSubVarying",
                                    formula = "x_1 - sum of the others";
  template <class T> static T value(const List<T>& xs) {
    T buffer[1];
    const T first = *ListReader<T>(xs).next(1, buffer);
    if (xs.size() == 1) return first;
    return first - kernels::sum<1>([](auto& s, const auto& x) { s = s + x; }, xs);
  }
  template <class T> static void vjp(T g, const List<T>& xs, Unread, const GradientList<T>& gs) {
    gs.add(ListWalker(gs.shape).next(1).first, g);
    kernels::accumulate<1>(gs, xs, [g](auto& to, const auto&) { to = to - g; });
  }
};

struct MeanVarying : VaryingOp, NoPoles {
  static constexpr std::string_view name = "reduceMean", opcode = "eMeanVarying", formula = "1/n sum x_i";
  template <class T> static T value(const List<T>& xs) {
    return AddVarying::value(xs) / countOf<T>(xs.size());
  }
  template <class T> static void vjp(T g, const List<T>& xs, Unread, const GradientList<T>& gs) {
    AddVarying::vjp(g / countOf<T>(xs.size()), xs, Unread{}, gs);
  }
};

struct NegativeMeanVarying : VaryingOp, NoPoles {
  static constexpr std::string_view name = "reduceNegativeMean", opcode = "eNegativeMeanVarying",
                                    formula = "-1/n sum x_i";
  template <class T> static T value(const List<T>& xs) { return -MeanVarying::value(xs); }
  template <class T> static void vjp(T g, const List<T>& xs, Unread, const GradientList<T>& gs) {
    MeanVarying::vjp(-g, xs, Unread{}, gs);
  }
};

struct SumOfSquaresVarying : VaryingOp, NoPoles {
  static constexpr std::string_view name = "reduceSumOfSquares", opcode = "eSumOfSquaresVarying",
                                    formula = "sum x_i^2";
  template <class T> static T value(const List<T>& xs) {
    return kernels::sum([](auto& s, const auto& x) { s = s + x * x; }, xs);
  }
  template <class T> static void vjp(T g, const List<T>& xs, Unread, const GradientList<T>& gs) {
    const T twice = g + g;
    kernels::accumulate(gs, xs, [twice](auto& to, const auto& x) { to = to + twice * x; });
  }
};

struct MeanSquaresVarying : VaryingOp, NoPoles {
  static constexpr std::string_view name = "reduceMeanSquares", opcode = "eMeanSquaresVarying",
                                    formula = "1/n sum x_i^2";
  template <class T> static T value(const List<T>& xs) {
    return SumOfSquaresVarying::value(xs) / countOf<T>(xs.size());
  }
  template <class T> static void vjp(T g, const List<T>& xs, Unread, const GradientList<T>& gs) {
    SumOfSquaresVarying::vjp(g / countOf<T>(xs.size()), xs, Unread{}, gs);
  }
};

/// What both variances share. Two passes: E[x^2] - E[x]^2 of 10000 +- 0.5 in fp32 is 480 instead of 0.25. The mean is
/// taken of the differences to the first element, so that a constant list has exactly that mean and variance 0.
template <class T> T meanOf(const List<T>& xs) {
  T buffer[1];
  const T first = *ListReader<T>(xs).next(1, buffer);
  return first +
         kernels::sum([first](auto& s, const auto& x) { s = s + (x - first); }, xs) / countOf<T>(xs.size());
}
template <class T> T sumOfSquaredDeviations(const List<T>& xs) {
  const T mean = meanOf(xs);
  return kernels::sum([mean](auto& s, const auto& x) { s = s + (x - mean) * (x - mean); }, xs);
}
template <class T> void addDeviations(T scale, const List<T>& xs, const GradientList<T>& gs) {
  const T mean = meanOf(xs);
  kernels::accumulate(gs, xs, [scale, mean](auto& to, const auto& x) { to = to + scale * (x - mean); });
}

struct VarianceBiased : VaryingOp, NoPoles {
  static constexpr std::string_view name = "varianceBiased", opcode = "eVarianceBiased",
                                    formula = "1/n sum (x_i - mean)^2";
  template <class T> static T value(const List<T>& xs) {
    return sumOfSquaredDeviations(xs) / countOf<T>(xs.size());
  }
  template <class T> static void vjp(T g, const List<T>& xs, Unread, const GradientList<T>& gs) {
    addDeviations((g + g) / countOf<T>(xs.size()), xs, gs);
  }
};

struct Variance : VaryingOp, NoPoles {
  static constexpr std::string_view name = "variance", opcode = "eVariance",
                                    formula = "1/(n-1) sum (x_i - mean)^2";
  template <class T> static T value(const List<T>& xs) {
    return sumOfSquaredDeviations(xs) / countOf<T>(xs.size() - 1);
  }
  template <class T> static void vjp(T g, const List<T>& xs, Unread, const GradientList<T>& gs) {
    addDeviations((g + g) / countOf<T>(xs.size() - 1), xs, gs);
  }
};

/// The largest element, and 0 where that is infinite: what may be subtracted before exp.
template <class T> T shiftOf(const List<T>& xs) {
  T buffer[1];
  T largest = *ListReader<T>(xs).next(1, buffer);
  kernels::forEach(xs, [&](std::size_t, const T& x) { largest = select(x > largest, x, largest); });
  return select(largest - largest == T{0}, largest, T{0});
}
template <class T> T sumOfExp(const List<T>& xs, T shift) {
  return kernels::sumEach(xs, [shift](std::size_t, const T& x) { return exp(x - shift); });
}

struct LogSumExp : VaryingOp, NoPoles {
  static constexpr std::string_view name = "logSumExp", opcode = "eLogSumExp", formula = "log sum exp(x_i)";
  template <class T> static T value(const List<T>& xs) {
    const T shift = shiftOf(xs);
    return shift + log(sumOfExp(xs, shift));
  }
  template <class T> static void vjp(T g, const List<T>& xs, T y, const GradientList<T>& gs) {
    kernels::accumulateEach(gs, xs, [g, y](std::size_t, const T& x) { return g * exp(x - y); });
  }
};

struct CrossEntropy : IndexedVaryingOp, NoPoles {
  static constexpr std::string_view name = "crossEntropy", opcode = "eCrossEntropy",
                                    formula = "log sum exp(x_i) - x_target";
  template <class T> static T value(const List<T>& xs, std::size_t target) {
    const T shift = shiftOf(xs);
    T wanted = shift;
    kernels::forEach(xs, [&](std::size_t i, const T& x) {
      if (i == target) wanted = x;
    });
    return log(sumOfExp(xs, shift)) + (shift - wanted);
  }
  template <class T>
  static void vjp(T g, const List<T>& xs, Unread, const GradientList<T>& gs, std::size_t target) {
    const T shift = shiftOf(xs);
    const T total = sumOfExp(xs, shift);
    kernels::accumulateEach(gs, xs, [&](std::size_t i, const T& x) {
      const T probability = exp(x - shift) / total;
      return g * (i == target ? probability - T{1} : probability);
    });
  }
};

struct InnerProductNoBias : PairOp, NoPoles {
  static constexpr std::string_view name = "innerProduct", opcode = "eInnerProductNoBias",
                                    formula = "sum x_i y_i";
  template <class T> static T value(const List<T>& xs, const List<T>& ys) {
    return kernels::sum([](auto& s, const auto& x, const auto& y) { s = s + x * y; }, xs, ys);
  }
  template <class T>
  static void vjp(T g, const List<T>& xs, const List<T>& ys, const GradientList<T>& gx,
                  const GradientList<T>& gy) {
    const auto addScaled = [g](auto& to, const auto& other) { to = to + g * other; };
    if (gx.base != nullptr) kernels::accumulate(gx, ys, addScaled);
    if (gy.base != nullptr) kernels::accumulate(gy, xs, addScaled);
  }
};

struct InnerProductWithBias : InnerProductNoBias {
  static constexpr std::string_view name = "innerProductWithBias", opcode = "eInnerProductWithBias",
                                    formula = "sum x_i y_i + b";
  static constexpr bool hasBias = true;
};

/// Running products: y_i = x_1 ... x_i. The last one is reduceMul. With the products before each x_i at hand the
/// gradient takes one pass and no division, so zeros in the list are nothing special.
struct MulVarying : BlockOp, NoPoles {
  static constexpr std::string_view name = "reduceMul", opcode = "eMulVarying", formula = "product x_i";
  template <class T> static void value(const List<T>& xs, T* y) {
    kernels::forEach(xs, [&](std::size_t i, const T& x) { y[i] = i == 0 ? x : y[i - 1] * x; });
  }
  /// The last product alone.
  template <class T> static T product(const List<T>& xs) {
    T product{1};
    kernels::forEach(xs, [&](std::size_t i, const T& x) { product = i == 0 ? x : product * x; });
    return product;
  }
  template <class T> static void vjp(const T* g, const List<T>& xs, const T* y, const GradientList<T>& gs) {
    ListBackwards values(xs.shape), targets(gs.shape);
    T arriving = g[xs.size() - 1];
    for (std::size_t i = xs.size(); i-- > 0;) {
      const T x = xs.base[values.next()];
      const std::size_t to = targets.next();
      if (i == 0) return gs.add(to, arriving);
      gs.add(to, arriving * y[i - 1]);
      arriving = arriving * x + g[i - 1];
    }
  }
};

struct Softmax : BlockOp, NoPoles {
  static constexpr std::string_view name = "softmax", opcode = "eSoftmax",
                                    formula = "exp(x_i) / sum exp(x_j)";
  template <class T> static void value(const List<T>& xs, T* y) {
    const T shift = shiftOf(xs);
    const T total = sumOfExp(xs, shift);
    kernels::forEach(xs, [&](std::size_t i, const T& x) { y[i] = exp(x - shift) / total; });
  }
  template <class T> static void vjp(const T* g, const List<T>& xs, const T* y, const GradientList<T>& gs) {
    const auto shape = ListShape::contiguous(xs.size());
    const T mean = InnerProductNoBias::value(List<T>{g, shape}, List<T>{y, shape});
    kernels::accumulateEach(gs, xs, [&](std::size_t i, const T&) { return y[i] * (g[i] - mean); });
  }
};

}  // namespace ops
}  // namespace burtorch::inline BURTORCH_TARGET
