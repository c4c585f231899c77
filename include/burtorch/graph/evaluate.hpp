// Turns the steps of a program into code: one call for every step, all inlined, so that the compiler sees straight-line
// code over local variables. The gradient runs over the steps backwards; the first gradient that reaches a number is
// stored, the others are added, and there is nothing to clear.
#pragma once

#include <utility>

#include "plan.hpp"

BURTORCH_FUSE_BEGIN
namespace burtorch::graph {

/// Calls `call.operator()<i>()` for i = 0 ... count - 1. Not a fold expression: clang limits their depth to 256.
template <std::size_t count, class Call> BURTORCH_INLINE constexpr void unroll(const Call& call) {
  if constexpr (count > 0)
    [&call]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
      const char done[] = {(call.template operator()<i>(), char{})...};
      static_cast<void>(done);
    }
  (std::make_index_sequence<count>{});
}

template <class T> using MaskOf = decltype(T{} < T{});

/// The numbers of one evaluation. Pointers to local arrays, which dissolve once everything is inlined.
template <class P> struct Memory {
  using T = typename P::Number;
  std::array<const T*, P::argumentCount> arguments;
  std::array<T*, P::argumentCount> gradients;  // where the caller wants them; null: not wanted
  T *local, *localGradient, *listed, *listedGradient;
  MaskOf<T>* isReached;
};

