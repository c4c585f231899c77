// Runs programs (graph_program.hpp) through the library's public functions: on tapes, and with dual numbers.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "burtorch/burtorch.hpp"
#include "graph_program.hpp"

namespace graphs {

/// `visit.operator()<Rule>()` for the struct of an operator, which must be of this arity.
template <burtorch::Arity arity, class Visit> void withRule(Op op, Visit visit) {
  bool isKnown = false;
  burtorch::OpList::visitAt(static_cast<burtorch::Opcode>(op), [&]<class Rule>() {
    if constexpr (Rule::arity == arity) {
      visit.template operator()<Rule>();
      isKnown = true;
    }
  });
  if (!isKnown) refuseUnknown("the executor", op);
}

/// Scalar operators are generated from the library's list. That their functions record them is the matter of
/// core/functions_test.cpp.
template <class X> X runUnary(const Step& step, X x) {
  if (step.how == How::function) return log(x);
  withRule<burtorch::Arity::unary>(step.op, [&]<class Rule>() { x = burtorch::apply<Rule>(x); });
  return x;
}

/// Arithmetic in all its spellings; y is a number of the same mode or a constant.
template <class X, class Y> X runArithmetic(Op op, How how, X x, Y y) {
  using namespace burtorch;
  const bool isNamed = how == How::inplaceName;
  if (how == How::inplace || isNamed) {
    X c = x;
    switch (op) {
      case "add"_op: isNamed ? addInplace(c, y) : c += y; return c;
      case "sub"_op: isNamed ? subInplace(c, y) : c -= y; return c;
      case "mul"_op: isNamed ? multInplace(c, y) : c *= y; return c;
      case "div"_op: isNamed ? divInplace(c, y) : c /= y; return c;
      default: refuseUnknown("in-place arithmetic", op);
    }
  }
  switch (op) {
    case "add"_op: return x + y;
    case "sub"_op: return x - y;
    case "mul"_op: return x * y;
    case "div"_op: return x / y;
    default: refuseUnknown("arithmetic", op);
  }
}

template <class X> X runBinary(const Step& step, X x, X y) {
  using namespace burtorch;
  const bool isFunction = step.how == How::function;
  switch (step.op) {
    case "add"_op: return isFunction ? add(x, y) : runArithmetic(step.op, step.how, x, y);
    case "sub"_op: return isFunction ? sub(x, y) : runArithmetic(step.op, step.how, x, y);
    case "mul"_op: return isFunction ? mul(x, y) : runArithmetic(step.op, step.how, x, y);
    case "div"_op: return isFunction ? div(x, y) : runArithmetic(step.op, step.how, x, y);
    default: break;
  }
  withRule<Arity::binary>(step.op, [&]<class Rule>() { x = apply<Rule>(x, y); });
  return x;
}

template <class X> X runConstant(const Step& step, X x) {
  using namespace burtorch;
  const double c = step.constant;
  const bool isLeft = step.how == How::left;
  switch (step.op) {
    case "mulByConstant"_op:
      if (step.how == How::function) return mulByConstant(x, c);
      return isLeft ? c * x : runArithmetic("mul"_op, step.how, x, c);
    case "addConstant"_op:
      if (step.how == How::minus) return x - (-c);
      return isLeft ? c + x : runArithmetic("add"_op, step.how, x, c);
    case "divByConstant"_op: return runArithmetic("div"_op, step.how, x, c);
    case "subFromConstant"_op: return c - x;
    case "constantDiv"_op: return c / x;
    case "maxConstant"_op: return isLeft ? max(c, x) : max(x, c);
    case "minConstant"_op: return isLeft ? min(c, x) : min(x, c);
    default: break;
  }
  withRule<Arity::constant>(step.op, [&]<class Rule>() { x = applyConstant<Rule>(x, c); });
  return x;
}

template <class L> auto runList(const Step& step, const L& xs) {
  using namespace burtorch;
  switch (step.op) {
    case "reduceSum"_op: return reduceSum(xs);
    case "reduceSub"_op: return reduceSub(xs);
    case "reduceMul"_op: return reduceMul(xs);
    case "reduceMean"_op: return step.how == How::both ? reduceMeanAndMeanSquares(xs).first : reduceMean(xs);
    case "reduceNegativeMean"_op: return reduceNegativeMean(xs);
    case "reduceSumOfSquares"_op: return reduceSumOfSquares(xs);
    case "reduceMeanSquares"_op:
      return step.how == How::both ? reduceMeanAndMeanSquares(xs).second : reduceMeanSquares(xs);
    case "varianceBiased"_op: return varianceBiased(xs);
    case "variance"_op: return variance(xs);
    case "crossEntropy"_op: return crossEntropy(xs, step.target);
    case "logSumExp"_op: return logSumExp(xs);
    default: refuseUnknown("the executor", step.op);
  }
}

/// A program on the current tape. The nodes of the program are not the nodes of the tape: reduceMul appends many.
template <class T, burtorch::Config C = burtorch::defaultConfig> class TapeRun {
 public:
  using Value = burtorch::Value<T, C>;
  using Range = burtorch::Range<T, C>;

  /// Runs the steps [from, to) after those that have been run.
  void run(const Program& program, std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) append(program.steps[i]);
  }
  void run(const Program& program) { run(program, 0, program.steps.size()); }
  /// Forgets the nodes from `count` on; the caller rewinds the tape.
  void truncate(std::size_t count) { nodes_.resize(count); }

