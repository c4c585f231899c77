// Writes random programs. Steps are proposed at random and kept only if the oracle finds them judgeable: numbers of
// ordinary size, no strong cancellation, no kink within rounding distance, so that a disagreement is a bug and not noise.
// Kinks and ties that are hit exactly (x - x, max(x, x)) are welcome, and so are poles that no root depends on.
#pragma once

#include <initializer_list>

#include "graph_oracle.hpp"

namespace graphs {

inline constexpr Op arithmetic[] = {"add"_op, "sub"_op, "mul"_op, "div"_op};
inline constexpr int fanIns[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100, 1000};

class Generator {
 public:
  static Program generate(std::uint64_t seed) { return Generator(seed).run(); }

 private:
  explicit Generator(std::uint64_t seed) : random_(seed) { program_.seed = seed; }

  Program run() {
    const int profile = random_.below(1000);
    const bool isWide = profile < 14, isHuge = profile < 5;
    maxFanIn_ = isHuge ? 1000 : isWide ? 100 : random_.isOneIn(4) ? 33 : random_.isOneIn(2) ? 9 : 5;
    int steps = profile < 30 ? random_.between(60, 120) : random_.between(4, 30);
    if (isHuge) steps = random_.between(5, 12);
    addFirstLeaves(isHuge ? 1000 : isWide ? 100 : 1);
    while (steps-- > 0) addStep();
    if (size() == leafCount_ && !random_.isOneIn(10)) addFallback();
    if (!random_.isOneIn(3)) gather();
    chooseRoots();
    return std::move(program_);
  }

  int size() const { return static_cast<int>(trace_.size()); }

  void addFirstLeaves(int atLeast) {
    if (atLeast > 1) addLeafBlock(random_.between(atLeast, 2 * atLeast), 0.93, 1.07);
    const int steps = random_.between(1, 3);
    for (int i = 0; i < steps; ++i) {
      if (random_.isOneIn(3))
        addLeafBlock(random_.isOneIn(6) ? random_.between(9, 40) : random_.between(1, 8), 0.3, 2.2);
      else
        addLeaf(number(0.3, 2.2));
    }
  }
  double number(double low, double high) {
    return random_.between(low, high) * (random_.isOneIn(4) ? -1 : 1);
  }
  void addLeaf(double x) {
    Step step;
    step.leaves = {x};
    add(step);
  }
  void addLeafBlock(int count, double low, double high) {
    Step step;
    step.isBlock = true;
    for (int i = 0; i < count; ++i) step.leaves.push_back(number(low, high));
    add(step);
  }
  void add(const Step& step) {
    trace_.append(step);
    program_.steps.push_back(step);
    if (step.op == leafOp) leafCount_ += step.resultCount();
  }
  /// Keeps a proposed step if it is judgeable.
  bool propose(const Step& step) {
    const int before = size();
    trace_.append(step);
    const bool isKept = isJudgeable(step, before);
    trace_.truncate(static_cast<std::size_t>(before));
    if (isKept) add(step);
    return isKept;
  }

  void addStep() {
    const int kind = random_.below(100);
    if (kind < 2)
      return random_.isOneIn(2) ? addLeaf(number(0.3, 2.2)) : addLeafBlock(random_.between(1, 9), 0.3, 2.2);
    if (kind < 5) return addDeadPole();
    for (int attempt = 0; attempt < 12; ++attempt) {
      const int choice = attempt == 0 ? kind : random_.between(5, 99);
      if (propose(choice < 35 ? unary() : choice < 65 ? binary() : choice < 80 ? withConstant() : list()))
        return;
    }
    addFallback();
  }
  void addFallback() {
    Step step;
    step.op = "mulByConstant"_op;
    step.x = anyNode();
    step.constant = 0.75;
    add(step);
  }

  /// A finite node, one of the youngest more often than not.
  int anyNode() {
    for (;;) {
      const int node =
          random_.isOneIn(3) ? random_.below(size()) : size() - 1 - random_.below(std::min(size(), 6));
      if (!trace_.isTainted(node)) return node;
    }
  }

