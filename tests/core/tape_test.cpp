// The tape itself: layout, cost in bytes, the three kinds of storage, full tapes, marks and scopes, current tapes.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "burtorch/burtorch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace tape_test {

template <bool hasNames, bool hasChecks, class T = double> struct Setting {
  using Scalar = T;
  static constexpr Config config{.names = hasNames, .checks = hasChecks};
};
using Settings = testing::Types<Setting<true, false>, Setting<true, true>, Setting<false, false, float>>;

template <class S> struct TapeTest : testing::Test {};
TYPED_TEST_SUITE(TapeTest, Settings);

#define BURTORCH_TYPES                                         \
  using T [[maybe_unused]] = typename TypeParam::Scalar;       \
  using TapeT [[maybe_unused]] = Tape<T, TypeParam::config>;   \
  using ValueT [[maybe_unused]] = Value<T, TypeParam::config>; \
  using RangeT [[maybe_unused]] = Range<T, TypeParam::config>

/// The sentence with which an action fails; empty if it does not.
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

void expectEqual(TapeCapacity x, TapeCapacity y) {
  EXPECT_EQ(x.scalars, y.scalars);
  EXPECT_EQ(x.instructions, y.instructions);
  EXPECT_EQ(x.words, y.words);
}

TapeCapacity operator-(TapeCapacity x, TapeCapacity y) {
  return {x.scalars - y.scalars, x.instructions - y.instructions, x.words - y.words};
}

/// What a tape remembers that a caller can see.
template <class TapeT> struct Snapshot {
  using T = std::remove_cvref_t<decltype(std::declval<TapeT&>().values()[0])>;
  explicit Snapshot(const TapeT& tape)
      : values(tape.values().begin(), tape.values().end()),
        gradients(tape.gradients().begin(), tape.gradients().end()),
        used(tape.used()) {}

  std::vector<T> values, gradients;
  TapeCapacity used;
};
template <class TapeT> void expectUnchanged(const Snapshot<TapeT>& before, const TapeT& tape) {
  const Snapshot<TapeT> now(tape);
  EXPECT_EQ(before.values, now.values);
  EXPECT_EQ(before.gradients, now.gradients);
  expectEqual(before.used, now.used);
}

// ---- Layout ----

TYPED_TEST(TapeTest, IndicesCountUpFromZero) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const ValueT a(T(1.5));
  const RangeT block = tape.leaves(3, T(0.25));
  const ValueT b = a * block[2];
  EXPECT_EQ(a.sysGetRawNodeIndex(), 0u);
  EXPECT_EQ(block.first(), 1u);
  EXPECT_EQ(block[2].sysGetRawNodeIndex(), 3u);
  EXPECT_EQ(b.sysGetRawNodeIndex(), 4u);
  EXPECT_EQ(tape.size(), 5u);
}

TYPED_TEST(TapeTest, ValuesAreContiguous) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const ValueT a(T(1.5)), b(T(-0.5));
  const ValueT c = a + b;
  ASSERT_EQ(tape.values().size(), 3u);
  EXPECT_EQ(tape.values()[0], T(1.5));
  EXPECT_EQ(tape.values()[1], T(-0.5));
  EXPECT_EQ(tape.values()[2], T(1.0));
  EXPECT_EQ(&tape.values()[2], &tape.values()[0] + c.sysGetRawNodeIndex());
}

TYPED_TEST(TapeTest, GradientsOfAParameterBlockAreASlice) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const RangeT w = tape.leaves(4, T(0.5));
  backward(w[0] * 3.0 + w[2] * 5.0);
  const auto g = std::as_const(tape).gradients().first(4);
  EXPECT_EQ(std::vector<T>(g.begin(), g.end()), (std::vector<T>{3, 0, 5, 0}));
  EXPECT_EQ(w.gradients().data(), tape.gradients().data());
}

TYPED_TEST(TapeTest, LeavesTakeTheGivenNumbers) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const std::array<T, 3> numbers{T(0.5), T(-1.5), T(2.25)};
  const RangeT block = tape.leaves(numbers);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(block[i].dataCopy(), numbers[i]);
}

