// Pictures of graphs as DOT: what becomes a record, what an edge, and what the labels say. That Graphviz takes the text and
// shows every name unchanged is for dot_live.py.
#include <burtorch/model/gpt.hpp>
#include <burtorch/nn/parameter_nodes.hpp>
#include <burtorch/nn/softmax.hpp>
#include <burtorch/viz/dot.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "viz/text_parts.hpp"

namespace burtorch {
namespace dot_test {

std::size_t nodeCount(const std::string& dot) { return countOf(dot, "[label=\"{"); }
std::size_t edgeCount(const std::string& dot) { return countOf(dot, " -> "); }
bool hasLine(const std::string& dot, const std::string& line) { return countOf(dot, line + "\n") == 1; }
/// The label of a node, between its quotes.
std::string labelOf(const std::string& dot, std::size_t id) {
  const std::string start = "\n  " + std::to_string(id) + " [label=\"";
  const std::size_t at = dot.find(start);
  if (at == std::string::npos) return "not drawn";
  const std::size_t from = at + start.size();
  std::size_t to = from;
  while (dot[to] != '"') to += dot[to] == '\\' ? 2 : 1;
  return dot.substr(from, to - from);
}

/// Every test records on a tape of its own.
template <class T> struct OnTape : testing::Test {
  Tape<T> tape;
  CurrentTape<T, defaultConfig> here{tape};
};
using DotGraph = OnTape<double>;
using DotGraphOfFloats = OnTape<float>;
using DotGraphOfDuals = OnTape<Dual<double>>;

TEST_F(DotGraph, IsTheTinyGraphOfFigureOne) {
  const Value a(-41.0, "a"), b(2.0, "b");
  auto c = a + b, ab = a * b, cube = pow3(b), d = ab + cube, e = c - d, f = sqr(e), g = f / Value(2.0);
  c.setName("c"), d.setName("d"), e.setName("e"), f.setName("f"), g.setName("g");
  backward(g);
  EXPECT_EQ(buildDotGraph(g), R"(digraph burtorch {
  rankdir=TB;
  ranksep=0.35;
  nodesep=0.25;
  fontname="Helvetica";
  node [shape=record, style=filled, fillcolor="#ffffff", color="#6b7280", fontname="Helvetica", fontsize=11, height=0.2, margin="0.08,0.04"];
  edge [color="#6b7280", fontname="Helvetica", fontsize=9, arrowsize=0.6];
  0 [label="{{a|leaf (eLeaf)|#0}|{value -41|gradient -35}}", fillcolor="#e0edff"];
  1 [label="{{b|leaf (eLeaf)|#1}|{value 2|gradient 1050}}", fillcolor="#e0edff"];
  2 [label="{{c|add (eBinaryAdd)|#2}|{value -39|gradient 35}}"];
  3 [label="{{mul (eBinaryMult)|#3}|{value -82|gradient -35}}"];
  4 [label="{{pow3 (eCub)|#4}|{value 8|gradient -35}}"];
  5 [label="{{d|add (eBinaryAdd)|#5}|{value -74|gradient -35}}"];
  6 [label="{{e|sub (eBinarySub)|#6}|{value 35|gradient 35}}"];
  7 [label="{{f|sqr (eSqr)|#7}|{value 1225|gradient 0.5}}"];
  8 [label="{{leaf (eLeaf)|#8}|{value 2|gradient -306.25}}", fillcolor="#e0edff"];
  9 [label="{{g|div (eBinaryDiv)|#9}|{value 612.5|gradient 1}}", color="#b91c1c", penwidth=2];
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
  7 -> 9;
  8 -> 9;
}
)");
}
TEST_F(DotGraphOfFloats, ShowsNumbersWithoutNoise) {
  const Value a(0.1f), b = a * a;
  EXPECT_EQ(labelOf(buildDotGraph(b), 0), "{{leaf (eLeaf)|#0}|{value 0.1|gradient 0}}");
}
TEST_F(DotGraphOfDuals, ShowsBothParts) {
  const Value<Dual<double>> a(Dual(3.0, 1.0)), b = sqr(a);
  backward(b);
  const std::string dot = buildDotGraph(b);
  EXPECT_EQ(labelOf(dot, 1), "{{sqr (eSqr)|#1}|{value 9+6e|gradient 1+0e}}");
  EXPECT_EQ(labelOf(dot, 0), "{{leaf (eLeaf)|#0}|{value 3+1e|gradient 6+2e}}");
}

// What is drawn.

TEST_F(DotGraph, LeavesOutWhatTheRootDoesNotDependOn) {
  const Value a(1.0), b(2.0);
  static_cast<void>(a * b);
  const auto root = exp(b);
  sqr(root);
  const std::string dot = buildDotGraph(root);
  EXPECT_EQ(nodeCount(dot), 2u);
  EXPECT_EQ(edgeCount(dot), 1u);
  EXPECT_TRUE(hasLine(dot, "  1 -> 3;"));
}
TEST_F(DotGraph, OfATapeHasEverything) {
  const Value a(1.0), b(2.0);
  static_cast<void>(a * b);
  const auto root = exp(b);
  sqr(root);
  const std::string dot = buildDotGraph(tape);
  EXPECT_EQ(nodeCount(dot), 5u);
  EXPECT_EQ(edgeCount(dot), 4u);
  EXPECT_EQ(countOf(dot, "penwidth"), 0u);  // no root
}
TEST_F(DotGraph, OfAnEmptyTapeIsAGraph) {
  const std::string dot = buildDotGraph(tape);
  EXPECT_EQ(nodeCount(dot) + edgeCount(dot), 0u);
  EXPECT_TRUE(dot.ends_with("}\n"));
}
TEST_F(DotGraph, NeedsNoStackForALongChain) {
  Value x(0.5);
  for (int i = 0; i < 300'000; ++i) x = sin(x);
  const std::string dot = buildDotGraph(x, {.maxNodes = 2});
  EXPECT_EQ(nodeCount(dot), 2u);
  EXPECT_EQ(countOf(dot, "299999 more nodes are not drawn"), 1u);
}
TEST_F(DotGraph, OfNoNodeIsAnError) {
  EXPECT_THROW(buildDotGraph(Value<double>()), Error);
  const Value a(1.0);
  Tape<double> empty;
  const CurrentTape there(empty);
  EXPECT_THROW(buildDotGraph(a), Error);
}

// Edges.

TEST_F(DotGraph, HasOneEdgeForANumberThatIsUsedTwice) {
  const Value x(3.0), square = x * x;
  const std::string dot = buildDotGraph(square);
  EXPECT_EQ(edgeCount(dot), 1u);
  EXPECT_TRUE(hasLine(dot, "  0 -> 1 [label=\" x2\"];"));
}
TEST_F(DotGraph, CountsUsesForEachResultAnew) {
  const Value x(3.0), y(4.0), first = x * x, second = y * x, root = first + second;
  const std::string dot = buildDotGraph(root);
  EXPECT_EQ(edgeCount(dot), 5u);
  EXPECT_TRUE(hasLine(dot, "  0 -> 2 [label=\" x2\"];"));
  EXPECT_TRUE(hasLine(dot, "  1 -> 3;"));
  EXPECT_TRUE(hasLine(dot, "  0 -> 3;"));
}
TEST_F(DotGraph, CountsUsesInAList) {
  const Value x(3.0), y(4.0);
  const std::vector list{x, y, x, x};
  const std::string dot = buildDotGraph(reduceSum(list));
  EXPECT_EQ(edgeCount(dot), 2u);
  EXPECT_TRUE(hasLine(dot, "  0 -> 2 [label=\" x3\"];"));
  EXPECT_TRUE(hasLine(dot, "  1 -> 2;"));
}
TEST_F(DotGraph, CountsOperandsFromABlock) {
  const auto block = tape.leaves(10, 2.0);
  const Value bias(1.0), root = innerProductWithBias(block.subrange(0, 4), block.subrange(6, 4), bias);
  const std::string dot = buildDotGraph(root);
  EXPECT_EQ(edgeCount(dot), 2u);
  EXPECT_TRUE(hasLine(dot, "  0 -> 11 [label=\" 8\"];"));
  EXPECT_TRUE(hasLine(dot, "  10 -> 11;"));
}
TEST_F(DotGraph, NamesTheOneNumberOfABlockThatIsUsed) {
  const auto block = tape.leaves(10, 2.0);
  EXPECT_TRUE(hasLine(buildDotGraph(exp(block[7])), "  0 -> 10 [label=\" #7\"];"));
}

// Records.

TEST_F(DotGraph, DrawsABlockOfLeavesAsOneRecord) {
  const auto block = tape.leaves(128);
  for (std::size_t i = 0; i < 128; ++i) block[i].setData(static_cast<double>(i) / 4 - 8);
  const auto root = reduceSum(block);
  backward(root);
  const std::string dot = buildDotGraph(root);
  EXPECT_EQ(nodeCount(dot), 2u);
  EXPECT_EQ(labelOf(dot, 0),
            "{{leaf (eLeaf)}|{#0 .. 127|128 numbers}|{values -8 .. 23.75}|{gradients all 1}}");
}
TEST_F(DotGraph, ShowsAllNumbersOfAShortBlock) {
  const double numbers[] = {1.5, -2, 1e9};
  EXPECT_EQ(
      labelOf(buildDotGraph(tape.leaves(numbers)[1]), 0),
      "{{leaf (eLeaf)}|{#1|value -2|gradient 0}|{#0 .. 2|3 numbers}|{values 1.5, -2, 1e+09}|{gradients 0, "
      "0, 0}}");
}
TEST_F(DotGraph, CountsNumbersThatAreNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const double some[] = {nan, 2, -inf, 1, inf, 3}, none[] = {nan, nan, nan, nan, inf},
               one[] = {5, 5, nan, 5, 5};
  tape.leaves(some), tape.leaves(none), tape.leaves(one);
  const std::string dot = buildDotGraph(tape, {.showsGradients = false});
  EXPECT_EQ(labelOf(dot, 0), "{{leaf (eLeaf)}|{#0 .. 5|6 numbers}|{values 1 .. 3, 3 not finite}}");
  EXPECT_EQ(labelOf(dot, 6), "{{leaf (eLeaf)}|{#6 .. 10|5 numbers}|{values 5 not finite}}");
  EXPECT_EQ(labelOf(dot, 11), "{{leaf (eLeaf)}|{#11 .. 15|5 numbers}|{values 5 .. 5, 1 not finite}}");
}
TEST_F(DotGraph, SaysAllOnlyOfEqualNumbers) {
  const double near[] = {1, 1 + 1e-9, 1, 1, 1}, zeros[] = {0.0, -0.0, -0.0, 0.0, -0.0};
  tape.leaves(near), tape.leaves(zeros);
  const std::string dot = buildDotGraph(tape, {.showsGradients = false});
  EXPECT_EQ(countOf(labelOf(dot, 0), "values 1 .. 1}"), 1u);
  EXPECT_EQ(countOf(labelOf(dot, 5), "values all 0}"), 1u);
}
TEST_F(DotGraph, DrawsASoftmaxAsOneRecord) {
  const auto results = softmax(tape.leaves(5, 1.0));
  const std::string dot = buildDotGraph(logarithm(results[2]));
  EXPECT_EQ(nodeCount(dot), 3u);
  EXPECT_TRUE(hasLine(dot, "  0 -> 5 [label=\" 5\"];"));
  EXPECT_TRUE(hasLine(dot, "  5 -> 10 [label=\" #7\"];"));
  EXPECT_EQ(labelOf(dot, 5), "{{softmax (eSoftmax)}|{#5 .. 9|5 numbers}|{values all 0.2}|{gradients all 0}}");
}
TEST_F(DotGraph, ShowsTheConstantOfAnOperator) {
  const Value x(2.0);
  EXPECT_EQ(labelOf(buildDotGraph(x * 3.5), 1),
            "{{mulByConstant 3.5 (eBinaryMultByConst)|#1}|{value 7|gradient 0}}");
}
struct Halve : UnaryOp {
  static constexpr std::string_view name = "halve|it";
  template <class T> static T value(T x) { return x * T{0.5}; }
  template <class T> static T vjp(T g, Unread, Unread) { return g * T{0.5}; }
};
TEST_F(DotGraph, ShowsAnOperatorOfTheUsersByItsOneName) {
  EXPECT_EQ(labelOf(buildDotGraph(apply<Halve>(Value(2.0))), 1), "{{halve\\|it|#1}|{value 1|gradient 0}}");
}
TEST_F(DotGraph, DrawsALayerAsOneRecord) {
  ParameterLayout layout;
  const Linear linear(layout, "hidden", 3, 5);
  bindToLeaves(tape, layout, std::span<const double>(std::vector<double>(layout.size())));
  const Matrix<double> x(tape.leaves(3), 3, 1);
  const std::string dot = buildDotGraph(linear(x)(1, 0));
  EXPECT_EQ(nodeCount(dot), 4u);  // W, b, x, the layer
  EXPECT_TRUE(hasLine(dot, "  0 -> 23 [label=\" 15\"];"));
  EXPECT_TRUE(hasLine(dot, "  15 -> 23 [label=\" 5\"];"));
  EXPECT_TRUE(hasLine(dot, "  20 -> 23 [label=\" 3\"];"));
  EXPECT_EQ(labelOf(dot, 23).substr(0, 48), "{{linear}|{#24|value 0|gradient 0}|{#23 .. 27|5 ");
}
TEST_F(DotGraphOfFloats, DrawsAGptAsItsLayers) {
  const Gpt<float> gpt(GptConfig{});
  ASSERT_EQ(gpt.layout().size(), 46'289u);
  const ParameterStore<float> parameters(gpt.layout());
  bindToLeaves(tape, gpt.layout(), parameters.values());
  const std::vector<TokenId> tokens{1, 2, 3, 4, 5, 6, 7, 8};
  const std::string dot = buildDotGraph(gpt.loss(tokens, tokens));
  // 2 + 6 * 11 + 2 blocks of parameters; 3 layers before, 6 * 10 in and 2 after the transformer's blocks.
  EXPECT_EQ(nodeCount(dot), 70u + 65u);
  EXPECT_EQ(countOf(dot, "meanCrossEntropy"), 1u);
  EXPECT_EQ(countOf(dot, "attention"), 6u);
  EXPECT_EQ(countOf(dot, "not drawn"), 0u);
}

// Names.

TEST_F(DotGraph, ShowsTheYoungestName) {
  Value a(1.0, "old"), b(2.0, "other");
  a.setName("new");
  b.setName("");
  const std::string dot = buildDotGraph(a + b);
  EXPECT_EQ(labelOf(dot, 0).substr(0, 8), "{{new|le");
  EXPECT_EQ(labelOf(dot, 1).substr(0, 8), "{{leaf (");
}
TEST_F(DotGraph, NamesABlockByItsFirstNumber) {
  const auto block = tape.leaves(9);
  block[0].setName("weights");
  EXPECT_EQ(labelOf(buildDotGraph(tape), 0).substr(0, 12), "{{weights|le");
  block[4].setName("slope");
  EXPECT_EQ(labelOf(buildDotGraph(tape), 0).substr(0, 22), "{{weights, [4] slope|l");
}
TEST_F(DotGraph, ShowsSomeNamesOfABlock) {
  const auto block = tape.leaves(9);
  for (std::size_t i = 1; i < 9; ++i) block[i].setName("n");
  EXPECT_EQ(labelOf(buildDotGraph(tape), 0).substr(0, 36), "{{[1] n, [2] n, [3] n, [4] n, ...|le");
}
TEST_F(DotGraph, IgnoresNamesAboveTheRoot) {
  const Value a(1.0, "a");
  Value b = sqr(a);
  b.setName("b");
  EXPECT_EQ(countOf(buildDotGraph(a), "b|"), 0u);
}
TEST(DotGraphWithoutNames, HasTheSameRecords) {
  constexpr Config config{.names = false};
  Tape<double, config> tape;
  const CurrentTape here(tape);
  const Value<double, config> a(2.0, "a");
  EXPECT_EQ(labelOf(buildDotGraph(sqr(a)), 0), "{{leaf (eLeaf)|#0}|{value 2|gradient 0}}");
}

// Options.

TEST_F(DotGraph, DrawsTheNodesNearestToTheRoot) {
  const Value near(1.0, "near");
  Value chain(2.0, "far");
  for (int i = 0; i < 5; ++i) chain = exp(-chain);
  const std::string dot = buildDotGraph(chain + near, {.maxNodes = 3});
  EXPECT_EQ(nodeCount(dot), 3u);
  EXPECT_EQ(labelOf(dot, 0).substr(0, 7), "{{near|");
  EXPECT_TRUE(hasLine(dot, "  0 -> 12;"));
  EXPECT_TRUE(hasLine(dot, "  11 -> 12;"));
  EXPECT_EQ(countOf(labelOf(dot, 11), "|{1 operand not drawn}}"), 1u);
  EXPECT_EQ(countOf(labelOf(dot, 12), "not drawn"), 0u);
  EXPECT_TRUE(hasLine(dot,
                      "  13 [shape=note, fillcolor=\"#fef3c7\", label=\"10 more nodes are not drawn; raise "
                      "maxNodes\"];"));
}
TEST_F(DotGraph, OfATapeDrawsItsLastNodes) {
  const Value a(1.0), b(2.0), c = a * b;
  static_cast<void>(c + b);
  const std::string dot = buildDotGraph(tape, {.maxNodes = 2});
  EXPECT_EQ(nodeCount(dot), 2u);
  EXPECT_EQ(edgeCount(dot), 1u);
  EXPECT_TRUE(hasLine(dot, "  2 -> 3;"));
  EXPECT_EQ(countOf(labelOf(dot, 2), "2 operands not drawn"), 1u);
  EXPECT_EQ(countOf(dot, "2 more nodes are not drawn; raise maxNodes"), 1u);
}
TEST_F(DotGraph, SpeaksOfOneNodeInTheSingular) {
  const Value a(1.0), b = exp(a);
  EXPECT_EQ(countOf(buildDotGraph(b, {.maxNodes = 1}), "1 more node is not drawn"), 1u);
}
TEST_F(DotGraph, HasNoNoteIfAllFits) {
  const Value a(1.0), b = exp(a);
  EXPECT_EQ(countOf(buildDotGraph(b, {.maxNodes = 2}), "note"), 0u);
}
TEST_F(DotGraph, OfNoNodesHasOnlyTheNote) {
  const Value a(1.0), b = exp(a);
  const std::string dot = buildDotGraph(b, {.maxNodes = 0});
  EXPECT_EQ(nodeCount(dot) + edgeCount(dot), 0u);
  EXPECT_EQ(countOf(dot, "2 more nodes are not drawn"), 1u);
}
TEST_F(DotGraph, ShowsValuesAndGradientsIfWanted) {
  const Value a(7.0);
  EXPECT_EQ(labelOf(buildDotGraph(a, {.showsValues = false}), 0), "{{leaf (eLeaf)|#0}|{gradient 0}}");
  EXPECT_EQ(labelOf(buildDotGraph(a, {.showsGradients = false}), 0), "{{leaf (eLeaf)|#0}|{value 7}}");
  EXPECT_EQ(labelOf(buildDotGraph(a, {.showsValues = false, .showsGradients = false}), 0),
            "{{leaf (eLeaf)|#0}}");
}
TEST_F(DotGraph, GoesFromLeftToRight) {
  const std::string dot = buildDotGraph(Value(7.0), {.direction = DotDirection::leftToRight});
  EXPECT_EQ(countOf(dot, "rankdir=LR;"), 1u);
  EXPECT_EQ(labelOf(dot, 0), "{leaf (eLeaf)|#0}|{value 7|gradient 0}");
}
TEST_F(DotGraph, HasATitle) {
  EXPECT_EQ(countOf(buildDotGraph(Value(7.0), {.title = "a \"title\" & <more>"}),
                    "label=\"a \\\"title\\\" &amp; \\<more\\>\";"),
            1u);
}

// Escapes.

TEST(DotEscapes, WhatMeansSomethingInARecord) {
  EXPECT_EQ(detail::escapedForDot(R"(a\b"c{d}e|f<g>h)"), R"(a\\b\"c\{d\}e\|f\<g\>h)");
  EXPECT_EQ(detail::escapedForDot("&lt;"), "&amp;lt;");
  EXPECT_EQ(detail::escapedForDot("\\N\\"), "\\\\N\\\\");
}
TEST(DotEscapes, SpacesThatWouldBeLost) {
  EXPECT_EQ(detail::escapedForDot("a b"), "a b");
  EXPECT_EQ(detail::escapedForDot(" a  b "), "\u00A0a \u00A0b\u00A0");
  EXPECT_EQ(detail::escapedForDot("a\n b"), "a\\n\u00A0b");
}
TEST(DotEscapes, ControlCharacters) {
  EXPECT_EQ(detail::escapedForDot(std::string_view("a\0b\tc\rd\x1b\x7f", 9)),
            "a\uFFFDb\uFFFDc\uFFFDd\uFFFD\uFFFD");
  EXPECT_EQ(detail::escapedForDot("\u0085\uFFFE\uFFFF"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(detail::escapedForDot("a\nb"), "a\\nb");
}
TEST(DotEscapes, BytesThatAreNoText) {
  EXPECT_EQ(detail::escapedForDot("\xff\xc3(\xed\xa0\x80"), "\uFFFD\uFFFD(\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(detail::escapedForDot("é→𝛼"), "é→𝛼");
}
TEST(DotEscapes, LongNames) {
  EXPECT_EQ(detail::escapedForDot(std::string(80, '"')).size(), 160u);
  std::string greek, shown;
  for (int i = 0; i < 1000; ++i) greek += "α";
  for (int i = 0; i < 80; ++i) shown += "α";
  EXPECT_EQ(detail::escapedForDot(greek), shown + "...");
}

}  // namespace dot_test
}  // namespace burtorch
