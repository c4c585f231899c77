// The reverse sweep: the paper's digits in every mode, what accumulates and what is cleared, seeds, several roots,
// scratch storage, and what passes a pole.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <chrono>
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
namespace backward_test {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<std::uint64_t> bitsOf(std::span<const double> numbers) {
  std::vector<std::uint64_t> bits;
  for (double x : numbers) bits.push_back(std::bit_cast<std::uint64_t>(x));
  return bits;
}

using V = Value<double>;

/// A tape of its own for every test.
class BackwardTest : public testing::Test {
 protected:
  Tape<double> tape;
  CurrentTape<double, defaultConfig> here{tape};
};

// ---- The paper's digits ----

template <class X> X figure1(X a, X b) {
  const X c = a + b;
  const X d = a * b + pow3(b);
  const X e = c - d;
  const X f = sqr(e);
  return f / 2.0;
}

template <class X> X figure2(X a, X b) {
  X c = a + b;
  X d = a * b + pow3(b);
  c += c + 1.0;
  c += 1.0 + c - a;
  d += d * 2.0 + relu(b + a);
  d += 3.0 * d + relu(b - a);
  const X e = c - d;
  const X f = sqr(e);
  X g = f / 2.0;
  g += 10.0 / f;
  return g;
}

TEST(PaperDigits, Figure1Plain) { EXPECT_EQ(figure1(-41.0, 2.0), 612.5); }

TEST_F(BackwardTest, Figure1Eager) {
  const V a = -41.0, b = 2.0;
  const V g = figure1(a, b);
  backward(g);
  EXPECT_EQ(g.dataCopy(), 612.5);
  EXPECT_EQ(a.gradCopy(), -35);
  EXPECT_EQ(b.gradCopy(), 1050);
}

TEST_F(BackwardTest, Figure1HasTenNodes) {
  const V a = -41.0, b = 2.0;
  const V half = 2.0;
  const V c = a + b, e = c - (a * b + pow3(b));
  sqr(e) / half;
  EXPECT_EQ(tape.size(), 10u);
}

TEST(PaperDigits, Figure1Dual) {
  EXPECT_EQ(figure1(Dual<double>(-41.0, 1.0), Dual<double>(2.0)).tangent, -35);
  EXPECT_EQ(figure1(Dual<double>(-41.0), Dual<double>(2.0, 1.0)).tangent, 1050);
}

TEST(PaperDigits, Figure2Plain) { EXPECT_NEAR(figure2(-4.0, 2.0), 24.70408163, 5e-9); }

TEST_F(BackwardTest, Figure2Eager) {
  const V a = -4.0, b = 2.0;
  const V g = figure2(a, b);
  backward(g);
  EXPECT_NEAR(g.dataCopy(), 24.70408163, 5e-9);
  EXPECT_NEAR(a.gradCopy(), 138.8338192, 5e-8);
  EXPECT_NEAR(b.gradCopy(), 645.5772595, 5e-8);
}

TEST(PaperDigits, Figure2Dual) {
  EXPECT_NEAR(figure2(Dual<double>(-4.0, 1.0), Dual<double>(2.0)).tangent, 138.8338192, 5e-8);
  EXPECT_NEAR(figure2(Dual<double>(-4.0), Dual<double>(2.0, 1.0)).tangent, 645.5772595, 5e-8);
}

// Constants as leaves, as in the listing; 1e6 bits below are the same because x * 2 and x * Value(2) round alike.
TEST_F(BackwardTest, Listing8WithLeavesForConstants) {
  auto a = Value(-4.0);
  auto b = Value(2.0);
  auto c = a + b;
  auto d = a * b + pow3(b);
  c += c + Value(1.0);
  c += Value(1.0) + c - a;
  d += d * Value(2.0) + relu(b + a);
  d += Value(3.0) * d + relu(b - a);
  auto e = c - d;
  auto f = sqr(e);
  auto g = f / Value(2.0);
  g += Value(10.0) / f;
  backward(g);
  EXPECT_NEAR(a.gradCopy(), 138.8338192, 5e-8);
  EXPECT_NEAR(b.gradCopy(), 645.5772595, 5e-8);
}

TEST(PaperDigits, Figure2InSinglePrecision) {
  Tape<float> tape;
  CurrentTape here(tape);
  const Value<float> a = -4.0f, b = 2.0f;
  backward(figure2(a, b));
  EXPECT_NEAR(a.gradCopy(), 138.8338192, 138.8 * 1e-6);
  EXPECT_NEAR(b.gradCopy(), 645.5772595, 645.6 * 1e-6);
}

// ---- Accumulation and repeats ----

TEST_F(BackwardTest, LeavesAccumulateOverCalls) {
  const V x = 0.7;
  const V y = x * x;
  backward(y);
  backward(y);
  EXPECT_EQ(x.gradCopy(), 2.8);
}

TEST_F(BackwardTest, LeavesAfterInnerNodesAccumulateToo) {
  const V x = 0.7;
  const V y = x * x;
  const V late = 1.5;
  const V z = y * late;
  for (int i = 0; i < 3; ++i) backward(z);
  EXPECT_DOUBLE_EQ(late.gradCopy(), 3 * 0.7 * 0.7);
}

TEST_F(BackwardTest, InnerNodesHoldTheLastCall) {
  const V x = 0.7;
  const V y = tanh(x);
  const V z = y * 3.0;
  for (int i = 0; i < 20; ++i) backward(z);
  EXPECT_EQ(y.gradCopy(), 3.0);
  EXPECT_EQ(z.gradCopy(), 1.0);
}

TEST_F(BackwardTest, BlockOutputsHoldTheLastCall) {
  const auto x = tape.leaves(std::array{0.3, -0.4, 1.1});
  const auto p = softmax(x);
  const V z = p[1] * 3.0;
  for (int i = 0; i < 3; ++i) backward(z);
  EXPECT_EQ(p[1].gradCopy(), 3.0);
  EXPECT_EQ(p[0].gradCopy(), 0.0);
}

TEST_F(BackwardTest, RepeatsAddTheSameEveryTime) {
  const auto x = tape.leaves(std::array{0.3, -0.4, 1.1});
  const V z = innerProduct(x, softmax(x)) * figure2(x[0], x[1]);
  backward(z);
  const double once = x[1].gradCopy();
  double sum = once;
  for (int i = 1; i < 20; ++i) {
    backward(z);
    sum += once;
    ASSERT_NEAR(x[1].gradCopy(), sum, 1e-14 * std::abs(sum));
  }
}

TEST_F(BackwardTest, ARootThatIsALeaf) {
  const V x = 0.7, y = 0.2;
  backward(y);
  EXPECT_EQ(y.gradCopy(), 1.0);
  EXPECT_EQ(x.gradCopy(), 0.0);
}

TEST_F(BackwardTest, ALeafRootBehindInnerNodesAccumulates) {
  const V x = 0.7;
  tanh(x);
  const auto late = tape.leaves(3, 0.5);
  backward(late[1]);
  backward(late[1]);
  EXPECT_EQ(late[1].gradCopy(), 2.0);
  EXPECT_EQ(late[0].gradCopy(), 0.0);
  EXPECT_EQ(x.gradCopy(), 0.0);
}

TEST_F(BackwardTest, InPlaceAdditionOfItselfHasDerivativeTwo) {
  const V x = 0.7;
  V c = x;
  c += c;
  backward(c);
  EXPECT_EQ(x.gradCopy(), 2.0);
}

TEST_F(BackwardTest, ANodeThatIsBothOperands) {
  const V x = 0.7;
  const V y = tanh(x);
  backward(y * y);
  const double t = std::tanh(0.7);
  EXPECT_DOUBLE_EQ(x.gradCopy(), 2 * t * (1 - t * t));
}

TEST_F(BackwardTest, TheFirstOperandMayBeTheYoungerOne) {
  const V x = 0.7;
  const V old = sin(x), young = cos(x);
  backward(young / old);
  EXPECT_DOUBLE_EQ(young.gradCopy(), 1 / std::sin(0.7));
  EXPECT_DOUBLE_EQ(old.gradCopy(), -std::cos(0.7) / std::sin(0.7) / std::sin(0.7));
}

// ---- Seeds ----

TEST_F(BackwardTest, ASeedScalesTheGradient) {
  const V x = 0.7;
  backward(tanh(x), -2.5);
  const double t = std::tanh(0.7);
  EXPECT_DOUBLE_EQ(x.gradCopy(), -2.5 * (1 - t * t));
}

TEST_F(BackwardTest, APowerOfTwoAsSeedScalesEveryBit) {
  const V a = -4.1, b = 2.3;
  const V g = figure2(a, b);
  backward(g);
  const double once = a.gradCopy();
  tape.zeroGrad();
  backward(g, 0x1p-20);
  EXPECT_EQ(a.gradCopy(), once * 0x1p-20);
}

TEST_F(BackwardTest, ASeedOfZeroGivesZeros) {
  const V x = 0.7;
  backward(tanh(x) * x, 0.0);
  EXPECT_EQ(x.gradCopy(), 0.0);
}

// ---- Several roots ----

TEST_F(BackwardTest, ASecondRootThatSharesNodesGetsItsGradient) {
  const V x = 0.7;
  const V shared = x * x;
  const V first = shared * 3.0, second = sin(shared);
  backward(first);
  EXPECT_DOUBLE_EQ(x.gradCopy(), 3 * 1.4);
  tape.zeroGrad();
  backward(second);
  EXPECT_DOUBLE_EQ(x.gradCopy(), std::cos(0.7 * 0.7) * 1.4);
}

TEST_F(BackwardTest, ASecondRootAccumulatesIntoLeavesOnly) {
  const V x = 0.7;
  const V shared = x * x;
  const V first = shared * 3.0, second = shared * 5.0;
  backward(first);
  backward(second);
  EXPECT_EQ(shared.gradCopy(), 5.0);
  EXPECT_EQ(first.gradCopy(), 0.0);
  EXPECT_DOUBLE_EQ(x.gradCopy(), 3 * 1.4 + 5 * 1.4);
}

TEST_F(BackwardTest, NodesAboveASmallerSecondRootAreCleared) {
  const V x = 0.7;
  const V low = tanh(x);
  const V high = low * 3.0, top = high * 2.0;
  backward(top);
  backward(low);
  EXPECT_EQ(top.gradCopy(), 0.0);
  EXPECT_EQ(high.gradCopy(), 0.0);
  EXPECT_EQ(low.gradCopy(), 1.0);
}

TEST_F(BackwardTest, ALargeRootAfterASmallOneAfterALargeOne) {
  const V x = 0.7;
  const V low = tanh(x);
  const V high = low * 3.0, top = high * 2.0;
  for (const V& root : {top, low, top}) backward(root);
  EXPECT_EQ(high.gradCopy(), 2.0);
  EXPECT_EQ(low.gradCopy(), 6.0);
  const double t = std::tanh(0.7);
  EXPECT_DOUBLE_EQ(x.gradCopy(), 13 * (1 - t * t));
}

TEST_F(BackwardTest, SeveralRootsInOneSweepAreTheirSum) {
  const V x = 0.7, y = -0.3;
  const V shared = x * y;
  const std::array roots{sin(shared), shared * 3.0, cos(x)};
  backward(std::span<const V>(roots));
  EXPECT_DOUBLE_EQ(shared.gradCopy(), std::cos(-0.21) + 3);
  EXPECT_DOUBLE_EQ(x.gradCopy(), -0.3 * (std::cos(-0.21) + 3) - std::sin(0.7));
}

TEST_F(BackwardTest, SeveralRootsWithSeeds) {
  const V x = 0.7;
  const std::array roots{x * 3.0, x * 5.0};
  const std::array seeds{0.5, -2.0};
  backward(std::span<const V>(roots), std::span<const double>(seeds));
  EXPECT_EQ(x.gradCopy(), 1.5 - 10.0);
}

TEST_F(BackwardTest, EqualRootsCountTwice) {
  const V x = 0.7;
  const V y = x * 3.0;
  const std::array roots{y, y};
  backward(std::span<const V>(roots));
  EXPECT_EQ(y.gradCopy(), 2.0);
  EXPECT_EQ(x.gradCopy(), 6.0);
}

TEST_F(BackwardTest, LeavesAmongTheRoots) {
  const V x = 0.7;
  const V y = x * 3.0;
  const V late = 0.4;
  const std::array roots{x, late, y, x};
  backward(std::span<const V>(roots));
  EXPECT_EQ(x.gradCopy(), 5.0);
  EXPECT_EQ(late.gradCopy(), 1.0);
}

TEST_F(BackwardTest, ARootBelowAnotherRoot) {
  const V x = 0.7;
  const V y = x * 3.0, z = y * 5.0;
  const std::array roots{z, y};
  backward(std::span<const V>(roots));
  EXPECT_EQ(y.gradCopy(), 6.0);
  EXPECT_EQ(x.gradCopy(), 18.0);
}

TEST_F(BackwardTest, BlockOutputsAsRoots) {
  const auto x = tape.leaves(std::array{0.3, -0.4, 1.1});
  const auto p = softmax(x);
  const std::array roots{p[0], p[1], p[2]};
  backward(std::span<const V>(roots));
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(x[i].gradCopy(), 0.0, 1e-16) << "probabilities sum to 1";
}

TEST_F(BackwardTest, NoRootsChangeNothing) {
  const V x = 0.7;
  backward(x * 3.0);
  backward(std::span<const V>());
  EXPECT_EQ(x.gradCopy(), 3.0);
}

TEST_F(BackwardTest, RootsAndSeedsOfDifferentLengthsAreAnErrorThatChangesNothing) {
  const V x = 0.7;
  const std::array roots{x * 3.0, x * 5.0};
  const std::array seeds{0.5};
  backward(roots[0]);
  const auto before = bitsOf(tape.gradients());
  const auto sentence =
      sentenceOf([&] { backward(std::span<const V>(roots), std::span<const double>(seeds)); });
  EXPECT_EQ(sentence, "backward: expected a seed for each of 2 roots, got 1");
  EXPECT_EQ(bitsOf(tape.gradients()), before);
}

TEST_F(BackwardTest, SeveralRootsAfterOneRootStartAfresh) {
  const V x = 0.7;
  const V y = x * 3.0, z = y * 5.0;
  backward(z);
  const std::array roots{y};
  backward(std::span<const V>(roots));
  EXPECT_EQ(y.gradCopy(), 1.0);
  EXPECT_EQ(z.gradCopy(), 0.0);
  EXPECT_EQ(x.gradCopy(), 18.0);
}

// ---- A root inside a block ----

TEST_F(BackwardTest, ARootAmongTheOutputsOfABlock) {
  const std::array logits{0.3, -0.4, 1.1, 0.2};
  for (std::size_t root = 0; root < 4; ++root) {
    tape.clear();
    const auto x = tape.leaves(logits);
    const auto p = softmax(x);
    backward(p[root]);
    for (std::size_t i = 0; i < 4; ++i) {
      const double pr = p[root].dataCopy(), pi = p[i].dataCopy();
      EXPECT_NEAR(x[i].gradCopy(), pr * ((i == root ? 1.0 : 0.0) - pi), 1e-16)
          << "root " << root << ", x " << i;
    }
  }
}

TEST_F(BackwardTest, ARootInABlockBelowOtherBlocks) {
  const auto x = tape.leaves(std::array{0.3, -0.4, 1.1});
  const auto p = softmax(x);
  const auto q = softmax(p);
  backward(q[0]);
  const double before = x[0].gradCopy();
  tape.zeroGrad();
  backward(p[1]);
  EXPECT_EQ(q[0].gradCopy(), 0.0);
  EXPECT_NE(x[0].gradCopy(), before);
  EXPECT_NEAR(x[0].gradCopy(), -p[0].dataCopy() * p[1].dataCopy(), 1e-16);
}

// ---- zeroGrad ----

TEST_F(BackwardTest, ZeroGradOfATapeClearsEverything) {
  const auto x = tape.leaves(3, 0.7);
  backward(reduceSumOfSquares(softmax(x)) * x[1]);
  tape.zeroGrad();
  for (double g : tape.gradients()) EXPECT_EQ(g, 0.0);
}

TEST_F(BackwardTest, ZeroGradOfARangeClearsOnlyIt) {
  const auto x = tape.leaves(4, 0.7);
  backward(reduceSum(x));
  zeroGrad(x.subrange(1, 2));
  EXPECT_EQ(bitsOf(x.gradients()), bitsOf(std::array{1.0, 0.0, 0.0, 1.0}));
}

TEST_F(BackwardTest, ZeroGradOfAStridedRange) {
  const auto x = tape.leaves(4, 0.7);
  backward(reduceSum(x));
  zeroGrad(x.every(3, 2, -2));
  EXPECT_EQ(bitsOf(x.gradients()), bitsOf(std::array{1.0, 0.0, 1.0, 0.0}));
}

TEST_F(BackwardTest, BackwardAfterZeroGradOfTheParametersIsFresh) {
  const auto w = tape.leaves(3, 0.7);
  const V loss = reduceSumOfSquares(w);
  backward(loss);
  const double once = w[2].gradCopy();
  zeroGrad(w);
  backward(loss);
  EXPECT_EQ(w[2].gradCopy(), once);
}

// ---- Rewind ----

TEST_F(BackwardTest, AfterRewindOldInnerGradientsAreGone) {
  const V x = 0.7;
  const auto mark = tape.mark();
  backward(tanh(x) * 3.0);
  tape.rewind(mark);
  const double before = x.gradCopy();
  const V y = x * 5.0;
  const V z = y * 2.0;
  backward(z);
  EXPECT_EQ(y.gradCopy(), 2.0);
  EXPECT_EQ(x.gradCopy(), before + 10.0);
}

TEST_F(BackwardTest, AfterRewindIntoTheMiddleOfASweepKeptNodesAreCleared) {
  const V x = 0.7;
  const V kept = tanh(x);
  const auto mark = tape.mark();
  backward(kept * 3.0);
  tape.rewind(mark);
  backward(kept);
  EXPECT_EQ(kept.gradCopy(), 1.0);
}

TEST_F(BackwardTest, LeavesThatReplaceInnerNodesAfterRewind) {
  const V x = 0.7;
  const auto mark = tape.mark();
  backward(tanh(x) * 3.0);
  tape.rewind(mark);
  tape.zeroGrad();
  const V y = 0.2;
  const V z = x * y;
  backward(z);
  backward(z);
  EXPECT_EQ(y.gradCopy(), 1.4);
}

TEST_F(BackwardTest, InnerNodesThatReplaceLeavesAfterRewind) {
  const V x = 0.7;
  const auto mark = tape.mark();
  const V y = 0.2, z = 0.3;
  backward(x * y * z);
  tape.rewind(mark);
  tape.zeroGrad();
  const V u = x * 3.0;
  const V v = u * 2.0;
  backward(v);
  backward(v);
  EXPECT_EQ(u.gradCopy(), 2.0);
  EXPECT_EQ(x.gradCopy(), 12.0);
}

// ---- Scratch storage ----

/// Records a graph with shared nodes, lists, blocks, a leaf in the middle and dead parts.
V mixedGraph(Tape<double>& tape) {
  const auto x = tape.leaves(std::array{0.3, -0.4, 1.1, 0.2, -0.9});
  const auto dead = softmax(x);
  reduceSum(dead) * x[0];
  const V middle = 0.6;
  const std::array scattered{x[0], middle, x[3], x[0]};
  const auto p = softmax(scattered);
  V s = innerProduct(x.every(0, 3, 2), std::array{p[0], p[2], middle}) + tanh(p[1]) * reduceMul(x);
  exp(s);
  s += crossEntropy(x, 2) / (s * s + 1.0);
  return s;
}

TEST_F(BackwardTest, ScratchStorageGivesTheSameBits) {
  const V root = mixedGraph(tape);
  backward(root);
  const auto expected = bitsOf(tape.gradients());
  tape.zeroGrad();
  std::vector<std::uint64_t> scratch(scratchWords(root));
  backwardWithScratchStorage(root, scratch);
  EXPECT_EQ(bitsOf(tape.gradients()), expected);
}

TEST_F(BackwardTest, ScratchStorageGivesTheSameBitsOverRepeatsAndSeeds) {
  const V root = mixedGraph(tape);
  std::vector<std::uint64_t> scratch(scratchWords(root), ~std::uint64_t{0});
  for (double seed : {1.0, -0.7, 3.3}) backward(root, seed);
  const auto expected = bitsOf(tape.gradients());
  tape.zeroGrad();
  for (double seed : {1.0, -0.7, 3.3}) backwardWithScratchStorage(root, scratch, seed);
  EXPECT_EQ(bitsOf(tape.gradients()), expected);
}

TEST_F(BackwardTest, OneRootInASpanGivesTheSameBits) {
  const V root = mixedGraph(tape);
  backward(root);
  const auto expected = bitsOf(tape.gradients());
  tape.zeroGrad();
  const std::array roots{root};
  backward(std::span<const V>(roots));
  EXPECT_EQ(bitsOf(tape.gradients()), expected);
}

TEST_F(BackwardTest, ScratchAndSimpleSweepsMayAlternate) {
  const V root = mixedGraph(tape);
  std::vector<std::uint64_t> scratch(scratchWords(root));
  backward(root);
  backward(root);
  const auto expected = bitsOf(tape.gradients());
  tape.zeroGrad();
  backwardWithScratchStorage(root, scratch);
  backward(root);
  EXPECT_EQ(bitsOf(tape.gradients()), expected);
}

TEST_F(BackwardTest, ScratchStorageFromARootInsideABlock) {
  const auto x = tape.leaves(200, 0.1);
  const auto p = softmax(x);
  backward(p[3]);
  const auto expected = bitsOf(tape.gradients());
  tape.zeroGrad();
  std::vector<std::uint64_t> scratch(scratchWords(p[3]));
  backwardWithScratchStorage(p[3], scratch);
  EXPECT_EQ(bitsOf(tape.gradients()), expected);
}

TEST_F(BackwardTest, ScratchStorageSkipsWhatTheRootDoesNotDependOn) {
  // Runs of every length below, between and above blocks, none of which the root depends on.
  for (int length = 0; length < 40; ++length) {
    tape.clear();
    const auto waste = [length](V y) {
      for (int i = 0; i < length; ++i) y = y * 1.5;
      return y;
    };
    const auto x = tape.leaves(3, 0.3);
    waste(x[0]);
    V root = x[1] * x[2];
    waste(root);
    softmax(x);
    root = root + softmax(x)[1];
    waste(x[2]);
    root = sin(root) * x[0];
    waste(root);
    const V last = root + 0.25;
    backward(last);
    const auto expected = bitsOf(tape.gradients());
    tape.zeroGrad();
    std::vector<std::uint64_t> scratch(scratchWords(last), ~std::uint64_t{0});
    backwardWithScratchStorage(last, scratch);
    EXPECT_EQ(bitsOf(tape.gradients()), expected) << length;
  }
}

TEST_F(BackwardTest, TooLittleScratchIsAnErrorThatChangesNothing) {
  V root = 0.7;
  for (int i = 0; i < 64; ++i) root = root * 1.01;
  backward(root);
  const auto before = bitsOf(tape.gradients());
  EXPECT_EQ(scratchWords(root), 9u);
  std::vector<std::uint64_t> scratch(8, 77);
  const auto sentence = sentenceOf([&] { backwardWithScratchStorage(root, scratch); });
  EXPECT_EQ(sentence, "backwardWithScratchStorage needs 9 words of scratch storage, it was given 8");
  EXPECT_EQ(bitsOf(tape.gradients()), before);
  EXPECT_EQ(scratch[0], 77u);
}

TEST_F(BackwardTest, ScratchIsWrittenOnlyAsFarAsNeeded) {
  const V x = 0.7;
  const V root = tanh(x);
  std::vector<std::uint64_t> scratch(3, 77);
  backwardWithScratchStorage(root, scratch);
  EXPECT_EQ(scratch[1], 77u);
  EXPECT_EQ(scratch[2], 77u);
}

// ---- Poles ----

struct UserLog : UnaryOp {
  static constexpr std::string_view name = "userLog";
  template <class T> static T value(T x) {
    using std::log;
    return log(x);
  }
  template <class T> static T vjp(T g, T x, Unread) { return g / x; }
};

struct UserQuotient : BinaryOp {
  static constexpr std::string_view name = "userQuotient";
  template <class T> static T value(T x, T y) { return x / y; }
  template <class T> static T vjpX(T g, Unread, T y, Unread) { return g / y; }
  template <class T> static T vjpY(T g, T x, T y, Unread) { return -g * (x / y / y); }
};

struct UserPower : ConstantOp {
  static constexpr std::string_view name = "userPower";
  template <class T, class C> static T value(T x, C c) {
    using std::pow;
    return pow(x, c);
  }
  template <class T, class C> static T vjp(T g, T x, C c, Unread) {
    using std::pow;
    return g * (c * pow(x, c - C{1}));
  }
};

// Finite where its slope is not: sqrt(x_1).
struct UserFirstRoot : VaryingOp {
  static constexpr std::string_view name = "userFirstRoot";
  template <class T> static T value(const List<T>& xs) {
    using std::sqrt;
    return sqrt(xs.base[ListWalker(xs.shape).next(1).first]);
  }
  template <class T> static void vjp(T g, const List<T>&, T y, const GradientList<T>& gs) {
    T& to = gs.base[ListWalker(gs.shape).next(1).first];
    to = to + g / (y + y);
  }
};

template <class T> struct Pole {
  const char* name;
  Value<T> (*make)(const Value<T>& x);  // has an infinite slope at x = 0
};

template <class T> std::vector<Pole<T>> poles() {
  using X = Value<T>;
  return {
      {"logarithm", [](const X& x) { return logarithm(x); }},
      {"sqrt", [](const X& x) { return sqrt(x); }},
      {"inv", [](const X& x) { return inv(x); }},
      {"invSqrt", [](const X& x) { return invSqrt(x); }},
      {"constant / x", [](const X& x) { return 2.0 / x; }},
      {"x / x", [](const X& x) { return x / x; }},
      {"pow", [](const X& x) { return pow(x, 0.25); }},
      {"infinite constant", [](const X& x) { return (x + 1.0) * infinity; }},
      {"division by the constant 0", [](const X& x) { return (x + 1.0) / 0.0; }},
      {"leakyRelu with infinite slope", [](const X& x) { return leakyRelu(x, infinity); }},
      {"reduceSum",
       [](const X& x) {
         return reduceSum({logarithm(x), x, x});
       }},
      {"reduceMul",
       [](const X& x) {
         return reduceMul({x, x, inv(x), x});
       }},
      {"innerProduct",
       [](const X& x) {
         return innerProduct({inv(x), x}, {x, x});
       }},
      {"sum of squares",
       [](const X& x) {
         return reduceSumOfSquares({inv(x), x});
       }},
      {"variance",
       [](const X& x) {
         return variance(std::array{inv(x), x});
       }},
      {"softmax",
       [](const X& x) {
         return softmax(std::array{inv(x), x, x})[1];
       }},
      {"logSumExp",
       [](const X& x) {
         return logSumExp(std::array{inv(x), x});
       }},
      {"crossEntropy",
       [](const X& x) {
         return crossEntropy(std::array{inv(x), x}, 1);
       }},
      {"user unary", [](const X& x) { return apply<UserLog>(x); }},
      {"user binary", [](const X& x) { return apply<UserQuotient>(x, x); }},
      {"user constant", [](const X& x) { return applyConstant<UserPower>(x, 0.5); }},
      {"user list",
       [](const X& x) {
         return applyToList<UserFirstRoot>(std::array{x, x});
       }},
  };
}

bool isNan(double x) { return std::isnan(x); }
bool isNan(Dual<double> x) { return std::isnan(x.value); }
double valueOf(double x) { return x; }
double valueOf(Dual<double> x) { return x.value; }

template <class T> class PoleTest : public testing::Test {
 protected:
  Tape<T> tape;
  CurrentTape<T, defaultConfig> here{tape};
  T zero() const {
    if constexpr (std::is_same_v<T, double>)
      return 0.0;
    else
      return {0.0, 0.7};
  }
};
using PoleScalars = testing::Types<double, Dual<double>>;
TYPED_TEST_SUITE(PoleTest, PoleScalars);

TYPED_TEST(PoleTest, ADeadPoleDoesNotDisturb) {
  for (const auto& pole : poles<TypeParam>()) {
    this->tape.clear();
    const Value<TypeParam> x(this->zero());
    pole.make(x);
    backward(x * 3.0);
    EXPECT_EQ(valueOf(x.gradCopy()), 3.0) << pole.name;
  }
}

TYPED_TEST(PoleTest, ADeadPoleWithSuccessorsDoesNotDisturb) {
  for (const auto& pole : poles<TypeParam>()) {
    this->tape.clear();
    const Value<TypeParam> x(this->zero());
    tanh(pole.make(x)) * x;
    const Value<TypeParam> y = x + 2.0;
    backward(y * 3.0);
    EXPECT_EQ(valueOf(x.gradCopy()), 3.0) << pole.name;
    EXPECT_EQ(valueOf(y.gradCopy()), 3.0) << pole.name;
  }
}

TYPED_TEST(PoleTest, APoleReachedWithGradientZeroGivesNan) {
  for (const auto& pole : poles<TypeParam>()) {
    this->tape.clear();
    const Value<TypeParam> x(this->zero());
    backward(pole.make(x) * 0.0);
    EXPECT_TRUE(isNan(x.gradCopy())) << pole.name;
  }
}

TYPED_TEST(PoleTest, AReachedPoleBesideADeadOneGivesNanOnlyWhereItLeads) {
  for (const auto& pole : poles<TypeParam>()) {
    this->tape.clear();
    const Value<TypeParam> x(this->zero()), y(this->zero()), z(TypeParam(0.4));
    pole.make(x);
    const auto reached = pole.make(y);
    pole.make(x);
    backward(reached * 0.0 + z * 3.0 + x * 5.0);
    EXPECT_EQ(valueOf(x.gradCopy()), 5.0) << pole.name;
    EXPECT_TRUE(isNan(y.gradCopy())) << pole.name;
    EXPECT_EQ(valueOf(z.gradCopy()), 3.0) << pole.name;
  }
}

TYPED_TEST(PoleTest, ScratchStorageFollowsTheSameRule) {
  for (const auto& pole : poles<TypeParam>()) {
    this->tape.clear();
    const Value<TypeParam> x(this->zero()), y(this->zero());
    pole.make(x);
    const auto root = pole.make(y) * 0.0 + x * 5.0;
    std::vector<std::uint64_t> scratch(scratchWords(root));
    backwardWithScratchStorage(root, scratch);
    EXPECT_EQ(valueOf(x.gradCopy()), 5.0) << pole.name;
    EXPECT_TRUE(isNan(y.gradCopy())) << pole.name;
  }
}

TYPED_TEST(PoleTest, SeveralRootsFollowTheSameRule) {
  for (const auto& pole : poles<TypeParam>()) {
    this->tape.clear();
    const Value<TypeParam> x(this->zero()), y(this->zero());
    pole.make(x);
    const std::array roots{pole.make(y), x * 5.0};
    const std::array seeds{TypeParam(0.0), TypeParam(1.0)};
    backward(std::span<const Value<TypeParam>>(roots), std::span<const TypeParam>(seeds));
    EXPECT_EQ(valueOf(x.gradCopy()), 5.0) << pole.name;
    EXPECT_TRUE(isNan(y.gradCopy())) << pole.name;
  }
}

TYPED_TEST(PoleTest, LeavesAccumulateAcrossACarefulSweep) {
  const Value<TypeParam> x(this->zero());
  logarithm(x);
  const auto y = x * 3.0;
  for (int i = 0; i < 4; ++i) backward(y);
  EXPECT_EQ(valueOf(x.gradCopy()), 12.0);
  EXPECT_EQ(valueOf(y.gradCopy()), 1.0);
}

TEST_F(BackwardTest, ADeadPoleInsideADeepChain) {
  const V x = 0.0;
  V y = x + 1.0;
  for (int i = 0; i < 1000; ++i) {
    logarithm(x);
    y = y + x;
  }
  backward(y);
  EXPECT_EQ(x.gradCopy(), 1001.0);
}

TEST_F(BackwardTest, AZeroThatCancelsIsStillReached) {
  const V x = 0.0;
  const V pole = sqrt(x);
  backward(pole - pole);
  EXPECT_TRUE(std::isnan(x.gradCopy()));
}

TEST_F(BackwardTest, AClosedGateReachesItsOperandWithZero) {
  const V x = 0.0;
  backward(relu(logarithm(x)));
  EXPECT_TRUE(std::isnan(x.gradCopy())) << "PyTorch: relu passes 0 on, 0 * inf is NaN";
}

// ---- Seeds ----

// A seed of 0 would be a sweep of nothing. With guided_sweep.hpp, empty braces are the default options of a sweep
// from a Value, so that is a test of the seed's type.
template <class Root>
concept TakesEmptyBraces = requires(const Root& root) {
  backward(root, {});
};
template <class Root>
concept TakesEmptyBracesAfterScratch = requires(const Root& root, std::span<std::uint64_t> scratch) {
  backwardWithScratchStorage(root, scratch, {});
};
TEST_F(BackwardTest, EmptyBracesAreNoSeed) {
  EXPECT_FALSE((std::is_default_constructible_v<Sweep<double, defaultConfig>::Seed>));
  EXPECT_FALSE((std::is_default_constructible_v<Sweep<Dual<float>, defaultConfig>::Seed>));
  EXPECT_FALSE(TakesEmptyBraces<GradientOnly<double>>);
  EXPECT_FALSE(TakesEmptyBracesAfterScratch<V>);
}
TEST_F(BackwardTest, ASeedIsAnyNumberThatBecomesOneOfTheTape) {
  const V x = 1.5, y = sqr(x);
  const auto gradientOf = [&](auto seed) {
    tape.zeroGrad();
    backward(y, seed);
    return x.gradCopy();
  };
  EXPECT_EQ(gradientOf(2), 6.0);
  EXPECT_EQ(gradientOf(-0.5F), -1.5);
  tape.zeroGrad();
  std::vector<std::uint64_t> scratch(scratchWords(y));
  backwardWithScratchStorage(y, scratch, 2);
  EXPECT_EQ(x.gradCopy(), 6.0);
}
TEST_F(BackwardTest, ASeedOfDualNumbersIsADualOrAPlainNumber) {
  Tape<Dual<double>> duals;
  const CurrentTape there(duals);
  const Value<Dual<double>> x(Dual<double>{1.5, 1}), y = sqr(x);
  backward(y, Dual<double>{2, 0.5});  // 2 * 2x, and its derivative 2 * 2 + 0.5 * 2x
  EXPECT_EQ(x.gradCopy().value, 6.0);
  EXPECT_EQ(x.gradCopy().tangent, 5.5);
  backward(y, 1);
  EXPECT_EQ(x.gradCopy().value, 9.0);
}

// ---- Lists of roots, parameters to zero ----

TEST_F(BackwardTest, RootsAndSeedsAreAnyLists) {
  const V x = 1.5, y = -0.5;
  const V p = x * y, q = sqr(x);
  const auto gradientOf = [&](auto&& sweep) {
    tape.zeroGrad();
    sweep();
    return x.gradCopy();
  };
  const double plain = -0.5 + 3.0, weighted = 2 * -0.5 + 0.25 * 3.0;
  const std::vector<V> roots{p, q};
  const std::vector<double> seeds{2.0, 0.25};
  EXPECT_EQ(gradientOf([&] { backward(roots); }), plain);
  EXPECT_EQ(gradientOf([&] { backward(std::array{p, q}); }), plain);
  EXPECT_EQ(gradientOf([&] { backward({p, q}); }), plain);
  EXPECT_EQ(gradientOf([&] { backward(roots, seeds); }), weighted);
  EXPECT_EQ(gradientOf([&] { backward(std::array{p, q}, std::array{2.0, 0.25}); }), weighted);
  EXPECT_EQ(gradientOf([&] { backward(std::span<const V>(roots), std::span<const double>(seeds)); }),
            weighted);
  EXPECT_EQ(gradientOf([&] { backward({p, q}, {2.0, 0.25}); }), weighted);
  EXPECT_EQ(sentenceOf([&] { backward(roots, std::vector<double>{1.0}); }),
            "backward: expected a seed for each of 2 roots, got 1");
}

TEST_F(BackwardTest, ADefaultConstructedRootAddsNothing) {
  const V x = 1.5, q = sqr(x);
  backward({V(), q, V()}, {5.0, 2.0, 7.0});
  EXPECT_EQ(x.gradCopy(), 6.0);
  backward(std::vector<V>(2));
  EXPECT_EQ(x.gradCopy(), 6.0);
}

// It looked for the instruction of every element: 3.6 s for these 40,000.
TEST_F(BackwardTest, ZeroGradOfARangeIsLinear) {
  const std::size_t n = 40'000;
  const auto w = tape.leaves(n, 0.5);
  V s = w[0];
  for (std::size_t i = 1; i < n; ++i) s = s + w[i] * w[i - 1];
  backward(s * softmax(w.subrange(0, 3))[0]);
  const auto start = std::chrono::steady_clock::now();
  zeroGrad(w);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500));
  for (const double g : w.gradients()) ASSERT_EQ(g, 0.0);
}

