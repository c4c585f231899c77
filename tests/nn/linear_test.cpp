// The linear layer beside inner products of scalars, for every edge of the tiles and every way to give it inputs.
#include <burtorch/nn/linear.hpp>

#include <string>

#include "reference/error_sentence.hpp"
#include "reference/layer_checks.hpp"

namespace burtorch {
namespace linear_test {

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
  EXPECT_EQ(sentenceOf([&] { linear(x); }), "Linear: expected 3 input rows, got 4");
}

TEST(Linear, RefusesInputsOfDifferentWidths) {
  LayerChecks<double> checks;
  const Linear linear(checks.block(2, 3));
  const std::array xs{checks.matrix(1, 8), checks.matrix(2, 16)};
  EXPECT_EQ(sentenceOf([&] { linear(std::span<const Matrix<double>>(xs)); }),
            "Linear: its inputs have 8 and 16 columns, expected the same");
}

TEST(Linear, RefusesNoInputAndTooMany) {
  LayerChecks<double> checks;
  const Linear linear(checks.block(2, 65));
  EXPECT_EQ(sentenceOf([&] { linear(std::span<const Matrix<double>>()); }),
            "Linear: expected 1 to 64 inputs, got 0");
  const std::vector<Matrix<double>> many(65, checks.matrix(1, 8));
  EXPECT_EQ(sentenceOf([&] { linear(std::span<const Matrix<double>>(many)); }),
            "Linear: expected 1 to 64 inputs, got 65");
}

TYPED_TEST(LinearTest, TakesAnyNumberOfColumns) {
  for (const std::size_t columns : manyColumns())
    for (const auto& [outputs, inputs] : {std::pair{1u, 1u}, {13u, 7u}, {5u, 24u}}) {
      const std::size_t rows[] = {inputs};
      expectTwin<TypeParam>(rows, outputs, columns, true);
    }
}

// Sums over very many inputs are taken in parts: PyTorch's own error is 2.4e-5 and 2.4e-3 here.
TEST(Linear, SumsOverManyInputsKeepTheirDigits) {
  for (const std::size_t inputs : {10'000u, 1'000'000u}) {
    ParameterLayout layout;
    const Linear linear(layout, "w", inputs, 1, false);
    ParameterStore<float> parameters(layout);
    for (float& w : parameters.values()) w = 1;
    Tape<float> tape(parameters);
    const CurrentTape here(tape);
    const auto y = linear(Matrix<float>(tape.leaves(inputs * 3, 0.1f), inputs, 3));
    const double exact = static_cast<double>(inputs) * static_cast<double>(0.1f);
    EXPECT_NEAR(static_cast<double>(y(0, 2).dataCopy()) / exact, 1, inputs == 10'000 ? 2.4e-5 : 2.4e-3)
        << inputs;
  }
}

TEST(Linear, InputsWithoutGradientsGetNone) {
  for (const std::size_t columns : {1u, 3u, 8u}) {
    LayerChecks<double> checks;
    const Linear linear(checks.block(4, 5), checks.block(4));
    const auto x = checks.matrix(5, columns);
    checks.fill();
    const auto wanted = checks.outcomeOf([&] { return twin::elementsOf(linear(x)); });
    const auto found = checks.outcomeOf([&] { return twin::elementsOf(linear(x.withoutGradient())); });
    EXPECT_EQ(found.values, wanted.values);
    const std::size_t leaves = found.gradients.size() - checks.layout.size();
    for (std::size_t i = 0; i < found.gradients.size(); ++i)
      EXPECT_EQ(found.gradients[i], i < leaves ? 0 : wanted.gradients[i]) << i;
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

}  // namespace linear_test
}  // namespace burtorch
