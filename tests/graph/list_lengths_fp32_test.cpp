// As list_lengths_test.cpp, in single precision, whose loops have other tails.
// label: full
#include "graph/list_operators.hpp"

namespace burtorch {
namespace {

template <class Op> class OperatorsOfLists : public testing::Test {};
TYPED_TEST_SUITE(OperatorsOfLists, operators::OfAnyList, operators::OperatorName);

TYPED_TEST(OperatorsOfLists, InSingle) {
  operators::expectLengthsLikeEager<TypeParam, float, 1, 7, 33, 100>();
}

}  // namespace
}  // namespace burtorch
