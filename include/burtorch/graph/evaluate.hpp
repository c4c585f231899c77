// Turns the steps of a program into code: one call for every step, all inlined, so that the compiler sees straight-line
// code over local variables. The gradient runs over the steps backwards; the first gradient that reaches a number is
// stored, the others are added, and there is nothing to clear.
#pragma once

#include "memory.hpp"
#include "plan.hpp"

BURTORCH_FUSE_BEGIN
namespace burtorch::graph {

/// What a compiler makes of every step is inlined here, so there should be little of it: two functions for a step, and
/// helpers that take the places of numbers as ordinary arguments, which are constants by the time it matters.
template <class P> class Evaluate {
  using T = typename P::Number;
  using M = Memory<P>;
  using Mask = MaskOf<T>;
  using Where = Place<T>;

 public:
  /// Computes what the plan needs.
  template <class Plan> BURTORCH_INLINE static constexpr void forward(const M& memory) {
    // Unrolled: an array that a loop indexes does not dissolve.
    unroll<P::argumentCount>([&]<std::size_t a>() __attribute__((always_inline)) {
      if constexpr (P::layout.use[a] == ArgumentUse::copied)
        for (std::size_t i = 0; i < P::sizeOf(a); ++i)
          memory.listed[P::layout.copiedAt[a] + i] = memory.arguments.of[a][i];
    });
    [&memory]<std::size_t... k>(std::index_sequence<k...>) __attribute__((always_inline)) {
      const char done[] = {(forwardStep<Plan, k>(memory), char{})..., char{}};
      static_cast<void>(done);
    }
    (std::make_index_sequence<P::stepCount>{});
  }

  /// The gradient of output `row` of the plan, `seed` arriving there. Adds to the caller's gradients of arguments that
  /// lists read in place, which must be zero or hold a sum; `adds` says whether it also adds to the others.
  template <class Plan, std::size_t row, std::size_t output, bool adds>
  BURTORCH_INLINE static constexpr void backward(const M& memory, T seed) {
    constexpr auto& flow = Plan::flows[row];
    for (std::size_t i = 0; i < P::layout.listed; ++i) memory.listedGradient[i] = T{0};
    if constexpr (flow.hasConditional)
      for (std::size_t i = 0; i < maskCount; ++i) memory.isReached[i] = Mask{};
    if constexpr (Plan::isActiveIn(flow, P::outputs[output])) {
      constexpr Where root = P::gradientPlaceOf(P::outputs[output]);
      add<root.home, true>(memory, root, seed);
    }
    [&memory]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
      const char done[] = {(backwardStep<Plan, row, P::stepCount - 1 - i>(memory), char{})..., char{}};
      static_cast<void>(done);
    }
    (std::make_index_sequence<P::stepCount>{});
    unroll<P::argumentCount>([&]<std::size_t a>() __attribute__((always_inline)) {
      if constexpr (Plan::template wantsArgument<a>) handOver<Plan, row, a, adds>(memory);
    });
  }

  template <Home home> BURTORCH_INLINE static constexpr T load(const M& memory, Where place) {
    if constexpr (home == Home::argument)
      return memory.arguments.of[place.argument][place.slot];
    else if constexpr (home == Home::local)
      return memory.local[place.slot];
    else if constexpr (home == Home::listed)
      return memory.listed[place.slot];
    else
      return T{place.constant};
  }

  /// One mask for every number.
  static constexpr std::size_t maskCount = static_cast<std::size_t>(P::numberCount);

 private:
  template <Home home>
  BURTORCH_INLINE static constexpr void store(const M& memory, Where place, const T& value) {
    (home == Home::local ? memory.local : memory.listed)[place.slot] = value;
  }
  template <Home home> BURTORCH_INLINE static constexpr T& gradient(const M& memory, Where place) {
    if constexpr (home == Home::argument)
      return memory.gradients.of[place.argument][place.slot];
    else
      return (home == Home::local ? memory.localGradient : memory.listedGradient)[place.slot];
  }
  /// Adds to the gradient of a number; the first one is stored where nothing was cleared.
  template <Home home, bool isFirst>
  BURTORCH_INLINE static constexpr void add(const M& memory, Where place, const T& g) {
    T& to = gradient<home>(memory, place);
    if constexpr (home == Home::local && isFirst)
      to = g;
    else
      to = to + g;
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
    return {plan.isArgument ? memory.arguments.of[plan.argument] : memory.listed, shapeOf<k, list>()};
  }
  /// Null where no element is wanted.
  template <class Plan, std::size_t row, std::size_t k, std::size_t list>
  BURTORCH_INLINE static GradientList<T> gradientsOf(const M& memory) {
    constexpr ListPlan plan = P::layout.lists[k][list];
    constexpr bool isWanted = [] {
      for (std::int32_t i = 0; i < (plan.isArgument ? 1 : P::steps[k].length); ++i)
        if (Plan::isActiveIn(Plan::flows[row], P::operandOf(P::steps[k], list, i))) return true;
      return false;
    }();
    T* base = plan.isArgument ? memory.gradients.of[plan.argument] : memory.listedGradient;
    return {isWanted ? base : nullptr, shapeOf<k, list>()};
  }

