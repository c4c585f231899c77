// What one core can do at most: the rate of independent multiply-adds that never leave the registers. Measured in the same
// run as everything else, since the clock of a shared machine moves. 0 where the target has no AVX2 and FMA.
#pragma once

#include <chrono>

#if defined(__AVX2__) && defined(__FMA__)
#include "avx.hpp"
#endif

namespace limits {

/// Floating-point operations per nanosecond (GFLOP/s), FP32.
inline double fmaPeak() {
#if defined(__AVX2__) && defined(__FMA__)
  // Latency 4 or 5, two per cycle: ten chains would do, twelve are on the safe side.
  constexpr int chains = 12, rounds = 200000;
  V8 sum[chains];
  for (int i = 0; i < chains; ++i) sum[i] = splat(static_cast<float>(i) + 1.f);
  V8 factor = splat(.999f), term = splat(1e-3f);
  asm volatile("" : "+x"(factor), "+x"(term));
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
        : "+x"(sum[0]), "+x"(sum[1]), "+x"(sum[2]), "+x"(sum[3]), "+x"(sum[4]), "+x"(sum[5]), "+x"(sum[6]),
          "+x"(sum[7]), "+x"(sum[8]), "+x"(sum[9]), "+x"(sum[10]), "+x"(sum[11])
        : [factor] "x"(factor), [term] "x"(term));
  const double ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  return 16.0 * chains * rounds / ns;
#else
  return 0;
#endif
}

}  // namespace limits
