// A training that can be resumed: parameters, the optimiser's state, the step and the random stream in one safetensors
// file. Loaded into fresh objects, the next steps have the same bits as if the program had never ended.
//
//   saveTraining("state.safetensors", parameters, optimizer, training.rng(), {{"epoch", "3"}});
//   loadTraining(SafetensorsFile("state.safetensors"), parameters, optimizer, training.rng());
//
// One file, replaced as a whole, so that its parts are always of the same step. The parameters have their own names, as in
// parameters_file.hpp; the rest is the tensor `optimizer.memory` and three texts of the metadata, where 64-bit numbers are
// decimal digits and so exact. Options (learning rate, betas, schedule, batch, what is exempt from decay) are the program's
// and not the file's: the bits stay the same only if the program gives the same ones, for example from texts of its own in
// the metadata. `loadParameters` reads the file too, for a program that only uses the model.
#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "../base/rng.hpp"
#include "../train/optimizer.hpp"
#include "parameters_file.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace safetensors {

inline constexpr std::string_view methodKey = "training.optimizer", stepKey = "training.step",
                                  randomKey = "training.random";

/// A text of the state; a file without it holds none.
inline const std::string& stateText(const SafetensorsFile& file, std::string_view key) {
  const auto found = file.metadata().find(key);
  if (found == file.metadata().end())
    fail(ErrorCode::badFile,
         "'%s' has no '%s': it holds no state of a training; give a file that saveTraining wrote",
         printable(file.path()).c_str(), std::string(key).c_str());
  return found->second;
}
inline std::uint64_t stateNumber(const SafetensorsFile& file, std::string_view key) {
  const std::string& digits = stateText(file, key);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size())
    fail(ErrorCode::badFile,
         "'%s' has '%s' for its '%s', expected a whole number below 2^64; was the file damaged?",
         printable(file.path()).c_str(), printable(digits, 30).c_str(), std::string(key).c_str());
  return number;
}

/// Another type would load, but rounded or with other roundings from here on.
inline void checkType(const SafetensorsFile& file, std::string_view dtype) {
  for (const TensorInfo& tensor : file.tensors())
    if (tensor.dtype != dtype)
      fail("'%s' has '%s' in %s, the training is in %s: it can only go on in the type it began in",
           printable(file.path()).c_str(), printable(tensor.name, 50).c_str(),
           printable(tensor.dtype, 20).c_str(), std::string(dtype).c_str());
}
inline void checkSameSize(const std::string& path, std::size_t parameters, std::size_t optimizer) {
  if (parameters != optimizer)
    fail("a training in '%s': the model has %zu parameters, its optimiser %zu; make it of the same size",
         printable(path).c_str(), parameters, optimizer);
}

}  // namespace safetensors

/// Saves all that the next step depends on, but for options. `metadata` are texts of the caller's own.
template <TensorNumber T, class Method>
void saveTraining(const std::string& path, const ParameterStore<T>& parameters,
                  const Optimizer<T, Method>& optimizer, const Rng& rng, const Metadata& metadata = {},
                  const SaveOptions& options = {}) {
  safetensors::checkSameSize(path, parameters.size(), optimizer.parameterCount());
  Metadata all{{std::string(safetensors::methodKey), std::string(optimizer.methodName())},
               {std::string(safetensors::stepKey), std::to_string(optimizer.steps())},
               {std::string(safetensors::randomKey), std::to_string(rng.state())}};
  for (const auto& [key, text] : metadata)
    if (!all.emplace(key, text).second)
      fail("cannot save '%s': '%s' is written by saveTraining itself; give your text another key",
           printable(path).c_str(), key.c_str());
  std::vector<TensorView> tensors = safetensors::viewsOf(parameters);
  tensors.emplace_back(std::string(safetensors::stateName),
                       std::vector<std::uint64_t>{optimizer.state().size()}, optimizer.state());
  saveSafetensors(path, tensors, all, options);
}

/// Loads what saveTraining saved, for the same model, the same method and the same type of numbers. All is checked before the
/// first number changes.
template <TensorNumber T, class Method>
void loadTraining(const SafetensorsFile& file, ParameterStore<T>& parameters, Optimizer<T, Method>& optimizer,
                  Rng& rng) {
  safetensors::checkSameSize(file.path(), parameters.size(), optimizer.parameterCount());
  const std::string& method = safetensors::stateText(file, safetensors::methodKey);
  if (method != optimizer.methodName())
    fail("'%s' is of the optimiser '%s', this one is '%s': to go on, take the same",
         printable(file.path()).c_str(), printable(method, 30).c_str(),
         std::string(optimizer.methodName()).c_str());
  const std::uint64_t steps = safetensors::stateNumber(file, safetensors::stepKey),
                      random = safetensors::stateNumber(file, safetensors::randomKey);
  safetensors::checkType(file, safetensors::dtypeOf<T>());
  const TensorInfo& state = file.tensor(safetensors::stateName);
  safetensors::checkParameters(file, parameters, &state);
  file.checkReadable<T>(state, optimizer.state().size());

  safetensors::convertParameters(file, parameters);
  file.convert(state, optimizer.state());
  optimizer.setSteps(steps);
  rng.setState(random);
}

}  // namespace burtorch::inline BURTORCH_TARGET