  template <class Plan, std::size_t k> BURTORCH_INLINE static constexpr void forwardStep(const M& memory) {
    constexpr Step<T> step = P::steps[k];
    constexpr Where result = P::placeOf(step.result), a = P::placeOf(step.a), b = P::placeOf(step.b),
                    c = P::placeOf(step.c);
    if constexpr (!Plan::anyResult(Plan::isNeeded, step) || result.home == Home::constant) {
      return;
    } else if constexpr (step.user != nullptr) {
      constexpr UserRules<T> rules = *step.user;
      if constexpr (rules.arity == Arity::unary)
        store<result.home>(memory, result, rules.unary(load<a.home>(memory, a)));
      else if constexpr (rules.arity == Arity::constant)
        store<result.home>(memory, result, rules.constant(load<a.home>(memory, a), step.constant));
      else if constexpr (rules.arity == Arity::binary)
        store<result.home>(memory, result, rules.binary(load<a.home>(memory, a), load<b.home>(memory, b)));
      else
        store<result.home>(memory, result, rules.varying(listOf<k, 0>(memory)));
    } else {
      using Op = OpAt<step.op>;
      if constexpr (std::is_same_v<Op, Constant>)
        store<result.home>(memory, result, T{step.constant});
      else if constexpr (std::is_same_v<Op, Select>)
        store<result.home>(
            memory, result,
            select(load<a.home>(memory, a) != T{0}, load<b.home>(memory, b), load<c.home>(memory, c)));
      else if constexpr (isCondition<Op> && Op::arity == Arity::unary)  // no slope: not for Mode<Dual>
        store<result.home>(memory, result, Op::value(load<a.home>(memory, a)));
      else if constexpr (isCondition<Op>)
        store<result.home>(memory, result, Op::value(load<a.home>(memory, a), load<b.home>(memory, b)));
      else if constexpr (Op::arity == Arity::unary)
        store<result.home>(memory, result, apply<Op>(load<a.home>(memory, a)));
      else if constexpr (Op::arity == Arity::constant)
        store<result.home>(memory, result, applyConstant<Op>(load<a.home>(memory, a), step.constant));
      else if constexpr (Op::arity == Arity::binary)
        store<result.home>(memory, result, apply<Op>(load<a.home>(memory, a), load<b.home>(memory, b)));
      else
        forwardList<Op, k>(memory);
    }
  }
  template <class Op, std::size_t k> BURTORCH_INLINE static void forwardList(const M& memory) {
    constexpr Step<T> step = P::steps[k];
    constexpr Where result = P::placeOf(step.result), c = P::placeOf(step.c);
    if constexpr (Op::arity == Arity::block)
      Op::value(listOf<k, 0>(memory), memory.listed + result.slot);
    else if constexpr (step.c >= 0)  // a bias
      store<result.home>(memory, result,
                         Op::value(listOf<k, 0>(memory), listOf<k, 1>(memory)) + load<c.home>(memory, c));
    else if constexpr (Op::arity == Arity::pair)
      store<result.home>(memory, result, Op::value(listOf<k, 0>(memory), listOf<k, 1>(memory)));
    else if constexpr (Op::takesIndex)
      store<result.home>(memory, result, Op::value(listOf<k, 0>(memory), std::size_t{step.target}));
    else
      store<result.home>(memory, result, Op::value(listOf<k, 0>(memory)));
  }

  /// What a slope rule is handed: a number, or something that stands for one it does not look at.
  template <bool isRead, Home home> BURTORCH_INLINE static constexpr auto seen(const M& memory, Where place) {
    if constexpr (isRead)
      return load<home>(memory, place);
    else
      return Unread{};
  }
  /// A user's rule is behind a pointer and takes a number in any case.
  template <bool isRead, Home home>
  BURTORCH_INLINE static constexpr T seenOrZero(const M& memory, Where place) {
    return isRead ? load<home>(memory, place) : T{0};
  }

