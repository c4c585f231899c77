// As list_lengths_test.cpp, in single precision, whose loops have other tails.
// label: full
#include "graph/list_operators.hpp"

namespace burtorch {
namespace list_lengths_fp32_test {

template <class Op> class OperatorsOfFloatLists : public testing::Test {};
TYPED_TEST_SUITE(OperatorsOfFloatLists, operators::OfAnyList, operators::OperatorName);

TYPED_TEST(OperatorsOfFloatLists, InSingle) {
  operators::expectLengthsLikeEager<TypeParam, float, 1, 7, 33, 100>();
}

}  // namespace list_lengths_fp32_test
}  // namespace burtorch
