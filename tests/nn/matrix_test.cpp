// A block of nodes as a matrix, and layers on the tape: here one of the user's own, as core/layer.hpp shows it.
#include <burtorch/nn/matrix.hpp>

#include <gtest/gtest.h>

#include <array>
#include <burtorch/core/backward.hpp>
#include <burtorch/core/reduce.hpp>
#include <burtorch/viz/describe.hpp>
#include <string>
#include <vector>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace matrix_test {

using V = Value<double>;

class MatrixTest : public testing::Test {
 protected:
  Tape<double> tape;
  CurrentTape<double, defaultConfig> here{tape};
  const V before = 0.5;
  const std::array<double, 6> numbers{0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
  const Range<double> range = tape.leaves(std::span<const double>(numbers));
  const Matrix<double> x{range, 2, 3};
};

TEST_F(MatrixTest, IsARangeRowByRow) {
  EXPECT_EQ(x.rows(), 2u);
  EXPECT_EQ(x.columns(), 3u);
  EXPECT_EQ(x.size(), 6u);
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(x(i, j).dataCopy(), numbers[3 * i + j]);
}

TEST_F(MatrixTest, CopiesNothing) {
  const std::size_t size = tape.size();
  const Matrix<double> again(range, 3, 2);
  again(2, 1).setData(7);
  EXPECT_EQ(x(1, 2).dataCopy(), 7);
  EXPECT_EQ(tape.size(), size);
}

TEST_F(MatrixTest, RowsAndColumnsAreRanges) {
  EXPECT_EQ(reduceSum(x.row(1)).dataCopy(), 0.4 + 0.5 + 0.6);
  EXPECT_EQ(x.row(1).stride(), 1);
  EXPECT_EQ(x.column(1).size(), 2u);
  EXPECT_EQ(x.column(1)[0].dataCopy(), 0.2);
  EXPECT_EQ(x.column(1)[1].dataCopy(), 0.5);
}

TEST_F(MatrixTest, SomeOfItsRowsAreAMatrix) {
  const Matrix<double> y(range, 3, 2), low = y.rowsFrom(1, 2);
  EXPECT_EQ(low.rows(), 2u);
  EXPECT_EQ(low.columns(), 2u);
  EXPECT_EQ(low(0, 1).dataCopy(), 0.4);
  EXPECT_EQ(low(1, 0).dataCopy(), 0.5);
}

TEST_F(MatrixTest, ValuesAndGradientsAreSpans) {
  x.values()[4] = 9;
  EXPECT_EQ(x(1, 1).dataCopy(), 9);
  backward(x(1, 1) * x(0, 0));
  EXPECT_EQ(x.gradients()[0], 9);
  EXPECT_EQ(x.gradients()[4], 0.1);
  EXPECT_EQ(x.gradients()[5], 0);
}

TEST_F(MatrixTest, KnowsItsBlock) {
  EXPECT_EQ(x.block().first, 1u);
  EXPECT_EQ(x.block().count, 6u);
}

TEST_F(MatrixTest, RefusesARangeOfAnotherSize) {
  EXPECT_EQ(sentenceOf([&] { Matrix<double>(range, 2, 2); }),
            "a range of 6 nodes with stride 1 is not a Matrix of 2 x 2");
  EXPECT_EQ(codeOf([&] { Matrix<double>(range, 2, 2); }), ErrorCode::invalidArgument);
}
TEST_F(MatrixTest, RefusesARangeThatIsNotContiguous) {
  EXPECT_EQ(sentenceOf([&] { Matrix<double>(range.every(0, 2, 3), 1, 2); }),
            "a range of 2 nodes with stride 3 is not a Matrix of 1 x 2");
}
TEST_F(MatrixTest, RefusesElementsOutside) {
  EXPECT_EQ(sentenceOf([&] { x(2, 0); }), "element (2, 0) is out of range for a Matrix of 2 x 3");
  EXPECT_EQ(sentenceOf([&] { x(0, 3); }), "element (0, 3) is out of range for a Matrix of 2 x 3");
  EXPECT_EQ(codeOf([&] { x(0, 3); }), ErrorCode::outOfRange);
}
TEST_F(MatrixTest, RefusesRowsOutside) {
  EXPECT_EQ(sentenceOf([&] { x.rowsFrom(1, 2); }), "rows 1 to 3 are out of range for a Matrix of 2 rows");
  EXPECT_EQ(codeOf([&] { x.rowsFrom(1, 2); }), ErrorCode::outOfRange);
}

// ---- A layer of the user's own ----

/// factor * x + y, elementwise; the second result block holds factor * x.
struct Scaled : LayerOp {
  static constexpr std::string_view name = "scaled";
  template <class T> static void value(const Layer<T>& layer, T* results) {
    const NodeIndex count = layer.operandSize(0);
    for (NodeIndex i = 0; i < count; ++i) {
      results[count + i] = layer.operand(0)[i] * static_cast<double>(layer.own()[0]);
      results[i] = results[count + i] + layer.operand(1)[i];
    }
  }
  template <class T> static void vjp(const Layer<T>& layer) {
    for (NodeIndex i = 0; i < layer.operandSize(0); ++i) {
      const T g = layer.resultGradients()[i];
      layer.operandGradient(0)[i] += g * static_cast<double>(layer.own()[0]);
      layer.operandGradient(1)[i] += g;
    }
  }
};

Matrix<double> scaled(const Matrix<double>& x, const Matrix<double>& y, NodeIndex factor) {
  const Block operands[] = {x.block(), y.block()};
  return {recordLayer<Scaled, double>(operands, std::array{factor}, 2 * x.size()), x.rows(), x.columns()};
}

TEST_F(MatrixTest, AUsersLayerIsOneInstruction) {
  const std::size_t instructions = tape.used().instructions, size = tape.size();
  scaled(x, x, 3);
  EXPECT_EQ(tape.used().instructions, instructions + 1);
  EXPECT_EQ(tape.size(), size + 12);
}

TEST_F(MatrixTest, AUsersLayerHasValuesAndGradients) {
  const auto y = scaled(x, x, 3), z = scaled(y, x, 5);
  EXPECT_DOUBLE_EQ(z(1, 2).dataCopy(), 5 * (4 * 0.6) + 0.6);
  backward(z(1, 2) * 2.0);
  EXPECT_DOUBLE_EQ(x(1, 2).gradCopy(), 2 * (5 * 4 + 1));
  EXPECT_EQ(x(0, 0).gradCopy(), 0);
}

TEST_F(MatrixTest, OpOfAnElementIsTheLayer) {
  const auto y = scaled(x, x, 3);
  EXPECT_EQ(tape.opOf(y(0, 0).sysGetRawNodeIndex()).name, "scaled");
  EXPECT_EQ(tape.opOf(y(1, 2).sysGetRawNodeIndex()).name, "scaled");
  EXPECT_EQ(tape.opOf(y(1, 2).sysGetRawNodeIndex()).arity, Arity::layer);
  EXPECT_EQ(tape.opOf(x(1, 2).sysGetRawNodeIndex()).name, "leaf");
}

TEST_F(MatrixTest, AnElementAsTextNamesItsLayerAndOperands) {
  const auto small = Matrix<double>(range, 6, 1).rowsFrom(0, 2);
  V y = scaled(small, small, 2)(1, 0);
  y.setName("y");
  const std::string text = asString(y);
  EXPECT_EQ(text.substr(0, text.find(", data")), "y = scaled(#1, #2, #1, #2)");
  EXPECT_EQ(text.substr(text.find(", grad")), ", grad 0, #8");
}

TEST_F(MatrixTest, ALongTextSaysHowManyOperandsThereAre) {
  const std::string text = asString(scaled(x, x, 2)(0, 0));
  EXPECT_EQ(text.substr(0, text.find(", data")), "scaled(#1, #2, #3, #4, #5, #6, #1, #2, ... 12 in all)");
}

TEST_F(MatrixTest, WordsOfALayerAreItsOwnAndMore) {
  const std::array operands{x.block(), x.block()};
  const std::array<NodeIndex, 1> own{3};
  const std::array<NodeIndex, 4> more{};
  const std::size_t words = tape.used().words;
  recordLayer<Scaled, double>(operands, own, more, 12);
  EXPECT_EQ(tape.used().words, words + 1 + 2 * operands.size() + own.size() + more.size());
}

#if BURTORCH_CHECKS
TEST_F(MatrixTest, AMatrixFromBeforeARewindIsReported) {
  const auto mark = tape.mark();
  const auto y = scaled(x, x, 3);
  tape.rewind(mark);
  scaled(x, x, 3);
  EXPECT_NE(sentenceOf([&] { scaled(y, x, 3); }).find("from before a rewind"), std::string::npos);
}
TEST_F(MatrixTest, AMatrixOfAnotherTapeIsReported) {
  Tape<double> other;
  CurrentTape there(other);
  EXPECT_NE(sentenceOf([&] { scaled(x, x, 3); }).find("another tape"), std::string::npos);
}
#endif

}  // namespace matrix_test
}  // namespace burtorch
