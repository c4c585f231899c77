// The gradient of the character MLP for a batch of 64, by hand, every product computed for every sample. The inputs are
// never gathered: the embedding table has 7 KB and stays in the first-level cache, so a sample's input is 16 pointers.
#pragma once

#include "mlp_output.hpp"

namespace limits::mlp {

struct PlainBatch {
  static constexpr int packedUnits = 32;
  struct Workspace {
    OutputWorkspace output;
    float dx[context * batchSize * embedding];  // [place][sample][embedding]
    float packed[packedUnits * embedding];
    int rows[context][batchSize];  // where the embeddings lie in the table
  };

  Workspace& w;
  const Weights p;
  const Gradients g;
  const int units;

  /// Four units of `samples` samples over the whole context; lanes are along the embedding.
  template <int samples> [[gnu::always_inline]] void forwardTile(int j, int s, int stride) {
    const float* weights = p.hidden + static_cast<std::ptrdiff_t>(j) * inputs;
    V8 a[samples][4];
    for (auto& r : a)
      for (V8& q : r) q = zero();
    for (int place = 0; place < context; ++place) {
      const float* x[samples];
      for (int r = 0; r < samples; ++r) x[r] = p.table + w.rows[place][s + r];
      const float* here = weights + place * embedding;
#pragma GCC unroll 4
      for (int m = 0; m < embedding; m += 8) {
        V8 xs[samples];
        for (int r = 0; r < samples; ++r) xs[r] = load(x[r] + m);
        for (int q = 0; q < 4; ++q) {
          const V8 weight = load(here + q * inputs + m);
          for (int r = 0; r < samples; ++r) a[r][q] = fma(weight, xs[r], a[r][q]);
        }
      }
    }
    for (int r = 0; r < samples; ++r)
      _mm_storeu_ps(w.output.h + (s + r) * stride + j,
                    _mm_loadu_ps(p.hiddenBias + j) + laneSums(a[r][0], a[r][1], a[r][2], a[r][3]));
  }
  [[gnu::always_inline]] void forward(int first, int count, int stride) {
    for (int j = first; j < first + count; j += 4) {
      int s = 0;
      for (; s < 60; s += 3) forwardTile<3>(j, s, stride);
      for (; s < batchSize; s += 2) forwardTile<2>(j, s, stride);
    }
  }

  /// The gradient of four units' weights for `vectors` vectors of one place. `d4` are the units' gradients, side by side.
  template <int vectors>
  [[gnu::always_inline]] void weightTile(float* dRows, int place, int m, const float* d4) {
    V8 a[4][vectors];
    for (auto& r : a)
      for (V8& q : r) q = zero();
    const int* rows = w.rows[place];
#pragma GCC unroll 2
    for (int s = 0; s < batchSize; ++s) {
      const float* x = p.table + rows[s] + m;
      V8 xs[vectors];
      for (int k = 0; k < vectors; ++k) xs[k] = load(x + k * 8);
      for (int r = 0; r < 4; ++r) {
        const V8 d = broadcast(d4 + s * 4 + r);
        for (int k = 0; k < vectors; ++k) a[r][k] = fma(d, xs[k], a[r][k]);
      }
    }
    for (int r = 0; r < 4; ++r)
      for (int k = 0; k < vectors; ++k) store(dRows + r * inputs + place * embedding + m + k * 8, a[r][k]);
  }
  [[gnu::always_inline]] void weightGradients(const float* dh, int first, int count) {
    alignas(32) float d4[batchSize * 4];
    for (int j = 0; j < count; j += 4) {
      for (int s = 0; s < batchSize; ++s) _mm_store_ps(d4 + s * 4, _mm_loadu_ps(dh + s * gradientStride + j));
      float* dRows = g.hidden + static_cast<std::ptrdiff_t>(first + j) * inputs;
      for (int place = 0; place < context; ++place) {
        weightTile<3>(dRows, place, 0, d4);
        weightTile<3>(dRows, place, 24, d4);
        weightTile<2>(dRows, place, 48, d4);
      }
    }
  }

