// Which step of which training. What is random within a step (a dropout) is a function of these two numbers, so nothing of it is
// stored, and a training that is resumed draws what it would have drawn.
#pragma once

#include <cstdint>

namespace burtorch {

/// A step of a training, counted from 1, and the training's seed.
struct StepKey {
  std::uint64_t seed = 0, step = 0;
};

}  // namespace burtorch
