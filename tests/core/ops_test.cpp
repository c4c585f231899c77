// Operators of one and two numbers and of a number and a constant, against the oracle (reference/op_oracle.hpp) and
// central differences. The cases walk burtorch::OpList: an operator that the oracle does not know fails here.
//
// Allowed is an error of 4 ulp of the exact result. Where a rule subtracts, it can lose more than that although every
// step is exact to half an ulp; the table `allowances` lists these rules, how much, and why. Poles, kinks and
// infinities are the matter of edges_test.cpp.
#include <gtest/gtest.h>

#include <burtorch/burtorch.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "reference/op_oracle.hpp"

namespace ops_test {

using burtorch::Arity;
using burtorch::CurrentTape;
using burtorch::Dual;
using burtorch::OpList;
using burtorch::Tape;
using burtorch::Value;
using oracle::Real;

constexpr double points[] = {-2.3, -0.4, 0.3, 0.7, 1.9, 6.0};
constexpr double constants[] = {-2.0, -1.0, -0.4, 0.0, 0.3, 0.5, 1.0, 1.9, 2.0, 2.5, 3.0};

struct Allowance {
  std::string_view name;
  bool ofSlope;
  Real (*inEpsilons)(Real x, Real want);  // on top of the 4 ulp, times the type's epsilon
  std::string_view reason;
};
const Allowance allowances[] = {
    {"tanh", true, [](Real, Real) { return Real{2}; }, "1 - y*y: y near 1 is known to an ulp of 1"},
    {"sigmoid", true, [](Real, Real) { return Real{1}; }, "1 - y: y near 1 is known to an ulp of 1"},
    {"expm1", true, [](Real, Real) { return Real{1}; }, "y + 1: y near -1 is known to an ulp of 1"},
    {"erf", true, [](Real x, Real want) { return x * x * std::fabs(want); },
     "exp(-x^2): the rounding of x^2 becomes a relative error"},
    {"gelu", false, [](Real x, Real) { return std::fabs(x); },
     "1 + erf: erf near -1 is known to an ulp of 1"},
    {"gelu", true, [](Real, Real) { return Real{2}; }, "1 + erf, and for x < 0 the two terms cancel"},
    {"geluTanh", false, [](Real x, Real) { return std::fabs(x); },
     "1 + tanh: tanh near -1 is known to an ulp of 1"},
    {"geluTanh", true, [](Real, Real) { return Real{2}; }, "1 + tanh, and for x < 0 the two terms cancel"},
};

template <class T> Real allowed(std::string_view name, bool ofSlope, Real x, Real want) {
  Real epsilons = 0;
  for (const Allowance& a : allowances)
    if (a.name == name && a.ofSlope == ofSlope) epsilons = a.inEpsilons(x, want);
  return 4 * oracle::ulpAt<T>(want) + epsilons * static_cast<Real>(std::numeric_limits<T>::epsilon());
}

template <class T> void expectNear(T got, Real want, Real tolerance, const char* what) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << what << " is " << got;
  } else if (std::isinf(want)) {
    EXPECT_EQ(static_cast<Real>(got), want) << what;
  } else {
    EXPECT_LE(std::fabs(static_cast<Real>(got) - want), tolerance)
        << what << ": " << got << " instead of " << static_cast<double>(want) << ", that is "
        << static_cast<double>((static_cast<Real>(got) - want) / oracle::ulpAt<T>(want)) << " ulp";
  }
}

template <class T> struct Answer { T value, dx, dy = T{0}; };

/// `Op` on numbers of any mode; y is its second operand or its constant.
template <class Op, class X, class Y> X carryOut(X x, [[maybe_unused]] Y y) {
  if constexpr (Op::arity == Arity::unary)
    return burtorch::apply<Op>(x);
  else if constexpr (Op::arity == Arity::binary)
    return burtorch::apply<Op>(x, X(y));
  else
    return burtorch::applyConstant<Op>(x, y);
}

