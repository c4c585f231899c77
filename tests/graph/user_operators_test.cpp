// Operators of the user's own in compile-time graphs: of each kind, and with rules that look at any part of what they are
// offered. What a rule does not look at is not computed, so a rule that looks at it must find it.
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <string_view>

#include "graph/modes.hpp"
#include "reference/user_operators.hpp"

namespace mine {

using burtorch::Unread;

// f(x) = x^3 + x in all the ways to write its slope.
struct Bump : burtorch::UnaryOp {
  template <class T> static constexpr T value(T x) { return x * x * x + x; }
};
struct BumpByX : Bump {
  static constexpr std::string_view name = "bumpByX";
  template <class T> static constexpr T vjp(T g, T x, Unread) { return g * (x * x * T{3} + T{1}); }
};
struct BumpByBoth : Bump {
  static constexpr std::string_view name = "bumpByBoth";
  template <class T> static constexpr T vjp(T g, T x, T y) { return g * (y / x * T{3} - T{2}); }
};
/// exp, whose slope is its value.
struct Grow : burtorch::UnaryOp {
  static constexpr std::string_view name = "grow";
  template <class T> static T value(T x) {
    using std::exp;
    return exp(x);
  }
  template <class T> static T vjp(T g, Unread, T y) { return g * y; }
};
struct Double : burtorch::UnaryOp {
  static constexpr std::string_view name = "double";
  template <class T> static constexpr T value(T x) { return x + x; }
  template <class T> static constexpr T vjp(T g, Unread, Unread) { return g + g; }
};

/// x^2, with a rule that leaves the type of each parameter open: none of them is Unread, so all are looked at.
struct Loose : burtorch::UnaryOp {
  static constexpr std::string_view name = "loose";
  template <class T> static constexpr T value(T x) { return x * x; }
  template <class G, class X, class Y> static constexpr G vjp(G g, X x, Y y) { return g * (x + y / x); }
};
/// The sign, with the slope of x itself: a straight-through estimator, whose slope no formula of the value gives.
struct Sign : burtorch::UnaryOp {
  static constexpr std::string_view name = "sign";
  template <class T> static constexpr T value(T x) {
    using burtorch::select;
    return select(x < T{0}, T{-1}, T{1});
  }
  template <class T> static constexpr T vjp(T g, Unread, Unread) { return g; }
};

// Each slope of these, and of Hypotenuse, looks at something else.
/// x^2 - x y
struct Saddle : burtorch::BinaryOp {
  static constexpr std::string_view name = "saddle";
  template <class T> static constexpr T value(T x, T y) { return x * x - x * y; }
  template <class T> static constexpr T vjpX(T g, T x, T y, Unread) { return g * (x + x - y); }
  template <class T> static constexpr T vjpY(T g, T x, Unread, Unread) { return -(g * x); }
};
/// 2 x + 3 y
struct Blend : burtorch::BinaryOp {
  static constexpr std::string_view name = "blend";
  template <class T> static constexpr T value(T x, T y) { return x * T{2} + y * T{3}; }
  template <class T> static constexpr T vjpX(T g, Unread, Unread, Unread) { return g * T{2}; }
  template <class T> static constexpr T vjpY(T g, Unread, Unread, Unread) { return g * T{3}; }
};

/// c x^2
struct Parabola : burtorch::ConstantOp {
  static constexpr std::string_view name = "parabola";
  template <class T, class C> static constexpr T value(T x, C c) { return x * x * c; }
  template <class T, class C> static constexpr T vjp(T g, T x, C c, Unread) { return g * (x + x) * c; }
};
/// c / x
struct Under : burtorch::ConstantOp {
  static constexpr std::string_view name = "under";
  template <class T, class C> static constexpr T value(T x, C c) { return c / x; }
  template <class T, class C> static constexpr T vjp(T g, Unread, C c, T y) { return -(g * y * y) / c; }
};

struct RootMeanSquare : burtorch::VaryingOp {
  static constexpr std::string_view name = "rootMeanSquare";
  template <class T> static T value(const burtorch::List<T>& xs) {
    using std::sqrt;
    return sqrt(burtorch::ops::MeanSquaresVarying::value(xs));
  }
  template <class T>
  static void vjp(T g, const burtorch::List<T>& xs, T y, const burtorch::GradientList<T>& gs) {
    const T scale = g / (y * burtorch::ops::countOf<T>(xs.size()));
    burtorch::kernels::accumulate(gs, xs, [scale](auto& to, const auto& x) { to = to + scale * x; });
  }
};

}  // namespace mine

