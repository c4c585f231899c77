// TopSelection against a stable sort: random numbers, ties, zeros of both signs, subnormals, all sizes of K.
#include "burtorch/optimise/top_k.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "burtorch/base/rng.hpp"

namespace burtorch {
namespace top_k_test {

template <class T> struct Source {
  using Scalar = T;
  std::span<const T> x;
  std::size_t size() const { return x.size(); }
  T operator[](std::size_t i) const { return x[i]; }
};

template <class T> std::vector<std::uint32_t> sorted(const std::vector<T>& x, std::size_t k) {
  std::vector<std::uint32_t> indices(x.size());
  std::iota(indices.begin(), indices.end(), 0u);
  std::stable_sort(indices.begin(), indices.end(),
                   [&](std::uint32_t i, std::uint32_t j) { return std::abs(x[i]) > std::abs(x[j]); });
  indices.resize(k);
  std::sort(indices.begin(), indices.end());
  return indices;
}

template <class T> struct TopSelectionTest : testing::Test {
  TopSelection top;
  void expectRight(const std::vector<T>& x, std::size_t k) {
    const auto found = top.select(Source<T>{x}, k);
    EXPECT_EQ(std::vector<std::uint32_t>(found.begin(), found.end()), sorted(x, k)) << "K = " << k;
  }
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(TopSelectionTest, Scalars, );

TYPED_TEST(TopSelectionTest, AgreesWithASortOnRandomNumbers) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Rng rng(seed);
    std::vector<TypeParam> x(1 + rng.below(3000));
    for (TypeParam& number : x) number = rng.normal<TypeParam>();
    for (const std::size_t k : {std::size_t{1}, x.size() / 20 + 1, x.size() / 2 + 1, x.size()}) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", d = " << x.size());
      this->expectRight(x, std::min(k, x.size()));
    }
  }
}

// Large enough for a first look at a sample, which may say too much, too little, or nothing.
TYPED_TEST(TopSelectionTest, AgreesWithASortOnManyNumbers) {
  constexpr std::size_t d = 20'000;
  Rng rng(7);
  std::vector<TypeParam> normal(d), skewed(d), levels(d), rare(d), equal(d, TypeParam(0.5)), misleading(d);
  for (std::size_t i = 0; i < d; ++i) {
    normal[i] = rng.normal<TypeParam>();
    skewed[i] = rng.normal<TypeParam>() * static_cast<TypeParam>(std::exp(4 * rng.normal<double>()));
    levels[i] = static_cast<TypeParam>(static_cast<int>(2 * rng.normal<double>()));
    rare[i] = i % 1000 == 17 ? rng.normal<TypeParam>() : TypeParam{0};
    // A sample takes every 19th number: those are large, or all others are.
    misleading[i] = i % 19 == 0 ? 1 + rng.uniform<TypeParam>() : rng.uniform<TypeParam>();
  }
  for (const auto* x : {&normal, &skewed, &levels, &rare, &equal, &misleading})
    for (const std::size_t k : {std::size_t{1}, std::size_t{7}, d / 100, d / 20, d / 8, d / 8 + 1})
      this->expectRight(*x, k);
  for (TypeParam& number : misleading) number = 3 - number;
  for (const std::size_t k : {std::size_t{1}, d / 100, d / 8}) this->expectRight(misleading, k);
}

TYPED_TEST(TopSelectionTest, TakesTheFirstOfEquals) {
  std::vector<TypeParam> x(97);
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Rng rng(seed);
    const TypeParam few[] = {0,
                             -TypeParam{0},
                             1,
                             -1,
                             TypeParam(0.1),
                             std::numeric_limits<TypeParam>::denorm_min(),
                             -std::numeric_limits<TypeParam>::denorm_min(),
                             std::numeric_limits<TypeParam>::max(),
                             std::nextafter(TypeParam{1}, TypeParam{2})};
    for (TypeParam& number : x) number = few[rng.below(std::size(few))];
    for (std::size_t k = 1; k <= x.size(); ++k) {
      SCOPED_TRACE(testing::Message() << "seed " << seed);
      this->expectRight(x, k);
    }
  }
}

TYPED_TEST(TopSelectionTest, TellsNeighboursApart) {
  std::vector<TypeParam> x(50, TypeParam{1});
  for (std::size_t i = 0; i + 1 < x.size(); ++i) x[i + 1] = std::nextafter(x[i], TypeParam{2});
  for (std::size_t k = 1; k <= x.size(); ++k) this->expectRight(x, k);
  std::reverse(x.begin(), x.end());
  for (std::size_t k = 1; k <= x.size(); ++k) this->expectRight(x, k);
}

TYPED_TEST(TopSelectionTest, PutsWhatIsNotFiniteFirst) {
  const TypeParam x[] = {1, std::numeric_limits<TypeParam>::infinity(), 3,
                         std::numeric_limits<TypeParam>::quiet_NaN()};
  const auto one = this->top.select(Source<TypeParam>{x}, 1);
  EXPECT_EQ(one[0], 3u);
  const auto two = this->top.select(Source<TypeParam>{x}, 2);
  EXPECT_EQ(two[0], 1u);
}

}  // namespace top_k_test
}  // namespace burtorch
