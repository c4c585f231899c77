// Packs beyond single operators: every number as a constant, operators with all kinds of constants, dual numbers of packs,
// lists of packs. Every lane has the bits of the same computation on a pack of nothing but its number, whatever its
// neighbours are; and on the plain number, but where that takes the C library's exp, tanh, sin and the like.
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "reference/pack_functions.hpp"
#include "reference/ulps.hpp"

namespace burtorch {
namespace pack_lanes_test {

template <class T> class Packs : public testing::Test {};
using Scalars = testing::Types<double, float>;
struct ScalarName {
  template <class T> static std::string GetName(int) { return sizeof(T) == 8 ? "fp64" : "fp32"; }
};
TYPED_TEST_SUITE(Packs, Scalars, ScalarName);

template <class T> bool areSameBits(T x, T y) {
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}

/// Generic numbers, zeros, denormals, the ends of the range, infinities and NaN; a whole number of packs.
template <class T> const std::vector<T>& numbers() {
  using Limits = std::numeric_limits<T>;
  static const std::vector<T> all = [] {
    std::vector<T> list{T(-2.3),
                        T(-0.4),
                        T(0.3),
                        T(0.7),
                        T(1.9),
                        T{1},
                        T{-1},
                        T{0},
                        T{-0.0},
                        Limits::denorm_min(),
                        -Limits::denorm_min(),
                        Limits::infinity(),
                        -Limits::infinity(),
                        Limits::quiet_NaN(),
                        Limits::min(),
                        T(-1e-20),
                        T(1e20),
                        Limits::max(),
                        -Limits::max(),
                        T(88.7)};
    while (list.size() % Pack<T>::count != 0) list.push_back(T(0.55));
    return list;
  }();
  return all;
}

/// Calls `check(x, y)` with packs of all pairs of numbers; neighbours in y are not neighbours in x.
template <class T, class Check> void forEachPack(Check check) {
  const auto& all = numbers<T>();
  for (std::size_t shift = 0; shift < all.size(); ++shift)
    for (std::size_t first = 0; first < all.size(); first += Pack<T>::count) {
      Pack<T> y;
      for (std::size_t i = 0; i < Pack<T>::count; ++i) y.set(i, all[(first + 7 * i + shift) % all.size()]);
      check(Pack<T>::load(all.data() + first), y);
    }
}
/// Each lane of `packed(x, y)` against `alone(x, y)` of that lane's numbers.
template <class T, class Packed, class Alone> void expectLanes(Packed packed, Alone alone) {
  forEachPack<T>([&](const Pack<T>& x, const Pack<T>& y) {
    const Pack<T> got = packed(x, y);
    for (std::size_t i = 0; i < Pack<T>::count; ++i) {
      const T want = alone(x[i], y[i]);
      EXPECT_TRUE(areSameBits(got[i], want))
          << "at " << x[i] << ", " << y[i] << ": " << got[i] << " instead of " << want;
    }
  });
}
/// The same function of packs and of numbers.
template <class T, class F> void expectSame(F f) { expectLanes<T>(f, f); }

// ---- what a pack is ----

TYPED_TEST(Packs, ANumberFillsAllLanes) {
  using T = TypeParam;
  for (const T number : numbers<T>())
    for (std::size_t i = 0; i < Pack<T>::count; ++i)
      EXPECT_TRUE(areSameBits(Pack<T>(number)[i], number)) << number;
  EXPECT_EQ(Pack<T>(3)[1], T{3});
  EXPECT_EQ(Pack<T>(0.25)[0], T{0.25});
}
TYPED_TEST(Packs, SetChangesOneLane) {
  using T = TypeParam;
  Pack<T> pack(T(1.5));
  pack.set(1, T(-2.5));
  for (std::size_t i = 0; i < Pack<T>::count; ++i) EXPECT_EQ(pack[i], i == 1 ? T(-2.5) : T(1.5));
}
TYPED_TEST(Packs, SumOfLanesGoesInOrder) {
  using T = TypeParam;
  Pack<T> pack(T(0.1));
  pack.set(0, T(1e7));
  T all = pack[0];
  for (std::size_t i = 1; i < Pack<T>::count; ++i) all += pack[i];
  EXPECT_EQ(sumOfLanes(pack), all);
  EXPECT_EQ(sumOfLanes(pack, 1), T(1e7));
  EXPECT_EQ(sumOfLanes(pack, 2), T(1e7) + T(0.1));
}

TYPED_TEST(Packs, AnyLane) {
  using T = TypeParam;
  Pack<T> pack(T(0.5));
  EXPECT_FALSE(any(pack > Pack<T>(1)));
  EXPECT_TRUE(any(pack < Pack<T>(1)));
  pack.set(Pack<T>::count - 1, T(1.5));
  EXPECT_TRUE(any(pack > Pack<T>(1)));
}
TYPED_TEST(Packs, TraitsLookAtEveryLane) {
  using T = TypeParam;
  using P = Pack<T>;
  using Traits = ScalarTraits<P>;
  const auto expectOnly = [](const PackMask<T, P::count>& mask, std::size_t lane, bool isInLane) {
    for (std::size_t i = 0; i < P::count; ++i) EXPECT_EQ(mask[i], (i == lane) == isInLane) << i;
    EXPECT_TRUE(any(mask));
    EXPECT_FALSE(all(mask));
  };
  for (std::size_t lane = 0; lane < P::count; ++lane) {
    P pack(T(0));
    EXPECT_TRUE(all(Traits::isZero(pack)));
    EXPECT_FALSE(any(Traits::isNan(pack)));
    EXPECT_FALSE(any(Traits::isUnreached(pack)));
    pack.set(lane, T{-0.0});
    expectOnly(Traits::isUnreached(pack), lane, true);
    expectOnly(Traits::isSame(pack, P(0)), lane, false);
    pack.set(lane, T(0.5));
    expectOnly(Traits::isZero(pack), lane, false);
    EXPECT_TRUE(all(Traits::isFinite(pack)));
    pack.set(lane, std::numeric_limits<T>::infinity());
    expectOnly(Traits::isFinite(pack), lane, false);
    EXPECT_FALSE(any(Traits::isNan(pack)));
    pack.set(lane, std::numeric_limits<T>::quiet_NaN());
    expectOnly(Traits::isNan(pack), lane, true);
    expectOnly(Traits::isNan(P(T(1)), pack), lane, true);
    expectOnly(Traits::isFinite(pack), lane, false);
    EXPECT_TRUE(all(Traits::isSame(pack, pack)));
  }
}

// ---- operators ----

constexpr double constants[] = {1.7, -2.3, 0.5, -0.5, 2.0, 3.0, 0.0, -0.0, -1.0};

TYPED_TEST(Packs, OperatorsWithConstants) {
  OpList::forEach([]<class Op>() {
    SCOPED_TRACE(std::string(Op::name));
    if constexpr (Op::arity == Arity::constant)
      for (const double constant : constants) {
        SCOPED_TRACE(constant);
        const auto c = static_cast<TypeParam>(constant);
        expectSame<TypeParam>([c](auto x, auto) { return applyConstant<Op>(x, c); });
        expectSame<TypeParam>([c](auto x, auto g) { return Op::vjp(g, x, c, applyConstant<Op>(x, c)); });
      }
  });
}

/// An operator whose value is a function of the C library.
struct CubeRoot : LibraryOp {
  static constexpr std::string_view name = "cubeRoot";
  template <class T> static T value(T x) { return std::cbrt(x); }
  template <class T> static T vjp(T g, Unread, T y) { return g / (y * y * T{3}); }
};
TYPED_TEST(Packs, OperatorsOfTheLibraryRunLaneByLane) {
  expectSame<TypeParam>([](auto x, auto) { return apply<CubeRoot>(x); });
}

/// Dual numbers of packs are what a batch of Hessians would carry: value and tangent of each lane.
template <class T, class Op> void testDual() {
  SCOPED_TRACE(std::string(Op::name));
  const auto run = [](auto x, auto g) {
    using X = decltype(x);
    const Dual<X> dual(x, g);
    if constexpr (Op::arity == Arity::unary)
      return apply<Op>(dual);
    else if constexpr (Op::arity == Arity::binary)
      return apply<Op>(dual, Dual<X>(g, X(T(0.7))));
    else
      return applyConstant<Op>(dual, 1.7);
  };
  // One ulp of y = tanh(0.7) makes three of 1 - y^2, one of y = sigmoid(1.9) six of y (1 - y).
  const bool isOwn = packs::isOwnValue(Op::name) || packs::isOwnSlope(Op::name);
  const T each = static_cast<T>(packs::ulpsOf(Op::name));
  const T inValue = packs::isOwnValue(Op::name) ? each : 0, inTangent = isOwn ? 6 * each : 0;
  forEachPack<T>([&](const Pack<T>& x, const Pack<T>& g) {
    const Dual<Pack<T>> got = run(x, g);
    for (std::size_t i = 0; i < Pack<T>::count; ++i) {
      SCOPED_TRACE(testing::Message() << "at " << x[i] << ", " << g[i]);
      const auto alone = run(Pack<T>(x[i]), Pack<T>(g[i]));
      EXPECT_TRUE(areSameBits(got.value[i], alone.value[0])) << got.value[i] << " " << alone.value[0];
      EXPECT_TRUE(areSameBits(got.tangent[i], alone.tangent[0])) << got.tangent[i] << " " << alone.tangent[0];
      const Dual<T> want = run(x[i], g[i]);
      EXPECT_LE(ulps::between(got.value[i], want.value), inValue) << got.value[i] << " " << want.value;
      EXPECT_LE(ulps::between(got.tangent[i], want.tangent), inTangent)
          << got.tangent[i] << " " << want.tangent;
    }
  });
}
TYPED_TEST(Packs, DualNumbersOfThem) {
  OpList::forEach([]<class Op>() {
    if constexpr (Op::arity == Arity::unary || Op::arity == Arity::binary || Op::arity == Arity::constant)
      testDual<TypeParam, Op>();
  });
}
TYPED_TEST(Packs, DualNumbersOfThemCompareAndChoose) {
  using T = TypeParam;
  expectSame<T>([](auto x, auto y) {
    const Dual<decltype(x)> a(x, y), b(y, x);
    return select(a < b, a * b, a - b).tangent;
  });
}

/// Sums over lists of packs have in every lane the bits of the sum of that lane's numbers; logSumExp within an ulp, and to
/// the bit that of packs of nothing but these numbers.
TYPED_TEST(Packs, SumsOfLists) {
  using T = TypeParam;
  for (const std::size_t count : {1u, 7u, 16u, 17u, 33u, 100u}) {
    std::vector<Pack<T>> packs(count);
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t i = 0; i < Pack<T>::count; ++i)
        packs[k].set(i, static_cast<T>(std::sin(static_cast<double>(k * 13 + i))));
    const Pack<T> sum = reduceSum(packs), exponentials = logSumExp(packs);
    for (std::size_t i = 0; i < Pack<T>::count; ++i) {
      std::vector<T> plain;
      std::vector<Pack<T>> alone;
      for (const auto& pack : packs) plain.push_back(pack[i]), alone.push_back(Pack<T>(pack[i]));
      EXPECT_EQ(sum[i], reduceSum(plain)) << count;
      EXPECT_EQ(exponentials[i], logSumExp(alone)[0]) << count;
      EXPECT_LE(ulps::between(exponentials[i], logSumExp(plain)), 1) << count;
    }
  }
}

}  // namespace pack_lanes_test
}  // namespace burtorch
