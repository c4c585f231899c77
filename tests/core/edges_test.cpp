// Operators at zeros, denormals, the ends of the range, infinities and NaN, times upstream gradients of the same kinds.
//
// Two judges. reference/edges.txt is what PyTorch answers, 34,440 lines, made by reference/make_edges.py: the class of
// every number (NaN, an infinity with its sign, zero, finite) must be the same, and finite ones within 4 ulp; where the
// library deliberately answers differently, `deviations` says why and how many lines that concerns, exactly. And the
// table of special points, as our own contract, case by case.
#include <gtest/gtest.h>

#include <algorithm>
#include <burtorch/burtorch.hpp>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "reference/op_oracle.hpp"

namespace edges_test {

using burtorch::Arity;
using burtorch::CurrentTape;
using burtorch::Dual;
using burtorch::OpList;
using burtorch::Tape;
using burtorch::Value;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T> struct Answer { T value, dx, dy = T{0}; };

/// Records `Op` on x and y, or x and a constant, and sweeps with the given upstream gradient.
template <class Op, class T> Answer<T> record(T x, T y, T upstream) {
  Tape<T> tape;
  CurrentTape here(tape);
  const Value<T> a(x), b(y);
  Value<T> z;
  if constexpr (Op::arity == Arity::unary)
    z = burtorch::apply<Op>(a);
  else if constexpr (Op::arity == Arity::binary)
    z = burtorch::apply<Op>(a, b);
  else
    z = burtorch::applyConstant<Op>(a, y);
  backward(z, upstream);
  return {z.dataCopy(), a.gradCopy(), b.gradCopy()};
}

template <class T> using Record = Answer<T> (*)(T x, T y, T upstream);

template <class T> const std::map<std::string_view, Record<T>>& recorders() {
  static const auto all = [] {
    std::map<std::string_view, Record<T>> map;
    OpList::forEach([&]<class Op>() {
      if constexpr (Op::arity == Arity::unary || Op::arity == Arity::binary || Op::arity == Arity::constant)
        map[Op::name] = &record<Op, T>;
    });
    return map;
  }();
  return all;
}

/// How an operator of edges.txt is called here; with a constant if the file leaves it to the name.
struct Spelling {
  std::string_view here;
  double constant = nan;
};
Spelling spellingOf(const std::string& name) {
  static const std::map<std::string_view, Spelling> others = {
      {"mulc", {"mulByConstant"}},        {"addc", {"addConstant"}},  {"csub", {"subFromConstant"}},
      {"divc", {"divByConstant"}},        {"cdiv", {"constantDiv"}},  {"softplus_logaddexp", {"softplus"}},
      {"leakyRelu", {"leakyRelu", 0.01}}, {"gelu_tanh", {"geluTanh"}}};
  if (const auto found = others.find(name); found != others.end()) return found->second;
  if (name.starts_with("pow_")) return {"pow", std::stod(name.substr(4))};
  return {name};
}

template <class T> T fromBits(const std::string& hex) {
  const std::uint64_t wide = std::stoull(hex, nullptr, 16);
  T number;
  if constexpr (sizeof(T) == 8) {
    std::memcpy(&number, &wide, sizeof number);
  } else {
    const auto narrow = static_cast<std::uint32_t>(wide);
    std::memcpy(&number, &narrow, sizeof number);
  }
  return number;
}

/// One line of edges.txt, all numbers exact as double.
struct Line {
  std::string op, text;
  bool isDouble = true;
  double x = 0, y = nan, upstream = 0, value = 0, dx = 0, dy = 0;
  bool hasDy = false;
};

template <class T> Line parse(const std::vector<std::string>& words, const std::string& text) {
  const auto at = [&](std::size_t i) { return static_cast<double>(fromBits<T>(words.at(i))); };
  Line line{.op = words[0], .text = text, .isDouble = sizeof(T) == 8};
  std::size_t next = 3;
  line.x = at(next++);
  if (words[2] != "1") line.y = at(next++);
  line.upstream = at(next++);
  line.value = at(next++);
  line.dx = at(next++);
  line.hasDy = words[2] == "2";
  if (line.hasDy) line.dy = at(next++);
  EXPECT_EQ(next, words.size()) << text;
  return line;
}

std::vector<Line> readEdges() {
  std::ifstream file(BURTORCH_TEST_DATA "/edges.txt");
  EXPECT_TRUE(file.is_open()) << BURTORCH_TEST_DATA "/edges.txt";
  std::vector<Line> lines;
  for (std::string text; std::getline(file, text);) {
    if (text.empty() || text[0] == '#') continue;
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.size() < 3) {
      ADD_FAILURE() << text;
      continue;
    }
    lines.push_back(words[1] == "f64" ? parse<double>(words, text) : parse<float>(words, text));
  }
  return lines;
}

