// burt export: the parameters of a run as a file of their own, for PyTorch and for giving away. A state also holds what the
// optimiser remembers and the options of the run; both stay behind.
#include <burtorch/io/safetensors.hpp>
#include <cstdio>
#include <vector>

#include "command.hpp"
#include "flags.hpp"
#include "model_file.hpp"

namespace burt {
namespace {

using namespace burtorch;

TensorView viewOf(const SafetensorsFile& file, const TensorInfo& tensor) {
  TensorView view(tensor.name, tensor.shape, std::span<const float>());
  view.dtype = tensor.dtype;
  view.bytes = file.bytes(tensor);
  return view;
}

}  // namespace

int exportModel(std::span<const std::string> arguments) {
  std::string out;
  Flags flags;
  flags.add("--out", "FILE", "the safetensors file to write", out);
  const bool hasPath = !arguments.empty() && !arguments[0].starts_with('-');
  if (!flags.parseAll(arguments.subspan(hasPath ? 1 : 0))) {
    std::printf(
        "usage: %s export DIR --out FILE\n\n"
        "Writes the parameters of the run in DIR. In Python:\n"
        "  module.load_state_dict(safetensors.torch.load_file(\"FILE\"))\n\n%s",
        self().c_str(), flags.help().c_str());
    return 0;
  }
  if (!hasPath || out.empty())
    throw BadInput(self() + " export needs DIR and --out FILE; see " + self() + " export --help");
  const ModelFile model(arguments[0]);
  model.kind();  // a model of ours
  Metadata metadata;
  for (const auto& [key, text] : model.file().metadata())
    if (!key.starts_with("run.") && !key.starts_with("training.")) metadata[key] = text;
  std::vector<TensorView> tensors;
  for (const TensorInfo& tensor : model.file().tensors())
    if (tensor.name != safetensors::stateName) tensors.push_back(viewOf(model.file(), tensor));
  saveSafetensors(out, tensors, metadata);
  return 0;
}

}  // namespace burt
