// A recorded graph as threaded code: an array of steps, each with a pointer to the function that carries it out and then
// calls the next. What a step leaves for the next one stays in a register: the result on the way forward, the gradient
// on the way back. Through memory it would arrive some nine cycles later, and a loop with a switch takes twice as long.
//
// Numbers are of type E: the tape's own, or packs of them. Gradients have the bits of `backward`, up to the sign of a
// zero: the first gradient that reaches a number is stored, not added to zero.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "../core/analysis.hpp"
#include "../core/op_dispatch.hpp"
#include "../simd/pack.hpp"
#include "reached_sweep.hpp"

BURTORCH_FUSE_BEGIN
namespace burtorch::inline BURTORCH_TARGET::graph {

// clang makes a jump of a call in last place when it is told to, g++ does so from -O2 on. WebAssembly has such jumps only
// where it is told to as well.
#if defined(__clang__) && (!defined(__wasm__) || defined(__wasm_tail_call__))
#define BURTORCH_JUMP [[clang::musttail]] return
#else
#define BURTORCH_JUMP return
#endif

template <class E> class ReplayCode {
  struct Step;
  // Pointers as arguments, not in a struct: they stay in registers from step to step.
  using Run = const Step* (*)(const Step*, E* values, E* gradients, const Word* words, E carried);
  using T = PlainOf<E>;

  struct Step {
    Run run;
    NodeIndex a, b, result;
    NodeIndex next;  // on the way back: the number whose gradient the next step wants
    union {
      T constant;
      const UserOp<E>* user;
      const Word* summed;
      ReachedSweep<E>* choices;
    };
  };

 public:
  ReplayCode(const ReplayCode&) = delete;
  ReplayCode& operator=(const ReplayCode&) = delete;
  /// Takes what `root` depends on. The first `inputCount` numbers of the tape may change, the others stay as recorded.
  template <class N, Config C>
  ReplayCode(const Tape<N, C>& tape, NodeIndex root, std::size_t inputCount)
      : values_(tape.size()), gradients_(tape.size(), E(0)), words_(tape.words()), root_(root) {
    for (std::size_t i = 0; i < values_.size(); ++i) values_[i] = E(tape.values()[i]);
    plan(tape, inputCount);
  }

  E* inputs() { return values_.data(); }
  const E* gradients() const { return gradients_.data(); }
  const E& value() const { return values_[root_]; }

  /// Computes the value.
  void forward() { start(forward_); }
  /// Computes the value and the gradient: the way there and the way back are one chain.
  void forwardAndBackward() { start(both_); }

 private:
  // A chain of calls ends here every so often, in case the compiler does not make jumps of them.
  static constexpr std::size_t longestChain = 64;
  void start(const std::vector<Step>& steps) {
    for (const Step* at = steps.data(); at != nullptr;)
      at = at->run(at, values_.data(), gradients_.data(), words_, gradients_[at->result]);
  }
  /// Between the way there and the way back: clears the sums, and lets a gradient of 1 arrive at the root.
  static const Step* turn(const Step* step, E* values, E* gradients, const Word* words, E) {
    for (NodeIndex i = 0; i < step->b; ++i) gradients[step->summed[i]] = E(0);
    gradients[step->result] = E(1);
    BURTORCH_JUMP step[1].run(step + 1, values, gradients, words, E(1));
  }
  /// The whole way back of a graph with choices.
  static const Step* sweepReached(const Step* step, E* values, E* gradients, const Word* words, E) {
    step->choices->run(values, gradients, words, step->result);
    BURTORCH_JUMP step[1].run(step + 1, values, gradients, words, E(1));
  }
  static const Step* pause(const Step* step, E*, E*, const Word*, E) { return step + 1; }
  static const Step* stop(const Step*, E*, E*, const Word*, E) { return nullptr; }

  /// Operators whose operands and gradients may stay in registers between steps.
  template <class Op> static constexpr bool isCarried = operandCount<Op> == 1 || operandCount<Op> == 2;
  struct StepOperands {
    const Step* step;
    E x_, y_, result_;

    BURTORCH_INLINE E x() const { return x_; }
    BURTORCH_INLINE E y() const { return y_; }
    BURTORCH_INLINE E result() const { return result_; }
    BURTORCH_INLINE T constant() const { return step->constant; }
  };

  static Instruction codeOf(const Step* step) { return {0, step->a, step->b}; }

  /// `carried` says which operands are the result of the step before: bit 0 the first, bit 1 the second.
  template <class Op, int carriedOperands>
  static const Step* compute(const Step* step, E* values, E* gradients, const Word* words, E carried) {
    E result;
    if constexpr (isCarried<Op>) {
      const E x = (carriedOperands & 1) != 0 ? carried : values[step->a];
      const E y = (carriedOperands & 2) != 0 ? carried : values[operandCount<Op> == 2 ? step->b : step->a];
      result = valueOf<Op>(StepOperands{step, x, y, x});
      values[step->result] = result;
    } else {
      burtorch::compute<Op, E>({values, nullptr, words}, values, codeOf(step), step->result);
      result = values[step->result];
    }
    BURTORCH_JUMP step[1].run(step + 1, values, gradients, words, result);
  }
  static const Step* computeUser(const Step* step, E* values, E* gradients, const Word* words, E) {
    step->user->compute({values, nullptr, words}, values, codeOf(step), step->result);
    BURTORCH_JUMP step[1].run(step + 1, values, gradients, words, values[step->result]);
  }

  /// `adds`: whether the gradient of an operand is added to (bit 0 the first, bit 1 the second) or stored; `next`: where
  /// the gradient that the next step wants is: 0 in memory, 1 that of the first operand, 2 that of the second.
  template <class Op, int adds, int next>
  static const Step* pull(const Step* step, E* values, E* gradients, const Word* words, E g) {
    const StepOperands in{step, values[step->a], values[operandCount<Op> == 2 ? step->b : step->a],
                          values[step->result]};
    E x = vjpOf<Op, 0>(g, in), y;
    if constexpr (operandCount<Op> == 2) y = vjpOf<Op, 1>(g, in);
    if constexpr ((adds & 1) != 0) x = gradients[step->a] + x;
    gradients[step->a] = x;
    if constexpr (operandCount<Op> == 2) {
      if constexpr ((adds & 2) != 0) y = gradients[step->b] + y;
      gradients[step->b] = y;
    }
    if constexpr (next == 0)
      BURTORCH_JUMP step[1].run(step + 1, values, gradients, words, gradients[step->next]);
    else if constexpr (next == 1)
      BURTORCH_JUMP step[1].run(step + 1, values, gradients, words, x);
    else
      BURTORCH_JUMP step[1].run(step + 1, values, gradients, words, y);
  }
  template <class Op>
  static const Step* pullList(const Step* step, E* values, E* gradients, const Word* words, E) {
    burtorch::pull<Op, E>({values, gradients, words}, codeOf(step), step->result, Reached::all);
    BURTORCH_JUMP step[1].run(step + 1, values, gradients, words, gradients[step->next]);
  }
  static const Step* pullUser(const Step* step, E* values, E* gradients, const Word* words, E) {
    step->user->pull({values, gradients, words}, codeOf(step), step->result, Reached::all);
    BURTORCH_JUMP step[1].run(step + 1, values, gradients, words, gradients[step->next]);
  }

  template <class Op> static Run computeOf(int carriedOperands) {
    if constexpr (!isCarried<Op>) {
      return &compute<Op, 0>;
    } else if constexpr (operandCount<Op> == 1) {
      return (carriedOperands & 1) != 0 ? &compute<Op, 1> : &compute<Op, 0>;
    } else {
      constexpr Run runs[] = {&compute<Op, 0>, &compute<Op, 1>, &compute<Op, 2>, &compute<Op, 3>};
      return runs[carriedOperands];
    }
  }
  template <class Op> static Run pullOf(int adds, int next) {
    if constexpr (!isCarried<Op>) {
      return &pullList<Op>;
    } else if constexpr (operandCount<Op> == 1) {
      constexpr Run runs[] = {&pull<Op, 0, 0>, &pull<Op, 1, 0>, &pull<Op, 0, 1>, &pull<Op, 1, 1>};
      return runs[(adds & 1) + 2 * next];
    } else {
      constexpr Run runs[] = {&pull<Op, 0, 0>, &pull<Op, 1, 0>, &pull<Op, 2, 0>, &pull<Op, 3, 0>,
                              &pull<Op, 0, 1>, &pull<Op, 1, 1>, &pull<Op, 2, 1>, &pull<Op, 3, 1>,
                              &pull<Op, 0, 2>, &pull<Op, 1, 2>, &pull<Op, 2, 2>, &pull<Op, 3, 2>};
      return runs[adds + 4 * next];
    }
  }

  /// An instruction that the root depends on and that depends on an input.
  struct Active {
    Instruction code;
    NodeIndex last;
  };

  /// The instructions up to the root's, for analysis.hpp.
  template <class N, Config C> struct View {
    const Tape<N, C>& tape;
    std::vector<NodeIndex> firsts{};  // number of each instruction, and one past the last

    std::size_t instructionCount() const { return firsts.size() - 1; }
    NumberRange results(std::size_t k) const { return {firsts[k], firsts[k + 1] - firsts[k]}; }
    template <class Visit> void forEachOperand(std::size_t k, Visit visit) const {
      const Instruction code = tape.instruction(k);
      forEachOperandRange(code, tape.infoOf(code.op()), tape.words(), visit);
    }
  };

  // Not inlined: it runs once, and its caller is often a loop that needs the registers. Out of the class, so that it can be
  // compiled once: all steps are made here.
  template <class N, Config C> [[gnu::noinline]] void plan(const Tape<N, C>& tape, std::size_t inputCount);
  template <class N, Config C> void planReached(const Tape<N, C>& tape, const std::vector<Active>& active) {
    // Choices are operators beyond the list, which packs do not replay.
    if constexpr (std::is_same_v<N, E>) {
      for (std::size_t k = active.size(); k-- > 0;) choices_.add(tape, active[k].code, active[k].last);
      choices_.finish();
      Step step{&sweepReached, 0, 0, root_, 0, {T{}}};
      step.choices = &choices_;
      append(both_, step);
    }
  }

  template <class N, Config C> Step stepOf(const Tape<N, C>& tape, const Active& at) const {
    Step step{nullptr, at.code.a(), at.code.b(), at.last, 0, {T{}}};
    const OpInfo& info = tape.infoOf(at.code.op());
    if constexpr (std::is_same_v<N, E>)
      if (at.code.op() >= firstUserOpcode) step.user = tape.userOp(at.code.op());
    if (at.code.op() < firstUserOpcode && info.hasConstant())
      step.constant = constantAt<E>(words_, at.code.b());
    return step;
  }
  static void append(std::vector<Step>& steps, const Step& step) {
    if (steps.size() % longestChain == longestChain - 1) steps.push_back({&pause, 0, 0, 0, 0, {T{}}});
    steps.push_back(step);
  }
  static bool isAfterPause(const std::vector<Step>& steps) {
    return steps.empty() || steps.size() % longestChain == longestChain - 1;
  }

  template <class N, Config C> void planForward(const Tape<N, C>& tape, const std::vector<Active>& active) {
    NodeIndex before = static_cast<NodeIndex>(maxIndex);
    for (const Active& at : active) {
      Step step = stepOf(tape, at);
      step.run = &computeUser;
      OpList::visitAt(at.code.op(), [&]<class Op>() {
        if constexpr (!isLeafOp<Op>) {
          int carried = 0;
          if (isCarried<Op> && !isAfterPause(forward_))
            carried = (step.a == before ? 1 : 0) | (operandCount<Op> == 2 && step.b == before ? 2 : 0);
          step.run = computeOf<Op>(carried);
        }
      });
      append(forward_, step);
      before = at.last;
    }
  }

  template <class N, Config C> void planBackward(const Tape<N, C>& tape, const std::vector<Active>& active) {
    // What lists and operators of the user's add to is cleared first; elsewhere the first gradient is stored.
    std::vector<std::uint8_t> used(tape.size());
    const Marks hasGradient(used.data());
    const auto sum = [&](NodeIndex first, NodeIndex count, std::int32_t stride) {
      for (std::int64_t i = 0; i < count; ++i)
        if (const auto node = static_cast<NodeIndex>(first + i * stride); firstUse(hasGradient, node))
          summed_.push_back(node);
    };
    for (const Active& at : active) {
      bool isSummed = true;
      OpList::visitAt(at.code.op(), [&]<class Op>() { isSummed = !isCarried<Op>; });
      if (!isSummed) continue;
      const OpInfo& info = tape.infoOf(at.code.op());
      forEachOperandRange(at.code, info, words_, sum);
      if (info.writesMany()) sum(at.last, at.code.b(), -1);
    }
    hasGradient.set(root_);
    Step turnStep{&turn, 0, static_cast<NodeIndex>(summed_.size()), root_, 0, {T{}}};
    turnStep.summed = summed_.data();
    append(both_, turnStep);
    for (std::size_t k = active.size(); k-- > 0;) {
      Step step = stepOf(tape, active[k]);
      step.next = k > 0 ? active[k - 1].last : root_;
      step.run = &pullUser;
      OpList::visitAt(active[k].code.op(), [&]<class Op>() {
        if constexpr (isCarried<Op>) {
          // A constant gathers a gradient that nobody reads.
          int adds = firstUse(hasGradient, step.a) ? 0 : 1;
          int next = step.a == step.next ? 1 : 0;
          if constexpr (operandCount<Op> == 2) {
            adds |= firstUse(hasGradient, step.b) ? 0 : 2;
            if (step.b == step.next) next = 2;
          }
          step.run = pullOf<Op>(adds, next);
        } else if constexpr (!isLeafOp<Op>) {
          step.run = pullOf<Op>(0, 0);
        }
      });
      append(both_, step);
    }
  }

  std::vector<E> values_, gradients_;
  const Word* words_;
  NodeIndex root_;
  std::vector<Step> forward_, both_;
  std::vector<NodeIndex> summed_;
  ReachedSweep<E> choices_;
};

template <class E>
template <class N, Config C>
void ReplayCode<E>::plan(const Tape<N, C>& tape, std::size_t inputCount) {
  View<N, C> view{tape};
  view.firsts.push_back(0);
  for (std::size_t k = 0; view.firsts.back() <= root_; ++k)
    view.firsts.push_back(view.firsts.back() + static_cast<NodeIndex>(tape.outputCount(k)));
  std::vector<std::uint8_t> reached(tape.size()), varying(tape.size());
  const Marks isReached(reached.data()), isVarying(varying.data());
  isReached.set(root_);
  reaches(view, isReached, [](std::size_t) { return true; });
  isVarying.set(0, inputCount, 1);
  varies(view, isVarying, [&](std::size_t k) { return isReached.hasAny(view.results(k)); });
  std::vector<Active> active;
  for (std::size_t k = 0; k < view.instructionCount(); ++k) {
    const Instruction code = tape.instruction(k);
    if (!tape.infoOf(code.op()).isLeaf() && isReached.hasAny(view.results(k)) &&
        isVarying.hasAny(view.results(k)))
      active.push_back({code, view.firsts[k + 1] - 1});
  }
  planForward(tape, active);
  both_ = forward_;
  append(forward_, {&stop, 0, 0, 0, 0, {T{}}});
  const bool hasChoice = std::any_of(active.begin(), active.end(),
                                     [&](const Active& at) { return tape.infoOf(at.code.op()).isChoice; });
  if (hasChoice)
    planReached(tape, active);
  else
    planBackward(tape, active);
  append(both_, {&stop, 0, 0, 0, 0, {T{}}});
}

#define BURTORCH_REPLAY_INSTANCES(EXTERN, T)                                            \
  EXTERN template void ReplayCode<T>::plan(const Tape<T, defaultConfig>&, std::size_t); \
  EXTERN template void ReplayCode<Pack<T>>::plan(const Tape<T, defaultConfig>&, std::size_t);
#ifdef BURTORCH_COMPILED  // by the target burtorch::compiled, which holds them (src/replay.cpp)
BURTORCH_REPLAY_INSTANCES(extern, double)
BURTORCH_REPLAY_INSTANCES(extern, float)
#endif

#undef BURTORCH_JUMP

}  // namespace burtorch::inline BURTORCH_TARGET::graph
BURTORCH_FUSE_END