/// NaN, +inf, -inf, zero of any sign, finite.
int classOf(double x) {
  if (std::isnan(x)) return 0;
  if (std::isinf(x)) return x > 0 ? 1 : 2;
  return x == 0 ? 3 : 4;
}

bool isDenormal(double x, bool isDouble) {
  const double least =
      isDouble ? std::numeric_limits<double>::min() : double{std::numeric_limits<float>::min()};
  return x != 0 && std::fabs(x) < least;
}

/// Lines on which the library deliberately does not answer as torch does. `count` is how many there are, no more and no
/// fewer: a line that begins or ceases to differ fails the test. The sign of a zero is not compared: a leaf's gradient, a
/// sum that starts at 0, is never -0.
struct Deviation {
  std::string_view op;
  std::size_t count;
  bool (*concerns)(const Line&);
  std::string_view reason;
};
const Deviation deviations[] = {
    {"sigmoid", 17, [](const Line& l) { return l.x == -710 || l.x == -89 || (l.x < -103.8 && l.x > -104); },
     "torch's 1 / (1 + exp(-x)) overflows inside and answers 0 where the result is a denormal"},
    {"softplus_logaddexp", 8,
     [](const Line& l) { return l.x == -710 || l.x == -89 || (l.x < -103.8 && l.x > -104); },
     "its slope is the sigmoid, and torch's is 0 there"},
    {"inv", 28,
     [](const Line& l) {
       return std::isinf(l.upstream) ? std::fabs(l.x) > 1e29 : l.upstream == 0 && std::fabs(l.x) < 1e-29;
     },
     "torch has (-g) * (y * y), ours is -(g * y) * y: y * y overflows or vanishes before the product does"},
    {"abs", 7, [](const Line& l) { return std::isnan(l.x); }, "NaN wins; torch's sign(NaN) is 0"},
    {"log1p", 24, [](const Line& l) { return isDenormal(l.x, l.isDouble); },
     "log1p(x) = x for the least denormal, as libm has it; torch answers 0"},
    {"meanSquares", 156,
     [](const Line& l) { return isDenormal(l.x, l.isDouble) || isDenormal(l.y, l.isDouble); },
     "g * x; torch sums (g/2) * x twice, and half of the least denormal is 0"},
};

/// How far from torch a finite result may be. Both round, and the libraries' exp and tanh differ by an ulp.
template <class T> double allowed(const Line& line, double want, bool isSlope) {
  const double ulps = static_cast<double>(4 * oracle::ulpAt<T>(want));
  // 1 - y*y, and gelu's 1 + tanh: y near 1 is known to an ulp of 1, on either side.
  if ((line.op == "tanh" || line.op == "gelu_tanh") && isSlope)
    return ulps + std::numeric_limits<T>::epsilon() * std::fabs(line.upstream);
  return ulps;
}

/// What is different from torch on this line; empty if nothing is.
template <class T> std::string differences(const Line& line) {
  const Spelling spelling = spellingOf(line.op);
  const auto found = recorders<T>().find(spelling.here);
  if (found == recorders<T>().end()) return " there is no such operator";
  const T y = static_cast<T>(std::isnan(spelling.constant) ? line.y : spelling.constant);
  const Answer<T> got = found->second(static_cast<T>(line.x), y, static_cast<T>(line.upstream));
  std::ostringstream all;
  all.precision(17);
  const auto compare = [&](const char* what, double mine, double torch, bool isSlope) {
    if (classOf(mine) == classOf(torch) &&
        (classOf(mine) != 4 || std::fabs(mine - torch) <= allowed<T>(line, torch, isSlope)))
      return;
    all << " " << what << " is " << mine << ", torch has " << torch << ";";
  };
  compare("value", got.value, line.value, false);
  compare("dx", got.dx, line.dx, true);
  if (line.hasDy) compare("dy", got.dy, line.dy, true);
  return all.str();
}

