// Softmax of columns against the operator of lists, value and gradient, for columns that fill vectors and others.
#include <burtorch/nn/softmax.hpp>

#include <gtest/gtest.h>

#include <burtorch/burtorch.hpp>
#include <cmath>

namespace burtorch {
namespace softmax_test {

template <class T> void expectLikeLists(std::size_t rows, std::size_t columns, double tolerance) {
  SCOPED_TRACE(testing::Message() << rows << " x " << columns);
  Tape<T> tape;
  const CurrentTape here(tape);
  const Matrix<T> x(tape.leaves(rows * columns), rows, columns);
  for (std::size_t i = 0; i < x.size(); ++i)
    x.values()[i] = static_cast<T>(3 * std::sin(1.7 * static_cast<double>(i)));
  const auto y = softmax(x);
  Value<T> root(T{0}), twin(T{0});
  for (std::size_t c = 0; c < columns; ++c) {
    const auto list = softmax(x.column(c));
    for (std::size_t r = 0; r < rows; ++r) {
      EXPECT_NEAR(y(r, c).dataCopy(), list[r].dataCopy(), tolerance);
      const T factor = static_cast<T>(std::cos(static_cast<double>(r * columns + c)));
      root = root + y(r, c) * factor;
      twin = twin + list[r] * factor;
    }
  }
  backward(root);
  const std::vector<T> found(x.gradients().begin(), x.gradients().end());
  tape.zeroGrad();
  backward(twin);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(found[i], x.gradients()[i], tolerance) << i;
}

TEST(SoftmaxOfColumns, IsThatOfLists) {
  for (const std::size_t rows : {1u, 2u, 5u, 27u})
    for (const std::size_t columns : {1u, 3u, 8u, 19u}) {
      expectLikeLists<double>(rows, columns, 1e-15);
      expectLikeLists<float>(rows, columns, 5e-7);
    }
}
TEST(SoftmaxOfColumns, SurvivesLargeNumbers) {
  Tape<float> tape;
  const CurrentTape here(tape);
  const Matrix<float> x(tape.leaves(2), 2, 1);
  x.values()[0] = 1000;
  x.values()[1] = 999;
  EXPECT_NEAR(softmax(x)(0, 0).dataCopy(), 0.7310586f, 1e-6f);
}

}  // namespace softmax_test
}  // namespace burtorch
