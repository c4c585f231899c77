// The command line: what can be chosen, and one sentence for every way to get it wrong.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

namespace moons {

/// Something the user can put right; the message says what. Nothing has been overwritten when it is thrown.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Options {
  std::uint64_t seed = 1337;  // micrograd's
  std::size_t samples = 100;
  std::size_t steps = 100;
  double noise = 0.1;             // above 1 the moons are gone, and from about 4 the steps are too long
  std::string svg = "moons.svg";  // empty: no file
  bool wantsHelp = false;
};

inline constexpr const char* usage =
    "usage: moons [options]\n"
    "Trains a small network to tell two moons apart, and draws what it has learned.\n"
    "  --seed N      of data and first weights, any whole number (1337)\n"
    "  --samples N   how many points, 1 to 100000 (100)\n"
    "  --steps N     of gradient descent, 1 to 1000000 (100)\n"
    "  --noise X     standard deviation of the points' noise, 0 to 1 (0.1)\n"
    "  --svg FILE    where the picture goes (moons.svg)\n"
    "  --no-svg      draw in the terminal only\n"
    "  --help        this text\n";

inline std::uint64_t parseCount(std::string_view flag, std::string_view text, std::uint64_t least,
                                std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number < least || number > most)
    throw BadInput(std::string(flag) + " takes a whole number from " + std::to_string(least) + " to " +
                   std::to_string(most) + ", not '" + std::string(text) + "'");
  return number;
}

inline double parseNoise(std::string_view flag, const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  // Written so that NaN is refused too. An empty text ends where it starts.
  if (text.empty() || end != text.c_str() + text.size() || !(number >= 0 && number <= 1))
    throw BadInput(std::string(flag) + " takes a number from 0 to 1, not '" + text + "'");
  return number;
}

/// The first argument is the program's name.
inline Options parseOptions(std::span<char* const> arguments) {
  Options options;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view flag = arguments[i];
    const auto nextArgument = [&]() -> std::string {
      if (i + 1 == arguments.size()) throw BadInput(std::string(flag) + " needs a value after it");
      return arguments[++i];
    };
    if (flag == "--seed") {
      options.seed = parseCount(flag, nextArgument(), 0, UINT64_MAX);
    } else if (flag == "--samples") {
      options.samples = parseCount(flag, nextArgument(), 1, 100'000);
    } else if (flag == "--steps") {
      options.steps = parseCount(flag, nextArgument(), 1, 1'000'000);
    } else if (flag == "--noise") {
      options.noise = parseNoise(flag, nextArgument());
    } else if (flag == "--svg") {
      options.svg = nextArgument();
      if (options.svg.empty())
        throw BadInput("--svg needs the name of a file; for no file there is --no-svg");
    } else if (flag == "--no-svg") {
      options.svg.clear();
    } else if (flag == "--help") {
      options.wantsHelp = true;
    } else {
      throw BadInput("there is no option '" + std::string(flag) + "'; --help lists all");
    }
  }
  return options;
}

}  // namespace moons
