// Layer norm of the hand-written GPT gradient, vertical vector code over features, and columns turned into rows, which the
// gradients of weights and biases read. Gradients of gain and shift stay vectors, summed over lanes once per gradient.
#pragma once

#include "gpt_shape.hpp"

namespace limits::gpt {

/// Independent chains of sums over the features, so that their latencies overlap.
template <class C> struct FeatureSums {
  static constexpr int nv = C::vectorsPerGroup, chains = 4 / nv;
  V8 sum[chains][nv];

  [[gnu::always_inline]] FeatureSums() {
    for (auto& chain : sum)
      for (V8& s : chain) s = zero();
  }
  [[gnu::always_inline]] V8 total(int v) const {
    if constexpr (chains == 4)
      return (sum[0][v] + sum[1][v]) + (sum[2][v] + sum[3][v]);
    else
      return sum[0][v] + sum[1][v];
  }
};

/// y = scaled * gain + shift with scaled = (x - mean) / deviation; scaled and 1 / deviation are kept for the way back.
template <class C>
[[gnu::noinline]] void norm(const float* x, float* scaled, float* y, float* inverseDeviation,
                            const float* gain, const float* shift) {
  constexpr int nv = C::vectorsPerGroup, chains = FeatureSums<C>::chains, stride = C::stride;
  for (int group = 0; group < C::groups; ++group) {
    const float* xs = x + group * width * stride;
    float *ss = scaled + group * width * stride, *ys = y + group * width * stride;
    FeatureSums<C> sums, squares;
#pragma GCC unroll 32
    for (int d = 0; d < width; d += chains)
      for (int q = 0; q < chains; ++q)
        for (int v = 0; v < nv; ++v) sums.sum[q][v] = sums.sum[q][v] + load(xs + (d + q) * stride + v * 8);
    V8 mean[nv], inverse[nv];
    for (int v = 0; v < nv; ++v) mean[v] = sums.total(v) * splat(1.f / width);
#pragma GCC unroll 32
    for (int d = 0; d < width; d += chains)
      for (int q = 0; q < chains; ++q)
        for (int v = 0; v < nv; ++v) {
          const V8 t = load(xs + (d + q) * stride + v * 8) - mean[v];
          squares.sum[q][v] = fma(t, t, squares.sum[q][v]);
        }
    for (int v = 0; v < nv; ++v) {
      const V8 variance = fma(squares.total(v), splat(1.f / width), splat(1e-5f));
      inverse[v] = splat(1.f) / _mm256_sqrt_ps(variance);
      store(inverseDeviation + (group * nv + v) * 8, inverse[v]);
      mean[v] = mean[v] * inverse[v];
    }
#pragma GCC unroll 8
    for (int d = 0; d < width; ++d) {
      const V8 g = broadcast(gain + d), b = broadcast(shift + d);
      for (int v = 0; v < nv; ++v) {
        const V8 t = fms(load(xs + d * stride + v * 8), inverse[v], mean[v]);
        store(ss + d * stride + v * 8, t);
        store(ys + d * stride + v * 8, fma(t, g, b));
      }
    }
  }
}

/// dx += (dy gain - mean(dy gain) - scaled mean(dy gain scaled)) / deviation; dGain (+)= dy scaled, dShift (+)= dy.
template <class C>
[[gnu::noinline]] void normVjp(float* dx, const float* dy, const float* scaled, const float* inverseDeviation,
                               const float* gain, float* dGain, float* dShift, bool isFirst) {
  constexpr int nv = C::vectorsPerGroup, chains = FeatureSums<C>::chains, stride = C::stride;
  for (int group = 0; group < C::groups; ++group) {
    const float *ss = scaled + group * width * stride, *dys = dy + group * width * stride;
    float* dxs = dx + group * width * stride;
    const bool isStored = isFirst && group == 0;
    FeatureSums<C> plain, timesScaled;
#pragma GCC unroll 2
    for (int d = 0; d < width; d += chains)
      for (int q = 0; q < chains; ++q) {
        const V8 g = broadcast(gain + d + q);
        V8 forGain = zero(), forShift = zero();
        for (int v = 0; v < nv; ++v) {
          const V8 t = load(dys + (d + q) * stride + v * 8);
          const V8 ts = t * load(ss + (d + q) * stride + v * 8);
          plain.sum[q][v] = fma(t, g, plain.sum[q][v]);
          timesScaled.sum[q][v] = fma(ts, g, timesScaled.sum[q][v]);
          forGain = v == 0 ? ts : forGain + ts;
          forShift = v == 0 ? t : forShift + t;
        }
        if (!isStored) {
          forGain = forGain + load(dGain + (d + q) * 8);
          forShift = forShift + load(dShift + (d + q) * 8);
        }
        store(dGain + (d + q) * 8, forGain);
        store(dShift + (d + q) * 8, forShift);
      }
    V8 meanPlain[nv], meanScaled[nv], inverse[nv];
    for (int v = 0; v < nv; ++v) {
      inverse[v] = load(inverseDeviation + (group * nv + v) * 8);
      const V8 k = inverse[v] * splat(1.f / width);
      meanPlain[v] = plain.total(v) * k;
      meanScaled[v] = timesScaled.total(v) * k;
    }
#pragma GCC unroll 4
    for (int d = 0; d < width; ++d) {
      const V8 g = broadcast(gain + d);
      for (int v = 0; v < nv; ++v) {
        const V8 t = load(dys + d * stride + v * 8), s = load(ss + d * stride + v * 8);
        const V8 rest = fnma(s, meanScaled[v], load(dxs + d * stride + v * 8) - meanPlain[v]);
        store(dxs + d * stride + v * 8, fma(t * g, inverse[v], rest));
      }
    }
  }
}

/// rows[column][feature] = x[feature][column], eight by eight.
template <class C> [[gnu::noinline]] void toRows(float* rows, const float* x) {
  for (int vector = 0; vector < C::vectors; ++vector)
    for (int k = 0; k < 3; ++k) {
      V8 r[8];
      for (int j = 0; j < 8; ++j) r[j] = C::template get<width>(x, vector, k * 8 + j);
      transpose(r);
      for (int j = 0; j < 8; ++j) store(rows + (vector * 8 + j) * width + k * 8, r[j]);
    }
}
/// The same for what a norm gave, computed again from its scaled input: cheaper than keeping both.
template <class C>
[[gnu::noinline]] void normToRows(float* rows, const float* scaled, const float* gain, const float* shift) {
  for (int k = 0; k < 3; ++k) {
    const V8 g = load(gain + k * 8), b = load(shift + k * 8);
    for (int vector = 0; vector < C::vectors; ++vector) {
      V8 r[8];
      for (int j = 0; j < 8; ++j) r[j] = C::template get<width>(scaled, vector, k * 8 + j);
      transpose(r);
      for (int j = 0; j < 8; ++j) store(rows + (vector * 8 + j) * width + k * 8, fma(r[j], g, b));
    }
  }
}

/// dBias[24] (+)= the sum of all rows, in two chains.
template <class C> [[gnu::always_inline]] inline void addRows(float* dBias, const float* rows, bool isFirst) {
  V8 sum[3][2];
  for (int k = 0; k < 3; ++k) {
    sum[k][0] = isFirst ? zero() : load(dBias + k * 8);
    sum[k][1] = zero();
  }
  for (int c = 0; c < C::count; c += 2)
    for (int k = 0; k < 3; ++k) {
      sum[k][0] = sum[k][0] + load(rows + c * width + k * 8);
      sum[k][1] = sum[k][1] + load(rows + (c + 1) * width + k * 8);
    }
  for (int k = 0; k < 3; ++k) store(dBias + k * 8, sum[k][0] + sum[k][1]);
}

}  // namespace limits::gpt
