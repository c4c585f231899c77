// Without what draws, compares, measures and converts, and its data: for WebAssembly, where size is time.
#include "command.hpp"

namespace {
constexpr burt::Subcommand table[] = {burt::trainCommand, burt::sampleCommand};
}  // namespace

std::span<const burt::Subcommand> burt::subcommands() { return table; }