TYPED_TEST(TapeTest, LeavesCanBeMadeOnATapeThatIsNotCurrent) {
  BURTORCH_TYPES;
  TapeT tape;
  const std::array<T, 2> numbers{T(0.5), T(-1.5)};
  tape.leaves(numbers);
  ASSERT_EQ(tape.size(), 2u);
  EXPECT_EQ(tape.values()[1], T(-1.5));
}

// Growing moves the numbers that are being copied.
TYPED_TEST(TapeTest, LeavesMayCopyNumbersOfTheTapeItself) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const RangeT block = tape.leaves(50000, T(0.75));
  const RangeT copy = tape.leaves(block.values());
  EXPECT_EQ(copy[0].dataCopy(), T(0.75));
  EXPECT_EQ(copy[49999].dataCopy(), T(0.75));
}

TYPED_TEST(TapeTest, ABlockOfNoLeavesIsEmpty) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  EXPECT_EQ(tape.leaves(0).size(), 0u);
  EXPECT_EQ(tape.size(), 0u);
}

TYPED_TEST(TapeTest, OpOfNamesTheOperatorThatMadeANode) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const RangeT w = tape.leaves(3, T(0.5));
  const ValueT y = tanh(w[1]);
  const RangeT p = softmax(w);
  const ValueT z = y * p[1];
  EXPECT_EQ(tape.opOf(1).opcode, "eLeaf");
  EXPECT_EQ(tape.opOf(y.sysGetRawNodeIndex()).opcode, "eTanh");
  EXPECT_EQ(tape.opOf(p[0].sysGetRawNodeIndex()).opcode, "eSoftmax");
  EXPECT_EQ(tape.opOf(p[2].sysGetRawNodeIndex()).opcode, "eSoftmax");
  EXPECT_EQ(tape.opOf(z.sysGetRawNodeIndex()).opcode, "eBinaryMult");
}

// ---- Cost ----

TYPED_TEST(TapeTest, ABlockOfLeavesIsOneInstruction) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  tape.leaves(1000);
  expectEqual(tape.used(), TapeCapacity{.scalars = 1000, .instructions = 1, .words = 0});
}

TYPED_TEST(TapeTest, ALeafInABlockCostsItsValueAndGradient) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  tape.leaves(1000);
  const std::size_t oneInstruction = TapeT::requiredBytes({0, 1, 0});
  const std::size_t checks = TypeParam::config.checks ? 1000 * sizeof(Word) : 0;
  EXPECT_EQ(TapeT::requiredBytes(tape.used()) - oneInstruction, 1000 * 2 * sizeof(T) + checks);
}

/// Bytes that `record` costs besides one value and one gradient.
template <class TapeT, class Record> std::size_t bytesBesides(TapeT& tape, Record record) {
  using T = typename Snapshot<TapeT>::T;
  const TapeCapacity before = tape.used();
  record();
  const TapeCapacity cost = tape.used() - before;
  EXPECT_EQ(cost.scalars, 1u);
  return TapeT::requiredBytes(cost) - TapeT::requiredBytes({}) - 2 * sizeof(T);
}

TYPED_TEST(TapeTest, AScalarNodeCostsAtMost24Bytes) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const RangeT x = tape.leaves(100, T(0.3)), y = tape.leaves(100, T(0.6));
  const std::size_t checks = TypeParam::config.checks ? sizeof(Word) : 0;
  const std::size_t constant = sizeof(T);
  EXPECT_EQ(bytesBesides(tape, [] { ValueT{T(0.5)}; }), 8 + checks) << "leaf";
  EXPECT_EQ(bytesBesides(tape, [&] { tanh(x[0]); }), 8 + checks) << "unary";
  EXPECT_EQ(bytesBesides(tape, [&] { x[0] * y[0]; }), 8 + checks) << "binary";
  EXPECT_EQ(bytesBesides(tape, [&] { x[0] * 3.0; }), 8 + constant + checks) << "constant";
  EXPECT_EQ(bytesBesides(tape, [&] { pow(x[0], 1.7); }), 8 + constant + checks) << "pow";
  EXPECT_EQ(bytesBesides(tape, [&] { reduceSum(x); }), 8 + 4 + checks) << "contiguous list";
  EXPECT_EQ(bytesBesides(tape, [&] { reduceSum(x.every(0, 50, 2)); }), 8 + 8 + checks) << "strided list";
  EXPECT_EQ(bytesBesides(tape, [&] { crossEntropy(x, 7); }), 8 + 8 + checks) << "cross entropy";
  EXPECT_EQ(bytesBesides(tape, [&] { innerProduct(x, y); }), 8 + 8 + checks) << "inner product";
  EXPECT_EQ(bytesBesides(tape, [&] { innerProductWithBias(x, y, x[3]); }), 8 + 12 + checks) << "with bias";
  EXPECT_LE(8 + 12 + checks, 24u);
  EXPECT_LE(8 + constant + checks, 24u);
}

