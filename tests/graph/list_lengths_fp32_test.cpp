// As list_lengths_test.cpp, in single precision, whose loops have other tails.
// label: full
#include "graph/list_operators.hpp"

namespace burtorch {
namespace {

using operators::OfLengths;
using operators::someNumbers;

template <class Op> class OperatorsOfLists : public testing::Test {};
using Operators = operators::WithArity<Arity::varying, Arity::pair, Arity::block>;
TYPED_TEST_SUITE(OperatorsOfLists, Operators, operators::OperatorName);

TYPED_TEST(OperatorsOfLists, InSingle) {
  modes::expectJacobianLikeEager(OfLengths<TypeParam, 1, 7, 33, 100>{}, someNumbers<float, 100>(0.3),
                                 someNumbers<float, 100>(0.8), 0.7f, 1.0f);
}

}  // namespace
}  // namespace burtorch
