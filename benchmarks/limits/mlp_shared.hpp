// The gradient of the character MLP for a batch of 64, by hand, with products computed once for each distinct (place,
// token) pair. Exact: the product of an embedding and the weights of its place does not depend on the rest of the sample,
// and samples with the same pair add their gradients before the outer product.
#pragma once

#include "mlp_output.hpp"
#include "mlp_pairs.hpp"

namespace limits::mlp {

struct SharedBatch {
  struct Workspace {
    OutputWorkspace output;
    float
        ofPair[context * vocabulary * gradientStride];  // one block of units: results, later their gradients
    float base[blockUnits];                             // the biases and the places that are common
    Pairs pairs;
  };

  Workspace& w;
  const Weights p;
  const Gradients g;
  const int units;
  Places places = {};

  [[gnu::always_inline]] float* pairRow(int pair) { return w.ofPair + pair * gradientStride; }
  [[gnu::always_inline]] const float* embeddingOf(int pair) const {
    return p.table + w.pairs.token[pair] * embedding;
  }

  /// w.base for four units.
  [[gnu::always_inline]] void commonForward(int j, int unit) {
    const float* weights = p.hidden + static_cast<std::ptrdiff_t>(unit) * inputs;
    V8 a[4][2];
    for (auto& r : a) r[0] = r[1] = zero();
    for (int c = 0; c < places.commonCount; ++c) {
      const float* x = p.table + places.commonTokens[c] * embedding;
      const float* here = weights + places.common[c] * embedding;
#pragma GCC unroll 4
      for (int m = 0; m < embedding; m += 16)
        for (int r = 0; r < 4; ++r) {
          a[r][0] = fma(load(x + m), load(here + r * inputs + m), a[r][0]);
          a[r][1] = fma(load(x + m + 8), load(here + r * inputs + m + 8), a[r][1]);
        }
    }
    const __m128 sums = laneSums(a[0][0] + a[0][1], a[1][0] + a[1][1], a[2][0] + a[2][1], a[3][0] + a[3][1]);
    _mm_storeu_ps(w.base + j, _mm_loadu_ps(p.hiddenBias + unit) + sums);
  }

  /// Four units of `count` pairs of a place, given their embeddings and where their results go.
  template <int count>
  [[gnu::always_inline]] static void pairForward(const float* const* x, const float* weights,
                                                 float* const* y) {
    V8 a[count][4];
    for (auto& r : a)
      for (V8& q : r) q = zero();
#pragma GCC unroll 4
    for (int m = 0; m < embedding; m += 8) {
      V8 xs[count];
      for (int r = 0; r < count; ++r) xs[r] = load(x[r] + m);
      for (int q = 0; q < 4; ++q) {
        const V8 weight = load(weights + q * inputs + m);
        for (int r = 0; r < count; ++r) a[r][q] = fma(weight, xs[r], a[r][q]);
      }
    }
    for (int r = 0; r < count; ++r) _mm_storeu_ps(y[r], laneSums(a[r][0], a[r][1], a[r][2], a[r][3]));
  }
  [[gnu::always_inline]] void varyingForward(int j, int unit) {
    for (int q = 0; q < places.varyingCount; ++q) {
      const int place = places.varying[q], end = w.pairs.firstAt[place + 1];
      const float* weights = p.hidden + static_cast<std::ptrdiff_t>(unit) * inputs + place * embedding;
      for (int pair = w.pairs.firstAt[place]; pair < end;) {
        const int left = end - pair, count = left == 4 ? 2 : std::min(left, 3);  // four are 2 + 2, not 3 + 1
        const float* x[3];
        float* y[3];
        for (int r = 0; r < count; ++r) {
          x[r] = embeddingOf(pair + r);
          y[r] = pairRow(pair + r) + j;
        }
        if (count == 3)
          pairForward<3>(x, weights, y);
        else if (count == 2)
          pairForward<2>(x, weights, y);
        else
          pairForward<1>(x, weights, y);
        pair += count;
      }
    }
  }

