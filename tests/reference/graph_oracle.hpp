// The oracle of the random graph tests: an interpreter of programs in long double that shares nothing with the library.
// It takes the local derivative of scalar operators from op_oracle.hpp, writes down those of lists once more, from the
// textbook, and pushes tangents forward along them, one seed node at a time. No reverse sweep, no accumulation order, no vjp rule is common with what it judges.
//
// Beside the derivative it carries S, the sum of the absolute contributions of all paths: what rounding errors are
// proportional to. Where a derivative is itself a difference (1 - y^2 of tanh) S takes both terms.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "graph_program.hpp"
#include "op_oracle.hpp"

namespace graphs {

using oracle::Real;

/// d node / d operand, and the sum of the absolute values of its terms.
struct Edge {
  int operand;
  Real slope, size;
};

/// Everything that is known of the nodes of a program, before any root is chosen.
class Trace {
 public:
  Trace() = default;
  explicit Trace(const Program& program) {
    for (const Step& step : program.steps) append(step);
  }

  std::size_t size() const { return value_.size(); }
  Real value(int node) const { return value_[at(node)]; }
  /// First-order bound of the rounding error of the value, in units of half an ulp of 1.
  Real error(int node) const { return error_[at(node)]; }
  /// The node depends on something that is not finite, or has a slope that is not.
  bool isTainted(int node) const { return isTainted_[at(node)]; }
  bool isLeaf(int node) const { return isLeaf_[at(node)]; }
  const Edge* begin(int node) const { return edges_.data() + firstEdge_[at(node)]; }
  const Edge* end(int node) const { return edges_.data() + firstEdge_[at(node) + 1]; }

  void append(const Step& step);
  /// Forgets the nodes from `size` on.
  void truncate(std::size_t size) {
    value_.resize(size);
    error_.resize(size);
    isTainted_.resize(size);
    isLeaf_.resize(size);
    firstEdge_.resize(size + 1);
    edges_.resize(firstEdge_.back());
  }

  /// Which nodes the root depends on, itself included.
  std::vector<bool> dependencies(int root) const {
    std::vector<bool> isNeeded(size());
    isNeeded[at(root)] = true;
    for (int node = root; node >= 0; --node)
      if (isNeeded[at(node)])
        for (const Edge* edge = begin(node); edge != end(node); ++edge) isNeeded[at(edge->operand)] = true;
    return isNeeded;
  }

  /// The derivatives of all nodes up to `last` with respect to one node, and S.
  void pushForward(int seed, int last, std::vector<Real>& tangent, std::vector<Real>& sum) const {
    tangent.assign(size(), 0);
    sum.assign(size(), 0);
    tangent[at(seed)] = sum[at(seed)] = 1;
    for (int node = seed + 1; node <= last; ++node) {
      Real t = 0, s = 0;
      for (const Edge* edge = begin(node); edge != end(node); ++edge) {
        // S of 0 means that no path leads there: without the test a pole would make a NaN of it.
        if (sum[at(edge->operand)] == 0) continue;
        t += edge->slope * tangent[at(edge->operand)];
        s += edge->size * sum[at(edge->operand)];
      }
      tangent[at(node)] = t;
      sum[at(node)] = s;
    }
  }

 private:
  static std::size_t at(int node) { return static_cast<std::size_t>(node); }

  void addEdge(int operand, Real slope, Real size) { edges_.push_back({operand, slope, size}); }
  void addEdge(int operand, Real slope) { addEdge(operand, slope, std::abs(slope)); }
  /// Ends a node whose edges are complete. `rounding` is what its own arithmetic adds to the error.
  void finish(Real value, Real rounding) {
    Real error = rounding;
    bool isTainted = !std::isfinite(value);
    for (std::size_t i = firstEdge_.back(); i < edges_.size(); ++i) {
      error += std::abs(edges_[i].slope) * error_[at(edges_[i].operand)];
      isTainted = isTainted || isTainted_[at(edges_[i].operand)] || !std::isfinite(edges_[i].slope);
    }
    value_.push_back(value);
    error_.push_back(error);
    isTainted_.push_back(isTainted);
    isLeaf_.push_back(false);
    firstEdge_.push_back(edges_.size());
  }
  void finish(Real value) { finish(value, std::abs(value)); }

