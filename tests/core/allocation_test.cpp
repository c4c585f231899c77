// No allocation after warm-up on a growing tape, none at all on a borrowed one.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "burtorch/burtorch.hpp"
#include "reference/allocation_counter.hpp"

namespace burtorch {
namespace allocation_test {

TEST(AllocationCounter, SeesOperatorNew) {
  int* volatile number = nullptr;  // volatile: clang leaves out an allocation that nobody looks at
  EXPECT_EQ(allocationsOf([&] { number = new int(7); }), 1u);
  delete number;
}

#if COUNTS_MALLOC
TEST(AllocationCounter, SeesTheCLibrary) {
  void* volatile memory = nullptr;
  EXPECT_EQ(allocationsOf([&] { memory = std::malloc(10); }), 1u);
  EXPECT_EQ(allocationsOf([&] { memory = std::realloc(memory, 1000); }), 1u);
  std::free(memory);
  EXPECT_EQ(allocationsOf([&] { memory = std::calloc(10, 10); }), 1u);
  std::free(memory);
}

TEST(AllocationCounter, SeesATapeGrow) {
  Tape<double> tape;
  CurrentTape here(tape);
  EXPECT_GT(allocationsOf([&] { tape.leaves(1'000'000); }), 0u);
}
#endif

template <class S> class AllocationTest : public testing::Test {};

template <class T, bool names, bool checks> struct Setting {
  using Scalar = T;
  static constexpr Config config{.names = names, .checks = checks};
};
using Settings = testing::Types<Setting<double, true, false>, Setting<double, true, true>,
                                Setting<Dual<double>, true, false>>;
TYPED_TEST_SUITE(AllocationTest, Settings);

/// A sample: scalars, constants, every form of list, blocks, names, all forms of backward, a dead pole, rewind.
template <class T, Config C> void runSample(Tape<T, C>& tape, const Range<T, C>& w) {
  using V = Value<T, C>;
  SampleScope sample(tape);
  V s = tanh(w[0]) * w[1] + 3.0 * pow(w[2], 1.7) - exp(w[3]) / (w[4] * w[4] + 1.0);
  s.setName("scalar part");
  const V named(T(0.5), "a leaf with a name");
  const std::array scattered{w[0], w[3], w[1], named};
  const std::array ranges{w.subrange(0, 3), w.subrange(5, 4)};
  s += reduceSum(w) + reduceSum(w.every(9, 5, -2)) + reduceSumOfSquares(scattered) + reduceMean(ranges);
  s += innerProduct(w, w) + innerProductWithBias(scattered, scattered, s) + reduceMul(scattered) +
       softmax(w)[2];
  s += crossEntropy(w, 3) + logSumExp(scattered) + variance(w);
  logarithm(w[0] - w[0]);
  const V root = relu(s) + s;
  backward(root);
  backward(root, T(0.5));
  const std::array roots{root, s};
  backward(std::span<const V>(roots));
  std::array<std::uint64_t, 64> scratch;
  backwardWithScratchStorage(root, std::span<std::uint64_t>(scratch));
  backward(withoutValue<ops::Sqr>(root));
  zeroGrad(w);
  tape.zeroGrad();
}

TYPED_TEST(AllocationTest, NoneAfterWarmUpOnAGrowingTape) {
  using T = typename TypeParam::Scalar;
  Tape<T, TypeParam::config> tape;
  CurrentTape here(tape);
  const auto w = tape.leaves(10, T(0.3));
  runSample(tape, w);
  EXPECT_EQ(allocationsOf([&] {
              for (int i = 0; i < 10; ++i) runSample(tape, w);
            }),
            0u);
}

TYPED_TEST(AllocationTest, NoneOnAFixedTapeAfterItWasMade) {
  using T = typename TypeParam::Scalar;
  Tape<T, TypeParam::config> tape(TapeCapacity{.scalars = 1000, .instructions = 1000, .words = 2000});
  EXPECT_EQ(allocationsOf([&] {
              CurrentTape here(tape);
              runSample(tape, tape.leaves(10, T(0.3)));
            }),
            0u);
}

TYPED_TEST(AllocationTest, NoneFromTheFirstNodeOnABorrowedTape) {
  using T = typename TypeParam::Scalar;
  static std::array<std::byte, 1 << 17> memory;
  EXPECT_EQ(allocationsOf([&] {
              Tape<T, TypeParam::config> tape{std::span<std::byte>(memory)};
              CurrentTape here(tape);
              const auto w = tape.leaves(10, T(0.3));
              for (int i = 0; i < 3; ++i) runSample(tape, w);
              tape.clear();
            }),
            0u);
}

TYPED_TEST(AllocationTest, AFullBorrowedTapeAllocatesNothingItself) {
  using T = typename TypeParam::Scalar;
  using V = Value<T, TypeParam::config>;
  std::array<std::byte, 256> memory;
  std::size_t recorded = 0;
  // The exception object is the C++ run time's.
  const std::size_t counted = allocationsOf([&] {
    Tape<T, TypeParam::config> tape{std::span<std::byte>(memory)};
    CurrentTape here(tape);
    try {
      for (;; ++recorded) V(T(0.5));
    } catch (const Error&) {
    }
  });
  EXPECT_GT(recorded, 0u);
  EXPECT_LE(counted, 1u);
}

}  // namespace allocation_test
}  // namespace burtorch
