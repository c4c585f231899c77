// A default-constructed Value is the number 0, as T() is for every number type; only leaves can be set.
#include <gtest/gtest.h>

#include <array>
#include <complex>
#include <cstdint>
#include <string>
#include <vector>

#include "burtorch/burtorch.hpp"
#include "burtorch/nn/matrix.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace zero_value_test {

template <bool hasChecks> struct Checks {
  static constexpr Config config{.names = true, .checks = hasChecks};
};

/// x y + z
struct MultiplyAdd : TernaryOp {
  static constexpr std::string_view name = "multiplyAdd";
  template <class T> static constexpr T value(T x, T y, T z) { return x * y + z; }
  template <class T> static constexpr T vjpX(T g, Unread, T y, Unread, Unread) { return g * y; }
  template <class T> static constexpr T vjpY(T g, T x, Unread, Unread, Unread) { return g * x; }
  template <class T> static constexpr T vjpZ(T g, Unread, Unread, Unread, Unread) { return g; }
};

template <class S> class ZeroValue : public testing::Test {
 protected:
  using TapeT = Tape<double, S::config>;
  using ValueT = Value<double, S::config>;
  TapeT tape;
  CurrentTape<double, S::config> here{tape};
};
using Settings = testing::Types<Checks<false>, Checks<true>>;
TYPED_TEST_SUITE(ZeroValue, Settings);

TYPED_TEST(ZeroValue, IsZeroWithoutANode) {
  const typename TestFixture::ValueT z;
  EXPECT_EQ(z.dataCopy(), 0.0);
  EXPECT_EQ(z.gradCopy(), 0.0);
  EXPECT_EQ(z.name(), "");
  EXPECT_TRUE(z == 0.0 && z < 1.0);
  EXPECT_EQ(asString(z), "default-constructed, data 0, no node");
  backward(z);
  EXPECT_EQ(this->tape.size(), 0u);
  EXPECT_NE(sentenceOf([&] { z.sysGetRawNodeIndex(); }), "");
}

TYPED_TEST(ZeroValue, IsAnOperandOfEveryKind) {
  using V = typename TestFixture::ValueT;
  const V a(1.5), z;
  const std::array results{z + a, a - z, z * a, z / a, exp(z), z * 3.0, 2.5 - z, max(z, a), z + z};
  const std::array expected{1.5, 1.5, 0.0, 0.0, 1.0, 0.0, 2.5, 1.5, 0.0};
  for (std::size_t i = 0; i < results.size(); ++i) EXPECT_EQ(results[i].dataCopy(), expected[i]) << i;
  backward(results);
  EXPECT_EQ(a.gradCopy(), 1 + 1 + 0 + 0 + 1);
}

TYPED_TEST(ZeroValue, IsAnElementOfLists) {
  using V = typename TestFixture::ValueT;
  const V a(1.5), b(-0.5);
  std::vector<V> v(4);
  v[1] = a;
  v[3] = b;
  V sum;
  for (const V& x : v) sum += x;
  const V all = sum + reduceSum(v) + reduceSum(std::vector<V>(3)) + innerProduct(v, v) +
                innerProductWithBias(std::array{a, V()}, std::array{V(), b}, V()) +
                reduceMul(std::array{V(), a});
  EXPECT_EQ(all.dataCopy(), 1.0 + 1.0 + 0 + 2.5 + 0 + 0);
  backward(all);
  EXPECT_EQ(a.gradCopy(), 1 + 1 + 2 * 1.5);
  EXPECT_EQ(softmax(std::vector<V>(2))[1].dataCopy(), 0.5);
  EXPECT_EQ(crossEntropy(std::vector<V>(2), 0).dataCopy(), std::log(2.0));
}
// Inner nodes hold the gradients of the last call, whichever form it has.
TYPED_TEST(ZeroValue, IsARootOnWhichNothingDepends) {
  using V = typename TestFixture::ValueT;
  const V a(1.5), square = a * a, y = square * 2.0;
  const V z;
  for (const bool isList : {false, true}) {
    backward(y);
    EXPECT_EQ(square.gradCopy(), 2.0);
    isList ? backward(std::array{z, z}) : backward(z);
    EXPECT_EQ(square.gradCopy(), 0.0);
  }
  EXPECT_EQ(a.gradCopy(), 2 * 6.0);
}
// The leaf of 0 is recorded for it too: its operand would otherwise be the result itself.
TYPED_TEST(ZeroValue, IsTheOnlyElementOfAList) {
  using V = typename TestFixture::ValueT;
  const V a(1.5);
  const std::vector<V> one(1);
  for (const V& y : {reduceSum(one), reduceMul(one), innerProduct(one, std::array{a}),
                     innerProduct(std::array{a}, one), innerProduct(one, std::array{2.0})}) {
    EXPECT_EQ(y.dataCopy(), 0.0);
    EXPECT_GE(this->tape.size(), 3u);
    backward(y, 2.0);
  }
  EXPECT_EQ(this->tape.size(), 1u + 5 * 2);
  EXPECT_EQ(a.gradCopy(), 0.0);
}
TYPED_TEST(ZeroValue, IsAnOperandOfOperatorsOfThree) {
  using V = typename TestFixture::ValueT;
  const V a(1.5), z;
  EXPECT_EQ(apply<MultiplyAdd>(a, z, a).dataCopy(), 1.5);
  EXPECT_EQ(apply<MultiplyAdd>(z, z, z).dataCopy(), 0.0);
  const V y = apply<MultiplyAdd>(a, a, z);
  EXPECT_EQ(y.dataCopy(), 2.25);
  backward(y);
  EXPECT_EQ(a.gradCopy(), 3.0);
  Tape<double, TypeParam::config> full(TapeCapacity{3, 3, 2});
  CurrentTape inner(full);
  EXPECT_NE(sentenceOf([&] { apply<MultiplyAdd>(z, z, z); }), "");
  EXPECT_EQ(full.size(), 0u);
}

