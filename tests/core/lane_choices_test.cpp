// What packs do where their lanes go different ways: comparisons, select, and backward, which knows for every lane what it
// reached. Lane i must have the gradient of the same program on numbers, NaN and all, however the sweep is asked for.
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <burtorch/core/guided_sweep.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace lane_choices_test {

using namespace burtorch;
using P = Pack<double, 4>;
constexpr double inf = std::numeric_limits<double>::infinity(),
                 nan = std::numeric_limits<double>::quiet_NaN();

P pack(double a, double b, double c, double d) {
  const double lanes[] = {a, b, c, d};
  return P::load(lanes);
}
bool areEqual(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

/// How a sweep is asked for.
enum class Way { plain, list, scratch, guided, wanted, kept, count };
template <class T> void sweep(Way way, const Value<T>& root, const T& seed, std::span<const Block> leaves) {
  std::vector<std::uint64_t> scratch(scratchWords(root));
  SweepMemory memory;
  switch (way) {
    case Way::plain: return backward(root, seed);
    case Way::list: return backward(std::vector{root, root}, std::vector<T>{seed * T(0.25), seed * T(0.75)});
    case Way::scratch: return backwardWithScratchStorage(root, std::span(scratch), seed);
    case Way::guided:
      static_cast<void>(backward(root, {.memory = &memory, .seed = seed, .stop = [] { return false; }}));
      return;
    case Way::wanted:
      static_cast<void>(backward(root, {.memory = &memory, .seed = seed, .wanted = leaves}));
      return;
    case Way::kept:  // everything, but for one edge in 2^53
      static_cast<void>(
          backward(root, {.memory = &memory, .seed = seed, .keep = {.probability = 1 - 0x1p-53}}));
      return;
    case Way::count: return;
  }
}

/// Gradients of `f` of a list of numbers.
template <class T, class F> std::vector<T> gradientOf(F f, const std::vector<T>& at, Way way, const T& seed) {
  Tape<T> tape;
  CurrentTape here(tape);
  const auto leaves = tape.leaves(std::span<const T>(at));
  std::vector<Value<T>> xs;
  for (std::size_t i = 0; i < at.size(); ++i) xs.push_back(leaves[i]);
  const Value<T> root = f(xs);
  const Block wanted[] = {{0, static_cast<NodeIndex>(at.size())}};
  sweep<T>(way, root, seed, wanted);
  return {leaves.gradients().begin(), leaves.gradients().end()};
}

template <class F> void expectLanesOf(F f, const std::vector<P>& at, const P& seed, const std::string& what) {
  for (std::size_t way = 0; way < static_cast<std::size_t>(Way::count); ++way) {
    const auto found = gradientOf<P>(f, at, Way(way), seed);
    for (std::size_t lane = 0; lane < P::count; ++lane) {
      std::vector<double> numbers;
      for (const P& x : at) numbers.push_back(x[lane]);
      const auto want = gradientOf<double>(f, numbers, Way(way), seed[lane]);
      for (std::size_t i = 0; i < at.size(); ++i)
        EXPECT_TRUE(areEqual(found[i][lane], want[i]))
            << what << ", way " << way << ", lane " << lane << ", number " << i << ": " << found[i][lane]
            << " instead of " << want[i];
    }
  }
}
template <class F> void expectLanesOf(F f, const std::vector<P>& at, const std::string& what) {
  expectLanesOf(f, at, P(1), what);
  expectLanesOf(f, at, pack(0, 1, -0.0, 2), what + ", seeds with zeros");
}

// ---- comparisons ----

TEST(LaneChoices, AComparisonOfPacksIsNoBool) {
  using V = Value<P>;
  using Mask = decltype(P() < P());
  static_assert(!std::is_constructible_v<bool, decltype(V() < V())>);
  static_assert(!std::is_constructible_v<bool, decltype(V() < 1.0)>);
  static_assert(!std::is_constructible_v<bool, Mask>);
  static_assert(!std::is_constructible_v<bool, decltype(Dual<P>() < Dual<P>())>);
  static_assert(std::is_constructible_v<bool, decltype(Value<double>() < Value<double>())>);
}
TEST(LaneChoices, SelectChoosesInEachLane) {
  Tape<P> tape;
  CurrentTape here(tape);
  const Value<P> x(pack(1, -2, nan, 0)), y(pack(2, -3, 0, 0));
  const auto check = [](const Value<P>& chosen, std::array<double, 4> want) {
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(chosen.value()[i], want[i]) << i;
  };
  check(select(x < y, 1.0, 2.0), {1, 2, 2, 2});
  check(select(x <= y, 1.0, 2.0), {1, 2, 2, 1});
  check(select(x > y, 1.0, 2.0), {2, 1, 2, 2});
  check(select(x >= y, 1.0, 2.0), {2, 1, 2, 1});
  check(select(x == y, 1.0, 2.0), {2, 2, 2, 1});
  check(select(x != y, 1.0, 2.0), {1, 1, 1, 2});
  check(select(!(x < y), 1.0, 2.0), {2, 1, 1, 1});
  check(select((x < y) | (y == 0.0), 1.0, 2.0), {1, 2, 1, 1});
  check(select((x <= y) & (x > 0.5), 1.0, 2.0), {1, 2, 2, 2});
}
TEST(LaneChoices, PacksAsNumbersCombineTheirConditions) {
  const P x = pack(1, -2, nan, 0), y = pack(2, -3, 0, 0);
  const P chosen = select((x < y) | !(y < P(1)), P(1), P(2)),
          both = select((x <= y) & (x > P(0.5)), P(1), P(2));
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(chosen[i], (std::array{1, 2, 2, 2}[i]));
    EXPECT_EQ(both[i], (std::array{1, 2, 2, 2}[i]));
  }
}

// ---- the NaN of a pole that was not chosen ----

const std::vector<std::vector<P>> places{
    {pack(4, 0, -1, 9), pack(0.5, -1, 0, 2)},
    {pack(0, 0, 0, 0), pack(0, 1, -1, inf)},
    {pack(inf, 1, 0, -0.0), pack(1, 1, 1, 0)},
    {pack(nan, 0, 1, -3), pack(0, nan, 0, 1)},
};
template <class F> void expectLanesOf(F f, const std::string& what) {
  for (std::size_t i = 0; i < places.size(); ++i)
    expectLanesOf(f, places[i], what + ", place " + std::to_string(i));
}

TEST(LaneChoices, TheSquareRootOfZeroIsNotChosen) {
  expectLanesOf([](const auto& x) { return select(x[0] > 0.0, sqrt(x[0]), x[1]); }, "sqrt");
}
TEST(LaneChoices, DeepInTheSideNotChosen) {
  expectLanesOf(
      [](const auto& x) {
        const auto deep = sqrt(x[0]) / x[0] * x[1] + 1.0 / x[0];
        return select(x[0] > 0.0, deep * x[1], x[0] + x[1]);
      },
      "deep");
}
TEST(LaneChoices, APoleThatBothSidesShare) {
  expectLanesOf(
      [](const auto& x) {
        const auto pole = 1.0 / x[0];
        return select(x[1] > 0.0, x[1] * 2.0, select(x[1] < -0.5, pole * x[1], pole)) + x[0];
      },
      "shared");
}
TEST(LaneChoices, ListsInTheSideNotChosen) {
  expectLanesOf(
      [](const auto& x) {
        using V = std::remove_cvref_t<decltype(x[0])>;
        const std::vector<V> list{sqrt(x[0]), x[1] / x[0], x[1], x[0]};
        const auto sums = reduceSum(list) + reduceSub(list) * varianceBiased(list) + innerProduct(list, list);
        return select(x[0] > 0.0, sums + reduceMul(list) + reduceMeanSquares(list), x[1]);
      },
      "lists");
}
TEST(LaneChoices, AChoiceOfAChoice) {
  expectLanesOf(
      [](const auto& x) {
        const auto inner = select(x[1] >= 0.0, sqrt(x[1]), x[0]);
        return select(x[0] != 0.0, inner / x[0], select(x[1] == 1.0, x[1], inner * 2.0));
      },
      "nested");
}
TEST(LaneChoices, BothSidesAreTheSameNode) {
  expectLanesOf(
      [](const auto& x) {
        const auto root = sqrt(x[0]);
        return select(x[1] > 0.0, root, root);
      },
      "same");
}

}  // namespace lane_choices_test
