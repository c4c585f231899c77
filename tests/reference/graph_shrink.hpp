// Makes a failing program small: replaces steps by leaves of the same value, drops roots, shortens lists, removes what is
// not used, as long as it keeps failing. What is left goes into tests/corpus/.
#pragma once

#include "graph_checks.hpp"

namespace graphs {

class Shrinker {
 public:
  static Program shrink(const Program& program) {
    Shrinker shrinker(program);
    while (shrinker.pass() && shrinker.attempts_ < 3000) continue;
    return shrinker.best_;
  }

 private:
  explicit Shrinker(const Program& program) : best_(program) { best_.expectations.clear(); }

  bool pass() {
    bool isSmaller = false;
    for (std::size_t r = best_.roots.size(); r-- > 0 && best_.roots.size() > 1;)
      isSmaller |=
          accept([r](Program& p) { p.roots.erase(p.roots.begin() + static_cast<std::ptrdiff_t>(r)); });
    for (std::size_t i = best_.steps.size(); i-- > 0;)
      if (i < best_.steps.size()) isSmaller |= shrinkStep(i);
    return isSmaller;
  }
  bool shrinkStep(std::size_t i) {
    bool isSmaller = false;
    const Step& step = best_.steps[i];
    if (step.op != leafOp) isSmaller |= accept([i](Program& p) { replaceByLeaves(p, i); });
    isSmaller |= accept([](Program& p) { removeUnused(p, allSteps); });
    if (i < best_.steps.size()) isSmaller |= accept([i](Program& p) { removeUnused(p, i); });
    for (std::size_t part = 2; i < best_.steps.size() && part <= 16; part *= 2)
      isSmaller |= accept([i, part](Program& p) { shorten(p.steps[i], part, false); }) ||
                   accept([i, part](Program& p) { shorten(p.steps[i], part, true); });
    return isSmaller;
  }

  template <class Change> bool accept(Change change) {
    Program candidate = best_;
    change(candidate);
    if (toText(candidate) == toText(best_)) return false;
    ++attempts_;
    Features ignored;
    if (checkProgram(candidate, ignored).empty()) return false;
    best_ = std::move(candidate);
    return true;
  }

  static void replaceByLeaves(Program& program, std::size_t i) {
    const Trace trace(program);
    int first = 0;
    for (std::size_t k = 0; k < i; ++k) first += program.steps[k].resultCount();
    Step leaf;
    for (int k = 0; k < program.steps[i].resultCount(); ++k) {
      // Rounded to fp32, so that fp32 is still asked.
      leaf.leaves.push_back(static_cast<double>(static_cast<float>(trace.value(first + k))));
      if (trace.isTainted(first + k)) return;
    }
    program.steps[i] = leaf;
  }
  /// Leaves out a part of a list: its beginning or its end. A softmax keeps its length: later steps name its results.
  static void shorten(Step& step, std::size_t part, bool isFront) {
    if (step.xs.size() < 2 || step.op == "softmax"_op) return;
    const auto drop = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, step.xs.size() / part));
    for (List* list : {&step.xs, &step.ys}) {
      if (list->size() == 0) continue;
      list->spans.clear();
      auto& nodes = list->nodes;
      if (isFront)
        nodes.erase(nodes.begin(), nodes.begin() + drop);
      else
        nodes.erase(nodes.end() - drop, nodes.end());
    }
    step.target = std::min(step.target, step.xs.size() - 1);
  }
  static constexpr std::size_t allSteps = ~std::size_t{0};
  /// Removes a step, or all, if nothing refers to it, and numbers the rest anew.
  static void removeUnused(Program& program, std::size_t which) {
    std::vector<bool> isUsed(program.nodeCount());
    for (const int root : program.roots) isUsed[static_cast<std::size_t>(root)] = true;
    for (const Step& step : program.steps)
      Step::forEachOperand(step, [&](int node) { isUsed[static_cast<std::size_t>(node)] = true; });
    std::vector<int> renumbered(isUsed.size());
    std::vector<Step> kept;
    std::size_t node = 0, position = 0;
    int next = 0;
    for (Step step : program.steps) {
      const bool isCandidate = which == allSteps || which == position++;
      const auto results = static_cast<std::size_t>(step.resultCount());
      std::vector<double> leaves;
      bool isAnyUsed = false;
      for (std::size_t i = node; i < node + results; ++i) {
        const bool isKept = isUsed[i] || !isCandidate;
        isAnyUsed = isAnyUsed || isKept;
        if (step.op == leafOp && isKept) leaves.push_back(step.leaves[i - node]);
        renumbered[i] = next;
        if (step.op != leafOp || isKept) ++next;
      }
      if (!isAnyUsed && step.op != leafOp) next -= static_cast<int>(results);
      node += results;
      if (!isAnyUsed) continue;
      step.leaves = leaves;
      Step::forEachOperand(step,
                           [&](int& operand) { operand = renumbered[static_cast<std::size_t>(operand)]; });
      for (List* list : {&step.xs, &step.ys}) respan(*list);
      kept.push_back(step);
    }
    program.steps = std::move(kept);
    for (int& root : program.roots) root = renumbered[static_cast<std::size_t>(root)];
  }
  /// Ranges after renumbering: kept where they are still evenly spaced, otherwise the list becomes handles.
  static void respan(List& list) {
    std::size_t position = 0;
    for (Span& span : list.spans) {
      if (span.count > 0) span.first = list.nodes[position];
      if (span.count > 1) span.stride = list.nodes[position + 1] - list.nodes[position];
      position += static_cast<std::size_t>(span.count);
    }
    if (!list.spans.empty() && List::ofSpans(list.spans).nodes != list.nodes) list.spans.clear();
  }

  Program best_;
  int attempts_ = 0;
};

/// What a test prints: the complaint, the program as it came, and the small one, to be stored in tests/corpus/.
inline std::string report(const Program& program, const std::string& complaint) {
  const Program small = Shrinker::shrink(program);
  Features ignored;
  std::string text = complaint + "\nseed " + std::to_string(program.seed) + ", shrunk to:\n";
  text += "# " + checkProgram(small, ignored) + "\n" + toText(small);
  if (program.steps.size() <= 60) text += "before:\n" + toText(program);
  return text;
}

}  // namespace graphs
