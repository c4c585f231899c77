// As operators_test.cpp, in single precision.
// label: full
#include "graph/operators.hpp"

namespace burtorch {
namespace {

template <class Op> class OperatorsOfNumbers : public testing::Test {};
using Operators = operators::WithArity<Arity::unary, Arity::binary, Arity::constant>;
TYPED_TEST_SUITE(OperatorsOfNumbers, Operators, operators::OperatorName);

TYPED_TEST(OperatorsOfNumbers, InSingle) { operators::testOperator<TypeParam, float>(); }

}  // namespace
}  // namespace burtorch
