// burt: trains small language models, writes text with them, draws them and shows what is in their files.
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

struct Command {
  const char *name, *usage;
  int (*run)(std::span<const std::string> arguments);
};
constexpr Command commands[] = {
    {"train",
     "  train gpt    train a decoder-only transformer on a text\n"
     "  train mlp    train a character MLP on a list of words\n",
     burt::train},
    {"sample", "  sample       write text with a trained model\n", burt::sample},
    {"inspect", "  inspect      show what is in a file of tensors: safetensors or .npy\n", burt::inspect},
    {"plot", "  plot         draw attention or embedding of a trained model as heat maps\n", burt::plot},
    {"graph", "  graph        draw a graph or a model, with values and gradients\n", burt::graph},
};

void printUsage() {
  std::printf("usage: %s COMMAND [options]\n\n", burt::self().c_str());
  for (const Command& command : commands) std::fputs(command.usage, stdout);
  std::fputs(
      "\n"
      "  --help       of a command: its options\n"
      "  --version    of the library\n"
      "\n"
      "Exit code: 0 done, 1 training went wrong, 2 something must be put right first, 130 stopped by "
      "Ctrl-C.\n",
      stdout);
}

int run(const std::vector<std::string>& arguments) {
  const std::string wanted = arguments.empty() ? "" : arguments[0];
  if (wanted == "--help" || wanted == "-h" || wanted == "help") {
    printUsage();
    return 0;
  }
  if (wanted == "--version") {
    std::puts("burt " BURTORCH_VERSION);
    return 0;
  }
  std::string names;
  for (const Command& command : commands) {
    if (wanted == command.name) return command.run(std::span(arguments).subspan(1));
    names += std::string(names.empty() ? "" : ", ") + command.name;
  }
  throw burt::BadInput((wanted.empty() ? "a command is needed" : "there is no command '" + wanted + "'") +
                       ": " + names + "; see " + burt::self() + " --help");
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
