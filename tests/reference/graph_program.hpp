// Straight-line programs: what the random graph tests are made of. A program is a list of steps, every step appends one
// or more nodes, later steps name earlier nodes by number. This file knows the form only: steps, their text, a random
// number generator. Operators have the names of the library's list, so a new one is met by itself; what they mean is said
// twice, by the oracle (op_oracle.hpp, graph_oracle.hpp) and by the library (graph_executor.hpp).
//
// The text has one step a line and is read by make_graphs.py too:
//   program SEED                 starts a program
//   leaf V / leaves V V ...      one leaf / a block of neighbouring leaves; numbers are hexadecimal floats
//   OP[.HOW] X                   relu 0
//   OP[.HOW] X Y                 add.inplace 2 2
//   OP[.HOW] X C                 addConstant.left 2 0x1p-1
//   OP LIST [LIST] [TARGET or BIAS]      innerProductWithBias 0,2,1 [3:3:-1] 7
//   root X                       once for each root
//   expect VALUE G G ...         optional, once for each root in order: its value, its gradient at every leaf
// A list is handles 0,2,1 or ranges [first:count:stride|first:count:stride]. HOW is how the call is spelled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "burtorch/ops/op_list.hpp"

namespace graphs {

/// An operator: its place in the library's list. Names and kinds of operators are the list's; what they mean is not.
enum class Op : burtorch::Opcode {};
inline constexpr Op leafOp{burtorch::OpList::indexOf<burtorch::ops::Leaf>()};

constexpr const burtorch::OpInfo& infoOf(Op op) {
  return burtorch::OpList::infos[static_cast<std::size_t>(op)];
}
constexpr std::string_view nameOf(Op op) { return infoOf(op).name; }
/// The operator of this name; `leafOp` stands for "none".
constexpr Op opNamed(std::string_view name) {
  for (std::size_t i = 0; i < burtorch::OpList::size; ++i)
    if (burtorch::OpList::infos[i].name == name) return Op{static_cast<burtorch::Opcode>(i)};
  return leafOp;
}
/// "relu"_op; the name of no operator does not compile as a case and throws elsewhere. Not consteval: clang 14 calls such a
/// function from templates at run time, and then does not find it.
constexpr Op operator""_op(const char* name, std::size_t length) {
  const Op op = opNamed({name, length});
  if (op == leafOp) throw "no operator of this name";
  return op;
}

enum class Kind { leaf, unary, binary, constant, list, indexed, pair, block };
constexpr Kind kindOf(Op op) {
  switch (infoOf(op).arity) {
    case burtorch::Arity::leaf: return Kind::leaf;
    case burtorch::Arity::unary: return Kind::unary;
    case burtorch::Arity::binary: return Kind::binary;
    case burtorch::Arity::constant: return Kind::constant;
    case burtorch::Arity::varying: return op == "crossEntropy"_op ? Kind::indexed : Kind::list;
    case burtorch::Arity::pair: return Kind::pair;
    // A product is a block of partial products on the tape; whoever calls it sees one number.
    case burtorch::Arity::block: return op == "reduceMul"_op ? Kind::list : Kind::block;
    default: throw std::logic_error("random graphs have no operator of this kind");
  }
}
/// The operators of some kinds, in the order of the list.
inline std::vector<Op> opsOf(std::initializer_list<Kind> kinds) {
  std::vector<Op> ops;
  for (std::size_t i = 0; i < burtorch::OpList::size; ++i)
    for (const Op op = Op{static_cast<burtorch::Opcode>(i)}; const Kind kind : kinds)
      if (kindOf(op) == kind) ops.push_back(op);
  return ops;
}
/// Thrown where somebody who must know all operators has no case for this one.
[[noreturn]] inline void refuseUnknown(std::string_view who, Op op) {
  throw std::logic_error(std::string(who) + " has no case for the operator " + std::string(nameOf(op)));
}

/// How the call is spelled: x + y, add(x, y), x += y, addInplace(x, y), c + x, x - (-c), the helper with two results.
enum class How { plain, function, inplace, inplaceName, left, minus, both };
inline constexpr std::string_view howNames[] = {"",     "function", "inplace", "inplaceName",
                                                "left", "minus",    "both"};

/// `count` nodes from `first` on, `stride` apart.
struct Span {
  int first = 0, count = 0, stride = 1;
};
struct List {
  std::vector<int> nodes;   // every element, in order
  std::vector<Span> spans;  // how the same is passed as ranges; empty: as handles

