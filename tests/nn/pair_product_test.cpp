// Products at two points in one pass have the bits of two products, where there are registers for it.
#include <burtorch/nn/pair_product.hpp>

#include "reference/guarded_matrix.hpp"

namespace burtorch::nn {
namespace pair_product_test {

template <class T> class PairProductTest : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(PairProductTest, Scalars);

enum class Start { zero, bias, held };

template <class T>
void expectPair(std::size_t outputs, std::size_t inputs, std::size_t columns, Start start,
                bool isTransposed) {
  std::vector<T> pairs(2 * outputs * inputs);
  std::vector<GuardedMatrix<T>> w, x, b, right, found;
  for (unsigned point = 0; point < 2; ++point) {
    w.emplace_back(isTransposed ? inputs : outputs, isTransposed ? outputs : inputs, 0, false,
                   1 + 10 * point);
    x.emplace_back(inputs, columns, 3, false, 2 + 10 * point);
    b.emplace_back(1, outputs, 0, false, 3 + 10 * point);
    right.emplace_back(outputs, columns, 5, true, 4 + 10 * point);
    found.emplace_back(right.back());
  }
  const auto bias = [&](std::size_t point) { return start == Start::bias ? b[point].at() : nullptr; };
  for (std::size_t point = 0; point < 2; ++point)
    Product<T>{w[point].at(),
               isTransposed ? 1 : inputs,
               isTransposed ? outputs : 1,
               {x[point].at(), x[point].stride()},
               {right[point].at(), right[point].stride()},
               outputs,
               inputs,
               columns,
               bias(point),
               start == Start::held}
        .run();
  const auto point = [&](std::size_t i) -> typename PairProduct<T>::Point {
    return {{x[i].at(), x[i].stride()}, {found[i].at(), found[i].stride()}, bias(i)};
  };
  const PairProduct<T> both{pairs.data(), {point(0), point(1)}, outputs, inputs, columns,
                            isTransposed, start == Start::held};
  if (!both.pays()) return;
  PairProduct<T>::putInTurns(w[0].at(), w[1].at(), outputs * inputs, pairs.data());
  both.run();
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(found[i].isIntact());
    for (std::size_t o = 0; o < outputs; ++o)
      for (std::size_t c = 0; c < columns; ++c)
        ASSERT_EQ(found[i](o, c), right[i](o, c))
            << outputs << " x " << inputs << " x " << columns << ": " << o << " " << c;
  }
}

TYPED_TEST(PairProductTest, HasTheBitsOfTwoProducts) {
  constexpr std::size_t lanes = laneCount<TypeParam>;
  for (const std::size_t outputs : {1u, 3u, 4u, 11u, 12u, 13u, 24u, 65u})
    for (const std::size_t inputs : {1u, 2u, 5u, 24u, 96u, 128u})
      for (std::size_t columns = 2; columns <= lanes; ++columns)
        for (const Start start : {Start::zero, Start::bias, Start::held})
          for (const bool isTransposed : {false, true})
            expectPair<TypeParam>(outputs, inputs, columns, start, isTransposed);
}
TYPED_TEST(PairProductTest, IsForNarrowColumnsAndSmallMatrices) {
  const auto pays = [](std::size_t outputs, std::size_t inputs, std::size_t columns) {
    return PairProduct<TypeParam>{nullptr, {}, outputs, inputs, columns}.pays();
  };
  constexpr std::size_t lanes = laneCount<TypeParam>;
  EXPECT_EQ(pays(24, 24, lanes), PairProduct<TypeParam>::isPossible);
  EXPECT_FALSE(pays(24, 24, 1));
  EXPECT_FALSE(pays(24, 24, lanes + 1));
  EXPECT_FALSE(pays(24, 129, lanes));
  EXPECT_FALSE(pays(129, 24, lanes));
}
TYPED_TEST(PairProductTest, NumbersAreLaidInTurns) {
  for (const std::size_t count : {0u, 1u, 7u, 8u, 9u, 40u}) {
    std::vector<TypeParam> x(count), y(count), pairs(2 * count + 1, TypeParam{-1});
    for (std::size_t i = 0; i < count; ++i) x[i] = TypeParam(i), y[i] = TypeParam(100 + i);
    PairProduct<TypeParam>::putInTurns(x.data(), y.data(), count, pairs.data());
    for (std::size_t i = 0; i < count; ++i) {
      EXPECT_EQ(pairs[2 * i], x[i]);
      EXPECT_EQ(pairs[2 * i + 1], y[i]);
    }
    EXPECT_EQ(pairs.back(), TypeParam{-1});
  }
}

}  // namespace pair_product_test
}  // namespace burtorch::nn
