// Sums and inner products over lists: exact where numbers are small integers, within the stated bounds otherwise, and
// the same bits whatever form the list has, wherever it lies, and however often it is summed.
//
// With u = epsilon / 2, any order of n - 1 additions errs by at most (n - 1) u sum|x|. At most 64 terms meet in a lane
// before lanes and runs are summed pairwise, hence the second bound, (log2(n) + 64) epsilon sum|x|: it does not grow
// with n, and 10^7 x 0.1f is where a plain loop, 9 % off, would show.
#include <gtest/gtest.h>

#include <algorithm>
#include <burtorch/burtorch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace kernels_test {

using burtorch::List;
using burtorch::ListForm;
using burtorch::ListShape;
using burtorch::NodeIndex;
using burtorch::Word;
using Real = long double;

constexpr unsigned seed = 20240611;

template <class T> T sumOf(const List<T>& xs) { return burtorch::ops::AddVarying::value(xs); }
template <class T> T innerOf(const List<T>& xs, const List<T>& ys) {
  return burtorch::ops::InnerProductNoBias::value(xs, ys);
}
template <class T> List<T> listOf(const std::vector<T>& numbers) {
  return {numbers.data(), ListShape::contiguous(numbers.size())};
}

/// The same numbers in memory in one of the forms that a list may have.
template <class T> class Laid {
 public:
  static constexpr int formCount = 6;
  static const char* nameOf(int form) {
    constexpr const char* names[] = {"contiguous", "shifted", "strided", "reversed", "ranges", "scattered"};
    return names[form];
  }

  Laid(const std::vector<T>& xs, int form) {
    const std::size_t n = xs.size();
    memory_.assign(3 * n + 8, std::numeric_limits<T>::quiet_NaN());  // what is read by mistake shows
    shape_.count = n;
    const auto put = [&](std::size_t i, std::size_t at) { memory_[at] = xs[i]; };
    switch (form) {
      case 0:
      case 1:  // 1: at an address that no vector is aligned to
        shape_.first = static_cast<Word>(form);
        for (std::size_t i = 0; i < n; ++i) put(i, shape_.first + i);
        break;
      case 2:
      case 3:
        shape_.form = ListForm::strided;
        shape_.first = static_cast<NodeIndex>(form == 2 ? 1 : n + 1);
        shape_.stride = form == 2 ? 3 : -1;
        for (std::size_t i = 0; i < n; ++i) put(i, form == 2 ? 1 + 3 * i : n + 1 - i);
        break;
      case 4: layRanges(xs); break;
      case 5:
        shape_.form = ListForm::scattered;
        for (std::size_t i = 0; i < n; ++i) {
          words_.push_back(static_cast<Word>((i * 7919) % n));  // 7919 is prime and larger than any n here
          put(i, words_.back());
        }
        break;
      default: break;
    }
    shape_.words = words_.data();
  }
  List<T> list() const { return {memory_.data(), shape_}; }

 private:
  /// Pieces of 1, 2, 0, 5, 33, 3 numbers, the later ones before the earlier ones.
  void layRanges(const std::vector<T>& xs) {
    constexpr std::size_t sizes[] = {1, 2, 0, 5, 33, 3};
    shape_.form = ListForm::ranges;
    std::size_t end = memory_.size(), which = 0;
    for (std::size_t i = 0; i < xs.size();) {
      const std::size_t count = std::min(sizes[which++ % 6], xs.size() - i);
      end -= count + (which % 2);
      words_.push_back(static_cast<Word>(end));
      words_.push_back(static_cast<Word>(count));
      for (std::size_t k = 0; k < count; ++k) memory_[end + k] = xs[i + k];
      i += count;
    }
    shape_.first = static_cast<NodeIndex>(words_.size() / 2);
  }

  std::vector<T> memory_;
  std::vector<Word> words_;
  ListShape shape_;
};

template <class T>
std::vector<T> randomNumbers(std::size_t n, unsigned offset, T low = T{-1}, T high = T{1}) {
  std::mt19937 random(seed + offset);
  std::uniform_real_distribution<T> uniform(low, high);
  std::vector<T> numbers(n);
  for (T& x : numbers) x = uniform(random);
  return numbers;
}

/// Small integers: their sums and products are exact in any order.
template <class T> std::vector<T> integers(std::size_t n, std::size_t period) {
  std::vector<T> numbers(n);
  for (std::size_t i = 0; i < n; ++i)
    numbers[i] = static_cast<T>(static_cast<int>((i * 5 + 1) % period)) - static_cast<T>(period / 2);
  return numbers;
}

template <class T> bool isSameBits(T x, T y) { return std::memcmp(&x, &y, sizeof x) == 0; }

/// Compensated (Neumaier): the error of the reference stays at an ulp of long double.
template <class Term> Real exactSum(std::size_t n, Term term) {
  Real sum = 0, lost = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Real x = term(i), next = sum + x;
    lost += std::fabs(sum) >= std::fabs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
  }
  return sum + lost;
}

