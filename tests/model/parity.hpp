// A model against PyTorch: the loss, every gradient and ten steps of training, as reference/make_*.py wrote them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <burtorch/base/rng.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/oracle/token_oracle.hpp>
#include <cmath>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

namespace parity {

using burtorch::TokenId;
constexpr std::size_t steps = 10;

inline std::vector<double> reference(const std::string& name, std::size_t parameters) {
  std::ifstream file(BURTORCH_TEST_DATA "/" + name, std::ios::binary);
  std::vector<double> numbers(steps + parameters);
  file.read(reinterpret_cast<char*>(numbers.data()),
            static_cast<std::streamsize>(numbers.size() * sizeof(double)));
  if (!file) ADD_FAILURE() << name << " cannot be read";
  return numbers;
}

/// Samples that lie in memory.
struct Samples {
  std::size_t count, tokensEach, targetsEach;
  std::vector<TokenId> tokens, targets;

  std::size_t size() const { return count; }
  void read(std::size_t i, std::span<TokenId> to, std::span<TokenId> wanted) const {
    std::copy_n(tokens.begin() + static_cast<std::ptrdiff_t>(i * tokensEach), tokensEach, to.begin());
    std::copy_n(targets.begin() + static_cast<std::ptrdiff_t>(i * targetsEach), targetsEach, wanted.begin());
  }
};

/// The same model and batch as in the script that made the reference.
template <class Model, class Config> struct Experiment {
  using T = typename Model::Scalar;
  Model model;
  burtorch::ParameterStore<T> parameters;
  Samples samples;

  Experiment(const Config& config, std::size_t batch) : model(config), parameters(model.layout()) {
    burtorch::Rng rng(7);
    for (const burtorch::Parameter& block : model.layout().blocks()) {
      const std::string& name = model.layout().name(block);
      const bool isGain = name.find("ln") != std::string::npos && name.ends_with("weight");
      for (T& x : parameters.values(block))
        x = static_cast<T>(rng.uniform<double>() * 0.4 - 0.2 + (isGain ? 1.0 : 0.0));
    }
    samples = {batch, model.tokensPerSample(), model.targetsPerSample(), {}, {}};
    for (std::size_t i = 0; i < batch * samples.tokensEach; ++i)
      samples.tokens.push_back(rng.below(config.vocabulary));
    for (std::size_t i = 0; i < batch * samples.targetsEach; ++i)
      samples.targets.push_back(rng.below(config.vocabulary));
  }

  /// The loss; the gradient is in place. `tile` samples are on the tape at a time.
  double gradient(std::size_t tile) {
    for (T& g : parameters.gradients()) g = std::numeric_limits<T>::quiet_NaN();
    std::vector<std::size_t> all(samples.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return burtorch::TokenOracle(model, parameters, samples, tile).gradient(all);
  }

  /// The largest difference in a block of parameters, in units of its largest gradient.
  double worstError(const std::vector<double>& want) {
    double worst = 0;
    for (const burtorch::Parameter& block : model.layout().blocks()) {
      double difference = 0, largest = 0;
      for (std::size_t i = 0; i < block.size(); ++i) {
        const double wanted = want[steps + block.first + i];
        const double error = std::abs(static_cast<double>(parameters.gradients(block)[i]) - wanted);
        difference = error <= difference ? difference : error;  // a NaN stays
        largest = std::max(largest, std::abs(wanted));
      }
      EXPECT_GT(largest, 0) << model.layout().name(block);
      worst = difference / largest <= worst ? worst : difference / largest;
    }
    return worst;
  }

  void expectGradient(const std::vector<double>& want, std::initializer_list<std::size_t> tiles,
                      double tolerance) {
    ASSERT_EQ(parameters.size() + steps, want.size());
    for (const std::size_t tile : tiles) {
      EXPECT_NEAR(gradient(tile), want[0], tolerance * want[0]) << "tile " << tile;
      EXPECT_LT(worstError(want), tolerance) << "tile " << tile;
    }
  }
  void expectTenSteps(const std::vector<double>& want, double tolerance) {
    for (std::size_t step = 0; step < steps; ++step) {
      EXPECT_NEAR(gradient(samples.size()), want[step], tolerance * want[step]) << "step " << step;
      const auto values = parameters.values();
      const auto gradients = parameters.gradients();
      for (std::size_t i = 0; i < values.size(); ++i) values[i] -= static_cast<T>(0.1) * gradients[i];
    }
  }
};

}  // namespace parity
