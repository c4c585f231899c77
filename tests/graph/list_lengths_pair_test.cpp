// As list_lengths_test.cpp, for the operators of two lists and those that give one.
// label: full
#include "graph/list_operators.hpp"

namespace burtorch {
namespace list_lengths_pair_test {

template <class Op> class OperatorsOfTwoLists : public testing::Test {};
using Operators = operators::WithArity<Arity::pair, Arity::block>;
TYPED_TEST_SUITE(OperatorsOfTwoLists, Operators, operators::OperatorName);

TYPED_TEST(OperatorsOfTwoLists, InDouble) {
  operators::expectLengthsLikeEager<TypeParam, double, 1, 2, 3, 8, 17, 33, 100>();
}

}  // namespace list_lengths_pair_test
}  // namespace burtorch