/// The smaller of the two bounds; `roundings` is how many a plain loop has.
template <class T> Real bound(std::size_t n, std::size_t roundings, Real sumOfAbs) {
  const Real epsilon = std::numeric_limits<T>::epsilon();
  const Real leftToRight = static_cast<Real>(roundings) * epsilon / 2;
  const Real pairwise = (std::log2(static_cast<Real>(n)) + 64) * epsilon;
  return std::min(leftToRight, pairwise) * sumOfAbs;
}

/// Around the blocks (16 or 32 numbers), runs of 64 blocks and pairs of runs.
std::vector<std::size_t> lengths() {
  std::vector<std::size_t> all;
  for (std::size_t n = 1; n <= 300; ++n) all.push_back(n);
  for (const std::size_t run : {1024u, 2048u, 3072u, 4096u, 6144u, 7168u})
    for (const std::size_t n :
         {run - 1, run, run + 1, run + 15, run + 16, run + 17, run + 31, run + 32, run + 33})
      all.push_back(n);
  return all;
}

template <class T> class Kernels : public testing::Test {
 private:
  testing::ScopedTrace seed_{__FILE__, __LINE__, "seed " + std::to_string(seed)};
};
using Scalars = testing::Types<double, float>;
struct ScalarName {
  template <class T> static std::string GetName(int) { return sizeof(T) == 8 ? "fp64" : "fp32"; }
};
TYPED_TEST_SUITE(Kernels, Scalars, ScalarName);

TYPED_TEST(Kernels, SumOfSmallIntegersIsExactInEveryForm) {
  using T = TypeParam;
  for (const std::size_t n : lengths()) {
    const auto xs = integers<T>(n, 23);
    long want = 0;
    for (const T x : xs) want += static_cast<long>(x);
    for (int form = 0; form < Laid<T>::formCount; ++form)
      ASSERT_EQ(sumOf(Laid<T>(xs, form).list()), static_cast<T>(want)) << n << " " << Laid<T>::nameOf(form);
  }
}

TYPED_TEST(Kernels, InnerProductOfSmallIntegersIsExactInEveryPairOfForms) {
  using T = TypeParam;
  for (const std::size_t n : lengths()) {
    const auto xs = integers<T>(n, 23), ys = integers<T>(n, 17);
    long want = 0;
    for (std::size_t i = 0; i < n; ++i) want += static_cast<long>(xs[i]) * static_cast<long>(ys[i]);
    for (int form = 0; form < Laid<T>::formCount; ++form)
      for (const int other : {0, 1, form, (form + 1) % Laid<T>::formCount})
        ASSERT_EQ(innerOf(Laid<T>(xs, form).list(), Laid<T>(ys, other).list()), static_cast<T>(want))
            << n << " " << Laid<T>::nameOf(form) << " times " << Laid<T>::nameOf(other);
  }
}

TYPED_TEST(Kernels, SumThatSkipsTheFirstIsExactInEveryForm) {
  using T = TypeParam;
  const auto add = [](auto& s, const auto& x) { s = s + x; };
  for (const std::size_t n : lengths()) {
    if (n == 1) continue;
    const auto xs = integers<T>(n, 23);
    long want = 0;
    for (std::size_t i = 1; i < n; ++i) want += static_cast<long>(xs[i]);
    for (int form = 0; form < Laid<T>::formCount; ++form) {
      const Laid<T> laid(xs, form);
      ASSERT_EQ((burtorch::kernels::sum<1>(add, laid.list())), static_cast<T>(want))
          << n << " " << laid.nameOf(form);
    }
  }
}

TYPED_TEST(Kernels, SumEachOfSmallIntegersIsExactAndKnowsPositions) {
  using T = TypeParam;
  for (const std::size_t n : lengths()) {
    const auto xs = integers<T>(n, 23);
    long want = 0;
    for (std::size_t i = 0; i < n; ++i) want += static_cast<long>(xs[i]) * static_cast<long>(i % 5);
    for (int form = 0; form < Laid<T>::formCount; ++form) {
      const Laid<T> laid(xs, form);
      const auto term = [](std::size_t i, const T& x) { return x * static_cast<T>(i % 5); };
      ASSERT_EQ(burtorch::kernels::sumEach(laid.list(), term), static_cast<T>(want))
          << n << " " << laid.nameOf(form);
    }
  }
}

TYPED_TEST(Kernels, SumHasTheSameBitsInEveryForm) {
  using T = TypeParam;
  for (const std::size_t n : lengths()) {
    const auto xs = randomNumbers<T>(n, 1);
    const T want = sumOf(listOf(xs));
    for (int form = 0; form < Laid<T>::formCount; ++form)
      ASSERT_TRUE(isSameBits(sumOf(Laid<T>(xs, form).list()), want)) << n << " " << Laid<T>::nameOf(form);
  }
}

