// Every operator of lists in a compile-time graph, for lists in every form that lies in one argument, which a loop reads
// where the caller has it: the bits of the tape.
#include "graph/list_operators.hpp"

namespace burtorch {
namespace list_forms_test {

using operators::reduce;

template <class Op> class OperatorsOfListsInPlace : public testing::Test {};
TYPED_TEST_SUITE(OperatorsOfListsInPlace, operators::OfAnyList, operators::OperatorName);

/// The elements of x at the places `at`.
template <class X, std::size_t n, std::size_t m>
constexpr std::array<X, n> pick(const std::array<X, m>& x, const std::array<std::size_t, n>& at) {
  std::array<X, n> picked;
  for (std::size_t i = 0; i < n; ++i) picked[i] = x[at[i]];
  return picked;
}

constexpr std::array<std::size_t, 5> inTheMiddle{3, 4, 5, 6, 7}, strided{1, 4, 7, 10, 13},
    reversed{9, 8, 7, 6, 5}, scattered{11, 2, 7, 3, 14}, repeated{4, 4, 4, 4, 4}, someRepeated{6, 2, 6, 9, 2};

/// The two lists of a pair have different forms. The derivative with respect to u is the value.
template <class Op> struct InPlace {
  template <class L, class X>
  constexpr std::array<X, 6> operator()(const L& x, const L& y, X bias, X u) const {
    return {reduce<Op>(pick(x, inTheMiddle), pick(y, strided), bias) * u,
            reduce<Op>(pick(x, strided), pick(y, reversed), bias) * u,
            reduce<Op>(pick(x, reversed), pick(y, scattered), bias) * u,
            reduce<Op>(pick(x, scattered), pick(y, repeated), bias) * u,
            reduce<Op>(pick(x, repeated), pick(x, someRepeated), bias) * u,
            reduce<Op>(pick(x, someRepeated), pick(x, inTheMiddle), bias) * u};
  }
};
TYPED_TEST(OperatorsOfListsInPlace, InPlace) { operators::expectSameEverywhere<InPlace<TypeParam>, 15>({}); }

}  // namespace list_forms_test
}  // namespace burtorch
