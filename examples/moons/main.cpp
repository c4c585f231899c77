// micrograd's demo with a compile-time graph: a network of 2-16-16-1 neurons learns to tell two moons apart, by gradient
// descent on the margin loss of all samples. Data, steps and learning rate are micrograd's, the random numbers our own.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "data.hpp"
#include "model.hpp"
#include "new_file.hpp"
#include "options.hpp"
#include "plane.hpp"
#include "svg.hpp"
#include "terminal.hpp"

namespace {

using moons::Samples, moons::Weights;

constexpr auto score = burtorch::compile(moons::score);
constexpr auto loss = burtorch::compile(moons::loss);
constexpr auto penalty = burtorch::compile(moons::penalty);

/// The score does not look at the label.
double scoreAt(const Weights& w, double x, double y) {
  return score.value(w, moons::Sample<double>{x, y, 0});
}

/// In percent, rounded down: 100 means all of them.
double accuracy(const Weights& w, const Samples& samples) {
  std::size_t right = 0;
  for (const auto& [x, y, label] : samples) right += label * scoreAt(w, x, y) > 0;
  return static_cast<double>(1000 * right / samples.size()) / 10.0;
}

/// The mean loss of all samples plus the penalty, and its gradient.
burtorch::ValueAndGrad<double, Weights> totalLoss(const Weights& w, const Samples& samples) {
  auto [value, gradient] = loss.valueAndGradSum(w, samples);
  const auto [penaltyValue, penaltyGradient] = penalty.valueAndGrad(w);
  const double share = 1.0 / static_cast<double>(samples.size());
  for (std::size_t i = 0; i < w.size(); ++i) gradient[i] = gradient[i] * share + penaltyGradient[i];
  return {value * share + penaltyValue, gradient};
}

using Clock = std::chrono::steady_clock;
double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void train(Weights& w, const Samples& samples, std::size_t steps) {
  std::printf("  step      loss   accuracy\n");
  const std::size_t reportEvery = std::max<std::size_t>(10, steps / 10);
  const auto start = Clock::now();
  double gradientSeconds = 0;
  for (std::size_t step = 0; step <= steps; ++step) {
    const auto gradientStart = Clock::now();
    const auto [value, gradient] = totalLoss(w, samples);
    gradientSeconds += secondsSince(gradientStart);
    if (step % reportEvery == 0 || step == steps)
      std::printf("%6zu  %8.4f   %6.1f %%\n", step, value, accuracy(w, samples));
    if (step == steps) break;  // the last line shows the network as it stays
    const double learningRate = 1.0 - 0.9 * static_cast<double>(step) / static_cast<double>(steps);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= learningRate * gradient[i];
  }
  std::printf("\nTrained in %.1f ms; a gradient over all samples takes %.1f µs.\n\n",
              1e3 * secondsSince(start), 1e6 * gradientSeconds / static_cast<double>(steps + 1));
}

void experiment(const moons::Options& options) {
  std::optional<moons::NewFile> file;
  if (!options.svg.empty()) file.emplace(options.svg);

  moons::Random random(options.seed);
  Weights w = moons::firstWeights(random);
  const Samples samples = moons::twoMoons(options.samples, options.noise, random);

  std::printf(
      "Two moons, %zu samples, noise %g, seed %llu. A network of 2-16-16-1 neurons, %zu parameters.\n\n",
      options.samples, options.noise, static_cast<unsigned long long>(options.seed), w.size());
  train(w, samples, options.steps);

  const auto trained = [&](double x, double y) { return scoreAt(w, x, y); };
  const moons::View view = moons::viewOf(samples);
  moons::drawInTerminal(view, samples, trained);
  if (!file) return;
  char title[80], subtitle[160];
  std::snprintf(title, sizeof title, "Two moons: %g %% accuracy", accuracy(w, samples));
  std::snprintf(subtitle, sizeof subtitle,
                "A network of 2-16-16-1 neurons after %zu steps; %zu samples, noise %g, seed %llu",
                options.steps, options.samples, options.noise, static_cast<unsigned long long>(options.seed));
  moons::Svg(file->stream(), view).draw(title, subtitle, samples, trained);
  file->finish();
  std::printf("\nThe same as a picture: %s\n", options.svg.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto options = moons::parseOptions({argv, static_cast<std::size_t>(argc)});
    if (options.wantsHelp)
      std::fputs(moons::usage, stdout);
    else
      experiment(options);
    return 0;
  } catch (const moons::BadInput& error) {
    std::fprintf(stderr, "moons: %s\n", error.what());
    return 2;
  }
}
