// As operators_test.cpp, in single precision.
// label: full
#include "graph/operators.hpp"

namespace burtorch {
namespace operators_fp32_test {

template <class Op> class OperatorsOfFloats : public testing::Test {};
using Operators = operators::WithArity<Arity::unary, Arity::binary, Arity::constant>;
TYPED_TEST_SUITE(OperatorsOfFloats, Operators, operators::OperatorName);

TYPED_TEST(OperatorsOfFloats, InSingle) { operators::testOperator<TypeParam, float>(); }

}  // namespace operators_fp32_test
}  // namespace burtorch
