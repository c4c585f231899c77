// The subcommands of burt, one file each.
#pragma once

#include <cstdlib>
#include <span>
#include <string>

namespace burt {

/// How burt was called, for the commands that it prints: ./run sets BURT_COMMAND.
inline std::string self() {
  const char* command = std::getenv("BURT_COMMAND");
  return command != nullptr ? command : "burt";
}

/// A word of a shell command.
inline std::string shellWord(const std::string& word) {
  constexpr const char* harmless = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+,:/@%";
  if (!word.empty() && word.find_first_not_of(harmless) == std::string::npos) return word;
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

inline constexpr const char* exitCodes =
    "Exit codes:\n"
    "  0    success\n"
    "  1    the training failed: a loss was not finite; the last finite state is saved\n"
    "  2    invalid arguments, input or environment\n"
    "  3    another rank of --mpi was lost; the state is saved\n"
    "  130  stopped by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP; the state is saved\n";

/// Each returns the exit code and leaves BadInput and burtorch::Error for main to report.
int train(std::span<const std::string> arguments);
int sample(std::span<const std::string> arguments);
int eval(std::span<const std::string> arguments);
int exportModel(std::span<const std::string> arguments);
int graph(std::span<const std::string> arguments);
int inspect(std::span<const std::string> arguments);
int optimise(std::span<const std::string> arguments);
int plot(std::span<const std::string> arguments);
int tokenize(std::span<const std::string> arguments);

struct Subcommand {
  const char *name, *usage;
  int (*run)(std::span<const std::string> arguments);
};
inline constexpr Subcommand trainCommand{"train",
                                         "  train gpt    train a decoder-only transformer on a text\n"
                                         "  train mlp    train a character MLP on a list of words\n",
                                         train};
inline constexpr Subcommand sampleCommand{"sample", "  sample       generate text with a trained model\n",
                                          sample};

/// Those that this burt has: all of them (commands_all.cpp), or the two above (commands_few.cpp).
std::span<const Subcommand> subcommands();

}  // namespace burt