template <class Op, class T> Answer<T> eager(T x, T y, T seed) {
  Tape<T> tape;
  CurrentTape here(tape);
  const Value<T> a(x), b(y);
  Value<T> z;
  if constexpr (Op::arity == Arity::binary)
    z = carryOut<Op>(a, b);
  else
    z = carryOut<Op>(a, y);
  backward(z, seed);
  return {z.dataCopy(), a.gradCopy(), b.gradCopy()};
}

template <class Op, class T> Answer<T> dual(T x, T y, T seed) {
  if constexpr (Op::arity == Arity::binary) {
    const auto alongX = carryOut<Op>(Dual<T>(x, seed), Dual<T>(y, 0));
    const auto alongY = carryOut<Op>(Dual<T>(x, 0), Dual<T>(y, seed));
    EXPECT_EQ(alongX.value, alongY.value);
    return {alongX.value, alongX.tangent, alongY.tangent};
  } else {
    const auto z = carryOut<Op>(Dual<T>(x, seed), y);
    return {z.value, z.tangent};
  }
}

template <class T> std::string pointOf(std::string_view op, T x, T y) {
  return std::string(op) + " at x = " + std::to_string(x) + ", y = " + std::to_string(y);
}

/// Calls visit.operator()<Op>() for every operator of a kind.
template <Arity arity, class Visit> void forEachOf(Visit visit) {
  OpList::forEach([&]<class Op>() {
    if constexpr (Op::arity == arity) visit.template operator()<Op>();
  });
}

/// Value and slopes in both modes and as a plain number, against the oracle's answer.
template <class Op, class T> void compare(T x, T y, Real value, Real dx, Real dy) {
  SCOPED_TRACE(pointOf(Op::name, x, y));
  const T plain = carryOut<Op>(x, y);
  expectNear(plain, value, allowed<T>(Op::name, false, x, value), "plain value");
  for (const T seed : {T{1}, T{-0.75}}) {
    const Answer<T> byTape = eager<Op>(x, y, seed), byDual = dual<Op>(x, y, seed);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(byTape.value));
      EXPECT_TRUE(std::isnan(byDual.value));
      continue;
    }
    EXPECT_EQ(byTape.value, plain);
    EXPECT_EQ(byDual.value, plain);
    const Real gx = static_cast<Real>(seed) * dx, gy = static_cast<Real>(seed) * dy;
    expectNear(byTape.dx, gx, allowed<T>(Op::name, true, x, gx), "dx by tape");
    expectNear(byDual.dx, gx, allowed<T>(Op::name, true, x, gx), "dx by dual");
    expectNear(byTape.dy, gy, allowed<T>(Op::name, true, y, gy), "dy by tape");
    expectNear(byDual.dy, gy, allowed<T>(Op::name, true, y, gy), "dy by dual");
  }
}

template <class T> class Ops : public testing::Test {};
using Scalars = testing::Types<double, float>;
struct ScalarName {
  template <class T> static std::string GetName(int) { return sizeof(T) == 8 ? "fp64" : "fp32"; }
};
TYPED_TEST_SUITE(Ops, Scalars, ScalarName);

TYPED_TEST(Ops, OfOneNumberAgreeWithTheOracle) {
  using T = TypeParam;
  forEachOf<Arity::unary>([]<class Op>() {
    const auto* rule = oracle::find(oracle::unaries, Op::name);
    ASSERT_NE(rule, nullptr) << "the oracle does not know " << Op::name;
    for (const double point : points) {
      const T x = static_cast<T>(point);
      compare<Op>(x, T{0}, rule->value(x), rule->slope(x), 0);
    }
  });
}

TYPED_TEST(Ops, OfTwoNumbersAgreeWithTheOracleAlsoAtTies) {
  using T = TypeParam;
  forEachOf<Arity::binary>([]<class Op>() {
    const auto* rule = oracle::find(oracle::binaries, Op::name);
    ASSERT_NE(rule, nullptr) << "the oracle does not know " << Op::name;
    for (const double first : points)
      for (const double second : points) {
        const T x = static_cast<T>(first), y = static_cast<T>(second);
        compare<Op>(x, y, rule->value(x, y), rule->slopeX(x, y), rule->slopeY(x, y));
      }
  });
}

