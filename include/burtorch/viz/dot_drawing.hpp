// Which records of a graph are drawn, and how they are joined: the same for tapes and compile-time graphs.
//
// A record is an instruction or an argument, with all numbers that it has: a block of leaves or the results of a layer are
// one. Between two records there is one edge, however many operands go along it. Without a label it is one number; "x2" is
// the same number twice (x * x); from a record of many, "#7" is number 7 alone and "128" counts the operands.
// Cost: linear in the records and in the ranges of their operands; no recursion.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "../core/analysis.hpp"
#include "../ops/instruction.hpp"
#include "dot_text.hpp"

namespace burtorch::inline BURTORCH_TARGET::detail {

/// The numbers of a record, side by side.
struct DotNumbers {
  std::size_t first = 0, count = 1;

  bool has(std::size_t number) const { return number >= first && number - first < count; }
};
/// What a record says of itself.
struct DotRecord {
  std::string name;  // the user's; often none
  std::string op;
  bool isLeaf = false;
};

/// "mulByConstant 3 (eBinaryMultByConst)": our name, the constant if there is one, the paper's name if it has one.
inline std::string dotOperator(const OpInfo& info, const std::string& constant) {
  std::string text(info.name);
  if (!constant.empty()) text += " " + constant;
  if (info.opcode != info.name) text += " (" + std::string(info.opcode) + ")";
  return text;
}

/// Draws a Source, which has
///   Scalar, recordCount(), recordOf(number), numbersOf(r), describe(r), forEachOperand(r, visit(first, count, stride)),
///   values(), gradients(): of all numbers, or empty where they are not known.
template <class Source> class DotDrawing {
  using T = typename Source::Scalar;

 public:
  DotDrawing(const Source& source, const DotOptions& options)
      : source_(source), options_(options), isDrawn_(source.recordCount()), edgeTo_(source.recordCount()) {}

  /// What these numbers depend on, the nearest first.
  std::string drawFrom(std::span<const std::size_t> roots) {
    roots_ = roots;
    std::vector<std::uint8_t> isSeen(source_.recordCount());
    std::vector<std::size_t> reached;
    const auto reach = [&](std::size_t record) {
      if (firstUse(Marks(isSeen.data()), record)) reached.push_back(record);
    };
    for (const std::size_t root : roots) reach(source_.recordOf(root));
    for (std::size_t i = 0; i < reached.size(); ++i)
      forEachPart(reached[i], [&](std::size_t record, std::size_t, std::size_t) { reach(record); });
    const std::size_t drawn = std::min(reached.size(), options_.maxNodes);
    for (std::size_t i = 0; i < drawn; ++i) isDrawn_[reached[i]] = true;
    return write(reached.size() - drawn);
  }
  /// Everything, the last first.
  std::string drawAll() {
    const std::size_t all = source_.recordCount(), drawn = std::min(all, options_.maxNodes);
    for (std::size_t record = all - drawn; record < all; ++record) isDrawn_[record] = true;
    return write(all - drawn);
  }

 private:
  /// Operands that come from one record.
  struct Edge {
    std::size_t from, count, number;
  };

  /// Calls visit(record, first, count) for the operands of a record, by the records they belong to.
  template <class Visit> void forEachPart(std::size_t of, Visit visit) const {
    source_.forEachOperand(of, [&](std::size_t first, std::size_t count, std::ptrdiff_t stride) {
      while (count > 0) {
        const std::size_t record = source_.recordOf(first);
        const DotNumbers numbers = source_.numbersOf(record);
        const std::size_t left = numbers.first + numbers.count - first;
        const std::size_t here = stride != 1 ? 1 : std::min(count, left);
        visit(record, first, here);
        count -= here;
        first += here * static_cast<std::size_t>(stride);
      }
    });
  }

  std::string write(std::size_t notDrawn) {
    DotWriter writer(options_);
    std::size_t next = 0;
    for (std::size_t r = 0; r < source_.recordCount(); ++r) {
      if (!isDrawn_[r]) continue;
      const DotNumbers numbers = source_.numbersOf(r);
      const DotRecord record = source_.describe(r);
      const std::size_t missing = collectEdges(r);
      const bool isRoot =
          std::any_of(roots_.begin(), roots_.end(), [&](std::size_t root) { return numbers.has(root); });
      const DotStyle style = record.isLeaf       ? DotStyle::leaf
                             : numbers.count > 1 ? DotStyle::results
                                                 : DotStyle::result;
      writer.node(numbers.first, labelOf(record, numbers, missing), style, isRoot);
      for (const Edge& edge : edges_) {
        const DotNumbers from = source_.numbersOf(edge.from);
        writer.edge(from.first, numbers.first, labelOf(edge, from));
      }
      next = numbers.first + numbers.count;
    }
    if (notDrawn > 0)
      writer.note(next, std::to_string(notDrawn) + (notDrawn == 1 ? " more node is" : " more nodes are") +
                            " not drawn; raise maxNodes");
    return writer.finish();
  }

  /// The edges to a record, in the order of its operands. Returns how many operands are not drawn.
  std::size_t collectEdges(std::size_t to) {
    edges_.clear();
    std::size_t missing = 0;
    forEachPart(to, [&](std::size_t from, std::size_t number, std::size_t count) {
      if (!isDrawn_[from]) {
        missing += count;
        return;
      }
      // What an earlier record left here does not name an edge of this one.
      const std::size_t known = edgeTo_[from];
      if (known < edges_.size() && edges_[known].from == from) {
        edges_[known].count += count;
      } else {
        edgeTo_[from] = edges_.size();
        edges_.push_back({from, count, number});
      }
    });
    return missing;
  }
  static std::string labelOf(const Edge& edge, const DotNumbers& from) {
    if (from.count == 1) return edge.count > 1 ? "x" + std::to_string(edge.count) : "";
    return edge.count > 1 ? std::to_string(edge.count) : "#" + std::to_string(edge.number);
  }

  /// A number: two rows. Many: narrow and high, since the parameters of a layer stand side by side.
  DotLabel labelOf(const DotRecord& record, const DotNumbers& numbers, std::size_t missing) const {
    DotLabel label;
    if (!record.name.empty()) label.cell(record.name);
    label.cell(record.op);
    const std::string last = std::to_string(numbers.first + numbers.count - 1);
    if (numbers.count == 1) {
      label.cell("#" + last);
      addNumbers(label, numbers);
    } else {
      for (const std::size_t root : roots_)
        if (numbers.has(root)) {
          label.row();
          label.cell("#" + std::to_string(root));
          addNumbers(label, {root, 1}, false);
        }
      label.row();
      label.cell("#" + std::to_string(numbers.first) + " .. " + last);
      label.cell(std::to_string(numbers.count) + " numbers");
      addNumbers(label, numbers);
    }
    if (missing > 0) {
      label.row();
      label.cell(std::to_string(missing) + (missing == 1 ? " operand" : " operands") + " not drawn");
    }
    return label;
  }
  void addNumbers(DotLabel& label, const DotNumbers& of, bool isOnNewRow = true) const {
    const auto add = [&](const char* what, std::span<const T> all, bool isShown) {
      if (!isShown || all.empty()) return;
      if (isOnNewRow) label.row();
      isOnNewRow = of.count > 1;
      label.cell(dotNumbers(what, all.subspan(of.first, of.count)));
    };
    add("value", source_.values(), options_.showsValues);
    add("gradient", source_.gradients(), options_.showsGradients);
  }

  const Source& source_;
  const DotOptions& options_;
  std::span<const std::size_t> roots_;
  std::vector<bool> isDrawn_;
  std::vector<std::size_t> edgeTo_;  // of a record that gives an operand, its place in edges_
  std::vector<Edge> edges_;          // to the record at hand
};

}  // namespace burtorch::inline BURTORCH_TARGET::detail
