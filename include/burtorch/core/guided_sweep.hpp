// backward with knobs (paper section 4): it can be stopped, leave out what nobody wants, drop edges at random without bias,
// and say when the gradient of a parameter block is final, while the sweep goes on.
//
//   SweepMemory memory;
//   const auto result = backward(loss, {.memory = &memory, .stop = isCancelled, .wanted = blocks});
//
// Every knob is a compile-time switch of one loop, so one that is not set is not even asked for; with none set `backward`
// itself runs. The loop knows exactly what the root depends on, and visits nothing else. Memory: a byte for every scalar up
// to the root (two with `wanted`), and a copy of the leaves' gradients where they may have to be put back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backward.hpp"
#include "random_pass.hpp"
#include "selection.hpp"
#include "sweep_options.hpp"
#include "tape_graph.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {

/// Which knobs are set.
struct Knobs {
  bool stops, selects, keeps, reports;
};

/// Hands a block whose gradient is final to the caller, if it is wanted.
template <class T> void reportBlock(const Binding<T>& bound, const SweepOptions<T>& options, std::size_t id) {
  const NodeIndex first = id > 0 ? bound.blockEnds[id - 1] : 0, count = bound.blockEnds[id] - first;
  const Selection selection{options.wanted.blocks(), Marks<std::uint8_t>(nullptr)};
  if (!options.wanted.isAll() && !selection.wants(OperandWord(Block{first, count, true}), count)) return;
  const std::uint64_t bit = std::uint64_t{1} << (id % 64);
  if (bound.unwritten != nullptr && (bound.unwritten[id / 64] & bit) != 0) {  // nothing arrived: zero
    for (NodeIndex i = 0; i < count; ++i) bound.gradients[first + i] = T{0};
    bound.unwritten[id / 64] &= ~bit;
  }
  options.onFinal(FinalBlock<T>{static_cast<NodeIndex>(id), first, {bound.gradients + first, count}});
}