TEST(Torch, AgreesOnEveryLineThatIsNotADeliberateDeviation) {
  std::map<const Deviation*, std::size_t> counts;
  std::set<std::string_view> seen;
  const std::vector<Line> lines = readEdges();
  for (const Line& line : lines) {
    seen.insert(spellingOf(line.op).here);
    const std::string different = line.isDouble ? differences<double>(line) : differences<float>(line);
    if (different.empty()) continue;
    const auto deviation =
        std::find_if(std::begin(deviations), std::end(deviations),
                     [&](const Deviation& d) { return d.op == line.op && d.concerns(line); });
    if (deviation != std::end(deviations)) {
      ++counts[deviation];
    } else {
      ADD_FAILURE() << line.text << "\nx = " << line.x << ", y = " << line.y
                    << ", upstream = " << line.upstream << ":" << different;
    }
  }
  EXPECT_EQ(lines.size(), 34440u);
  for (const Deviation& d : deviations) EXPECT_EQ(counts[&d], d.count) << d.op << ": " << d.reason;
  // Torch has no max and min with a constant; max and min stand for them.
  std::size_t met = 0;
  for (const auto& [name, recorder] : recorders<double>())
    if (seen.count(name) || name == "maxConstant" || name == "minConstant")
      ++met;
    else  // an operator may be added without PyTorch; it then waits for reference/make_edges.py
      std::cout << "edges.txt has no line on " << name << "\n";
  EXPECT_GE(met, 39u);
}

template <class T> class SpecialPoints : public testing::Test {};
using Scalars = testing::Types<double, float>;
struct ScalarName {
  template <class T> static std::string GetName(int) { return sizeof(T) == 8 ? "fp64" : "fp32"; }
};
TYPED_TEST_SUITE(SpecialPoints, Scalars, ScalarName);

void expectClass(double got, double want, const char* what) {
  EXPECT_EQ(classOf(got), classOf(want)) << what << " is " << got << " instead of " << want;
  if (classOf(want) == 4) {
    EXPECT_EQ(got, want) << what;
  }
}
/// The same to the sign of zero.
void expectSame(double got, double want, const char* what) {
  expectClass(got, want, what);
  if (want == 0) {
    EXPECT_EQ(std::signbit(got), std::signbit(want)) << what << " is a zero of the wrong sign";
  }
}

struct Special {
  double x, value, slope;
};
/// By dual numbers to the sign of zero; by the tape too, but there a gradient, 0 + slope, has no -0.
template <class Op, class T> void expectSpecial(std::initializer_list<Special> cases) {
  for (const Special& c : cases) {
    SCOPED_TRACE(std::string(Op::name) + " at " + std::to_string(c.x));
    const T x = static_cast<T>(c.x);
    const Dual<T> y = burtorch::apply<Op>(Dual<T>(x, T{1}));
    expectSame(y.value, c.value, "value");
    expectSame(y.tangent, c.slope, "slope");
    const Answer<T> byTape = record<Op>(x, T{0}, T{1});
    expectSame(byTape.value, c.value, "value on the tape");
    expectClass(byTape.dx, c.slope, "gradient");
  }
}

TYPED_TEST(SpecialPoints, Relu) {
  expectSpecial<burtorch::ops::Relu, TypeParam>(
      {{0, 0, 0}, {-0.0, -0.0, 0}, {inf, inf, 1}, {-inf, 0, 0}, {nan, nan, 1}});
}
TYPED_TEST(SpecialPoints, Tanh) {
  expectSpecial<burtorch::ops::Tanh, TypeParam>(
      {{0, 0, 1}, {-0.0, -0.0, 1}, {inf, 1, 0}, {-inf, -1, 0}, {nan, nan, nan}});
}
TYPED_TEST(SpecialPoints, Exp) {
  expectSpecial<burtorch::ops::Exp, TypeParam>(
      {{0, 1, 1}, {-0.0, 1, 1}, {inf, inf, inf}, {-inf, 0, 0}, {nan, nan, nan}});
}
TYPED_TEST(SpecialPoints, Log) {
  expectSpecial<burtorch::ops::Log, TypeParam>(
      {{0, -inf, inf}, {-0.0, -inf, -inf}, {inf, inf, 0}, {-inf, nan, -0.0}, {nan, nan, nan}, {-1, nan, -1}});
}
TYPED_TEST(SpecialPoints, NegativeLog) {
  expectSpecial<burtorch::ops::NegLog, TypeParam>(
      {{0, inf, -inf}, {-0.0, inf, inf}, {inf, -inf, -0.0}, {-inf, nan, 0}, {nan, nan, nan}});
}
TYPED_TEST(SpecialPoints, Sigmoid) {
  expectSpecial<burtorch::ops::Sigmoid, TypeParam>(
      {{0, 0.5, 0.25}, {-0.0, 0.5, 0.25}, {inf, 1, 0}, {-inf, 0, 0}, {nan, nan, nan}});
}
TYPED_TEST(SpecialPoints, Inv) {
  expectSpecial<burtorch::ops::Inv, TypeParam>(
      {{0, inf, -inf}, {-0.0, -inf, -inf}, {inf, 0, -0.0}, {-inf, -0.0, -0.0}, {nan, nan, nan}});
}
TYPED_TEST(SpecialPoints, Sqr) {
  expectSpecial<burtorch::ops::Sqr, TypeParam>(
      {{0, 0, 0}, {-0.0, 0, -0.0}, {inf, inf, inf}, {-inf, inf, -inf}, {nan, nan, nan}});
}
TYPED_TEST(SpecialPoints, Pow3) {
  expectSpecial<burtorch::ops::Cub, TypeParam>(
      {{0, 0, 0}, {-0.0, -0.0, 0}, {inf, inf, inf}, {-inf, -inf, inf}, {nan, nan, nan}});
}
TYPED_TEST(SpecialPoints, Sqrt) {
  expectSpecial<burtorch::ops::Sqrt, TypeParam>(
      {{0, 0, inf}, {-0.0, -0.0, -inf}, {inf, inf, 0}, {-inf, nan, nan}, {nan, nan, nan}});
}
TYPED_TEST(SpecialPoints, InvSqrt) {
  expectSpecial<burtorch::ops::InvSqrt, TypeParam>(
      {{0, inf, -inf}, {-0.0, -inf, inf}, {inf, 0, -0.0}, {-inf, nan, nan}, {nan, nan, nan}});
}
TYPED_TEST(SpecialPoints, AbsHasSlopeZeroAtTheKinkAndNanWins) {
  expectSpecial<burtorch::ops::Abs, TypeParam>(
      {{0, 0, 0}, {-0.0, 0, -0.0}, {inf, inf, 1}, {-inf, inf, -1}, {nan, nan, nan}});
}