TYPED_TEST(TapeTest, NeighbouringHandlesCostAsLittleAsARange) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const RangeT x = tape.leaves(100, T(0.3));
  std::vector<ValueT> handles;
  for (std::size_t i = 0; i < x.size(); ++i) handles.push_back(x[i]);
  const std::size_t range = bytesBesides(tape, [&] { reduceSum(x); });
  EXPECT_EQ(bytesBesides(tape, [&] { reduceSum(handles); }), range);
}

// ---- Storage ----

/// Records one node of every kind, calls backward and returns the root; the same on any tape.
template <class TapeT> auto recordAll(TapeT& tape) {
  using T = typename Snapshot<TapeT>::T;
  auto x = tape.leaves(5, static_cast<T>(0.3));
  auto y = tape.leaves(5, static_cast<T>(-0.6));
  auto s = tanh(x[0]) * y[1] + 3.0 * pow(x[2], 1.7);
  const std::array scattered{x[0], y[3], x[4]};
  const std::array ranges{x.subrange(0, 2), y.subrange(2, 3)};
  s += reduceSum(x) + reduceMean(y.every(4, 3, -2)) + reduceSumOfSquares(scattered) +
       reduceMeanSquares(ranges);
  s += innerProduct(x, y) + innerProductWithBias(x, scattered.size() == 3 ? y : x, s) + reduceMul(x) +
       softmax(y)[1];
  s += crossEntropy(y, 2) + logSumExp(x);
  backward(s);
  return s;
}

TYPED_TEST(TapeTest, AllKindsOfStorageGiveTheSameBits) {
  BURTORCH_TYPES;
  TapeT growing;
  {
    CurrentTape here(growing);
    recordAll(growing);
  }
  TapeT fixed(TapeCapacity{.scalars = 500, .instructions = 500, .words = 500});
  std::vector<std::byte> memory(1 << 16), evenly(1 << 16);
  TapeT borrowed(memory, TapeCapacity{.scalars = 500, .instructions = 500, .words = 500});
  TapeT shared{std::span<std::byte>(evenly)};
  for (TapeT* tape : {&fixed, &borrowed, &shared}) {
    CurrentTape here(*tape);
    recordAll(*tape);
    expectUnchanged(Snapshot<TapeT>(growing), *tape);
  }
}

TYPED_TEST(TapeTest, WhatATapeUsedIsRoomEnoughForTheSameAgain) {
  BURTORCH_TYPES;
  TapeT growing;
  {
    CurrentTape here(growing);
    recordAll(growing);
  }
  TapeT fixed(growing.used());
  CurrentTape here(fixed);
  EXPECT_EQ(sentenceOf([&] { recordAll(fixed); }), "");
  expectEqual(fixed.used(), growing.used());
}

TYPED_TEST(TapeTest, AListOfARangeAsksForNoMoreRoomThanItUses) {
  BURTORCH_TYPES;
  TapeT tape(TapeCapacity{.scalars = 202, .instructions = 4, .words = 3});
  CurrentTape here(tape);
  const RangeT x = tape.leaves(100, T(0.3)), y = tape.leaves(100, T(0.6));
  EXPECT_EQ(sentenceOf([&] { reduceSum(x); }), "");
  EXPECT_EQ(sentenceOf([&] { innerProduct(x, y); }), "");
  EXPECT_EQ(tape.used().words, 3u);
}