TYPED_TEST(Kernels, InnerProductHasTheSameBitsInEveryForm) {
  using T = TypeParam;
  for (const std::size_t n : lengths()) {
    const auto xs = randomNumbers<T>(n, 1), ys = randomNumbers<T>(n, 2);
    const T want = innerOf(listOf(xs), listOf(ys));
    for (int form = 0; form < Laid<T>::formCount; ++form) {
      const Laid<T> first(xs, form), second(ys, Laid<T>::formCount - 1 - form);
      ASSERT_TRUE(isSameBits(innerOf(first.list(), second.list()), want)) << n << " " << first.nameOf(form);
    }
  }
}

TYPED_TEST(Kernels, RepeatedRunsHaveTheSameBits) {
  using T = TypeParam;
  const auto xs = randomNumbers<T>(100'003, 3), ys = randomNumbers<T>(100'003, 4);
  const T sum = sumOf(listOf(xs)), inner = innerOf(listOf(xs), listOf(ys));
  for (int run = 0; run < 10; ++run) {
    const std::vector<T> moved = xs;  // another address
    EXPECT_TRUE(isSameBits(sumOf(listOf(moved)), sum));
    EXPECT_TRUE(isSameBits(innerOf(listOf(moved), listOf(ys)), inner));
  }
}

TYPED_TEST(Kernels, SumStaysWithinItsBound) {
  using T = TypeParam;
  auto sizes = lengths();
  for (const std::size_t n : {10'000u, 100'000u, 1'000'000u}) sizes.push_back(n);
  for (const std::size_t n : sizes)
    for (const T low : {T{-1}, T{0}}) {  // cancelling, and growing
      const auto xs = randomNumbers<T>(n, static_cast<unsigned>(n), low);
      const Real want = exactSum(n, [&](std::size_t i) { return Real{xs[i]}; });
      const Real abs = exactSum(n, [&](std::size_t i) { return std::fabs(Real{xs[i]}); });
      ASSERT_LE(std::fabs(sumOf(listOf(xs)) - want), bound<T>(n, n - 1, abs)) << "n = " << n;
    }
}

TYPED_TEST(Kernels, InnerProductStaysWithinItsBound) {
  using T = TypeParam;
  auto sizes = lengths();
  for (const std::size_t n : {10'000u, 100'000u, 1'000'000u}) sizes.push_back(n);
  for (const std::size_t n : sizes)
    for (const T low : {T{-1}, T{0}}) {
      const auto xs = randomNumbers<T>(n, static_cast<unsigned>(n), low), ys = randomNumbers<T>(n, 5, low);
      const Real want = exactSum(n, [&](std::size_t i) { return Real{xs[i]} * ys[i]; });
      const Real abs = exactSum(n, [&](std::size_t i) { return std::fabs(Real{xs[i]} * ys[i]); });
      ASSERT_LE(std::fabs(innerOf(listOf(xs), listOf(ys)) - want), bound<T>(n, n, abs)) << "n = " << n;
    }
}

TEST(Kernels, TenMillionTenthsInFp32) {
  const std::vector<float> tenths(10'000'000, 0.1f);
  const double want = 1e7 * double{0.1f};
  EXPECT_NEAR(sumOf(listOf(tenths)), want, 1e-6 * want);
}

TEST(Kernels, TenMillionProductsOfTenthsInFp32) {
  const std::vector<float> tenths(10'000'000, 0.1f);
  const double want = 1e7 * double{0.1f} * double{0.1f};
  EXPECT_NEAR(innerOf(listOf(tenths), listOf(tenths)), want, 1e-6 * want);
}

// One node ten million times: a list of stride 0 takes another way to the same sum.
TEST(Kernels, TenMillionTimesTheSameNumberInFp32) {
  const float tenth = 0.1f;
  const ListShape shape{.form = ListForm::strided, .stride = 0, .count = 10'000'000};
  const double want = 1e7 * double{0.1f};
  EXPECT_NEAR(sumOf(List<float>{&tenth, shape}), want, 1e-6 * want);
}

TYPED_TEST(Kernels, NanAndInfinityAnywhereReachTheSum) {
  using T = TypeParam;
  for (const std::size_t n : {1u, 7u, 16u, 33u, 300u})
    for (std::size_t at = 0; at < n; ++at) {
      auto xs = integers<T>(n, 23);
      xs[at] = std::numeric_limits<T>::infinity();
      EXPECT_EQ(sumOf(listOf(xs)), std::numeric_limits<T>::infinity()) << at << " of " << n;
      xs[at] = std::numeric_limits<T>::quiet_NaN();
      EXPECT_TRUE(std::isnan(sumOf(listOf(xs)))) << at << " of " << n;
    }
}

}  // namespace kernels_test
