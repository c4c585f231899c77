// The output layer of the character MLP for a batch of 64, by hand: tanh, logits, cross-entropy and the way back to the
// hidden units. It takes at most 64 hidden units at a time, so that their columns and gradients stay in the first-level
// cache. Both forms of the hidden layer, plain and shared, call it block by block.
#pragma once

#include <cmath>
#include <cstring>

#include "mlp_shape.hpp"

namespace limits::mlp {

constexpr int blockUnits = 64;
// Row strides that are no power of two: 64 rows of 4 KB would all fall into the same sets of the cache.
constexpr int gradientStride = 72, hiddenPadding = 16;

struct OutputWorkspace {
  float h[batchSize * (mostHidden + hiddenPadding)];  // [sample][unit], all units
  float dh[batchSize * gradientStride];               // [sample][unit], one block
  float hTurned[blockUnits * batchSize];              // [unit][sample], one block
  float logits[vocabulary * batchSize];               // [token][sample]
  float narrowWeights[vocabulary * 8], narrowGradients[vocabulary * 8];
  float packedWeights[vocabulary * blockUnits];
};

class OutputLayer {
 public:
  OutputLayer(OutputWorkspace& workspace, const Weights& weights, const Gradients& gradients, int units)
      : w(workspace),
        p(weights),
        g(gradients),
        units_(units),
        hiddenStride_(paddedTo8(units) + hiddenPadding),
        weights_(weights.output),
        gradients_(gradients.output),
        stride_(units) {
    if (units >= 8) return;
    // Fewer than eight units: rows are filled up with zeros, so that whole vectors can be used throughout.
    std::memset(w.narrowWeights, 0, sizeof w.narrowWeights);
    for (int v = 0; v < vocabulary; ++v)
      for (int j = 0; j < units; ++j) w.narrowWeights[v * 8 + j] = p.output[v * units + j];
    weights_ = w.narrowWeights;
    gradients_ = w.narrowGradients;
    stride_ = 8;
  }

  int hiddenStride() const { return hiddenStride_; }

  /// A block of w.h from what goes into tanh to its results; the logits take their share of them.
  [[gnu::noinline]] void forward(int first, int count) {
    for (int s = 0; s < batchSize; ++s) {
      float* h = w.h + s * hiddenStride_ + first;
#pragma GCC unroll 2
      for (int j = 0; j < count; j += 8) store(h + j, hyperbolicTangent(load(h + j)));
    }
    for (int s = 0; s < batchSize; s += 8)
      for (int j = 0; j < count; j += 8) {
        V8 r[8];
        for (int k = 0; k < 8; ++k) r[k] = load(w.h + (s + k) * hiddenStride_ + first + j);
        transpose(r);
        for (int k = 0; k < 8; ++k) store(w.hTurned + (j + k) * batchSize + s, r[k]);
      }
    for (int c = 0; c < batchSize; c += 32)
      for (int v = 0; v < vocabulary; v += 3) addToLogits(first, count, c, v);
  }

  /// The logits become their gradients; answers the mean loss.
  [[gnu::noinline]] double crossEntropy(const int* targets) {
    // One logarithm for all: the product of 64 sums, each at most 27 in size, fits into a double.
    constexpr float scale = 1.f / batchSize;
    double loss = 0, product = 1;
    for (int c = 0; c < batchSize; c += 8) {
      float* l = w.logits + c;
      V8 maximum = load(l);
      for (int v = 1; v < vocabulary; ++v) maximum = larger(maximum, load(l + v * batchSize));
      alignas(32) float lanes[8];
      store(lanes, maximum);
      for (int k = 0; k < 8; ++k)
        loss += static_cast<double>(lanes[k]) - static_cast<double>(l[targets[c + k] * batchSize + k]);
      V8 sums[3] = {zero(), zero(), zero()};
      for (int v = 0; v < vocabulary; v += 3)
        for (int r = 0; r < 3; ++r) {
          const V8 x = exponential(load(l + (v + r) * batchSize) - maximum);
          store(l + (v + r) * batchSize, x);
          sums[r] = sums[r] + x;
        }
      const V8 sum = (sums[0] + sums[1]) + sums[2];
      store(lanes, sum);
      for (const float lane : lanes) product *= static_cast<double>(lane);
      const V8 factor = splat(scale) / sum;
      for (int v = 0; v < vocabulary; ++v) store(l + v * batchSize, load(l + v * batchSize) * factor);
      for (int k = 0; k < 8; ++k) l[targets[c + k] * batchSize + k] -= scale;
    }
    for (int v = 0; v < vocabulary; ++v) {
      const float* d = w.logits + v * batchSize;
      V8 a = load(d), b = load(d + 8);
      for (int c = 16; c < batchSize; c += 16) {
        a = a + load(d + c);
        b = b + load(d + c + 8);
      }
      g.outputBias[v] = laneSum(a + b);
    }
    return (loss + std::log(product)) * static_cast<double>(scale);
  }

