// Handles: size, deduction, comparison, names, text, and the reports of a checked tape about wrong ones.
#include "burtorch/core/value.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "burtorch/burtorch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace value_test {

constexpr Config plain{.names = true, .checks = false};
constexpr Config checked{.names = true, .checks = true};
constexpr Config nameless{.names = false, .checks = false};

// ---- Handles ----

TEST(ValueHandle, IsTriviallyCopyable) {
  EXPECT_TRUE((std::is_trivially_copyable_v<Value<double, plain>>));
  EXPECT_TRUE((std::is_trivially_copyable_v<Value<float, checked>>));
  EXPECT_TRUE((std::is_trivially_copyable_v<Range<double, plain>>));
  EXPECT_TRUE((std::is_trivially_copyable_v<Range<double, checked>>));
  EXPECT_TRUE((std::is_trivially_copyable_v<Tape<double, checked>::Mark>));
}

TEST(ValueHandle, IsFourBytesWithoutChecks) {
  EXPECT_EQ(sizeof(Handle<plain>), 4u);
  EXPECT_EQ(sizeof(Handle<nameless>), 4u);
}

// The handle, and the number that spares the next operator a trip through memory.
TEST(ValueHandle, AValueIsAtMostSixteenBytesWithoutChecks) { EXPECT_LE(sizeof(Value<double, plain>), 16u); }

TEST(ValueDeduction, FromDouble) { EXPECT_TRUE((std::is_same_v<decltype(Value(-4.0)), Value<double>>)); }
TEST(ValueDeduction, FromFloat) { EXPECT_TRUE((std::is_same_v<decltype(Value(1.f)), Value<float>>)); }
TEST(ValueDeduction, FromInt) { EXPECT_TRUE((std::is_same_v<decltype(Value(3)), Value<double>>)); }
TEST(ValueDeduction, WithAName) { EXPECT_TRUE((std::is_same_v<decltype(Value(3.5, "w")), Value<double>>)); }

TEST(ValueDeduction, KeepsTheNumber) {
  EXPECT_EQ(Value(-4.0).dataCopy(), -4.0);
  EXPECT_EQ(Value(1.5f).dataCopy(), 1.5f);
  EXPECT_EQ(Value(3).dataCopy(), 3.0);
}

template <class S> class ValueTest : public testing::Test {
 protected:
  static constexpr Config config = S::value;
  Tape<double, config> tape;
  CurrentTape<double, config> here{tape};
};
using Configs =
    testing::Types<std::integral_constant<Config, plain>, std::integral_constant<Config, checked>>;
TYPED_TEST_SUITE(ValueTest, Configs);

TYPED_TEST(ValueTest, ComparesByValueWithValues) {
  using V = Value<double, TypeParam::value>;
  const V a = 0.5, same = 0.5, larger = 0.75;
  EXPECT_TRUE(a == same);
  EXPECT_TRUE(a != larger);
  EXPECT_TRUE(a < larger);
  EXPECT_TRUE(larger > a);
  EXPECT_TRUE(a <= same);
  EXPECT_TRUE(a >= same);
  EXPECT_FALSE(a < same);
}

TYPED_TEST(ValueTest, ComparesByValueWithPlainNumbers) {
  using V = Value<double, TypeParam::value>;
  const V a = 2.0;
  EXPECT_TRUE(a == 2);
  EXPECT_TRUE(2 == a);
  EXPECT_TRUE(a != 2.5f);
  EXPECT_TRUE(a < 2.5);
  EXPECT_TRUE(1u < a);
  EXPECT_TRUE(a >= -1L);
}

TYPED_TEST(ValueTest, ComparingRecordsNothing) {
  using V = Value<double, TypeParam::value>;
  const V a = 2.0, b = 3.0;
  EXPECT_TRUE(a < b && a == 2 && 1.5 < a);
  EXPECT_EQ(this->tape.size(), 2u);
}

TYPED_TEST(ValueTest, NanComparesAsNan) {
  using V = Value<double, TypeParam::value>;
  const V a = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(a == a);
  EXPECT_FALSE(a < 1.0);
  EXPECT_FALSE(a >= 1.0);
}

