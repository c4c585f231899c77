// Scalar operators over matrices beside the same operators on every number.
#include <burtorch/nn/elementwise.hpp>

#include <string>

#include "reference/error_sentence.hpp"
#include "reference/layer_checks.hpp"

namespace burtorch {
namespace elementwise_test {

template <class T> class ElementwiseTest : public testing::Test {};
using Scalars = testing::Types<float, double, Dual<double>>;
TYPED_TEST_SUITE(ElementwiseTest, Scalars);

/// Sizes around one, two and three vectors, and matrices.
constexpr std::size_t shapes[][2] = {{1, 1}, {1, 2}, {1, 3},  {1, 5},  {1, 7}, {1, 8},  {1, 9},
                                     {3, 5}, {2, 8}, {1, 17}, {1, 24}, {5, 5}, {7, 13}, {13, 24}};

template <class Op, class T> void expectTwin() {
  for (const auto& [rows, columns] : shapes) {
    LayerChecks<T> checks;
    const auto x = checks.matrix(rows, columns);
    checks.fill();
    for (T& number : x.values()) number = number * T{4};
    checks.expectSame([&] { return twin::elementsOf(map<Op>(x)); }, [&] { return twin::map<Op>(x); },
                      std::string(Op::name) + " of " + std::to_string(rows * columns));
  }
}
template <class Op, class T> void expectPairTwin(bool isSame) {
  for (const auto& [rows, columns] : shapes) {
    LayerChecks<T> checks;
    const auto x = checks.matrix(rows, columns), other = checks.matrix(rows, columns);
    checks.fill();
    const auto y = isSame ? x : other;
    checks.expectSame([&] { return twin::elementsOf(map<Op>(x, y)); }, [&] { return twin::map<Op>(x, y); },
                      std::string(Op::name) + " of " + std::to_string(rows * columns));
  }
}

TYPED_TEST(ElementwiseTest, Relu) { expectTwin<ops::Relu, TypeParam>(); }
TYPED_TEST(ElementwiseTest, Tanh) { expectTwin<ops::Tanh, TypeParam>(); }
TYPED_TEST(ElementwiseTest, Sigmoid) { expectTwin<ops::Sigmoid, TypeParam>(); }
TYPED_TEST(ElementwiseTest, Gelu) { expectTwin<ops::Gelu, TypeParam>(); }
TYPED_TEST(ElementwiseTest, GeluTanh) { expectTwin<ops::GeluTanh, TypeParam>(); }
TYPED_TEST(ElementwiseTest, Exp) { expectTwin<ops::Exp, TypeParam>(); }
TYPED_TEST(ElementwiseTest, Add) { expectPairTwin<ops::Add, TypeParam>(false); }
TYPED_TEST(ElementwiseTest, Mul) { expectPairTwin<ops::Mul, TypeParam>(false); }
TYPED_TEST(ElementwiseTest, Div) { expectPairTwin<ops::Div, TypeParam>(false); }
TYPED_TEST(ElementwiseTest, AddOfTheSameMatrix) { expectPairTwin<ops::Add, TypeParam>(true); }
TYPED_TEST(ElementwiseTest, MulOfTheSameMatrix) { expectPairTwin<ops::Mul, TypeParam>(true); }

TEST(Elementwise, OverlappingRowsOfOneMatrixAreAddedEachTime) {
  LayerChecks<float> checks;
  const auto all = checks.matrix(5, 3);
  checks.fill();
  const auto upper = all.rowsFrom(0, 4), lower = all.rowsFrom(1, 4);
  checks.expectSame([&] { return twin::elementsOf(map<ops::Mul>(upper, lower)); },
                    [&] { return twin::map<ops::Mul>(upper, lower); }, "overlapping rows");
}

TEST(Elementwise, FunctionsAreTheOperatorsOfTheirNames) {
  LayerChecks<double> checks;
  const auto x = checks.matrix(3, 5);
  checks.fill();
  const auto expectSameNumbers = [&](const Matrix<double>& y, const Matrix<double>& z) {
    EXPECT_EQ(y.rows(), 3u);
    EXPECT_EQ(y.columns(), 5u);
    for (std::size_t i = 0; i < 15; ++i) EXPECT_EQ(y.values()[i], z.values()[i]) << i;
  };
  expectSameNumbers(relu(x), map<ops::Relu>(x));
  expectSameNumbers(tanh(x), map<ops::Tanh>(x));
  expectSameNumbers(sigmoid(x), map<ops::Sigmoid>(x));
  expectSameNumbers(gelu(x), map<ops::Gelu>(x));
  expectSameNumbers(geluTanh(x), map<ops::GeluTanh>(x));
  expectSameNumbers(x + x, map<ops::Add>(x, x));
}

TEST(Elementwise, GradientsAreSlopes) {
  LayerChecks<double> checks;
  const auto x = checks.matrix(3, 5), y = checks.matrix(3, 5);
  checks.fill();
  checks.expectSlopes([&] { return twin::elementsOf(map<ops::Mul>(gelu(x), sigmoid(y) + tanh(x))); });
}

// relu's gate: what arrives at a closed one stays outside.
TEST(Elementwise, AnInfiniteGradientDoesNotPassAClosedGate) {
  LayerChecks<double> checks;
  const auto x = checks.matrix(1, 3);
  x(0, 0).setData(-0.5), x(0, 1).setData(0.5), x(0, 2).setData(0.0);
  const auto y = relu(x);
  const std::array roots{y(0, 0), y(0, 1), y(0, 2)};
  const double infinity = std::numeric_limits<double>::infinity();
  const std::array seeds{infinity, 2.0, infinity};
  backward(std::span<const Value<double>>(roots), std::span<const double>(seeds));
  EXPECT_EQ(x(0, 0).gradCopy(), 0);
  EXPECT_EQ(x(0, 1).gradCopy(), 2);
  EXPECT_EQ(x(0, 2).gradCopy(), 0);
}

/// Of the user's own; formula and opcode are left out.
struct Cube : UnaryOp {
  static constexpr std::string_view name = "cube";
  template <class T> static T value(T x) { return x * x * x; }
  template <class T> static T vjp(T g, T x, Unread) { return g * (T{3} * x * x); }
};
struct WeightedSum : BinaryOp {
  static constexpr std::string_view name = "weightedSum";
  template <class T> static T value(T x, T y) { return x + T{3} * y; }
  template <class T> static T vjpX(T g, Unread, Unread, Unread) { return g; }
  template <class T> static T vjpY(T g, Unread, Unread, Unread) { return T{3} * g; }
};
TEST(Elementwise, TakesOperatorsOfTheUsersOwn) {
  expectTwin<Cube, float>();
  expectPairTwin<WeightedSum, float>(false);
  expectPairTwin<WeightedSum, float>(true);
}

// PyTorch: 0 * inf of a node that was reached is passed on; of a node that was not, nothing is.
TEST(Elementwise, APoleReachedWithZeroGivesNan) {
  LayerChecks<double> checks;
  const auto x = checks.matrix(1, 3);
  for (double& number : x.values()) number = 0;
  backward(map<ops::Sqrt>(x)(0, 1) * 0.0);
  EXPECT_TRUE(std::isnan(x(0, 1).gradCopy()));
}
TEST(Elementwise, ADeadPoleDoesNotDisturb) {
  LayerChecks<double> checks;
  const auto x = checks.matrix(1, 3);
  for (double& number : x.values()) number = 0;
  map<ops::Sqrt>(x);
  backward(x(0, 1) * 3.0);
  EXPECT_EQ(x(0, 1).gradCopy(), 3);
  EXPECT_EQ(x(0, 0).gradCopy(), 0);
}

TEST(Elementwise, RefusesDifferentShapes) {
  LayerChecks<double> checks;
  const auto x = checks.matrix(3, 4), y = checks.matrix(4, 3);
  EXPECT_EQ(sentenceOf([&] { x + y; }), "add: matrices of 3 x 4 and 4 x 3; expected the same shape");
  EXPECT_EQ(sentenceOf([&] { map<ops::Mul>(x, y); }),
            "mul: matrices of 3 x 4 and 4 x 3; expected the same shape");
}

}  // namespace elementwise_test
}  // namespace burtorch
