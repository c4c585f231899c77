// The products of the hand-written GPT gradient: columns times weights, and columns times columns for the gradient of a
// weight. Both keep 12 sums in registers, enough to hide the latency of a multiply-add.
#pragma once

#include "gpt_shape.hpp"

namespace limits::gpt {

/// Which side of a weight matrix is not contiguous. An input gradient takes the same matrix with the other side.
enum class Rows { outputs, inputs };
enum class Bias { none, present };

/// sum_n w(o, n) x[n][columns] for every output o; `use(group, o, vector, sum)` gets the results.
template <class C, int inputs, int outputs, Rows rows, Bias bias, class Use>
[[gnu::always_inline]] inline void productByColumns(const float* x, const float* w, const float* b, Use use) {
  constexpr int nv = C::vectorsPerGroup;
  constexpr int tile = outputs % 6 == 0 ? 12 / nv : (nv == 1 ? 13 : 5);
  constexpr int outputStride = rows == Rows::outputs ? width : 1;
  constexpr int inputStride = rows == Rows::outputs ? 1 : width;
  static_assert(outputs % tile == 0 && (rows == Rows::outputs ? inputs : outputs) == width);
  for (int group = 0; group < C::groups; ++group) {
    for (int o = 0; o < outputs; o += tile) {
      V8 sum[tile][nv];
      for (int r = 0; r < tile; ++r)
        for (int v = 0; v < nv; ++v) sum[r][v] = bias == Bias::present ? broadcast(b + o + r) : zero();
      const float *weight = w + o * outputStride, *column = x + group * inputs * C::stride;
#pragma GCC unroll 4
      for (int n = 0; n < inputs; ++n) {
        V8 xs[nv];
        for (int v = 0; v < nv; ++v) xs[v] = load(column + v * 8);
#pragma GCC unroll 16
        for (int r = 0; r < tile; ++r) {
          const V8 factor = broadcast(weight + r * outputStride);
          for (int v = 0; v < nv; ++v) sum[r][v] = fma(factor, xs[v], sum[r][v]);
        }
        column += C::stride;
        weight += inputStride;
      }
#pragma GCC unroll 16
      for (int r = 0; r < tile; ++r)
        for (int v = 0; v < nv; ++v) use(group, o + r, v, sum[r][v]);
    }
  }
}

/// The same for one sample and 24 contiguous outputs. One vector of columns would need 13 loads for 12 multiply-adds; a
/// tile of 4 columns x 24 outputs needs 7, and is transposed at the end.
template <int inputs, Bias bias, class Use>
[[gnu::always_inline]] inline void productByRows(const float* x, const float* w, const float* b, Use use) {
  alignas(32) float y[context * width];
  for (int t = 0; t < context; t += 4) {
    V8 sum[4][3];
    for (int k = 0; k < 3; ++k) {
      const V8 start = bias == Bias::present ? load(b + k * 8) : zero();
      for (int r = 0; r < 4; ++r) sum[r][k] = start;
    }
#pragma GCC unroll 4
    for (int n = 0; n < inputs; ++n) {
      const V8 w0 = load(w + n * width), w1 = load(w + n * width + 8), w2 = load(w + n * width + 16);
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
        const V8 factor = broadcast(x + n * 8 + t + r);
        sum[r][0] = fma(factor, w0, sum[r][0]);
        sum[r][1] = fma(factor, w1, sum[r][1]);
        sum[r][2] = fma(factor, w2, sum[r][2]);
      }
    }
    for (int r = 0; r < 4; ++r)
      for (int k = 0; k < 3; ++k) store(y + (t + r) * width + k * 8, sum[r][k]);
  }
  for (int k = 0; k < 3; ++k) {
    V8 r[8];
    for (int j = 0; j < 8; ++j) r[j] = load(y + j * width + k * 8);
    transpose(r);
    for (int j = 0; j < 8; ++j) use(0, k * 8 + j, 0, r[j]);
  }
}

template <class C, int inputs, int outputs, Rows rows, Bias bias, class Use>
[[gnu::always_inline]] inline void product(const float* x, const float* w, const float* b, Use use) {
  if constexpr (C::isOneSample && rows == Rows::inputs)
    productByRows<inputs, bias>(x, w, b, use);
  else
    productByColumns<C, inputs, outputs, rows, bias>(x, w, b, use);
}

/// Where a result of a product goes in a buffer of `features` features.
template <class C, int features> constexpr int resultPlace(int group, int feature, int vector) {
  return (group * features + feature) * C::stride + vector * 8;
}

