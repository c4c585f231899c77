// Sums of rows beside plain loops.
#include <burtorch/nn/row_sums.hpp>

#include "reference/guarded_matrix.hpp"

namespace burtorch::nn {
namespace row_sums_test {

template <class T> class RowSumsTest : public testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(RowSumsTest, Scalars);

template <class T> void expectRowSums(bool isAdded) {
  for (std::size_t rows = 1; rows <= 3 * laneCount<T> + 1; ++rows)
    for (const std::size_t columns : {1u, 2u, 5u, 8u, 9u, 16u, 31u, 136u, 300u, 1029u}) {
      GuardedMatrix<T> x(rows, columns, 3, false, 1), to(1, rows, 0, true, 2);
      auto before = to;
      rowSums<T>(to.at(), rows, columns, isAdded, [&](std::size_t r, std::size_t c, std::size_t n) {
        return loadUpTo(x.at() + r * x.stride() + c, n);
      });
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

// PyTorch's own error is 1e-7 for these; left to right it was 2.4e-3 of a million.
TEST(RowSums, OfManyColumnsKeepTheirDigits) {
  for (const std::size_t columns : {10'000u, 1'000'000u}) {
    const std::vector<float> x(columns, 0.1f);
    float sum = 0;
    rowSums<float>(&sum, 1, columns, false,
                   [&](std::size_t, std::size_t c, std::size_t n) { return loadUpTo(x.data() + c, n); });
    const double exact = static_cast<double>(columns) * static_cast<double>(0.1f);
    EXPECT_NEAR(static_cast<double>(sum) / exact, 1, 2e-7) << columns;
  }
}

TEST(Lanes, PartsTouchNothingElse) {
  for (std::size_t count = 0; count <= laneCount<float>; ++count) {
    std::vector<float> from(count, 2.5f), to(2 * laneCount<float>, -1.0f);
    const auto lanes = loadPart(from.data(), count);
    float all[laneCount<float>];
    store<float>(all, lanes);
    for (std::size_t i = 0; i < laneCount<float>; ++i) EXPECT_EQ(all[i], i < count ? 2.5f : 0.0f);
    storePart<float>(to.data(), fill(7.0f), count);
    for (std::size_t i = 0; i < to.size(); ++i) EXPECT_EQ(to[i], i < count ? 7.0f : -1.0f) << i;
  }
}

TEST(Lanes, ColumnsArePaddedToWholeVectors) {
  constexpr std::size_t lanes = laneCount<float>;
  EXPECT_EQ(paddedTo<float>(1), lanes);
  EXPECT_EQ(paddedTo<float>(lanes), lanes);
  EXPECT_EQ(paddedTo<float>(lanes + 1), 2 * lanes);
  EXPECT_LE(lanes * sizeof(float), 32u);
  EXPECT_EQ(laneCount<float>, 2 * laneCount<double>);
}

}  // namespace row_sums_test
}  // namespace burtorch::nn
