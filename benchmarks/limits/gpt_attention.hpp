// Causal attention of the hand-written GPT gradient, in two forms: a lane is a sample (tiles of 8), or a lane is a position.
// Everything of one head and position stays in registers. g++ 12 keeps the loops unless it is told to unroll them.
//
// Buffers: qkv has the features of all queries, then keys, then values; `shares` are the softmax results.
#pragma once

#include <utility>

#include "gpt_shape.hpp"

namespace limits::gpt {

constexpr float scoreScale = .5f;  // 1 / sqrt(headWidth)
/// How many (position, earlier or same position) pairs there are before position t.
constexpr int pairsBefore(int t) { return t * (t + 1) / 2; }
constexpr int pairCount = pairsBefore(context);

/// A lane is a sample: position t of head h is straight-line code with t + 1 terms.
template <class C> struct AttentionBySample {
  static constexpr int shareCount = heads * pairCount * 8;
  static constexpr int keys = width, values = 2 * width;

  [[gnu::always_inline]] static V8 qkvAt(const float* qkv, int position, int feature) {
    return C::template get<3 * width>(qkv, position, feature);
  }
  static float* share(float* shares, int head, int t, int u) {
    return shares + (head * pairCount + pairsBefore(t) + u) * 8;
  }
  static const float* share(const float* shares, int head, int t, int u) {
    return shares + (head * pairCount + pairsBefore(t) + u) * 8;
  }
  // Without it g++ moves loads of all positions to the front and spills them.
  [[gnu::always_inline]] static void keepApart() { asm volatile("" ::: "memory"); }

  template <int t>
  [[gnu::always_inline]] static void forward(const float* qkv, float* shares, float* out, int head) {
    keepApart();
    const int f = head * headWidth;
    V8 q[headWidth], s[t + 1], sums[headWidth];
    for (int e = 0; e < headWidth; ++e) q[e] = qkvAt(qkv, t, f + e) * splat(scoreScale);
#pragma GCC unroll 8
    for (int u = 0; u <= t; ++u) {
      V8 z = q[0] * qkvAt(qkv, u, keys + f);
      for (int e = 1; e < headWidth; ++e) z = fma(q[e], qkvAt(qkv, u, keys + f + e), z);
      s[u] = z;
    }
    V8 most = s[0], total = zero();
    for (int u = 1; u <= t; ++u) most = larger(most, s[u]);
#pragma GCC unroll 8
    for (int u = 0; u <= t; ++u) {
      s[u] = exponential(s[u] - most);
      total = total + s[u];
    }
    const V8 inverse = splat(1.f) / total;
#pragma GCC unroll 8
    for (int u = 0; u <= t; ++u) {
      const V8 p = s[u] * inverse;
      store(share(shares, head, t, u), p);
      for (int e = 0; e < headWidth; ++e) {
        const V8 value = qkvAt(qkv, u, values + f + e);
        sums[e] = u > 0 ? fma(p, value, sums[e]) : p * value;
      }
    }
    for (int e = 0; e < headWidth; ++e) C::template put<width>(out, t, f + e, sums[e]);
  }

  /// The gradients of query t, and of its scores, ds = p (dOut . v - dOut . out) / 2.
  template <int t>
  [[gnu::always_inline]] static void queryGradient(const float* qkv, const float* shares, const float* out,
                                                   const float* dOut, float* dQkv, float* dScores, int head) {
    keepApart();
    const int f = head * headWidth;
    V8 g[headWidth], dq[headWidth];
    for (int e = 0; e < headWidth; ++e) g[e] = C::template get<width>(dOut, t, f + e);
    V8 dot = g[0] * C::template get<width>(out, t, f);
    for (int e = 1; e < headWidth; ++e) dot = fma(g[e], C::template get<width>(out, t, f + e), dot);
#pragma GCC unroll 8
    for (int u = 0; u <= t; ++u) {
      V8 z = zero() - dot;
      for (int e = 0; e < headWidth; ++e) z = fma(g[e], qkvAt(qkv, u, values + f + e), z);
      z = z * splat(scoreScale) * load(share(shares, head, t, u));
      store(dScores + (pairsBefore(t) + u) * 8, z);
      for (int e = 0; e < headWidth; ++e) {
        const V8 key = qkvAt(qkv, u, keys + f + e);
        dq[e] = u > 0 ? fma(z, key, dq[e]) : z * key;
      }
    }
    for (int e = 0; e < headWidth; ++e) C::template put<3 * width>(dQkv, t, f + e, dq[e]);
  }

  /// The gradients of key and value u.
  template <int u>
  [[gnu::always_inline]] static void keyValueGradient(const float* qkv, const float* shares,
                                                      const float* dOut, float* dQkv, const float* dScores,
                                                      int head) {
    keepApart();
    const int f = head * headWidth;
    V8 dk[headWidth], dv[headWidth];
#pragma GCC unroll 8
    for (int t = u; t < context; ++t) {
      const V8 z = load(dScores + (pairsBefore(t) + u) * 8), p = load(share(shares, head, t, u));
      for (int e = 0; e < headWidth; ++e) {
        const V8 query = qkvAt(qkv, t, f + e), g = C::template get<width>(dOut, t, f + e);
        dk[e] = t > u ? fma(z, query, dk[e]) : z * query;
        dv[e] = t > u ? fma(p, g, dv[e]) : p * g;
      }
    }
    for (int e = 0; e < headWidth; ++e) {
      C::template put<3 * width>(dQkv, u, keys + f + e, dk[e]);
      C::template put<3 * width>(dQkv, u, values + f + e, dv[e]);
    }
  }

  static constexpr auto allPositions = std::make_integer_sequence<int, context>{};

  [[gnu::noinline]] static void value(const float* qkv, float* shares, float* out) {
    for (int head = 0; head < heads; ++head) [&]<int... t>(std::integer_sequence<int, t...>) {
        (forward<t>(qkv, shares, out, head), ...);
      }
    (allPositions);
  }
  [[gnu::noinline]] static void vjp(const float* qkv, const float* shares, const float* out,
                                    const float* dOut, float* dQkv, float* dScores) {
    for (int head = 0; head < heads; ++head) [&]<int... t>(std::integer_sequence<int, t...>) {
        (queryGradient<t>(qkv, shares, out, dOut, dQkv, dScores, head), ...);
        (keyValueGradient<t>(qkv, shares, dOut, dQkv, dScores, head), ...);
      }
    (allPositions);
  }
};

/// A lane is a position: all eight scores of a head at once, masked to the causal ones.
template <class C> struct AttentionByPosition {
  static constexpr int sharesPerHead = context * 8;
  static constexpr int shareCount = C::vectors * heads * sharesPerHead;
  static constexpr int stride = C::stride, keys = width * stride, values = 2 * width * stride;

  /// The lanes of positions from u on.
  [[gnu::always_inline]] static V8 from(int u) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(lanes, _mm256_set1_epi32(u - 1)));
  }
  template <class F> [[gnu::always_inline]] static V8 ofEight(const V8* x, F f) {
    return f(f(f(x[0], x[1]), f(x[2], x[3])), f(f(x[4], x[5]), f(x[6], x[7])));
  }
  /// sum over t of z[t] times the broadcast x[e][t], for every e.
  [[gnu::always_inline]] static void weightedSums(const V8* z, const float* x, V8* sums) {
#pragma GCC unroll 8
    for (int t = 0; t < context; ++t)
      for (int e = 0; e < headWidth; ++e) {
        const V8 factor = broadcast(x + e * stride + t);
        sums[e] = t > 0 ? fma(z[t], factor, sums[e]) : z[t] * factor;
      }
  }

  [[gnu::always_inline]] static void forward(const float* qkv, float* shares, float* out, int sample,
                                             int head) {
    const float* query = qkv + C::template place<3 * width>(sample, head * headWidth);
    const float* key = query + keys;
    V8 q[headWidth], s[context], sums[headWidth];
    for (int e = 0; e < headWidth; ++e) q[e] = load(query + e * stride) * splat(scoreScale);
#pragma GCC unroll 8
    for (int u = 0; u < context; ++u) {
      V8 z = q[0] * broadcast(key + u);
      for (int e = 1; e < headWidth; ++e) z = fma(q[e], broadcast(key + e * stride + u), z);
      s[u] = u > 0 ? _mm256_blendv_ps(splat(-1e30f), z, from(u)) : z;
    }
    const V8 most = ofEight(s, [](V8 a, V8 b) { return larger(a, b); });
#pragma GCC unroll 8
    for (int u = 0; u < context; ++u) {
      s[u] = exponential(s[u] - most);
      if (u > 0) s[u] = _mm256_and_ps(s[u], from(u));
    }
    const V8 inverse = splat(1.f) / ofEight(s, [](V8 a, V8 b) { return a + b; });
    weightedSums(s, query + values, sums);
    float* share = shares + (sample * heads + head) * sharesPerHead;
#pragma GCC unroll 8
    for (int u = 0; u < context; ++u) store(share + u * 8, s[u] * inverse);
    for (int e = 0; e < headWidth; ++e)
      C::template put<width>(out, sample, head * headWidth + e, sums[e] * inverse);
  }

  [[gnu::always_inline]] static void backward(const float* qkv, const float* shares, const float* out,
                                              const float* dOut, float* dQkv, int sample, int head) {
    const int f = head * headWidth, place = C::template place<3 * width>(sample, f);
    const float *query = qkv + place, *key = query + keys, *value = query + values;
    const float* g = dOut + C::template place<width>(sample, f);
    const float* result = out + C::template place<width>(sample, f);
    const float* share = shares + (sample * heads + head) * sharesPerHead;
    float* dQuery = dQkv + place;
    V8 go[headWidth], z[context], sums[headWidth];
    for (int e = 0; e < headWidth; ++e) go[e] = load(g + e * stride);
    V8 dot = go[0] * load(result);
    for (int e = 1; e < headWidth; ++e) dot = fma(go[e], load(result + e * stride), dot);
    dot = zero() - dot;
#pragma GCC unroll 8
    for (int u = 0; u < context; ++u) {
      V8 a = dot;
      for (int e = 0; e < headWidth; ++e) a = fma(go[e], broadcast(value + e * stride + u), a);
      z[u] = a * splat(scoreScale) * load(share + u * 8);
      for (int e = 0; e < headWidth; ++e) {
        const V8 factor = broadcast(key + e * stride + u);
        sums[e] = u > 0 ? fma(z[u], factor, sums[e]) : z[u] * factor;
      }
    }
    for (int e = 0; e < headWidth; ++e) store(dQuery + e * stride, sums[e]);
    // Keys and values gather from later positions: the same sums over the transposed scores and shares.
    transpose(z);
    weightedSums(z, query, sums);
    for (int e = 0; e < headWidth; ++e) store(dQuery + keys + e * stride, sums[e]);
    for (int u = 0; u < context; ++u) z[u] = load(share + u * 8);
    transpose(z);
    weightedSums(z, g, sums);
    for (int e = 0; e < headWidth; ++e) store(dQuery + values + e * stride, sums[e]);
  }

  [[gnu::noinline]] static void value(const float* qkv, float* shares, float* out) {
    for (int sample = 0; sample < C::vectors; ++sample)
      for (int head = 0; head < heads; ++head) forward(qkv, shares, out, sample, head);
  }
  [[gnu::noinline]] static void vjp(const float* qkv, const float* shares, const float* out,
                                    const float* dOut, float* dQkv, float* /*dScores*/) {
    for (int sample = 0; sample < C::vectors; ++sample)
      for (int head = 0; head < heads; ++head) backward(qkv, shares, out, dOut, dQkv, sample, head);
  }
};

template <class C>
using Attention = std::conditional_t<C::isLanePerSample, AttentionBySample<C>, AttentionByPosition<C>>;

}  // namespace limits::gpt
