// Parameters of a model as a safetensors file: each block is a tensor of the same name, a bias or a gain as [rows], a weight
// or a table as [rows,columns]. PyTorch's load_state_dict takes the file for the equivalent module, and its files can be loaded here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../io/safetensors.hpp"
#include "../nn/parameter_store.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace safetensors {

/// The one tensor of a training's state (training_file.hpp) that is no parameter.
inline constexpr std::string_view stateName = "optimizer.memory";

inline std::vector<std::uint64_t> shapeOf(const Parameter& block) {
  if (block.role == ParameterRole::bias || block.role == ParameterRole::gain) return {block.rows};
  return {block.rows, block.columns};
}

/// A block of one column is the same numbers as [rows] and as [rows,1].
inline bool fits(const TensorInfo& tensor, const Parameter& block) {
  return tensor.shape == shapeOf(block) ||
         (block.columns == 1 && (tensor.shape == std::vector<std::uint64_t>{block.rows} ||
                                 tensor.shape == std::vector<std::uint64_t>{block.rows, 1}));
}

/// Every block under its name.
template <TensorNumber T> std::vector<TensorView> viewsOf(const ParameterStore<T>& parameters) {
  std::vector<TensorView> tensors;
  for (const Parameter& block : parameters.layout().blocks())
    tensors.emplace_back(parameters.layout().name(block), shapeOf(block), parameters.values(block));
  return tensors;
}

/// Fails unless the tensors of the file are exactly the parameters, in their shapes and in readable types; `besides` is one
/// of its tensors that is no parameter.
template <TensorNumber T>
void checkParameters(const SafetensorsFile& file, const ParameterStore<T>& parameters,
                     const TensorInfo* besides = nullptr) {
  std::vector<std::string_view> names;
  for (const Parameter& block : parameters.layout().blocks()) {
    const std::string& name = parameters.layout().name(block);
    const TensorInfo* tensor = file.find(name);
    const std::string wanted = shapeText(shapeOf(block));
    if (tensor == nullptr)
      fail("'%s' lacks the parameter '%s' of shape %s; is it the file of another model?",
           printable(file.path()).c_str(), printable(name, 50).c_str(), wanted.c_str());
    if (!fits(*tensor, block))
      fail("'%s' has the parameter '%s' of shape %s, expected %s; was the model of another size?",
           printable(file.path()).c_str(), printable(name, 50).c_str(),
           printable(shapeText(tensor->shape), 30).c_str(), wanted.c_str());
    file.checkReadable<T>(*tensor, block.size());
    names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  for (const TensorInfo& tensor : file.tensors())
    if (&tensor != besides && !std::binary_search(names.begin(), names.end(), std::string_view(tensor.name)))
      fail("'%s' has the tensor '%s', which the model has not; is it the file of another model?",
           printable(file.path()).c_str(), printable(tensor.name, 50).c_str());
}

/// Loads parameters that were checked.
template <TensorNumber T> void convertParameters(const SafetensorsFile& file, ParameterStore<T>& parameters) {
  for (const Parameter& block : parameters.layout().blocks())
    file.convert(*file.find(parameters.layout().name(block)), parameters.values(block));
}

}  // namespace safetensors

/// Saves every block under its name, in T. The file is replaced as a whole or not at all.
template <TensorNumber T>
void saveParameters(const std::string& path, const ParameterStore<T>& parameters,
                    const Metadata& metadata = {}, const SaveOptions& options = {}) {
  saveSafetensors(path, safetensors::viewsOf(parameters), metadata, options);
}

/// Loads every block from the tensor of its name. Names and shapes must be exactly those of the file; types are converted
/// as by SafetensorsFile::read; the optimiser's part of a training's state is passed over. All is checked before the first
/// number changes.
template <TensorNumber T> void loadParameters(const SafetensorsFile& file, ParameterStore<T>& parameters) {
  safetensors::checkParameters(file, parameters, file.find(safetensors::stateName));
  safetensors::convertParameters(file, parameters);
}

}  // namespace burtorch::inline BURTORCH_TARGET
