// Every operator of one list in a compile-time graph, for lists of many lengths: the bits of the tape.
// label: full
#include "graph/list_operators.hpp"

namespace burtorch {
namespace list_lengths_test {

template <class Op> class OperatorsOfLists : public testing::Test {};
using Operators = operators::WithArity<Arity::varying>;
TYPED_TEST_SUITE(OperatorsOfLists, Operators, operators::OperatorName);

TYPED_TEST(OperatorsOfLists, InDouble) {
  operators::expectLengthsLikeEager<TypeParam, double, 1, 2, 3, 8, 17, 33, 100>();
}

}  // namespace list_lengths_test
}  // namespace burtorch