  /// to = start + the rows from..count, for `vectors` vectors at j.
  template <int vectors, class Row>
  [[gnu::always_inline]] static void sumPart(float* to, const float* start, int from, int count, int j,
                                             Row row) {
    V8 a[vectors];
    for (int k = 0; k < vectors; ++k) a[k] = load(start + j + k * 8);
    for (int i = from; i < count; ++i) {
      const float* x = row(i) + j;
      for (int k = 0; k < vectors; ++k) a[k] = a[k] + load(x + k * 8);
    }
    for (int k = 0; k < vectors; ++k) store(to + j + k * 8, a[k]);
  }
  template <class Row>
  [[gnu::always_inline]] static void sumRows(float* to, const float* start, int from, int count, int padded,
                                             Row row) {
    int j = 0;
    for (; j + 32 <= padded; j += 32) sumPart<4>(to, start, from, count, j, row);
    for (; j < padded; j += 8) sumPart<1>(to, start, from, count, j, row);
  }

  /// What goes into tanh: the base and the results of a sample's pairs.
  [[gnu::always_inline]] void gather(int first, int padded, int stride) {
    for (int s = 0; s < batchSize; ++s) {
      const float* rows[context];
      for (int q = 0; q < places.varyingCount; ++q) rows[q] = pairRow(w.pairs.idOf[places.varying[q]][s]);
      sumRows(w.output.h + s * stride + first, w.base, 0, places.varyingCount, padded,
              [&](int q) { return rows[q]; });
    }
  }
  /// The gradient of a pair's result: the sum over its samples.
  [[gnu::always_inline]] void scatter(int padded) {
    for (int q = 0; q < places.varyingCount; ++q)
      for (int pair = w.pairs.firstAt[places.varying[q]]; pair < w.pairs.firstAt[places.varying[q] + 1];
           ++pair) {
        const int from = w.pairs.samplesFrom[pair], count = w.pairs.samplesFrom[pair + 1] - from;
        const int* samples = w.pairs.samples + from;
        const auto row = [&](int i) { return w.output.dh + samples[i] * gradientStride; };
        sumRows(pairRow(pair), row(0), 1, count, padded, row);
      }
  }

  /// Common places of four units: the total gradient times one embedding. Neighbouring places often have the same token,
  /// whose gradient then stays in registers.
  [[gnu::always_inline]] void commonVjp(int unit) {
    const float* weights = p.hidden + static_cast<std::ptrdiff_t>(unit) * inputs;
    float* dWeights = g.hidden + static_cast<std::ptrdiff_t>(unit) * inputs;
    V8 d[4];
    for (int r = 0; r < 4; ++r) d[r] = broadcast(g.hiddenBias + unit + r);
    for (int i = 0; i < places.commonCount;) {
      const int token = places.commonTokens[i];
      const float* x = p.table + token * embedding;
      float* dx = g.table + token * embedding;
      V8 a[8];
      for (int k = 0; k < 8; ++k) a[k] = load(dx + k * 8);
      for (; i < places.commonCount && places.commonTokens[i] == token; ++i) {
        const float* here = weights + places.common[i] * embedding;
        float* dHere = dWeights + places.common[i] * embedding;
#pragma GCC unroll 4
        for (int r = 0; r < 4; ++r)
#pragma GCC unroll 8
          for (int k = 0; k < 8; ++k) {
            a[k] = fma(d[r], load(here + r * inputs + k * 8), a[k]);
            store(dHere + r * inputs + k * 8, d[r] * load(x + k * 8));
          }
      }
      for (int k = 0; k < 8; ++k) store(dx + k * 8, a[k]);
    }
  }

