// burt export: the parameters of a run as a file of their own, for PyTorch and for giving away, or as a GPT-2 in Hugging
// Face's files. A state also holds what the optimiser remembers and the options of the run; both stay behind.
#include <burtorch/checkpoint/gpt2_file.hpp>
#include <burtorch/io/safetensors.hpp>
#include <cstdio>
#include <filesystem>
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

void exportParameters(const ModelFile& model, const std::string& out) {
  if (model.gpt2() != nullptr) {
    const auto config = model.config<GptConfig>();
    const OwnedModel<Gpt<float>> owned(model, config);
    return saveParameters(out, owned.parameters, metadataOf(config, model.tokenizer()));
  }
  model.kind();  // a model of ours
  Metadata metadata;
  for (const auto& [key, text] : model.file().metadata())
    if (!key.starts_with("run.") && !key.starts_with("training.")) metadata[key] = text;
  std::vector<TensorView> tensors;
  for (const TensorInfo& tensor : model.file().tensors())
    if (tensor.name != safetensors::stateName) tensors.push_back(viewOf(model.file(), tensor));
  saveSafetensors(out, tensors, metadata);
}

void exportGpt2(const ModelFile& model, const std::string& out) {
  const std::string cannot = "cannot export '" + printable(model.path()) + "' as a GPT-2: ";
  if (model.kind() != "gpt") throw BadInput(cannot + "it is a model of kind " + model.kind());
  const auto config = model.config<GptConfig>();
  try {
    requireGpt2(config);
  } catch (const Error& error) {
    throw BadInput(cannot + error.what() + "; train one with --final-norm --tied");
  }
  if (fileInFolder(out).ends_with(stateName))
    throw BadInput("--out: '" + printable(out) + "' holds a run; choose another folder");
  const OwnedModel<Gpt<float>> owned(model, config);
  std::error_code error;
  std::filesystem::create_directories(out, error);
  if (error) throw BadInput("--out: cannot make the folder '" + printable(out) + "': " + error.message());
  saveGpt2(out, owned.model, owned.parameters);
  if (!model.tokenizer().saveTo(out))
    std::puts(
        "the tokens are characters, for which there is no vocab.json; token ids follow the code points");
}

}  // namespace

int exportModel(std::span<const std::string> arguments) {
  std::string out, format = "safetensors";
  Flags flags;
  flags.add("--out", "PATH", "the file to write; for gpt2 a folder", out);
  flags.add("--format", "NAME",
            "safetensors: a file with the names of PyTorch; gpt2: a folder as Hugging Face keeps a GPT-2",
            format);
  const bool hasPath = !arguments.empty() && !arguments[0].starts_with('-');
  if (!flags.parseAll(arguments.subspan(hasPath ? 1 : 0))) {
    std::printf(
        "usage: %s export DIR --out PATH [--format gpt2]\n\n"
        "Writes the parameters of the run in DIR. In Python:\n"
        "  module.load_state_dict(safetensors.torch.load_file(\"PATH\"))\n"
        "  transformers.GPT2LMHeadModel.from_pretrained(\"PATH\")      with --format gpt2\n\n%s",
        self().c_str(), flags.help().c_str());
    return 0;
  }
  if (!hasPath || out.empty())
    throw BadInput(self() + " export needs DIR and --out PATH; see " + self() + " export --help");
  if (format != "safetensors" && format != "gpt2")
    throw BadInput("--format: expected safetensors or gpt2, got '" + format + "'");
  (format == "gpt2" ? exportGpt2 : exportParameters)(ModelFile(arguments[0]), out);
  return 0;
}

}  // namespace burt
