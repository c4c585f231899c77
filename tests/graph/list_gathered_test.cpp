// Every operator of lists in a compile-time graph, for lists of numbers from everywhere, which are gathered first:
// several arguments, computed numbers, constants. The bits of the tape.
// label: full
#include "graph/list_operators.hpp"

namespace burtorch {
namespace list_gathered_test {

using operators::reduce;

template <class Op> class OperatorsOfGatheredLists : public testing::Test {};
TYPED_TEST_SUITE(OperatorsOfGatheredLists, operators::OfAnyList, operators::OperatorName);

/// The derivative with respect to u is the value.
template <class Op> struct Gathered {
  template <class L, class X>
  constexpr std::array<X, 5> operator()(const L& x, const L& y, X bias, X u) const {
    const X sum = x[1] + y[2], product = x[0] * bias;
    const std::array<X, 4> computed{sum, product, tanh(sum), sum * product};
    return {
        reduce<Op>(computed, std::array<X, 4>{x[0], x[1], x[2], x[3]}, bias) * u,
        reduce<Op>(std::array<X, 4>{x[3], y[0], x[0], y[1]}, computed, bias) * u,
        reduce<Op>(std::array<X, 4>{sum, x[2], X(0.6), bias}, std::array<X, 4>{y[3], sum, sum, X(1.3)}, sum) *
            u,
        reduce<Op>(std::array<X, 4>{X(0.6), X(-0.4), X(1.7), y[3]},
                   std::array<X, 4>{X(2.3), y[0], X(0.1), x[0]}, X(0.9)) *
            u,
        // Also where it is in the caller's array, next to lists that gather from it.
        reduce<Op>(x, y, bias) * u};
  }
};
TYPED_TEST(OperatorsOfGatheredLists, Gathered) {
  operators::expectSameEverywhere<Gathered<TypeParam>, 4>({});
}

}  // namespace list_gathered_test
}  // namespace burtorch
