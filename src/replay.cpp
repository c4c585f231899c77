// The steps of recorded functions for double and float, alone and in packs, compiled once.
#include "burtorch/graph/replay_code.hpp"

namespace burtorch::graph {
BURTORCH_REPLAY_INSTANCES(, double)
BURTORCH_REPLAY_INSTANCES(, float)
}  // namespace burtorch::graph