TYPED_TEST(TapeTest, RequiredBytesAreEnoughWhereverTheBufferStarts) {
  BURTORCH_TYPES;
  const TapeCapacity room{.scalars = 5, .instructions = 5, .words = 3};
  const std::size_t bytes = TapeT::requiredBytes(room);
  for (std::size_t offset = 0; offset < 16; ++offset) {
    alignas(16) std::array<std::byte, 1024> memory;
    memory.fill(std::byte{0xA5});
    ASSERT_LE(offset + bytes, memory.size());
    TapeT tape(std::span<std::byte>(memory).subspan(offset, bytes), room);
    CurrentTape here(tape);
    const ValueT a(T(0.5)), b(T(-0.25));
    const ValueT c = a * b;
    const ValueT d = sizeof(T) == 8 ? c * 3.0 : tanh(c * 3.0);
    const ValueT e = sizeof(T) == 8 ? tanh(d) : d;
    backward(e);
    expectEqual(tape.used(), TapeCapacity{5, 5, sizeof(T) / 4});
    EXPECT_NE(a.gradCopy(), T{0});
    for (std::size_t i = 0; i < offset; ++i) EXPECT_EQ(memory[i], std::byte{0xA5}) << "offset " << offset;
    for (std::size_t i = offset + bytes; i < memory.size(); ++i) ASSERT_EQ(memory[i], std::byte{0xA5});
  }
}

TYPED_TEST(TapeTest, OneByteLessIsAnError) {
  BURTORCH_TYPES;
  const TapeCapacity room{.scalars = 7, .instructions = 5, .words = 3};
  std::vector<std::byte> memory(TapeT::requiredBytes(room) - 1);
  const std::string sentence = sentenceOf([&] { TapeT(memory, room); });
  EXPECT_TRUE(contains(sentence, "a buffer of " + std::to_string(memory.size()) + " bytes is too small"))
      << sentence;
  EXPECT_TRUE(contains(sentence, std::to_string(memory.size() + 1) + " are needed")) << sentence;
}

TYPED_TEST(TapeTest, RoomBeyondAllMemoryIsAnErrorNotAWrap) {
  BURTORCH_TYPES;
  std::vector<std::byte> memory(4096);
  const TapeCapacity room{.scalars = std::size_t{1} << 62, .instructions = 4, .words = 4};
  const TapeCapacity code{.scalars = 4, .instructions = std::size_t{1} << 61, .words = 4};
  for (const TapeCapacity& tooMuch : {room, code}) {
    EXPECT_NE(sentenceOf([&] { TapeT(memory, tooMuch); }), "");
    EXPECT_NE(sentenceOf([&] { TapeT tape(tooMuch); }), "");
  }
}

TYPED_TEST(TapeTest, AnEmptyBufferMakesATapeThatIsFull) {
  BURTORCH_TYPES;
  std::vector<std::byte> memory(TapeT::requiredBytes({}));
  TapeT tape{std::span<std::byte>(memory)};
  CurrentTape here(tape);
  EXPECT_TRUE(contains(sentenceOf([] { ValueT{T(1.0)}; }), "the tape is full"));
}

// ---- Full tapes ----

