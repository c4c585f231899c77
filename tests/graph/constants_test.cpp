// Every operator of a number and a constant, with constants for which it may have rules of its own: the bits of the tape.
// label: full
#include "graph/operators.hpp"

namespace burtorch {
namespace constants_test {

template <class Op> class OperatorsWithConstants : public testing::Test {};
TYPED_TEST_SUITE(OperatorsWithConstants, operators::WithArity<Arity::constant>, operators::OperatorName);

/// pow has rules of its own for some of these. The derivative with respect to u is the value.
constexpr std::array constants{-2.3, 0.5, -0.5, 2.0, 3.0, 0.0, -0.0, 1.0, -1.0};
template <class Op> struct TimesEach {
  template <class X> constexpr std::array<X, constants.size()> operator()(X x, X u) const {
    std::array<X, constants.size()> results;
    for (std::size_t i = 0; i < constants.size(); ++i) results[i] = applyConstant<Op>(x, constants[i]) * u;
    return results;
  }
};

template <class Op, class T> void testConstants() {
  for (const T u : operators::Points<T>::arriving)
    for (const T x : operators::Points<T>::all) {
      SCOPED_TRACE(testing::Message() << "at " << x << ", " << u);
      modes::expectJacobianLikeEager(TimesEach<Op>{}, x, u);
    }
}
TYPED_TEST(OperatorsWithConstants, InDouble) { testConstants<TypeParam, double>(); }
TYPED_TEST(OperatorsWithConstants, InSingle) { testConstants<TypeParam, float>(); }

}  // namespace constants_test
}  // namespace burtorch
