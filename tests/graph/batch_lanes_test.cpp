// Batches of a compile-time graph whose lanes go different ways: other choices, poles, infinities and NaN in one lane,
// graphs too large to inline. Every sample has the bits that it has in a batch of its own; and outside of batches, but
// through exp, log, tanh, sin and the like, where a few ulp are allowed.
// label: full
#include <gtest/gtest.h>

#include <array>
#include <burtorch/burtorch.hpp>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "graph/modes.hpp"
#include "reference/ulps.hpp"

namespace burtorch {
namespace batch_lanes_test {

using modes::areSameBits;

template <class T> class BatchLanes : public testing::Test {};
using Scalars = testing::Types<double, float>;
struct ScalarName {
  template <class T> static std::string GetName(int) { return sizeof(T) == 8 ? "fp64" : "fp32"; }
};
TYPED_TEST_SUITE(BatchLanes, Scalars, ScalarName);

/// `count` numbers from a list that has everything, so that neighbours in a pack have nothing in common.
template <class T> std::vector<T> numbers(std::size_t count, std::size_t shift) {
  using Limits = std::numeric_limits<T>;
  const T all[] = {T(0.7),
                   T(-0.4),
                   T{0},
                   Limits::infinity(),
                   T(1.9),
                   T{-0.0},
                   T(-2.3),
                   T(1e20),
                   Limits::quiet_NaN(),
                   T(0.3),
                   -Limits::infinity(),
                   T(0.5),
                   T(-1e-20)};
  std::vector<T> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(all[(i * 5 + shift) % std::size(all)]);
  return list;
}

/// Every sample of two numbers against the same sample in a batch of one, and within `allowed` ulp against the plain
/// gradient, for all lengths of the tail; nothing behind them changes.
template <class T, class F> void expectLikeAlone(F, T allowed = 0) {
  constexpr auto f = compile(F{});
  for (std::size_t count = 0; count <= 4 * Pack<T>::count + 3; ++count) {
    const auto a = numbers<T>(count, count), b = numbers<T>(count, count * count + 3);
    std::vector<T> da(count + 3, T{77}), db(count + 3, T{77});
    f.gradBatch(a, b, std::span(da).first(count), std::span(db).first(count));
    for (std::size_t i = 0; i < count; ++i) {
      SCOPED_TRACE(testing::Message()
                   << "sample " << i << " of " << count << ", at " << a[i] << ", " << b[i]);
      T aloneA[1], aloneB[1];
      f.gradBatch(std::span(a).subspan(i, 1), std::span(b).subspan(i, 1), aloneA, aloneB);
      ASSERT_TRUE(areSameBits(da[i], aloneA[0]) && areSameBits(db[i], aloneB[0]))
          << da[i] << ", " << db[i] << " instead of " << aloneA[0] << ", " << aloneB[0];
      const auto plain = f.grad(modes::opaque(a[i]), modes::opaque(b[i]));
      ASSERT_LE(ulps::between(da[i], plain[0]), allowed) << da[i] << " instead of " << plain[0];
      ASSERT_LE(ulps::between(db[i], plain[1]), allowed) << db[i] << " instead of " << plain[1];
    }
    for (std::size_t i = count; i < count + 3; ++i)
      ASSERT_TRUE(da[i] == 77 && db[i] == 77) << "behind " << count;
  }
}
TYPED_TEST(BatchLanes, Arithmetic) {
  expectLikeAlone<TypeParam>([](auto a, auto b) { return (a * b - a / b) * (a + 2.0) + (1.5 - b); });
}
TYPED_TEST(BatchLanes, Functions) {
  expectLikeAlone<TypeParam>([](auto a, auto b) { return exp(a) * tanh(b) + softplus(a) * sigmoid(b); }, 3);
}
TYPED_TEST(BatchLanes, Kinks) {
  expectLikeAlone<TypeParam>([](auto a, auto b) { return relu(a) * abs(b) + max(a, b) * min(a, 0.5); });
}
TYPED_TEST(BatchLanes, Choices) {
  expectLikeAlone<TypeParam>([](auto a, auto b) {
    return select(a < b && !(b > 1.0), a * b, select(a == 0.0 || b != b, b, a / b)) * a;
  });
}
TYPED_TEST(BatchLanes, PolesOnTheSideNotChosen) {
  expectLikeAlone<TypeParam>([](auto a, auto b) { return select(a > 0.0, sqrt(a) * log(a), b) * b; }, 2);
}
TYPED_TEST(BatchLanes, Lists) {
  expectLikeAlone<TypeParam>(
      [](auto a, auto b) {
        return logSumExp(std::array{a, b, a * b}) + innerProduct(std::array{a, b}, std::array{b, b});
      },
      3);
}
TYPED_TEST(BatchLanes, BlocksOnTheSideNotChosen) {
  expectLikeAlone<TypeParam>(
      [](auto a, auto b) {
        const auto product = reduceMul(std::array{log(a), b, a});
        return select(a > 0.0, product, b * b);
      },
      2);
}
TYPED_TEST(BatchLanes, PoleInTheFirstListOfAProductNotChosen) {
  expectLikeAlone<TypeParam>([](auto a, auto b) {
    return select(a > 0.0, innerProduct(std::array{1.0 / a, a}, std::array{b, a}), b * b);
  });
}
TYPED_TEST(BatchLanes, PoleInTheSecondListOfAProductNotChosen) {
  expectLikeAlone<TypeParam>([](auto a, auto b) {
    return select(a > 0.0, innerProduct(std::array{b, a}, std::array{1.0 / a, a}), b * b);
  });
}
TYPED_TEST(BatchLanes, ListsOnTheSideNotChosenThatRepeatANumber) {
  expectLikeAlone<TypeParam>(
      [](auto a, auto b) {
        const auto pole = log(a);
        const auto list = std::array{pole, b, pole, b};
        return select(a > 0.0, innerProductWithBias(list, list, pole), b) +
               select(b > 0.0, logSumExp(list), a);
      },
      2);
}
TYPED_TEST(BatchLanes, Constants) {
  expectLikeAlone<TypeParam>([](auto a, auto b) {
    using X = decltype(a);
    return a * X(0.5f) + X(1.75f) / b - X(2.5f) * (a * b);
  });
}
TYPED_TEST(BatchLanes, TheConstantMinusZero) {
  expectLikeAlone<TypeParam>([](auto a, auto b) { return b * (decltype(a)(-0.0f) / a); });
}
TYPED_TEST(BatchLanes, MoreStepsThanAreInlined) {
  expectLikeAlone<TypeParam>([](auto a, auto b) {
    for (int i = 0; i < 70; ++i) a = a * b + 0.25;
    return a;
  });
}

}  // namespace batch_lanes_test
}  // namespace burtorch
