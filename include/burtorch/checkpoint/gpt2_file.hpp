// A GPT-2 as Hugging Face's transformers save it: a folder with config.json and model.safetensors.
//
//   const Gpt2File file("gpt2");                              // checks that the tensors are those of the configuration
//   const Gpt<float> gpt(file.config());
//   ParameterStore<float> parameters(gpt.layout());
//   file.load(gpt, parameters);
//   saveGpt2("mine", gpt, parameters);
//
// Their linear layers inside a block ("Conv1D") keep weights as [inputs][outputs], ours as [outputs][inputs]: they are turned on
// the way, one tensor at a time. Numbers may be F64, F32, F16 or BF16. A file is checked as a whole before a model is built, so
// the memory of a model is bounded by what the file holds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../io/atomic_file.hpp"
#include "../io/safetensors.hpp"
#include "gpt2_config.hpp"
#include "parameters_file.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace gpt2 {

inline constexpr std::string_view prefix = "transformer.";

/// How transformers call a parameter of a Gpt, without the prefix, and whether theirs is transposed.
struct Name {
  std::string text;
  bool isTurned = false;
};
inline Name nameOf(std::string_view ours) {
  constexpr std::string_view blocks = "blocks.";
  if (!ours.starts_with(blocks)) return {std::string(ours)};
  constexpr struct {
    std::string_view ours, theirs;
    bool isTurned;
  } parts[] = {{"ln1", "ln_1", false},
               {"ln2", "ln_2", false},
               {"attn.qkv", "attn.c_attn", true},
               {"attn.proj", "attn.c_proj", true},
               {"mlp.fc1", "mlp.c_fc", true},
               {"mlp.fc2", "mlp.c_proj", true}};
  const std::string_view inside = ours.substr(blocks.size());
  const std::size_t dot = inside.find('.'), last = inside.rfind('.');
  const std::string_view part = inside.substr(dot + 1, last - dot - 1), kind = inside.substr(last);
  for (const auto& known : parts)
    if (known.ours == part)
      return {"h." + std::string(inside.substr(0, dot + 1)) + std::string(known.theirs) + std::string(kind),
              known.isTurned && kind == ".weight"};
  fail("a GPT-2 has no parameter '%s'", printable(ours, 50).c_str());
}
/// Tensors that are no parameters: masks that older files keep, and a second copy of a tied head.
inline bool isPassedOver(std::string_view name) {
  if (name == "lm_head.weight") return true;
  if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  return name.starts_with("h.") && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"));
}
/// [rows][columns] of `from` as [columns][rows].
template <class T>
void turn(std::span<const T> from, std::size_t rows, std::size_t columns, std::span<T> to) {
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) to[c * rows + r] = from[r * columns + c];
}

}  // namespace gpt2

/// A GPT-2 in Hugging Face's files, whose tensors are exactly the parameters that its configuration asks for.
class Gpt2File {
 public:
  /// A folder with config.json and model.safetensors, or a safetensors file with config.json beside it.
  explicit Gpt2File(const std::string& path) : Gpt2File(pathsOf(path)) {}
  Gpt2File(const std::string& configPath, const std::string& tensorsPath)
      : file_(tensorsPath), config_(readConfig(configPath)) {
    isPrefixed_ = file_.find(std::string(gpt2::prefix) + "wte.weight") != nullptr;
    // Before a layout is made, which takes memory for each layer.
    if (config_.layers > file_.tensors().size())
      refuse("has " + std::to_string(file_.tensors().size()) + " tensors, too few for the " +
             std::to_string(config_.layers) + " layers of its configuration");
    const Gpt<float> gpt(config_);
    std::vector<std::string> names;
    for (const Parameter& block : gpt.layout().blocks()) names.push_back(check(gpt.layout(), block));
    std::sort(names.begin(), names.end());
    for (const TensorInfo& tensor : file_.tensors())
      if (!std::binary_search(names.begin(), names.end(), tensor.name) && !gpt2::isPassedOver(tensor.name))
        refuse("has the tensor '" + printable(tensor.name, 50) + "', which a GPT-2 has not");
  }

  const GptConfig& config() const { return config_; }
  const SafetensorsFile& file() const { return file_; }

  /// Loads all parameters of a model of this configuration. All is checked before the first number changes.
  template <TensorNumber T, Config C> void load(const Gpt<T, C>& gpt, ParameterStore<T>& parameters) const {
    const ParameterLayout& layout = gpt.layout();
    if (parameters.size() != layout.size())
      fail("Gpt2File: the model has %zu parameters, the store %zu", layout.size(), parameters.size());
    for (const Parameter& block : layout.blocks())
      file_.checkReadable<T>(*file_.find(check(layout, block)), block.size());
    std::vector<T> turned;
    for (const Parameter& block : layout.blocks()) {
      const gpt2::Name name = gpt2::nameOf(layout.name(block));
      const TensorInfo& tensor = *file_.find(full(name));
      if (!name.isTurned) {
        file_.convert(tensor, parameters.values(block));
        continue;
      }
      turned.resize(block.size());
      file_.convert(tensor, std::span(turned));
      gpt2::turn(std::span<const T>(turned), block.columns, block.rows, parameters.values(block));
    }
  }

