// select on a tape: the comparison and the choice are nodes, so a replay chooses again; values and gradients are those of a
// function that branches, next to poles too, in every form of the sweep.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <burtorch/burtorch.hpp>
#include <burtorch/core/guided_sweep.hpp>
#include <cmath>
#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>
#include <vector>

namespace burtorch {
namespace select_test {

constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();
using V = Value<double>;

// ---- comparisons ----

TEST(Comparison, DecidesAtOnce) {
  V x = 1.0;
  const auto isSmall = x < 2.0;
  x.setData(5.0);
  EXPECT_TRUE(isSmall);
  EXPECT_FALSE(x < 2.0);
}
TEST(Comparison, RecordsNothingForIf) {
  Tape<double> tape;
  CurrentTape here(tape);
  V x = 1.0, y = 2.0;
  const std::size_t before = tape.size();
  if (x < y && x <= 1.0 && !(y == x) && 0.0 != x && (x > 3.0) | (y >= 2.0)) y = x;
  EXPECT_EQ(y.value(), 1.0);
  EXPECT_EQ(tape.size(), before);
}
TEST(Comparison, IsThatOfTheNumbers) {
  Tape<double> tape;
  CurrentTape here(tape);
  for (const double a : {-1.5, -0.0, 0.0, 0.7, inf, -inf, nan})
    for (const double b : {-1.5, -0.0, 0.0, 0.7, inf, -inf, nan}) {
      const V x = a, y = b;
      EXPECT_EQ(bool(x < y), a < b);
      EXPECT_EQ(bool(x <= y), a <= b);
      EXPECT_EQ(bool(x > y), a > b);
      EXPECT_EQ(bool(x >= y), a >= b);
      EXPECT_EQ(bool(x == y), a == b);
      EXPECT_EQ(bool(x != y), a != b);
      EXPECT_EQ(bool(x < b), a < b);
      EXPECT_EQ(bool(a >= y), a >= b);
      EXPECT_EQ(bool(!(x < y)), !(a < b));
      EXPECT_EQ(bool((x < y) & (x != b)), a < b && a != b);
      EXPECT_EQ(bool((x < y) | (a == y)), a < b || a == b);
      EXPECT_EQ((x <=> y) == 0, (a <=> b) == 0);
    }
}
TEST(Comparison, SuitsTheStandardLibrary) {
  static_assert(std::totally_ordered<V> && std::three_way_comparable<V>);
  Tape<double> tape;
  CurrentTape here(tape);
  std::vector<V> numbers{V(3.0), V(1.0), V(2.0)};
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers[0].value(), 1.0);
  EXPECT_EQ(std::max_element(numbers.begin(), numbers.end())->value(), 3.0);
  EXPECT_EQ(std::count(numbers.begin(), numbers.end(), V(2.0)), 1);
}
TEST(Comparison, OfDefaultConstructedNumbers) {
  Tape<double> tape;
  CurrentTape here(tape);
  V zero, x = 3.0;
  EXPECT_TRUE(zero < x);
  V y = select(zero < x, x * x, zero);
  backward(y);
  EXPECT_EQ(x.grad(), 6.0);
}

// ---- choices ----

TEST(SelectOnATape, RecordsComparisonAndChoice) {
  Tape<double> tape;
  CurrentTape here(tape);
  V a = 1.0, b = 2.0;
  const std::size_t before = tape.size();
  const V y = select(a < b, a, b);
  EXPECT_EQ(tape.size(), before + 2);
  EXPECT_EQ(tape.opOf(y.index()).name, "select");
  EXPECT_EQ(tape.opOf(y.index() - 1).name, "less");
}
TEST(SelectOnATape, OfPlainNumbersIsANode) {
  auto f = record([](auto x) { return select(x[0] < 1.0, 2.0, 3.0) * x[0]; }, std::vector{0.5});
  std::vector<double> g(1);
  EXPECT_EQ(f.valueAndGrad(std::vector{0.25}, g), 0.5);
  EXPECT_EQ(g[0], 2.0);
  EXPECT_EQ(f.valueAndGrad(std::vector{4.0}, g), 12.0);
  EXPECT_EQ(g[0], 3.0);
}
TEST(SelectOnATape, TakesABoolAsABranch) {
  Tape<double> tape;
  CurrentTape here(tape);
  V a = 1.0, b = 2.0;
  const std::size_t before = tape.size();
  EXPECT_EQ(select(true, a, b).index(), a.index());
  EXPECT_EQ(select(a > b && a > 0.0, a, b).index(), b.index());
  EXPECT_EQ(tape.size(), before);
}
TEST(SelectOnATape, OutOfRoomChangesNothing) {
  Tape<double> tape(TapeCapacity{4, 4, 8});
  CurrentTape here(tape);
  V a = 1.0, b = 2.0, c = 3.0;
  EXPECT_THROW(static_cast<void>(select(a < b, a, c)), Error);
  EXPECT_EQ(tape.size(), 4u);  // the comparison found room
  backward(c);
  EXPECT_EQ(c.grad(), 1.0);
}

// ---- against branches, in all forms of the sweep ----

/// How a function chooses: `select`, or an ordinary branch. Both make a node, in which the gradients of all uses of the choice are
/// summed, so that even the last bits agree.
struct Selects {
  template <class C, class X> static X choose(const C& condition, const X& a, const X& b) {
    return select(condition, a, b);
  }
};
struct Branches {
  template <class C, class X> static X choose(const C& condition, const X& a, const X& b) {
    return (bool(condition) ? a : b) * 1.0;
  }
};

/// A random straight-line program with choices, poles, lists and shared parts; the same one for the same seed.
template <class How, class X> X program(std::uint64_t seed, std::span<const X> x) {
  Rng rng(seed);
  std::vector<X> made(x.begin(), x.end());
  const auto any = [&] { return made[rng.below(made.size())]; };
  for (int i = 0; i < 24; ++i) {
    const auto kind = rng.below(12);
    const X a = any(), b = any(), c = any(), d = any();
    switch (kind) {
      case 0: made.push_back(a + b); break;
      case 1: made.push_back(a * b); break;
      case 2: made.push_back(a / b); break;
      case 3: made.push_back(sqrt(a)); break;
      case 4: made.push_back(log(a * a)); break;
      case 5: made.push_back(tanh(a)); break;
      case 6: made.push_back(reduceMul(std::array{a, b, c})); break;
      case 7: made.push_back(How::choose(a < b, c, d)); break;
      case 8: made.push_back(How::choose(a <= 0.5, c, d)); break;
      case 9: made.push_back(How::choose((a < b) | !(c == d), c, d)); break;
      case 10: made.push_back(How::choose((0.0 < a) & (b != c), a, d)); break;
      default: made.push_back(inv(a)); break;
    }
  }
  X sum = made.back();
  for (std::size_t i = made.size() - 4; i + 1 < made.size(); ++i)
    sum = How::choose(sum == sum, sum, made[i]) + made[i];
  return sum;
}

/// Numbers at which poles and ties are frequent.
std::vector<double> inputsOf(Rng& rng) {
  constexpr double often[] = {0.0, 1.0, -1.0, 0.5, -0.0, 2.0};
  std::vector<double> x(5);
  for (double& number : x)
    number = rng.below(2) == 0 ? often[rng.below(std::size(often))] : rng.uniform<double>() * 4 - 2;
  return x;
}

enum class Form { plain, scratch, guided };
template <class How>
std::vector<double> gradientOf(std::uint64_t seed, std::span<const double> x, Form form) {
  Tape<double> tape;
  CurrentTape here(tape);
  const auto leaves = tape.leaves(x);
  std::vector<V> handles;
  for (std::size_t i = 0; i < x.size(); ++i) handles.push_back(leaves[i]);
  const V y = program<How, V>(seed, handles);
  if (form == Form::plain) backward(y);
  if (form == Form::scratch) {
    std::vector<std::uint64_t> scratch(scratchWords(y));
    backwardWithScratchStorage(y, scratch);
  }
  if (form == Form::guided) {
    SweepMemory memory;
    backward(y, {.memory = &memory, .stop = [] { return false; }});
  }
  std::vector<double> result{y.value()};
  for (const V& handle : handles) result.push_back(handle.grad());
  return result;
}

void expectSame(const std::vector<double>& got, const std::vector<double>& want, const char* what) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(got[i] == want[i] || (std::isnan(got[i]) && std::isnan(want[i])))
        << what << ": number " << i << " is " << got[i] << " instead of " << want[i];
}

