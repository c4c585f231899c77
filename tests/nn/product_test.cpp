// The kernels of matrix products beside plain loops.
#include <burtorch/nn/product.hpp>

#include "reference/guarded_matrix.hpp"

namespace burtorch::nn {
namespace product_test {

template <class T> class ProductTest : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(ProductTest, Scalars);

constexpr std::size_t edges[] = {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 24, 65};
template <class T> std::vector<std::size_t> columnCounts() {
  constexpr std::size_t lanes = laneCount<T>;
  return {1, 3, lanes, lanes + 1, 3 * lanes, 9 * lanes, 137};
}

enum class Start { zero, bias, held };

/// Weights are read in rows, or in columns.
template <class T>
void expectProduct(std::size_t outputs, std::size_t inputs, std::size_t columns, Start start,
                   bool inColumns) {
  GuardedMatrix<T> w(inColumns ? inputs : outputs, inColumns ? outputs : inputs, 2, false, 1);
  GuardedMatrix<T> x(inputs, columns, 3, false, 2), b(1, outputs, 0, false, 3),
      y(outputs, columns, 5, true, 4);
  auto before = y;
  Product<T>{w.at(),
             inColumns ? 1 : w.stride(),
             inColumns ? w.stride() : 1,
             {x.at(), x.stride()},
             {y.at(), y.stride()},
             outputs,
             inputs,
             columns,
             start == Start::bias ? b.at() : nullptr,
             start == Start::held}
      .run();
  std::size_t wrong = 0;
  for (std::size_t o = 0; o < outputs; ++o)
    for (std::size_t c = 0; c < columns; ++c) {
      Sum<T> sum;
      if (start != Start::zero) sum.add(start == Start::bias ? b(0, o) : before(o, c));
      for (std::size_t i = 0; i < inputs; ++i) sum.add(inColumns ? w(i, o) : w(o, i), x(i, c));
      wrong += sum.isNear(y(o, c)) ? 0 : 1;
    }
  EXPECT_EQ(wrong, 0u) << outputs << " x " << inputs << ", columns " << columns;
  EXPECT_TRUE(y.isIntact()) << outputs << " x " << inputs << ", columns " << columns;
}

template <class T> void expectProducts(Start start, bool inColumns) {
  for (const std::size_t outputs : edges)
    for (const std::size_t inputs : edges)
      for (const std::size_t columns : columnCounts<T>())
        expectProduct<T>(outputs, inputs, columns, start, inColumns);
}

TYPED_TEST(ProductTest, StartsFromZero) { expectProducts<TypeParam>(Start::zero, false); }
TYPED_TEST(ProductTest, StartsFromABias) { expectProducts<TypeParam>(Start::bias, false); }
TYPED_TEST(ProductTest, IsAddedToWhatIsThere) { expectProducts<TypeParam>(Start::held, false); }
TYPED_TEST(ProductTest, ReadsTheWeightsInColumns) { expectProducts<TypeParam>(Start::zero, true); }
TYPED_TEST(ProductTest, ReadsTheWeightsInColumnsAndAdds) { expectProducts<TypeParam>(Start::held, true); }

// Tiles of every height, and what remains.
TYPED_TEST(ProductTest, TakesEveryNumberOfOutputs) {
  for (std::size_t outputs = 1; outputs <= 40; ++outputs)
    for (const std::size_t vectors : {1u, 2u, 3u})
      expectProduct<TypeParam>(outputs, 5, vectors * laneCount<TypeParam>, Start::held, false);
}

TYPED_TEST(ProductTest, TakesEveryNumberOfColumns) {
  for (std::size_t columns = 1; columns <= 40; ++columns) {
    expectProduct<TypeParam>(7, 5, columns, Start::held, false);
    expectProduct<TypeParam>(14, 3, columns, Start::bias, true);
  }
}

// Longer than one part of a sum.
TYPED_TEST(ProductTest, TakesManyInputs) {
  for (const std::size_t inputs : {511u, 512u, 513u, 1600u})
    for (const Start start : {Start::zero, Start::bias, Start::held})
      for (const bool inColumns : {false, true}) expectProduct<TypeParam>(7, inputs, 11, start, inColumns);
}

TYPED_TEST(ProductTest, WithoutInputsTheStartIsLeft) {
  GuardedMatrix<TypeParam> b(1, 3, 0, false, 3), y(3, 8, 5, true, 4);
  Product<TypeParam>{b.at(), 0, 1, {b.at(), 0}, {y.at(), y.stride()}, 3, 0, 8, b.at()}.run();
  for (std::size_t o = 0; o < 3; ++o)
    for (std::size_t c = 0; c < 8; ++c) EXPECT_EQ(y(o, c), b(0, o));
}

template <class T>
void expectOuterProduct(std::size_t rows, std::size_t width, std::size_t columns, bool isAdded) {
  GuardedMatrix<T> a(rows, columns, 2, false, 1), b(width, columns, 3, false, 2), g(rows, width, 5, true, 3);
  auto before = g;
  OuterProduct<T>{
      {g.at(), g.stride()}, {a.at(), a.stride()}, {b.at(), b.stride()}, rows, width, columns, isAdded}
      .run();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < width; ++j) {
      Sum<T> sum;
      if (isAdded) sum.add(before(i, j));
      for (std::size_t c = 0; c < columns; ++c) sum.add(a(i, c), b(j, c));
      wrong += sum.isNear(g(i, j)) ? 0 : 1;
    }
  EXPECT_EQ(wrong, 0u) << rows << " x " << width << ", columns " << columns;
  EXPECT_TRUE(g.isIntact()) << rows << " x " << width << ", columns " << columns;
}

template <class T> void expectOuterProducts(bool isAdded) {
  for (const std::size_t rows : edges)
    for (const std::size_t width : edges)
      for (const std::size_t columns : columnCounts<T>())
        expectOuterProduct<T>(rows, width, columns, isAdded);
}
TYPED_TEST(ProductTest, OuterProductIsStored) { expectOuterProducts<TypeParam>(false); }
TYPED_TEST(ProductTest, OuterProductIsAdded) { expectOuterProducts<TypeParam>(true); }

TYPED_TEST(ProductTest, OuterProductOverEveryNumberOfColumns) {
  for (std::size_t columns = 1; columns <= 70; ++columns) expectOuterProduct<TypeParam>(5, 13, columns, true);
}

TYPED_TEST(ProductTest, OuterProductOfEveryHeight) {
  for (std::size_t rows = 1; rows <= 40; ++rows)
    for (const std::size_t vectors : {1u, 2u, 3u})
      expectOuterProduct<TypeParam>(rows, vectors * laneCount<TypeParam>, 2 * laneCount<TypeParam>, true);
}

// Strips of one, two and three vectors, whole and with a rest, in one chunk and in several.
TYPED_TEST(ProductTest, OuterProductOfEveryWidth) {
  for (std::size_t width = 1; width <= 13 * laneCount<TypeParam>; ++width)
    for (const std::size_t rows : {5u, 13u})
      for (const bool isAdded : {false, true})
        expectOuterProduct<TypeParam>(rows, width, 3 * laneCount<TypeParam>, isAdded);
}

}  // namespace product_test
}  // namespace burtorch::nn