  Step unary() {
    Step step;
    static const std::vector<Op> ops = opsOf({Kind::unary});
    step.op = random_.oneOf(ops);
    step.x = anyNode();
    if (step.op == "logarithm"_op && random_.isOneIn(2)) step.how = How::function;
    return step;
  }
  Step binary() {
    Step step;
    static const std::vector<Op> ops = opsOf({Kind::binary});
    step.op = random_.isOneIn(2) ? random_.oneOf(arithmetic) : random_.oneOf(ops);
    step.x = anyNode();
    step.y = random_.isOneIn(6) ? step.x : anyNode();
    if (std::find(std::begin(arithmetic), std::end(arithmetic), step.op) != std::end(arithmetic))
      step.how = random_.oneOf({How::plain, How::plain, How::function, How::inplace, How::inplaceName});
    return step;
  }
  Step withConstant() {
    Step step;
    static const std::vector<Op> ops = opsOf({Kind::constant});
    step.op = random_.oneOf(ops);
    step.x = anyNode();
    step.constant = number(0.2, 2.5);
    switch (step.op) {
      case "mulByConstant"_op:
        step.how = random_.oneOf({How::plain, How::left, How::function, How::inplace, How::inplaceName});
        break;
      case "addConstant"_op:
        step.how = random_.oneOf({How::plain, How::left, How::minus, How::inplace, How::inplaceName});
        break;
      case "divByConstant"_op: step.how = random_.oneOf({How::plain, How::inplace, How::inplaceName}); break;
      case "maxConstant"_op:
      case "minConstant"_op: step.how = random_.oneOf({How::plain, How::left}); break;
      case "leakyRelu"_op: step.constant = random_.between(0.01, 0.3); break;
      case "pow"_op:
        step.constant = random_.oneOf({2.0, 3.0, 0.5, -0.5, -1.0, 1.5, 0.0, 1.0, 2.5, 4.0});
        break;
      default: break;
    }
    return step;
  }
  Step list() {
    Step step;
    static const std::vector<Op> ops = opsOf({Kind::list, Kind::indexed, Kind::pair, Kind::block});
    step.op = random_.oneOf(ops);
    int fanIn = maxFanIn_ >= 100 && random_.isOneIn(2) ? maxFanIn_ : random_.oneOf(fanIns);
    while (fanIn > maxFanIn_ || (step.op == "softmax"_op && fanIn > 100)) fanIn = random_.oneOf(fanIns);
    step.xs = listOf(fanIn);
    const int count = static_cast<int>(step.xs.size());
    if (kindOf(step.op) == Kind::pair) step.ys = random_.isOneIn(4) ? step.xs : listOf(count);
    if (step.op == "innerProductWithBias"_op) step.y = anyNode();
    if (step.op == "crossEntropy"_op) step.target = static_cast<std::size_t>(random_.below(count));
    if ((step.op == "reduceMean"_op || step.op == "reduceMeanSquares"_op) && random_.isOneIn(4))
      step.how = How::both;
    return step;
  }

  /// A list of the given length, in one of the forms. Where the nodes do not suffice, or one of them is not finite, it
  /// is scattered.
  List listOf(int count) {
    const int form = random_.below(7);
    const auto isFine = [&](const List& list) {
      return std::all_of(list.nodes.begin(), list.nodes.end(),
                         [&](int node) { return !trace_.isTainted(node); });
    };
    if (form < 3) {
      const int stride = form == 0 ? 1 : form == 1 ? random_.between(2, 4) : -random_.between(1, 3);
      const int reach = (count - 1) * std::abs(stride) + 1;
      if (reach <= size()) {
        const int low = random_.below(size() - reach + 1);
        List list = List::ofSpans({{stride > 0 ? low : low + reach - 1, count, stride}});
        // The same as handles: the library finds the stride itself.
        if (random_.isOneIn(3)) list.spans.clear();
        if (isFine(list)) return list;
      }
    }
    if (form == 3) {
      List list = ranges(count);
      if (isFine(list)) return list;
    }
    List list;
    const int node = anyNode();
    for (int i = 0; i < count; ++i) list.nodes.push_back(form == 4 && count < 9 ? node : anyNodeEvenly());
    return list;
  }
  int anyNodeEvenly() {
    for (;;) {
      const int node = random_.below(size());
      if (!trace_.isTainted(node)) return node;
    }
  }
  List ranges(int count) {
    std::vector<Span> spans;
    while (count > 0) {
      const int part =
          std::min({count, size(), random_.isOneIn(3) ? count : random_.between(1, 1 + count / 2)});
      const int stride = random_.isOneIn(8) && 2 * part <= size() ? 2 : 1;
      const int reach = (part - 1) * stride + 1;
      spans.push_back({random_.below(size() - reach + 1), part, stride});
      if (random_.isOneIn(10)) spans.push_back({0, 0, 1});
      count -= part;
    }
    return List::ofSpans(std::move(spans));
  }

