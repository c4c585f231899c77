// The linear layer beside inner products of scalars, for every edge of the tiles and every way to give it inputs.
#include <burtorch/nn/linear.hpp>

#include <string>

#include "reference/error_sentence.hpp"
#include "reference/layer_checks.hpp"

namespace burtorch {
namespace {

template <class T> class LinearTest : public testing::Test {};
using Scalars = testing::Types<float, double, Dual<double>>;
TYPED_TEST_SUITE(LinearTest, Scalars);

/// The layer with inputs of these numbers of rows.
template <class T>
void expectTwin(std::span<const std::size_t> inputs, std::size_t outputs, std::size_t columns, bool hasBias) {
  LayerChecks<T> checks;
  std::size_t rows = 0;
  std::string what = "linear " + std::to_string(outputs) + " x";
  for (const std::size_t input : inputs) {
    rows += input;
    what += ' ';  // not " " + ...: g++ 12 warns of that string at -O3
    what += std::to_string(input);
  }
  const Linear linear(checks.block(outputs, rows), hasBias ? checks.block(outputs) : Parameter{});
  std::vector<Matrix<T>> xs;
  for (const std::size_t input : inputs) xs.push_back(checks.matrix(input, columns));
  checks.fill();
  const std::span<const Matrix<T>> all(xs);
  checks.expectSame([&] { return twin::elementsOf(linear(all)); },
                    [&] { return twin::linear(linear.weight, linear.bias, all); },
                    what + ", columns " + std::to_string(columns));
}

TYPED_TEST(LinearTest, IsInnerProductsAtEveryEdgeOfTheTiles) {
  for (const std::size_t outputs : tileEdges)
    for (const std::size_t inputs : tileEdges)
      for (const std::size_t columns : columnCounts<TypeParam>())
        expectTwin<TypeParam>({{inputs}}, outputs, columns, true);
}

TYPED_TEST(LinearTest, DoesWithoutABias) {
  for (const std::size_t columns : columnCounts<TypeParam>()) {
    expectTwin<TypeParam>({{7}}, 13, columns, false);
    expectTwin<TypeParam>({{65}}, 6, columns, false);
  }
}

/// The layer whose sizes are part of its type, beside the one that learns them at run time: the same bits.
template <class T, std::size_t inputs, std::size_t outputs> void expectFixedIsTheSame(std::size_t columns) {
  LayerChecks<T> checks;
  const Linear linear(checks.block(outputs, inputs), checks.block(outputs));
  const FixedLinear<inputs, outputs> fixed(linear.weight, linear.bias);
  const auto x = checks.matrix(inputs, columns);
  checks.fill();
  checks.expectSame([&] { return twin::elementsOf(fixed(x)); }, [&] { return twin::elementsOf(linear(x)); },
                    "fixed sizes", 0);
}

TYPED_TEST(LinearTest, KnowsItsSizesAtCompileTimeToo) {
  for (const std::size_t columns : columnCounts<TypeParam>()) {
    expectFixedIsTheSame<TypeParam, 24, 24>(columns);
    expectFixedIsTheSame<TypeParam, 1, 13>(columns);
    expectFixedIsTheSame<TypeParam, 7, 1>(columns);
    expectFixedIsTheSame<TypeParam, 65, 5>(columns);
  }
}

TEST(Linear, FixedSizesMustFitTheWeight) {
  ParameterLayout layout;
  const FixedLinear<3, 2> fixed(layout, "layer");
  EXPECT_EQ(fixed.weight.rows, 2u);
  EXPECT_EQ(fixed.weight.columns, 3u);
  EXPECT_EQ(sentenceOf([&] { FixedLinear<2, 3> wrong(fixed.weight, fixed.bias); }),
            "a FixedLinear<2, 3> is given a weight of 2 x 3");
}

TYPED_TEST(LinearTest, ReadsAListOfInputsOneBelowTheOther) {
  const std::size_t inputs[] = {3, 1, 8, 13};
  for (const std::size_t outputs : {1u, 5u, 12u, 13u})
    for (const std::size_t columns : columnCounts<TypeParam>()) {
      expectTwin<TypeParam>(inputs, outputs, columns, true);
      expectTwin<TypeParam>(inputs, outputs, columns, false);
    }
}

TYPED_TEST(LinearTest, TakesTheSameInputTwice) {
  for (const std::size_t columns : {std::size_t{1}, 2 * nn::laneCount<TypeParam>}) {
    LayerChecks<TypeParam> checks;
    const Linear linear(checks.block(5, 6), checks.block(5));
    const auto x = checks.matrix(3, columns);
    checks.fill();
    const std::array both{x, x};
    const std::span<const Matrix<TypeParam>> inputs(both);
    checks.expectSame([&] { return twin::elementsOf(linear(inputs)); },
                      [&] { return twin::linear(linear.weight, linear.bias, inputs); }, "the same twice");
  }
}

TEST(Linear, GradientsAreSlopes) {
  for (const std::size_t columns : {1u, 8u}) {
    LayerChecks<double> checks;
    const Linear linear(checks.block(7, 5), checks.block(7));
    const auto x = checks.matrix(5, columns);
    checks.fill();
    checks.expectSlopes([&] { return twin::elementsOf(linear(x)); });
  }
}

TEST(Linear, MakesItsParametersUnderPyTorchsNames) {
  ParameterLayout layout;
  const Linear with(layout, "a", 3, 5), without(layout, "b", 5, 2, false);
  EXPECT_EQ(layout.name(with.weight), "a.weight");
  EXPECT_EQ(layout.name(with.bias), "a.bias");
  EXPECT_EQ(layout.name(without.weight), "b.weight");
  EXPECT_EQ(layout.size(), 15u + 5u + 10u);
  EXPECT_EQ(with.weight.rows, 5u);
  EXPECT_EQ(with.weight.columns, 3u);
  EXPECT_FALSE(without.bias.isPresent());
}

TEST(Linear, RefusesAnotherNumberOfRows) {
  LayerChecks<double> checks;
  const Linear linear(checks.block(2, 3));
  const auto x = checks.matrix(4, 8);
  EXPECT_EQ(sentenceOf([&] { linear(x); }), "a linear layer of 3 inputs is given 4");
}

TEST(Linear, RefusesInputsOfDifferentWidths) {
  LayerChecks<double> checks;
  const Linear linear(checks.block(2, 3));
  const std::array xs{checks.matrix(1, 8), checks.matrix(2, 16)};
  EXPECT_EQ(sentenceOf([&] { linear(std::span<const Matrix<double>>(xs)); }),
            "inputs of a linear layer have 8 and 16 columns");
}

TEST(Linear, RefusesNoInputAndTooMany) {
  LayerChecks<double> checks;
  const Linear linear(checks.block(2, 65));
  EXPECT_EQ(sentenceOf([&] { linear(std::span<const Matrix<double>>()); }),
            "a linear layer of 0 inputs: 1 to 64");
  const std::vector<Matrix<double>> many(65, checks.matrix(1, 8));
  EXPECT_EQ(sentenceOf([&] { linear(std::span<const Matrix<double>>(many)); }),
            "a linear layer of 65 inputs: 1 to 64");
}

// More than one column, but no whole vectors: some would be left out.
TEST(Linear, RefusesColumnsThatFillNoVectors) {
  constexpr std::size_t lanes = nn::laneCount<float>;
  LayerChecks<float> checks;
  const Linear linear(checks.block(2, 3));
  for (const std::size_t columns : {std::size_t{2}, lanes - 1, lanes + 1, 2 * lanes + 2}) {
    const auto x = checks.matrix(3, columns);
    EXPECT_EQ(sentenceOf([&] { linear(x); }), "a linear layer is given " + std::to_string(columns) +
                                                  " columns: one or a multiple of " + std::to_string(lanes) +
                                                  ", fill them up");
  }
}

TEST(Linear, TakesAsManyInputsAsItSays) {
  LayerChecks<double> checks;
  const Linear linear(checks.block(2, 64), checks.block(2));
  const std::vector<Matrix<double>> many(64, checks.matrix(1, 8));
  checks.fill();
  const std::span<const Matrix<double>> inputs(many);
  checks.expectSame([&] { return twin::elementsOf(linear(inputs)); },
                    [&] { return twin::linear(linear.weight, linear.bias, inputs); }, "64 inputs");
}

TEST(Linear, AnErrorRecordsNothing) {
  LayerChecks<double> checks;
  const Linear linear(checks.block(2, 3));
  const auto x = checks.matrix(4, 8);
  const std::size_t before = checks.tape.size();
  EXPECT_FALSE(sentenceOf([&] { linear(x); }).empty());
  EXPECT_EQ(checks.tape.size(), before);
}

}  // namespace
}  // namespace burtorch
