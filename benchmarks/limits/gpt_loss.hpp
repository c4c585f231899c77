// Cross-entropy of the hand-written GPT gradient: the logits of a tile become their gradients in place.
#pragma once

#include <cmath>

#include "gpt_shape.hpp"

namespace limits::gpt {

template <class C> struct CrossEntropy {
  static constexpr int chains = 5;  // 65 = 13 * 5
  static_assert(vocabulary % chains == 0);

  [[gnu::always_inline]] static V8 largest(const float* logits, int vector) {
    V8 most[chains];
    for (int q = 0; q < chains; ++q) most[q] = C::template get<vocabulary>(logits, vector, q);
    for (int o = chains; o < vocabulary; o += chains)
      for (int q = 0; q < chains; ++q)
        most[q] = larger(most[q], C::template get<vocabulary>(logits, vector, o + q));
    return larger(larger(larger(most[0], most[1]), larger(most[2], most[3])), most[4]);
  }

  /// The logits become exp(logit - most); answers their sums.
  [[gnu::always_inline]] static V8 exponentials(float* logits, int vector, V8 most) {
    V8 sum[chains];
    for (V8& s : sum) s = zero();
#pragma GCC unroll 1
    for (int o = 0; o < vocabulary; o += chains) {
      float* p = logits + C::template place<vocabulary>(vector, o);
      V8 e[chains];
      for (int q = 0; q < chains; ++q) e[q] = exponential(load(p + q * C::stride) - most);
      for (int q = 0; q < chains; ++q) store(p + q * C::stride, e[q]);
      for (int q = 0; q < chains; ++q) sum[q] = sum[q] + e[q];
    }
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + sum[4];
  }

  /// The logits become `scale` (softmax - 1 at the target), and dBias (+)= them. Answers the sum of the losses.
  [[gnu::noinline]] static double vjp(float* logits, float* dBias, const int* targets, float scale,
                                      bool isFirst) {
    // One logarithm for all: the product of at most 64 sums, each at most 65 in size, fits into a double.
    double loss = 0, product = 1;
    for (int vector = 0; vector < C::vectors; ++vector) {
      const auto atTarget = [&](int lane) -> float& {
        return logits[C::template place<vocabulary>(vector, targets[C::tokenOf(vector, lane)]) + lane];
      };
      alignas(32) float most[8], total[8];
      const V8 maximum = largest(logits, vector);
      store(most, maximum);
      for (int lane = 0; lane < 8; ++lane)
        loss += static_cast<double>(most[lane]) - static_cast<double>(atTarget(lane));
      const V8 sum = exponentials(logits, vector, maximum);
      store(total, sum);
      for (int lane = 0; lane < 8; ++lane) product *= static_cast<double>(total[lane]);
      const V8 factor = splat(scale) / sum;
      for (int o = 0; o < vocabulary; ++o) {
        float* p = logits + C::template place<vocabulary>(vector, o);
        store(p, load(p) * factor);
      }
      for (int lane = 0; lane < 8; ++lane) atTarget(lane) -= scale;
    }
    for (int o = 0; o < vocabulary; ++o) {
      V8 sum = isFirst ? zero() : load(dBias + o * 8);
      for (int vector = 0; vector < C::vectors; ++vector)
        sum = sum + C::template get<vocabulary>(logits, vector, o);
      store(dBias + o * 8, sum);
    }
    return loss + std::log(product);
  }
};

}  // namespace limits::gpt
