// Second derivatives of compile-time graphs with comparisons and choices, against the tape of dual numbers, which
// branches.
// label: full
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>

namespace burtorch {
namespace hessian_choice_test {

using Vector = std::array<double, 3>;

/// Against the tape, to the bit.
template <class F> void expectHessianLikeEager(F f, const Vector& x) {
  const auto ofSpan = [f](auto y) { return f(y[0], y[1], y[2]); };
  const auto hessian = compile(F{}).hessian(x[0], x[1], x[2]);
  for (std::size_t row = 0; row < 3; ++row) {
    Vector unit{}, want;
    unit[row] = 1;
    hvp<double>(ofSpan, x, unit, want);
    EXPECT_EQ(hessian[row], want) << "row " << row << " at " << x[0] << ", " << x[1] << ", " << x[2];
  }
}
TEST(HessianOfAChoice, BetweenNumbers) {
  constexpr auto f = [](auto a, auto b, auto c) { return select(a < b, pow3(a) * b, sqrt(a) * c) * b; };
  expectHessianLikeEager(f, {0.3, 0.7, -1.1});
  expectHessianLikeEager(f, {0.7, 0.3, -1.1});
}
TEST(HessianOfAChoice, ByEveryComparison) {
  constexpr auto f = [](auto a, auto b, auto c) {
    const auto first = select(a <= b && !(c >= 0.5), a * b, b * c);
    const auto second = select(a == b || c != 1.0, sqr(first), first * c);
    return select(c > a, second * a, second);
  };
  for (const double a : {0.3, 0.7})
    for (const double c : {0.1, 0.6, 1.0}) expectHessianLikeEager(f, {a, 0.7, c});
}
TEST(HessianOfAChoice, NextToAPole) {
  constexpr auto f = [](auto a, auto b, auto c) { return select(a > 0.0, sqrt(a) * c, b * b) * b; };
  const auto hessian = compile(f).hessian(0.0, 0.75, 1.5);
  EXPECT_EQ(hessian[0], (Vector{0, 0, 0}));
  EXPECT_EQ(hessian[1], (Vector{0, 4.5, 0}));
  expectHessianLikeEager(f, {0.0, 0.75, 1.5});
  expectHessianLikeEager(f, {0.3, 0.75, 1.5});
}

}  // namespace hessian_choice_test
}  // namespace burtorch
