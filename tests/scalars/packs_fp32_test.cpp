// The engine with packs of floats (scalars.hpp).
#include "scalars/scalars.hpp"

namespace scalars {
using PacksOfFloats = testing::Types<Pack<float, 4>, Pack<float, 8>, Pack<float, 16>>;
INSTANTIATE_TYPED_TEST_SUITE_P(PacksOfFloats, Scalars, PacksOfFloats, ScalarName);
}  // namespace scalars