template <class P> class Evaluate {
  using T = typename P::Number;
  using M = Memory<P>;
  using Mask = MaskOf<T>;

 public:
  /// Computes what the plan needs.
  template <class Plan> BURTORCH_INLINE static constexpr void forward(const M& memory) {
    // Unrolled, here and below: an array that a loop indexes does not dissolve into registers.
    unroll<P::argumentCount>([&]<std::size_t a>() __attribute__((always_inline)) {
      if constexpr (P::layout.use[a] == ArgumentUse::copied)
        for (std::size_t i = 0; i < P::sizeOf(a); ++i)
          memory.listed[P::layout.copiedAt[a] + i] = memory.arguments[a][i];
    });
    unroll<P::stepCount>([&]<std::size_t k>() __attribute__((always_inline)) {
      if constexpr (isNeeded<Plan>(k)) forwardStep<k>(memory);
    });
  }

  /// The gradient of output `row` of the plan, `seed` arriving there. Adds to the caller's gradients of arguments that
  /// lists read in place, which must be zero or hold a sum; `adds` says whether it also adds to the others.
  template <class Plan, std::size_t row, std::size_t output, bool adds>
  BURTORCH_INLINE static constexpr void backward(const M& memory, T seed) {
    constexpr auto& flow = Plan::flows[row];
    for (std::size_t i = 0; i < P::layout.listed; ++i) memory.listedGradient[i] = T{0};
    if constexpr (flow.hasConditional)
      for (std::size_t i = 0; i < maskCount; ++i) memory.isReached[i] = Mask{};
    constexpr Id root = P::outputs[output];
    if constexpr (isActiveIn(flow, root)) addTo<root, true>(memory, seed);
    unroll<P::stepCount>([&]<std::size_t i>() __attribute__((always_inline)) {
      constexpr std::size_t k = P::stepCount - 1 - i;
      if constexpr (isActive<Plan, row>(k)) backwardStep<Plan, row, k>(memory);
    });
    unroll<P::argumentCount>([&]<std::size_t a>() __attribute__((always_inline)) {
      handOver<Plan, row, a, adds>(memory);
    });
  }

  template <Id id> BURTORCH_INLINE static constexpr T valueAt(const M& memory) {
    constexpr Place place = P::placeOf(id);
    if constexpr (place.home == Home::argument)
      return memory.arguments[place.argument][place.slot];
    else if constexpr (place.home == Home::local)
      return memory.local[place.slot];
    else if constexpr (place.home == Home::listed)
      return memory.listed[place.slot];
    else
      return T{P::constantOf(id)};
  }

  /// One mask for every result.
  static constexpr std::size_t maskCount = static_cast<std::size_t>(P::numberCount);

 private:
  template <class Plan> static constexpr bool isNeeded(std::size_t k) {
    const auto& step = P::steps[k];
    for (Id id = step.result; id < step.result + step.count; ++id)
      if (Plan::isNeeded[static_cast<std::size_t>(id)]) return P::placeOf(id).home != Home::constant;
    return false;
  }
  template <class Plan, std::size_t row> static constexpr bool isActive(std::size_t k) {
    const auto& step = P::steps[k];
    for (Id id = step.result; id < step.result + step.count; ++id)
      if (Plan::flows[row].isActive[static_cast<std::size_t>(id)]) return true;
    return false;
  }

  static constexpr bool isActiveIn(const auto& flow, Id id) {
    return id >= 0 && flow.isActive[static_cast<std::size_t>(id)];
  }

  template <std::size_t k, std::size_t list> BURTORCH_INLINE static constexpr ListShape shapeOf() {
    constexpr ListPlan plan = P::layout.lists[k][list];
    return {.form = plan.form,
            .first = plan.first,
            .stride = plan.stride,
            .words = P::layout.slots.data() + plan.words,
            .count = static_cast<std::size_t>(P::steps[k].length)};
  }
  template <std::size_t k, std::size_t list> BURTORCH_INLINE static List<T> listOf(const M& memory) {
    constexpr ListPlan plan = P::layout.lists[k][list];
    return {plan.isArgument ? memory.arguments[plan.argument] : memory.listed, shapeOf<k, list>()};
  }
  /// Null where no element is wanted.
  template <class Plan, std::size_t row, std::size_t k, std::size_t list>
  BURTORCH_INLINE static GradientList<T> gradientsOf(const M& memory) {
    constexpr ListPlan plan = P::layout.lists[k][list];
    constexpr bool isWanted = [] {
      for (std::int32_t i = 0; i < P::steps[k].length; ++i)
        if (Plan::flows[row].isActive[static_cast<std::size_t>(P::operandOf(P::steps[k], list, i))]) return true;
      return false;
    }();
    T* base = plan.isArgument ? memory.gradients[plan.argument] : memory.listedGradient;
    return {isWanted ? base : nullptr, shapeOf<k, list>()};
  }

  template <Id id> BURTORCH_INLINE static constexpr void set(const M& memory, const T& value) {
    constexpr Place place = P::placeOf(id);
    (place.home == Home::local ? memory.local : memory.listed)[place.slot] = value;
  }

  template <std::size_t k> BURTORCH_INLINE static constexpr void forwardStep(const M& memory) {
    constexpr Step<T> step = P::steps[k];
    if constexpr (step.user != nullptr) {
      constexpr UserRules<T> rules = *step.user;
      if constexpr (rules.arity == Arity::unary)
        set<step.result>(memory, rules.unary(valueAt<step.a>(memory)));
      else if constexpr (rules.arity == Arity::constant)
        set<step.result>(memory, rules.constant(valueAt<step.a>(memory), step.constant));
      else if constexpr (rules.arity == Arity::binary)
        set<step.result>(memory, rules.binary(valueAt<step.a>(memory), valueAt<step.b>(memory)));
      else
        set<step.result>(memory, rules.varying(listOf<k, 0>(memory)));
    } else {
      using Op = OpAt<step.op>;
      if constexpr (std::is_same_v<Op, Constant>)
        set<step.result>(memory, T{step.constant});
      else if constexpr (std::is_same_v<Op, Select>)
        set<step.result>(memory, select(valueAt<step.a>(memory) != T{0}, valueAt<step.b>(memory), valueAt<step.c>(memory)));
      else if constexpr (Op::arity == Arity::unary)
        set<step.result>(memory, apply<Op>(valueAt<step.a>(memory)));
      else if constexpr (Op::arity == Arity::constant)
        set<step.result>(memory, applyConstant<Op>(valueAt<step.a>(memory), step.constant));
      else if constexpr (Op::arity == Arity::binary)
        set<step.result>(memory, apply<Op>(valueAt<step.a>(memory), valueAt<step.b>(memory)));
      else
        forwardList<Op, k>(memory);
    }
  }
  template <class Op, std::size_t k> BURTORCH_INLINE static void forwardList(const M& memory) {
    constexpr Step<T> step = P::steps[k];
    if constexpr (Op::arity == Arity::block)
      Op::value(listOf<k, 0>(memory), memory.listed + P::placeOf(step.result).slot);
    else if constexpr (step.c >= 0)  // a bias
      set<step.result>(memory, Op::value(listOf<k, 0>(memory), listOf<k, 1>(memory)) + valueAt<step.c>(memory));
    else if constexpr (Op::arity == Arity::pair)
      set<step.result>(memory, Op::value(listOf<k, 0>(memory), listOf<k, 1>(memory)));
    else if constexpr (Op::takesIndex)
      set<step.result>(memory, Op::value(listOf<k, 0>(memory), std::size_t{step.target}));
    else
      set<step.result>(memory, Op::value(listOf<k, 0>(memory)));
  }

  template <Id id> BURTORCH_INLINE static constexpr T& gradientAt(const M& memory) {
    constexpr Place place = P::gradientPlaceOf(id);
    if constexpr (place.home == Home::argument)
      return memory.gradients[place.argument][place.slot];
    else if constexpr (place.home == Home::local)
      return memory.localGradient[place.slot];
    else
      return memory.listedGradient[place.slot];
  }
  /// Adds to the gradient of a number; the first one is stored where nothing was cleared.
  template <Id id, bool isFirst> BURTORCH_INLINE static constexpr void addTo(const M& memory, const T& g) {
    T& to = gradientAt<id>(memory);
    if constexpr (isFirst && P::gradientPlaceOf(id).home == Home::local)
      to = g;
    else
      to = to + g;
  }

  /// Whether the result of step k was chosen, if that is a question at all.
  template <class Plan, std::size_t row, Id id> static constexpr bool isConditional =
      Plan::flows[row].isConditional[static_cast<std::size_t>(id)];

  /// Passes a gradient from step k to the operand `id`. What a select has not chosen passes nothing on, not even the
  /// NaN of a pole: the same as if the function had branched.
  template <class Plan, std::size_t row, std::size_t k, Id id, bool isFirst>
  BURTORCH_INLINE static constexpr void pass(const M& memory, const T& g) {
    constexpr Id from = P::steps[k].result;
    if constexpr (isConditional<Plan, row, from>) {
      const Mask& isReached = memory.isReached[from];
      addTo<id, isFirst>(memory, select(isReached, g, T{0}));
      reach<Plan, row, id>(memory, isReached);
    } else {
      addTo<id, isFirst>(memory, g);
    }
  }
  template <class Plan, std::size_t row, Id id>
  BURTORCH_INLINE static constexpr void reach(const M& memory, const Mask& isReached) {
    if constexpr (isConditional<Plan, row, id>) memory.isReached[id] = memory.isReached[id] || isReached;
  }

  template <class Plan, std::size_t row, std::size_t k>
  BURTORCH_INLINE static constexpr void backwardStep(const M& memory) {
    constexpr Step<T> step = P::steps[k];
    constexpr auto& flow = Plan::flows[row];
    constexpr bool toA = isActiveIn(flow, step.a);
    constexpr bool toB = isActiveIn(flow, step.b);
    constexpr bool toC = isActiveIn(flow, step.c);
    if constexpr (step.length > 0) {
      backwardList<Plan, row, k>(memory);
    } else if constexpr (step.op == GraphOps::indexOf<Select>()) {
      const T g = gradientAt<step.result>(memory);
      const Mask isB = valueAt<step.a>(memory) != T{0};
      if constexpr (toB) choose<Plan, row, k, step.b, flow.isFirstB[k]>(memory, isB, g);
      if constexpr (toC) choose<Plan, row, k, step.c, flow.isFirstC[k]>(memory, !isB, g);
    } else {
      const T g = gradientAt<step.result>(memory);
      if constexpr (toA) pass<Plan, row, k, step.a, flow.isFirstA[k]>(memory, slope<k, false>(memory, g));
      if constexpr (toB) pass<Plan, row, k, step.b, flow.isFirstB[k]>(memory, slope<k, true>(memory, g));
    }
  }
  template <class Plan, std::size_t row, std::size_t k, Id id, bool isFirst>
  BURTORCH_INLINE static constexpr void choose(const M& memory, const Mask& isChosen, const T& g) {
    constexpr Id from = P::steps[k].result;
    Mask isReached = isChosen;
    if constexpr (isConditional<Plan, row, from>) isReached = isReached && memory.isReached[from];
    addTo<id, isFirst>(memory, select(isReached, g, T{0}));
    reach<Plan, row, id>(memory, isReached);
  }

  /// What the slope rule is handed: a number, or something that stands for one it does not look at.
  template <std::size_t k, bool isY, std::uint8_t bit, Id id>
  BURTORCH_INLINE static constexpr auto seen(const M& memory) {
    constexpr std::uint8_t reads = isY ? P::steps[k].reads.byY : P::steps[k].reads.byX;
    if constexpr ((reads & bit) != 0)
      return valueAt<id>(memory);
    else
      return Unread{};
  }
  template <std::size_t k, bool isY> BURTORCH_INLINE static constexpr T slope(const M& memory, const T& g) {
    constexpr Step<T> step = P::steps[k];
    using R = SlopeReads;
    const auto x = seen<k, isY, R::x, step.a>(memory);
    const auto result = seen<k, isY, R::result, step.result>(memory);
    if constexpr (step.user != nullptr) {
      constexpr UserRules<T> rules = *step.user;
      if constexpr (rules.arity == Arity::unary)
        return rules.unarySlope(g, orNothing(x), orNothing(result));
      else if constexpr (rules.arity == Arity::constant)
        return rules.constantSlope(g, orNothing(x), step.constant, orNothing(result));
      else
        return (isY ? rules.slopeY : rules.slopeX)(g, orNothing(x), orNothing(seen<k, isY, R::y, step.b>(memory)),
                                                   orNothing(result));
    } else {
      using Op = OpAt<step.op>;
      if constexpr (Op::arity == Arity::unary)
        return Op::slope(g, x, result);
      else if constexpr (Op::arity == Arity::constant)
        return Op::slope(g, x, step.constant, result);
      else if constexpr (isY)
        return Op::slopeY(g, x, seen<k, isY, R::y, step.b>(memory), result);
      else
        return Op::slopeX(g, x, seen<k, isY, R::y, step.b>(memory), result);
    }
  }
  BURTORCH_INLINE static constexpr T orNothing(const T& x) { return x; }
  BURTORCH_INLINE static constexpr T orNothing(Unread) { return T{0}; }

  template <class Plan, std::size_t row, std::size_t k> BURTORCH_INLINE static void backwardList(const M& memory) {
    constexpr Step<T> step = P::steps[k];
    constexpr auto& flow = Plan::flows[row];
    T g = gradientAt<step.result>(memory);
    if constexpr (isConditional<Plan, row, step.result>) {
      const Mask& isReached = memory.isReached[step.result];
      if constexpr (std::is_same_v<Mask, bool>) {
        if (!isReached) return;
      }
      g = select(isReached, g, T{0});
      for (std::int32_t i = 0; i < static_cast<std::int32_t>(P::listsOf(step)) * step.length; ++i) {
        Mask& operand = memory.isReached[P::operands[static_cast<std::size_t>(step.list + i)]];
        operand = operand || isReached;
      }
    }
    const List<T> xs = listOf<k, 0>(memory);
    const GradientList<T> gs = gradientsOf<Plan, row, k, 0>(memory);
    if constexpr (step.user != nullptr) {
      step.user->varyingSlope(g, xs, valueAt<step.result>(memory), gs);
    } else {
      using Op = OpAt<step.op>;
      if constexpr (Op::arity == Arity::pair) {
        if constexpr (isActiveIn(flow, step.c))
          pass<Plan, row, k, step.c, flow.isFirstC[k]>(memory, g);
        Op::slope(g, xs, listOf<k, 1>(memory), gs, gradientsOf<Plan, row, k, 1>(memory));
      } else if constexpr (Op::arity == Arity::block) {
        constexpr std::uint32_t slot = P::placeOf(step.result).slot;
        Op::slope(memory.listedGradient + slot, xs, memory.listed + slot, gs);
      } else if constexpr (Op::takesIndex) {
        Op::slope(g, xs, valueAt<step.result>(memory), gs, std::size_t{step.target});
      } else {
        Op::slope(g, xs, valueAt<step.result>(memory), gs);
      }
    }
  }

  /// Gives the gradient of one argument to the caller.
  template <class Plan, std::size_t row, std::size_t a, bool adds>
  BURTORCH_INLINE static constexpr void handOver(const M& memory) {
    if constexpr (!Plan::template wantsArgument<a>) {
      return;
    } else if constexpr (P::layout.use[a] == ArgumentUse::copied) {
      for (std::size_t i = 0; i < P::sizeOf(a); ++i) {
        const T& g = memory.listedGradient[P::layout.copiedAt[a] + i];
        memory.gradients[a][i] = adds ? memory.gradients[a][i] + g : g;
      }
    } else if constexpr (P::layout.use[a] == ArgumentUse::single) {
      unroll<P::sizeOf(a)>([&]<std::size_t i>() __attribute__((always_inline)) {
        constexpr Id id = P::argumentStart[a] + static_cast<Id>(i);
        if constexpr (Plan::flows[row].isActive[static_cast<std::size_t>(id)]) {
          const T& g = gradientAt<id>(memory);
          memory.gradients[a][i] = adds ? memory.gradients[a][i] + g : g;
        } else if constexpr (!adds) {
          memory.gradients[a][i] = T{0};
        }
      });
    }
  }
};

}  // namespace burtorch::graph
BURTORCH_FUSE_END