  /// A pole above a live node that is exactly 0, and perhaps something on top of it. No root will depend on it.
  void addDeadPole() {
    int zero = -1;
    for (int node = size() - 1; node >= 0 && zero < 0; --node)
      if (!trace_.isTainted(node) && trace_.value(node) == 0) zero = node;
    if (zero < 0 || random_.isOneIn(2)) {
      zero = size();
      Step step;
      step.op = "sub"_op;
      step.x = step.y = anyNode();
      if (random_.isOneIn(2))
        addLeaf(0);
      else
        add(step);
    }
    Step pole;
    pole.op = random_.oneOf({"logarithm"_op, "negativeLog"_op, "inv"_op, "sqrt"_op, "invSqrt"_op, "div"_op,
                             "constantDiv"_op, "pow"_op});
    pole.x = zero;
    if (pole.op == "div"_op) {
      pole.x = anyNode();
      pole.y = zero;
    }
    if (pole.op == "constantDiv"_op) pole.constant = 1;
    if (pole.op == "pow"_op) pole.constant = random_.oneOf({-1.0, 0.5, -0.5});
    add(pole);
    for (int more = random_.below(4); more > 0; --more) addOnTopOf(size() - 1);
  }
  void addOnTopOf(int pole) {
    Step step;
    switch (random_.below(4)) {
      case 0:
        step = unary();
        step.x = pole;
        break;
      case 1:
        step = binary();
        (random_.isOneIn(2) ? step.x : step.y) = pole;
        break;
      case 2:
        step.op = random_.oneOf({"reduceSum"_op, "reduceMean"_op, "reduceMul"_op, "reduceSumOfSquares"_op,
                                 "logSumExp"_op, "softmax"_op, "variance"_op});
        step.xs.nodes = {anyNode(), pole, anyNode()};
        break;
      default:
        step.op = "innerProductWithBias"_op;
        step.xs.nodes = {anyNode(), pole, anyNode()};
        step.ys.nodes = {anyNode(), anyNode(), pole};
        step.y = anyNode();
    }
    add(step);
  }

  /// One node of all the loose ends, so that a root depends on most of the program.
  void gather() {
    std::vector<bool> isUsed(trace_.size());
    for (const Step& step : program_.steps)
      Step::forEachOperand(step, [&](int node) { isUsed[static_cast<std::size_t>(node)] = true; });
    Step step;
    for (int node = 0; node < size(); ++node)
      if (!isUsed[static_cast<std::size_t>(node)] && !trace_.isLeaf(node) && !trace_.isTainted(node))
        step.xs.nodes.push_back(node);
    if (step.xs.size() == 0) return;
    for (int attempt = 0; attempt < 5; ++attempt) {
      step.op = random_.oneOf(
          {"reduceSum"_op, "reduceMean"_op, "reduceSub"_op, "reduceSumOfSquares"_op, "reduceMul"_op});
      if (propose(step)) return;
    }
  }
  void chooseRoots() {
    const auto pick = [&] {
      if (random_.isOneIn(25)) return random_.below(leafCount_) % size();
      if (program_.roots.empty() && !random_.isOneIn(4)) return size() - 1;
      return random_.isOneIn(2) ? size() - 1 - random_.below(std::min(size(), 3)) : random_.below(size());
    };
    const int count = random_.isOneIn(3) ? random_.between(2, 4) : 1;
    for (int attempt = 0; static_cast<int>(program_.roots.size()) < count && attempt < 20; ++attempt) {
      int root = pick();
      while (root > 0 && trace_.isTainted(root)) --root;
      if (std::find(program_.roots.begin(), program_.roots.end(), root) == program_.roots.end())
        program_.roots.push_back(root);
    }
  }

