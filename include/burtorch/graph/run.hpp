// One evaluation of a program: its local variables, its outputs, its gradient. What to compute is a type, so that every
// request has code of its own and nothing is decided while it runs.
#pragma once

#include "unrolled.hpp"

namespace burtorch::inline BURTORCH_TARGET::graph {

/// Runs a program: makes its local variables, and calls `body(memory)`.
template <class P, class Plan, class Body>
BURTORCH_INLINE constexpr void withMemory(const Inputs<P>& arguments, const Body& body) {
  using T = typename P::Number;
  constexpr bool hasConditional = [] {
    bool has = false;
    for (const auto& flow : Plan::flows) has = has || flow.hasConditional;
    return has;
  }();
  constexpr std::size_t locals = P::layout.locals + 1, listed = P::layout.listed + 1;
  T local[locals], localGradient[locals], listedValues[listed], listedGradients[listed];
  MaskOf<T> isReached[hasConditional ? Unrolled<P>::maskCount : 1];
  body(Memory<P>{arguments, {}, local, localGradient, listedValues, listedGradients, isReached});
}

template <class P>
BURTORCH_INLINE constexpr void readOutputs(const Memory<P>& memory, typename P::Number* outputs) {
  unroll<P::outputCount>([&]<std::size_t i>() __attribute__((always_inline)) {
    constexpr auto place = P::placeOf(P::outputs[i]);
    outputs[i] = Unrolled<P>::template load<place.home>(memory, place);
  });
}

/// Zeros where lists will add gradients.
template <class P, class Plan> BURTORCH_INLINE constexpr void clearInPlace(const Memory<P>& memory) {
  unroll<P::argumentCount>([&]<std::size_t a>() __attribute__((always_inline)) {
    if constexpr (Plan::template wantsArgument<a> && P::layout.use[a] == ArgumentUse::inPlace)
      for (std::size_t i = 0; i < P::sizeOf(a); ++i) memory.gradients.of[a][i] = typename P::Number{0};
  });
}

/// The outputs, if `outputs` is not null, and the gradient of the first one, if anything is wanted.
template <class P, class Want, bool wantsValue, bool adds = false>
BURTORCH_INLINE constexpr void evaluateInline(const Inputs<P>& arguments, const Results<P>& gradients,
                                              typename P::Number* outputs) {
  using T = typename P::Number;
  constexpr bool wantsGradient = !std::is_same_v<Want, WantNothing>;
  using ThePlan = std::conditional_t<wantsGradient, Plan<P, Want, wantsValue, 0>, Plan<P, Want, wantsValue>>;
  withMemory<P, ThePlan>(
      arguments, [&](Memory<P> memory) __attribute__((always_inline)) {
        Unrolled<P>::template forward<ThePlan>(memory);
        if constexpr (wantsValue) readOutputs<P>(memory, outputs);
        if constexpr (wantsGradient) {
          memory.gradients = gradients;
          if constexpr (!adds) clearInPlace<P, ThePlan>(memory);
          Unrolled<P>::template backward<ThePlan, 0, 0, adds>(memory, T{1});
        }
      });
}
template <class P, class Want, bool wantsValue, bool adds>
[[gnu::noinline]] constexpr void evaluateOutOfLine(const Inputs<P>& arguments, const Results<P>& gradients,
                                                   typename P::Number* outputs) {
  evaluateInline<P, Want, wantsValue, adds>(arguments, gradients, outputs);
}

/// Small graphs dissolve into their caller; a large one is a function.
inline constexpr std::size_t maxInlineSteps = 128;
template <class P, class Want, bool wantsValue, bool adds = false>
BURTORCH_INLINE constexpr void evaluate(const Inputs<P>& arguments, const Results<P>& gradients,
                                        typename P::Number* outputs) {
  if constexpr (P::stepCount <= maxInlineSteps)
    evaluateInline<P, Want, wantsValue, adds>(arguments, gradients, outputs);
  else
    evaluateOutOfLine<P, Want, wantsValue, adds>(arguments, gradients, outputs);
}

}  // namespace burtorch::inline BURTORCH_TARGET::graph
