// select and comparisons in compile-time graphs: the bits of a tape, which branches, on both sides and at ties and NaN.
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <limits>

#include "graph/modes.hpp"

namespace burtorch {
namespace select_test {

using modes::expectAllModesAgree;
using modes::expectLikeEager;

constexpr double nan = std::numeric_limits<double>::quiet_NaN(),
                 inf = std::numeric_limits<double>::infinity();

/// Below, above, equal, two zeros, infinities, NaN on either side.
constexpr std::array<std::array<double, 2>, 10> pairs{{{-0.4, 0.7},
                                                       {0.7, -0.4},
                                                       {0.7, 0.7},
                                                       {0.0, -0.0},
                                                       {-inf, inf},
                                                       {inf, inf},
                                                       {nan, 0.7},
                                                       {0.7, nan},
                                                       {nan, nan},
                                                       {-0.4, -0.3}}};

/// Chooses between two functions by `is(a, b)`; the choice shows in the value and in both gradients.
template <class Is> void expectChosenLikeEager(Is) {
  constexpr auto f = [](auto a, auto b, auto x, auto y) { return select(Is{}(a, b), x * 3.0, y * 5.0) * x; };
  for (const auto& [a, b] : pairs) {
    SCOPED_TRACE(testing::Message() << a << ", " << b);
    expectLikeEager(f, a, b, 0.7, -1.9);
    const bool is = Is{}(a, b);
    const auto gradient = compile(f).grad(a, b, 0.7, -1.9);
    EXPECT_EQ(gradient[3], is ? 0.0 : 5.0 * 0.7);
  }
}
TEST(Comparison, Less) {
  expectChosenLikeEager([](auto a, auto b) { return a < b; });
}
TEST(Comparison, LessOrEqual) {
  expectChosenLikeEager([](auto a, auto b) { return a <= b; });
}
TEST(Comparison, Greater) {
  expectChosenLikeEager([](auto a, auto b) { return a > b; });
}
TEST(Comparison, GreaterOrEqual) {
  expectChosenLikeEager([](auto a, auto b) { return a >= b; });
}
TEST(Comparison, Equal) {
  expectChosenLikeEager([](auto a, auto b) { return a == b; });
}
TEST(Comparison, NotEqual) {
  expectChosenLikeEager([](auto a, auto b) { return a != b; });
}
TEST(Comparison, WithConstantsOnTheRight) {
  expectChosenLikeEager([](auto a, auto) { return a < 0.7; });
  expectChosenLikeEager([](auto a, auto) { return a <= 0.7; });
  expectChosenLikeEager([](auto a, auto) { return a > 0.7; });
  expectChosenLikeEager([](auto a, auto) { return a >= 0.7; });
  expectChosenLikeEager([](auto a, auto) { return a == 0.7; });
  expectChosenLikeEager([](auto a, auto) { return a != 0.7; });
}
TEST(Comparison, WithConstantsOnTheLeft) {
  expectChosenLikeEager([](auto a, auto) { return 0.7 < a; });
  expectChosenLikeEager([](auto a, auto) { return 0.7 <= a; });
  expectChosenLikeEager([](auto a, auto) { return 0.7 > a; });
  expectChosenLikeEager([](auto a, auto) { return 0.7 >= a; });
  expectChosenLikeEager([](auto a, auto) { return 0.7 == a; });
  expectChosenLikeEager([](auto a, auto) { return 0.7 != a; });
}
TEST(Comparison, And) {
  expectChosenLikeEager([](auto a, auto b) { return a < 0.5 && b < 0.5; });
}
TEST(Comparison, Or) {
  expectChosenLikeEager([](auto a, auto b) { return a < 0.0 || b < 0.0; });
}
TEST(Comparison, Not) {
  expectChosenLikeEager([](auto a, auto b) { return !(a < b); });
}
TEST(Comparison, AllTogether) {
  expectChosenLikeEager([](auto a, auto b) { return (!(a < b) && b <= 0.7) || (a != a && !(b > a)); });
}

// ---- what is chosen ----

TEST(Select, AllModes) {
  constexpr auto f = [](auto a, auto b) { return select(a < b, exp(a) * b, a / b); };
  expectAllModesAgree(f, -0.4, 0.7);
  expectAllModesAgree(f, 0.7, -0.4);
  expectAllModesAgree(f, 0.7f, -0.4f);
}
TEST(Select, BetweenInputs) {
  constexpr auto f = [](auto a, auto b) { return select(a < b, a, b); };
  EXPECT_EQ(compile(f).grad(0.3, 0.7), (std::array{1.0, 0.0}));
  EXPECT_EQ(compile(f).grad(0.7, 0.3), (std::array{0.0, 1.0}));
  EXPECT_EQ(compile(f).grad<0>(0.7, 0.3), 0.0);
  EXPECT_EQ(compile(f).grad<1>(0.7, 0.3), 1.0);
}
TEST(Select, GradientOfTheConditionIsZero) {
  constexpr auto f = [](auto a, auto b) { return select(a < b, b * 2.0, b * 3.0); };
  EXPECT_EQ(compile(f).grad(0.3, 0.7), (std::array{0.0, 2.0}));
}
TEST(Select, BetweenANumberAndItself) {
  constexpr auto f = [](auto a, auto b) { return select(a < b, b, b); };
  EXPECT_EQ(compile(f).grad(0.3, 0.7), (std::array{0.0, 1.0}));
  EXPECT_EQ(compile(f).grad(0.7, 0.3), (std::array{0.0, 1.0}));
}
TEST(Select, OfANumberThatIsAlsoUsedOtherwise) {
  constexpr auto f = [](auto a, auto b) {
    const auto product = a * b;
    return select(a < b, product, a) * product;
  };
  expectLikeEager(f, 0.3, 0.7);
  expectLikeEager(f, 0.7, 0.3);
}
TEST(Select, UsedTwice) {
  constexpr auto f = [](auto a, auto b) {
    const auto c = select(a < b, a * b, a / b);
    return c * c;
  };
  expectLikeEager(f, 0.3, 0.7);
  expectLikeEager(f, 0.7, 0.3);
}
TEST(Select, WithAPlainNumberOnTheRight) {
  constexpr auto f = [](auto x) { return select(x > 0.0, x, 0.0) * 1.5; };
  for (const double x : {-1.9, -0.0, 0.0, 0.7, nan}) expectLikeEager(f, x);
  EXPECT_EQ(compile(f).grad(0.7), 1.5);
  EXPECT_EQ(compile(f).grad(-0.7), 0.0);
}
TEST(Select, WithAPlainNumberOnTheLeft) {
  constexpr auto f = [](auto x) { return select(x > 0.0, 0.25, x * x) * x; };
  for (const double x : {-1.9, -0.0, 0.0, 0.7, nan}) expectLikeEager(f, x);
  EXPECT_EQ(compile(f).grad(0.7), 0.25);
}
TEST(Select, WithWholeNumbersAndConstants) {
  constexpr auto f = [](auto x) { return select(x > 1, x, 2) * select(x == 0, x, decltype(x)(3.0)); };
  for (const double x : {-1.9, 0.0, 0.7, 1.0, 1.3}) expectLikeEager(f, x);
}
TEST(Select, ByAConditionThatIsKnown) {
  constexpr auto f = [](auto x) {
    using X = decltype(x);
    return select(X(1.0) < X(2.0), x * x, x) + select(!(X(1.0) < 2.0), x, x * 0.5);
  };
  EXPECT_EQ(compile(f).grad(1.5), 3.5);
}
TEST(Select, ByAPlainBool) {
  constexpr auto f = compile([](auto x) {
    for (int i = 0; i < 4; ++i) x = select(i % 2 == 0, x * x, x * 0.5);
    return x;
  });
  EXPECT_EQ(f.value(2.0), 2.0);
  EXPECT_EQ(f.grad(2.0), 4.0);
}

}  // namespace select_test
}  // namespace burtorch