/// y = W x.
template <class C, int inputs, int outputs, Rows rows>
[[gnu::noinline]] void multiply(float* y, const float* x, const float* w) {
  product<C, inputs, outputs, rows, Bias::none>(x, w, nullptr, [=](int group, int o, int v, V8 sum) {
    store(y + resultPlace<C, outputs>(group, o, v), sum);
  });
}
/// y = W x + b.
template <class C, int inputs, int outputs, Rows rows>
[[gnu::noinline]] void linear(float* y, const float* x, const float* w, const float* b) {
  product<C, inputs, outputs, rows, Bias::present>(x, w, b, [=](int group, int o, int v, V8 sum) {
    store(y + resultPlace<C, outputs>(group, o, v), sum);
  });
}
/// y += W x + b.
template <class C, int inputs, int outputs, Rows rows>
[[gnu::noinline]] void addLinear(float* y, const float* x, const float* w, const float* b) {
  product<C, inputs, outputs, rows, Bias::present>(x, w, b, [=](int group, int o, int v, V8 sum) {
    float* p = y + resultPlace<C, outputs>(group, o, v);
    store(p, load(p) + sum);
  });
}
/// y = relu(W x + b).
template <class C, int inputs, int outputs, Rows rows>
[[gnu::noinline]] void linearRelu(float* y, const float* x, const float* w, const float* b) {
  product<C, inputs, outputs, rows, Bias::present>(x, w, b, [=](int group, int o, int v, V8 sum) {
    store(y + resultPlace<C, outputs>(group, o, v), larger(sum, zero()));
  });
}
/// dh = W dy where h > 0, and dBias (+)= dh: vectors whose lanes are summed once per gradient.
template <class C, int inputs, int outputs, Rows rows>
[[gnu::noinline]] void multiplyRelu(float* dh, const float* dy, const float* w, const float* h, float* dBias,
                                    bool isFirst) {
  constexpr bool isPair = C::vectorsPerGroup == 2;
  V8 firstOfPair = zero();
  product<C, inputs, outputs, rows, Bias::none>(
      dy, w, nullptr, [&, dh, h, dBias, isFirst](int group, int o, int v, V8 sum) {
        const int place = resultPlace<C, outputs>(group, o, v);
        sum = _mm256_and_ps(sum, _mm256_cmp_ps(load(h + place), zero(), _CMP_GT_OQ));
        store(dh + place, sum);
        if (isPair && v == 0) {
          firstOfPair = sum;
          return;
        }
        if (isPair) sum = sum + firstOfPair;
        if (!(isFirst && group == 0)) sum = sum + load(dBias + o * 8);
        store(dBias + o * 8, sum);
      });
}

/// `tile` rows of dW[feature][24] (+)= sum over columns of a[feature][column] rows[column][24].
template <class C, int features, int tile>
[[gnu::always_inline]] inline void weightGradientTile(float* dw, const float* a, const float* rows,
                                                      int feature, bool isFirst) {
  V8 sum[tile][3];
  dw += feature * width;
  for (auto& row : sum)
    for (V8& s : row) s = zero();
  if (!isFirst)
    for (int r = 0; r < tile; ++r)
      for (int k = 0; k < 3; ++k) sum[r][k] = load(dw + r * width + k * 8);
  for (int group = 0; group < C::groups; ++group) {
    const float* as = a + (group * features + feature) * C::stride;
#pragma GCC unroll 4
    for (int c = 0; c < C::stride; ++c) {
      const V8 row0 = load(rows), row1 = load(rows + 8), row2 = load(rows + 16);
      rows += width;
#pragma GCC unroll 4
      for (int r = 0; r < tile; ++r) {
        const V8 factor = broadcast(as + r * C::stride + c);
        sum[r][0] = fma(factor, row0, sum[r][0]);
        sum[r][1] = fma(factor, row1, sum[r][1]);
        sum[r][2] = fma(factor, row2, sum[r][2]);
      }
    }
  }
  for (int r = 0; r < tile; ++r)
    for (int k = 0; k < 3; ++k) store(dw + r * width + k * 8, sum[r][k]);
}

/// dW[feature][24] (+)= a rows. The first tile of a batch stores, so that nothing need be zeroed.
template <class C, int features>
[[gnu::noinline]] void weightGradient(float* dw, const float* a, const float* rows, bool isFirst) {
  int feature = 0;
  for (; feature + 4 <= features; feature += 4)
    weightGradientTile<C, features, 4>(dw, a, rows, feature, isFirst);
  if constexpr (features % 4 != 0)
    for (; feature < features; ++feature) weightGradientTile<C, features, 1>(dw, a, rows, feature, isFirst);
}

}  // namespace limits::gpt
