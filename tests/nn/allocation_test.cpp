// Layers allocate nothing once the tape has room, and nothing at all on a borrowed one.
#include <gtest/gtest.h>

#include <array>
#include <burtorch/core/backward.hpp>
#include <burtorch/ops/dual.hpp>

#include "reference/allocation_counter.hpp"
#include "reference/layer_network.hpp"

namespace burtorch {
namespace allocation_test {

template <class T> class LayerAllocationTest : public testing::Test {
 protected:
  LayerNetwork network;
  std::vector<T> x = network.point<T>();

  void runSample(Tape<T>& tape) const {
    const SampleScope sample(tape);
    const auto root = network.loss<T>();
    backward(root);
    backward(root, T(0.5));
    std::array<std::uint64_t, 512> scratch;
    backwardWithScratchStorage(root, std::span<std::uint64_t>(scratch));
    tape.zeroGrad();
  }
};
using Scalars = testing::Types<float, Dual<double>>;
TYPED_TEST_SUITE(LayerAllocationTest, Scalars);

TYPED_TEST(LayerAllocationTest, NoneAfterWarmUpOnAGrowingTape) {
  Tape<TypeParam> tape;
  CurrentTape here(tape);
  tape.leaves(std::span<const TypeParam>(this->x));
  this->runSample(tape);
  EXPECT_EQ(allocationsOf([&] {
              for (int i = 0; i < 3; ++i) this->runSample(tape);
            }),
            0u);
}

TYPED_TEST(LayerAllocationTest, NoneFromTheFirstNodeOnABorrowedTape) {
  static std::array<std::byte, 1 << 17> memory;
  EXPECT_EQ(allocationsOf([&] {
              Tape<TypeParam> tape{std::span<std::byte>(memory)};
              CurrentTape here(tape);
              tape.leaves(std::span<const TypeParam>(this->x));
              this->runSample(tape);
            }),
            0u);
}

}  // namespace allocation_test
}  // namespace burtorch
