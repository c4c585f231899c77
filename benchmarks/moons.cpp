// One full-batch gradient of micrograd's moons network: 337 parameters, 100 samples, 643 operators each. The same lambda
// (examples/moons/model.hpp) on a tape, replayed, and as a compile-time graph, beside the same gradient in plain loops.
#include <random>

#include "../examples/moons/model.hpp"
#include "harness.hpp"
#include "limits/moons.hpp"

namespace bench {
namespace {

using Parameters = std::array<double, moons::parameterCount>;
using Sample = moons::Sample<double>;

struct Problem {
  Parameters w{};
  std::vector<Sample> samples;

  Problem() : samples(100) {
    std::mt19937 random(7);
    const auto uniform = [&] { return static_cast<double>(random()) / 2147483648.0 - 1; };
    for (double& x : w) x = uniform();
    for (Sample& s : samples) s = {uniform(), uniform(), uniform() > 0 ? 1.0 : -1.0};
  }
};
const Problem problem;
Parameters gradient;

[[gnu::noinline]] void byHand(long iterations) {
  for (long i = 0; i < iterations; ++i) {
    gradient.fill(0);
    for (const Sample& s : problem.samples)
      limits::MoonsGradient::add(problem.w, s.x, s.y, s.label, gradient);
  }
}

[[gnu::noinline]] void eager(long iterations) {
  using burtorch::Value;
  burtorch::Tape<double> tape;
  burtorch::CurrentTape here(tape);
  const auto leaves = tape.leaves(problem.w);
  std::array<Value<double>, moons::parameterCount> w;
  for (std::size_t i = 0; i < w.size(); ++i) w[i] = leaves[i];
  for (long i = 0; i < iterations; ++i) {
    zeroGrad(leaves);
    for (const Sample& s : problem.samples) {
      burtorch::SampleScope sample(tape);
      backward(moons::loss(w, moons::Sample<Value<double>>{s.x, s.y, s.label}));
    }
  }
  std::copy_n(leaves.gradients().data(), gradient.size(), gradient.data());
}

constexpr auto loss = burtorch::compile(moons::loss);

[[gnu::noinline]] void compiled(long iterations) {
  for (long i = 0; i < iterations; ++i) {
    gradient.fill(0);
    for (const Sample& s : problem.samples) {
      const Parameters one = loss.grad<0>(problem.w, s);
      for (std::size_t k = 0; k < one.size(); ++k) gradient[k] += one[k];
    }
  }
}
[[gnu::noinline]] void compiledBatch(long iterations) {
  for (long i = 0; i < iterations; ++i) gradient = loss.valueAndGradSum(problem.w, problem.samples).gradient;
}

[[gnu::noinline]] void replayed(long iterations) {
  constexpr std::size_t n = moons::parameterCount;
  static auto graph = [] {
    std::vector<double> x(problem.w.begin(), problem.w.end());
    x.insert(x.end(), {0.1, 0.2, 1.0});
    return burtorch::record(
        [](auto inputs) {
          return moons::loss(inputs, moons::Sample<std::remove_cvref_t<decltype(inputs[0])>>{
                                         inputs[n], inputs[n + 1], inputs[n + 2]});
        },
        x);
  }();
  std::array<double, n + 3> x{}, g{};
  std::copy(problem.w.begin(), problem.w.end(), x.begin());
  for (long i = 0; i < iterations; ++i) {
    gradient.fill(0);
    for (const Sample& s : problem.samples) {
      x[n] = s.x, x[n + 1] = s.y, x[n + 2] = s.label;
      graph.valueAndGrad(x, g);
      for (std::size_t k = 0; k < n; ++k) gradient[k] += g[k];
    }
  }
}

}  // namespace

std::vector<Row> moons(const Options& options) {
  byHand(1);
  const std::vector<double> reference(gradient.begin(), gradient.end());
  const auto found = [] { return std::vector<double>(gradient.begin(), gradient.end()); };
  return compare(options,
                 {.experiment = "moons",
                  .iterations = options.isQuick ? 10 : 50,
                  .answers = {{reference}},
                  .unit = {"limit", "loops"}},
                 {
                     {"limit", "loops", byHand, found},
                     {"burtorch", "eager", eager, found},
                     {"burtorch", "replay", replayed, found},
                     {"burtorch", "static", compiled, found},
                     {"burtorch", "static-batch", compiledBatch, found},
                 });
}

}  // namespace bench
