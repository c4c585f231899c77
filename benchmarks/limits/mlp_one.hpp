// The gradient of the character MLP for one sample, by hand. It reads every weight twice and writes every gradient once;
// from 128 hidden units on that traffic is the cost, so the way back takes the hidden units in the opposite order and finds
// the last ones still in the cache.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "mlp_shape.hpp"

namespace limits::mlp {

struct OneSample {
  static constexpr int paddedVocabulary = 32;
  struct Workspace {
    alignas(64) float x[inputs], dx[inputs], h[mostHidden], dh[mostHidden], logits[paddedVocabulary];
  };

  Workspace& w;
  const Weights p;
  const Gradients g;
  const int units;

  /// Four rows of weights at a time, each in two chains.
  [[gnu::always_inline]] void hiddenLayer() {
    for (int j = 0; j < units; j += 4) {
      const float* rows = p.hidden + static_cast<std::ptrdiff_t>(j) * inputs;
      V8 a[4][2];
      for (auto& r : a) r[0] = r[1] = zero();
#pragma GCC unroll 2
      for (int i = 0; i < inputs; i += 16) {
        const V8 x0 = load(w.x + i), x1 = load(w.x + i + 8);
        for (int r = 0; r < 4; ++r) {
          a[r][0] = fma(x0, load(rows + r * inputs + i), a[r][0]);
          a[r][1] = fma(x1, load(rows + r * inputs + i + 8), a[r][1]);
        }
      }
      const __m128 sums =
          laneSums(a[0][0] + a[0][1], a[1][0] + a[1][1], a[2][0] + a[2][1], a[3][0] + a[3][1]);
      _mm_storeu_ps(w.h + j, _mm_loadu_ps(p.hiddenBias + j) + sums);
    }
    if (units < 8) store(w.h + 4, zero());
    for (int j = 0; j < paddedTo8(units); j += 8) store(w.h + j, hyperbolicTangent(load(w.h + j)));
  }

  [[gnu::always_inline]] void outputLayer() {
    if (units >= 8) {
      for (int v = 0; v < vocabulary; v += 3) {
        const float* rows = p.output + v * units;
        V8 a[3][2];
        for (auto& r : a) r[0] = r[1] = zero();
        for (int j = 0; j < units; j += 16) {
          const V8 h0 = load(w.h + j), h1 = load(w.h + j + 8);
          for (int r = 0; r < 3; ++r) {
            a[r][0] = fma(h0, load(rows + r * units + j), a[r][0]);
            a[r][1] = fma(h1, load(rows + r * units + j + 8), a[r][1]);
          }
        }
        // The fourth lane is written too: the next three overwrite it, or it lies in the padding.
        _mm_storeu_ps(w.logits + v,
                      laneSums(a[0][0] + a[0][1], a[1][0] + a[1][1], a[2][0] + a[2][1], zero()));
      }
    } else {
      for (int v = 0; v < vocabulary; ++v) {
        const float* row = p.output + v * 4;
        w.logits[v] = row[0] * w.h[0] + row[1] * w.h[1] + row[2] * w.h[2] + row[3] * w.h[3];
      }
    }
    for (int v = 0; v < vocabulary; ++v) w.logits[v] += p.outputBias[v];
    for (int v = vocabulary; v < paddedVocabulary; ++v) w.logits[v] = -1e30f;
  }

  /// The logits become their gradients; answers the loss.
  [[gnu::always_inline]] double crossEntropy(int target) {
    constexpr int vectors = paddedVocabulary / 8;
    V8 l[vectors];
    for (int k = 0; k < vectors; ++k) l[k] = load(w.logits + k * 8);
    alignas(32) float most[8];
    store(most, larger(larger(l[0], l[1]), larger(l[2], l[3])));
    const float maximum = *std::max_element(most, most + 8), atTarget = w.logits[target];
    V8 sums = zero();
    for (V8& x : l) {
      x = exponential(x - splat(maximum));
      sums = sums + x;
    }
    const float sum = laneSum(sums);
    const V8 inverse = splat(1.f / sum);
    for (int k = 0; k < vectors; ++k) store(w.logits + k * 8, l[k] * inverse);
    w.logits[target] -= 1.f;
    for (int v = vocabulary; v < paddedVocabulary; ++v) w.logits[v] = 0;
    for (int v = 0; v < vocabulary; ++v) g.outputBias[v] = w.logits[v];
    return std::log(static_cast<double>(sum)) + static_cast<double>(maximum) - static_cast<double>(atTarget);
  }

