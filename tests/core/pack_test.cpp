// Packs: every lane has the bits of the same computation on its number alone.
#include "burtorch/core/pack.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "burtorch/core/dual.hpp"
#include "burtorch/core/op_list.hpp"

namespace {

using namespace burtorch;

template <class T> bool isSame(T a, T b) {
  return a == b ? std::signbit(a) == std::signbit(b) : a != a && b != b;
}

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

template <class P, class Rule, class... Packs>
void expectLanes(std::string_view name, const P& found, Rule rule, const Packs&... operands) {
  for (std::size_t i = 0; i < P::count; ++i)
    EXPECT_TRUE(isSame(found[i], rule(operands[i]...)))
        << name << " in lane " << i << " gives " << found[i] << " instead of " << rule(operands[i]...);
}

/// Value and slopes of one operator, on packs and on their lanes.
template <class Op, class P> void checkOperator() {
  using T = PlainOf<P>;
  for (std::size_t first = 0; first < points<T>().size(); ++first) {
    const P x = packFrom<P>(first), y = packFrom<P>(first + 3), g = packFrom<P>(first + 7);
    if constexpr (Op::arity == Arity::unary) {
      expectLanes(
          Op::name, apply<Op>(x), [](T a) { return apply<Op>(a); }, x);
      expectLanes(
          Op::name, P(Op::slope(g, x, y)), [](T h, T a, T b) -> T { return Op::slope(h, a, b); }, g, x, y);
    } else if constexpr (Op::arity == Arity::constant) {
      const T c = T(1.5);
      expectLanes(
          Op::name, applyConstant<Op>(x, c), [c](T a) { return applyConstant<Op>(a, c); }, x);
      expectLanes(
          Op::name, P(Op::slope(g, x, c, y)), [c](T h, T a, T b) -> T { return Op::slope(h, a, c, b); }, g, x,
          y);
    } else if constexpr (Op::arity == Arity::binary) {
      expectLanes(
          Op::name, apply<Op>(x, y), [](T a, T b) { return apply<Op>(a, b); }, x, y);
      expectLanes(
          Op::name, P(Op::slopeX(g, x, y, x)), [](T h, T a, T b) -> T { return Op::slopeX(h, a, b, a); }, g,
          x, y);
      expectLanes(
          Op::name, P(Op::slopeY(g, x, y, x)), [](T h, T a, T b) -> T { return Op::slopeY(h, a, b, a); }, g,
          x, y);
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
  expectLanes(
      "x + c", x + 3, [](T a) { return a + T(3); }, x);
  expectLanes(
      "c - x", 0.5 - x, [](T a) { return T(0.5) - a; }, x);
  expectLanes(
      "x - c", x - 0.25, [](T a) { return a - T(0.25); }, x);
  expectLanes(
      "c * x", 3 * x, [](T a) { return T(3) * a; }, x);
  expectLanes(
      "x / c", x / 7.0, [](T a) { return a / T(7); }, x);
  expectLanes(
      "c / x", 7.0 / x, [](T a) { return T(7) / a; }, x);
  TypeParam sum = x;
  sum += x;
  sum *= 2.0;
  expectLanes(
      "in place", sum, [](T a) { return (a + a) * T(2); }, x);
}

TYPED_TEST(PackOf, ComparisonsSelectLaneByLane) {
  using T = PlainOf<TypeParam>;
  for (std::size_t first = 0; first < points<T>().size(); ++first) {
    const TypeParam x = packFrom<TypeParam>(first), y = packFrom<TypeParam>(first + 5);
    expectLanes(
        "<", select(x < y, x, y), [](T a, T b) { return a < b ? a : b; }, x, y);
    expectLanes(
        "<=", select(x <= y, x, y), [](T a, T b) { return a <= b ? a : b; }, x, y);
    expectLanes(
        ">", select(x > y, x, y), [](T a, T b) { return a > b ? a : b; }, x, y);
    expectLanes(
        ">=", select(x >= y, x, y), [](T a, T b) { return a >= b ? a : b; }, x, y);
    expectLanes(
        "==", select(x == y, x, TypeParam(9)), [](T a, T b) { return a == b ? a : T(9); }, x, y);
    expectLanes(
        "!=", select(x != y, x, TypeParam(9)), [](T a, T b) { return a != b ? a : T(9); }, x, y);
    expectLanes(
        "!", select(!(x < y), x, y), [](T a, T b) { return !(a < b) ? a : b; }, x, y);
    expectLanes(
        "&&", select(x < y && x > TypeParam(0), x, y), [](T a, T b) { return a < b && a > 0 ? a : b; }, x, y);
    expectLanes(
        "||", select(x < y || x > TypeParam(0), x, y), [](T a, T b) { return a < b || a > 0 ? a : b; }, x, y);
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

TYPED_TEST(PackOf, WholePackQuestions) {
  using Traits = ScalarTraits<TypeParam>;
  using T = PlainOf<TypeParam>;
  TypeParam pack(1);
  EXPECT_FALSE(Traits::isNan(pack));
  EXPECT_TRUE(Traits::isFinite(pack));
  pack.set(TypeParam::count - 1, std::numeric_limits<T>::quiet_NaN());
  EXPECT_TRUE(Traits::isNan(pack));
  EXPECT_TRUE(Traits::isNan(TypeParam(1), pack));
  EXPECT_FALSE(Traits::isFinite(pack));
  EXPECT_TRUE(Traits::isZero(TypeParam(0)));
  EXPECT_FALSE(Traits::isZero(pack));
}

TYPED_TEST(PackOf, DualNumbersOfPacks) {
  using T = PlainOf<TypeParam>;
  const auto f = [](auto x) {
    return relu(x * 3.0 - 1) + sigmoid(x) * tanh(x) / 2 + max(x, 0.5) + pow(x, 3) + abs(x);
  };
  const TypeParam x = packFrom<TypeParam>(0), v = packFrom<TypeParam>(1);
  const auto found = f(Dual<TypeParam>(x, v));
  for (std::size_t i = 0; i < TypeParam::count; ++i) {
    const auto expected = f(Dual<T>(x[i], v[i]));
    EXPECT_TRUE(isSame(found.value[i], expected.value));
    EXPECT_TRUE(isSame(found.tangent[i], expected.tangent)) << found.tangent[i] << " " << expected.tangent;
  }
}

}  // namespace