  bool isJudgeable(const Step& step, int first) const;
  bool isInDomain(const Step& step, int node) const;

  Random random_;
  Program program_;
  Trace trace_;
  int maxFanIn_ = 5, leafCount_ = 0;
};

/// Whether rounding leaves the new nodes and their slopes meaningful, in fp32 too.
inline bool Generator::isJudgeable(const Step& step, int first) const {
  for (int node = first; node < size(); ++node) {
    if (trace_.isTainted(node) || std::abs(trace_.value(node)) > 2000) return false;
    if (trace_.error(node) > 24 * std::abs(trace_.value(node))) return false;
    for (const Edge* edge = trace_.begin(node); edge != trace_.end(node); ++edge)
      if (std::abs(edge->slope) > 40) return false;
  }
  return isInDomain(step, first);
}

inline bool Generator::isInDomain(const Step& step, int node) const {
  const auto isBetween = [](Real x, Real low, Real high) { return low <= x && x <= high; };
  // Far from a kink, or on it without any rounding error.
  const auto isClear = [](Real distance, Real error) {
    return std::abs(distance) > 0.01L || (distance == 0 && error == 0);
  };
  const auto operandsWithin = [&](Real limit) {
    return std::all_of(step.xs.nodes.begin(), step.xs.nodes.end(),
                       [&](int operand) { return std::abs(trace_.value(operand)) <= limit; });
  };
  // One node only, whose variance is exactly 0, or numbers whose differences are more than rounding.
  const auto isSpread = [&](const List& list) {
    const auto [low, high] = std::minmax_element(list.nodes.begin(), list.nodes.end(), [&](int a, int b) {
      return trace_.value(a) < trace_.value(b);
    });
    const Real difference = trace_.value(*high) - trace_.value(*low);
    if (difference == 0)
      return std::all_of(list.nodes.begin(), list.nodes.end(),
                         [&](int operand) { return operand == list.nodes[0]; });
    return difference > 0.05L * (std::abs(trace_.value(*high)) + std::abs(trace_.value(*low)));
  };
  const Real x = step.x >= 0 ? trace_.value(step.x) : 0;
  const Real error = step.x >= 0 ? trace_.error(step.x) : 0;
  if (kindOf(step.op) == Kind::unary) {
    const oracle::Domain& domain = unaryRule(step.op).domain;
    if (!std::isnan(domain.kink) && !isClear(x - domain.kink, error)) return false;
    return isBetween(x, domain.low, domain.high) && std::abs(trace_.begin(node)->slope) >= domain.leastSlope;
  }
  switch (step.op) {
    case "leakyRelu"_op: return isClear(x, error);
    case "constantDiv"_op: return std::abs(x) > 0.1L;
    case "div"_op: return std::abs(trace_.value(step.y)) > 0.1L;
    case "max"_op:
    case "min"_op: return step.x == step.y || isClear(x - trace_.value(step.y), error + trace_.error(step.y));
    case "maxConstant"_op:
    case "minConstant"_op: return isClear(x - step.constant, error);
    case "pow"_op: return x > 0.1L || (step.constant >= 2 && step.constant != 2.5 && std::abs(x) > 0.1L);
    case "varianceBiased"_op:
    case "variance"_op: return step.xs.size() > 1 ? isSpread(step.xs) : step.op == "varianceBiased"_op;
    case "logSumExp"_op:
    case "crossEntropy"_op:
    case "softmax"_op: return operandsWithin(4);
    default: return true;
  }
}

}  // namespace graphs
