// Every operator of one number, of two, and of one and a constant in a compile-time graph: the bits of the tape, at
// generic points, at the edges of the number range, and whatever gradient arrives. The cases are made from OpList, so a
// new operator is covered on the day it is listed.
#include "graph/operators.hpp"

namespace burtorch {
namespace operators_test {

template <class Op> class OperatorsOfDoubles : public testing::Test {};
using Operators = operators::WithArity<Arity::unary, Arity::binary, Arity::constant>;
TYPED_TEST_SUITE(OperatorsOfDoubles, Operators, operators::OperatorName);

TYPED_TEST(OperatorsOfDoubles, InDouble) { operators::testOperator<TypeParam, double>(); }

}  // namespace operators_test
}  // namespace burtorch
