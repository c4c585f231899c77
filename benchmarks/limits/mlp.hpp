// The gradient of the paper's character MLP written by hand, for one core with AVX2 and FMA: the limits of experiment `mlp`.
// `plain` computes every product for every sample, as a general operator would; `shared` computes equal products once.
#pragma once

#include <vector>

#include "arena.hpp"
#include "mlp_one.hpp"
#include "mlp_plain.hpp"
#include "mlp_shared.hpp"

namespace limits::mlp {

enum class Form { plain, shared };

/// The gradient of batches of 1 (plain) or 64.
class Gradient {
  // Weights and gradients are walked side by side; half a page apart they do not meet in the same sets of the cache.
  static constexpr std::size_t halfPage = 2048 + 64;
  union Workspace {
    OneSample::Workspace one;
    PlainBatch::Workspace plain;
    SharedBatch::Workspace shared;
  };

 public:
  Gradient(const std::vector<float>& parameters, int units, Form form)
      : arena_(Arena::bytesFor<float>(parameters.size()) +
               Arena::bytesFor<float>(parameters.size(), halfPage)),
        workspaces_(Arena::bytesFor<Workspace>()),
        size_(parameters.size()),
        parameters_(arena_.take<float>(size_)),
        gradients_(arena_.take<float>(size_, halfPage)),
        workspace_(*workspaces_.take<Workspace>()),
        units_(units),
        form_(form) {
    std::memcpy(parameters_, parameters.data(), size_ * sizeof(float));
  }

  /// The mean loss.
  double operator()(const int* tokens, const int* targets, int batch) {
    if (batch == 1) return run<OneSample>(workspace_.one, tokens, targets);
    if (form_ == Form::shared) return run<SharedBatch>(workspace_.shared, tokens, targets);
    return run<PlainBatch>(workspace_.plain, tokens, targets);
  }
  std::vector<double> gradient() const { return {gradients_, gradients_ + size_}; }

 private:
  // The object lives in the frame of one function into which all of it is inlined, so its pointers stay in registers. A
  // vector store may alias anything: members that others can see would be read again after each.
  template <class Batch>
  [[gnu::noinline]] double run(typename Batch::Workspace& workspace, const int* tokens, const int* targets) {
    return Batch{workspace, {parameters_, units_}, {gradients_, units_}, units_}.run(tokens, targets);
  }

  Arena arena_, workspaces_;
  std::size_t size_;
  float *parameters_, *gradients_;
  Workspace& workspace_;
  int units_;
  Form form_;
};

}  // namespace limits::mlp