TYPED_TEST(ZeroValue, BecomesALeafWhenItIsSet) {
  using V = typename TestFixture::ValueT;
  V number, gradient, name;
  number.setData(2.5);
  gradient.setGrad(0.5);
  name.setName("n");
  EXPECT_EQ(number.dataCopy(), 2.5);
  EXPECT_EQ(gradient.gradCopy(), 0.5);
  EXPECT_EQ(name.name(), "n");
  EXPECT_EQ(this->tape.size(), 3u);
  number.setData(3.5);
  EXPECT_EQ((number * number).dataCopy(), 12.25);
}

TYPED_TEST(ZeroValue, WorksInComplexNumbers) {
  using V = typename TestFixture::ValueT;
  const std::complex<V> c(V(3.0), V(4.0)), none;
  const std::complex<V> sum = c + none;
  EXPECT_EQ(sum.imag().dataCopy(), 4.0);
}

TYPED_TEST(ZeroValue, MissingRoomLeavesNoZeroBehind) {
  using V = typename TestFixture::ValueT;
  Tape<double, TypeParam::config> small(TapeCapacity{3, 3, 3});
  CurrentTape there(small);
  const V a(1.5), z;
  EXPECT_NE(sentenceOf([&] { z + z; }), "");
  EXPECT_NE(sentenceOf([&] { reduceSum(std::array{z, a, a, z, a, a}); }), "");
  EXPECT_EQ(small.used().scalars, 1u);
  EXPECT_EQ(small.used().words, 0u);
  EXPECT_EQ((z + a).dataCopy(), 1.5);  // exactly what is left
  EXPECT_EQ(small.used().scalars, 3u);
}

TYPED_TEST(ZeroValue, IsAResultOfARecordedFunction) {
  const auto empty = [](auto x) {
    std::remove_cvref_t<decltype(x[0])> sum{};
    for (std::size_t i = 1; i < x.size(); ++i) sum += x[i];
    return sum;
  };
  auto f = record<TypeParam::config>(empty, std::array{1.5});
  std::array<double, 1> gradient{7};
  EXPECT_EQ(f.valueAndGrad(std::array{2.5}, gradient), 0.0);
  EXPECT_EQ(gradient[0], 0.0);
}

TEST(ZeroValueChecked, AStaleOperandLeavesNoZeroBehind) {
  constexpr Config checked{.names = true, .checks = true};
  Tape<double, checked> tape;
  CurrentTape here(tape);
  const auto mark = tape.mark();
  const Value<double, checked> stale(0.5), z;
  tape.rewind(mark);
  EXPECT_NE(sentenceOf([&] { z + stale; }), "");
  EXPECT_NE(sentenceOf([&] { reduceSum(std::array{z, stale}); }), "");
  EXPECT_NE(sentenceOf([&] { withoutValue<ops::Mul>(z, stale); }), "");
  EXPECT_NE(sentenceOf([&] { reduceSum(std::array{stale}); }), "");
  EXPECT_NE(sentenceOf([&] { apply<MultiplyAdd>(z, z, stale); }), "");
  const auto range = tape.leaves(2, 1.0);
  tape.rewind(mark);
  EXPECT_NE(sentenceOf([&] { innerProduct(std::array{z, z}, range); }), "");
  EXPECT_NE(sentenceOf([&] { innerProduct(std::array{z, z}, std::array{range}); }), "");
  EXPECT_EQ(tape.size(), 0u);
}

// ---- Only leaves can be set ----

TYPED_TEST(ZeroValue, ComputedNodesCannotBeSetHoweverTheyAreReached) {
  using V = typename TestFixture::ValueT;
  const auto w = this->tape.leaves(4, 0.5);
  V product = reduceMul(w), probability = softmax(w)[1], sum = reduceSum(w);
  V skipped = Range<double, TypeParam::config>(this->tape.handleOf(7), 1)[0];
  Matrix<double, TypeParam::config> m(softmax(w), 2, 2);
  for (V node : {product, probability, sum, skipped, m(1, 0), m.row(1)[0], m.range()[3]}) {
    const double before = node.dataCopy();
    EXPECT_NE(sentenceOf([&] { node.setData(9.0); }), "");
    EXPECT_EQ(node.dataCopy(), before);
  }
  Matrix<double, TypeParam::config> leaves(w, 2, 2);
  leaves(1, 0).setData(0.75);
  w[0].setData(0.25);
  w.every(3, 2, -2)[1].setData(0.125);
  EXPECT_EQ(w[2].dataCopy(), 0.75);
  EXPECT_EQ(w[0].dataCopy(), 0.25);
  EXPECT_EQ(w[1].dataCopy(), 0.125);
}

}  // namespace zero_value_test
}  // namespace burtorch