TYPED_TEST(ValueTest, SetDataChangesOneNodeOnly) {
  using V = Value<double, TypeParam::value>;
  V a = 2.0;
  const V b = a * 3.0;
  a.setData(5.0);
  EXPECT_EQ(a.dataCopy(), 5.0);
  EXPECT_EQ(b.dataCopy(), 6.0);
}

TYPED_TEST(ValueTest, SetDataOfAComputedNodeIsAnErrorThatChangesNothing) {
  using V = Value<double, TypeParam::value>;
  const V a = 2.0;
  V b = a * 3.0;
  EXPECT_EQ(sentenceOf([&] { b.setData(5.0); }), "setData: node 1 was computed, only leaves can change");
  EXPECT_EQ(b.dataCopy(), 6.0);
}

TYPED_TEST(ValueTest, SetDataOfALeafIsSeenByLaterNodes) {
  using V = Value<double, TypeParam::value>;
  V a = 2.0;
  const V copy = a;
  a.setData(5.0);
  EXPECT_EQ((copy * 3.0).dataCopy(), 15.0);
}

TYPED_TEST(ValueTest, SetGradOfALeafIsWhatBackwardAddsTo) {
  using V = Value<double, TypeParam::value>;
  V a = 2.0;
  a.setGrad(10.0);
  backward(a * 3.0);
  EXPECT_EQ(a.gradCopy(), 13.0);
}

TYPED_TEST(ValueTest, SetGradOfAnInnerNodeDoesNotLeakIntoBackward) {
  using V = Value<double, TypeParam::value>;
  const V a = 2.0;
  V b = a * 3.0;
  b.setGrad(10.0);
  backward(b * 5.0);
  EXPECT_EQ(b.gradCopy(), 5.0);
  EXPECT_EQ(a.gradCopy(), 15.0);
}

TYPED_TEST(ValueTest, ArithmeticWithPlainNumbersMakesNoLeaf) {
  using V = Value<double, TypeParam::value>;
  const V a = 2.0;
  const V b = 1 + 3.0f * a - 4L;
  EXPECT_EQ(b.dataCopy(), 3.0);
  EXPECT_EQ(this->tape.size(), 4u);
}

TYPED_TEST(ValueTest, AnUnsignedConstantDoesNotWrap) {
  using V = Value<double, TypeParam::value>;
  const V a = 2.0;
  EXPECT_EQ((a - 5u).dataCopy(), -3.0);
}

// ---- Names ----

TYPED_TEST(ValueTest, AName) {
  using V = Value<double, TypeParam::value>;
  const V a(2.0, "weight");
  EXPECT_EQ(a.name(), "weight");
}

TYPED_TEST(ValueTest, NamesOfAnyLengthAndContent) {
  using V = Value<double, TypeParam::value>;
  for (std::size_t length : {0u, 1u, 3u, 4u, 5u, 8u, 255u, 1000u}) {
    std::string name(length, 'x');
    if (length > 2) name[1] = '\0';
    V a = 2.0;
    a.setName(name);
    EXPECT_EQ(a.name(), name);
  }
}

TYPED_TEST(ValueTest, ANodeWithoutANameHasAnEmptyOne) {
  using V = Value<double, TypeParam::value>;
  const V a(2.0, "a"), b = 3.0;
  EXPECT_EQ(b.name(), "");
}

TYPED_TEST(ValueTest, TheLastNameCounts) {
  using V = Value<double, TypeParam::value>;
  V a(2.0, "old");
  const V b(3.0, "b");
  a.setName("new");
  EXPECT_EQ(a.name(), "new");
  EXPECT_EQ(b.name(), "b");
}

TYPED_TEST(ValueTest, RewindForgetsNames) {
  using V = Value<double, TypeParam::value>;
  V a(2.0, "old");
  const auto mark = this->tape.mark();
  a.setName("new");
  const V b(3.0, "b");
  this->tape.rewind(mark);
  EXPECT_EQ(a.name(), "old");
  const V c = 4.0;
  EXPECT_EQ(c.name(), "");
}

// Growing moves the name that is being copied.
TYPED_TEST(ValueTest, ANameMayBeCopiedFromAnotherNode) {
  using V = Value<double, TypeParam::value>;
  const std::string name =
      "a name of sixty-four words or more, so that the copy does not fit " + std::string(200, '.');
  const V a(2.0, name);
  V b = 3.0;
  b.setName(a.name());
  EXPECT_EQ(b.name(), name);
}

