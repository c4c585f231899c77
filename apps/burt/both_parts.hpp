// One oracle for training and validation. Two would each keep a tape, the largest thing in memory after the parameters; so
// there is one, over the samples of both parts, and a view of it for each part.
#pragma once

#include <burtorch/oracle/token_oracle.hpp>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "ranks.hpp"

namespace burt {

/// The samples of both parts, those to train on first.
template <class Samples> struct BothParts {
  Samples train, validation;

  std::size_t size() const { return train.size() + validation.size(); }
  void read(std::size_t i, std::span<burtorch::TokenId> tokens, std::span<burtorch::TokenId> targets) const {
    if (i < train.size())
      train.read(i, tokens, targets);
    else
      validation.read(i - train.size(), tokens, targets);
  }
};

/// The first `count` samples of an oracle, with gradients.
template <class Oracle> class TrainingPart {
 public:
  using Scalar = typename Oracle::Scalar;

  TrainingPart(Oracle& oracle, std::size_t count) : oracle_(oracle), count_(count) {}

  std::size_t size() const { return count_; }
  std::span<Scalar> parameters() const { return oracle_.parameters(); }
  std::span<Scalar> gradients() const { return oracle_.gradients(); }
  double value(std::span<const std::size_t> batch) { return oracle_.value(batch); }
  double gradient(std::span<const std::size_t> batch) { return oracle_.gradient(batch); }
  double gradient(std::span<const std::size_t> batch, const burtorch::StepKey& step) {
    return oracle_.gradient(batch, step);
  }

 private:
  Oracle& oracle_;
  std::size_t count_;
};

/// The samples after the first `before` ones.
template <class Oracle> class ValidationPart {
 public:
  ValidationPart(Oracle& oracle, std::size_t before) : oracle_(oracle), before_(before) {}

  std::size_t size() const { return oracle_.size() - before_; }
  /// NaN if another rank was lost on the way: then `interruption` says what happened. The step before is whole.
  double value(std::span<const std::size_t> batch) {
    places_.assign(batch.begin(), batch.end());
    for (std::size_t& place : places_) place += before_;
    try {
      return oracle_.value(places_);
    } catch (const burtorch::Error& error) {
      if (!isLossOfRank(error)) throw;
      interruption_ = error.what();
      return std::nan("");
    }
  }
  const std::string& interruption() const { return interruption_; }

 private:
  Oracle& oracle_;
  std::size_t before_;
  std::string interruption_;
  std::vector<std::size_t> places_;
};

}  // namespace burt