  static List ofSpans(std::vector<Span> spans) {
    List list{{}, std::move(spans)};
    for (const Span& span : list.spans)
      for (int i = 0; i < span.count; ++i) list.nodes.push_back(span.first + i * span.stride);
    return list;
  }
  std::size_t size() const { return nodes.size(); }
};

struct Step {
  Op op = leafOp;
  How how = How::plain;
  int x = -1, y = -1;  // y is also the bias
  double constant = 0;
  std::size_t target = 0;  // of crossEntropy
  List xs, ys;
  std::vector<double> leaves;  // the numbers of a leaf
  bool isBlock = false;        // a block of leaves, also if it has one only

  int resultCount() const {
    if (op == leafOp) return static_cast<int>(leaves.size());
    return static_cast<int>(op == "softmax"_op ? xs.size() : 1);
  }
  /// Calls visit(node) for every operand, to read it or to change it.
  template <class Self, class Visit> static void forEachOperand(Self& self, Visit visit) {
    if (self.x >= 0) visit(self.x);
    if (self.y >= 0) visit(self.y);
    for (auto& node : self.xs.nodes) visit(node);
    for (auto& node : self.ys.nodes) visit(node);
  }
};

/// What somebody else (PyTorch, a pencil) says of a root: its value and its gradient at every leaf.
struct Expectation {
  double value = 0;
  std::vector<double> gradients;
};

struct Program {
  std::uint64_t seed = 0;
  std::vector<Step> steps;
  std::vector<int> roots;
  std::vector<Expectation> expectations;

  std::size_t nodeCount() const {
    std::size_t count = 0;
    for (const Step& step : steps) count += static_cast<std::size_t>(step.resultCount());
    return count;
  }
};

/// splitmix64: the same numbers on every platform, which std::uniform_*_distribution does not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x1234567u) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int below(int n) { return static_cast<int>(next() % static_cast<std::uint64_t>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }
  bool isOneIn(int n) { return below(n) == 0; }
  /// A number that float holds exactly, so that fp32 and fp64 start from the same point.
  double between(double low, double high) {
    const double unit = static_cast<double>(next() >> 11) * 0x1p-53;
    return static_cast<double>(static_cast<float>(low + (high - low) * unit));
  }
  template <class T, std::size_t n> T oneOf(const T (&items)[n]) { return items[below(static_cast<int>(n))]; }
  template <class T> T oneOf(const std::vector<T>& items) {
    return items[static_cast<std::size_t>(below(static_cast<int>(items.size())))];
  }

 private:
  std::uint64_t state_;
};

inline std::string hex(double x) {
  char text[48];
  std::snprintf(text, sizeof text, "%a", x);
  return text;
}

inline std::string toText(const List& list) {
  std::string text;
  for (const Span& span : list.spans)
    text += (text.empty() ? "[" : "|") + std::to_string(span.first) + ":" + std::to_string(span.count) + ":" +
            std::to_string(span.stride);
  if (!text.empty()) return text + "]";
  for (const int node : list.nodes) text += (text.empty() ? "" : ",") + std::to_string(node);
  return text;
}
inline std::string toText(const Step& step) {
  std::string text(nameOf(step.op));
  if (step.op == leafOp) {
    if (step.isBlock || step.leaves.size() != 1) text = "leaves";
    for (const double x : step.leaves) text += " " + hex(x);
    return text;
  }
  if (step.how != How::plain) text += "." + std::string(howNames[static_cast<std::size_t>(step.how)]);
  const Kind kind = kindOf(step.op);
  if (step.x >= 0) text += " " + std::to_string(step.x);
  if (kind == Kind::binary) text += " " + std::to_string(step.y);
  if (kind == Kind::constant) text += " " + hex(step.constant);
  if (step.xs.size() > 0) text += " " + toText(step.xs);
  if (step.ys.size() > 0) text += " " + toText(step.ys);
  if (kind == Kind::indexed) text += " " + std::to_string(step.target);
  if (step.op == "innerProductWithBias"_op) text += " " + std::to_string(step.y);
  return text;
}
inline std::string toText(const Program& program) {
  std::string text = "program " + std::to_string(program.seed) + "\n";
  for (const Step& step : program.steps) text += toText(step) + "\n";
  for (const int root : program.roots) text += "root " + std::to_string(root) + "\n";
  for (const Expectation& expectation : program.expectations) {
    text += "expect " + hex(expectation.value);
    for (const double g : expectation.gradients) text += " " + hex(g);
    text += "\n";
  }
  return text;
}

