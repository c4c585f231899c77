// What the experiments gpt and mlp share: batches of tokens, weights from a fixed seed, the library's gradient through
// TokenOracle, and the right answers, which are the library's own in fp64. (Its tests compare those with PyTorch.)
#pragma once

#include <algorithm>
#include <burtorch/base/rng.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/oracle/token_oracle.hpp>
#include <burtorch/train/optimizer.hpp>
#include <cmath>
#include <memory>
#include <numeric>

#include "harness.hpp"

namespace bench {

/// Several batches, so that no branch or loop count is learned from one of them. Sample lies after sample.
struct Batches {
  std::size_t count, batch, tokensEach, targetsEach;
  std::vector<int> tokens, targets;

  const int* tokensOf(std::size_t i) const { return tokens.data() + i * batch * tokensEach; }
  const int* targetsOf(std::size_t i) const { return targets.data() + i * batch * targetsEach; }

  // What an oracle asks for.
  std::size_t size() const { return count * batch; }
  void read(std::size_t i, std::span<burtorch::TokenId> to, std::span<burtorch::TokenId> wanted) const {
    for (std::size_t k = 0; k < tokensEach; ++k)
      to[k] = static_cast<burtorch::TokenId>(tokens[i * tokensEach + k]);
    for (std::size_t k = 0; k < targetsEach; ++k)
      wanted[k] = static_cast<burtorch::TokenId>(targets[i * targetsEach + k]);
  }
};

/// A model of the library, its parameters and its oracle.
template <class Model> class OracleRun {
  using T = typename Model::Scalar;
  struct Samples {  // oracles copy theirs
    const Batches* batches;
    std::size_t size() const { return batches->size(); }
    void read(std::size_t i, std::span<burtorch::TokenId> to, std::span<burtorch::TokenId> wanted) const {
      batches->read(i, to, wanted);
    }
  };

 public:
  template <class Config>
  OracleRun(const Config& config, const std::vector<float>& weights, const Batches& batches,
            std::size_t tile = 0)
      : batches_(batches),
        model_(config),
        parameters_(model_.layout()),
        oracle_(model_, parameters_, Samples{&batches_}, tile),
        all_(batches.size()) {
    setWeights([&](std::size_t i) { return weights[i]; });
    std::iota(all_.begin(), all_.end(), std::size_t{0});
  }

  /// weight(i) is the i-th.
  template <class Weight> void setWeights(Weight weight) {
    const auto values = parameters_.values();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(weight(i));
  }
  /// The gradient of one batch.
  void runBatch(std::size_t i) {
    loss_ = oracle_.gradient(std::span<const std::size_t>(all_).subspan(i * batches_.batch, batches_.batch));
  }
  const Model& model() const { return model_; }
  burtorch::ParameterStore<T>& parameters() { return parameters_; }
  std::size_t tile() const { return std::min(oracle_.tile(), batches_.batch); }
  double loss() const { return loss_; }
  std::vector<double> gradient() {
    const auto gradients = parameters_.gradients();
    return {gradients.begin(), gradients.end()};
  }

 private:
  const Batches& batches_;
  Model model_;
  burtorch::ParameterStore<T> parameters_;
  burtorch::TokenOracle<Model, Samples> oracle_;
  std::vector<std::size_t> all_;
  double loss_ = 0;
};

/// A learning rate that moves no weight further than fp32 rounds: the arithmetic of a step is that of any rate, and the gradient
/// after any number of steps is still the one to be judged.
constexpr double tinyRate = 1e-12;

/// A whole training step: the gradient of a batch, then AdamW.
template <class Model> class StepRun {
 public:
  explicit StepRun(std::shared_ptr<OracleRun<Model>> run)
      : run_(std::move(run)),
        optimizer_(burtorch::AdamW{.learningRate = tinyRate, .weightDecay = 0.1}, run_->parameters().size()) {
    optimizer_.exemptFromDecay(run_->model().layout());
  }
  void runBatch(std::size_t i) {
    run_->runBatch(i);
    optimizer_.step(run_->parameters().values(), run_->parameters().gradients());
  }
  double loss() const { return run_->loss(); }
  std::vector<double> gradient() { return run_->gradient(); }

 private:
  std::shared_ptr<OracleRun<Model>> run_;
  burtorch::Optimizer<typename Model::Scalar, burtorch::AdamW> optimizer_;
};

/// Uniform from -most to most, gains around 1. At 0.2 no layer of a small model is saturated, and no gradient is lost beside the
/// largest one.
template <class Model, class Config>
std::vector<float> randomWeights(const Config& config, float most = 0.2f) {
  const Model model(config);
  burtorch::ParameterStore<float> parameters(model.layout());
  burtorch::Rng rng(1);
  for (const burtorch::Parameter& block : model.layout().blocks())
    for (float& x : parameters.values(block))
      x = rng.uniform<float>() * (2 * most) - most +
          (block.role == burtorch::ParameterRole::gain ? 1.f : 0.f);
  return {parameters.values().begin(), parameters.values().end()};
}

/// The library's gradients of all batches in fp64, at the same weights.
template <class Model, class Config>
std::vector<Answer> answersOf(const Config& config, const std::vector<float>& weights,
                              const Batches& batches) {
  OracleRun<Model> run(config, weights, batches);
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < batches.count; ++i) {
    run.runBatch(i);
    answers.push_back({run.gradient(), run.loss()});
  }
  return answers;
}