TYPED_TEST(SpecialPoints, Division) {
  using T = TypeParam;
  using Div = burtorch::ops::Div;
  struct Case {
    double x, y, value, dx, dy;
  };
  for (const Case& c : {Case{1, 0, inf, inf, -inf}, Case{0, 0, nan, inf, nan}, Case{1, inf, 0, 0, -0.0}}) {
    SCOPED_TRACE(std::to_string(c.x) + " / " + std::to_string(c.y));
    const T x = static_cast<T>(c.x), y = static_cast<T>(c.y), z = x / y;
    const Answer<T> got = record<Div>(x, y, T{1});
    expectSame(got.value, c.value, "value");
    expectClass(got.dx, c.dx, "dx");
    expectClass(got.dy, c.dy, "dy");
    expectSame(Div::vjpX(T{1}, x, y, z), c.dx, "dx");
    expectSame(Div::vjpY(T{1}, x, y, z), c.dy, "dy");
  }
}
// x / y^2 by way of y * y would be 0 / 0 and 1 / inf here.
TYPED_TEST(SpecialPoints, SlopeOfADivisionSurvivesWhereTheSquareOfTheDivisorDoesNot) {
  using T = TypeParam;
  const T large = std::sqrt(std::numeric_limits<T>::max()) * T{1024};
  EXPECT_EQ(record<burtorch::ops::Div>(large * T{4}, large, T{1}).dy, -T{4} / large);
  const T small = T{1} / large;
  EXPECT_EQ(record<burtorch::ops::Div>(small / T{4}, small, T{1}).dy, -T{0.25} / small);
}

TYPED_TEST(SpecialPoints, AClosedReluLetsNothingThrough) {
  using T = TypeParam;
  for (const double x : {0.0, -0.0, -0.4, -inf})
    for (const double upstream : {inf, -inf, nan})
      EXPECT_EQ(record<burtorch::ops::Relu>(static_cast<T>(x), T{0}, static_cast<T>(upstream)).dx, T{0})
          << "x = " << x << ", upstream = " << upstream;
}
TYPED_TEST(SpecialPoints, AnOpenReluLetsEverythingThrough) {
  using T = TypeParam;
  for (const double upstream : {inf, -inf, nan, -0.75, 0.0})
    expectClass(record<burtorch::ops::Relu>(T{0.4f}, T{0}, static_cast<T>(upstream)).dx, upstream,
                "gradient");
}

