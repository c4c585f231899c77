// Layer norm beside mean, variance and scalar arithmetic.
#include <burtorch/nn/layer_norm.hpp>

#include <string>

#include "reference/error_sentence.hpp"
#include "reference/layer_checks.hpp"

namespace burtorch {
namespace layer_norm_test {

template <class T> class LayerNormTest : public testing::Test {};
using Scalars = testing::Types<float, double, Dual<double>>;
TYPED_TEST_SUITE(LayerNormTest, Scalars);

template <class T> struct Normed {
  LayerChecks<T> checks;
  LayerNorm norm;
  Matrix<T> x;
  Normed(std::size_t rows, std::size_t columns)
      : norm((checks.guard(), checks.layout), "ln", rows), x(checks.matrix(rows, columns)) {
    checks.fill();
    // Two rows that nearly agree amplify rounding by their difference, in the second derivatives by its cube.
    if (rows == 2)
      for (T& top : x.row(0).values()) top = top + T(2.5);
  }
  auto layer() {
    return [this] { return twin::elementsOf(norm(x)); };
  }
  void expectTwin(const std::string& what) {
    checks.expectSame(
        layer(), [this] { return twin::layerNorm(norm.gain, norm.bias, norm.epsilon, x); }, what);
  }
};

TYPED_TEST(LayerNormTest, IsMeanAndVarianceAtEveryEdge) {
  for (const std::size_t rows : tileEdges)
    for (const std::size_t columns : columnCounts<TypeParam>()) {
      if (rows == 1) continue;
      Normed<TypeParam>(rows, columns)
          .expectTwin("layer norm " + std::to_string(rows) + " x " + std::to_string(columns));
    }
}

// Nothing is left of a single row. Its gradient cancels out of terms of the size of 1 / sqrt(1e-5).
TYPED_TEST(LayerNormTest, OneRowGivesTheBias) {
  Normed<TypeParam> normed(1, 8);
  const auto outcome = normed.checks.outcomeOf(normed.layer());
  for (const TypeParam& y : outcome.values)
    EXPECT_EQ(distance(y, normed.checks.parameters().values(normed.norm.bias)[0]), 0);
  for (const TypeParam& g : normed.x.gradients())
    EXPECT_LE(distance(g, TypeParam{0}), 317 * normed.checks.tolerance / 32);
}

TYPED_TEST(LayerNormTest, EpsilonIsItsOwn) {
  Normed<TypeParam> normed(7, 8);
  normed.norm.epsilon = 0.3;
  normed.expectTwin("epsilon 0.3");
}

// The mean of equal numbers is that number, to the last bit: PyTorch gives the bias too.
TEST(LayerNorm, AConstantColumnGivesTheBiasExactly) {
  for (const std::size_t rows : {3u, 5u, 24u, 100u})
    for (const float number : {0.7f, 1000.1f, 12345.678f, 1000000.5f, -3e30f, 1e-40f}) {
      Normed<float> normed(rows, 8);
      for (float& x : normed.x.values()) x = number;
      const auto y = normed.norm(normed.x);
      const auto bias = normed.checks.parameters().values(normed.norm.bias);
      for (std::size_t r = 0; r < rows; ++r)
        EXPECT_EQ(y(r, 3).dataCopy(), bias[r]) << rows << " x " << number;
    }
}

// 10000 +- 0.5: a variance taken as E[x^2] - E[x]^2 would be noise in single precision.
TEST(LayerNorm, ALargeMeanEatsNoDigits) {
  Normed<float> normed(4, 8);
  for (std::size_t i = 0; i < normed.x.size(); ++i)
    normed.x.values()[i] = 10000.0f + (i / 8 % 2 == 0 ? 0.5f : -0.5f);
  const auto y = normed.norm(normed.x);
  const auto gain = normed.checks.parameters().values(normed.norm.gain),
             bias = normed.checks.parameters().values(normed.norm.bias);
  for (std::size_t r = 0; r < 4; ++r)
    EXPECT_NEAR(y(r, 0).dataCopy(), bias[r] + (r % 2 == 0 ? gain[r] : -gain[r]), 1e-4) << r;
}

TEST(LayerNorm, GradientsAreSlopes) {
  Normed<double> normed(5, 8);
  normed.checks.expectSlopes(normed.layer());
}

TEST(LayerNorm, MakesItsParametersUnderPyTorchsNames) {
  ParameterLayout layout;
  const LayerNorm norm(layout, "ln1", 24);
  EXPECT_EQ(layout.name(norm.gain), "ln1.weight");
  EXPECT_EQ(layout.name(norm.bias), "ln1.bias");
  EXPECT_EQ(layout.size(), 48u);
}

TEST(LayerNorm, RefusesAnotherNumberOfRows) {
  LayerChecks<double> checks;
  const LayerNorm norm(checks.layout, "ln", 5);
  const auto x = checks.matrix(4, 8);
  EXPECT_EQ(sentenceOf([&] { norm(x); }), "LayerNorm: expected 5 rows, got 4");
}

TYPED_TEST(LayerNormTest, TakesAnyNumberOfColumns) {
  for (const std::size_t columns : manyColumns())
    Normed<TypeParam>(7, columns).expectTwin("columns " + std::to_string(columns));
}

}  // namespace layer_norm_test
}  // namespace burtorch