  /// A block's gradients of the output weights and of the hidden biases, and w.dh, the gradient of what went into tanh.
  void backward(int first, int count) {
    if (paddedTo8(units_) % 32 == 0)
      backwardTiled<4, 3, 2>(first, count);
    else if (paddedTo8(units_) == 16)
      backwardTiled<2, 3, 4>(first, count);
    else
      backwardTiled<1, 9, 8>(first, count);
    if (units_ >= 8) return;
    for (int v = 0; v < vocabulary; ++v)
      for (int j = 0; j < units_; ++j) g.output[v * units_ + j] = w.narrowGradients[v * 8 + j];
  }

 private:
  /// Three logits of 32 samples.
  [[gnu::always_inline]] void addToLogits(int first, int count, int c, int v) {
    V8 a[3][4];
    for (int r = 0; r < 3; ++r)
      for (int k = 0; k < 4; ++k)
        a[r][k] =
            first > 0 ? load(w.logits + (v + r) * batchSize + c + k * 8) : broadcast(p.outputBias + v + r);
    const float* rows = weights_ + v * stride_ + first;
#pragma GCC unroll 4
    for (int j = 0; j < count; ++j) {
      V8 h[4];
      for (int k = 0; k < 4; ++k) h[k] = load(w.hTurned + j * batchSize + c + k * 8);
      for (int r = 0; r < 3; ++r) {
        const V8 factor = broadcast(rows + r * stride_ + j);
        for (int k = 0; k < 4; ++k) a[r][k] = fma(factor, h[k], a[r][k]);
      }
    }
    for (int r = 0; r < 3; ++r)
      for (int k = 0; k < 4; ++k) store(w.logits + (v + r) * batchSize + c + k * 8, a[r][k]);
  }

  /// Tiles of `tokens` x `vectors` for the weights and `samples` x `vectors` for dh: as many as the registers hold.
  template <int vectors, int tokens, int samples> [[gnu::noinline]] void backwardTiled(int first, int count) {
    // Rows of weights are 4 KB apart for 1024 units: pack the block.
    for (int v = 0; v < vocabulary; ++v)
      for (int j = 0; j < count; j += 8)
        store(w.packedWeights + v * blockUnits + j, load(weights_ + v * stride_ + first + j));
    for (int j = 0; j < count; j += vectors * 8) {
      for (int v = 0; v < vocabulary; v += tokens) weightTile<vectors, tokens>(first + j, v);
      V8 biases[vectors];
      for (V8& b : biases) b = zero();
      for (int s = 0; s < batchSize; s += samples) hiddenTile<vectors, samples>(first, j, s, biases);
      for (int k = 0; k < vectors; ++k)
        if (units_ < 8)
          _mm_storeu_ps(g.hiddenBias, _mm256_castps256_ps128(biases[k]));
        else
          store(g.hiddenBias + first + j + k * 8, biases[k]);
    }
  }
  template <int vectors, int tokens> [[gnu::always_inline]] void weightTile(int unit, int v) {
    V8 a[tokens][vectors];
    for (auto& r : a)
      for (V8& q : r) q = zero();
#pragma GCC unroll 2
    for (int s = 0; s < batchSize; ++s) {
      V8 h[vectors];
      for (int k = 0; k < vectors; ++k) h[k] = load(w.h + s * hiddenStride_ + unit + k * 8);
      for (int r = 0; r < tokens; ++r) {
        const V8 d = broadcast(w.logits + (v + r) * batchSize + s);
        for (int k = 0; k < vectors; ++k) a[r][k] = fma(d, h[k], a[r][k]);
      }
    }
    for (int r = 0; r < tokens; ++r)
      for (int k = 0; k < vectors; ++k) store(gradients_ + (v + r) * stride_ + unit + k * 8, a[r][k]);
  }
  template <int vectors, int samples>
  [[gnu::always_inline]] void hiddenTile(int first, int j, int s, V8* biases) {
    V8 a[samples][vectors];
    for (auto& r : a)
      for (V8& q : r) q = zero();
#pragma GCC unroll 3
    for (int v = 0; v < vocabulary; ++v) {
      V8 row[vectors];
      for (int k = 0; k < vectors; ++k) row[k] = load(w.packedWeights + v * blockUnits + j + k * 8);
      for (int r = 0; r < samples; ++r) {
        const V8 d = broadcast(w.logits + v * batchSize + s + r);
        for (int k = 0; k < vectors; ++k) a[r][k] = fma(d, row[k], a[r][k]);
      }
    }
    for (int r = 0; r < samples; ++r)
      for (int k = 0; k < vectors; ++k) {
        const V8 h = load(w.h + (s + r) * hiddenStride_ + first + j + k * 8);
        const V8 d = a[r][k] * fnma(h, h, splat(1.f));
        store(w.dh + (s + r) * gradientStride + j + k * 8, d);
        biases[k] = biases[k] + d;
      }
  }

  OutputWorkspace& w;
  // Copies: through a reference they would be read again after every store.
  const Weights p;
  const Gradients g;
  const int units_, hiddenStride_;
  const float* weights_;
  float* gradients_;
  int stride_;
};

}  // namespace limits::mlp
