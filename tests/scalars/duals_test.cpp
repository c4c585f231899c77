// The engine with dual numbers, of doubles and of packs (scalars.hpp).
#include "scalars/scalars.hpp"

namespace scalars {
using DualNumbers = testing::Types<Dual<double>, Dual<Pack<double, 4>>>;
INSTANTIATE_TYPED_TEST_SUITE_P(DualNumbers, Scalars, DualNumbers, ScalarName);
}  // namespace scalars
