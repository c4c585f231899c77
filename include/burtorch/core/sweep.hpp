// The reverse sweep. Nodes are appended after their operands, so walking the instructions backwards is already a
// topological order: no sort, no visited set, no recursion. Cost: one pass over what lies below the root; memory: none.
//
// A node that the root does not depend on has gradient 0 and passes on zeros, which changes nothing, unless its slope
// is infinite: 0 * inf = NaN. PyTorch passes that NaN on from a node that was reached with gradient 0, and passes
// nothing on from a node that was never reached. So does this sweep: where a NaN comes out of a zero, it goes on with
// the careful walk, which knows exactly what was reached. Ordinary graphs never go there and never pay for it.
#pragma once

#include <algorithm>
#include <concepts>

#include "analysis.hpp"
#include "op_dispatch.hpp"
#include "sweep_options.hpp"

namespace burtorch::inline BURTORCH_TARGET {

template <class T, Config C> class Sweep {
  using Traits = ScalarTraits<T>;
  using Lanes = typename Traits::Lanes;
  using Position = typename Tape<T, C>::Position;

 public:
  explicit Sweep(Tape<T, C>& tape) : tape_(tape) {}

  /// A number, but not from empty braces: `backward(root, {})` means default options (guided_sweep.hpp), not a seed of 0.
  struct Seed {
    template <std::convertible_to<T> S> constexpr Seed(const S& seed) : value(static_cast<T>(seed)) {}
    T value;
  };

  /// Forgets what an earlier sweep left at inner nodes; leaves keep theirs and accumulate.
  BURTORCH_INLINE void clearInner() {
    if (tape_.sweptCode() > tape_.leadingLeaves()) [[unlikely]]
      clearSwept();
  }

  /// Puts the seed of a single root in place. An inner node's gradient is zero by now: it is set without being read,
  /// because what was just written comes back from memory only some nine cycles later.
  BURTORCH_INLINE void seed(Position position, NodeIndex root, T seed) {
    if (tape_.code()[position.instruction].op() == OpList::indexOf<ops::Leaf>()) return addSeed(root, seed);
    tape_.frame().gradients[root] = seed;
  }
  void addSeed(NodeIndex root, T seed) {
    T* gradients = tape_.frame().gradients;
    gradients[root] = gradients[root] + seed;
  }

  /// Sweeps from the instruction at `root`, where `g` has arrived, downwards. The seeds are in place, the other inner
  /// gradients are zero. `forEachRoot(visit)` names the other nodes that have seeds.
  template <class ForEachRoot> BURTORCH_INLINE void run(Position root, T g, ForEachRoot forEachRoot) {
    const Instruction* stoppedAt = runFast(tape_, root.instruction, root.last, g);
    if (stoppedAt != nullptr) [[unlikely]]
      runCarefully(root, static_cast<std::size_t>(stoppedAt - tape_.code()), forEachRoot);
  }
  BURTORCH_INLINE void run(Position root, T g) {
    run(root, g, [](auto) {});
  }

  /// The same, asking `polls` on the way. False if it met 0 * inf, which only a walk that knows what is reached can go on with.
  bool runPolled(Position root, T g, Polls& polls) {
    return runFast(tape_, root.instruction, root.last, g, Polled{&polls}) == nullptr || polls.isStopped;
  }

  /// Visits only what `node` depends on, which it marks: a byte for every scalar up to the last of its instruction, all
  /// zero at first.
  BURTORCH_INLINE void runReached(Position root, NodeIndex node, T g, std::uint64_t* marks) {
    if constexpr (hasLanes<T>) return run(root, g);  // what is reached may differ from lane to lane
    const ReachedOnly policy(marks, tape_);
    policy.marks.set(node);
    runFast(tape_, root.instruction, root.last, g, policy);
  }

  // What was reached, written into the sign of zeros: -0 is "never". Lanes of packs are reached one by one.

  void setUnreached(Position root) {
    T* g = tape_.frame().gradients;
    walk(root, [&](Instruction, OpShape info, NodeIndex first, NodeIndex last, std::size_t) {
      if (info.isLeaf()) return;
      for (NodeIndex node = first; node <= last; ++node)
        g[node] = select(Traits::isZero(g[node]), -T{0}, g[node]);
    });
  }
  void setReached(NodeIndex from, NodeIndex count, std::int32_t stride, Lanes lanes) {
    for (std::int64_t i = 0; i < count; ++i) {
      T& g = tape_.frame().gradients[from + i * stride];
      g = select(lanes && Traits::isUnreached(g), T{0}, g);
    }
  }

  /// How one instruction passes its gradient on.
  using Pull = bool (*)(Frame<T>, Instruction, NodeIndex, Reached);
  Pull pullFunction(Opcode op) const { return op < firstUserOpcode ? pulls[op] : tape_.userOp(op)->pull; }

 private:
  /// Visits everything below the root. That a node was reached is not known, only that a gradient of 0 may mean that it
  /// was not.
  struct Everything {
    static constexpr bool knowsReached = false, polls = false;
  };
  /// The same until somebody stops it.
  struct Polled {
    static constexpr bool knowsReached = false, polls = true;
    Polls* asked;
  };
  /// Visits what is marked, and marks operands.
  struct ReachedOnly {
    static constexpr bool knowsReached = true, polls = false;

    ReachedOnly(std::uint64_t* storage, const Tape<T, C>& from)
        : marks(reinterpret_cast<std::uint8_t*>(storage)), words(storage), tape(from) {}

    /// Long runs of single numbers that are not reached are skipped eight at a time, down to `lowest`.
    BURTORCH_INLINE void skip(const Instruction*& code, NodeIndex& last, const Instruction* lowest) const {
      if ((last & 7) != 7) return;
      while (code - lowest >= 8 && words[last / 8] == 0) {
        code -= 8;
        last -= 8;
      }
    }
    [[gnu::noinline]] void setOperands(Instruction code) const {
      forEachReachedRange(
          code, tape.shapeOf(code.op()), tape.words(), tape.frame().values,
          [&](NodeIndex first, NodeIndex count, std::int32_t stride) { marks.set(first, count, stride); });
    }

    Marks<std::uint8_t> marks;
    const std::uint64_t* words;
    const Tape<T, C>& tape;
  };

  /// Returns the instruction where 0 * inf produced a NaN, or before which it was stopped; nullptr when the sweep finished.
  template <class Policy = Everything>
  [[gnu::noinline]] static const Instruction* runFast(const Tape<T, C>& tape, std::size_t root,
                                                      NodeIndex last, T g, Policy policy = {});
  [[gnu::noinline]] void clearSwept();

  /// Continues a sweep with exact knowledge of what was reached.
  template <class ForEachRoot>
  [[gnu::cold, gnu::noinline]] void runCarefully(Position root, std::size_t resume, ForEachRoot forEachRoot) {
    const auto reach = [this](NodeIndex node) { setReached(node, 1, 1, !Lanes{}); };
    setUnreached(root);
    reach(root.last);
    forEachRoot(reach);
    walk(root, [&](Instruction code, OpShape info, NodeIndex first, NodeIndex last, std::size_t k) {
      const Lanes lanes = reachedLanes(tape_.frame().gradients, first, last);
      if (!any(lanes)) return;
      if (k <= resume) pullFunction(code.op())(tape_.frame(), code, last, Reached::lanes);
      const Frame<T> at = tape_.frame();
      forEachReachedRange(
          code, info, at.words, at.values, [&](NodeIndex from, NodeIndex n, std::int32_t stride) {
            setReached(from, n, stride, lanesTo(from, code, info, at.words, at.values, lanes));
          });
    });
  }

  /// Calls `visit(instruction, info, first, last, k)` for every instruction from `from` down to the leading leaves.
  template <class Visit> void walk(Position from, Visit visit) {
    NodeIndex last = from.last;
    for (std::size_t k = from.instruction + 1; k-- > tape_.leadingLeaves();) {
      const Instruction code = tape_.code()[k];
      const OpShape info = tape_.shapeOf(code.op());
      const NodeIndex first = last + 1 - (info.writesMany() ? code.b() : 1);
      visit(code, info, first, last, k);
      last = first - 1;
    }
  }

  static const std::array<Pull, OpList::size> pulls;
  Tape<T, C>& tape_;
};

// Out of the class: functions in it are inline, and compilers do not leave those to another file.
template <class T, Config C>
const std::array<typename Sweep<T, C>::Pull, OpList::size> Sweep<T, C>::pulls = [] {
  std::array<Pull, OpList::size> pulls{};
  OpList::forEach([&]<class Op>() {
    if constexpr (C.ops.has(OpList::indexOf<Op>())) pulls[OpList::indexOf<Op>()] = &pull<Op, T>;
  });
  return pulls;
}();

template <class T, Config C>
template <class Policy>
const Instruction* Sweep<T, C>::runFast(const Tape<T, C>& tape, std::size_t root, NodeIndex last, T g,
                                        [[maybe_unused]] Policy policy) {
  // Three pointers, not a Frame: they must stay in registers across the calls below.
  const T* const values = tape.frame().values;
  T* const gradients = tape.frame().gradients;
  const Word* const words = tape.frame().words;
  const Instruction* const stop = tape.code() + tape.leadingLeaves();
  const Instruction* code = tape.code() + root + 1;
  // From here on every instruction writes one number, and none is a leading leaf.
  [[maybe_unused]] const Instruction* singles = stop;
  if constexpr (Policy::knowsReached)
    if (const Instruction* tail = tape.code() + tape.mark().tailCode; tail > stop) singles = tail;
  enum class Step { next, done, nanFromZero } step;
  constexpr Reached known = Policy::knowsReached ? Reached::all : Reached::maybe;
  // The gradient of the node at hand, g, is carried in a register: most nodes feed the very next one down, and a
  // number that goes through memory is back only some nine cycles later. A tape begins with a leaf or a layer, so
  // only these have to look whether the walk has arrived.
  do {
    const Instruction here = *--code;
    step = Step::next;
    if constexpr (Policy::polls)
      if (code >= stop && policy.asked->isToStop()) [[unlikely]]
        return code;
    if constexpr (Policy::knowsReached) {
      if (!policy.marks.has(last)) {
        const NodeIndex count = code < singles && tape.shapeOf(here.op()).writesMany() ? here.b() : 1;
        if (count == 1 || !policy.marks.hasAny(last + 1 - count, count, 1)) {
          last -= count;
          policy.skip(code, last, singles);
          if (code <= stop) return nullptr;
          g = gradients[last];
          continue;
        }
      }
    }
    const auto visit = [&]<class Op>() __attribute__((always_inline)) {
      if constexpr (operandCount<Op> == 1 || operandCount<Op> == 2) {
        const NodeIndex below = last - 1;
        T next = gradients[below];
        if constexpr (Policy::knowsReached) {
          policy.marks.set(here.a());
          if constexpr (operandCount<Op> == 2) policy.marks.set(here.b());
        }
        const Vjps<Op, T> vjps(g, {{values, gradients, words}, here, last});
        if constexpr (!Policy::knowsReached) {
          if (vjps.hasNanFromZero(g)) [[unlikely]] {
            step = Step::nanFromZero;
            return;
          }
        }
        const T x = gradients[here.a()] + vjps.x;
        gradients[here.a()] = x;
        if constexpr (operandCount<Op> == 2) {
          const T y = gradients[here.b()] + vjps.y;
          gradients[here.b()] = y;
          if (here.b() == below)
            next = y;
          else if (here.a() == below)
            next = x;
        } else if (here.a() == below) {
          next = x;
        }
        last = below;
        g = next;
      } else if constexpr (isLeafOp<Op>) {
        if (code < stop) {
          step = Step::done;
          return;
        }
        last -= here.b();
        g = gradients[last];
      } else {
        const bool isDone = pull<Op, T>({values, gradients, words}, here, last, known);
        if constexpr (Policy::knowsReached) policy.setOperands(here);
        if (!isDone) [[unlikely]]
          step = Step::nanFromZero;
        last -= infoOf<Op>().writesMany() ? here.b() : 1;
        g = gradients[last];
      }
    };
    if (!OpList::template visitAt<C.ops>(here.op(), visit)) {
      const UserOp<T>& op = *tape.userOp(here.op());
      if (!op.pull(tape.frame(), here, last, known))
        step = Step::nanFromZero;
      else if (code <= stop)  // a layer that reads only parameters may be the first instruction of all
        step = Step::done;
      if constexpr (Policy::knowsReached) policy.setOperands(here);
      last -= op.info.writesMany() ? here.b() : 1;
      if (step == Step::next) g = gradients[last];
    }
  } while (step == Step::next);
  return step == Step::done ? nullptr : code;
}

template <class T, Config C> void Sweep<T, C>::clearSwept() {
  tape_.requireWhole("backward");  // a builder always comes here: it begins as if it had been swept
  T* gradients = tape_.frame().gradients;
  walk(tape_.at(tape_.sweptCode() - 1),
       [&](Instruction, OpShape info, NodeIndex first, NodeIndex last, std::size_t) {
         if (info.isLeaf()) return;
         std::fill(gradients + first, gradients + last + 1, T{0});
       });
}

/// Everything of the sweep that does not dissolve into its callers, for one type of numbers.
#define BURTORCH_SWEEP_INSTANCES(EXTERN, T)                                                           \
  EXTERN template class Sweep<T, defaultConfig>;                                                      \
  EXTERN template const Instruction* Sweep<T, defaultConfig>::runFast(                                \
      const Tape<T, defaultConfig>&, std::size_t, NodeIndex, T, Sweep<T, defaultConfig>::Everything); \
  EXTERN template const Instruction* Sweep<T, defaultConfig>::runFast(                                \
      const Tape<T, defaultConfig>&, std::size_t, NodeIndex, T, Sweep<T, defaultConfig>::Polled);     \
  EXTERN template const Instruction* Sweep<T, defaultConfig>::runFast(                                \
      const Tape<T, defaultConfig>&, std::size_t, NodeIndex, T, Sweep<T, defaultConfig>::ReachedOnly);
#ifdef BURTORCH_COMPILED  // by the target burtorch::compiled, which holds them (src/sweep.cpp)
BURTORCH_SWEEP_INSTANCES(extern, double)
BURTORCH_SWEEP_INSTANCES(extern, float)
#endif

}  // namespace burtorch::inline BURTORCH_TARGET
