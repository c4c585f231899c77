// No allocation after warm-up on a growing tape, none at all on a borrowed one. Everything that could allocate is
// counted: malloc and its kin are replaced in this executable, and operator new calls malloc.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "burtorch/burtorch.hpp"

// A sanitizer brings a malloc of its own; there only operator new is counted.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define COUNTS_MALLOC 0
#endif
#endif
#ifndef COUNTS_MALLOC
#define COUNTS_MALLOC 1
#endif

namespace {

// Of this thread only: gtest and the C library may do what they like elsewhere.
// volatile: compilers assume that operator new changes nothing that the program can see.
thread_local volatile bool isCounting = false;
thread_local volatile std::size_t allocations = 0;

void count() {
  if (isCounting) allocations = allocations + 1;
}

template <class Function> Function next(const char* name) {
  void* symbol = dlsym(RTLD_NEXT, name);
  Function function;
  std::memcpy(&function, &symbol, sizeof function);
  return function;
}

#if COUNTS_MALLOC
// dlsym itself may call calloc before the real one is known.
alignas(16) char early[4096];
std::size_t earlyUsed = 0;
bool isEarly(const void* memory) { return memory >= early && memory < early + sizeof early; }
#endif

}  // namespace

#if COUNTS_MALLOC
extern "C" {
void* malloc(std::size_t bytes) {
  static const auto real = next<void* (*)(std::size_t)>("malloc");
  count();
  return real(bytes);
}
void* calloc(std::size_t n, std::size_t bytes) {
  static thread_local bool isInside = false;
  static void* (*real)(std::size_t, std::size_t) = nullptr;
  if (real == nullptr) {
    if (isInside) {
      void* memory = early + earlyUsed;
      earlyUsed += (n * bytes + 15) / 16 * 16;
      return earlyUsed <= sizeof early ? memory : nullptr;
    }
    isInside = true;
    real = next<void* (*)(std::size_t, std::size_t)>("calloc");
    isInside = false;
  }
  count();
  return real(n, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  static const auto real = next<void* (*)(void*, std::size_t)>("realloc");
  count();
  return real(memory, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  static const auto real = next<void* (*)(std::size_t, std::size_t)>("aligned_alloc");
  count();
  return real(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  static const auto real = next<int (*)(void**, std::size_t, std::size_t)>("posix_memalign");
  count();
  return real(memory, alignment, bytes);
}
void free(void* memory) {
  static const auto real = next<void (*)(void*)>("free");
  if (!isEarly(memory)) real(memory);
}
}
#else
void* operator new(std::size_t bytes) {
  count();
  return std::malloc(bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
#endif

namespace burtorch {
namespace {

/// How often `work` asks for memory.
template <class Work> std::size_t allocationsOf(Work work) {
  allocations = 0;
  isCounting = true;
  work();
  isCounting = false;
  return allocations;
}

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
  EXPECT_GT(allocationsOf([] { Value<double>(0.5); }), 0u);
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
  Tape<T, TypeParam::config> tape(Room{.scalars = 1000, .instructions = 1000, .words = 2000});
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

}  // namespace
}  // namespace burtorch
