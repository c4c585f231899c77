// The engine with packs of doubles (scalars.hpp).
#include "scalars/scalars.hpp"

namespace scalars {
using PacksOfDoubles = testing::Types<Pack<double, 2>, Pack<double, 4>, Pack<double, 8>>;
INSTANTIATE_TYPED_TEST_SUITE_P(PacksOfDoubles, Scalars, PacksOfDoubles, ScalarName);
}  // namespace scalars