  /// The embeddings of `count` pairs of a place get what four units send them.
  template <int count> [[gnu::always_inline]] void embeddingVjp(int pair, const float* weights, int j) {
    float* dx[count];
    V8 d[count][4];
    for (int i = 0; i < count; ++i) {
      dx[i] = g.table + w.pairs.token[pair + i] * embedding;
      for (int r = 0; r < 4; ++r) d[i][r] = broadcast(pairRow(pair + i) + j + r);
    }
#pragma GCC unroll 8
    for (int k = 0; k < embedding; k += 8) {
      V8 a[count];
      for (int i = 0; i < count; ++i) a[i] = load(dx[i] + k);
      for (int r = 0; r < 4; ++r) {
        const V8 weight = load(weights + r * inputs + k);
        for (int i = 0; i < count; ++i) a[i] = fma(d[i][r], weight, a[i]);
      }
      for (int i = 0; i < count; ++i) store(dx[i] + k, a[i]);
    }
  }
  /// The gradient of four units' weights for `vectors` vectors of one place.
  template <int vectors>
  [[gnu::always_inline]] void weightTile(float* dWeights, int first, int end, int m, int j) {
    V8 a[4][vectors];
    for (auto& r : a)
      for (V8& q : r) q = zero();
    for (int pair = first; pair < end; ++pair) {
      const float *x = embeddingOf(pair) + m, *d = pairRow(pair) + j;
      V8 xs[vectors];
      for (int k = 0; k < vectors; ++k) xs[k] = load(x + k * 8);
      for (int r = 0; r < 4; ++r) {
        const V8 factor = broadcast(d + r);
        for (int k = 0; k < vectors; ++k) a[r][k] = fma(factor, xs[k], a[r][k]);
      }
    }
    for (int r = 0; r < 4; ++r)
      for (int k = 0; k < vectors; ++k) store(dWeights + r * inputs + m + k * 8, a[r][k]);
  }
  [[gnu::always_inline]] void varyingVjp(int j, int unit) {
    const float* weights = p.hidden + static_cast<std::ptrdiff_t>(unit) * inputs;
    float* dWeights = g.hidden + static_cast<std::ptrdiff_t>(unit) * inputs;
    // Four units have 256 lines of weights; those of the next four are fetched a few at a time.
    constexpr int lines = 4 * inputs / 16;
    int fetched = units >= 128 && unit > 0 ? 0 : lines;
    for (int q = 0; q < places.varyingCount; ++q) {
      const int place = places.varying[q], first = w.pairs.firstAt[place], end = w.pairs.firstAt[place + 1];
      const float* here = weights + place * embedding;
      float* dHere = dWeights + place * embedding;
      int pair = first;
      for (; pair + 2 <= end; pair += 2) {
        for (int k = 0; k < 6 && fetched < lines; ++k, ++fetched) {
          _mm_prefetch(weights - 4 * inputs + fetched * 16, _MM_HINT_T1);
          __builtin_prefetch(dWeights - 4 * inputs + fetched * 16, 1, 2);
        }
        embeddingVjp<2>(pair, here, j);
      }
      if (pair < end) embeddingVjp<1>(pair, here, j);
      weightTile<3>(dHere, first, end, 0, j);
      weightTile<3>(dHere, first, end, 24, j);
      weightTile<2>(dHere, first, end, 48, j);
    }
  }

  [[gnu::always_inline]] double run(const int* tokens, const int* targets) {
    places = w.pairs.find(tokens);
    const int block = std::min(units, blockUnits), padded = paddedTo8(block);
    if (units < 8) {
      for (int pair = 0; pair < w.pairs.count; ++pair) store(pairRow(pair), zero());
      store(w.base, zero());
    }
    OutputLayer output(w.output, p, g, units);
    for (int first = 0; first < units; first += block) {
      for (int j = 0; j < block; j += 4) {
        commonForward(j, first + j);
        varyingForward(j, first + j);
      }
      gather(first, padded, output.hiddenStride());
      output.forward(first, padded);
    }
    const double loss = output.crossEntropy(targets);
    std::memset(g.table, 0, vocabulary * embedding * sizeof(float));
    for (int first = units - block; first >= 0; first -= block) {
      output.backward(first, padded);
      scatter(padded);
      for (int j = block - 4; j >= 0; j -= 4) {
        commonVjp(first + j);
        varyingVjp(j, first + j);
      }
    }
    return loss;
  }
};

}  // namespace limits::mlp
