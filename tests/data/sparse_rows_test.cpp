// Rows of samples, dense and compressed: the same numbers in both, and errors for what does not belong together.
#include <burtorch/base/rng.hpp>
#include <burtorch/data/sparse_rows.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace sparse_rows_test {

/// [[0, 2, 0, -1], [0, 0, 0, 0], [3, 0, 0.5, 4]] with labels 1, -1, 7.
SampleRows<double> small() {
  return SampleRows<double>::sparse(4, {0, 2, 2, 5}, {1, 3, 0, 2, 3}, {2, -1, 3, 0.5, 4}, {1, -1, 7});
}
/// Rows of random length, with `fill` of their numbers.
SampleRows<double> random(std::size_t rows, std::size_t features, double fill, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<std::size_t> starts{0};
  std::vector<std::uint32_t> columns;
  std::vector<double> values, labels;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < features; ++j)
      if (rng.uniform<double>() < fill) {
        columns.push_back(static_cast<std::uint32_t>(j));
        values.push_back(rng.normal<double>());
      }
    starts.push_back(values.size());
    labels.push_back(rng.normal<double>());
  }
  return SampleRows<double>::sparse(features, starts, columns, values, labels);
}
std::vector<double> point(std::size_t count, std::uint64_t seed) {
  Rng rng(seed, 1);
  std::vector<double> x(count);
  for (double& xi : x) xi = rng.normal<double>();
  return x;
}
constexpr double eps = std::numeric_limits<double>::epsilon();

