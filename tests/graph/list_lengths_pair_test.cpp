// As list_lengths_test.cpp, for the operators of two lists and those that give one.
// label: full
#include "graph/list_operators.hpp"

namespace burtorch {
namespace {

using operators::OfLengths;
using operators::someNumbers;

template <class Op> class OperatorsOfLists : public testing::Test {};
using Operators = operators::WithArity<Arity::pair, Arity::block>;
TYPED_TEST_SUITE(OperatorsOfLists, Operators, operators::OperatorName);

TYPED_TEST(OperatorsOfLists, InDouble) {
  modes::expectJacobianLikeEager(OfLengths<TypeParam, 1, 2, 3, 7, 8, 16, 17, 33, 100>{},
                                 someNumbers<double, 100>(0.3), someNumbers<double, 100>(0.8), 0.7, 1.0);
}

}  // namespace
}  // namespace burtorch
