// Gradient clipping: by the norm of the whole gradient, or number by number. As PyTorch's clip_grad_norm_ and
// clip_grad_value_, so a gradient that is not finite does not get lost: its norm is returned and it stays visible.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>

#include "../base/check.hpp"
#include "../base/workers.hpp"
#include "../ops/kernels.hpp"
#include "../simd/pack.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Squares are summed pairwise and in fp64, where those of fp32 cannot overflow.
template <std::floating_point T> double sumOfSquares(std::span<const T> numbers) {
  constexpr std::size_t lanes = kernels::lanes<double>;
  constexpr std::size_t perRun = lanes * kernels::blocksPerRun;
  kernels::PairwiseRuns<double> runs;
  double run[lanes] = {};
  const auto add = [&](std::size_t lane, std::size_t i) {
    const double x = static_cast<double>(numbers[i]);
    run[lane] += x * x;
  };
  std::size_t i = 0;
  for (; i + lanes <= numbers.size(); i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) add(lane, i + lane);
    if ((i + lanes) % perRun != 0) continue;
    runs.add(run);
    std::fill(run, run + lanes, 0.0);
  }
  for (std::size_t lane = 0; i < numbers.size(); ++i, ++lane) add(lane, i);
  runs.addAllTo(run);
  return kernels::sumPairwise(run, lanes);
}
/// The Euclidean norm.
template <std::floating_point T> double normOf(std::span<const T> numbers) {
  // Parts for several threads; their size depends on the count alone.
  constexpr std::size_t mostParts = 256, leastNumbers = std::size_t{1} << 16;
  const std::size_t count = std::max(leastNumbers, (numbers.size() + mostParts - 1) / mostParts),
                    parts = (numbers.size() + count - 1) / count;
  if (parts <= 1) return std::sqrt(sumOfSquares(numbers));
  double sums[mostParts];
  forEachPart(parts, 1, Worth{1, 1}, [&](std::size_t first, std::size_t end) {
    for (std::size_t part = first; part < end; ++part)
      sums[part] =
          sumOfSquares(numbers.subspan(part * count, std::min(count, numbers.size() - part * count)));
  });
  return std::sqrt(kernels::sumPairwise(sums, parts));
}

/// Shortens the gradient to maxNorm if it is longer, by the factor maxNorm / (norm + 1e-6); returns the norm it had.
/// A gradient with an infinity or a NaN becomes NaN.
template <std::floating_point T> double clipByNorm(std::span<T> gradients, double maxNorm) {
  if (!(maxNorm >= 0 && maxNorm <= std::numeric_limits<double>::max()))
    fail(std::isfinite(maxNorm) ? ErrorCode::invalidArgument : ErrorCode::notFinite,
         "clipByNorm to %g: expected a finite norm, 0 or more", maxNorm);
  const double norm = normOf(std::span<const T>(gradients));
  const double factor = maxNorm / (norm + 1e-6);
  if (factor >= 1) return norm;
  forEachPartOfLoop(
      gradients.size(), Pack<T>::count, Worth{1, std::size_t{1} << 16},
      [g = gradients.data(), rounded = static_cast<T>(factor)](std::size_t first, std::size_t end) {
        std::size_t i = first;
        for (; i + Pack<T>::count <= end; i += Pack<T>::count) (Pack<T>::load(g + i) * rounded).store(g + i);
        for (; i < end; ++i) g[i] *= rounded;
      });
  return norm;
}

/// Moves every number into [-limit, limit]; a NaN stays.
template <std::floating_point T> void clipByValue(std::span<T> gradients, double limit) {
  if (!(limit >= 0)) fail("clipByValue to %g: expected a number, 0 or more", limit);
  const T most = static_cast<T>(limit);
  for (T& g : gradients) g = g > most ? most : g < -most ? -most : g;
}

}  // namespace burtorch::inline BURTORCH_TARGET
