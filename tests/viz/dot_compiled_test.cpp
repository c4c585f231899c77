// Pictures of compile-time graphs: arguments and steps are records, and their numbers are those that the compiled function
// and the tape compute.
#include <burtorch/viz/dot.hpp>

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "../reference/user_operators.hpp"
#include "viz/text_parts.hpp"

namespace burtorch {
namespace dot_compiled_test {

bool hasLine(const std::string& dot, const std::string& line) { return countOf(dot, line + "\n") == 1; }
/// From " [label=" of a node to the end of its line.
std::string lineOf(const std::string& dot, std::size_t id) {
  const std::string start = "\n  " + std::to_string(id) + " [label=";
  const std::size_t at = dot.find(start);
  if (at == std::string::npos) return "not drawn";
  return dot.substr(at + start.size(), dot.find('\n', at + 1) - at - start.size());
}
std::string printable(double x) { return detail::dotNumber(x); }
template <std::size_t n> std::string printable(const std::array<double, n>& xs) {
  std::string text;
  for (const double x : xs) text += (text.empty() ? "" : ", ") + printable(x);
  return text;
}

constexpr auto tiny = [](auto a, auto b) {
  const auto c = a + b;
  const auto ab = a * b;
  const auto d = ab + pow3(b);
  return sqr(c - d) / 2.0;
};

TEST(DotGraphOfCompiled, IsTheTinyGraph) {
  const std::string dot = buildDotGraph(compile(tiny), -41.0, 2.0);
  EXPECT_EQ(dot.substr(dot.find("  0 [")),
            R"(  0 [label="{{argument 0|#0}|{value -41|gradient -35}}", fillcolor="#e0edff"];
  1 [label="{{argument 1|#1}|{value 2|gradient 1050}}", fillcolor="#e0edff"];
  2 [label="{{add (eBinaryAdd)|#2}|{value -39|gradient 35}}"];
  3 [label="{{mul (eBinaryMult)|#3}|{value -82|gradient -35}}"];
  4 [label="{{pow3 (eCub)|#4}|{value 8|gradient -35}}"];
  5 [label="{{add (eBinaryAdd)|#5}|{value -74|gradient -35}}"];
  6 [label="{{sub (eBinarySub)|#6}|{value 35|gradient 35}}"];
  7 [label="{{sqr (eSqr)|#7}|{value 1225|gradient 0.5}}"];
  8 [label="{{divByConstant 2 (eBinaryDivByConst)|#8}|{value 612.5|gradient 1}}", color="#b91c1c", penwidth=2];
  0 -> 2;
  1 -> 2;
  0 -> 3;
  1 -> 3;
  1 -> 4;
  3 -> 5;
  4 -> 5;
  2 -> 6;
  5 -> 6;
  6 -> 7;
  7 -> 8;
}
)");
}
TEST(DotGraphOfCompiled, IsThatOfTheTape) {
  Tape<double> tape;
  const CurrentTape here(tape);
  const Value a(-41.0, "argument 0"), b(2.0, "argument 1"), g = tiny(a, b);
  backward(g);
  std::string ofTape = buildDotGraph(g);
  for (const std::string leaf = "|leaf (eLeaf)"; ofTape.find(leaf) != std::string::npos;)
    ofTape.erase(ofTape.find(leaf), leaf.size());
  EXPECT_EQ(buildDotGraph(compile(tiny), -41.0, 2.0), ofTape);
}
TEST(DotGraphOfCompiled, WithoutNumbersHasOperatorsOnly) {
  const std::string dot = buildDotGraph<double, double>(compile(tiny));
  EXPECT_EQ(lineOf(dot, 0), "\"{{argument 0|#0}}\", fillcolor=\"#e0edff\"];");
  EXPECT_EQ(lineOf(dot, 7), "\"{{sqr (eSqr)|#7}}\"];");
  EXPECT_EQ(countOf(dot, "value") + countOf(dot, "gradient"), 0u);
  EXPECT_EQ(countOf(dot, " -> "), 11u);
}
TEST(DotGraphOfCompiled, TakesOptionsBeforeTheNumbers) {
  const std::string dot = buildDotGraph(compile(tiny), {.maxNodes = 2, .showsGradients = false}, -41.0, 2.0);
  EXPECT_EQ(lineOf(dot, 7), "\"{{sqr (eSqr)|#7}|{value 1225}|{1 operand not drawn}}\"];");
  EXPECT_EQ(countOf(dot, "7 more nodes are not drawn"), 1u);
}
TEST(DotGraphOfCompiled, TakesOptionsWithoutNumbers) {
  const std::string dot = buildDotGraph<float, float>(compile(tiny), {.maxNodes = 1});
  EXPECT_EQ(countOf(dot, "8 more nodes are not drawn"), 1u);
}
TEST(DotGraphOfCompiled, TakesFloatsAndWholeNumbers) {
  EXPECT_EQ(buildDotGraph(compile(tiny), -41.0f, 2.0f), buildDotGraph(compile(tiny), -41, 2));
}
TEST(DotGraphOfCompiled, LeavesOutAnArgumentThatIsNotUsed) {
  const std::string dot = buildDotGraph(compile([](auto a, auto) { return exp(a); }), 0.0, 5.0);
  EXPECT_EQ(lineOf(dot, 1), "not drawn");
  EXPECT_TRUE(hasLine(dot, "  0 -> 2;"));
}
TEST(DotGraphOfCompiled, ShowsConstantsAsLeaves) {
  const auto f = compile([](auto a) { return select(a < 1.0, a, 7.5); });
  const std::string dot = buildDotGraph<double>(f);
  EXPECT_EQ(countOf(dot, "{{constant 7.5|"), 1u);
  EXPECT_EQ(countOf(dot, "fillcolor=\"#e0edff\"]"), 3u);
}
TEST(DotGraphOfCompiled, OfSeveralOutputsHasValuesOnly) {
  const auto f = compile([](auto a, auto b) { return std::array{a * b, a + b}; });
  const std::string dot = buildDotGraph(f, 3.0, 5.0);
  EXPECT_EQ(lineOf(dot, 2), "\"{{mul (eBinaryMult)|#2}|{value 15}}\", color=\"#b91c1c\", penwidth=2];");
  EXPECT_EQ(lineOf(dot, 3), "\"{{add (eBinaryAdd)|#3}|{value 8}}\", color=\"#b91c1c\", penwidth=2];");
  EXPECT_EQ(countOf(dot, "gradient"), 0u);
}

TEST(DotGraphOfCompiled, GivesAChoiceItsGradient) {
  // At 0 the side that is not chosen has a pole: 1 / x has slope -inf there.
  const auto f = compile([](auto x) { return select(x > 0.0, inv(x), sqr(x - 3.0)); });
  const std::string dot = buildDotGraph(f, 0.0);
  EXPECT_EQ(lineOf(dot, 0), "\"{{argument 0|#0}|{value 0|gradient " + printable(f.grad(0.0)) +
                                "}}\", fillcolor=\"#e0edff\"];");
  EXPECT_EQ(countOf(dot, "gradient -6"), 2u);
  EXPECT_EQ(countOf(dot, "nan"), 0u);
  EXPECT_EQ(countOf(dot, "{select|"), 1u);
  EXPECT_EQ(countOf(dot, "{less|"), 1u);
}
TEST(DotGraphOfCompiled, CarriesOutConditions) {
  const auto f = compile([](auto x, auto y) {
    return select(!(x < y) || (x <= y && y == 2.0), x * y, x + y) + select(x != y, x, y * y);
  });
  for (const double x : {1.0, 2.0, 2.5}) {
    const std::string dot = buildDotGraph(f, x, 2.0);
    const auto [dx, dy] = f.grad(x, 2.0);
    EXPECT_EQ(countOf(dot, "{value " + printable(f.value(x, 2.0)) + "|gradient 1}}\", color="), 1u) << x;
    EXPECT_EQ(countOf(lineOf(dot, 0), "gradient " + printable(dx) + "}"), 1u) << x;
    EXPECT_EQ(countOf(lineOf(dot, 1), "gradient " + printable(dy) + "}"), 1u) << x;
  }
}

/// The numbers of the root and of a first argument of three are those that the compiled function gives.
template <class F, class... A> void expectNumbers(F f, const std::array<double, 3>& x, const A&... more) {
  const auto [value, gradient] = f.template valueAndGrad<0>(x, more...);
  const std::string dot = buildDotGraph(f, x, more...);
  EXPECT_EQ(countOf(dot, "value " + printable(value)), 1u) << dot;
  EXPECT_EQ(lineOf(dot, 0), "\"{{argument 0}|{#0 .. 2|3 numbers}|{values " + printable(x) + "}|{gradients " +
                                printable(gradient) + "}}\", fillcolor=\"#e0edff\"];");
}
constexpr std::array x{0.75, -1.25, 2.5}, y{1.5, 0.375, -0.625};

TEST(DotGraphOfCompiled, DrawsAnArrayAsOneRecord) {
  const auto f = compile([](const auto& a, const auto& b, auto c) { return innerProductWithBias(a, b, c); });
  const std::string dot = buildDotGraph(f, x, y, 0.5);
  EXPECT_TRUE(hasLine(dot, "  0 -> 7 [label=\" 3\"];"));
  EXPECT_TRUE(hasLine(dot, "  3 -> 7 [label=\" 3\"];"));
  EXPECT_TRUE(hasLine(dot, "  6 -> 7;"));
  EXPECT_EQ(countOf(lineOf(dot, 6), "gradient 1}"), 1u);
  expectNumbers(f, x, y, 0.5);
}
TEST(DotGraphOfCompiled, NamesTheOneElementThatIsUsed) {
  const std::string dot = buildDotGraph(compile([](const auto& a) { return exp(a[2]); }), x);
  EXPECT_TRUE(hasLine(dot, "  0 -> 3 [label=\" #2\"];"));
}
TEST(DotGraphOfCompiled, CarriesOutLists) {
  expectNumbers(compile([](const auto& a, const auto& b) { return innerProduct(a, b) * logSumExp(a); }), x,
                y);
  expectNumbers(compile([](const auto& a) { return crossEntropy(a, 1); }), x);
  expectNumbers(compile([](const auto& a) { return reduceMul(a) + variance(a); }), x);
}
TEST(DotGraphOfCompiled, DrawsASoftmaxAsOneRecord) {
  const auto f = compile([](const auto& a) {
    const auto p = softmax(a);
    return p[0] * a[1] + p[2] * a[0];
  });
  EXPECT_EQ(lineOf(buildDotGraph(f, x), 3).substr(0, 40), "\"{{softmax (eSoftmax)}|{#3 .. 5|3 number");
  expectNumbers(f, x);
}
TEST(DotGraphOfCompiled, CarriesOutConstantsAndEveryKindOfScalarOperator) {
  expectNumbers(compile([](const auto& a) {
                  const auto s = tanh(a[0]) * a[1] + pow(a[2], 1.7) / a[0];
                  return max(s, a[1]) - 3.0 / sigmoid(s) + leakyRelu(a[1]);
                }),
                x);
}

struct Scaled : ConstantOp {
  static constexpr std::string_view name = "scaled";
  template <class T> static T value(T v, PlainOf<T> c) { return v * c; }
  template <class T> static T vjp(T g, Unread, PlainOf<T> c, Unread) { return g * c; }
};
struct Swish : UnaryOp {
  static constexpr std::string_view name = "swish";
  template <class T> static T value(T v) { return v * sigmoid(v); }
  template <class T> static T vjp(T g, T v, T r) { return g * (r + sigmoid(v) * (T{1} - r)); }
};
struct Total : VaryingOp {
  static constexpr std::string_view name = "total";
  template <class T> static T value(const List<T>& xs) { return ops::AddVarying::value(xs) * T{2}; }
  template <class T> static void vjp(T g, const List<T>& xs, Unread, const GradientList<T>& gs) {
    ops::AddVarying::vjp(g * T{2}, xs, Unread{}, gs);
  }
};
TEST(DotGraphOfCompiled, CarriesOutOperatorsOfTheUser) {
  const auto f = compile([](const auto& a) {
    const auto length = apply<mine::Hypotenuse>(apply<Swish>(a[0]), applyConstant<Scaled>(a[1], 1.75));
    return length * applyToList<Total>(a);
  });
  EXPECT_EQ(countOf(buildDotGraph(f, x), "{scaled 1.75|"), 1u);
  expectNumbers(f, x);
}

}  // namespace dot_compiled_test
}  // namespace burtorch
