// The subcommands of burt, one file each.
#pragma once

#include <cstdlib>
#include <span>
#include <string>

namespace burt {

/// How burt was called, for what it tells people to type next: ./run says it in BURT_COMMAND.
inline std::string self() {
  const char* command = std::getenv("BURT_COMMAND");
  return command != nullptr ? command : "burt";
}

/// Each answers the exit code; BadInput and burtorch::Error are for main to report.
int train(std::span<const std::string> arguments);
int sample(std::span<const std::string> arguments);
int graph(std::span<const std::string> arguments);
int inspect(std::span<const std::string> arguments);
int plot(std::span<const std::string> arguments);

}  // namespace burt
