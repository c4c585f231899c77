// The subcommands of burt, one file each.
#pragma once

#include <span>
#include <string>

namespace burt {

/// Each answers the exit code; BadInput and burtorch::Error are for main to report.
int train(std::span<const std::string> arguments);
int sample(std::span<const std::string> arguments);

}  // namespace burt
