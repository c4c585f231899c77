// How a gradient moves a parameter: SGD, momentum, Nesterov, Adam, AdamW, with PyTorch's formulas and defaults.
//
// One method = one struct: name, options, how many numbers of state it keeps for each parameter, and the update. The update is
// written for any number x, gradient g and state, and is called with packs of them. Whatever depends only on the
// step (bias corrections) is computed in double and rounded once. Weight decay differs only in where it enters,
// so Optimizer applies it: `g + weightDecay * x` before the update, or, where `decouplesDecay`, straight to x.
// Your own method is one more such struct.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <tuple>
#include <variant>

#include "../simd/pack.hpp"
#include "named_options.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {

/// m and v: running means of g and g^2, too small by 1 - beta^step because they start at 0.
///   x <- x - rate * (m / (1 - beta1^step)) / (sqrt(v / (1 - beta2^step)) + epsilon)
/// with numerator and denominator multiplied by sqrt(1 - beta2^step), which leaves one division.
template <class T, class Method> auto adamUpdate(const Method& method, double rate, std::uint64_t step) {
  const double count = static_cast<double>(step);
  const double meanCorrection = 1 - std::pow(method.beta1, count);
  const double rootCorrection = std::sqrt(1 - std::pow(method.beta2, count));
  return
      [newPart = static_cast<T>(1 - method.beta1), oldSquares = static_cast<T>(method.beta2),
       newSquares = static_cast<T>(1 - method.beta2),
       size = static_cast<T>(rate * rootCorrection / meanCorrection),
       epsilon = static_cast<T>(method.epsilon * rootCorrection)](auto& x, const auto& g, auto& m, auto& v) {
        m = m + newPart * (g - m);
        v = oldSquares * v + newSquares * g * g;
        x = x - size * m / (sqrt(v) + epsilon);
      };
}

/// Below it 0 / 0 would be possible: a parameter that no sample reached, in fp32.
inline constexpr double leastEpsilon = 1e-30;

}  // namespace detail

/// x <- x - rate * g
struct Sgd {
  static constexpr std::string_view name = "sgd";
  static constexpr std::size_t stateCount = 0;
  static constexpr bool decouplesDecay = false;
  double learningRate = 1e-3, weightDecay = 0;
  static constexpr auto fields = std::tuple(optionField("learningRate", &Sgd::learningRate),
                                            optionField("weightDecay", &Sgd::weightDecay));

  template <class T> auto update(double rate, std::uint64_t) const {
    return [rate = static_cast<T>(rate)](auto& x, const auto& g) { x = x - rate * g; };
  }
};

/// m <- momentum * m + g;  x <- x - rate * m.  PyTorch's SGD has momentum 0 unless told; here it is in the name.
struct Momentum {
  static constexpr std::string_view name = "momentum";
  static constexpr std::size_t stateCount = 1;
  static constexpr bool decouplesDecay = false;
  double learningRate = 1e-3, momentum = 0.9, weightDecay = 0;
  static constexpr auto fields = std::tuple(optionField("learningRate", &Momentum::learningRate),
                                            optionField("momentum", &Momentum::momentum, 0, 1),
                                            optionField("weightDecay", &Momentum::weightDecay));

  template <class T> auto update(double rate, std::uint64_t) const {
    return [rate = static_cast<T>(rate), kept = static_cast<T>(momentum)](auto& x, const auto& g, auto& m) {
      m = kept * m + g;
      x = x - rate * m;
    };
  }
};

/// m <- momentum * m + g;  x <- x - rate * (g + momentum * m)
struct Nesterov {
  static constexpr std::string_view name = "nesterov";
  static constexpr std::size_t stateCount = 1;
  static constexpr bool decouplesDecay = false;
  double learningRate = 1e-3, momentum = 0.9, weightDecay = 0;
  static constexpr auto fields = std::tuple(optionField("learningRate", &Nesterov::learningRate),
                                            optionField("momentum", &Nesterov::momentum, 0, 1),
                                            optionField("weightDecay", &Nesterov::weightDecay));

  template <class T> auto update(double rate, std::uint64_t) const {
    return [rate = static_cast<T>(rate), kept = static_cast<T>(momentum)](auto& x, const auto& g, auto& m) {
      m = kept * m + g;
      x = x - rate * (g + kept * m);
    };
  }
};

struct Adam {
  static constexpr std::string_view name = "adam";
  static constexpr std::size_t stateCount = 2;
  static constexpr bool decouplesDecay = false;
  double learningRate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 0;
  static constexpr auto fields = std::tuple(
      optionField("learningRate", &Adam::learningRate), optionField("beta1", &Adam::beta1, 0, 1),
      optionField("beta2", &Adam::beta2, 0, 1), optionField("epsilon", &Adam::epsilon, detail::leastEpsilon),
      optionField("weightDecay", &Adam::weightDecay));

  template <class T> auto update(double rate, std::uint64_t step) const {
    return detail::adamUpdate<T>(*this, rate, step);
  }
};

/// Adam, but the decay does not pass through its means: x <- (1 - rate * weightDecay) * x first.
struct AdamW {
  static constexpr std::string_view name = "adamw";
  static constexpr std::size_t stateCount = 2;
  static constexpr bool decouplesDecay = true;
  double learningRate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weightDecay = 1e-2;
  static constexpr auto fields =
      std::tuple(optionField("learningRate", &AdamW::learningRate), optionField("beta1", &AdamW::beta1, 0, 1),
                 optionField("beta2", &AdamW::beta2, 0, 1),
                 optionField("epsilon", &AdamW::epsilon, detail::leastEpsilon),
                 optionField("weightDecay", &AdamW::weightDecay));

  template <class T> auto update(double rate, std::uint64_t step) const {
    return detail::adamUpdate<T>(*this, rate, step);
  }
};

/// Any of them, chosen while the program runs.
using AnyMethod = std::variant<Sgd, Momentum, Nesterov, Adam, AdamW>;

/// The method with that name; settings are those of its fields, as in {"learningRate", 3e-4}.
inline AnyMethod methodFromName(std::string_view name, std::span<const Setting> settings = {}) {
  return optionsFromName<AnyMethod>("optimiser", name, settings);
}

}  // namespace burtorch::inline BURTORCH_TARGET
