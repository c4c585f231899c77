// What a request needs of a program: asking for the value, for the gradient with respect to some inputs, or for some
// outputs only removes every step that does not contribute. All of it is decided at compile time.
#pragma once

#include "../core/analysis.hpp"
#include "program.hpp"

namespace burtorch::inline BURTORCH_TARGET::graph {

/// The gradient with respect to some of the arguments; without any, to all.
template <std::size_t... arguments> struct WantArguments {
  static constexpr bool wants(std::size_t argument, std::size_t) {
    return sizeof...(arguments) == 0 || ((argument == arguments) || ...);
  }
};
/// With respect to some of the inputs, counted over all arguments.
template <std::size_t... inputs> struct WantInputs {
  static constexpr bool wants(std::size_t, std::size_t input) { return ((input == inputs) || ...); }
};
struct WantNothing {
  static constexpr bool wants(std::size_t, std::size_t) { return false; }
};
/// With respect to every number of the graph, constants too.
struct WantEverything {
  static constexpr bool wantsAllNumbers = true;
  static constexpr bool wants(std::size_t, std::size_t) { return true; }
};

/// `wantsValue`: all outputs are computed. `Want`: with respect to what the gradients of the outputs `rows` are taken.
template <class P, class Want, bool wantsValue, std::size_t... rows> class Plan {
  using T = typename P::Number;
  static constexpr std::size_t n = static_cast<std::size_t>(P::numberCount);

  /// The graph for analysis.hpp: all operands, or only those that a gradient flows to. An argument that lists read in
  /// place counts as a whole, by its first number: layers may be large.
  template <bool onlyFlows> struct View {
    static constexpr std::size_t instructionCount() { return P::stepCount; }
    static constexpr NumberRange results(std::size_t k) {
      return {at(P::steps[k].result), static_cast<std::size_t>(P::steps[k].count)};
    }
    template <class Visit> static constexpr void forEachOperand(std::size_t k, Visit visit) {
      const auto& step = P::steps[k];
      for (std::size_t i = 0; i < 3; ++i)
        if (step.operand(i) >= 0 && (!onlyFlows || step.info().passesTo(i)))
          visit(at(wholeOf(step.operand(i))), std::size_t{1}, std::ptrdiff_t{1});
      for (std::size_t list = 0; list < P::listsOf(step); ++list) {
        const ListPlan& plan = P::layout.lists[k][list];
        const auto& of = step.lists[list];
        if (plan.isArgument)
          visit(at(P::argumentStart[plan.argument]), std::size_t{1}, std::ptrdiff_t{1});
        else if (of.isEven())
          visit(at(of.first), static_cast<std::size_t>(step.length), std::ptrdiff_t{of.stride});
        else
          for (std::int32_t i = 0; i < step.length; ++i)
            visit(at(P::operandOf(step, list, i)), std::size_t{1}, std::ptrdiff_t{1});
      }
    }
  };
  static constexpr Id wholeOf(Id id) {
    if (id >= P::inputCount) return id;
    const std::size_t argument = P::argumentOf(id);
    return P::layout.use[argument] == ArgumentUse::inPlace ? P::argumentStart[argument] : id;
  }

  using Numbers = std::array<bool, n>;
  static constexpr std::size_t at(Id id) { return static_cast<std::size_t>(id); }

 public:
  /// Whether one of the results of a step is among the numbers.
  static constexpr bool anyResult(const Numbers& numbers, const Step<T>& step) {
    for (std::int32_t i = 0; i < step.count; ++i)
      if (numbers[at(step.result + i)]) return true;
    return false;
  }

 private:
  /// Numbers that depend on a wanted input.
  static constexpr Numbers findVarying() {
    Numbers found{};
    for (std::size_t a = 0; a < P::argumentCount; ++a) {
      const bool isWhole = P::layout.use[a] == ArgumentUse::inPlace;
      for (Id id = P::argumentStart[a]; id < P::argumentStart[a + 1]; ++id) {
        if (!Want::wants(a, at(id))) continue;
        found[at(isWhole ? P::argumentStart[a] : id)] = true;
        if (isWhole) break;
      }
    }
    if constexpr (requires { Want::wantsAllNumbers; })
      for (bool& number : found) number = true;
    burtorch::varies(View<true>{}, Marks(found.data()), [](std::size_t) { return true; });
    return found;
  }
  static constexpr Numbers varies = findVarying();

 public:
  /// How the gradient of one output flows.
  struct Flow {
    Numbers isActive{};       // the output depends on it, and it on a wanted input; see isActiveIn
    Numbers isConditional{};  // only if a select chooses it
    std::array<bool, P::stepCount> isFirst[3]{};  // the first gradient that reaches an operand
    bool hasConditional = false;
  };

 private:
  static constexpr Flow flowOf(Id output) {
    Flow flow;
    Numbers isReached{}, isAlways{}, hasGradient{};
    output = wholeOf(output);
    isReached[at(output)] = isAlways[at(output)] = hasGradient[at(output)] = true;
    const auto isVarying = [](std::size_t k) { return anyResult(varies, P::steps[k]); };
    reaches(View<true>{}, Marks(isReached.data()), isVarying);
    reaches(View<true>{}, Marks(isAlways.data()),
            [&](std::size_t k) { return isVarying(k) && !P::steps[k].info().isChoice; });
    for (std::size_t k = P::stepCount; k-- > 0;) {
      const auto& step = P::steps[k];
      if (!anyResult(isReached, step) || !isVarying(k)) continue;
      for (std::size_t i = 0; i < 3; ++i)
        if (step.operand(i) >= 0 && step.info().passesTo(i))
          flow.isFirst[i][k] = firstUse(Marks(hasGradient.data()), at(step.operand(i)));
    }
    const auto settle = [&](Id first, Id last) {
      for (std::size_t i = at(first); i < at(last); ++i) {
        flow.isActive[i] = isReached[i] && varies[i];
        flow.isConditional[i] = flow.isActive[i] && !isAlways[i];
        flow.hasConditional = flow.hasConditional || flow.isConditional[i];
      }
    };
    for (std::size_t a = 0; a < P::argumentCount; ++a) {
      const Id first = P::argumentStart[a];
      settle(first, P::layout.use[a] == ArgumentUse::inPlace ? first + 1 : P::argumentStart[a + 1]);
    }
    settle(P::inputCount, P::numberCount);
    // The results of a block are computed together: it is sure if one of them is.
    for (const auto& step : P::steps) {
      if (step.count == 1) continue;
      const bool isConditional = anyResult(flow.isActive, step) && !anyResult(isAlways, step);
      for (std::int32_t i = 0; i < step.count; ++i) flow.isConditional[at(step.result + i)] = isConditional;
    }
    return flow;
  }

 public:
  static constexpr bool isActiveIn(const Flow& flow, Id id) {
    return id >= 0 && flow.isActive[at(wholeOf(id))];
  }
  static constexpr std::size_t rowCount = sizeof...(rows);
  /// Whether the caller wants anything of an argument's gradient.
  template <std::size_t a>
  static constexpr bool wantsArgument = [] {
    for (Id id = P::argumentStart[a]; id < P::argumentStart[a + 1]; ++id)
      if (Want::wants(a, at(id))) return true;
    return false;
  }();
  static constexpr std::array<Flow, rowCount> flows{flowOf(P::outputs[rows])...};

 private:
  /// Numbers that must be computed: outputs, what slopes look at, and what those depend on.
  static constexpr Numbers findNeeded() {
    Numbers needed{};
    if (wantsValue)
      for (const Id output : P::outputs) needed[at(output)] = true;
    for (std::size_t k = 0; k < P::stepCount; ++k) {
      const auto& step = P::steps[k];
      int reads = 0;
      for (const Flow& flow : flows) {
        if (!anyResult(flow.isActive, step)) continue;
        if (step.length > 0) reads |= step.reads.byX;
        for (std::size_t i = 0; i < 3 && step.length == 0; ++i)
          if (step.info().passesTo(i) && isActiveIn(flow, step.operand(i))) reads |= step.reads.by(i);
      }
      if (step.length > 0) {
        if (reads != 0)
          View<true>::forEachOperand(k, [&](std::size_t first, std::size_t count, std::ptrdiff_t stride) {
            Marks(needed.data()).set(first, count, stride);
          });
      } else {
        if (reads & VjpReads::x) needed[at(step.a)] = true;
        if (reads & VjpReads::y) needed[at(step.b)] = true;
        if (reads & VjpReads::z) needed[at(step.c)] = true;
      }
      if (reads & VjpReads::result)
        for (std::int32_t i = 0; i < step.count; ++i) needed[at(step.result + i)] = true;
    }
    reaches(View<false>{}, Marks(needed.data()), [](std::size_t) { return true; });
    return needed;
  }

 public:
  static constexpr Numbers isNeeded = findNeeded();
};

}  // namespace burtorch::inline BURTORCH_TARGET::graph