/// Can fp32 get a sample right? A relu whose input is within rounding of 0 may fall on either side, and its share of the gradient
/// with it. So the weights are moved by about what fp32 rounds, in fp64: the gradient must hardly move. Large batches without
/// this have a sample that nobody can be judged by.
template <class Model> class WellPosed {
 public:
  template <class Config>
  WellPosed(const Config& config, const std::vector<float>& weights)
      : weights_(weights), one_{1, 1, config.context, config.context, {}, {}}, run_(config, weights, one_) {}

  bool operator()(const std::vector<int>& tokens, const std::vector<int>& targets) {
    constexpr double most = 2e-5, step = 1e-6;
    one_.tokens = tokens, one_.targets = targets;
    run_.setWeights([&](std::size_t i) { return weights_[i]; });
    run_.runBatch(0);
    const std::vector<double> gradient = run_.gradient();
    double scale = 0;
    for (const double g : gradient) scale = std::max(scale, std::abs(g));
    burtorch::Rng rng(5);
    for (int draw = 0; draw < 3; ++draw) {
      run_.setWeights([&](std::size_t i) {
        return static_cast<double>(weights_[i]) * (1 + step * (2 * rng.uniform<double>() - 1));
      });
      run_.runBatch(0);
      const std::vector<double> moved = run_.gradient();
      for (std::size_t i = 0; i < moved.size(); ++i)
        if (std::abs(moved[i] - gradient[i]) > most * scale) return false;
    }
    return true;
  }

 private:
  const std::vector<float>& weights_;
  Batches one_;
  OracleRun<Model> run_;
};

/// All batches in turn, in whole rounds that take about 2 ms at 50 GFLOP/s: long enough for the clock, short enough to
/// fit between the interruptions of a busy machine.
inline long iterationsFor(double flops, const Batches& batches) {
  const auto count = static_cast<double>(batches.count);
  return static_cast<long>(count * std::max(1.0, std::round(2e6 * 50 / flops / count)));
}

/// A gradient by hand, on the same batches.
template <class Gradient> class LimitRun {
 public:
  template <class... Args>
  explicit LimitRun(const Batches& batches, const Args&... args) : batches_(batches), gradient_(args...) {}
  void runBatch(std::size_t i) {
    loss_ = gradient_(batches_.tokensOf(i), batches_.targetsOf(i), static_cast<int>(batches_.batch));
  }
  double loss() const { return loss_; }
  std::vector<double> gradient() const { return gradient_.gradient(); }

 private:
  const Batches& batches_;
  Gradient gradient_;
  double loss_ = 0;
};

/// A contestant that keeps `run` alive.
template <class Run>
Contestant contestant(std::string system, std::string mode, std::shared_ptr<Run> run, const Batches& batches,
                      Figures params) {
  const auto inTurn = [run, count = batches.count](long iterations) {
    for (long i = 0; i < iterations; ++i) run->runBatch(static_cast<std::size_t>(i) % count);
  };
  return {std::move(system),
          std::move(mode),
          inTurn,
          [run] { return run->gradient(); },
          [run] { return run->loss(); },
          std::move(params)};
}

/// The library as a contestant.
template <class Model, class Config>
Contestant ours(std::string mode, const Config& config, const std::vector<float>& weights,
                const Batches& batches, std::size_t tile, Figures params) {
  auto run = std::make_shared<OracleRun<Model>>(config, weights, batches, tile);
  params.push_back({"tile", static_cast<double>(run->tile())});
  return contestant("burtorch", std::move(mode), run, batches, std::move(params));
}

/// Tokens, then targets, batch after batch.
inline std::vector<std::int32_t> fileOf(const Batches& batches) {
  std::vector<std::int32_t> numbers;
  for (std::size_t i = 0; i < batches.count; ++i) {
    numbers.insert(numbers.end(), batches.tokensOf(i),
                   batches.tokensOf(i) + batches.batch * batches.tokensEach);
    numbers.insert(numbers.end(), batches.targetsOf(i),
                   batches.targetsOf(i) + batches.batch * batches.targetsEach);
  }
  return numbers;
}

}  // namespace bench
