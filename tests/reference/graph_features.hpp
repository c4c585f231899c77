// Counts what a program contains, so that a test can require that its random programs met everything they should.
#pragma once

#include <map>
#include <string>

#include "graph_oracle.hpp"

namespace graphs {

/// How often each thing that a test must meet was met.
using Features = std::map<std::string, long, std::less<>>;

/// Counts what a program contains.
inline void countFeatures(const Program& program, const Trace& trace, Features& features) {
  const auto count = [&](std::string_view name) {
    ++features.try_emplace(std::string(name), 0).first->second;
  };
  std::vector<bool> isNeeded(trace.size());
  for (const int root : program.roots) {
    const auto needed = trace.dependencies(root);
    for (std::size_t i = 0; i < needed.size(); ++i) isNeeded[i] = isNeeded[i] || needed[i];
    if (trace.isLeaf(root)) count("root is a leaf");
  }
  if (program.roots.size() > 1) count("several roots");
  const auto countList = [&](const List& list) {
    count("fan-in " + std::to_string(list.size()));
    const auto& nodes = list.nodes;
    const int stride = nodes.size() > 1 ? nodes[1] - nodes[0] : 1;
    bool isEven = true;
    for (std::size_t i = 1; i < nodes.size(); ++i) isEven = isEven && nodes[i] - nodes[i - 1] == stride;
    if (list.spans.size() > 1)
      count("list of ranges");
    else if (!isEven)
      count("scattered");
    else if (nodes.size() > 1)
      count(stride == 0   ? "one node repeated"
            : stride == 1 ? "contiguous"
            : stride < 0  ? "reversed"
                          : "strided");
    if (list.spans.size() == 1) count("passed as a range");
    std::vector<int> sorted = nodes;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
      count("same node twice in one list");
  };
  int node = 0;
  bool wasInplace = false;
  for (const Step& step : program.steps) {
    const int first = node, results = step.resultCount();
    node += results;
    count(nameOf(step.op));
    bool isDead = true, isPole = false;
    for (int i = first; i < node; ++i) {
      isDead = isDead && !isNeeded[static_cast<std::size_t>(i)];
      isPole = isPole || trace.isTainted(i);
    }
    if (step.op == leafOp) {
      count(step.isBlock ? "block of leaves" : "single leaf");
      if (first > 0 && !trace.isLeaf(first - 1)) count("leaf after other nodes");
      continue;
    }
    if (isDead) count(isPole ? "dead pole" : "dead step");
    if (step.x >= 0 && step.x == step.y) count(std::string("same node: ") + std::string(nameOf(step.op)));
    if (step.xs.size() > 0) countList(step.xs);
    if (step.ys.size() > 0) {
      countList(step.ys);
      if (step.xs.nodes == step.ys.nodes) count("same list on both sides of an inner product");
    }
    if (step.how != How::plain)
      count("spelled: " + std::string(howNames[static_cast<std::size_t>(step.how)]));
    const bool isInplace = step.how == How::inplace || step.how == How::inplaceName;
    if (isInplace && step.op == "add"_op && step.x == step.y) count("c += c");
    if (isInplace && wasInplace && step.x == first - 1) count("chain of in-place steps");
    wasInplace = isInplace;
  }
}

}  // namespace graphs