TYPED_TEST(Ops, OfANumberAndAConstantAgreeWithTheOracleAlsoAtTies) {
  using T = TypeParam;
  forEachOf<Arity::constant>([]<class Op>() {
    const auto* rule = oracle::find(oracle::constants, Op::name);
    ASSERT_NE(rule, nullptr) << "the oracle does not know " << Op::name;
    for (const double point : points)
      for (const double constant : constants) {
        const T x = static_cast<T>(point), c = static_cast<T>(constant);
        compare<Op>(x, c, rule->value(x, c), rule->slopeX(x, c), 0);
      }
  });
}

// The oracle's tables and the allowances must not outlive the operators that they speak of.
TEST(Oracle, KnowsNoOperatorThatTheLibraryLacks) {
  std::set<std::string_view> names;
  OpList::forEach([&]<class Op>() { names.insert(Op::name); });
  EXPECT_EQ(names.size(), OpList::size) << "two operators share a name";
  for (const auto& rule : oracle::unaries) EXPECT_TRUE(names.count(rule.name)) << rule.name;
  for (const auto& rule : oracle::binaries) EXPECT_TRUE(names.count(rule.name)) << rule.name;
  for (const auto& rule : oracle::constants) EXPECT_TRUE(names.count(rule.name)) << rule.name;
  for (const auto& rule : oracle::lists) EXPECT_TRUE(names.count(rule.name)) << rule.name;
  for (const auto& allowance : allowances) EXPECT_TRUE(names.count(allowance.name)) << allowance.name;
}

// In fp64 only: differences of fp32 numbers have three digits. A tie of max and min has the slope 1/2 here too.
template <class F> void expectCentralDifference(F f, double x, double slope) {
  const double h = 1e-5 * std::fmax(1, std::fabs(x));
  const double difference = (f(x + h) - f(x - h)) / (2 * h);
  if (std::isnan(difference)) return;
  EXPECT_NEAR(slope, difference, 1e-6 * std::fmax(1, std::fabs(slope)));
}

TEST(CentralDifferences, AgreeWithOpsOfOneNumber) {
  forEachOf<Arity::unary>([]<class Op>() {
    for (const double x : points) {
      SCOPED_TRACE(pointOf(Op::name, x, 0.0));
      expectCentralDifference([](double at) { return carryOut<Op>(at, 0.0); }, x, eager<Op>(x, 0.0, 1.0).dx);
    }
  });
}

TEST(CentralDifferences, AgreeWithOpsOfTwoNumbers) {
  forEachOf<Arity::binary>([]<class Op>() {
    for (const double x : points)
      for (const double y : points) {
        SCOPED_TRACE(pointOf(Op::name, x, y));
        const auto answer = eager<Op>(x, y, 1.0);
        expectCentralDifference([y](double at) { return carryOut<Op>(at, y); }, x, answer.dx);
        expectCentralDifference([x](double at) { return carryOut<Op>(x, at); }, y, answer.dy);
      }
  });
}

TEST(CentralDifferences, AgreeWithOpsOfANumberAndAConstant) {
  forEachOf<Arity::constant>([]<class Op>() {
    for (const double x : points)
      for (const double c : constants) {
        if (Op::name == "divByConstant" && c == 0) continue;  // inf - inf
        SCOPED_TRACE(pointOf(Op::name, x, c));
        expectCentralDifference([c](double at) { return carryOut<Op>(at, c); }, x, eager<Op>(x, c, 1.0).dx);
      }
  });
}

