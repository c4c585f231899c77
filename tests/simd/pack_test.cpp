// Packs: every lane has the bits of the same computation on a pack of nothing but its number, and on the plain number. The
// latter but for exp, tanh, sin and the like, where packs and the C library round differently.
#include "burtorch/simd/pack.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string_view>

#include "burtorch/ops/dual.hpp"
#include "burtorch/ops/op_list.hpp"
#include "reference/pack_functions.hpp"
#include "reference/ulps.hpp"

namespace pack_test {

using namespace burtorch;

template <class T> const std::vector<T>& points() {
  using Limits = std::numeric_limits<T>;
  static const std::vector<T> all{T(0.3),
                                  T(-0.7),
                                  T(1.9),
                                  T(-2.6),
                                  T(0),
                                  T(-0.0),
                                  T(40.5),
                                  T(-51),
                                  Limits::infinity(),
                                  -Limits::infinity(),
                                  Limits::quiet_NaN(),
                                  Limits::denorm_min(),
                                  Limits::max(),
                                  Limits::min(),
                                  T(1),
                                  T(-1)};
  return all;
}

template <class P> P packFrom(std::size_t first) {
  P pack(0);
  for (std::size_t i = 0; i < P::count; ++i)
    pack.set(i, points<PlainOf<P>>()[(first + i) % points<PlainOf<P>>().size()]);
  return pack;
}

/// How many ulp a lane may differ from a pack of nothing but its number, and from the plain number.
struct Allowed {
  int alone = 0, plain = 0;
};
constexpr Allowed same{};
/// At these points, where one of packs and plain numbers calls exp or tanh, and where products are summed. With fused operations
/// compilers choose which product to fuse, each time they inline the sum.
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
constexpr Allowed fused{.alone = 4, .plain = 4};
#else
constexpr Allowed fused{.plain = 1};
#endif

/// `rule` of packs, of packs of one number and of plain numbers.
template <class Rule, class P, class... Packs>
void checkLanes(std::string_view name, Allowed ulps, Rule rule, const P& x, const Packs&... others) {
  using T = PlainOf<P>;
  const P found = rule(x, others...);
  for (std::size_t i = 0; i < P::count; ++i) {
    const T alone = rule(P(x[i]), P(others[i])...)[0], plain = rule(x[i], others[i]...);
    EXPECT_LE(ulps::between(found[i], alone), T(ulps.alone))
        << name << " in lane " << i << " gives " << found[i] << " instead of " << alone;
    EXPECT_LE(ulps::between(found[i], plain), T(ulps.plain))
        << name << " of a pack gives " << found[i] << ", of a number " << plain;
  }
}
template <class Rule, class P, class... Packs>
void checkLanes(std::string_view name, Rule rule, const P& x, const Packs&... others) {
  checkLanes(name, same, rule, x, others...);
}

/// Value and slopes of one operator, on packs and on their lanes.
template <class Op, class P> void checkOperator() {
  using T = PlainOf<P>;
  const Allowed ofValue{.plain = packs::isOwnValue(Op::name) ? packs::ulpsOf(Op::name) : 0};
  const Allowed ofSlope{.plain = packs::isOwnSlope(Op::name) ? packs::ulpsOf(Op::name) : 0};
  for (std::size_t first = 0; first < points<T>().size(); ++first) {
    const P x = packFrom<P>(first), y = packFrom<P>(first + 3), g = packFrom<P>(first + 7);
    if constexpr (Op::arity == Arity::unary) {
      checkLanes(
          Op::name, ofValue, [](auto a) { return apply<Op>(a); }, x);
      checkLanes(
          Op::name, ofSlope, []<class X>(X h, X a, X b) -> X { return Op::vjp(h, a, b); }, g, x, y);
    } else if constexpr (Op::arity == Arity::constant) {
      const T c = T(1.5);
      checkLanes(
          Op::name, [c](auto a) { return applyConstant<Op>(a, c); }, x);
      checkLanes(
          Op::name, [c]<class X>(X h, X a, X b) -> X { return Op::vjp(h, a, c, b); }, g, x, y);
    } else if constexpr (Op::arity == Arity::binary) {
      checkLanes(
          Op::name, [](auto a, auto b) { return apply<Op>(a, b); }, x, y);
      checkLanes(
          Op::name, []<class X>(X h, X a, X b) -> X { return Op::vjpX(h, a, b, a); }, g, x, y);
      checkLanes(
          Op::name, []<class X>(X h, X a, X b) -> X { return Op::vjpY(h, a, b, a); }, g, x, y);
    }
  }
}

template <class P> class PackOf : public testing::Test {};
using Packs = testing::Types<Pack<double>, Pack<float>>;
TYPED_TEST_SUITE(PackOf, Packs);

TYPED_TEST(PackOf, EveryScalarOperatorHasTheBitsOfItsLanes) {
  OpList::forEach([]<class Op>() { checkOperator<Op, TypeParam>(); });
}

TYPED_TEST(PackOf, ArithmeticWithConstantsOnEitherSide) {
  using T = PlainOf<TypeParam>;
  const TypeParam x = packFrom<TypeParam>(0);
  checkLanes(
      "x + c", [](auto a) { return a + T(3); }, x);
  checkLanes(
      "c - x", [](auto a) { return T(0.5) - a; }, x);
  checkLanes(
      "x - c", [](auto a) { return a - T(0.25); }, x);
  checkLanes(
      "c * x", [](auto a) { return T(3) * a; }, x);
  checkLanes(
      "x / c", [](auto a) { return a / T(7); }, x);
  checkLanes(
      "c / x", [](auto a) { return T(7) / a; }, x);
  checkLanes(
      "in place",
      [](auto a) {
        auto sum = a;
        sum += a;
        sum *= T(2);
        return sum;
      },
      x);
}
TYPED_TEST(PackOf, ConstantsOfOtherTypesBecomeTheLanesType) {
  using T = PlainOf<TypeParam>;
  const TypeParam x = packFrom<TypeParam>(0);
  for (std::size_t i = 0; i < TypeParam::count; ++i) {  // a wide pack reaches the NaN, which equals no number
    EXPECT_EQ(ulps::between((x + 3)[i], x[i] + T(3)), 0) << x[i];
    EXPECT_EQ(ulps::between((0.3 - x)[i], T(0.3) - x[i]), 0) << x[i];
    EXPECT_EQ(ulps::between((x / 7.0)[i], x[i] / T(7)), 0) << x[i];
  }
}

TYPED_TEST(PackOf, ComparisonsSelectLaneByLane) {
  using T = PlainOf<TypeParam>;
  for (std::size_t first = 0; first < points<T>().size(); ++first) {
    const TypeParam x = packFrom<TypeParam>(first), y = packFrom<TypeParam>(first + 5);
    checkLanes(
        "<", [](auto a, auto b) { return select(a < b, a, b); }, x, y);
    checkLanes(
        "<=", [](auto a, auto b) { return select(a <= b, a, b); }, x, y);
    checkLanes(
        ">", [](auto a, auto b) { return select(a > b, a, b); }, x, y);
    checkLanes(
        ">=", [](auto a, auto b) { return select(a >= b, a, b); }, x, y);
    checkLanes(
        "==", []<class X>(X a, X b) { return select(a == b, a, X(9)); }, x, y);
    checkLanes(
        "!=", []<class X>(X a, X b) { return select(a != b, a, X(9)); }, x, y);
    checkLanes(
        "!", [](auto a, auto b) { return select(!(a < b), a, b); }, x, y);
    checkLanes(
        "&&", []<class X>(X a, X b) { return select(a < b && a > X(0), a, b); }, x, y);
    checkLanes(
        "||", []<class X>(X a, X b) { return select(a < b || a > X(0), a, b); }, x, y);
  }
}

TYPED_TEST(PackOf, LoadsStoresAndSums) {
  using T = PlainOf<TypeParam>;
  T numbers[TypeParam::count + 1];
  for (std::size_t i = 0; i < std::size(numbers); ++i) numbers[i] = T(i) + T(0.5);
  const auto pack = TypeParam::load(numbers + 1);
  T back[TypeParam::count];
  pack.store(back);
  T sum = 0;
  for (std::size_t i = 0; i < TypeParam::count; ++i) {
    EXPECT_EQ(back[i], numbers[i + 1]);
    sum += numbers[i + 1];
  }
  EXPECT_EQ(sumOfLanes(pack), sum);
  EXPECT_EQ(sumOfLanes(pack, 1), numbers[1]);
}

TYPED_TEST(PackOf, DualNumbersOfPacks) {
  const auto f = [](auto x) {
    return relu(x * 3.0 - 1) + sigmoid(x) * tanh(x) / 2 + max(x, 0.5) + pow(x, 3) + abs(x);
  };
  const TypeParam x = packFrom<TypeParam>(0), v = packFrom<TypeParam>(1);
  checkLanes(
      "value", fused, [f]<class X>(X a, X b) { return f(Dual<X>(a, b)).value; }, x, v);
  checkLanes(
      "tangent", fused, [f]<class X>(X a, X b) { return f(Dual<X>(a, b)).tangent; }, x, v);
}

}  // namespace pack_test
