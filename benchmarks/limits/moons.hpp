// The gradient of micrograd's moons network, 2-16-16-1 with a margin loss, written by hand: loops with constant bounds
// over one sample. The layout of the parameters is that of examples/moons/model.hpp.
#pragma once

#include <array>
#include <cstddef>

namespace limits {

struct MoonsGradient {
  static constexpr std::size_t n = 16, second = 3 * n, third = second + (n + 1) * n;

  /// Adds the gradient of one sample to `g`.
  [[gnu::noinline]] static void add(const std::array<double, 337>& w, double x0, double x1, double label,
                                    std::array<double, 337>& g) {
    double h[n], k[n], dk[n], dh[n] = {};
    double score = w[third + n];
    for (std::size_t j = 0; j < n; ++j) {
      const double sum = w[3 * j + 2] + w[3 * j] * x0 + w[3 * j + 1] * x1;
      h[j] = sum > 0 ? sum : 0;
    }
    for (std::size_t j = 0; j < n; ++j) {
      const double* row = w.data() + second + (n + 1) * j;
      double sum = row[n];
      for (std::size_t i = 0; i < n; ++i) sum += row[i] * h[i];
      k[j] = sum > 0 ? sum : 0;
    }
    for (std::size_t j = 0; j < n; ++j) score += w[third + j] * k[j];

    const double d = 1 - label * score > 0 ? -label : 0;
    g[third + n] += d;
    for (std::size_t j = 0; j < n; ++j) {
      g[third + j] += d * k[j];
      dk[j] = k[j] > 0 ? d * w[third + j] : 0;
    }
    for (std::size_t j = 0; j < n; ++j) {
      const double* row = w.data() + second + (n + 1) * j;
      double* gradient = g.data() + second + (n + 1) * j;
      for (std::size_t i = 0; i < n; ++i) {
        gradient[i] += dk[j] * h[i];
        dh[i] += dk[j] * row[i];
      }
      gradient[n] += dk[j];
    }
    for (std::size_t j = 0; j < n; ++j) {
      const double dj = h[j] > 0 ? dh[j] : 0;
      g[3 * j] += dj * x0;
      g[3 * j + 1] += dj * x1;
      g[3 * j + 2] += dj;
    }
  }
};

}  // namespace limits
