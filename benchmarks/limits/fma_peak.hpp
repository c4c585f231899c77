// What one core can do at most: the rate of independent multiply-adds that never leave the registers. Measured in the same
// run as everything else, since the clock of a shared machine moves. 0 where the target has no AVX2 and FMA.
#pragma once

#include <chrono>

#if defined(__AVX2__) && defined(__FMA__)
#include "avx.hpp"
#endif

namespace limits {

#if defined(__AVX2__) && defined(__FMA__)
/// With registers of one width. `V` is a vector of floats.
template <class V> double fmaPeakOf() {
  // Latency 4 or 5, two per cycle: ten chains would do, twelve are on the safe side.
  constexpr int chains = 12, rounds = 200000;
  V sum[chains];
  for (int i = 0; i < chains; ++i) sum[i] = V{} + (static_cast<float>(i) + 1.f);
  V factor = V{} + .999f, term = V{} + 1e-3f;
  asm volatile("" : "+v"(factor), "+v"(term));
  const auto start = std::chrono::steady_clock::now();
  // One block of assembly: a compiler that does not unroll a loop over the sums would keep them in memory.
  for (int i = 0; i < rounds; ++i)
    asm volatile(
        "vfmadd213ps %[term],%[factor],%0\n"
        "vfmadd213ps %[term],%[factor],%1\n"
        "vfmadd213ps %[term],%[factor],%2\n"
        "vfmadd213ps %[term],%[factor],%3\n"
        "vfmadd213ps %[term],%[factor],%4\n"
        "vfmadd213ps %[term],%[factor],%5\n"
        "vfmadd213ps %[term],%[factor],%6\n"
        "vfmadd213ps %[term],%[factor],%7\n"
        "vfmadd213ps %[term],%[factor],%8\n"
        "vfmadd213ps %[term],%[factor],%9\n"
        "vfmadd213ps %[term],%[factor],%10\n"
        "vfmadd213ps %[term],%[factor],%11\n"
        : "+v"(sum[0]), "+v"(sum[1]), "+v"(sum[2]), "+v"(sum[3]), "+v"(sum[4]), "+v"(sum[5]), "+v"(sum[6]),
          "+v"(sum[7]), "+v"(sum[8]), "+v"(sum[9]), "+v"(sum[10]), "+v"(sum[11])
        : [factor] "v"(factor), [term] "v"(term));
  const double ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  return 2.0 * (sizeof(V) / sizeof(float)) * chains * rounds / ns;
}
#endif

/// Floating-point operations per nanosecond (GFLOP/s), FP32, with the widest registers that the target has.
inline double fmaPeak() {
#if defined(__AVX512F__)
  typedef float V16 __attribute__((vector_size(64)));
  return fmaPeakOf<V16>();
#elif defined(__AVX2__) && defined(__FMA__)
  return fmaPeakOf<V8>();
#else
  return 0;
#endif
}

}  // namespace limits