/// Fills a fixed tape, then tries everything that needs room: each must fail with a sentence and change nothing.
template <class TapeT> void expectFullTapeUnharmed(TapeT& tape) {
  using T = typename Snapshot<TapeT>::T;
  CurrentTape here(tape);
  const auto start = tape.mark();
  const auto x = tape.leaves(4, static_cast<T>(0.3));
  using ValueT = std::remove_cvref_t<decltype(x[0])>;
  ValueT sum = x[0] + x[1];
  while (tape.size() + 1 < 12) sum = sum * x[2];
  backward(sum + x[3]);
  const Snapshot<TapeT> before(tape);

  const std::array scattered{x[0], x[3], x[1]};
  const auto expectFull = [&](const char* what, auto record) {
    const std::string sentence = sentenceOf(record);
    EXPECT_TRUE(contains(sentence, "the tape is full: 1")) << what << ": " << sentence;
    EXPECT_TRUE(contains(sentence, "it has room for 12, ")) << what << ": " << sentence;
    expectUnchanged(before, tape);
  };
  expectFull("leaf", [] { ValueT{static_cast<T>(1)}; });
  expectFull("named leaf", [] { ValueT(static_cast<T>(1), "w"); });
  expectFull("leaves", [&] { tape.leaves(3); });
  expectFull("unary", [&] { tanh(sum); });
  expectFull("binary", [&] { sum + sum; });
  expectFull("constant", [&] { sum * 3.0; });
  expectFull("list", [&] { reduceSum(x); });
  expectFull("scattered", [&] { reduceSum(scattered); });
  expectFull("pair", [&] { innerProduct(x, x); });
  expectFull("bias", [&] { innerProductWithBias(x, x, sum); });
  expectFull("block", [&] { softmax(x); });
  expectFull("product", [&] { reduceMul(x); });
  expectFull("cross entropy", [&] { crossEntropy(x, 1); });
  expectFull("without value", [&] { withoutValue<ops::Sqr>(sum); });

  tape.rewind(start);
  const ValueT a(static_cast<T>(0.5));
  const ValueT root = a * a;
  backward(root);
  EXPECT_EQ(a.gradCopy(), static_cast<T>(1));
}

TYPED_TEST(TapeTest, AFullFixedTapeIsAnErrorThatChangesNothing) {
  BURTORCH_TYPES;
  TapeT tape(TapeCapacity{.scalars = 12, .instructions = 100, .words = 100});
  expectFullTapeUnharmed(tape);
}

TYPED_TEST(TapeTest, AFullBorrowedTapeIsAnErrorThatChangesNothing) {
  BURTORCH_TYPES;
  const TapeCapacity room{.scalars = 12, .instructions = 100, .words = 100};
  std::vector<std::byte> memory(TapeT::requiredBytes(room));
  TapeT tape(memory, room);
  expectFullTapeUnharmed(tape);
}

TYPED_TEST(TapeTest, NoRoomForAnInstructionIsAnErrorThatChangesNothing) {
  BURTORCH_TYPES;
  TapeT tape(TapeCapacity{.scalars = 50, .instructions = 2, .words = 50});
  CurrentTape here(tape);
  const RangeT x = tape.leaves(4, T(0.3));
  const ValueT y = tanh(x[0]);
  const Snapshot<TapeT> before(tape);
  EXPECT_TRUE(contains(sentenceOf([&] { tanh(y); }), "the tape is full: 6 scalars, 3 instructions"));
  EXPECT_TRUE(contains(sentenceOf([&] { tape.leaves(2); }), "the tape is full"));
  EXPECT_TRUE(contains(sentenceOf([&] { softmax(x); }), "the tape is full"));
  expectUnchanged(before, tape);
}

TYPED_TEST(TapeTest, NoRoomForWordsIsAnErrorThatChangesNothing) {
  BURTORCH_TYPES;
  TapeT tape(TapeCapacity{.scalars = 50, .instructions = 50, .words = 0});
  CurrentTape here(tape);
  const RangeT x = tape.leaves(4, T(0.3));
  const Snapshot<TapeT> before(tape);
  EXPECT_TRUE(contains(sentenceOf([&] { x[0] * 3.0; }), "the tape is full: 5 scalars, 2 instructions"));
  EXPECT_TRUE(contains(sentenceOf([&] { reduceSum(x); }), "the tape is full"));
  EXPECT_TRUE(contains(sentenceOf([&] { innerProduct(x, x); }), "the tape is full"));
  EXPECT_TRUE(contains(sentenceOf([&] { softmax(x); }), "the tape is full"));
  expectUnchanged(before, tape);
}

