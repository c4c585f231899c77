// micrograd's demo with a compile-time graph: a network of 2-16-16-1 neurons (model.hpp, which the benchmarks share) learns
// to tell two moons apart by gradient descent on the margin loss of all samples. Steps and rate are micrograd's.
#include <unistd.h>

#include <burtorch/base/rng.hpp>
#include <burtorch/io/atomic_file.hpp>
#include <burtorch/viz/svg.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include "model.hpp"

namespace {

using Weights = std::array<double, moons::parameterCount>;
using Sample = moons::Sample<double>;
using burtorch::detail::appendFormatted;

constexpr auto compiledScore = burtorch::compile(moons::score);
constexpr auto compiledLoss = burtorch::compile(moons::loss);
constexpr auto compiledPenalty = burtorch::compile(moons::penalty);

struct Options {
  double seed = 1337, samples = 100, steps = 100, noise = 0.1;
  std::string svg = "runs/moons.svg";
};
constexpr const char* usage =
    "usage: moons [options]\n"
    "Trains a small network to tell two moons apart, and draws what it has learned.\n"
    "  --seed N      random seed (default 1337)\n"
    "  --samples N   number of points, 2 to 100000 (default 100)\n"
    "  --steps N     steps of gradient descent, 1 to 1000000 (default 100)\n"
    "  --noise X     standard deviation of the noise, 0 to 1 (default 0.1)\n"
    "  --svg FILE    where to write the picture (default runs/moons.svg)\n"
    "  --no-svg      draw in the terminal only\n";

/// False after a mistake or --help, which it explains.
bool parse(int count, char** arguments, Options& options) {
  struct Number {
    const char* flag;
    double &value, least, most;
  };
  const Number numbers[] = {{"--seed", options.seed, 0, 0x1p53},
                            {"--samples", options.samples, 2, 1e5},
                            {"--steps", options.steps, 1, 1e6},
                            {"--noise", options.noise, 0, 1}};
  for (int i = 1; i < count; ++i) {
    const std::string flag = arguments[i], value = i + 1 < count ? arguments[i + 1] : "";
    bool isRight = flag == "--no-svg" || (flag == "--svg" && !value.empty());
    if (isRight) options.svg = flag == "--svg" ? value : "";
    for (const Number& number : numbers)
      if (flag == number.flag) {
        char* end = nullptr;
        number.value = std::strtod(value.c_str(), &end);
        isRight = !value.empty() && *end == 0 && number.value >= number.least &&
                  number.value <= number.most &&
                  (flag == "--noise" || number.value == std::floor(number.value));
      }
    if (!isRight) return std::fputs(usage, flag == "--help" ? stdout : stderr), false;
    if (flag != "--no-svg") ++i;
  }
  return true;
}

/// Two half circles that reach into each other, as scikit-learn's make_moons: the upper one has label -1.
std::vector<Sample> twoMoons(const Options& options, burtorch::Rng& rng) {
  std::vector<Sample> samples(static_cast<std::size_t>(options.samples));
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double angle = std::numbers::pi * static_cast<double>(i / 2) / (options.samples / 2 - 0.5);
    const double x = std::cos(angle), y = std::sin(angle);
    samples[i] = i % 2 == 0 ? Sample{x, y, -1} : Sample{1 - x, 0.5 - y, 1};
    samples[i].x += options.noise * rng.normal<double>();
    samples[i].y += options.noise * rng.normal<double>();
  }
  return samples;
}
/// As micrograd starts: weights between -1 and 1, biases 0.
Weights firstWeights(burtorch::Rng& rng) {
  Weights w{};
  std::size_t at = 0;
  for (const auto& [inputs, neurons] :
       {std::pair(std::size_t{2}, moons::width), {moons::width, moons::width}, {moons::width, 1}})
    for (std::size_t neuron = 0; neuron < neurons; ++neuron, ++at)
      for (std::size_t i = 0; i < inputs; ++i) w[at++] = 2 * rng.uniform<double>() - 1;
  return w;
}

/// The score does not look at the label.
double scoreAt(const Weights& w, double x, double y) { return compiledScore.value(w, Sample{x, y, 0}); }
double accuracy(const Weights& w, const std::vector<Sample>& samples) {
  std::size_t right = 0;
  for (const auto& [x, y, label] : samples) right += label * scoreAt(w, x, y) > 0;
  return static_cast<double>(1000 * right / samples.size()) / 10;  // rounded down: 100 means all of them
}

void train(Weights& w, const std::vector<Sample>& samples, std::size_t steps) {
  std::printf("  step      loss   accuracy\n");
  using Clock = std::chrono::steady_clock;
  std::chrono::duration<double, std::micro> gradients{};
  const auto start = Clock::now();
  const double share = 1.0 / static_cast<double>(samples.size());
  for (std::size_t step = 0; step <= steps; ++step) {
    const auto before = Clock::now();
    const auto [value, gradient] = compiledLoss.valueAndGradSum(w, samples);
    const auto [penalty, penaltyGradient] = compiledPenalty.valueAndGrad(w);
    gradients += Clock::now() - before;
    if (step % std::max<std::size_t>(10, steps / 10) == 0 || step == steps)
      std::printf("%6zu  %8.4f   %6.1f %%\n", step, value * share + penalty, accuracy(w, samples));
    if (step == steps) break;  // the last line shows the network as it stays
    const double rate = 1.0 - 0.9 * static_cast<double>(step) / static_cast<double>(steps);
    for (std::size_t i = 0; i < w.size(); ++i) w[i] -= rate * (gradient[i] * share + penaltyGradient[i]);
  }
  const std::chrono::duration<double, std::milli> time = Clock::now() - start;
  std::printf("\nTrained in %.1f ms; a gradient over all samples takes %.1f µs.\n\n", time.count(),
              gradients.count() / static_cast<double>(steps + 1));
}

