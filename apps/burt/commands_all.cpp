#include "command.hpp"

namespace {
constexpr burt::Subcommand table[] = {
    burt::trainCommand,
    burt::sampleCommand,
    {"eval", "  eval         print the loss of a trained model over a text\n", burt::eval},
    {"export", "  export       write the parameters of a run to a file for PyTorch and others\n",
     burt::exportModel},
    {"inspect", "  inspect      show the contents of a safetensors or .npy file, or of a run\n",
     burt::inspect},
    {"plot", "  plot         draw the attention or the embedding of a trained model as heat maps\n",
     burt::plot},
    {"tokenize", "  tokenize     show a text as GPT-2's tokens, or tokens as text\n", burt::tokenize},
    {"optimise", "  optimise     minimise finite sums with PAGE, EF21, MARINA and others, and compare them\n",
     burt::optimise},
    {"graph", "  graph        draw a graph or a model, with values and gradients\n", burt::graph},
};
}  // namespace

std::span<const burt::Subcommand> burt::subcommands() { return table; }
