// The reverse sweep for double and float, compiled once. A program that links burtorch::compiled finds it here instead of
// compiling it again in every file that calls backward; without that target every file compiles its own, as ever.
#include "burtorch/core/sweep.hpp"

namespace burtorch {
BURTORCH_SWEEP_INSTANCES(, double)
BURTORCH_SWEEP_INSTANCES(, float)
}  // namespace burtorch