TEST(ValueNames, OffANameIsEmpty) {
  Tape<double, nameless> tape;
  CurrentTape here(tape);
  Value<double, nameless> a(2.0, "weight");
  a.setName("another");
  EXPECT_EQ(a.name(), "");
}

TEST(ValueNames, OffTheTapeIsNotLarger) {
  EXPECT_LE(sizeof(Tape<double, nameless>), sizeof(Tape<double, plain>));
}

template <Config C> std::size_t bytesOfNamedNode() {
  Tape<double, C> tape;
  CurrentTape here(tape);
  Value<double, C> a(2.0, "weight");
  return Tape<double, C>::requiredBytes(tape.used()) - Tape<double, C>::requiredBytes({});
}

TEST(ValueNames, OffANamedNodeCostsNothingMore) {
  EXPECT_EQ(bytesOfNamedNode<nameless>(), 2 * sizeof(double) + 8);
}
TEST(ValueNames, OnANameCostsItsBytes) {
  EXPECT_EQ(bytesOfNamedNode<plain>(), 2 * sizeof(double) + 8 + 12 + 8);
}

// ---- Text ----

TYPED_TEST(ValueTest, AsStringOfABinaryNode) {
  using V = Value<double, TypeParam::value>;
  const V a = -41.0, b = 2.0;
  V c = a + b;
  c.setName("c");
  backward(c, -35.0);
  EXPECT_EQ(asString(c), "c = eBinaryAdd(#0, #1), data -39, grad -35, #2");
}

TYPED_TEST(ValueTest, AsStringOfALeaf) {
  using V = Value<double, TypeParam::value>;
  const V a = 0.1;
  EXPECT_EQ(asString(a), "eLeaf, data 0.1, grad 0, #0");
}

TYPED_TEST(ValueTest, AsStringOfUnaryAndConstant) {
  using V = Value<double, TypeParam::value>;
  const V a = 0.0;
  EXPECT_EQ(asString(tanh(a)), "eTanh(#0), data 0, grad 0, #1");
  EXPECT_EQ(asString(a * 3.0), "eBinaryMultByConst(#0), data 0, grad 0, #2");
}

TYPED_TEST(ValueTest, AsStringOfLists) {
  const auto x = this->tape.leaves(3, 1.0), y = this->tape.leaves(3, 2.0);
  EXPECT_EQ(asString(reduceSum(x.every(2, 3, -1))), "eAddVarying(#2, #1, #0), data 3, grad 0, #6");
  EXPECT_EQ(asString(innerProductWithBias(x, y, x[1])),
            "eInnerProductWithBias(#0, #1, #2, #3, #4, #5, #1), data 7, grad 0, #7");
  EXPECT_EQ(asString(softmax(std::array{x[0], y[1]})[0]).substr(0, 18), "eSoftmax(#0, #4), ");
  const std::array ranges{x.subrange(0, 2), y.subrange(1, 2)};
  EXPECT_EQ(asString(reduceSum(ranges)), "eAddVarying(#0, #1, #4, #5), data 6, grad 0, #10");
}

TYPED_TEST(ValueTest, AsStringOfALongListIsShort) {
  const auto x = this->tape.leaves(100, 1.0);
  EXPECT_EQ(asString(reduceSum(x)),
            "eAddVarying(#0, #1, #2, #3, #4, #5, #6, #7, ... 100 in all), data 100, grad 0, #100");
}

struct Twice : UnaryOp {
  static constexpr std::string_view name = "twice";
  template <class T> static T value(T x) { return x + x; }
  template <class T> static T vjp(T g, Unread, Unread) { return g + g; }
};

TYPED_TEST(ValueTest, AsStringOfAUserOperatorUsesItsName) {
  using V = Value<double, TypeParam::value>;
  const V a = 1.5;
  EXPECT_EQ(asString(apply<Twice>(a)), "twice(#0), data 3, grad 0, #1");
}

// ---- Wrong handles ----

class CheckedValue : public testing::Test {
 protected:
  using V = Value<double, checked>;
  Tape<double, checked> tape;
  CurrentTape<double, checked> here{tape};

