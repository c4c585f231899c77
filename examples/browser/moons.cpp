// Two moons in a browser: a network of 2-16-16-1 neurons, as a compile-time graph, learns while the page draws its loss. The page
// (page.html) calls `step` and `loss`; build.sh makes one file of both.
#include <burtorch/graph/compile.hpp>

#include "../bare_metal/networks.hpp"

namespace {

constexpr std::size_t count = 100;
constexpr auto compiledLoss = burtorch::compile(moons::loss);
constexpr auto compiledScore = burtorch::compile(moons::score);
burtorch::Rng rng(2);
std::array<float, moons::parameterCount> weights{};
const auto samples = [] {
  const auto second = draw(weights, 2, moons::width, rng);
  draw(draw(second, moons::width, moons::width, rng), moons::width, 1, rng);
  return moons::points<count>(rng);
}();

}  // namespace

extern "C" {
/// A step of gradient descent on the mean loss of all points, which it returns.
float step() {
  std::array<float, moons::parameterCount> sum{};
  float total = 0;
  for (const Sample<float>& sample : samples) {
    const auto [value, gradient] = compiledLoss.valueAndGrad<0>(weights, sample);
    total += value;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += gradient[i];
  }
  for (std::size_t i = 0; i < sum.size(); ++i) weights[i] -= moons::rate / count * sum[i];
  return total / count;
}
/// How many points are on the right side.
int right() {
  int right = 0;
  for (const Sample<float>& sample : samples)
    if (compiledScore.value(weights, Sample<float>{sample.x, sample.y, 0}) * sample.label > 0) ++right;
  return right;
}
}