TYPED_TEST(TapeTest, ANamedLeafWhoseNameDoesNotFitIsNotRecorded) {
  BURTORCH_TYPES;
  if constexpr (TypeParam::config.names) {
    TapeT tape(TapeCapacity{.scalars = 50, .instructions = 50, .words = 4});
    CurrentTape here(tape);
    const Snapshot<TapeT> before(tape);
    EXPECT_TRUE(contains(sentenceOf([] { ValueT(T(1.5), "a long name"); }), "the tape is full"));
    expectUnchanged(before, tape);
  }
}

TYPED_TEST(TapeTest, SoftmaxIntoAListOfAnotherLengthChangesNothing) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const RangeT x = tape.leaves(4, T(0.3));
  const Snapshot<TapeT> before(tape);
  std::vector<ValueT> out(3);
  EXPECT_TRUE(
      contains(sentenceOf([&] { softmax(x, std::span<ValueT>(out)); }), "softmax of lists of 4 and 3"));
  expectUnchanged(before, tape);
}

TYPED_TEST(TapeTest, ListsOfDifferentLengthsChangeNothing) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const RangeT x = tape.leaves(4, T(0.3));
  const Snapshot<TapeT> before(tape);
  EXPECT_EQ(sentenceOf([&] { innerProduct(x, x.subrange(0, 3)); }),
            "innerProduct of lists of 4 and 3 numbers");
  EXPECT_EQ(sentenceOf([&] { reduceSum(x.subrange(0, 0)); }), "reduceSum of an empty list");
  EXPECT_EQ(sentenceOf([&] { crossEntropy(x, 4); }), "crossEntropy with target 4 of 4 logits");
  expectUnchanged(before, tape);
}

// 28 bits of index. The refusal comes before any memory is asked for.
TYPED_TEST(TapeTest, MoreScalarsThanIndicesAreAnErrorThatChangesNothing) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const ValueT a(T(0.5));
  const Snapshot<TapeT> before(tape);
  const std::string sentence = sentenceOf([&] { tape.leaves(maxIndex); });
  EXPECT_TRUE(contains(sentence, "a tape holds at most 268435455 scalars and words")) << sentence;
  expectUnchanged(before, tape);
}

template <std::size_t number> struct Scaled : ConstantOp {
  static constexpr std::string_view name = "scaled";
  template <class T, class C> static T value(T x, C c) { return x * c + static_cast<C>(number); }
  template <class T, class C> static T vjp(T g, Unread, C c, Unread) { return g * c; }
};

TYPED_TEST(TapeTest, MoreUserOperatorsThanATapeKnowsAreAnErrorThatChangesNothing) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const ValueT x(T(0.5));
  [&]<std::size_t... i>(std::index_sequence<i...>) { (applyConstant<Scaled<i>>(x, 2.0), ...); }
  (std::make_index_sequence<maxUserOps>{});
  const Snapshot<TapeT> before(tape);
  const std::string sentence = sentenceOf([&] { applyConstant<Scaled<maxUserOps>>(x, 2.0); });
  EXPECT_EQ(sentence, "more than 64 different user-defined operators on a tape");
  expectUnchanged(before, tape);
}

// ---- Marks and scopes ----

TYPED_TEST(TapeTest, RewindForgetsWhatCameAfterTheMark) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const RangeT x = tape.leaves(5, T(0.3));
  const ValueT y = x[0] * 3.0;
  const Snapshot<TapeT> before(tape);
  const auto mark = tape.mark();
  softmax(x);
  ValueT z = y * 2.0;
  z.setName("z");
  innerProduct(x, x);
  tape.rewind(mark);
  expectUnchanged(before, tape);
}

TYPED_TEST(TapeTest, RewindAndRebuildGivesTheSameBitsEveryTime) {
  BURTORCH_TYPES;
  TapeT once;
  {
    CurrentTape here(once);
    recordAll(once);
  }
  TapeT tape;
  CurrentTape here(tape);
  for (int repeat = 0; repeat < 5; ++repeat) {
    tape.clear();
    recordAll(tape);
    expectUnchanged(Snapshot<TapeT>(once), tape);
  }
}