  template <class Plan, std::size_t row, std::size_t k>
  BURTORCH_INLINE static constexpr void backwardStep(const M& memory) {
    constexpr Step<T> step = P::steps[k];
    constexpr auto& flow = Plan::flows[row];
    if constexpr (!Plan::anyResult(flow.isActive, step)) {
      return;
    } else if constexpr (step.length > 0) {
      backwardList<Plan, row, k>(memory);
    } else {
      constexpr Where result = P::gradientPlaceOf(step.result);
      const T g = gradient<result.home>(memory, result);
      if constexpr (step.op == GraphOps::indexOf<Select>()) {
        const Mask isB = load<P::placeOf(step.a).home>(memory, P::placeOf(step.a)) != T{0};
        if constexpr (Plan::isActiveIn(flow, step.b))
          choose<Plan, row, k, step.b, flow.isFirstB[k]>(memory, isB, g);
        if constexpr (Plan::isActiveIn(flow, step.c))
          choose<Plan, row, k, step.c, flow.isFirstC[k]>(memory, !isB, g);
      } else {
        passOn<Plan, row, k, false>(memory, g);
        passOn<Plan, row, k, true>(memory, g);
      }
    }
  }
  /// Adds what leaves step k for its first operand, or for its second.
  template <class Plan, std::size_t row, std::size_t k, bool isY>
  BURTORCH_INLINE static constexpr void passOn(const M& memory, const T& g) {
    constexpr Step<T> step = P::steps[k];
    constexpr auto& flow = Plan::flows[row];
    constexpr Id id = isY ? step.b : step.a;
    if constexpr (Plan::isActiveIn(flow, id)) {
      constexpr bool isFirst = isY ? flow.isFirstB[k] : flow.isFirstA[k];
      const T slope = slopeOf<k, isY>(memory, g);
      if constexpr (flow.isConditional[static_cast<std::size_t>(step.result)])
        choose<Plan, row, k, id, isFirst>(memory, memory.isReached[step.result], slope);
      else
        add<P::gradientPlaceOf(id).home, isFirst>(memory, P::gradientPlaceOf(id), slope);
    }
  }
  /// What leaves step k for its first operand, or for its second.
  template <std::size_t k, bool isY> BURTORCH_INLINE static constexpr T slopeOf(const M& memory, const T& g) {
    using R = SlopeReads;
    constexpr Step<T> step = P::steps[k];
    constexpr int reads = isY ? step.reads.byY : step.reads.byX;
    constexpr bool x = (reads & R::x) != 0, y = (reads & R::y) != 0, z = (reads & R::result) != 0;
    constexpr Where a = P::placeOf(step.a), b = P::placeOf(step.b), result = P::placeOf(step.result);
    if constexpr (step.user != nullptr) {
      constexpr UserRules<T> rules = *step.user;
      if constexpr (rules.arity == Arity::unary)
        return rules.unarySlope(g, seenOrZero<x, a.home>(memory, a),
                                seenOrZero<z, result.home>(memory, result));
      else if constexpr (rules.arity == Arity::constant)
        return rules.constantSlope(g, seenOrZero<x, a.home>(memory, a), step.constant,
                                   seenOrZero<z, result.home>(memory, result));
      else
        return (isY ? rules.slopeY : rules.slopeX)(g, seenOrZero<x, a.home>(memory, a),
                                                   seenOrZero<y, b.home>(memory, b),
                                                   seenOrZero<z, result.home>(memory, result));
    } else {
      using Op = OpAt<step.op>;
      if constexpr (Op::arity == Arity::unary)
        return Op::slope(g, seen<x, a.home>(memory, a), seen<z, result.home>(memory, result));
      else if constexpr (Op::arity == Arity::constant)
        return Op::slope(g, seen<x, a.home>(memory, a), step.constant, seen<z, result.home>(memory, result));
      else if constexpr (isY)
        return Op::slopeY(g, seen<x, a.home>(memory, a), seen<y, b.home>(memory, b),
                          seen<z, result.home>(memory, result));
      else
        return Op::slopeX(g, seen<x, a.home>(memory, a), seen<y, b.home>(memory, b),
                          seen<z, result.home>(memory, result));
    }
  }
  /// Passes a gradient on from step k only where a select has chosen it. What is not chosen passes nothing on, not even
  /// the NaN of a pole: the same as if the function had branched.
  template <class Plan, std::size_t row, std::size_t k, Id id, bool isFirst>
  BURTORCH_INLINE static constexpr void choose(const M& memory, const Mask& isChosen, const T& g) {
    constexpr auto& isConditional = Plan::flows[row].isConditional;
    constexpr auto from = static_cast<std::size_t>(P::steps[k].result), to = static_cast<std::size_t>(id);
    Mask isReached = isChosen;
    if constexpr (isConditional[from]) isReached = isReached && memory.isReached[from];
    add<P::gradientPlaceOf(id).home, isFirst>(memory, P::gradientPlaceOf(id), select(isReached, g, T{0}));
    if constexpr (isConditional[to]) memory.isReached[to] = memory.isReached[to] || isReached;
  }

