// The exclusive or once more, as a compile-time graph: value and gradient of a sample are straight-line code, and there is no
// tape. Returns 0 if the network has learned.
#include <burtorch/graph/compile.hpp>

#include "board.hpp"
#include "networks.hpp"

namespace {

using namespace exclusive_or;
using Weights = std::array<float, parameterCount>;
constexpr auto compiledLoss = burtorch::compile(loss);

/// A step of gradient descent on the mean loss of all samples, which it returns.
float step(Weights& weights) {
  constexpr float share = 1 / static_cast<float>(std::size(samples));
  Weights sum{};
  float total = 0;
  for (const Sample<float>& sample : samples) {
    const auto [value, gradient] = compiledLoss.valueAndGrad<0>(weights, sample);
    total += value;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
  }
  for (std::size_t i = 0; i < sum.size(); ++i) weights[i] -= rate * share * sum[i];
  return total * share;
}

}  // namespace

int main() {
  board::print("exclusive or, 2-4-1\n");
  Weights weights;
  burtorch::Rng rng(2);
  draw(draw(weights, 2, width, rng), width, 1, rng);
  float last = 0;
  for (std::uint32_t k = 0; k <= steps; ++k) {
    last = step(weights);
    if (k % (steps / 5) == 0) board::printStep(k, last);
  }
  return last < 0.01f ? 0 : 1;
}