TEST_F(BackwardTest, ZeroGradOfAStridedRangeLeavesTheOthers) {
  const auto w = tape.leaves(6, 0.5);
  backward(reduceSum(w));
  zeroGrad(w.every(4, 3, -2));
  EXPECT_EQ(std::vector<double>(w.gradients().begin(), w.gradients().end()),
            (std::vector<double>{0, 1, 0, 1, 0, 1}));
}

// ---- firstNonFinite ----

TEST_F(BackwardTest, FirstNonFiniteOfAHealthyTapeIsItsSize) {
  backward(mixedGraph(tape));
  EXPECT_EQ(firstNonFinite(tape), tape.size());
}

TEST_F(BackwardTest, FirstNonFiniteNamesTheNodeWithTheFirstBadValue) {
  const V x = 0.0, y = 1.0;
  const V bad = y / x;
  tanh(bad);
  EXPECT_EQ(firstNonFinite(tape), bad.sysGetRawNodeIndex());
}

TEST_F(BackwardTest, FirstNonFiniteSeesGradients) {
  const V y = 1.0, x = 0.0;
  backward(sqrt(x) + y);
  EXPECT_EQ(firstNonFinite(tape), x.sysGetRawNodeIndex());
}

TEST_F(BackwardTest, FirstNonFiniteSeesNan) {
  const V x = 0.5;
  const V y = logarithm(x - 1.0);
  EXPECT_EQ(firstNonFinite(tape), y.sysGetRawNodeIndex());
}

}  // namespace backward_test
}  // namespace burtorch