 private:
  explicit Gpt2File(const std::pair<std::string, std::string>& paths) : Gpt2File(paths.first, paths.second) {}

  static std::pair<std::string, std::string> pathsOf(const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code ignored;
    if (fs::is_directory(path, ignored))
      return {(fs::path(path) / "config.json").string(), (fs::path(path) / "model.safetensors").string()};
    return {(fs::path(path).parent_path() / "config.json").string(), path};
  }
  static GptConfig readConfig(const std::string& path) {
    const MappedFile file(path, {.maxBytes = 1 << 20});
    return gpt2ConfigFromJson(file.text(), path);
  }
  std::string full(const gpt2::Name& name) const {
    return isPrefixed_ ? std::string(gpt2::prefix) + name.text : name.text;
  }
  /// The name of the block's tensor, which is there in its shape and in numbers that can be read.
  std::string check(const ParameterLayout& layout, const Parameter& block) const {
    const gpt2::Name name = gpt2::nameOf(layout.name(block));
    std::string whole = full(name);
    std::vector<std::uint64_t> shape = safetensors::shapeOf(block);
    if (name.isTurned) std::reverse(shape.begin(), shape.end());
    const TensorInfo* tensor = file_.find(whole);
    if (tensor == nullptr)
      refuse("lacks the tensor '" + whole + "' of shape " + safetensors::shapeText(shape) +
             " that its configuration asks for");
    if (tensor->shape != shape)
      refuse("has the tensor '" + whole + "' of shape " +
             printable(safetensors::shapeText(tensor->shape), 30) + ", but its configuration asks for " +
             safetensors::shapeText(shape));
    if (!safetensors::realTypeOf(tensor->dtype))
      refuse("has the tensor '" + whole + "' of type " + printable(tensor->dtype, 20) +
             ", expected F64, F32, F16 or BF16");
    return whole;
  }
  [[noreturn]] void refuse(const std::string& why) const {
    fail(ErrorCode::badFile, "'%s' %s; do config.json and the tensors belong together?",
         printable(file_.path()).c_str(), why.c_str());
  }

  SafetensorsFile file_;
  GptConfig config_;
  bool isPrefixed_ = false;
};

/// Writes config.json and model.safetensors into a folder that exists, for GPT2LMHeadModel.from_pretrained. Biases that the
/// model lacks are written as zeros, rows beyond the vocabulary are left out. Takes memory for the turned weights: about that of
/// all blocks once more.
template <TensorNumber T, Config C>
void saveGpt2(const std::string& folder, const Gpt<T, C>& gpt, const ParameterStore<T>& parameters,
              const SaveOptions& options = {}) {
  const std::string json = gpt2ConfigToJson(gpt.config());
  const ParameterLayout& layout = gpt.layout();
  if (parameters.size() != layout.size())
    fail("saveGpt2: the model has %zu parameters, the store %zu", layout.size(), parameters.size());
  // A model with all biases says which tensors there are; ours may lack some.
  GptConfig complete = gpt.config();
  complete.hasBiases = complete.hasAttentionBias = true;
  complete.paddedVocabulary = 0;
  const Gpt<T, C> model(complete);
  std::vector<std::vector<T>> own;
  std::vector<TensorView> tensors;
  for (const Parameter& block : model.layout().blocks()) {
    const std::string& ours = model.layout().name(block);
    const gpt2::Name name = gpt2::nameOf(ours);
    const std::span<const Parameter> blocks = layout.blocks();
    const auto found = std::find_if(blocks.begin(), blocks.end(),
                                    [&](const Parameter& b) { return layout.name(b) == ours; });
    std::vector<std::uint64_t> shape = safetensors::shapeOf(block);
    std::span<const T> numbers;
    if (found == blocks.end()) {
      numbers = own.emplace_back(block.size());
    } else if (name.isTurned) {
      auto& turned = own.emplace_back(block.size());
      gpt2::turn(parameters.values(*found), block.rows, block.columns, std::span(turned));
      std::reverse(shape.begin(), shape.end());
      numbers = turned;
    } else {
      numbers = parameters.values(*found).first(block.size());
    }
    tensors.emplace_back(std::string(gpt2::prefix) + name.text, shape, numbers);
  }
  const std::filesystem::path place(folder);
  saveSafetensors((place / "model.safetensors").string(), tensors, {{"format", "pt"}}, options);
  AtomicFile file((place / "config.json").string(), options);
  file.write(std::as_bytes(std::span(json)));
  file.commit();
}

}  // namespace burtorch::inline BURTORCH_TARGET