  /// Every way to use a handle reports it with this sentence and changes nothing.
  void expectReported(const V& bad, const std::string& expected) {
    const V good = 0.5;
    const TapeCapacity before = tape.used();
    const auto uses = {
        sentenceOf([&] { bad.dataCopy(); }),
        sentenceOf([&] { bad.gradCopy(); }),
        sentenceOf([&] { V(bad).setGrad(1.0); }),
        sentenceOf([&] { V(bad).setName("x"); }),
        sentenceOf([&] { bad.name(); }),
        sentenceOf([&] { bad.sysGetRawNodeIndex(); }),
        sentenceOf([&] { asString(bad); }),
        sentenceOf([&] { tanh(bad); }),
        sentenceOf([&] { bad + good; }),
        sentenceOf([&] { good / bad; }),
        sentenceOf([&] { bad * 3.0; }),
        sentenceOf([&] { static_cast<void>(bad == good); }),
        sentenceOf([&] { static_cast<void>(bad < 1.0); }),
        sentenceOf([&] {
          reduceSum({good, bad});
        }),
        sentenceOf([&] {
          innerProduct({good, good}, {good, bad});
        }),
        sentenceOf([&] { innerProductWithBias(std::array{good}, std::array{good}, bad); }),
        sentenceOf([&] {
          softmax(std::array{good, bad});
        }),
        sentenceOf([&] { withoutValue<ops::Sqr>(bad); }),
        sentenceOf([&] { backward(bad); }),
        sentenceOf([&] {
          backward(std::span<const V>(std::array{good, bad}));
        }),
        sentenceOf([&] {
          std::array<std::uint64_t, 4> scratch;
          backwardWithScratchStorage(bad, std::span<std::uint64_t>(scratch));
        }),
    };
    std::size_t use = 0;
    for (const std::string& sentence : uses) EXPECT_EQ(sentence, expected) << "use " << use++;
    EXPECT_EQ(tape.used().scalars, before.scalars);
    EXPECT_EQ(tape.used().instructions, before.instructions);
    EXPECT_EQ(tape.used().words, before.words);
    EXPECT_EQ(good.gradCopy(), 0.0);
  }
};

TEST_F(CheckedValue, SetDataReportsAStaleLeaf) {
  const auto mark = tape.mark();
  V stale = 0.5;
  tape.rewind(mark);
  EXPECT_EQ(sentenceOf([&] { stale.setData(1.0); }), "a Value from before a rewind is used: node 0 is gone");
}

TEST_F(CheckedValue, OfADefaultConstructedHandleIsReported) {
  expectReported(V(Handle<checked>()), "a default-constructed Range or handle is used; assign it first");
}

TEST_F(CheckedValue, ForeignIsReported) {
  Tape<double, checked> other;
  V foreign;
  {
    CurrentTape there(other);
    foreign = V(0.5);
  }
  expectReported(foreign, "a Value of another tape is used: make its tape current, or copy its number");
}

TEST_F(CheckedValue, StaleIsReportedWhereTheTapeEnds) {
  const V x = 0.5;
  const auto mark = tape.mark();
  for (int i = 0; i < 5; ++i) tanh(x);
  const V stale = tanh(x);
  tape.rewind(mark);
  expectReported(stale, "a Value from before a rewind is used: node 6 is gone");
}

TEST_F(CheckedValue, StaleIsReportedWhereAnotherNodeTookItsPlace) {
  const V x = 0.5;
  const auto mark = tape.mark();
  const V stale = tanh(x);
  tape.rewind(mark);
  const V other = sin(x);
  EXPECT_EQ(other.sysGetRawNodeIndex(), 1u);
  expectReported(stale, "a Value from before a rewind is used: node 1 is gone");
}

TEST_F(CheckedValue, AHandleFromBeforeTheMarkStaysGood) {
  const V x = 0.5;
  const V y = tanh(x);
  const auto mark = tape.mark();
  sin(y);
  tape.rewind(mark);
  EXPECT_DOUBLE_EQ(y.dataCopy(), std::tanh(0.5));
}

TEST_F(CheckedValue, AStaleRangeIsReported) {
  const auto mark = tape.mark();
  const auto stale = tape.leaves(3, 0.5);
  tape.rewind(mark);
  tape.leaves(3, 0.25);
  const std::string expected = "a Value from before a rewind is used: node 0 is gone";
  EXPECT_EQ(sentenceOf([&] { stale[0]; }), expected);
  EXPECT_EQ(sentenceOf([&] { stale.values(); }), expected);
  EXPECT_EQ(sentenceOf([&] { reduceSum(stale); }), expected);
  EXPECT_EQ(sentenceOf([&] { zeroGrad(stale); }), expected);
}

