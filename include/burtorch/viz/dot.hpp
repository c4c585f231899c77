// buildDotGraph: a picture of a graph as text in DOT (paper F.6, Figures 1 and 2). `dot -Tsvg` makes an image of it.
//
//   backward(g);
//   std::string text = buildDotGraph(g, {.title = "g and its gradient"});
//
// Every record shows a name, the operator by its own and by the paper's name, value, gradient and index; edges go from
// operands to results. A block of leaves, or the results of a layer, is one record, so a model is drawn as its layers; its
// name is that of its first number. dot_drawing.hpp says what labels of edges mean, dot_text.hpp what becomes of odd names,
// dot_compiled.hpp draws compile-time graphs. Text only; runs nothing. Cost: linear in the tape below the root, in time and,
// with two words for every number, in memory.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../core/value.hpp"
#include "dot_compiled.hpp"
#include "dot_drawing.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {

/// The instructions of a tape up to one of them, each a record.
template <class T, Config C> class DotTape {
 public:
  using Scalar = T;

  DotTape(const Tape<T, C>& tape, std::size_t instructions) : tape_(tape), firsts_(instructions + 1) {
    tape.requireWhole("buildDotGraph");
    for (std::size_t k = 0; k < instructions; ++k) {
      const auto count = static_cast<NodeIndex>(tape.outputCount(k));
      firsts_[k + 1] = firsts_[k] + count;
      owners_.insert(owners_.end(), count, static_cast<NodeIndex>(k));
    }
    // One walk over all names, the youngest first. Asking the tape for each would walk them every time.
    names_.resize(owners_.size());
    const Word* words = tape.words();
    for (NodeIndex at = tape.mark().lastName; at != 0; at = words[at - 1])
      if (const NodeIndex node = words[at]; node < names_.size() && names_[node] == 0) names_[node] = at;
  }

  std::size_t recordCount() const { return firsts_.size() - 1; }
  std::size_t recordOf(std::size_t number) const { return owners_[number]; }
  DotNumbers numbersOf(std::size_t k) const { return {firsts_[k], firsts_[k + 1] - firsts_[k]}; }
  std::span<const T> values() const { return tape_.values(); }
  std::span<const T> gradients() const { return tape_.gradients(); }

  DotRecord describe(std::size_t k) const {
    const Instruction code = tape_.instruction(k);
    const OpInfo& info = tape_.infoOf(code.op());
    std::string constant;
    if (info.hasConstant()) constant = dotNumber(constantAt<T>(tape_.words(), code.b()));
    return {nameOf(numbersOf(k)), dotOperator(info, constant), info.isLeaf()};
  }
  template <class Visit> void forEachOperand(std::size_t k, Visit visit) const {
    const Instruction code = tape_.instruction(k);
    forEachOperandRange(code, tape_.infoOf(code.op()), tape_.words(), visit);
  }

 private:
  std::string_view nameOf(std::size_t number) const {
    if (names_[number] == 0) return {};
    const Word* entry = tape_.words() + (names_[number] - 1);  // see Tape::setName
    return {reinterpret_cast<const char*>(entry + 3), entry[2]};
  }
  /// The name of the first number, and those of some others with their place: "weights, [3] slope".
  std::string nameOf(const DotNumbers& numbers) const {
    constexpr std::size_t most = 4;
    std::string name(nameOf(numbers.first));
    std::size_t found = 0;
    for (std::size_t i = 1; i < numbers.count; ++i) {
      const std::string_view other = nameOf(numbers.first + i);
      if (other.empty()) continue;
      if (!name.empty()) name += ", ";
      if (++found > most) return name + "...";
      name += "[" + std::to_string(i) + "] " + std::string(other);
    }
    return name;
  }

  const Tape<T, C>& tape_;
  std::vector<NodeIndex> firsts_;  // number of each instruction, and one past the last
  std::vector<NodeIndex> owners_;  // instruction of each number
  std::vector<NodeIndex> names_;   // of each number, where its name lies among the words, + 1
};

}  // namespace detail

/// What `root` depends on, on the current tape. If that is more than fits, the records nearest to the root.
template <class T, Config C>
std::string buildDotGraph(const Value<T, C>& root, const DotOptions& options = {}) {
  const Tape<T, C>& tape = *currentTapeSlot<T, C>;
  const std::size_t node = tape.indexOf(root.handle());
  if (node >= tape.size())
    fail(ErrorCode::outOfRange,
         "buildDotGraph: node %zu is out of range for the current tape of %zu; draw a Value of this tape",
         node, tape.size());
  const detail::DotTape<T, C> source(tape, tape.find(static_cast<NodeIndex>(node)).instruction + 1);
  return detail::DotDrawing(source, options).drawFrom({&node, 1});
}

/// A whole tape. If that is more than fits, its last records.
template <class T, Config C>
std::string buildDotGraph(const Tape<T, C>& tape, const DotOptions& options = {}) {
  const detail::DotTape<T, C> source(tape, tape.used().instructions);
  return detail::DotDrawing(source, options).drawAll();
}

}  // namespace burtorch::inline BURTORCH_TARGET