  template <class Plan, std::size_t row, std::size_t k>
  BURTORCH_INLINE static void backwardList(const M& memory) {
    constexpr Step<T> step = P::steps[k];
    constexpr Where result = P::gradientPlaceOf(step.result), bias = P::gradientPlaceOf(step.c);
    constexpr auto& flow = Plan::flows[row];
    const T g = gradient<result.home>(memory, result);
    if constexpr (!flow.isConditional[static_cast<std::size_t>(step.result)]) {
      pullList<Plan, row, k>(memory, g);
    } else {
      Mask isReached{};  // a block that is chosen in part counts as chosen
      for (Id id = step.result; id < step.result + step.count; ++id)
        isReached = isReached || memory.isReached[id];
      const auto reach = [&](Id id) { memory.isReached[id] = memory.isReached[id] || isReached; };
      for (std::size_t list = 0; list < P::listsOf(step); ++list)
        for (std::int32_t i = 0; i < step.length; ++i) reach(P::operandOf(step, list, i));
      if constexpr (step.c >= 0) reach(step.c);
      if constexpr (!std::is_same_v<Mask, bool>) {
        SavedGradients<T, step.length> xs(gradientsOf<Plan, row, k, 0>(memory)),
            ys(gradientsOf<Plan, row, k, P::listsOf(step) - 1>(memory));
        pullList<Plan, row, k>(memory, select(isReached, g, T{0}));
        xs.restoreUnless(isReached);
        ys.restoreUnless(isReached);
      } else if (isReached) {
        pullList<Plan, row, k>(memory, g);
      } else if constexpr (Plan::isActiveIn(flow, step.c)) {
        // Others add to the gradient of the bias, and count on this to be the first.
        add<bias.home, flow.isFirstC[k]>(memory, bias, T{0});
      }
    }
  }
  template <class Plan, std::size_t row, std::size_t k>
  BURTORCH_INLINE static void pullList(const M& memory, const T& g) {
    constexpr Step<T> step = P::steps[k];
    constexpr Where result = P::gradientPlaceOf(step.result), bias = P::gradientPlaceOf(step.c);
    constexpr auto& flow = Plan::flows[row];
    constexpr bool readsResult = (step.reads.byX & SlopeReads::result) != 0;
    const List<T> xs = listOf<k, 0>(memory);
    const GradientList<T> gs = gradientsOf<Plan, row, k, 0>(memory);
    if constexpr (step.user != nullptr) {
      step.user->varyingSlope(g, xs, seenOrZero<readsResult, result.home>(memory, result), gs);
    } else {
      using Op = OpAt<step.op>;
      if constexpr (Op::arity == Arity::pair) {
        if constexpr (Plan::isActiveIn(flow, step.c)) add<bias.home, flow.isFirstC[k]>(memory, bias, g);
        Op::slope(g, xs, listOf<k, 1>(memory), gs, gradientsOf<Plan, row, k, 1>(memory));
      } else if constexpr (Op::arity == Arity::block) {
        Op::slope(memory.listedGradient + result.slot, xs, memory.listed + result.slot, gs);
      } else if constexpr (Op::takesIndex) {
        Op::slope(g, xs, seen<readsResult, result.home>(memory, result), gs, std::size_t{step.target});
      } else {
        Op::slope(g, xs, seen<readsResult, result.home>(memory, result), gs);
      }
    }
  }

  /// Gives the gradient of one argument to the caller.
  template <class Plan, std::size_t row, std::size_t a, bool adds>
  BURTORCH_INLINE static constexpr void handOver(const M& memory) {
    const auto give = [&memory](std::size_t i, const T& g) __attribute__((always_inline)) {
      memory.gradients.of[a][i] = adds ? memory.gradients.of[a][i] + g : g;
    };
    if constexpr (P::layout.use[a] == ArgumentUse::copied) {
      for (std::size_t i = 0; i < P::sizeOf(a); ++i)
        give(i, memory.listedGradient[P::layout.copiedAt[a] + i]);
    } else if constexpr (P::layout.use[a] == ArgumentUse::single) {
      constexpr auto first = static_cast<std::size_t>(P::argumentStart[a]);
      [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
        const char done[] = {
            (give(i, Plan::flows[row].isActive[first + i] ? memory.localGradient[P::layout.localAt[a] + i]
                                                          : T{0}),
             char{})...,
            char{}};
        static_cast<void>(done);
      }
      (std::make_index_sequence<P::sizeOf(a)>{});
    }
  }
};

}  // namespace burtorch::graph
BURTORCH_FUSE_END
