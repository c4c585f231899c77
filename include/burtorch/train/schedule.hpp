// Learning rates that depend on the step: each schedule is a struct of options and a function of the step, counted
// from 0. No state, so a resumed run asks for its step and gets the same rate. A wrong option is reported by `at`.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <span>
#include <string_view>
#include <tuple>
#include <variant>

#include "../base/check.hpp"
#include "named_options.hpp"

namespace burtorch::inline BURTORCH_TARGET {

struct ConstantRate {
  static constexpr std::string_view name = "constant";
  double learningRate = 1e-3;
  static constexpr auto fields = std::tuple(optionField("learningRate", &ConstantRate::learningRate));

  double at(std::uint64_t) const {
    checkOptions(*this);
    return learningRate;
  }
};

/// Multiplied by `factor` after every `every` steps (PyTorch: StepLR).
struct StepDecay {
  static constexpr std::string_view name = "step";
  double learningRate = 1e-3, factor = 0.1;
  std::uint64_t every = 0;
  static constexpr auto fields = std::tuple(optionField("learningRate", &StepDecay::learningRate),
                                            optionField("factor", &StepDecay::factor),
                                            optionField("every", &StepDecay::every, 1, 0x1p53));

  double at(std::uint64_t step) const {
    checkOptions(*this);
    return learningRate * std::pow(factor, static_cast<double>(step / every));
  }
};

/// Up in a line for `warmupSteps`, step k at (k + 1) / (warmupSteps + 1) of the rate, so that the first step moves;
/// then half a cosine down, reaching `minimumRate` at step `totalSteps`; then flat.
struct WarmupCosine {
  static constexpr std::string_view name = "cosine";
  double learningRate = 1e-3, minimumRate = 0;
  std::uint64_t warmupSteps = 0, totalSteps = 0;
  static constexpr auto fields = std::tuple(optionField("learningRate", &WarmupCosine::learningRate),
                                            optionField("minimumRate", &WarmupCosine::minimumRate),
                                            optionField("warmupSteps", &WarmupCosine::warmupSteps, 0, 0x1p53),
                                            optionField("totalSteps", &WarmupCosine::totalSteps, 1, 0x1p53));

  void checkTogether() const {
    if (minimumRate > learningRate)
      fail("cosine falls from learningRate %g to minimumRate %g: the minimum must not be larger",
           learningRate, minimumRate);
    if (warmupSteps > totalSteps)
      fail("cosine has %llu warmupSteps of %llu totalSteps: it needs at least as many in total",
           static_cast<unsigned long long>(warmupSteps), static_cast<unsigned long long>(totalSteps));
  }

  double at(std::uint64_t step) const {
    checkOptions(*this);
    if (step < warmupSteps)
      return learningRate * static_cast<double>(step + 1) / static_cast<double>(warmupSteps + 1);
    if (step >= totalSteps) return minimumRate;
    const double done =
        static_cast<double>(step - warmupSteps) / static_cast<double>(totalSteps - warmupSteps);
    return learningRate - (learningRate - minimumRate) * (1 - std::cos(std::numbers::pi * done)) / 2;
  }
};

using AnySchedule = std::variant<ConstantRate, StepDecay, WarmupCosine>;

/// Any of them, chosen while the program runs.
struct Schedule {
  AnySchedule kind;

  double at(std::uint64_t step) const {
    return std::visit([&](const auto& schedule) { return schedule.at(step); }, kind);
  }
};

/// The schedule with that name; settings are those of its fields, as in {"totalSteps", 5000}.
inline Schedule scheduleFromName(std::string_view name, std::span<const Setting> settings = {}) {
  return {optionsFromName<AnySchedule>("schedule", name, settings)};
}

}  // namespace burtorch::inline BURTORCH_TARGET