template <class T, Config C, Knobs knobs> class GuidedSweep {
  using Lanes = typename ScalarTraits<T>::Lanes;
  using Position = typename Tape<T, C>::Position;
  using Graph = TapeGraph<T, C>;
  static constexpr bool onlyStops = knobs.stops && !knobs.selects && !knobs.keeps && !knobs.reports;

 public:
  GuidedSweep(Tape<T, C>& tape, NodeIndex root, const SweepOptions<T>& options)
      : tape_(tape),
        root_(root),
        position_(tape.find(root)),
        options_(options),
        graph_(tape, position_.instruction + 1),
        marks_(nullptr),
        selection_{options.wanted.blocks(), Marks<std::uint8_t>(nullptr)} {
    const Binding<T>& bound = tape.binding();
    // Leaves first: they need the strictest alignment.
    for (std::size_t k = 0; k <= position_.instruction; ++k)
      if (tape.code()[k].op() == OpList::indexOf<ops::Leaf>()) leafCount_ += tape.code()[k].b();
    const std::size_t scalars = position_.last + 1, marks = knobs.selects ? 2 : 1;  // a byte of each
    savesParameters_ = knobs.stops && hasWritten(bound);
    const std::size_t leafBytes = knobs.stops || knobs.selects ? leafCount_ * sizeof(T) : 0,
                      parameterBytes = savesParameters_ ? bound.size * sizeof(T) : 0,
                      bitBytes = knobs.stops ? bound.unwrittenWords * sizeof(std::uint64_t) : 0,
                      useBytes = knobs.reports ? bound.blockCount * sizeof(std::size_t) : 0;
    std::byte* at =
        options.memory->bytes(leafBytes + parameterBytes + bitBytes + useBytes + marks * scalars + 64);
    leaves_ = reinterpret_cast<T*>(at);
    parameters_ = reinterpret_cast<T*>(at += leafBytes);
    at += parameterBytes;
    at += (alignof(std::uint64_t) - reinterpret_cast<std::uintptr_t>(at) % alignof(std::uint64_t)) %
          alignof(std::uint64_t);
    bits_ = reinterpret_cast<std::uint64_t*>(at);
    firstUse_ = reinterpret_cast<std::size_t*>(at += bitBytes);
    markBytes_ = {reinterpret_cast<std::uint8_t*>(at + useBytes), marks * scalars};
    if constexpr (!onlyStops && !knobs.selects) clear(markBytes_);
    marks_ = Marks<std::uint8_t>(markBytes_.data());
    selection_.varied = Marks<std::uint8_t>(markBytes_.data() + scalars);
  }

  SweepResult run() {
    SweepResult result;
    if constexpr (knobs.stops || knobs.selects) saveGradients();
    if constexpr (knobs.selects) {
      markVaried();
      if (!knobs.reports && !selection_.isVaried(root_, 1, 1)) return result;
    }
    PutBack putBack{*this};
    if constexpr (knobs.reports) findFirstUses();
    tape_.setSwept(position_);  // now: whatever ends the sweep, the next one clears what it left
    if constexpr (onlyStops)
      if (sweepPolled(result)) return putBack.isEarly = !result, result;
    T* gradients = tape_.frame().gradients;
    if constexpr (hasLanes<T>) Sweep<T, C>(tape_).setUnreached(position_);
    gradients[root_] = gradients[root_] + options_.seed;
    mark(root_, 1, 1, !Lanes{});
    NodeIndex last = position_.last;
    Polls polls{options_.stop, options_.pollEvery};
    for (std::size_t k = position_.instruction + 1; k-- > std::max(tape_.leadingLeaves(), start_);) {
      if constexpr (knobs.stops) {
        if (polls.isToStop()) {
          result.status = SweepStatus::stopped;
          return result;
        }
      }
      const Instruction code = tape_.code()[k];
      OpShape info = tape_.shapeOf(code.op());
      const NodeIndex count = info.writesMany() ? code.b() : 1, first = last + 1 - count;
      if (!info.isLeaf() && marks_.hasAny(first, count, 1) &&
          (!knobs.selects || selection_.isVaried(first, count, 1))) {
        pass(code, info, first, last);
        ++result.visited;
      }
      if constexpr (knobs.reports) reportFinal(k, code, info);
      last = first - 1;
    }
    putBack.isEarly = false;
    return result;
  }

 private:
  /// At the end of a sweep, however it ends: what must be as it was before.
  struct PutBack {
    GuidedSweep& sweep;
    bool isEarly = true;

    ~PutBack() {
      if constexpr (knobs.stops)
        if (isEarly) sweep.restoreGradients();
      if constexpr (knobs.selects) sweep.restoreUnwanted();
    }
  };

  /// The plain sweep, which needs no marks. False if it met a pole, about which only marks know enough: then all is as before.
  bool sweepPolled(SweepResult& result) {
    Sweep<T, C> sweep(tape_);
    Polls polls{options_.stop, options_.pollEvery};
    sweep.seed(position_, root_, options_.seed);
    if (!sweep.runPolled(position_, tape_.gradients()[position_.last], polls)) {
      sweep.clearInner();
      restoreGradients();
      clear(markBytes_);
      return false;
    }
    result = {polls.isStopped ? SweepStatus::stopped : SweepStatus::finished, polls.walked};
    return true;
  }
  static void clear(std::span<std::uint8_t> marks) { std::fill(marks.begin(), marks.end(), std::uint8_t{0}); }
  static bool hasWritten(const Binding<T>& bound) {
    if (bound.gradients == nullptr) return false;  // nodes of the tape
    if (bound.unwritten == nullptr) return bound.size > 0;
    for (std::size_t i = 0; i < bound.unwrittenWords; ++i)
      if (~bound.unwritten[i] != 0) return true;
    return false;
  }
  template <class Visit> void forEachLeaf(Visit visit) const {
    if (leafCount_ == 0) return;
    std::size_t at = 0;
    graph_.forEach([&](std::size_t, Instruction, OpShape info, NodeIndex first, NodeIndex count) {
      if (!info.isLeaf()) return;
      for (NodeIndex i = 0; i < count; ++i) visit(first + i, at++);
    });
  }
  void saveGradients() {
    const Frame<T> frame = tape_.frame();
    forEachLeaf([&](NodeIndex node, std::size_t at) { leaves_[at] = frame.gradients[node]; });
    if constexpr (knobs.stops) {
      const Binding<T>& bound = *frame.parameters;
      for (std::size_t i = 0; i < bound.unwrittenWords; ++i) bits_[i] = bound.unwritten[i];
      for (std::size_t i = 0; savesParameters_ && i < bound.size; ++i) parameters_[i] = bound.gradients[i];
    }
  }
  /// Blocks that were zero without being written are so again.
  void restoreGradients() {
    const Frame<T> frame = tape_.frame();
    forEachLeaf([&](NodeIndex node, std::size_t at) { frame.gradients[node] = leaves_[at]; });
    const Binding<T>& bound = *frame.parameters;
    for (std::size_t i = 0; i < bound.unwrittenWords; ++i) bound.unwritten[i] = bits_[i];
    for (std::size_t i = 0; savesParameters_ && i < bound.size; ++i) bound.gradients[i] = parameters_[i];
  }
  /// List operators add to all their operands.
  void restoreUnwanted() {
    T* gradients = tape_.frame().gradients;
    forEachLeaf([&](NodeIndex node, std::size_t at) {
      if (!selection_.isVaried(node, 1, 1)) gradients[node] = leaves_[at];
    });
  }

  /// What comes before the first wanted number is not varied: it needs no marks, and no visit unless blocks are reported.
  void markVaried() {
    const auto start = [&](std::size_t k, NodeIndex first) {
      start_ = k, selection_.first = first;
      const std::size_t all = markBytes_.size() / 2;
      for (const std::size_t from : {std::size_t{0}, all})
        clear(markBytes_.subspan(from, all).subspan(first));
    };
    start(position_.instruction + 1, position_.last + 1);
    if constexpr (knobs.reports) start(0, 0);
    graph_.forEach([&](std::size_t k, Instruction code, OpShape info, NodeIndex first, NodeIndex count) {
      const auto set = [&](std::size_t from, std::size_t end) {
        if (from >= end) return;
        if (k < start_) start(k, first);
        selection_.varied.set(from, end - from, 1);
      };
      if (info.isLeaf()) {
        for (const Block& block : selection_.wanted)
          if (!block.isParameter)
            set(std::max(block.first, first),
                std::min(std::size_t{block.first} + block.count, std::size_t{first} + count));
        return;
      }
      bool does = false;
      forEachOperandRange(code, info, tape_.words(), [&](NodeIndex from, NodeIndex n, std::int32_t stride) {
        does = does || selection_.isVaried(from, n, stride);
      });
      Graph::forEachParameter(code, info, tape_.words(), [&](OperandWord operand, NodeIndex n) {
        does = does || selection_.wants(operand, n);
      });
      if (does) set(first, first + count);
    });
  }

  // --- One instruction ---

  void pass(Instruction code, OpShape info, NodeIndex first, NodeIndex last) {
    Frame<T> frame = tape_.frame();
    if constexpr (knobs.selects) frame.selection = &selection_;
    Sweep<T, C> sweep(tape_);
    const Lanes lanes = hasLanes<T> ? reachedLanes(frame.gradients, first, last) : Lanes{};
    const auto pull = [&] {
      sweep.pullFunction(code.op())(frame, code, last, hasLanes<T> ? Reached::lanes : Reached::all);
    };
    const auto markOperand = [&](NodeIndex from, NodeIndex n, std::int32_t stride) {
      mark(from, n, stride, lanesTo(from, code, info, frame.words, frame.values, lanes));
    };
    if constexpr (knobs.keeps)
      return passSome(options_.keep, frame, code, info, first, last, pull, markOperand);
    forEachReachedRange(code, info, tape_.words(), frame.values, markOperand);
    pull();
  }
  void mark(NodeIndex from, NodeIndex n, std::int32_t stride, [[maybe_unused]] Lanes lanes) {
    marks_.set(from, n, stride);
    if constexpr (hasLanes<T>) Sweep<T, C>(tape_).setReached(from, n, stride, lanes);
  }

  // --- Final blocks ---

  static constexpr std::size_t never = static_cast<std::size_t>(-1);
  std::size_t blockOf(NodeIndex offset) const {
    const Binding<T>& bound = tape_.binding();
    const Word *ends = bound.blockEnds, *at = std::upper_bound(ends, ends + bound.blockCount, offset);
    return static_cast<std::size_t>(at - ends);
  }
  void findFirstUses() {
    const Binding<T>& bound = tape_.binding();
    for (std::size_t id = 0; id < bound.blockCount; ++id) firstUse_[id] = never;
    graph_.forEach([&](std::size_t k, Instruction code, OpShape info, NodeIndex, NodeIndex) {
      Graph::forEachParameter(code, info, tape_.words(), [&](OperandWord operand, NodeIndex) {
        std::size_t& use = firstUse_[blockOf(operand.first())];
        if (use == never) use = k;
      });
    });
    for (std::size_t id = 0; id < bound.blockCount; ++id)
      if (firstUse_[id] == never) reportBlock(bound, options_, id);
  }
  void reportFinal(std::size_t k, Instruction code, OpShape info) {
    Graph::forEachParameter(code, info, tape_.words(), [&](OperandWord operand, NodeIndex) {
      const std::size_t id = blockOf(operand.first());
      if (firstUse_[id] != k) return;
      firstUse_[id] = never;  // an instruction may read a block twice
      reportBlock(tape_.binding(), options_, id);
    });
  }

  Tape<T, C>& tape_;
  NodeIndex root_;
  Position position_;
  const SweepOptions<T>& options_;
  Graph graph_;
  std::size_t start_ = 0;  // the first instruction that is visited
  std::size_t leafCount_ = 0;
  bool savesParameters_ = false;
  T *leaves_ = nullptr, *parameters_ = nullptr;
  std::uint64_t* bits_ = nullptr;
  std::size_t* firstUse_ = nullptr;
  std::span<std::uint8_t> markBytes_;
  Marks<std::uint8_t> marks_;
  Selection selection_;
};

}  // namespace detail

