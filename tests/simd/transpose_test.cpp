// Transposing and summing across lanes beside plain loops.
#include <burtorch/simd/transpose.hpp>

#include "reference/guarded_matrix.hpp"

namespace burtorch::nn {
namespace transpose_test {

template <class T> class TransposeTest : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(TransposeTest, Scalars);

/// Rows of the result are filled up with zeros to their stride.
template <class T> void expectTranspose(std::size_t rows, std::size_t columns, std::size_t toStride) {
  GuardedMatrix<T> from(rows, columns, 3, false, 1), to(columns, toStride, 0, true, 2);
  transpose(from.at(), rows, columns, from.stride(), to.at(), toStride);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < toStride; ++i)
    for (std::size_t j = 0; j < columns; ++j) wrong += to(j, i) == (i < rows ? from(i, j) : T{0}) ? 0 : 1;
  EXPECT_EQ(wrong, 0u) << rows << " x " << columns << " to stride " << toStride;
  EXPECT_TRUE(to.isIntact()) << rows << " x " << columns << " to stride " << toStride;
}

TYPED_TEST(TransposeTest, TransposeFillsUpWithZeros) {
  for (const std::size_t rows : {1u, 2u, 3u, 4u, 5u, 7u, 8u, 9u, 12u, 13u, 24u, 65u})
    for (const std::size_t columns :
         {laneCount<TypeParam>, 3 * laneCount<TypeParam>, 8 * laneCount<TypeParam>})
      for (const std::size_t toStride :
           {std::size_t{rows}, paddedTo<TypeParam>(rows), paddedTo<TypeParam>(rows) + 3})
        expectTranspose<TypeParam>(rows, columns, toStride);
}

TYPED_TEST(TransposeTest, TransposeSquareKeepsToItsSquare) {
  constexpr std::size_t lanes = laneCount<TypeParam>;
  GuardedMatrix<TypeParam> from(lanes, lanes, 3, false, 1), to(lanes, lanes, 5, true, 2);
  transposeSquare([&](std::size_t i) { return from.at() + i * from.stride(); }, to.at(), to.stride());
  for (std::size_t i = 0; i < lanes; ++i)
    for (std::size_t j = 0; j < lanes; ++j) EXPECT_EQ(to(j, i), from(i, j)) << i << ", " << j;
  EXPECT_TRUE(to.isIntact());
}

TYPED_TEST(TransposeTest, VectorsAreTurnedInPlace) {
  constexpr std::size_t lanes = laneCount<TypeParam>;
  GuardedMatrix<TypeParam> from(lanes, lanes, 3, false, 1);
  Lanes<TypeParam> square[lanes];
  for (std::size_t i = 0; i < lanes; ++i) square[i] = load(from.at() + i * from.stride());
  transposeVectors<TypeParam>(square);
  for (std::size_t i = 0; i < lanes; ++i)
    for (std::size_t j = 0; j < lanes; ++j) EXPECT_EQ(square[j][i], from(i, j)) << i << ", " << j;
}

/// The sums of `count` vectors.
template <class T, std::size_t count> void expectSums() {
  GuardedMatrix<T> from(count, laneCount<T>, 3, false, 1), to(1, count, 0, true, 2);
  Lanes<T> vectors[count];
  for (std::size_t i = 0; i < count; ++i) vectors[i] = load(from.at() + i * from.stride());
  storeSums<T, count>(to.at(), vectors);
  for (std::size_t i = 0; i < count; ++i) {
    Sum<T> sum;
    for (std::size_t j = 0; j < laneCount<T>; ++j) sum.add(from(i, j));
    EXPECT_TRUE(sum.isNear(to(0, i))) << i << " of " << count;
  }
  EXPECT_TRUE(to.isIntact()) << count;
}
TYPED_TEST(TransposeTest, SumsOfFewerVectorsThanLanesAndOfMore) {
  expectSums<TypeParam, 1>();
  expectSums<TypeParam, 2>();
  expectSums<TypeParam, 4>();
  expectSums<TypeParam, 8>();
  expectSums<TypeParam, 16>();
}

}  // namespace transpose_test
}  // namespace burtorch::nn