TEST(SelectOnATape, HasTheGradientOfABranch) {
  std::size_t finite = 0, withNan = 0;
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed, 7);
    const std::vector<double> x = inputsOf(rng);
    const auto want = gradientOf<Branches>(seed, x, Form::plain);
    expectSame(gradientOf<Selects>(seed, x, Form::plain), want, "backward");
    expectSame(gradientOf<Selects>(seed, x, Form::scratch), want, "with scratch storage");
    expectSame(gradientOf<Selects>(seed, x, Form::guided), want, "guided");
    const bool hasNan = std::any_of(want.begin(), want.end(), [](double g) { return std::isnan(g); });
    ++(hasNan ? withNan : finite);
    if (HasFailure()) return;
  }
  EXPECT_GT(finite, 500u);
  EXPECT_GT(withNan, 500u);
}
TEST(SelectOnATape, ReplaysWithOtherNumbers) {
  std::size_t changed = 0;
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Rng rng(seed, 9);
    const std::vector<double> first = inputsOf(rng);
    auto recorded =
        record([seed]<class X>(std::span<const X> x) { return program<Selects, X>(seed, x); }, first);
    for (int again = 0; again < 3; ++again) {
      const std::vector<double> x = inputsOf(rng);
      std::vector<double> got(x.size() + 1);
      got[0] = recorded.valueAndGrad(x, std::span(got).subspan(1));
      expectSame(got, gradientOf<Branches>(seed, x, Form::plain), "replay");
      std::vector<double> batch = x, gradients(2 * x.size()), values(2);
      batch.insert(batch.end(), first.begin(), first.end());
      recorded.gradBatch(batch, gradients, values);
      expectSame({gradients.begin(), gradients.begin() + 5}, {got.begin() + 1, got.end()}, "batch");
      changed += got[0] != gradientOf<Branches>(seed, first, Form::plain)[0] ? 1u : 0u;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(changed, 1000u);
}
TEST(SelectOnATape, LeavesNothingBehindInTheNextReplay) {
  auto f =
      record([](auto x) { return select(x[0] > 0.0, sqrt(x[0]) * x[1], x[2]); }, std::vector{1.0, 2.0, 3.0});
  std::vector<double> g(3);
  f.valueAndGrad(std::vector{4.0, 3.0, 1.0}, g);
  EXPECT_EQ(g, (std::vector{0.75, 2.0, 0.0}));
  EXPECT_EQ(f.valueAndGrad(std::vector{0.0, 3.0, 1.0}, g), 1.0);
  EXPECT_EQ(g, (std::vector{0.0, 0.0, 1.0}));
  f.valueAndGrad(std::vector{4.0, 3.0, 1.0}, g);
  EXPECT_EQ(g, (std::vector{0.75, 2.0, 0.0}));
}
TEST(SelectOnATape, DropsEdgesWithoutBias) {
  // With edges kept at random the mean stays the gradient; the side not chosen gets nothing in any draw.
  double sum = 0;
  constexpr int draws = 4000;
  for (int i = 0; i < draws; ++i) {
    Tape<double> tape;
    CurrentTape here(tape);
    V a = 0.0, b = 3.0;
    SweepMemory memory;
    backward(
        select(a < b, b * 2.0, sqrt(a)),
        {.memory = &memory, .keep = {.probability = 0.5, .seed = 5, .step = static_cast<std::uint64_t>(i)}});
    EXPECT_EQ(a.grad(), 0.0);
    sum += b.grad();
  }
  EXPECT_NEAR(sum / draws, 2.0, 0.25);  // deviation of the mean: 0.055
}
TEST(SelectOnATape, SecondDerivatives) {
  const auto f = [](auto x) { return select(x[0] < x[1], x[0] * x[0] * x[1], x[1] * x[1] * x[1]); };
  for (const bool isLess : {true, false}) {
    const std::vector<double> x = isLess ? std::vector{1.5, 2.0} : std::vector{2.0, 1.5}, v{1.0, 10.0};
    std::vector<double> out(2);
    hvp<double>(f, x, v, out);
    const std::vector<double> want = isLess ? std::vector{2 * 2.0 * 1.0 + 2 * 1.5 * 10.0, 2 * 1.5 * 1.0}
                                            : std::vector{0.0, 6 * 1.5 * 10.0};
    for (std::size_t i = 0; i < 2; ++i) EXPECT_DOUBLE_EQ(out[i], want[i]);
  }
}
TEST(SelectOnATape, SinglePrecision) {
  Tape<float> tape;
  CurrentTape here(tape);
  Value<float> x = 0.0f, y = 2.0f;
  backward(select(x > 0.0, sqrt(x), y * 3.0));
  EXPECT_EQ(x.grad(), 0.0f);
  EXPECT_EQ(y.grad(), 3.0f);
}

}  // namespace select_test
}  // namespace burtorch
