// burt: trains small language models, writes text with them and draws them.
#include <burtorch/burtorch.hpp>
#include <burtorch/core/check.hpp>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "command.hpp"
#include "flags.hpp"

namespace {

constexpr const char* usage =
    " COMMAND [options]\n"
    "\n"
    "  train gpt    train a decoder-only transformer on a text\n"
    "  train mlp    train a character MLP on a list of words\n"
    "  sample       write text with a trained model\n"
    "  graph        draw a graph or a model, with values and gradients\n"
    "\n"
    "  --help       of a command: its options\n"
    "  --version    of the library\n"
    "\n"
    "Exit code: 0 done, 1 training went wrong, 2 something must be put right first, 130 stopped by Ctrl-C.\n";

int run(const std::vector<std::string>& arguments) {
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "--help" || command == "-h" || command == "help") {
    std::printf("usage: %s%s", burt::self().c_str(), usage);
    return 0;
  }
  if (command == "--version") {
    std::puts("burt " BURTORCH_VERSION);
    return 0;
  }
  const std::span rest = std::span(arguments).subspan(arguments.empty() ? 0 : 1);
  if (command == "train") return burt::train(rest);
  if (command == "sample") return burt::sample(rest);
  if (command == "graph") return burt::graph(rest);
  const std::string help = "; see " + burt::self() + " --help";
  throw burt::BadInput(command.empty() ? "a command is needed: train, sample or graph" + help
                                       : "there is no command '" + command + "'" + help);
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run({arguments + 1, arguments + count});
  } catch (const std::bad_alloc&) {
    std::fputs("burt: out of memory; take smaller sizes, or a smaller --tile\n", stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "burt: %s\n", error.what());
  }
  return 2;
}