/// As `backward(root)`, with knobs. Returns whether the sweep finished, and how many instructions it visited.
template <class T, Config C>
SweepResult backward(const Value<T, C>& root, const SweepOptions<std::type_identity_t<T>>& options) {
  Tape<T, C>& tape = *currentTapeSlot<T, C>;
  const bool stops = bool(options.stop), selects = !options.wanted.isAll(),
             keeps = options.keep.probability < 1, reports = bool(options.onFinal);
  if (!(options.keep.probability > 0 && options.keep.probability <= 1))
    fail("backward: expected a keep probability above 0 and at most 1, got %g", options.keep.probability);
  if (stops && options.pollEvery == 0) fail("backward: pollEvery is 0; expected at least 1");
  if (!stops && !selects && !keeps && !reports) {
    backward(root, options.seed);
    return {};
  }
  if (options.memory == nullptr) fail("backward: knobs need memory; give a SweepMemory");
  const Binding<T>& bound = tape.binding();
  if (reports && bound.blockEnds == nullptr)
    fail("backward: onFinal reports blocks of parameters; bind the tape to a ParameterStore first");
  Sweep<T, C>(tape).clearInner();
  if (root.isZero()) {  // nothing depends on a constant: all gradients are final
    for (std::size_t id = 0; reports && id < bound.blockCount; ++id) detail::reportBlock(bound, options, id);
    return {};
  }
  const NodeIndex node = tape.indexOf(root.handle());
  const auto run = [&]<bool... set>(std::bool_constant<set>...) {
    return detail::GuidedSweep<T, C, detail::Knobs{set...}>(tape, node, options).run();
  };
  const auto with = [](bool is, auto next) { return is ? next(std::true_type{}) : next(std::false_type{}); };
  return with(stops, [&](auto a) {
    return with(selects, [&](auto b) {
      return with(keeps, [&](auto c) { return with(reports, [&](auto d) { return run(a, b, c, d); }); });
    });
  });
}

}  // namespace burtorch::inline BURTORCH_TARGET
