// Sums of rows beside plain loops.
#include <burtorch/nn/row_sums.hpp>

#include "reference/guarded_matrix.hpp"

namespace burtorch::nn {
namespace {

template <class T> class RowSumsTest : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(RowSumsTest, Scalars);

template <class T> void expectRowSums(bool isAdded) {
  for (std::size_t rows = 1; rows <= 3 * laneCount<T> + 1; ++rows)
    for (const std::size_t vectors : {1u, 2u, 3u, 17u}) {
      const std::size_t columns = vectors * laneCount<T>;
      GuardedMatrix<T> x(rows, columns, 3, false, 1), to(1, rows, 0, true, 2);
      auto before = to;
      rowSums<T>(to.at(), rows, columns, isAdded,
                 [&](std::size_t r, std::size_t c) { return load(x.at() + r * x.stride() + c); });
      for (std::size_t r = 0; r < rows; ++r) {
        Sum<T> sum;
        if (isAdded) sum.add(before(0, r));
        for (std::size_t c = 0; c < columns; ++c) sum.add(x(r, c));
        EXPECT_TRUE(sum.isNear(to(0, r))) << "row " << r << " of " << rows << ", columns " << columns;
      }
      EXPECT_TRUE(to.isIntact()) << rows << " rows";
    }
}

TYPED_TEST(RowSumsTest, AreStored) { expectRowSums<TypeParam>(false); }
TYPED_TEST(RowSumsTest, AreAdded) { expectRowSums<TypeParam>(true); }

TEST(Lanes, ColumnsArePaddedToWholeVectors) {
  constexpr std::size_t lanes = laneCount<float>;
  EXPECT_EQ(paddedTo<float>(1), lanes);
  EXPECT_EQ(paddedTo<float>(lanes), lanes);
  EXPECT_EQ(paddedTo<float>(lanes + 1), 2 * lanes);
  EXPECT_LE(lanes * sizeof(float), 32u);
  EXPECT_EQ(laneCount<float>, 2 * laneCount<double>);
}

}  // namespace
}  // namespace burtorch::nn