// OPERATORS.md, "Accuracy": these are the IEEE operations themselves.
TYPED_TEST(Ops, ArithmeticIsBitEqualToIeee) {
  using T = TypeParam;
  namespace ops = burtorch::ops;
  for (const double first : points)
    for (const double second : points) {
      const T x = static_cast<T>(first), y = static_cast<T>(second);
      EXPECT_EQ((eager<ops::Add>(x, y, T{1}).value), x + y);
      EXPECT_EQ((eager<ops::Sub>(x, y, T{1}).value), x - y);
      EXPECT_EQ((eager<ops::Mul>(x, y, T{1}).value), x * y);
      EXPECT_EQ((eager<ops::Div>(x, y, T{1}).value), x / y);
      EXPECT_EQ((eager<ops::Max>(x, y, T{1}).value), x < y ? y : x);
      EXPECT_EQ((eager<ops::Sqr>(x, y, T{1}).value), x * x);
      EXPECT_EQ((eager<ops::Relu>(x, y, T{1}).value), x < 0 ? 0 : x);
      if (x >= 0) {
        EXPECT_EQ((eager<ops::Sqrt>(x, y, T{1}).value), std::sqrt(x));
      }
    }
}

/// That `f`, a public function, is `Op`: same operator on the tape, same value, same slope.
template <class Op, class F> void expectIs(F f, double constant = 0) {
  SCOPED_TRACE(Op::name);
  const double x = 0.7, y = 1.9;
  Tape<double> tape;
  CurrentTape here(tape);
  const Value<double> a(x), b(y);
  const Value<double> z = f(a, b);
  backward(z);
  const auto want = eager<Op>(x, Op::arity == Arity::constant ? constant : y, 1.0);
  EXPECT_EQ(tape.opOf(z.sysGetRawNodeIndex()).name, Op::name);
  EXPECT_EQ(z.dataCopy(), want.value);
  EXPECT_EQ(a.gradCopy(), want.dx);
  EXPECT_EQ(b.gradCopy(), want.dy);
}

TEST(PublicFunctions, OfOneNumberAreTheOperatorsOfTheirNames) {
  namespace ops = burtorch::ops;
  expectIs<ops::Relu>([](auto x, auto) { return relu(x); });
  expectIs<ops::Tanh>([](auto x, auto) { return tanh(x); });
  expectIs<ops::Exp>([](auto x, auto) { return exp(x); });
  expectIs<ops::NegLog>([](auto x, auto) { return negativeLog(x); });
  expectIs<ops::Sigmoid>([](auto x, auto) { return sigmoid(x); });
  expectIs<ops::Inv>([](auto x, auto) { return inv(x); });
  expectIs<ops::Sqr>([](auto x, auto) { return sqr(x); });
  expectIs<ops::Cub>([](auto x, auto) { return pow3(x); });
  expectIs<ops::Log>([](auto x, auto) { return logarithm(x); });
  expectIs<ops::Log>([](auto x, auto) { return log(x); });
  expectIs<ops::Sqrt>([](auto x, auto) { return sqrt(x); });
  expectIs<ops::InvSqrt>([](auto x, auto) { return invSqrt(x); });
  expectIs<ops::Neg>([](auto x, auto) { return -x; });
  expectIs<ops::Sin>([](auto x, auto) { return sin(x); });
  expectIs<ops::Cos>([](auto x, auto) { return cos(x); });
  expectIs<ops::Abs>([](auto x, auto) { return abs(x); });
  expectIs<ops::Softplus>([](auto x, auto) { return softplus(x); });
  expectIs<ops::Erf>([](auto x, auto) { return erf(x); });
  expectIs<ops::Gelu>([](auto x, auto) { return gelu(x); });
  expectIs<ops::GeluTanh>([](auto x, auto) { return geluTanh(x); });
  expectIs<ops::Log1p>([](auto x, auto) { return log1p(x); });
  expectIs<ops::Expm1>([](auto x, auto) { return expm1(x); });
}

TEST(PublicFunctions, OfTwoNumbersAreTheOperatorsOfTheirNames) {
  namespace ops = burtorch::ops;
  expectIs<ops::Add>([](auto x, auto y) { return x + y; });
  expectIs<ops::Sub>([](auto x, auto y) { return x - y; });
  expectIs<ops::Mul>([](auto x, auto y) { return x * y; });
  expectIs<ops::Div>([](auto x, auto y) { return x / y; });
  expectIs<ops::Add>([](auto x, auto y) { return add(x, y); });
  expectIs<ops::Sub>([](auto x, auto y) { return sub(x, y); });
  expectIs<ops::Mul>([](auto x, auto y) { return mul(x, y); });
  expectIs<ops::Div>([](auto x, auto y) { return div(x, y); });
  expectIs<ops::Mean>([](auto x, auto y) { return mean(x, y); });
  expectIs<ops::AddSquares>([](auto x, auto y) { return addSquares(x, y); });
  expectIs<ops::MeanSquares>([](auto x, auto y) { return meanSquares(x, y); });
  expectIs<ops::NegativeMean>([](auto x, auto y) { return negativeMean(x, y); });
  expectIs<ops::Max>([](auto x, auto y) { return max(x, y); });
  expectIs<ops::Min>([](auto x, auto y) { return min(x, y); });
}