  void appendUnary(const Step& step);
  void appendBinary(const Step& step);
  void appendConstant(const Step& step);
  void appendList(const Step& step);
  void appendVariance(const std::vector<int>& nodes, Real divisor);
  void appendExponential(const Step& step);
  void appendProduct(const std::vector<int>& nodes);
  void appendInnerProduct(const Step& step);

  std::vector<Real> value_, error_;
  std::vector<bool> isTainted_, isLeaf_;
  std::vector<std::size_t> firstEdge_ = {0};
  std::vector<Edge> edges_;
};

inline void Trace::append(const Step& step) {
  switch (kindOf(step.op)) {
    case Kind::leaf:
      for (const double x : step.leaves) {
        finish(x, 0);
        isLeaf_.back() = true;
      }
      return;
    case Kind::unary: return appendUnary(step);
    case Kind::binary: return appendBinary(step);
    case Kind::constant: return appendConstant(step);
    case Kind::pair: return appendInnerProduct(step);
    case Kind::list:
    case Kind::indexed:
    case Kind::block: return appendList(step);
  }
}

/// The rule of an operator in one of the oracle's tables; there must be one.
template <const auto& table> const auto& ruleOf(Op op) {
  using Rule = std::remove_all_extents_t<std::remove_reference_t<decltype(table)>>;
  static const auto rules = [] {
    std::array<Rule*, burtorch::OpList::size> found{};
    for (std::size_t i = 0; i < found.size(); ++i)
      found[i] = oracle::find(table, burtorch::OpList::infos[i].name);
    return found;
  }();
  Rule* rule = rules[static_cast<std::size_t>(op)];
  if (rule == nullptr) refuseUnknown("tests/reference/op_oracle.hpp", op);
  return *rule;
}
inline const oracle::Unary& unaryRule(Op op) { return ruleOf<oracle::unaries>(op); }

inline void Trace::appendUnary(const Step& step) {
  const Real x = value(step.x);
  const oracle::Unary& rule = unaryRule(step.op);
  const Real slope = rule.slope(x);
  addEdge(step.x, slope, rule.slopeTerms != nullptr ? rule.slopeTerms(x) : std::abs(slope));
  finish(rule.value(x));
}

inline void Trace::appendBinary(const Step& step) {
  const Real x = value(step.x), y = value(step.y);
  const oracle::Binary& rule = ruleOf<oracle::binaries>(step.op);
  addEdge(step.x, rule.slopeX(x, y));
  addEdge(step.y, rule.slopeY(x, y));
  const bool isSumOfSquares = step.op == "addSquares"_op || step.op == "meanSquares"_op;
  const Real z = rule.value(x, y);
  finish(z, std::abs(z) + (isSumOfSquares ? x * x + y * y : 0));
  // x - x and x / x are exact whatever the error of x.
  if (step.x == step.y && (step.op == "sub"_op || step.op == "div"_op)) error_.back() = 0;
}

inline void Trace::appendConstant(const Step& step) {
  const Real x = value(step.x), c = step.constant;
  const oracle::Binary& rule = ruleOf<oracle::constants>(step.op);
  addEdge(step.x, rule.slopeX(x, c));
  finish(rule.value(x, c));
}

inline void Trace::appendList(const Step& step) {
  const std::vector<int>& nodes = step.xs.nodes;
  const Real n = static_cast<Real>(nodes.size());
  Real total = 0, absolute = 0, squares = 0;
  for (const int node : nodes) {
    total += value(node);
    absolute += std::abs(value(node));
    squares += value(node) * value(node);
  }
  const auto allEdges = [&](auto slope) {
    for (const int node : nodes) addEdge(node, slope(value(node)));
  };
  switch (step.op) {
    case "reduceSum"_op: allEdges([](Real) { return Real{1}; }); return finish(total, absolute);
    case "reduceSub"_op: {
      addEdge(nodes[0], 1);
      for (std::size_t i = 1; i < nodes.size(); ++i) addEdge(nodes[i], -1);
      return finish(2 * value(nodes[0]) - total, absolute);
    }
    case "reduceMean"_op: allEdges([n](Real) { return 1 / n; }); return finish(total / n, absolute / n);
    case "reduceNegativeMean"_op:
      allEdges([n](Real) { return -1 / n; });
      return finish(-total / n, absolute / n);
    case "reduceSumOfSquares"_op: allEdges([](Real x) { return 2 * x; }); return finish(squares, squares);
    case "reduceMeanSquares"_op:
      allEdges([n](Real x) { return 2 * x / n; });
      return finish(squares / n, squares / n);
    case "varianceBiased"_op: return appendVariance(nodes, n);
    case "variance"_op: return appendVariance(nodes, n - 1);
    case "reduceMul"_op: return appendProduct(nodes);
    case "logSumExp"_op:
    case "crossEntropy"_op:
    case "softmax"_op: return appendExponential(step);
    default: refuseUnknown("the oracle", step.op);
  }
}

inline void Trace::appendVariance(const std::vector<int>& nodes, Real divisor) {
  const Real n = static_cast<Real>(nodes.size());
  Real mean = 0, absolute = 0;
  for (const int node : nodes) {
    mean += value(node) / n;
    absolute += std::abs(value(node)) / n;
  }
  // A list of one node, however often, has variance 0 to the bit; in long double its mean may round.
  if (std::all_of(nodes.begin(), nodes.end(), [&](int node) { return node == nodes[0]; }))
    mean = value(nodes[0]);
  Real squares = 0, rounding = 0;
  for (const int node : nodes) {
    const Real x = value(node), deviation = x - mean;
    squares += deviation * deviation;
    rounding += 2 * std::abs(deviation) * (std::abs(x) + absolute);
    addEdge(node, 2 * deviation / divisor, 2 * (std::abs(x) + absolute) / divisor);
  }
  finish(squares / divisor, (squares + rounding) / divisor);
}

/// logSumExp, crossEntropy and softmax: all are made of the probabilities p_i.
inline void Trace::appendExponential(const Step& step) {
  const std::vector<int>& nodes = step.xs.nodes;
  Real largest = value(nodes[0]);
  for (const int node : nodes) largest = std::max(largest, value(node));
  Real total = 0;
  for (const int node : nodes) total += std::exp(value(node) - largest);
  std::vector<Real> p;
  for (const int node : nodes) p.push_back(std::exp(value(node) - largest) / total);
  if (step.op == "softmax"_op) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (std::size_t j = 0; j < nodes.size(); ++j)
        addEdge(nodes[j], i == j ? p[i] * (1 - p[i]) : -p[i] * p[j],
                i == j ? p[i] * (1 + p[i]) : p[i] * p[j]);
      finish(p[i], p[i] * (2 + std::abs(value(nodes[i])) + std::abs(largest)));
    }
    return;
  }
  const bool isLoss = step.op == "crossEntropy"_op;
  const Real wanted = isLoss ? value(nodes[step.target]) : 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Real hit = isLoss && i == step.target ? 1 : 0;
    addEdge(nodes[i], p[i] - hit, p[i] + hit);
  }
  finish(std::log(total) + largest - wanted, 1 + std::log(total) + std::abs(largest) + std::abs(wanted));
}

inline void Trace::appendProduct(const std::vector<int>& nodes) {
  std::vector<Real> after(nodes.size() + 1, 1);
  for (std::size_t i = nodes.size(); i-- > 0;) after[i] = after[i + 1] * value(nodes[i]);
  Real before = 1;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    addEdge(nodes[i], before * after[i + 1]);
    before *= value(nodes[i]);
  }
  finish(before, std::abs(before) * std::sqrt(static_cast<Real>(nodes.size())));
}

inline void Trace::appendInnerProduct(const Step& step) {
  const bool hasBias = step.op == "innerProductWithBias"_op;
  Real total = hasBias ? value(step.y) : 0, absolute = std::abs(total);
  for (std::size_t i = 0; i < step.xs.size(); ++i) {
    const Real x = value(step.xs.nodes[i]), y = value(step.ys.nodes[i]);
    total += x * y;
    absolute += std::abs(x * y);
    addEdge(step.xs.nodes[i], y);
    addEdge(step.ys.nodes[i], x);
  }
  if (hasBias) addEdge(step.y, 1);
  finish(total, absolute);
}

}  // namespace graphs
