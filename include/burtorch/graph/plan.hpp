// What a request needs of a program: asking for the value, for the gradient with respect to some inputs, or for some
// outputs only removes every step that does not contribute. All of it is decided at compile time.
#pragma once

#include "program.hpp"

namespace burtorch::graph {

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

/// `wantsValue`: all outputs are computed. `Want`: with respect to what the gradients of the outputs `rows` are taken.
template <class P, class Want, bool wantsValue, std::size_t... rows> class Plan {
  using T = typename P::Number;
  static constexpr std::size_t n = static_cast<std::size_t>(P::numberCount);

  static constexpr bool isConstant(const Step<T>& step) { return step.op == GraphOps::indexOf<Constant>(); }
  static constexpr bool isSelect(const Step<T>& step) { return step.op == GraphOps::indexOf<Select>(); }
  static constexpr bool isConditionStep(const Step<T>& step) {
    return step.op >= GraphOps::indexOf<Less>() && step.op <= GraphOps::indexOf<Not>();
  }

  /// Calls visit(operand) for the operands that a gradient flows to, in the order of the reverse rules. An argument that
  /// lists read in place counts as a whole, by its first number: layers may be large.
  template <class Visit> static constexpr void forEachFlow(std::size_t k, Visit visitNumber) {
    const auto& step = P::steps[k];
    const auto visit = [&](Id id) { visitNumber(wholeOf(id)); };
    if (isConstant(step) || isConditionStep(step)) return;
    if (isSelect(step)) return visit(step.b), visit(step.c);
    if (step.c >= 0) visit(step.c);
    if (step.length > 0) {
      for (std::size_t list = 0; list < P::listsOf(step); ++list)
        for (std::int32_t i = 0; i < (P::layout.lists[k][list].isArgument ? 1 : step.length); ++i)
          visit(P::operandOf(step, list, i));
      return;
    }
    visit(step.a);
    if (step.b >= 0) visit(step.b);
  }
  static constexpr Id wholeOf(Id id) {
    if (id >= P::inputCount) return id;
    const std::size_t argument = P::argumentOf(id);
    return P::layout.use[argument] == ArgumentUse::inPlace ? P::argumentStart[argument] : id;
  }
  template <class Visit> static constexpr void forEachOperand(std::size_t k, Visit visit) {
    const auto& step = P::steps[k];
    if (isConstant(step)) return;
    if (isSelect(step)) visit(step.a);
    forEachFlow(k, visit);
    if (isConditionStep(step)) {
      visit(step.a);
      if (step.b >= 0) visit(step.b);
    }
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
    for (std::size_t k = 0; k < P::stepCount; ++k) {
      const auto& step = P::steps[k];
      bool does = false;
      forEachFlow(k, [&](Id id) { does = does || found[at(id)]; });
      for (std::int32_t i = 0; i < step.count; ++i) found[at(step.result + i)] = does;
    }
    return found;
  }
  static constexpr Numbers varies = findVarying();

 public:
  /// How the gradient of one output flows.
  struct Flow {
    Numbers isActive{};       // the output depends on it, and it on a wanted input; see isActiveIn
    Numbers isConditional{};  // only if a select chooses it
    std::array<bool, P::stepCount> isFirstA{}, isFirstB{},
        isFirstC{};  // the first gradient that reaches an operand
    bool hasConditional = false;
  };

 private:
  static constexpr Flow flowOf(Id output) {
    Flow flow;
    Numbers isReached{}, isAlways{}, hasGradient{};
    output = wholeOf(output);
    isReached[at(output)] = isAlways[at(output)] = hasGradient[at(output)] = true;
    for (std::size_t k = P::stepCount; k-- > 0;) {
      const auto& step = P::steps[k];
      if (!anyResult(isReached, step)) continue;
      const bool isSure = anyResult(isAlways, step) && !isSelect(step);
      bool does = false;
      for (std::int32_t i = 0; i < step.count; ++i) does = does || varies[at(step.result + i)];
      if (!does) continue;
      forEachFlow(k, [&](Id id) {
        isReached[at(id)] = true;
        isAlways[at(id)] = isAlways[at(id)] || isSure;
      });
      const auto isFirst = [&](Id id) {
        if (id < 0) return false;
        const bool is = !hasGradient[at(id)];
        hasGradient[at(id)] = true;
        return is;
      };
      if (isSelect(step)) {
        flow.isFirstB[k] = isFirst(step.b);
        flow.isFirstC[k] = isFirst(step.c);
      } else {
        flow.isFirstC[k] = isFirst(step.c);
        flow.isFirstA[k] = isFirst(step.a);
        flow.isFirstB[k] = isFirst(step.b);
      }
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
    for (std::size_t k = P::stepCount; k-- > 0;) {
      const auto& step = P::steps[k];
      bool flowsA = false, flowsB = false, isActive = false;
      for (const Flow& flow : flows) {
        if (!anyResult(flow.isActive, step)) continue;
        isActive = true;
        flowsA = flowsA || isActiveIn(flow, step.a);
        flowsB = flowsB || isActiveIn(flow, step.b);
      }
      if (isActive && isSelect(step)) needed[at(step.a)] = true;
      if (isActive && step.length > 0) {
        forEachFlow(k, [&](Id id) { needed[at(id)] = true; });
        if (step.reads.byX & SlopeReads::result)
          for (std::int32_t i = 0; i < step.count; ++i) needed[at(step.result + i)] = true;
      }
      if (isActive && step.length == 0 && !isSelect(step)) {
        const int reads = (flowsA ? step.reads.byX : 0) | (flowsB ? step.reads.byY : 0);
        if (reads & SlopeReads::x) needed[at(step.a)] = true;
        if ((reads & SlopeReads::y) && step.b >= 0) needed[at(step.b)] = true;
        if (reads & SlopeReads::result) needed[at(step.result)] = true;
      }
      if (anyResult(needed, step)) forEachOperand(k, [&](Id id) { needed[at(id)] = true; });
    }
    return needed;
  }

 public:
  static constexpr Numbers isNeeded = findNeeded();
};

}  // namespace burtorch::graph
