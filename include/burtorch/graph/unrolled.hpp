// Turns the steps of a program into code: one call for every step, all inlined, so that the compiler sees straight-line
// code over local variables. The gradient runs over the steps backwards; the first gradient that reaches a number is
// stored, the others are added, and there is nothing to clear.
#pragma once

#include "memory.hpp"
#include "plan.hpp"

BURTORCH_FUSE_BEGIN
namespace burtorch::inline BURTORCH_TARGET::graph {

/// What a compiler makes of every step is inlined here, so there should be little of it: two functions for a step, and
/// helpers that take the places of numbers as ordinary arguments, which are constants by the time it matters.
template <class P> class Unrolled {
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
      return (home == Home::listed ? memory.listedGradient : memory.localGradient)[place.slot];
  }
  /// Adds to the gradient of a number; the first one is stored where nothing was cleared.
  template <Home home, bool isFirst>
  BURTORCH_INLINE static constexpr void add(const M& memory, Where place, const T& g) {
    T& to = gradient<home>(memory, place);
    if constexpr ((home == Home::local || home == Home::constant) && isFirst)
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

  /// The operands of step k, of which `reads` are there: the others stand for numbers that nobody looks at.
  template <std::size_t k, int reads> struct StepOperands {
    const M& memory;

    template <bool isRead, Id id> BURTORCH_INLINE constexpr auto number() const {
      constexpr Where place = P::placeOf(id);
      if constexpr (isRead && id >= 0)
        return load<place.home>(memory, place);
      else
        return Unread{};
    }
    BURTORCH_INLINE constexpr auto x() const { return number<(reads & VjpReads::x) != 0, P::steps[k].a>(); }
    BURTORCH_INLINE constexpr auto y() const { return number<(reads & VjpReads::y) != 0, P::steps[k].b>(); }
    BURTORCH_INLINE constexpr auto z() const { return number<(reads & VjpReads::z) != 0, P::steps[k].c>(); }
    BURTORCH_INLINE constexpr auto result() const {
      return number<(reads & VjpReads::result) != 0, P::steps[k].result>();
    }
    BURTORCH_INLINE constexpr auto bias() const { return number<true, P::steps[k].c>(); }
    BURTORCH_INLINE constexpr PlainOf<T> constant() const { return P::steps[k].constant; }
    BURTORCH_INLINE constexpr std::size_t index() const { return std::size_t{P::steps[k].target}; }
    BURTORCH_INLINE List<T> list(std::size_t i) const {
      return i == 0 ? listOf<k, 0>(memory) : listOf<k, P::listsOf(P::steps[k]) - 1>(memory);
    }
    BURTORCH_INLINE const T* results() const { return memory.listed + slot; }
    BURTORCH_INLINE const T* resultGradients() const { return memory.listedGradient + slot; }
    static constexpr std::uint32_t slot = P::placeOf(P::steps[k].result).slot;

    /// For rules behind a pointer, which take numbers in any case.
    BURTORCH_INLINE constexpr PlainOperands<T> plain() const {
      constexpr Step<T> step = P::steps[k];
      const auto orZero = [](auto number) __attribute__((always_inline)) {
        if constexpr (std::is_same_v<decltype(number), Unread>)
          return T{0};
        else
          return number;
      };
      PlainOperands<T> all{{orZero(x()), orZero(y()), orZero(z())},
                           orZero(result()),
                           T{0},
                           constant(),
                           {},
                           index(),
                           nullptr,
                           nullptr};
      if constexpr (step.length > 0) {
        all.lists[0] = list(0);
        all.lists[1] = list(1);
        if constexpr (step.info().hasBias) all.biasNumber = bias();
        if constexpr (step.info().isBlock())
          all.resultList = results(), all.resultGradientList = resultGradients();
      }
      return all;
    }
  };

  template <class Plan, std::size_t k> BURTORCH_INLINE static constexpr void forwardStep(const M& memory) {
    constexpr Step<T> step = P::steps[k];
    constexpr Where result = P::placeOf(step.result);
    if constexpr (Plan::anyResult(Plan::isNeeded, step) && result.home != Home::constant) {
      const StepOperands<k, VjpReads::all & ~VjpReads::result> in{memory};
      if constexpr (step.info().isLeaf())
        store<result.home>(memory, result, T{step.constant});
      else if constexpr (step.user != nullptr && step.info().isBlock())
        step.user->value(in.plain(), memory.listed + result.slot);
      else if constexpr (step.user != nullptr)
        store<result.home>(memory, result, step.user->value(in.plain(), nullptr));
      else if constexpr (step.info().isBlock())
        valueOf<OpAt<step.op>>(in, memory.listed + result.slot);
      else
        store<result.home>(memory, result, valueOf<OpAt<step.op>>(in));
    }
  }

  template <class Plan, std::size_t row, std::size_t k>
  BURTORCH_INLINE static constexpr void backwardStep(const M& memory) {
    constexpr Step<T> step = P::steps[k];
    if constexpr (!Plan::anyResult(Plan::flows[row].isActive, step)) {
      return;
    } else if constexpr (step.length > 0) {
      backwardList<Plan, row, k>(memory);
    } else {
      constexpr Where result = P::gradientPlaceOf(step.result);
      const T g = gradient<result.home>(memory, result);
      passOn<Plan, row, k, 0>(memory, g);
      passOn<Plan, row, k, 1>(memory, g);
      if constexpr (step.c >= 0) passOn<Plan, row, k, 2>(memory, g);
    }
  }
  /// Adds what leaves step k for operand i.
  template <class Plan, std::size_t row, std::size_t k, int i>
  BURTORCH_INLINE static constexpr void passOn(const M& memory, const T& g) {
    constexpr Step<T> step = P::steps[k];
    constexpr auto& flow = Plan::flows[row];
    constexpr Id id = step.operand(i);
    if constexpr (step.info().passesTo(i) && Plan::isActiveIn(flow, id)) {
      constexpr bool isFirst = flow.isFirst[i][k];
      const T slope = vjpFor<k, i>(memory, g);
      if constexpr (step.info().isChoice) {
        const Mask choosesY =
            ops::Select::choosesY(load<P::placeOf(step.a).home>(memory, P::placeOf(step.a)));
        choose<Plan, row, k, id, isFirst>(memory, i == 1 ? choosesY : !choosesY, slope);
      } else if constexpr (flow.isConditional[static_cast<std::size_t>(step.result)]) {
        choose<Plan, row, k, id, isFirst>(memory, memory.isReached[step.result], slope);
      } else {
        add<P::gradientPlaceOf(id).home, isFirst>(memory, P::gradientPlaceOf(id), slope);
      }
    }
  }
  template <std::size_t k, int i> BURTORCH_INLINE static constexpr T vjpFor(const M& memory, const T& g) {
    constexpr Step<T> step = P::steps[k];
    const StepOperands<k, step.reads.by(i)> in{memory};
    if constexpr (step.user == nullptr) {
      return vjpOf<OpAt<step.op>, i>(g, in);
    } else {
      PlainGradients<T> all{};
      step.user->vjp(g, in.plain(), all);
      return all.numbers[i];
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
        add<bias.home, flow.isFirst[2][k]>(memory, bias, T{0});
      }
    }
  }
  /// Where the gradients of the lists of step k are summed, and that of its bias.
  template <class Plan, std::size_t row, std::size_t k> struct ListSink {
    const M& memory;

    BURTORCH_INLINE void bias(const T& g) const {
      constexpr Where place = P::gradientPlaceOf(P::steps[k].c);
      if constexpr (Plan::isActiveIn(Plan::flows[row], P::steps[k].c))
        add<place.home, Plan::flows[row].isFirst[2][k]>(memory, place, g);
    }
    BURTORCH_INLINE GradientList<T> list(std::size_t i) const {
      return i == 0 ? gradientsOf<Plan, row, k, 0>(memory)
                    : gradientsOf<Plan, row, k, P::listsOf(P::steps[k]) - 1>(memory);
    }
  };
  template <class Plan, std::size_t row, std::size_t k>
  BURTORCH_INLINE static void pullList(const M& memory, const T& g) {
    constexpr Step<T> step = P::steps[k];
    const StepOperands<k, step.reads.byX & VjpReads::result> in{memory};
    const ListSink<Plan, row, k> sink{memory};
    if constexpr (step.user == nullptr) {
      vjpOf<OpAt<step.op>>(g, in, sink);
    } else {
      PlainGradients<T> all{};
      all.lists[0] = sink.list(0);
      all.lists[1] = sink.list(1);
      step.user->vjp(g, in.plain(), all);
      if constexpr (step.info().hasBias) sink.bias(all.biasNumber);
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

}  // namespace burtorch::inline BURTORCH_TARGET::graph
BURTORCH_FUSE_END