TEST(SampleRows, MultiplyAndAddByHand) {
  const std::vector<double> x{10, 20, 30, 40};
  for (const auto& rows : {small(), small().toDense()}) {
    EXPECT_EQ(rows.size(), 3u);
    EXPECT_EQ(rows.features(), 4u);
    EXPECT_EQ(rows.row(0).dot(x.data()), 0.0);
    EXPECT_EQ(rows.row(1).dot(x.data()), 0.0);
    EXPECT_EQ(rows.row(2).dot(x.data()), 205.0);
    EXPECT_EQ(rows.row(2).squaredNorm(), 25.25);
    std::vector<double> into{1, 1, 1, 1};
    rows.row(2).addTo(into.data(), -2);
    EXPECT_EQ(into, (std::vector<double>{-5, 1, 0, -7}));
  }
}
TEST(SampleRows, DenseAndCompressedGiveTheSame) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const SampleRows<double> rows = random(40, 37, 0.3, seed), dense = rows.toDense();
    const std::vector<double> x = point(37, seed);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      double size = 0;
      for (std::size_t k = 0; k < 37; ++k) size += std::abs(dense.row(i).value(k) * x[k]);
      EXPECT_NEAR(rows.row(i).dot(x.data()), dense.row(i).dot(x.data()), 8 * eps * size) << i;
      std::vector<double> one(37, 0.5), other(37, 0.5);
      rows.row(i).addTo(one.data(), 1.7);
      dense.row(i).addTo(other.data(), 1.7);
      EXPECT_EQ(one, other) << i;
    }
    EXPECT_EQ(dense.toSparse(), rows);
    EXPECT_EQ(dense.toDense(), dense);
  }
}
// Lengths around the eight sums of a product.
TEST(SampleRows, ProductsOfEveryLength) {
  for (std::size_t count = 0; count < 40; ++count) {
    std::vector<double> ones(count, 1), x(count);
    for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<double>(i * i);
    double sum = 0;
    for (const double xi : x) sum += xi;
    EXPECT_EQ(Row<double>(ones.data(), nullptr, count).dot(x.data()), sum) << count;
  }
}
TEST(SampleRows, ABiasIsOneColumnMore) {
  const std::vector<double> x{10, 20, 30, 40, 100};
  for (const auto& rows : {small().withBias(), small().toDense().withBias()}) {
    EXPECT_EQ(rows.features(), 5u);
    EXPECT_EQ(rows.row(0).dot(x.data()), 100.0);
    EXPECT_EQ(rows.row(1).dot(x.data()), 100.0);
    EXPECT_EQ(rows.row(2).dot(x.data()), 305.0);
    EXPECT_EQ(rows.label(2), 7.0);
  }
  EXPECT_EQ(small().withBias(0.5).toDense(), small().toDense().withBias(0.5));
}
TEST(SampleRows, SomeOfTheSamples) {
  const std::vector<std::size_t> samples{2, 0, 2};
  const SampleRows<double> chosen = small().chosen(samples);
  EXPECT_TRUE(chosen.isSparse());
  EXPECT_EQ(chosen, SampleRows<double>::sparse(4, {0, 3, 5, 8}, {0, 2, 3, 1, 3, 0, 2, 3},
                                               {3, 0.5, 4, 2, -1, 3, 0.5, 4}, {7, 1, 7}));
  EXPECT_EQ(small().toDense().chosen(samples), chosen.toDense());
  EXPECT_EQ(codeOf([] { small().chosen(std::vector<std::size_t>{3}); }), ErrorCode::outOfRange);
}
TEST(SampleRows, RowsAreNormalised) {
  for (SampleRows<double> rows : {small(), small().toDense()}) {
    rows.normaliseRows();
    EXPECT_NEAR(rows.row(0).squaredNorm(), 1, 2 * eps);
    EXPECT_EQ(rows.row(1).squaredNorm(), 0);
    EXPECT_NEAR(rows.row(2).squaredNorm(), 1, 2 * eps);
  }
}
TEST(SampleRows, ColumnsAreScaled) {
  for (SampleRows<double> rows : {small(), small().toDense()}) {
    const std::vector<double> scales = rows.columnScales();
    EXPECT_EQ(scales, (std::vector<double>{3, 2, 0.5, 4}));
    rows.divideColumns(scales);
    EXPECT_EQ(rows.columnScales(), (std::vector<double>{1, 1, 1, 1}));
    EXPECT_EQ(rows.row(0).value(rows.isSparse() ? 1 : 3), -0.25);
    EXPECT_THROW(rows.divideColumns(std::vector<double>{1}), Error);
  }
  EXPECT_EQ((SampleRows<double>::dense(2, {0, 5}, {1}).columnScales()), (std::vector<double>{1, 5}));
}
TEST(SampleRows, RefuseWhatDoesNotBelongTogether) {
  using R = SampleRows<double>;
  EXPECT_THROW(R::dense(2, {1, 2, 3}, {1, 2}), Error);
  EXPECT_THROW(R::dense(2, {1, 2}, {1, 2}), Error);
  EXPECT_THROW(R::dense(0, {1}, {1}), Error);
  EXPECT_THROW(R::sparse(2, {}, {}, {}, {}), Error);
  EXPECT_THROW(R::sparse(2, {0, 1}, {0}, {}, {1}), Error);
  EXPECT_THROW(R::sparse(2, {1, 1}, {0}, {5}, {1}), Error);
  EXPECT_THROW(R::sparse(2, {0, 2, 1, 2}, {0, 1}, {5, 6}, {1, 2, 3}), Error);
  EXPECT_EQ(codeOf([] { R::sparse(2, {0, 1}, {2}, {5}, {1}); }), ErrorCode::outOfRange);
  EXPECT_EQ(codeOf([] { R::sparse(4, {0, 2}, {2, 2}, {5, 6}, {1}); }), ErrorCode::outOfRange);
  EXPECT_EQ(codeOf([] { R::sparse(4, {0, 2}, {2, 1}, {5, 6}, {1}); }), ErrorCode::outOfRange);
  EXPECT_NO_THROW(R::sparse(4, {0, 1, 2}, {2, 1}, {5, 6}, {1, 2}));
  EXPECT_EQ(codeOf([] { R::sparse(std::size_t{1} << 32, {0}, {}, {}, {}); }), ErrorCode::invalidArgument);
}

}  // namespace sparse_rows_test
}  // namespace burtorch
