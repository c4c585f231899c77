// The engine with numbers of one lane, up to quadruple precision (scalars.hpp).
#include "scalars/scalars.hpp"

namespace scalars {
using PlainNumbers = testing::Types<float, double, long double, Fp128>;
INSTANTIATE_TYPED_TEST_SUITE_P(Numbers, Scalars, PlainNumbers, ScalarName);
}  // namespace scalars