TEST(PublicFunctions, TakeAPlainNumberOnEitherSide) {
  namespace ops = burtorch::ops;
  expectIs<ops::AddConst>([](auto x, auto) { return x + 3; }, 3);
  expectIs<ops::AddConst>([](auto x, auto) { return 3 + x; }, 3);
  expectIs<ops::AddConst>([](auto x, auto) { return x - 3; }, -3);
  expectIs<ops::AddConst>([](auto x, auto) { return x - 3u; }, -3);
  expectIs<ops::SubFromConst>([](auto x, auto) { return 3.5f - x; }, 3.5);
  expectIs<ops::MulByConst>([](auto x, auto) { return x * 1.7; }, 1.7);
  expectIs<ops::MulByConst>([](auto x, auto) { return 1.7 * x; }, 1.7);
  expectIs<ops::MulByConst>([](auto x, auto) { return mulByConstant(x, 1.7); }, 1.7);
  expectIs<ops::DivByConst>([](auto x, auto) { return x / 3; }, 3);
  expectIs<ops::ConstDiv>([](auto x, auto) { return 1.7 / x; }, 1.7);
  expectIs<ops::MaxConst>([](auto x, auto) { return max(x, 0.4); }, 0.4);
  expectIs<ops::MaxConst>([](auto x, auto) { return max(2, x); }, 2);
  expectIs<ops::MinConst>([](auto x, auto) { return min(x, 0.4); }, 0.4);
  expectIs<ops::MinConst>([](auto x, auto) { return min(2, x); }, 2);
  expectIs<ops::LeakyRelu>([](auto x, auto) { return leakyRelu(x, 0.2); }, 0.2);
  expectIs<ops::LeakyRelu>([](auto x, auto) { return leakyRelu(x); }, 0.01);
  expectIs<ops::Pow>([](auto x, auto) { return pow(x, 2.5); }, 2.5);
  expectIs<ops::Pow>([](auto x, auto) { return pow(x, -2); }, -2);
}

TEST(PublicFunctions, UnaryPlusIsTheNumberItself) {
  Tape<double> tape;
  CurrentTape here(tape);
  const Value<double> x(0.7);
  EXPECT_EQ((+x).sysGetRawNodeIndex(), x.sysGetRawNodeIndex());
}

TEST(PublicFunctions, WorkOnPlainNumbersToo) {
  EXPECT_EQ(burtorch::relu(-0.4), 0.0);
  EXPECT_EQ(burtorch::sqr(3.0f), 9.0f);
  EXPECT_EQ(burtorch::mean(1.0, 2.0), 1.5);
  EXPECT_EQ(burtorch::max(1.0, 2.0), 2.0);
  EXPECT_EQ(burtorch::leakyRelu(-2.0, 0.25), -0.5);
  EXPECT_EQ(burtorch::mulByConstant(3.0, 2), 6.0);
}

/// The derivative at 0.7 of an in-place form: `f(c, y)` rebinds c, which starts as x; y is another leaf, 1.9.
template <class F> Answer<double> inPlace(F f) {
  Tape<double> tape;
  CurrentTape here(tape);
  const Value<double> x(0.7), y(1.9);
  Value<double> c = x;
  f(c, y);
  backward(c);
  EXPECT_EQ(x.dataCopy(), 0.7) << "the old value is untouched";
  EXPECT_NE(c.sysGetRawNodeIndex(), x.sysGetRawNodeIndex()) << "the handle rebinds";
  return {c.dataCopy(), x.gradCopy(), y.gradCopy()};
}
void expectAnswer(const Answer<double>& got, double value, double dx, double dy) {
  EXPECT_DOUBLE_EQ(got.value, value);
  EXPECT_DOUBLE_EQ(got.dx, dx);
  EXPECT_DOUBLE_EQ(got.dy, dy);
}

