// The reverse sweep for double and float and their dual numbers, compiled once. A program that links burtorch::compiled finds it here instead of
// compiling it again in every file that calls backward; without that target every file compiles its own, as ever.
#include "burtorch/core/sweep.hpp"
#include "burtorch/ops/dual.hpp"

namespace burtorch {
BURTORCH_SWEEP_INSTANCES(, double)
BURTORCH_SWEEP_INSTANCES(, float)
BURTORCH_SWEEP_INSTANCES(, Dual<double>)
BURTORCH_SWEEP_INSTANCES(, Dual<float>)
}  // namespace burtorch