TYPED_TEST(SpecialPoints, TiesOfMaxAndMinShareTheGradient) {
  using T = TypeParam;
  for (const double x : {0.0, 0.7, -2.3, inf, -inf}) {
    const T t = static_cast<T>(x);
    const Answer<T> larger = record<burtorch::ops::Max>(t, t, T{1}),
                    smaller = record<burtorch::ops::Min>(t, t, T{1});
    for (const Answer<T>& answer : {larger, smaller}) {
      EXPECT_EQ(answer.value, t);
      EXPECT_EQ(answer.dx, T{0.5});
      EXPECT_EQ(answer.dy, T{0.5});
    }
  }
}
TYPED_TEST(SpecialPoints, ZerosOfOppositeSignTie) {
  using T = TypeParam;
  EXPECT_EQ(record<burtorch::ops::Max>(T{0}, T{-0.0f}, T{1}).dx, T{0.5});
  EXPECT_EQ(record<burtorch::ops::Min>(T{0}, T{-0.0f}, T{1}).dy, T{0.5});
}
TYPED_TEST(SpecialPoints, OfZerosOfOppositeSignTheFirstIsTaken) {
  using T = TypeParam;
  EXPECT_FALSE(std::signbit(record<burtorch::ops::Max>(T{0}, T{-0.0f}, T{1}).value));
  EXPECT_TRUE(std::signbit(record<burtorch::ops::Max>(T{-0.0f}, T{0}, T{1}).value));
  EXPECT_FALSE(std::signbit(record<burtorch::ops::Min>(T{0}, T{-0.0f}, T{1}).value));
  EXPECT_TRUE(std::signbit(record<burtorch::ops::Min>(T{-0.0f}, T{0}, T{1}).value));
}
TYPED_TEST(SpecialPoints, NanWinsInMaxAndMin) {
  using T = TypeParam;
  const T x = T{0.7f}, none = static_cast<T>(nan);
  EXPECT_TRUE(std::isnan(record<burtorch::ops::Max>(x, none, T{1}).value));
  EXPECT_TRUE(std::isnan(record<burtorch::ops::Max>(none, x, T{1}).value));
  EXPECT_TRUE(std::isnan(record<burtorch::ops::Min>(x, none, T{1}).value));
  EXPECT_TRUE(std::isnan(record<burtorch::ops::Min>(none, x, T{1}).value));
  EXPECT_TRUE(std::isnan(record<burtorch::ops::MaxConst>(none, x, T{1}).value));
  EXPECT_TRUE(std::isnan(record<burtorch::ops::MaxConst>(x, none, T{1}).value));
  EXPECT_TRUE(std::isnan(record<burtorch::ops::MinConst>(none, x, T{1}).value));
  EXPECT_TRUE(std::isnan(record<burtorch::ops::MinConst>(x, none, T{1}).value));
}

TYPED_TEST(SpecialPoints, UpstreamZeroAtAPoleGivesNan) {
  using T = TypeParam;
  EXPECT_TRUE(std::isnan(record<burtorch::ops::Log>(T{0}, T{0}, T{0}).dx));
  EXPECT_TRUE(std::isnan(record<burtorch::ops::Inv>(T{0}, T{0}, T{0}).dx));
  EXPECT_TRUE(std::isnan(record<burtorch::ops::Sqrt>(T{0}, T{0}, T{0}).dx));
  EXPECT_TRUE(std::isnan(record<burtorch::ops::Div>(T{1}, T{0}, T{0}).dx));
}

// Where torch answers 0, the exact result is a denormal, and ours is the exact result, rounded once or twice.
template <class Op, class T> void expectDenormal(double x, bool ofSlope) {
  const auto* rule = oracle::find(oracle::unaries, Op::name);
  const T at = static_cast<T>(x);
  const oracle::Real want = ofSlope ? rule->slope(at) : rule->value(at);
  const Answer<T> got = record<Op>(at, T{0}, T{1});
  ASSERT_NE(static_cast<T>(want), T{0});
  EXPECT_LE(std::fabs(static_cast<oracle::Real>(ofSlope ? got.dx : got.value) - want),
            4 * oracle::ulpAt<T>(want))
      << Op::name << " at " << x;
}
TEST(Denormals, AreNotFlushedWhereTorchFlushesThem) {
  namespace ops = burtorch::ops;
  for (const bool ofSlope : {false, true}) {
    expectDenormal<ops::Sigmoid, double>(-710, ofSlope);
    expectDenormal<ops::Sigmoid, float>(-89, ofSlope);
    expectDenormal<ops::Softplus, double>(-710, ofSlope);
    expectDenormal<ops::Softplus, float>(-89, ofSlope);
  }
  expectDenormal<ops::Log1p, double>(std::numeric_limits<double>::denorm_min(), false);
  expectDenormal<ops::Log1p, float>(double{std::numeric_limits<float>::denorm_min()}, false);
  EXPECT_EQ(record<ops::MeanSquares>(std::numeric_limits<double>::denorm_min(), 1.0, 1.0).dx,
            std::numeric_limits<double>::denorm_min());
}

}  // namespace edges_test
