// Arithmetic of matrices beside scalar nodes.
#include <burtorch/nn/matmul.hpp>

#include <string>

#include "reference/error_sentence.hpp"
#include "reference/layer_checks.hpp"

namespace burtorch {
namespace matmul_test {

template <class T> class MatmulTest : public testing::Test {};
using Scalars = testing::Types<float, double, Dual<double>>;
TYPED_TEST_SUITE(MatmulTest, Scalars);

TYPED_TEST(MatmulTest, IsInnerProductsOfRowsAndColumns) {
  for (const std::size_t rows : {1u, 3u, 13u})
    for (const std::size_t inner : {1u, 5u, 8u})
      for (const std::size_t columns : {1u, 2u, 7u, 8u, 17u}) {
        LayerChecks<TypeParam> checks;
        const auto x = checks.matrix(rows, inner), y = checks.matrix(inner, columns);
        checks.fill();
        checks.expectSame([&] { return twin::elementsOf(matmul(x, y)); },
                          [&] {
                            twin::Outputs<TypeParam> z;
                            for (std::size_t r = 0; r < rows; ++r)
                              for (std::size_t c = 0; c < columns; ++c)
                                z.push_back(innerProduct(x.row(r), y.column(c)));
                            return z;
                          },
                          "matmul " + std::to_string(rows) + " x " + std::to_string(inner) + " x " +
                              std::to_string(columns));
      }
}
// The gradients of both operands then go to the same numbers.
TYPED_TEST(MatmulTest, TakesAMatrixWithItsOwnRow) {
  for (const std::size_t columns : {1u, 2u, 4u, 5u, 8u, 17u})
    for (const std::size_t row : {0u, 2u}) {
      LayerChecks<TypeParam> checks;
      const auto x = checks.matrix(5, columns);
      checks.fill();
      const auto y = [&] { return Matrix<TypeParam>(x.row(row), columns, 1); };
      checks.expectSame([&] { return twin::elementsOf(matmul(x, y())); },
                        [&] {
                          twin::Outputs<TypeParam> z;
                          for (std::size_t r = 0; r < 5; ++r) z.push_back(innerProduct(x.row(r), x.row(row)));
                          return z;
                        },
                        "a row of " + std::to_string(columns));
    }
}
TYPED_TEST(MatmulTest, TakesAMatrixWithItself) {
  LayerChecks<TypeParam> checks;
  const auto x = checks.matrix(5, 5);
  checks.fill();
  checks.expectSame([&] { return twin::elementsOf(matmul(x, x)); },
                    [&] {
                      twin::Outputs<TypeParam> z;
                      for (std::size_t r = 0; r < 5; ++r)
                        for (std::size_t c = 0; c < 5; ++c) z.push_back(innerProduct(x.row(r), x.column(c)));
                      return z;
                    },
                    "a square");
}
TYPED_TEST(MatmulTest, TransposesEveryShape) {
  for (const std::size_t rows : {1u, 5u, 16u, 33u})
    for (const std::size_t columns : {1u, 7u, 16u, 18u}) {
      LayerChecks<TypeParam> checks;
      const auto x = checks.matrix(rows, columns);
      checks.fill();
      checks.expectSame([&] { return twin::elementsOf(transpose(x)); },
                        [&] {
                          twin::Outputs<TypeParam> y;
                          for (std::size_t c = 0; c < columns; ++c)
                            for (std::size_t r = 0; r < rows; ++r) y.push_back(x(r, c));
                          return y;
                        },
                        "transpose", 0);
    }
}
TYPED_TEST(MatmulTest, OperatorsWorkElementByElement) {
  LayerChecks<TypeParam> checks;
  const auto x = checks.matrix(3, 5), y = checks.matrix(3, 5);
  checks.fill();
  for (auto& number : y.values()) number = number + TypeParam(2.5);
  const auto naive = [&](auto f) {
    return [&, f] {
      twin::Outputs<TypeParam> z;
      for (std::size_t i = 0; i < x.size(); ++i) z.push_back(f(x.range()[i], y.range()[i]));
      return z;
    };
  };
  const auto same = [&](auto f, const char* what) {
    checks.expectSame([&] { return twin::elementsOf(f(x, y)); }, naive(f), what);
  };
  same([](auto a, auto b) { return a - b; }, "a - b");
  same([](auto a, auto b) { return a * b; }, "a * b");
  same([](auto a, auto b) { return a / b; }, "a / b");
  same([](auto a, auto b) { return 3.5 * a + b / 4 - 2; }, "3.5 a + b / 4 - 2");
  same([](auto a, auto b) { return 1 - a + 2 / b; }, "1 - a + 2 / b");
  same([](auto a, auto b) { return -a * 2 + (b - 7.0f); }, "-a * 2 + (b - 7)");
}
TYPED_TEST(MatmulTest, MeanSquaredErrorIsTheMeanOfSquares) {
  LayerChecks<TypeParam> checks;
  const auto x = checks.matrix(3, 5), y = checks.matrix(3, 5);
  checks.fill();
  checks.expectSame([&] { return std::vector{meanSquaredError(x, y)}; },
                    [&] {
                      twin::Outputs<TypeParam> squares;
                      for (std::size_t i = 0; i < x.size(); ++i)
                        squares.push_back(sqr(x.range()[i] - y.range()[i]));
                      return std::vector{reduceMean(squares)};
                    },
                    "mean squared error");
}
// Data have no gradients, and neither has what is computed from data alone.
TEST(Matmul, DataGetNoGradients) {
  LayerChecks<double> checks;
  const auto x = checks.matrix(3, 5), w = checks.matrix(5, 3);
  checks.fill();
  const auto plain = x.withoutGradient();
  EXPECT_FALSE((plain * 2.0 - plain).needsGradient());
  EXPECT_TRUE((plain + x).needsGradient());
  backward(meanSquaredError(matmul(w, plain) / 2.0, transpose(matmul(transpose(plain), transpose(w)))));
  backward(
      reduceSum((matmul(plain * plain, w) + transpose(relu(plain)).rowsFrom(0, 3)(0, 0).dataCopy()).range()));
  for (const double g : x.gradients()) EXPECT_EQ(g, 0);
  EXPECT_NE(w.gradients()[4], 0);
}
TEST(Matmul, RefusesShapesThatDoNotFit) {
  LayerChecks<double> checks;
  const auto x = checks.matrix(3, 4), y = checks.matrix(3, 4);
  EXPECT_EQ(sentenceOf([&] { matmul(x, y); }),
            "matmul: 3 x 4 by 3 x 4; expected as many rows as the first has columns");
  EXPECT_EQ(sentenceOf([&] { x - transpose(y); }),
            "sub: matrices of 3 x 4 and 4 x 3; expected the same shape");
}

}  // namespace matmul_test
}  // namespace burtorch
