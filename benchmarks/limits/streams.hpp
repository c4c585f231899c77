// Loops that read and write as much memory as a kernel must and compute next to nothing: the limit of ./bench kernels where numbers
// come from memory or a cache, whichever holds them. Plain loops that compilers vectorise, not inlined: __restrict is lost then.
#pragma once

#include <cstddef>

namespace limits {

/// Reads x, writes y.
[[gnu::noinline]] inline void copyScaled(const float* __restrict x, float* __restrict y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] = x[i] * .5f;
  asm volatile("" ::: "memory");
}
/// Reads x and g, adds to gx.
[[gnu::noinline]] inline void addProducts(const float* __restrict x, const float* __restrict g,
                                          float* __restrict gx, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) gx[i] += x[i] * g[i];
  asm volatile("" ::: "memory");
}
/// Reads x, adds to y.
[[gnu::noinline]] inline void addScaled(const float* __restrict x, float* __restrict y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) y[i] += x[i] * .5f;
  asm volatile("" ::: "memory");
}
/// Reads x. Many sums: one alone would wait for its additions.
[[gnu::noinline]] inline void sumUp(const float* x, std::size_t count) {
  constexpr std::size_t lanes = 64;
  float sums[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (std::size_t k = 0; k < lanes; ++k) sums[k] += x[i + k];
  for (; i < count; ++i) sums[0] += x[i];
  asm volatile("" ::"m"(sums) : "memory");
}
/// Reads four arrays and writes three of them, as Adam does.
[[gnu::noinline]] inline void moveThree(float* __restrict x, const float* __restrict g, float* __restrict m,
                                        float* __restrict v, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    m[i] += g[i] * 1e-3f;
    v[i] += g[i] * 1e-3f;
    x[i] -= (m[i] + v[i]) * 1e-12f;
  }
  asm volatile("" ::: "memory");
}
/// Multiplies in place.
[[gnu::noinline]] inline void scale(float* x, float factor, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) x[i] *= factor;
  asm volatile("" ::: "memory");
}

}  // namespace limits