/// Reads programs from text. A mistake in it is an exception that quotes the line.
class Parser {
 public:
  static std::vector<Program> parse(std::istream& in) {
    Parser parser;
    for (std::string line; std::getline(in, line);) parser.readLine(line);
    return std::move(parser.programs_);
  }
  static std::vector<Program> parseFile(const std::string& path) {
    std::ifstream in(path);
    if (!in) throw std::runtime_error("cannot read " + path);
    return parse(in);
  }

 private:
  void readLine(const std::string& line) {
    line_ = &line;
    words_ = std::istringstream(line);
    std::string word;
    if (!(words_ >> word) || word[0] == '#') return;
    if (word == "program") {
      programs_.emplace_back();
      words_ >> programs_.back().seed;
      nodes_ = 0;
    } else if (programs_.empty()) {
      refuse("a step before the first program");
    } else if (word == "root") {
      programs_.back().roots.push_back(node());
    } else if (word == "expect") {
      programs_.back().expectations.push_back({number(), numbers()});
    } else {
      programs_.back().steps.push_back(step(word));
      nodes_ += programs_.back().steps.back().resultCount();
    }
  }
  Step step(const std::string& word) {
    Step step;
    if (word == "leaf" || word == "leaves") {
      step.isBlock = word == "leaves";
      step.leaves = numbers();
      return step;
    }
    const std::size_t dot = word.find('.');
    step.op = opNamed(word.substr(0, dot));
    if (step.op == leafOp) refuse("an unknown operator");
    if (dot != std::string::npos) step.how = howNamed(word.substr(dot + 1));
    const Kind kind = kindOf(step.op);
    if (kind == Kind::unary || kind == Kind::binary || kind == Kind::constant)
      step.x = node();
    else
      step.xs = list();
    if (kind == Kind::binary) step.y = node();
    if (kind == Kind::constant) step.constant = number();
    if (kind == Kind::pair) step.ys = list();
    if (kind == Kind::pair && step.ys.size() != step.xs.size()) refuse("lists of different lengths");
    if (kind == Kind::indexed) step.target = static_cast<std::size_t>(integer(next()));
    if (kind == Kind::indexed && step.target >= step.xs.size()) refuse("a target beyond the list");
    if (step.op == "innerProductWithBias"_op) step.y = node();
    return step;
  }
  How howNamed(const std::string& name) {
    for (std::size_t i = 1; i < std::size(howNames); ++i)
      if (howNames[i] == name) return static_cast<How>(i);
    refuse("an unknown spelling");
  }
  List list() {
    const std::string word = next();
    if (word[0] != '[') {
      List list;
      for (const auto& part : split(word, ',')) list.nodes.push_back(checked(integer(part)));
      return list;
    }
    std::vector<Span> spans;
    for (const auto& part : split(word.substr(1, word.size() - 2), '|')) {
      const auto fields = split(part, ':');
      if (fields.size() != 3) refuse("a range is first:count:stride");
      spans.push_back({integer(fields[0]), integer(fields[1]), integer(fields[2])});
    }
    List list = List::ofSpans(std::move(spans));
    for (const int node : list.nodes) checked(node);
    return list;
  }
  static std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
    return parts;
  }
  std::string next() {
    std::string word;
    if (!(words_ >> word)) refuse("the line is too short");
    return word;
  }
  int integer(const std::string& word) {
    char* end = nullptr;
    const long value = std::strtol(word.c_str(), &end, 10);
    if (*end != '\0' || word.empty()) refuse("not an integer");
    return static_cast<int>(value);
  }
  // strtod: streams do not read hexadecimal floats.
  double number() {
    const std::string word = next();
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    if (*end != '\0') refuse("not a number");
    return value;
  }
  std::vector<double> numbers() {
    std::vector<double> numbers;
    while (words_ >> std::ws && !words_.eof()) numbers.push_back(number());
    return numbers;
  }
  int node() { return checked(integer(next())); }
  int checked(int node) {
    if (node < 0 || node >= nodes_) refuse("a node that does not exist yet");
    return node;
  }
  [[noreturn]] void refuse(const char* what) const { throw std::runtime_error(what + (" in: " + *line_)); }

  std::vector<Program> programs_;
  std::istringstream words_;
  const std::string* line_ = nullptr;
  int nodes_ = 0;
};

}  // namespace graphs
