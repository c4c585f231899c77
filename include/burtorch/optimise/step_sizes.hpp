// Step sizes that theory gives for compressed methods, from smoothness constants and what is known of the compressor.
//
// f = (1/n) sum f_i is L-smooth, f_i is L_i-smooth, L+^2 = (1/n) sum L_i^2.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "message.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// sqrt of the mean square: L+ of the workers' smoothness constants.
inline double rootMeanSquare(std::span<const double> smoothness) {
  double sum = 0;
  for (const double l : smoothness) sum += l * l;
  return std::sqrt(sum / static_cast<double>(smoothness.size()));
}
/// The mean: L_AM of EF21-W.
inline double meanSmoothness(std::span<const double> smoothness) {
  double sum = 0;
  for (const double l : smoothness) sum += l;
  return sum / static_cast<double>(smoothness.size());
}

/// What EF21's theory makes of alpha: theta = 1 - sqrt(1 - alpha), beta = (1 - alpha)/theta, xi = sqrt(beta/theta).
struct Ef21Constants {
  double theta, beta, xi;

  explicit Ef21Constants(double alpha) {
    if (!(alpha > 0 && alpha <= 1)) fail("EF21: expected 0 < alpha <= 1, got %g", alpha);
    const double root = std::sqrt(1 - alpha);
    theta = alpha / (1 + root);  // 1 - root, without the cancellation
    beta = (1 - alpha) / theta;
    xi = root / theta;
  }
};
/// EF21: 1/(L + L+ xi). EF21-W: the same with the mean of the L_i in place of L+.
inline double ef21StepSize(double smoothness, double workersSmoothness, double alpha) {
  return 1 / (smoothness + workersSmoothness * Ef21Constants(alpha).xi);
}
/// The weights of EF21-W: L_i over their sum.
inline void ef21Weights(std::span<const double> smoothness, std::span<double> weights) {
  const double sum = meanSmoothness(smoothness) * static_cast<double>(smoothness.size());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = smoothness[i] / sum;
}

/// MARINA: 1/(L+ (1 + sqrt((1 - p) omega/(p n)))).
inline double marinaStepSize(double workersSmoothness, double omega, double probability,
                             std::size_t workers) {
  if (!(probability > 0 && probability <= 1))
    fail("MARINA: expected a probability above 0 and up to 1, got %g", probability);
  const double ratio = (1 - probability) / (probability * static_cast<double>(workers));
  return 1 / (workersSmoothness * (1 + std::sqrt(ratio * omega)));
}
/// VR-MARINA with batches of b samples: 1/(L + sqrt((1 - p)/(p n) (omega L^2 + (1 + omega) S^2/b))), where S is the average
/// smoothness of the samples.
inline double vrMarinaStepSize(double smoothness, double samplesSmoothness, double omega, double probability,
                               std::size_t workers, std::size_t batch) {
  if (!(probability > 0 && probability <= 1) || batch == 0)
    fail("VR-MARINA: expected a probability above 0 and up to 1 and a batch of at least 1, got %g and %zu",
         probability, batch);
  const double ratio = (1 - probability) / (probability * static_cast<double>(workers));
  const double variance = omega * smoothness * smoothness +
                          (1 + omega) * samplesSmoothness * samplesSmoothness / static_cast<double>(batch);
  return 1 / (smoothness + std::sqrt(ratio * variance));
}
/// The probability of a full gradient at which full and compressed messages cost the same: K/d for RandK.
template <class T> double marinaProbability(const AnyCompressor& any, std::size_t d) {
  const double bytes = static_cast<double>(messageBytes<T>(any, d) - MessageHeader::bytes);
  return std::clamp(bytes / static_cast<double>(d * sizeof(T)), 1e-12, 1.0);
}
/// The same for VR-MARINA, where a full gradient of `samples` samples costs time as well: min(K/d, b/(samples + b)).
template <class T>
double vrMarinaProbability(const AnyCompressor& any, std::size_t d, std::size_t samples, std::size_t batch) {
  const double b = static_cast<double>(batch);
  return std::min(marinaProbability<T>(any, d), b / (static_cast<double>(samples) + b));
}

}  // namespace burtorch::inline BURTORCH_TARGET
