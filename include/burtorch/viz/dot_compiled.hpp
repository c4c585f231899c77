// buildDotGraph of a compile-time graph: its arguments and the steps that were traced, with their numbers if it is given
// some. A compiled function keeps none of them, so it runs here once more, and every number is read before it is gone.
//
//   constexpr auto f = compile([](auto a, auto b) { return sqr(a + b) * b; });
//   buildDotGraph(f, -41.0, 2.0);                      // with values and gradients
//   buildDotGraph(f, {.maxNodes = 50}, -41.0, 2.0);    // options come before the numbers
//   buildDotGraph<double, double>(f);                  // operators only, for arguments of these types
//
// A function of several outputs has values, but not one gradient: none is shown. Cost: linear in the steps.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "../graph/compile.hpp"
#include "dot_drawing.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {

/// The arguments of a traced function, then its steps, each a record.
template <class P> class DotProgram {
 public:
  using Scalar = typename P::Number;

  DotProgram() : owners_(static_cast<std::size_t>(P::numberCount)) {
    for (std::size_t r = 0; r < recordCount(); ++r) {
      const DotNumbers numbers = numbersOf(r);
      std::fill_n(owners_.begin() + static_cast<std::ptrdiff_t>(numbers.first), numbers.count, r);
    }
  }
  /// With numbers.
  explicit DotProgram(std::span<const Scalar> inputs) : DotProgram() {
    using Values = graph::Plan<P, graph::WantNothing, true>;
    using Both = graph::Plan<P, graph::WantEverything, true, 0>;
    run<std::conditional_t<P::Result::isSingle, Both, Values>>(inputs);
  }

  std::size_t recordCount() const { return P::argumentCount + P::stepCount; }
  std::size_t recordOf(std::size_t number) const { return owners_[number]; }
  DotNumbers numbersOf(std::size_t r) const {
    if (r < P::argumentCount) return {static_cast<std::size_t>(P::argumentStart[r]), P::sizeOf(r)};
    const auto& step = stepOf(r);
    return {static_cast<std::size_t>(step.result), static_cast<std::size_t>(step.count)};
  }
  std::span<const Scalar> values() const { return values_; }
  std::span<const Scalar> gradients() const { return gradients_; }

  DotRecord describe(std::size_t r) const {
    if (r < P::argumentCount) return {{}, "argument " + std::to_string(r), true};
    const auto& step = stepOf(r);
    const OpInfo& info = step.info();
    const bool isLeaf = info.isLeaf(), hasConstant = isLeaf || info.hasConstant();
    return {{}, dotOperator(info, hasConstant ? dotNumber(step.constant) : ""), isLeaf};
  }
  template <class Visit> void forEachOperand(std::size_t r, Visit visit) const {
    if (r < P::argumentCount) return;
    const auto& step = stepOf(r);
    const auto one = [&](graph::Id id) {
      visit(static_cast<std::size_t>(id), std::size_t{1}, std::ptrdiff_t{1});
    };
    for (std::size_t list = 0; list < P::listsOf(step); ++list)
      for (std::int32_t i = 0; i < step.length; ++i) one(P::operandOf(step, list, i));
    for (const graph::Id id : {step.a, step.b, step.c})
      if (id >= 0) one(id);
  }

 private:
  static const graph::Step<Scalar>& stepOf(std::size_t r) { return P::steps[r - P::argumentCount]; }

  template <class Plan> void run(std::span<const Scalar> inputs) {
    constexpr auto count = static_cast<std::size_t>(P::numberCount);
    std::vector<Scalar> ofArguments(inputs.size());
    graph::Inputs<P> arguments{};
    graph::Results<P> gradients{};
    for (std::size_t a = 0; a < P::argumentCount; ++a) {
      arguments.of[a] = inputs.data() + P::argumentStart[a];
      gradients.of[a] = ofArguments.data() + P::argumentStart[a];
    }
    graph::withMemory<P, Plan>(arguments, [&](graph::Memory<P> memory) {
      graph::Unrolled<P>::template forward<Plan>(memory);
      values_.resize(count);
      for (std::size_t i = 0; i < count; ++i)
        if (Plan::isNeeded[i] || i < inputs.size())
          values_[i] = valueIn(memory, P::placeOf(static_cast<graph::Id>(i)));
      if constexpr (Plan::rowCount > 0) {
        memory.gradients = gradients;
        graph::Unrolled<P>::template backward<Plan, 0, 0, false>(memory, Scalar{1});
        gradients_.resize(count);
        for (std::size_t i = 0; i < count; ++i)
          if (Plan::isActiveIn(Plan::flows[0], static_cast<graph::Id>(i)))
            gradients_[i] = gradientIn(memory, P::gradientPlaceOf(static_cast<graph::Id>(i)));
      }
    });
  }

  using Place = graph::Place<Scalar>;
  static Scalar valueIn(const graph::Memory<P>& memory, const Place& place) {
    switch (place.home) {
      case graph::Home::argument: return memory.arguments.of[place.argument][place.slot];
      case graph::Home::local: return memory.local[place.slot];
      case graph::Home::listed: return memory.listed[place.slot];
      case graph::Home::constant: break;
    }
    return Scalar{place.constant};
  }
  static Scalar gradientIn(const graph::Memory<P>& memory, const Place& place) {
    if (place.home == graph::Home::argument) return memory.gradients.of[place.argument][place.slot];
    return (place.home == graph::Home::listed ? memory.listedGradient : memory.localGradient)[place.slot];
  }

  std::vector<std::size_t> owners_;  // record of each number
  std::vector<Scalar> values_, gradients_;
};

template <class P> std::string drawProgram(const DotProgram<P>& source, const DotOptions& options) {
  std::vector<std::size_t> roots;
  for (const graph::Id output : P::outputs) roots.push_back(static_cast<std::size_t>(output));
  return DotDrawing(source, options).drawFrom(roots);
}

template <class F, class... A>
using DotProgramOf = DotProgram<graph::Program<F, typename graph::Arguments<A...>::T, graph::NormalOf<A>...>>;

}  // namespace detail

/// What a function computes from arguments of types A...: operators without numbers.
template <class... A, class F> std::string buildDotGraph(const Compiled<F>&, const DotOptions& options = {}) {
  static_assert(sizeof...(A) > 0,
                "say what the function takes, buildDotGraph<double, double>(f), or give it numbers, "
                "buildDotGraph(f, 1.0, 2.0)");
  return detail::drawProgram(detail::DotProgramOf<F, A...>(), options);
}

/// The same with its values and gradients at `x`. (A before F: in the call above, types of arguments stand first.)
template <class... A, class F>
requires(sizeof...(A) > 0) std::string
    buildDotGraph(const Compiled<F>&, const DotOptions& options, const A&... x) {
  return detail::drawProgram(detail::DotProgramOf<F, A...>(graph::flatten(x...)), options);
}
template <class... A, class F>
requires(sizeof...(A) > 0) std::string buildDotGraph(const Compiled<F>& f, const A&... x) {
  return buildDotGraph(f, DotOptions{}, x...);
}

}  // namespace burtorch::inline BURTORCH_TARGET