  /// Through the output layer and tanh: dh = W2^T d (1 - h^2).
  [[gnu::always_inline]] void outputVjp() {
    const V8 one = splat(1.f);
    for (int j = 0; j < units; j += 16) {
      const V8 h0 = load(w.h + j), h1 = load(w.h + j + 8);
      V8 d0 = zero(), d1 = zero();
#pragma GCC unroll 3
      for (int v = 0; v < vocabulary; ++v) {
        const V8 d = broadcast(w.logits + v);
        const float* row = p.output + v * units + j;
        float* dRow = g.output + v * units + j;
        d0 = fma(d, load(row), d0);
        d1 = fma(d, load(row + 8), d1);
        store(dRow, d * h0);
        store(dRow + 8, d * h1);
      }
      d0 = d0 * fnma(h0, h0, one);
      d1 = d1 * fnma(h1, h1, one);
      store(w.dh + j, d0);
      store(w.dh + j + 8, d1);
      store(g.hiddenBias + j, d0);
      store(g.hiddenBias + j + 8, d1);
    }
  }
  [[gnu::always_inline]] void outputVjpOf4() {
    const __m128 h = _mm_loadu_ps(w.h);
    __m128 dh = _mm_setzero_ps();
    for (int v = 0; v < vocabulary; ++v) {
      const __m128 d = _mm_set1_ps(w.logits[v]);
      dh = _mm_fmadd_ps(d, _mm_loadu_ps(p.output + v * 4), dh);
      _mm_storeu_ps(g.output + v * 4, d * h);
    }
    dh = dh * _mm_fnmadd_ps(h, h, _mm_set1_ps(1.f));
    _mm_storeu_ps(w.dh, dh);
    _mm_storeu_ps(g.hiddenBias, dh);
  }

  /// dW1 = dh x and dx = W1^T dh in one pass, four units at a time, the last ones first.
  [[gnu::always_inline]] void hiddenVjp() {
    for (int j = units - 4; j >= 0; j -= 4) {
      const float* rows = p.hidden + static_cast<std::ptrdiff_t>(j) * inputs;
      float* dRows = g.hidden + static_cast<std::ptrdiff_t>(j) * inputs;
      const V8 d0 = broadcast(w.dh + j), d1 = broadcast(w.dh + j + 1), d2 = broadcast(w.dh + j + 2),
               d3 = broadcast(w.dh + j + 3);
      const bool isFirst = j == units - 4;
#pragma GCC unroll 2
      for (int i = 0; i < inputs; i += 8) {
        const V8 x = load(w.x + i);
        V8 a = isFirst ? zero() : load(w.dx + i), b = d1 * load(rows + inputs + i);
        a = fma(d0, load(rows + i), a);
        b = fma(d2, load(rows + 2 * inputs + i), b);
        a = fma(d3, load(rows + 3 * inputs + i), a);
        store(w.dx + i, a + b);
        store(dRows + i, d0 * x);
        store(dRows + inputs + i, d1 * x);
        store(dRows + 2 * inputs + i, d2 * x);
        store(dRows + 3 * inputs + i, d3 * x);
      }
    }
  }

  [[gnu::always_inline]] double run(const int* tokens, const int* targets) {
    for (int place = 0; place < context; ++place)
      for (int m = 0; m < embedding; m += 8)
        store(w.x + place * embedding + m, load(p.table + tokens[place] * embedding + m));
    hiddenLayer();
    outputLayer();
    const double loss = crossEntropy(*targets);
    if (units >= 8)
      outputVjp();
    else
      outputVjpOf4();
    hiddenVjp();
    std::memset(g.table, 0, vocabulary * embedding * sizeof(float));
    for (int place = 0; place < context; ++place)
      addEmbedding(g.table + tokens[place] * embedding, w.dx + place * embedding);
    return loss;
  }
};

}  // namespace limits::mlp
