// What the memory of one core gives at most: reading an array far larger than any cache. Measured in the same run as
// everything else, since neighbours on a shared machine use the memory too.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace limits {

/// Bytes per nanosecond (GB/s).
inline double bandwidth() {
  constexpr std::size_t count = std::size_t{1} << 24;  // 64 MB
  static const std::vector<float> array(count, 1.f);
  const auto start = std::chrono::steady_clock::now();
  // Many sums: one alone would wait for its additions, and the compiler may not reorder them.
  constexpr std::size_t lanes = 64;
  float sums[lanes] = {};
  for (std::size_t i = 0; i < count; i += lanes)
    for (std::size_t k = 0; k < lanes; ++k) sums[k] += array[i + k];
  const double ns =
      std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  float sum = 0;
  for (const float part : sums) sum += part;
  asm volatile("" ::"x"(sum));
  return static_cast<double>(count * sizeof(float)) / ns;
}

}  // namespace limits