// Both pictures show this part of the plane: three units wide for two units high.
constexpr double left = -1.75, bottom = -1.25, across = 4.5, up = 3;

/// `o` and `x` are samples on their side of the boundary, `O` and `X` are on the wrong side.
void drawInTerminal(const Weights& w, const std::vector<Sample>& samples) {
  constexpr int columns = 72, rows = 24;  // characters are twice as high as wide
  std::string letters(columns * rows, ' ');
  for (const auto& [x, y, label] : samples) {
    const int column = static_cast<int>((x - left) / across * columns),
              row = static_cast<int>((y - bottom) / up * rows);
    if (column < 0 || column >= columns || row < 0 || row >= rows) continue;
    letters[static_cast<std::size_t>(row * columns + column)] =
        label * scoreAt(w, x, y) > 0 ? (label < 0 ? 'o' : 'x') : (label < 0 ? 'O' : 'X');
  }
  const char* noColour = std::getenv("NO_COLOR");  // https://no-color.org
  const bool hasColours = isatty(STDOUT_FILENO) != 0 && (noColour == nullptr || *noColour == 0);
  for (int row = rows; row-- > 0;) {
    std::fputs("  ", stdout);
    for (int column = 0; column < columns; ++column) {
      const bool isUpper =
          scoreAt(w, left + across * (column + 0.5) / columns, bottom + up * (row + 0.5) / rows) < 0;
      const char letter = letters[static_cast<std::size_t>(row * columns + column)];
      if (hasColours)
        std::printf("\x1b[1;38;5;%d;48;5;%dm%c", letter == 'o' || letter == 'O' ? 19 : 124,
                    isUpper ? 153 : 223, letter);
      else if (letter != ' ')
        std::putchar(letter);
      else
        std::fputs(isUpper ? "·" : "░", stdout);
    }
    std::puts(hasColours ? "\x1b[0m" : "");
  }
  std::puts("  o upper moon, x lower moon; capitals are on the wrong side");
}

/// The four regions between the scores -1, 0 and 1, and the samples.
std::string picture(const Weights& w, const std::vector<Sample>& samples) {
  constexpr int columns = 180, rows = 120, cell = 4;
  const burtorch::detail::PlainDecimalPoint plain;
  std::string svg =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 520\" font-family=\"sans-serif\">\n";
  appendFormatted(svg, "<text x=\"8\" y=\"26\" font-size=\"18\">Two moons: %g %% accuracy</text>\n",
                  accuracy(w, samples));
  svg += "<g transform=\"translate(0 40)\" shape-rendering=\"crispEdges\">\n";
  const auto colourAt = [&](int column, int row) {
    const double score =
        scoreAt(w, left + across * (column + 0.5) / columns, bottom + up * (rows - row - 0.5) / rows);
    return score < -1 ? "#a9c9ea" : score < 0 ? "#d7e6f5" : score < 1 ? "#fde5d3" : "#f9c39d";
  };
  for (int row = 0; row < rows; ++row)
    for (int column = 0, end = 0; column < columns;
         column = end) {  // a rectangle for neighbours of one colour
      const std::string_view colour = colourAt(column, row);
      while (end < columns && colourAt(end, row) == colour) ++end;
      appendFormatted(svg, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n",
                      column * cell, row * cell, (end - column) * cell, cell, colour.data());
    }
  for (const auto& [x, y, label] : samples)
    appendFormatted(svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\" stroke=\"%s\"/>\n",
                    (x - left) / across * columns * cell, (1 - (y - bottom) / up) * rows * cell,
                    label < 0 ? "#1f5fa8" : "#cf4a13", label * scoreAt(w, x, y) > 0 ? "#fff" : "#000");
  return svg + "</g>\n</svg>\n";
}

}  // namespace

int main(int count, char** arguments) {
  Options options;
  if (!parse(count, arguments, options)) return count == 2 && arguments[1] == std::string("--help") ? 0 : 2;
  try {
    burtorch::Rng rng(static_cast<std::uint64_t>(options.seed));
    Weights w = firstWeights(rng);
    const std::vector<Sample> samples = twoMoons(options, rng);
    std::printf(
        "Two moons, %g samples, noise %g, seed %.0f. A network of 2-16-16-1 neurons, %zu parameters.\n\n",
        options.samples, options.noise, options.seed, w.size());
    train(w, samples, static_cast<std::size_t>(options.steps));
    drawInTerminal(w, samples);
    if (options.svg.empty()) return 0;
    if (const auto folder = std::filesystem::path(options.svg).parent_path(); folder == "runs")
      std::filesystem::create_directories(folder);
    const std::string svg = picture(w, samples);
    burtorch::AtomicFile file(options.svg, {.durable = false});
    file.write(std::as_bytes(std::span(svg)));
    file.commit();
    std::printf("\nThe same as a picture: %s\n", options.svg.c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "moons: %s\n", error.what());
    return 2;
  }
}
