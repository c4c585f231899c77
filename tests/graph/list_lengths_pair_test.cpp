// As list_lengths_test.cpp, for the operators of two lists and those that give one.
// label: full
#include "graph/list_operators.hpp"

namespace burtorch {
namespace {

template <class Op> class OperatorsOfLists : public testing::Test {};
using Operators = operators::WithArity<Arity::pair, Arity::block>;
TYPED_TEST_SUITE(OperatorsOfLists, Operators, operators::OperatorName);

TYPED_TEST(OperatorsOfLists, InDouble) {
  operators::expectLengthsLikeEager<TypeParam, double, 1, 2, 3, 8, 17, 33, 100>();
}

}  // namespace
}  // namespace burtorch