  /// dx (+)= dh W for four samples and `vectors` vectors of one place.
  template <int vectors>
  [[gnu::always_inline]] static void inputTile(float* dx, const float* packed, const float* dh, int count,
                                               bool isFirst) {
    V8 a[4][vectors];
    for (int r = 0; r < 4; ++r)
      for (int k = 0; k < vectors; ++k) a[r][k] = isFirst ? zero() : load(dx + r * embedding + k * 8);
#pragma GCC unroll 2
    for (int j = 0; j < count; ++j) {
      V8 weights[vectors];
      for (int k = 0; k < vectors; ++k) weights[k] = load(packed + j * embedding + k * 8);
      for (int r = 0; r < 4; ++r) {
        const V8 d = broadcast(dh + r * gradientStride + j);
        for (int k = 0; k < vectors; ++k) a[r][k] = fma(d, weights[k], a[r][k]);
      }
    }
    for (int r = 0; r < 4; ++r)
      for (int k = 0; k < vectors; ++k) store(dx + r * embedding + k * 8, a[r][k]);
  }
  /// The weights of one place are packed, since their rows are 4 KB apart; meanwhile those of the next place are fetched.
  [[gnu::always_inline]] void inputGradients(const float* dh, int first, int count, bool isFirst) {
    const float* weights = p.hidden + static_cast<std::ptrdiff_t>(first) * inputs;
    const int linesPerStep = count * 4 / 16;  // a row of 64 floats has 4 lines, a place has 16 steps
    for (int place = 0; place < context; ++place) {
      for (int j = 0; j < count; ++j)
        for (int m = 0; m < embedding; m += 8)
          store(w.packed + j * embedding + m, load(weights + j * inputs + place * embedding + m));
      for (int s = 0; s < batchSize; s += 4) {
        if (place + 1 < context)
          for (int q = 0; q < linesPerStep; ++q) {
            const int line = s / 4 * linesPerStep + q;
            _mm_prefetch(weights + line / 4 * inputs + (place + 1) * embedding + line % 4 * 16, _MM_HINT_T0);
          }
        const float* d = dh + s * gradientStride;
        float* dx = w.dx + (place * batchSize + s) * embedding;
        inputTile<3>(dx, w.packed, d, count, isFirst);
        inputTile<3>(dx + 24, w.packed + 24, d, count, isFirst);
        inputTile<2>(dx + 48, w.packed + 48, d, count, isFirst);
      }
    }
  }

  [[gnu::always_inline]] double run(const int* tokens, const int* targets) {
    OutputLayer output(w.output, p, g, units);
    const int stride = output.hiddenStride(), block = std::min(units, blockUnits);
    for (int s = 0; s < batchSize; ++s)
      for (int place = 0; place < context; ++place)
        w.rows[place][s] = tokens[s * context + place] * embedding;
    if (units < 8)
      for (int s = 0; s < batchSize; ++s) store(w.output.h + s * stride, zero());
    for (int first = 0; first < units; first += block) {
      forward(first, block, stride);
      output.forward(first, paddedTo8(block));
    }
    const double loss = output.crossEntropy(targets);
    const int part = std::min(units, packedUnits);
    // Backwards: the weights that were read last are still in the cache.
    for (int first = units - block; first >= 0; first -= block) {
      output.backward(first, paddedTo8(block));
      for (int j = first + block - part; j >= first; j -= part) {
        const float* dh = w.output.dh + (j - first);
        weightGradients(dh, j, part);
        inputGradients(dh, j, part, j == units - part);
      }
    }
    std::memset(g.table, 0, vocabulary * embedding * sizeof(float));
    for (int place = 0; place < context; ++place)
      for (int s = 0; s < batchSize; ++s)
        addEmbedding(g.table + w.rows[place][s], w.dx + (place * batchSize + s) * embedding);
    return loss;
  }
};

}  // namespace limits::mlp
