// The GPTs that are measured: the paper's, nanoGPT's recipe for a CPU, its baby GPT, and GPT-2 small.
#pragma once

#include <burtorch/base/check.hpp>
#include <burtorch/model/gpt.hpp>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "harness.hpp"

namespace bench {

struct GptShape {
  std::string name;
  burtorch::GptConfig config;
  std::vector<std::size_t> batches;

  bool isPaper() const { return name == "paper"; }
  /// The largest weight. Wide layers want smaller ones, or attention is saturated and fp32 cannot get its gradient right: 0.2 at the
  /// paper's width, and at GPT-2's a deviation of 0.02, which is where GPT-2 starts.
  float largestWeight() const {
    return isPaper() ? 0.2f : 0.2f * std::sqrt(24.f / static_cast<float>(config.width));
  }
};

inline const std::vector<GptShape>& gptShapes() {
  using burtorch::Activation;
  constexpr Activation gpt2Activation = Activation::geluTanh;
  static const std::vector<GptShape> shapes = {{"paper", {}, {1, 2, 4, 8, 16, 32, 64}},
                                               {"nano",
                                                {.context = 64,
                                                 .width = 128,
                                                 .layers = 4,
                                                 .heads = 4,
                                                 .finalNorm = true,
                                                 .hasBiases = false,
                                                 .isTied = true,
                                                 .activation = Activation::gelu},
                                                {12}},
                                               {"baby",
                                                {.context = 256,
                                                 .width = 384,
                                                 .layers = 6,
                                                 .heads = 6,
                                                 .finalNorm = true,
                                                 .hasBiases = false,
                                                 .isTied = true,
                                                 .activation = Activation::gelu},
                                                {1, 12}},
                                               {"gpt2",
                                                {.vocabulary = 50257,
                                                 .context = 64,
                                                 .width = 768,
                                                 .layers = 12,
                                                 .heads = 12,
                                                 .finalNorm = true,
                                                 .hasAttentionBias = true,
                                                 .isTied = true,
                                                 .activation = gpt2Activation},
                                                {4}}};
  return shapes;
}

/// The shape of that name; no name is the paper's.
inline GptShape gptShapeNamed(const std::string& name) {
  std::string known;
  for (const GptShape& shape : gptShapes()) {
    if (shape.name == (name.empty() ? "paper" : name)) return shape;
    known += " " + shape.name;
  }
  burtorch::fail("there is no shape '%s'; there are:%s", name.c_str(), known.c_str());
}

struct Batches;

/// What is measured of a shape at one batch (gpt.cpp): ours are the gradient and a step of training with the same weights.
struct ShapeTrial {
  Trial trial;
  std::vector<Contestant> ours;
  std::shared_ptr<const Batches> batches;  // which ours refer to
};
ShapeTrial shapeTrial(const GptShape& shape, std::size_t batch, const Figures& params);

/// Random samples that fp32 can get right, as ./bench gpt has them; and what a peer is told of the model.
std::shared_ptr<const Batches> gptBatches(const burtorch::GptConfig& config,
                                          const std::vector<float>& weights, std::size_t batch);
Figures gptSettings(const burtorch::GptConfig& config, std::size_t batch);

}  // namespace bench