TEST_F(CheckedValue, AForeignRangeIsReported) {
  Tape<double, checked> other;
  Range<double, checked> foreign;
  {
    CurrentTape there(other);
    foreign = other.leaves(3, 0.5);
  }
  EXPECT_EQ(sentenceOf([&] { reduceSum(foreign); }),
            "a Value of another tape is used: make its tape current, or copy its number");
}

// ---- Ranges ----

TEST_F(CheckedValue, AnElementBeyondARangeIsReported) {
  const auto x = tape.leaves(3, 0.5);
  EXPECT_EQ(sentenceOf([&] { x[3]; }), "index 3 is out of range for a Range of 3 elements");
}

TYPED_TEST(ValueTest, RangeElements) {
  const auto x = this->tape.leaves(std::array{0.5, 1.5, 2.5, 3.5, 4.5});
  EXPECT_EQ(x.size(), 5u);
  EXPECT_EQ(x[4].dataCopy(), 4.5);
  EXPECT_EQ(x.subrange(1, 3)[2].dataCopy(), 3.5);
  EXPECT_EQ(x.every(0, 3, 2)[1].dataCopy(), 2.5);
  EXPECT_EQ(x.every(4, 5, -1)[3].dataCopy(), 1.5);
}

TYPED_TEST(ValueTest, RangesOfRanges) {
  const auto x = this->tape.leaves(std::array{0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5});
  const auto even = x.every(6, 4, -2);
  EXPECT_EQ(even.stride(), -2);
  EXPECT_EQ(even.subrange(1, 2)[1].dataCopy(), 2.5);
  EXPECT_EQ(even.every(3, 2, -2)[1].dataCopy(), 4.5);
}

TYPED_TEST(ValueTest, ASubrangeBeyondARangeIsAnError) {
  const auto x = this->tape.leaves(5, 0.5);
  EXPECT_EQ(sentenceOf([&] { x.subrange(3, 3); }),
            "elements 3 to 5 are out of range for a Range of 5 elements");
  EXPECT_EQ(sentenceOf([&] { x.subrange(5, 1); }),
            "1 elements from 5 on are out of range for a Range of 5 elements");
  EXPECT_EQ(sentenceOf([&] { x.every(1, 3, 2); }),
            "elements 1 to 5 are out of range for a Range of 5 elements");
  EXPECT_EQ(sentenceOf([&] { x.every(1, 3, -1); }),
            "elements 1 to -1 are out of range for a Range of 5 elements");
}

// Two sizes subtracted the wrong way round.
TYPED_TEST(ValueTest, ASubrangeOfNearlyAllNumbersThereAreIsAnError) {
  const auto x = this->tape.leaves(5, 0.5);
  EXPECT_NE(sentenceOf([&] { x.subrange(3, static_cast<std::size_t>(-2)); }), "");
  EXPECT_NE(sentenceOf([&] { x.every(3, static_cast<std::size_t>(1) << 33, 0); }), "");
}

TYPED_TEST(ValueTest, ASubrangeOfNothingIsEmpty) {
  const auto x = this->tape.leaves(5, 0.5);
  EXPECT_EQ(x.subrange(5, 0).size(), 0u);
  EXPECT_TRUE(x.subrange(2, 0).values().empty());
}

TYPED_TEST(ValueTest, AStridedRangeHasNoSpan) {
  const auto x = this->tape.leaves(5, 0.5);
  EXPECT_EQ(sentenceOf([&] { x.every(0, 2, 3).values(); }), "a range with stride 3 has no contiguous span");
  EXPECT_EQ(sentenceOf([&] { x.every(0, 2, 3).gradients(); }),
            "a range with stride 3 has no contiguous span");
}

TYPED_TEST(ValueTest, SpansOfARangeAreTheTapesOwnMemory) {
  const auto x = this->tape.leaves(5, 0.5);
  x.subrange(2, 2).values()[1] = 7.5;
  EXPECT_EQ(x[3].dataCopy(), 7.5);
}

}  // namespace value_test
}  // namespace burtorch
