// A recorded graph as threaded code: an array of steps, each with a pointer to the function that carries it out and then
// calls the next. What a step leaves for the next one stays in a register: the result on the way forward, the gradient
// on the way back. Through memory it would arrive some nine cycles later, and a loop with a switch takes twice as long.
//
// Numbers are of type E: the tape's own, or packs of them. Gradients have the bits of `backward`, up to the sign of a
// zero: the first gradient that reaches a number is stored, not added to zero.
#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

#include "../core/pack.hpp"
#include "../core/sweep.hpp"

BURTORCH_FUSE_BEGIN
namespace burtorch::graph {

// clang makes a jump of a call in last place when it is told to, g++ does so from -O2 on.
#ifdef __clang__
#define BURTORCH_JUMP [[clang::musttail]] return
#else
#define BURTORCH_JUMP return
#endif

template <class E> class Threaded {
  struct Step;
  // Pointers as arguments, not in a struct: they stay in registers from step to step.
  using Run = const Step* (*)(const Step*, E* values, E* gradients, const Index* words, E carried);
  using T = PlainOf<E>;

  struct Step {
    Run run;
    Index a, b, result;
    Index next;  // on the way back: the number whose gradient the next step wants
    union {
      T constant;
      const UserOp<E>* user;
      const Index* summed;
    };
  };

 public:
  /// Takes what `root` depends on. The first `inputCount` numbers of the tape may change, the others stay as recorded.
  template <class N, Config C>
  Threaded(const Tape<N, C>& tape, Index root, std::size_t inputCount)
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
  static const Step* turn(const Step* step, E* values, E* gradients, const Index* words, E) {
    for (Index i = 0; i < step->b; ++i) gradients[step->summed[i]] = E(0);
    gradients[step->result] = E(1);
    BURTORCH_JUMP step[1].run(step + 1, values, gradients, words, E(1));
  }
  static const Step* pause(const Step* step, E*, E*, const Index*, E) { return step + 1; }
  static const Step* stop(const Step*, E*, E*, const Index*, E) { return nullptr; }

  static Instruction codeOf(const Step* step) { return {0, step->a, step->b}; }

  /// `carried` says which operands are the result of the step before: bit 0 the first, bit 1 the second.
  template <class Op, int carriedOperands>
  static const Step* compute(const Step* step, E* values, E* gradients, const Index* words, E carried) {
    E result;
    if constexpr (isScalarOp<Op>) {
      const E x = (carriedOperands & 1) != 0 ? carried : values[step->a];
      if constexpr (Op::arity == Arity::unary) {
        result = apply<Op>(x);
      } else if constexpr (Op::arity == Arity::constant) {
        result = applyConstant<Op>(x, step->constant);
      } else {
        const E y = (carriedOperands & 2) != 0 ? carried : values[step->b];
        result = apply<Op>(x, y);
      }
      values[step->result] = result;
    } else {
      burtorch::compute<Op, E>(values, words, codeOf(step), step->result);
      result = values[step->result];
    }
    BURTORCH_JUMP step[1].run(step + 1, values, gradients, words, result);
  }
  static const Step* computeUser(const Step* step, E* values, E* gradients, const Index* words, E) {
    step->user->compute(values, words, codeOf(step), step->result);
    BURTORCH_JUMP step[1].run(step + 1, values, gradients, words, values[step->result]);
  }

  /// `adds`: whether the gradient of an operand is added to (bit 0 the first, bit 1 the second) or stored; `next`: where
  /// the gradient that the next step wants is: 0 in memory, 1 that of the first operand, 2 that of the second.
  template <class Op, int adds, int next>
  static const Step* pull(const Step* step, E* values, E* gradients, const Index* words, E g) {
    E x, y;
    if constexpr (Op::arity == Arity::unary) {
      x = Op::slope(g, values[step->a], values[step->result]);
    } else if constexpr (Op::arity == Arity::constant) {
      x = Op::slope(g, values[step->a], step->constant, values[step->result]);
    } else {
      x = Op::slopeX(g, values[step->a], values[step->b], values[step->result]);
      y = Op::slopeY(g, values[step->a], values[step->b], values[step->result]);
    }
    if constexpr ((adds & 1) != 0) x = gradients[step->a] + x;
    gradients[step->a] = x;
    if constexpr (Op::arity == Arity::binary) {
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
  static const Step* pullList(const Step* step, E* values, E* gradients, const Index* words, E) {
    burtorch::pull<Op, E>({values, gradients, words}, codeOf(step), step->result, true);
    BURTORCH_JUMP step[1].run(step + 1, values, gradients, words, gradients[step->next]);
  }
  static const Step* pullUser(const Step* step, E* values, E* gradients, const Index* words, E) {
    step->user->pull({values, gradients, words}, codeOf(step), step->result, true);
    BURTORCH_JUMP step[1].run(step + 1, values, gradients, words, gradients[step->next]);
  }

  template <class Op> static Run computeOf(int carriedOperands) {
    if constexpr (!isScalarOp<Op>) {
      return &compute<Op, 0>;
    } else if constexpr (Op::arity != Arity::binary) {
      return (carriedOperands & 1) != 0 ? &compute<Op, 1> : &compute<Op, 0>;
    } else {
      constexpr Run runs[] = {&compute<Op, 0>, &compute<Op, 1>, &compute<Op, 2>, &compute<Op, 3>};
      return runs[carriedOperands];
    }
  }
  template <class Op> static Run pullOf(int adds, int next) {
    if constexpr (!isScalarOp<Op>) {
      return &pullList<Op>;
    } else if constexpr (Op::arity != Arity::binary) {
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
    Index last;
  };

  template <class N, Config C> void plan(const Tape<N, C>& tape, std::size_t inputCount) {
    const std::vector<bool> isReached = findReached(tape);
    std::vector<bool> varies(tape.size());
    for (std::size_t i = 0; i < inputCount; ++i) varies[i] = true;
    std::vector<Active> active;
    forEachInstruction(tape, [&](Instruction code, const OpInfo& info, Index first, Index last) {
      bool isNeeded = false, does = false;
      for (Index node = first; node <= last; ++node) isNeeded = isNeeded || isReached[node];
      if (!isNeeded || info.arity == Arity::leaf) return;
      forEachOperand(code, info, words_, [&](Index node) { does = does || varies[node]; });
      if (!does) return;
      for (Index node = first; node <= last; ++node) varies[node] = true;
      active.push_back({code, last});
    });
    planForward(tape, active);
    both_ = forward_;
    append(forward_, {&stop, 0, 0, 0, 0, {T{}}});
    planBackward(tape, active);
    append(both_, {&stop, 0, 0, 0, 0, {T{}}});
  }

  template <class N, Config C, class Visit> void forEachInstruction(const Tape<N, C>& tape, Visit visit) {
    Index first = 0;
    for (std::size_t k = 0; first <= root_; ++k) {
      const Instruction code = tape.instruction(k);
      const OpInfo& info = tape.infoOf(code.op());
      const Index count = info.writesMany() ? code.b() : 1;
      visit(code, info, first, first + count - 1);
      first += count;
    }
  }
  template <class N, Config C> std::vector<bool> findReached(const Tape<N, C>& tape) {
    std::vector<bool> isReached(tape.size());
    isReached[root_] = true;
    auto position = tape.find(root_);
    Index last = position.last;
    for (std::size_t k = position.instruction + 1; k-- > 0;) {
      const Instruction code = tape.instruction(k);
      const OpInfo& info = tape.infoOf(code.op());
      const Index count = info.writesMany() ? code.b() : 1;
      bool isNeeded = false;
      for (Index i = 0; i < count; ++i) isNeeded = isNeeded || isReached[last - i];
      if (isNeeded) forEachOperand(code, info, words_, [&](Index node) { isReached[node] = true; });
      last -= count;
    }
    return isReached;
  }

  template <class N, Config C> Step stepOf(const Tape<N, C>& tape, const Active& at) const {
    Step step{nullptr, at.code.a(), at.code.b(), at.last, 0, {T{}}};
    const OpInfo& info = tape.infoOf(at.code.op());
    if constexpr (std::is_same_v<N, E>)
      if (at.code.op() >= firstUserOpcode) step.user = tape.userOp(at.code.op());
    if (at.code.op() < firstUserOpcode && info.arity == Arity::constant)
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
    Index before = static_cast<Index>(maxIndex);
    for (const Active& at : active) {
      Step step = stepOf(tape, at);
      step.run = &computeUser;
      OpList::visitAt(at.code.op(), [&]<class Op>() {
        if constexpr (Op::arity != Arity::leaf) {
          int carried = 0;
          if (isScalarOp<Op> && !isAfterPause(forward_))
            carried = (step.a == before ? 1 : 0) | (Op::arity == Arity::binary && step.b == before ? 2 : 0);
          step.run = computeOf<Op>(carried);
        }
      });
      append(forward_, step);
      before = at.last;
    }
  }

  template <class N, Config C> void planBackward(const Tape<N, C>& tape, const std::vector<Active>& active) {
    // What lists and operators of the user's add to is cleared first; elsewhere the first gradient is stored.
    std::vector<bool> hasGradient(tape.size());
    const auto sum = [&](Index node) {
      if (!hasGradient[node]) summed_.push_back(node);
      hasGradient[node] = true;
    };
    for (const Active& at : active) {
      const OpInfo& info = tape.infoOf(at.code.op());
      const bool isScalar =
          info.arity == Arity::unary || info.arity == Arity::binary || info.arity == Arity::constant;
      if (isScalar && at.code.op() < firstUserOpcode) continue;
      forEachOperand(at.code, info, words_, sum);
      for (Index i = 0; info.writesMany() && i < at.code.b(); ++i) sum(at.last - i);
    }
    hasGradient[root_] = true;
    Step turnStep{&turn, 0, static_cast<Index>(summed_.size()), root_, 0, {T{}}};
    turnStep.summed = summed_.data();
    append(both_, turnStep);
    for (std::size_t k = active.size(); k-- > 0;) {
      Step step = stepOf(tape, active[k]);
      step.next = k > 0 ? active[k - 1].last : root_;
      step.run = &pullUser;
      OpList::visitAt(active[k].code.op(), [&]<class Op>() {
        if constexpr (isScalarOp<Op>) {
          int adds = 0;
          // A constant gathers a gradient that nobody reads.
          const auto note = [&](Index node, int bit) {
            if (hasGradient[node]) adds |= bit;
            hasGradient[node] = true;
          };
          note(step.a, 1);
          if constexpr (Op::arity == Arity::binary) note(step.b, 2);
          int next = step.a == step.next ? 1 : 0;
          if constexpr (Op::arity == Arity::binary)
            if (step.b == step.next) next = 2;
          step.run = pullOf<Op>(adds, next);
        } else if constexpr (Op::arity != Arity::leaf) {
          step.run = pullOf<Op>(0, 0);
        }
      });
      append(both_, step);
    }
  }

  std::vector<E> values_, gradients_;
  const Index* words_;
  Index root_;
  std::vector<Step> forward_, both_;
  std::vector<Index> summed_;
};

#undef BURTORCH_JUMP

}  // namespace burtorch::graph
BURTORCH_FUSE_END