TYPED_TEST(TapeTest, ANewNodeAfterRewindStartsWithGradientZero) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const ValueT x(T(0.7));
  const auto mark = tape.mark();
  backward(tanh(x) * x);
  tape.rewind(mark);
  const ValueT y = tanh(x);
  const RangeT block = tape.leaves(2);
  EXPECT_EQ(y.gradCopy(), T{0});
  EXPECT_EQ(block[1].gradCopy(), T{0});
}

TYPED_TEST(TapeTest, AMarkInTheMiddleOfBlocksFindsItsWayBack) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const RangeT x = tape.leaves(3, T(0.3));
  const RangeT p = softmax(x);
  const auto mark = tape.mark();
  const RangeT q = softmax(tape.leaves(7, T(0.1)));
  backward(q[2] * p[1]);
  tape.rewind(mark);
  zeroGrad(x);
  const ValueT root = p[1] * 2.0;
  backward(root);
  EXPECT_EQ(root.sysGetRawNodeIndex(), 6u);
  EXPECT_NEAR(static_cast<double>(x[1].gradCopy()), 2.0 * (1.0 / 3) * (2.0 / 3), 1e-7);
}

TYPED_TEST(TapeTest, RewindToALaterMarkIsAnErrorThatChangesNothing) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const ValueT x(T(0.7));
  const auto early = tape.mark();
  tanh(tanh(x));
  const auto late = tape.mark();
  tape.rewind(early);
  const Snapshot<TapeT> before(tape);
  EXPECT_EQ(sentenceOf([&] { tape.rewind(late); }), "rewind to a mark of 3 instructions on a tape of 1");
  expectUnchanged(before, tape);
}

TYPED_TEST(TapeTest, NestedScopesForgetTheirOwnPart) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const ValueT x(T(0.7));
  {
    SampleScope outer(tape);
    const ValueT y = tanh(x);
    {
      SampleScope inner(tape);
      tanh(y) * 3.0;
      EXPECT_EQ(tape.size(), 4u);
    }
    EXPECT_EQ(tape.size(), 2u);
    EXPECT_FLOAT_EQ(static_cast<float>(y.dataCopy()), 0.60436778f);
  }
  EXPECT_EQ(tape.size(), 1u);
}

TYPED_TEST(TapeTest, AScopeThatEndsByAnExceptionRewinds) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const ValueT x(T(0.7));
  const Snapshot<TapeT> before(tape);
  const std::string sentence = sentenceOf([&] {
    SampleScope sample(tape);
    tanh(x) * 3.0;
    reduceSum(std::vector<ValueT>{});
  });
  EXPECT_EQ(sentence, "reduceSum of an empty list");
  expectUnchanged(before, tape);
}

TYPED_TEST(TapeTest, AScopeWhoseBlockRewoundFurtherLeavesItAtThat) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const ValueT x(T(0.7));
  const auto mark = tape.mark();
  tanh(x);
  {
    SampleScope sample(tape);
    tape.rewind(mark);
  }
  EXPECT_EQ(tape.size(), 1u);
}

TYPED_TEST(TapeTest, RewindKeepsTheBuffers) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const auto mark = tape.mark();
  recordAll(tape);
  const auto frame = tape.frame();
  const auto* code = tape.code();
  tape.rewind(mark);
  recordAll(tape);
  EXPECT_EQ(tape.frame().values, frame.values);
  EXPECT_EQ(tape.frame().gradients, frame.gradients);
  EXPECT_EQ(tape.frame().words, frame.words);
  EXPECT_EQ(tape.code(), code);
}

TYPED_TEST(TapeTest, GrowingKeepsWhatWasRecorded) {
  BURTORCH_TYPES;
  TapeT tape;
  CurrentTape here(tape);
  const ValueT x(T(1.25));
  ValueT y = x;
  for (int i = 0; i < 100000; ++i) y = y + 0.0;
  backward(y);
  EXPECT_EQ(y.dataCopy(), T(1.25));
  EXPECT_EQ(x.gradCopy(), T{1});
}

// ---- Several tapes ----

