// A matrix times one vector, for one sample at a time. Nothing is reused but the vector, so memory decides: every weight is
// read once forward and once backward, and the gradients of the weights are written in the same pass.
#pragma once

#include "../ops/kernels.hpp"
#include "product.hpp"

namespace burtorch::inline BURTORCH_TARGET::nn {

/// y[o] = bias[o] + sum over i of w[o][i] x[i], or added to.
template <class T>
void vectorProduct(Rows<const T> w, const T* x, const T* bias, T* y, std::size_t outputs, std::size_t inputs,
                   bool isAdded) {
  constexpr std::size_t lanes = laneCount<T>;
  const auto rows = [&]<std::size_t count>(std::size_t o) {
    Lanes<T> sum[count][2];
    unroll<count>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA { sum[r][0] = sum[r][1] = fill(T{0}); });
    const T* row = w.at + o * w.stride;
    std::size_t i = 0;
    for (; i + 2 * lanes <= inputs; i += 2 * lanes) {
      const Lanes<T> x0 = load(x + i), x1 = load(x + i + lanes);
      unroll<count>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
        sum[r][0] = sum[r][0] + load(row + r * w.stride + i) * x0;
        sum[r][1] = sum[r][1] + load(row + r * w.stride + i + lanes) * x1;
      });
    }
    Lanes<T> both[count];
    unroll<count>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA { both[r] = sum[r][0] + sum[r][1]; });
    T totals[count];
    storeSums<T, count>(totals, both);
    unroll<count>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
      T total = totals[r];
      for (std::size_t k = i; k < inputs; ++k) total = total + row[r * w.stride + k] * x[k];
      y[o + r] = isAdded ? y[o + r] + total : bias != nullptr ? bias[o + r] + total : total;
    });
  };
  std::size_t o = 0;
  for (; o + 4 <= outputs; o += 4) rows.template operator()<4>(o);
  for (; o < outputs; ++o) rows.template operator()<1>(o);
}

/// gx[i] += sum over o of gy[o] w[o][i], and gw[o][i] = gy[o] x[i] or added to. What is null is not wanted.
template <class T>
void vectorProductVjp(Rows<const T> w, const T* x, const T* gy, T* gx, Rows<T> gw, std::size_t outputs,
                      std::size_t inputs, bool isAdded) {
  constexpr std::size_t lanes = laneCount<T>;
  const auto rows = [&]<std::size_t count, bool adds, bool wantsX, bool wantsW>(std::size_t o) {
    const T* row = w.at + o * w.stride;
    T* to = wantsW ? gw.at + o * gw.stride : nullptr;
    Lanes<T> g[count];
    unroll<count>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA { g[r] = fill(gy[o + r]); });
    std::size_t i = 0;
    for (; i + lanes <= inputs; i += lanes) {
      const Lanes<T> in = load(x + i);
      Lanes<T> sum = wantsX ? load(gx + i) : in;
      unroll<count>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
        if constexpr (wantsX) sum = sum + g[r] * load(row + r * w.stride + i);
        if constexpr (wantsW) {
          const Lanes<T> slope = g[r] * in;
          store(to + r * gw.stride + i, adds ? Lanes<T>(load(to + r * gw.stride + i) + slope) : slope);
        }
      });
      if constexpr (wantsX) store(gx + i, sum);
    }
    for (; i < inputs; ++i)
      for (std::size_t r = 0; r < count; ++r) {
        if constexpr (wantsX) gx[i] = gx[i] + gy[o + r] * row[r * w.stride + i];
        const T slope = gy[o + r] * x[i];
        if constexpr (wantsW) to[r * gw.stride + i] = adds ? to[r * gw.stride + i] + slope : slope;
      }
  };
  const auto all = [&]<bool adds, bool wantsX, bool wantsW>() {
    std::size_t o = 0;
    for (; o + 4 <= outputs; o += 4) rows.template operator()<4, adds, wantsX, wantsW>(o);
    for (; o < outputs; ++o) rows.template operator()<1, adds, wantsX, wantsW>(o);
  };
  if (gw.at == nullptr) {
    if (gx != nullptr) all.template operator()<false, true, false>();
  } else if (gx == nullptr) {
    isAdded ? all.template operator()<true, false, true>() : all.template operator()<false, false, true>();
  } else {
    isAdded ? all.template operator()<true, true, true>() : all.template operator()<false, true, true>();
  }
}

}  // namespace burtorch::inline BURTORCH_TARGET::nn