  const std::vector<Value>& nodes() const { return nodes_; }
  Value operator[](int node) const { return nodes_[static_cast<std::size_t>(node)]; }
  burtorch::NodeIndex index(int node) const { return (*this)[node].sysGetRawNodeIndex(); }

 private:
  void append(const Step& step) {
    switch (kindOf(step.op)) {
      case Kind::leaf: return appendLeaves(step);
      case Kind::unary: return add(runUnary(step, (*this)[step.x]));
      case Kind::binary: return add(runBinary(step, (*this)[step.x], (*this)[step.y]));
      case Kind::constant: return add(runConstant(step, (*this)[step.x]));
      case Kind::list:
      case Kind::indexed: return withList(step.xs, [&](const auto& xs) { add(runList(step, xs)); });
      case Kind::block: return withList(step.xs, [&](const auto& xs) { addAll(burtorch::softmax(xs)); });
      case Kind::pair:
        return withList(step.xs, [&](const auto& xs) {
          withList(step.ys, [&](const auto& ys) {
            if (step.op == "innerProduct"_op)
              add(burtorch::innerProduct(xs, ys));
            else
              add(burtorch::innerProductWithBias(xs, ys, (*this)[step.y]));
          });
        });
    }
  }
  void appendLeaves(const Step& step) {
    std::vector<T> numbers;
    for (const double x : step.leaves) numbers.push_back(static_cast<T>(x));
    if (!step.isBlock && numbers.size() == 1) return add(Value(numbers[0]));
    addAll(burtorch::currentTape<T, C>().leaves(std::span<const T>(numbers)));
  }
  void add(const Value& value) { nodes_.push_back(value); }
  void addAll(const Range& range) {
    for (std::size_t i = 0; i < range.size(); ++i) add(range[i]);
  }

  /// Calls f with a Range, a list of Ranges or a list of handles.
  template <class F> void withList(const List& list, F f) const {
    std::vector<Range> ranges;
    for (const Span& span : list.spans) {
      const auto range = rangeOf(span);
      if (!range) return f(handles(list));
      ranges.push_back(*range);
    }
    if (ranges.empty())
      f(handles(list));
    else if (ranges.size() == 1)
      f(ranges[0]);
    else
      f(ranges);
  }
  std::vector<Value> handles(const List& list) const {
    std::vector<Value> handles;
    for (const int node : list.nodes) handles.push_back((*this)[node]);
    return handles;
  }
  /// The nodes of a span as a Range, if they lie at equal distances on the tape too.
  std::optional<Range> rangeOf(const Span& span) const {
    if (span.count < 2) return Range((*this)[span.first].handle(), static_cast<std::size_t>(span.count));
    const auto at = [&](int i) { return static_cast<std::int32_t>(index(span.first + i * span.stride)); };
    const std::int32_t stride = at(1) - at(0);
    for (int i = 2; i < span.count; ++i)
      if (at(i) - at(i - 1) != stride) return {};
    return Range((*this)[span.first].handle(), static_cast<std::size_t>(span.count), stride);
  }

  std::vector<Value> nodes_;
};

/// A program with dual numbers: the library's forward mode. `tangents` has a number for every leaf, in order.
inline std::vector<burtorch::Dual<double>> runDual(const Program& program,
                                                   const std::vector<double>& tangents) {
  using X = burtorch::Dual<double>;
  std::vector<X> nodes;
  std::size_t leaf = 0;
  const auto node = [&](int i) { return nodes[static_cast<std::size_t>(i)]; };
  const auto gather = [&](const List& list) {
    std::vector<X> xs;
    for (const int i : list.nodes) xs.push_back(node(i));
    return xs;
  };
  for (const Step& step : program.steps) {
    const auto xs = gather(step.xs), ys = gather(step.ys);
    switch (kindOf(step.op)) {
      case Kind::leaf:
        for (const double x : step.leaves) nodes.emplace_back(x, tangents[leaf++]);
        break;
      case Kind::unary: nodes.push_back(runUnary(step, node(step.x))); break;
      case Kind::binary: nodes.push_back(runBinary(step, node(step.x), node(step.y))); break;
      case Kind::constant: nodes.push_back(runConstant(step, node(step.x))); break;
      case Kind::list:
      case Kind::indexed: nodes.push_back(runList(step, xs)); break;
      case Kind::block: {
        std::vector<X> out(xs.size());
        burtorch::softmax(xs, std::span<X>(out));
        nodes.insert(nodes.end(), out.begin(), out.end());
        break;
      }
      case Kind::pair:
        if (step.op == "innerProduct"_op)
          nodes.push_back(burtorch::innerProduct(xs, ys));
        else
          nodes.push_back(burtorch::innerProductWithBias(xs, ys, node(step.y)));
        break;
    }
  }
  return nodes;
}

}  // namespace graphs
