// The engine with vectors of std::experimental (scalars.hpp), where the standard library has them.
#include <gtest/gtest.h>

#if __has_include(<experimental/simd>) && defined(__GLIBCXX__)
#include <burtorch/simd/std_simd.hpp>

#include "scalars/scalars.hpp"

namespace scalars {
namespace stdx = std::experimental;

template <class N, class Abi> struct Lanes<stdx::simd<N, Abi>> {
  using Alone = N;
  using Number = N;
  static constexpr std::size_t count = stdx::simd<N, Abi>::size();
  static Alone get(const stdx::simd<N, Abi>& x, std::size_t lane) { return x[lane]; }
  static void set(stdx::simd<N, Abi>& x, std::size_t lane, N number) { x[lane] = number; }
};

using StdSimd = testing::Types<stdx::native_simd<float>, stdx::fixed_size_simd<double, 4>>;
INSTANTIATE_TYPED_TEST_SUITE_P(StdSimd, Scalars, StdSimd, ScalarName);
}  // namespace scalars
#endif