namespace user_operators_test {

using burtorch::apply;
using burtorch::applyConstant;
using burtorch::applyToList;
using burtorch::compile;
using modes::expectAllModesAgree;

// The operands and the result are computed for these operators alone: nothing else asks for them.
TEST(GraphUserOperators, OfOneNumberBySlopeOfX) {
  constexpr auto f = [](auto x) { return apply<mine::BumpByX>(x * 0.5); };
  EXPECT_EQ(compile(f).grad(3.0), 0.5 * 7.75);
  expectAllModesAgree(f, 0.7);
  expectAllModesAgree(f, 0.7f);
}
TEST(GraphUserOperators, OfOneNumberBySlopeOfXAndY) {
  constexpr auto f = [](auto x) { return apply<mine::BumpByBoth>(x * 0.5); };
  EXPECT_EQ(compile(f).grad(3.0), 0.5 * 7.75);
  expectAllModesAgree(f, 0.7);
}
TEST(GraphUserOperators, OfOneNumberBySlopeOfY) {
  constexpr auto f = [](auto x) { return apply<mine::Grow>(x * 0.5); };
  EXPECT_EQ(compile(f).grad(0.0), 0.5);
  expectAllModesAgree(f, 0.7);
  expectAllModesAgree(f, 0.7f);
}
TEST(GraphUserOperators, OfOneNumberByAConstantSlope) {
  constexpr auto f = [](auto x) { return apply<mine::Double>(x * x); };
  EXPECT_EQ(compile(f).grad(1.5), 6.0);
  expectAllModesAgree(f, 0.7);
}
TEST(GraphUserOperators, OfOneNumberByASlopeOfOpenTypes) {
  constexpr auto f = [](auto x) { return apply<mine::Loose>(x * 0.5); };
  EXPECT_EQ(compile(f).grad(3.0), 1.5);
  expectAllModesAgree(f, 0.7);
}
TEST(GraphUserOperators, OfTwoNumbersByOneOfThemAndTheResult) {
  constexpr auto f = [](auto x, auto y) { return apply<mine::Hypotenuse>(x * 0.5, y * 2.0); };
  EXPECT_EQ(compile(f).grad(6.0, 2.0), (std::array{0.3, 1.6}));
  EXPECT_EQ(compile(f).grad<0>(6.0, 2.0), 0.3);
  EXPECT_EQ(compile(f).grad<1>(6.0, 2.0), 1.6);
  expectAllModesAgree(f, 0.7, -0.4);
  expectAllModesAgree(f, 0.7f, -0.4f);
}
TEST(GraphUserOperators, OfTwoNumbersByTheNumbers) {
  constexpr auto f = [](auto x, auto y) { return apply<mine::Saddle>(x * 0.5, y * 2.0); };
  EXPECT_EQ(compile(f).grad(3.0, 0.5), (std::array{1.0, -3.0}));
  EXPECT_EQ(compile(f).grad<0>(3.0, 0.5), 1.0);
  EXPECT_EQ(compile(f).grad<1>(3.0, 0.5), -3.0);
  expectAllModesAgree(f, 0.7, -0.4);
}
TEST(GraphUserOperators, OfTwoNumbersByNothing) {
  constexpr auto f = [](auto x, auto y) { return apply<mine::Blend>(x * x, y); };
  EXPECT_EQ(compile(f).grad(1.5, 0.7), (std::array{6.0, 3.0}));
  expectAllModesAgree(f, 0.7, -0.4);
}
TEST(GraphUserOperators, OfTheSameNumberTwice) {
  expectAllModesAgree([](auto x) { return apply<mine::Hypotenuse>(x, x); }, 0.7);
  expectAllModesAgree([](auto x) { return apply<mine::Saddle>(x, x); }, 0.7);
}
TEST(GraphUserOperators, OfANumberAndAConstantOfTheNumberType) {
  expectAllModesAgree([](auto x) { return apply<mine::Saddle>(x, decltype(x)(0.3f)); }, 0.7);
  expectAllModesAgree([](auto x) { return apply<mine::Saddle>(decltype(x)(0.3f), x); }, 0.7);
}
TEST(GraphUserOperators, WithAConstantBySlopeOfX) {
  constexpr auto f = [](auto x) { return applyConstant<mine::Parabola>(x * 0.5, 1.7); };
  expectAllModesAgree(f, 0.7);
  expectAllModesAgree(f, 0.7f);
}
TEST(GraphUserOperators, WithAConstantBySlopeOfY) {
  constexpr auto f = [](auto x) { return applyConstant<mine::Under>(x * 0.5, 1.7); };
  expectAllModesAgree(f, 0.7);
  expectAllModesAgree(f, 0.7f);
}
TEST(GraphUserOperators, OfAListInPlace) {
  constexpr auto f = [](const auto& x) { return applyToList<mine::RootMeanSquare>(x); };
  expectAllModesAgree(f, std::array{0.7, -0.3, 1.2, 0.4, -1.1});
  expectAllModesAgree(f, std::array{0.7f, -0.3f, 1.2f, 0.4f, -1.1f});
}
TEST(GraphUserOperators, OfAListFromEverywhere) {
  constexpr auto f = [](const auto& x, auto a) {
    const auto product = a * x[1];
    return applyToList<mine::RootMeanSquare>(std::array{product, x[0], a, decltype(a)(0.3f), x[0]}) * a;
  };
  expectAllModesAgree(f, std::array{0.7, -0.3}, 1.2);
}
TEST(GraphUserOperators, OfConstantsAreConstants) {
  constexpr auto f = compile([](auto x) {
    using X = decltype(x);
    return x * apply<mine::BumpByX>(X(2.0)) * apply<mine::Saddle>(X(3.0), X(1.0)) *
           applyConstant<mine::Under>(X(2.0), 5);
  });
  static_assert(f.nodeCount<double> == 6);  // three products and three constants
  EXPECT_EQ(f.grad(0.7), 10 * 6 * 2.5);
}

constexpr auto mixture = [](auto a, auto b, auto c) {
  const auto d = apply<mine::Grow>(a * b);
  const auto e = apply<mine::Hypotenuse>(d, burtorch::sigmoid(c));
  const auto f = applyConstant<mine::Parabola>(e + a, 1.7);
  return applyToList<mine::RootMeanSquare>(std::array{d, e, f, b});
};
TEST(GraphUserOperators, AllKindsInOneFunction) { expectAllModesAgree(mixture, 0.7, -0.4, 1.9); }
TEST(GraphUserOperators, HaveHessians) {
  const std::array x{0.7, -0.4, 1.9}, v{1.0, -2.0, 0.5};
  std::array<double, 3> want{};
  const auto ofSpan = [](auto y) { return mixture(y[0], y[1], y[2]); };
  burtorch::hvp<double>(ofSpan, x, v, want);
  const auto got = compile(mixture).hvp(x[0], x[1], x[2], v[0], v[1], v[2]);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(got[i], want[i]) << i;
}
TEST(GraphUserOperators, HaveHessiansByTheirSlopes) {
  constexpr auto f = [](auto x) { return sqr(apply<mine::Sign>(x) * 1.5); };
  const std::array x{0.7}, v{1.0};
  std::array<double, 1> want{};
  burtorch::hvp<double>([&](auto y) { return f(y[0]); }, x, v, want);
  EXPECT_EQ(want[0], 4.5);
  EXPECT_EQ(compile(f).hvp(0.7, 1.0), 4.5);
}
TEST(GraphUserOperators, GoThroughBatches) {
  std::array<double, 7> a{0.7, -0.3, 1.2, 0.4, -1.1, 0.2, 0.9}, b{0.1, 0.5, -0.6, 1.3, 0.8, -0.2, 0.3}, c = b;
  std::array<double, 7> ga{}, gb{}, gc{};
  compile(mixture).gradBatch(a, b, c, ga, gb, gc);
  for (std::size_t i = 0; i < 7; ++i) {
    SCOPED_TRACE(i);
    const std::array<double, 1> x{a[i]}, y{b[i]}, z{c[i]};
    std::array<double, 1> gx{}, gy{}, gz{};
    compile(mixture).gradBatch(x, y, z, gx, gy, gz);
    EXPECT_EQ((std::array{ga[i], gb[i], gc[i]}), (std::array{gx[0], gy[0], gz[0]}));
    // The exp of a pack is not that of the C library; a few roundings come of it.
    const auto plain = compile(mixture).grad(a[i], b[i], c[i]);
    EXPECT_NEAR(ga[i], plain[0], 2e-15 * std::abs(plain[0]));
    EXPECT_NEAR(gb[i], plain[1], 2e-15 * std::abs(plain[1]));
    EXPECT_NEAR(gc[i], plain[2], 2e-15 * std::abs(plain[2]));
  }
}

// Operators of two lists and of blocks: nothing in a compile-time graph names them, their arity tells.
struct Distance : burtorch::PairOp {
  static constexpr std::string_view name = "squaredDistance";
  template <class T> static T value(const burtorch::List<T>& xs, const burtorch::List<T>& ys) {
    return burtorch::kernels::sum([](auto& s, const auto& x, const auto& y) { s = s + (x - y) * (x - y); },
                                  xs, ys);
  }
  template <class T>
  static void vjp(T g, const burtorch::List<T>& xs, const burtorch::List<T>& ys,
                  const burtorch::GradientList<T>& gx, const burtorch::GradientList<T>& gy) {
    burtorch::ListWalker x(xs.shape), y(ys.shape), toX(gx.shape), toY(gy.shape);
    for (std::size_t i = 0; i < xs.size(); ++i) {
      const T slope = (g + g) * (xs.base[x.next(1).first] - ys.base[y.next(1).first]);
      const auto atX = toX.next(1).first, atY = toY.next(1).first;
      if (gx.base != nullptr) gx.base[atX] = gx.base[atX] + slope;
      if (gy.base != nullptr) gy.base[atY] = gy.base[atY] - slope;
    }
  }
};
struct Squares : burtorch::BlockOp {
  static constexpr std::string_view name = "squares";
  template <class T> static void value(const burtorch::List<T>& xs, T* y) {
    burtorch::kernels::forEach(xs, [&](std::size_t i, const T& x) { y[i] = x * x; });
  }
  template <class T>
  static void vjp(const T* g, const burtorch::List<T>& xs, const T*, const burtorch::GradientList<T>& gs) {
    burtorch::kernels::accumulateEach(gs, xs, [&](std::size_t i, const T& x) { return g[i] * (x + x); });
  }
};

constexpr auto ofLists = [](const auto& x, const auto& y, auto a) {
  using X = std::remove_cvref_t<decltype(a)>;
  using Lists = burtorch::detail::ListMode<X>;
  const auto squares = Lists::template block<Squares>(x);
  const std::array mixed{squares[2], a * a, y[1], squares[0]};
  return Lists::template pair<Distance>(x, y) *
         Lists::template pair<Distance>(mixed, std::array{a, x[1], y[0], a});
};
TEST(GraphUserOperators, OfTwoListsAndOfBlocksAreKnownByTheirArity) {
  const std::array x{0.75, -1.25, 0.5}, y{0.25, 2.0, -0.5};
  burtorch::Tape<double> tape;
  burtorch::CurrentTape here(tape);
  using V = burtorch::Value<double>;
  const std::array vx{V(x[0]), V(x[1]), V(x[2])}, vy{V(y[0]), V(y[1]), V(y[2])};
  const V a(1.5);
  const auto root = ofLists(vx, vy, a);
  backward(root);
  const auto f = compile(ofLists);
  const auto [value, gradient] = f.valueAndGrad(x, y, 1.5);
  EXPECT_EQ(value, root.dataCopy());
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_DOUBLE_EQ(std::get<0>(gradient)[i], vx[i].gradCopy()) << i;
    EXPECT_DOUBLE_EQ(std::get<1>(gradient)[i], vy[i].gradCopy()) << i;
  }
  EXPECT_DOUBLE_EQ(std::get<2>(gradient), a.gradCopy());
}

}  // namespace user_operators_test
