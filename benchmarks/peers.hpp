// Other systems on the same work: each is a script of benchmarks/peers that gets the same weights and batches in files, and
// answers with times and its gradient, which is judged like everybody's.
#pragma once

#include <cstdint>

#include "harness.hpp"

namespace bench {

struct PeerJob {
  std::vector<float> weights;
  std::vector<std::int32_t> batches;   // tokens, then targets, batch after batch
  std::vector<std::string> arguments;  // for the script
  Figures params;
};

/// Rows of PyTorch; one row without a time, and a sentence on stderr, where python3 cannot import it. $BURTORCH_PYTHON names
/// another interpreter.
std::vector<Row> pytorch(const Options& options, const Trial& trial, const PeerJob& job);

}  // namespace bench
