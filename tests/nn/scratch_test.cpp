// Scratch memory of a thread: it grows, is aligned and stays.
#include <gtest/gtest.h>
#include <burtorch/nn/scratch.hpp>

#include <cstdint>
#include <thread>

namespace burtorch {
namespace scratch_test {

TEST(Scratch, StaysWhereItIsUntilMoreIsAskedFor) {
  float* const first = nn::Scratch<float>::of(100);
  EXPECT_EQ(nn::Scratch<float>::of(7), first);
  EXPECT_EQ(nn::Scratch<float>::of(100), first);
}
TEST(Scratch, HoldsAsMuchAsIsAskedFor) {
  for (const std::size_t count : {1u, 17u, 100000u}) {
    double* const at = nn::Scratch<double>::of(count);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 64, 0u);
    for (std::size_t i = 0; i < count; ++i) at[i] = 1;
  }
}
TEST(Scratch, BelongsToItsThread) {
  float* const here = nn::Scratch<float>::of(10);
  std::thread([here] { EXPECT_NE(nn::Scratch<float>::of(10), here); }).join();
}

}  // namespace scratch_test
}  // namespace burtorch