TYPED_TEST(TapeTest, TwoTapesDoNotMix) {
  BURTORCH_TYPES;
  TapeT first, second;
  CurrentTape here(first);
  const ValueT a(T(2.5));
  ValueT b;
  {
    CurrentTape there(second);
    b = ValueT(T(-0.5));
    backward(b * b);
    EXPECT_EQ(b.gradCopy(), T(-1));
  }
  backward(a * a);
  EXPECT_EQ(a.gradCopy(), T(5));
  EXPECT_EQ(first.size(), 2u);
  EXPECT_EQ(second.size(), 2u);
}

TYPED_TEST(TapeTest, CurrentTapesNest) {
  BURTORCH_TYPES;
  TapeT outer, inner;
  CurrentTape one(outer);
  EXPECT_EQ((&currentTape<T, TypeParam::config>()), &outer);
  {
    CurrentTape two(inner);
    EXPECT_EQ((&currentTape<T, TypeParam::config>()), &inner);
    {
      CurrentTape three(outer);
      EXPECT_EQ((&currentTape<T, TypeParam::config>()), &outer);
    }
    EXPECT_EQ((&currentTape<T, TypeParam::config>()), &inner);
  }
  EXPECT_EQ((&currentTape<T, TypeParam::config>()), &outer);
}

TYPED_TEST(TapeTest, ACurrentTapeEndsWithItsBlockHoweverItEnds) {
  BURTORCH_TYPES;
  TapeT outer, inner;
  CurrentTape here(outer);
  sentenceOf([&] {
    CurrentTape there(inner);
    fail("stop");
  });
  EXPECT_EQ((&currentTape<T, TypeParam::config>()), &outer);
}

TYPED_TEST(TapeTest, WithoutATapeEveryThreadHasAGrowingOneOfItsOwn) {
  BURTORCH_TYPES;
  const auto record = [](double start, int count, T& gradient, const void*& tape) {
    const ValueT x(static_cast<T>(start));
    ValueT sum = x;
    for (int i = 0; i < count; ++i) sum = sum + x;
    backward(sum);
    gradient = x.gradCopy();
    tape = &currentTape<T, TypeParam::config>();
  };
  T gradients[3];
  const void* tapes[3];
  std::thread one([&] { record(0.5, 20000, gradients[0], tapes[0]); });
  std::thread two([&] { record(-0.25, 30000, gradients[1], tapes[1]); });
  record(1.5, 10000, gradients[2], tapes[2]);
  one.join();
  two.join();
  EXPECT_EQ(gradients[0], T(20001));
  EXPECT_EQ(gradients[1], T(30001));
  EXPECT_EQ(gradients[2], T(10001));
  EXPECT_NE(tapes[0], tapes[2]);
  EXPECT_NE(tapes[1], tapes[2]);
}

TYPED_TEST(TapeTest, TheDefaultTapeComesBackAfterABlock) {
  BURTORCH_TYPES;
  const ValueT x(T(1.5));
  TapeT* before = &currentTape<T, TypeParam::config>();
  {
    TapeT tape;
    CurrentTape here(tape);
    tanh(ValueT(T(0.5)));
  }
  EXPECT_EQ((&currentTape<T, TypeParam::config>()), before);
  EXPECT_EQ(x.dataCopy(), T(1.5));
}

TYPED_TEST(TapeTest, TapesOfBothConfigurationsAndScalarsCoexist) {
  BURTORCH_TYPES;
  constexpr Config other{.names = !TypeParam::config.names, .checks = !TypeParam::config.checks};
  TapeT tape;
  Tape<T, other> otherTape;
  Tape<Dual<T>, other> dualTape;
  CurrentTape one(tape);
  CurrentTape two(otherTape);
  CurrentTape three(dualTape);
  const ValueT x(T(1.5));
  const Value<T, other> y(T(2.5));
  const Value<Dual<T>, other> z(Dual<T>(T(0.5), T{1}));
  backward(x * x);
  backward(y * y);
  backward(z * z);
  EXPECT_EQ(x.gradCopy(), T(3));
  EXPECT_EQ(y.gradCopy(), T(5));
  EXPECT_EQ(z.gradCopy().tangent, T(2));
}

}  // namespace tape_test
}  // namespace burtorch