TEST(InPlace, WithAnotherNode) {
  const double x = 0.7, y = 1.9;
  expectAnswer(inPlace([](auto& c, auto b) { c += b; }), x + y, 1, 1);
  expectAnswer(inPlace([](auto& c, auto b) { c -= b; }), x - y, 1, -1);
  expectAnswer(inPlace([](auto& c, auto b) { c *= b; }), x * y, y, x);
  expectAnswer(inPlace([](auto& c, auto b) { c /= b; }), x / y, 1 / y, -x / (y * y));
  expectAnswer(inPlace([](auto& c, auto b) { addInplace(c, b); }), x + y, 1, 1);
  expectAnswer(inPlace([](auto& c, auto b) { subInplace(c, b); }), x - y, 1, -1);
  expectAnswer(inPlace([](auto& c, auto b) { multInplace(c, b); }), x * y, y, x);
  expectAnswer(inPlace([](auto& c, auto b) { divInplace(c, b); }), x / y, 1 / y, -x / (y * y));
}

TEST(InPlace, WithItself) {
  // +c is c; compilers warn of c -= c.
  const double x = 0.7;
  expectAnswer(inPlace([](auto& c, auto) { c += c; }), 2 * x, 2, 0);
  expectAnswer(inPlace([](auto& c, auto) { c -= +c; }), 0, 0, 0);
  expectAnswer(inPlace([](auto& c, auto) { c *= c; }), x * x, 2 * x, 0);
  expectAnswer(inPlace([](auto& c, auto) { c /= +c; }), 1, 0, 0);
}

TEST(InPlace, WithAPlainNumber) {
  const double x = 0.7;
  expectAnswer(inPlace([](auto& c, auto) { c += 3; }), x + 3, 1, 0);
  expectAnswer(inPlace([](auto& c, auto) { c -= 3u; }), x - 3, 1, 0);
  expectAnswer(inPlace([](auto& c, auto) { c *= 1.7; }), x * 1.7, 1.7, 0);
  expectAnswer(inPlace([](auto& c, auto) { c /= 3; }), x / 3, 1.0 / 3, 0);
}

TEST(InPlace, ChainsCountEveryStep) {
  // c = ((x + x) * y - x)^2
  const double x = 0.7, y = 1.9, c = 2 * x * y - x;
  const auto answer = inPlace([](auto& v, auto b) {
    const auto start = v;
    v += v;
    v *= b;
    v -= start;
    v *= v;
  });
  EXPECT_NEAR(answer.value, c * c, 1e-15);
  EXPECT_NEAR(answer.dx, 2 * c * (2 * y - 1), 1e-14);
  EXPECT_NEAR(answer.dy, 2 * c * 2 * x, 1e-14);
}

TEST(InPlace, WorksOnDualNumbers) {
  Dual<double> c(0.7, 1.0);
  c += c;
  EXPECT_EQ(c.tangent, 2.0);
}

TEST(Comparisons, AreByValue) {
  Tape<double> tape;
  CurrentTape here(tape);
  const Value<double> x(0.7), same(0.7), y(1.9);
  EXPECT_TRUE(x == same);
  EXPECT_TRUE(x != y);
  EXPECT_TRUE(x < y);
  EXPECT_TRUE(y >= x);
  EXPECT_TRUE(x < 1);
  EXPECT_TRUE(1 < y);
  EXPECT_TRUE(x == 0.7);
}

TEST(Comparisons, WithNanAreFalse) {
  Tape<double> tape;
  CurrentTape here(tape);
  const Value<double> x(0.7), nan(std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(x < nan);
  EXPECT_FALSE(x >= nan);
  EXPECT_FALSE(nan == nan);
}

}  // namespace ops_test
