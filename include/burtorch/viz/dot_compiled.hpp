// buildDotGraph of a compile-time graph: its arguments and the steps that were traced, with their numbers if it is given
// some. A compiled function keeps none of them, so the steps are carried out here once more, by the same rules.
//
//   constexpr auto f = compile([](auto a, auto b) { return sqr(a + b) * b; });
//   buildDotGraph(f, -41.0, 2.0);                      // with values and gradients
//   buildDotGraph(f, {.maxNodes = 50}, -41.0, 2.0);    // options come before the numbers
//   buildDotGraph<double, double>(f);                  // operators only, for arguments of these types
//
// A function of several outputs has values, but not one gradient: none is shown. Cost: linear in the steps.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "../core/sweep.hpp"
#include "../graph/compile.hpp"
#include "dot_drawing.hpp"

namespace burtorch {

namespace detail {

/// The numbers of a traced function, all kept: values forwards, gradients backwards.
template <class P> class DotRun {
  using T = typename P::Number;
  using Step = graph::Step<T>;

 public:
  void forward(std::span<const T> inputs) {
    values_.assign(static_cast<std::size_t>(P::numberCount), T{0});
    std::copy(inputs.begin(), inputs.end(), values_.begin());
    for (const Step& step : P::steps) compute(step);
  }
  void backward(graph::Id root) {
    gradients_.assign(values_.size(), T{0});
    std::vector<bool> isReached(values_.size());
    gradientOf(root) = T{1};
    isReached[static_cast<std::size_t>(root)] = true;
    const auto reach = [&](graph::Id id) { isReached[static_cast<std::size_t>(id)] = true; };
    for (std::size_t k = P::stepCount; k-- > 0;) {
      const Step& step = P::steps[k];
      bool isNeeded = false;
      for (graph::Id i = 0; i < step.count; ++i)
        isNeeded = isNeeded || isReached[static_cast<std::size_t>(step.result + i)];
      if (isNeeded) pull(step, reach);
    }
  }
  std::span<const T> values() const { return values_; }
  std::span<const T> gradients() const { return gradients_; }

  template <class Visit> static void forEachOperand(const Step& step, Visit visit) {
    for (std::size_t list = 0; list < P::listsOf(step); ++list)
      for (std::int32_t i = 0; i < step.length; ++i) visit(P::operandOf(step, list, i));
    for (const graph::Id id : {step.a, step.b, step.c})
      if (id >= 0) visit(id);
  }

 private:
  static Index index(graph::Id id) { return static_cast<Index>(id < 0 ? 0 : id); }
  const T& valueOf(graph::Id id) const { return values_[static_cast<std::size_t>(id)]; }
  T& gradientOf(graph::Id id) { return gradients_[static_cast<std::size_t>(id)]; }
  static Index lastOf(const Step& step) { return index(step.result + step.count - 1); }

  /// A step as an instruction of a tape, whose words are in `words_`: so the rules of the tape carry it out.
  Instruction encode(const Step& step, const OpInfo& info) {
    words_.clear();
    if (info.arity == Arity::constant) {
      words_.resize(sizeof step.constant / sizeof(Index));
      std::memcpy(words_.data(), &step.constant, sizeof step.constant);
      return {step.op, index(step.a), 0};
    }
    if (step.length == 0) return {step.op, index(step.a), index(step.b)};
    if (info.hasBias) words_.push_back(index(step.c));
    for (std::size_t list = 0; list < P::listsOf(step); ++list) encodeList(step, list);
    words_.push_back(static_cast<Index>(step.target));
    return {step.op, 0, static_cast<Index>(step.length)};
  }
  ListShape encodeList(const Step& step, std::size_t list) {
    const std::size_t at = words_.size();
    words_.push_back(listHead(ListForm::scattered, 0));
    for (std::int32_t i = 0; i < step.length; ++i) words_.push_back(index(P::operandOf(step, list, i)));
    return ListShape::decode(words_.data() + at, static_cast<std::size_t>(step.length));
  }

  void compute(const Step& step) {
    T& result = values_[static_cast<std::size_t>(step.result)];
    if (step.op == graph::userOpcode) {
      result = userValue(step);
      return;
    }
    graph::GraphOps::visitAt(step.op, [&]<class Op>() {
      if constexpr (std::is_same_v<Op, graph::Constant>)
        result = step.constant;
      else if constexpr (std::is_same_v<Op, graph::Select>)
        result = valueOf(step.a) != T{0} ? valueOf(step.b) : valueOf(step.c);
      else {
        const Instruction code = encode(step, graph::GraphOps::infos[step.op]);
        burtorch::compute<Op, T>(values_.data(), words_.data(), code, lastOf(step));
      }
    });
  }
  T userValue(const Step& step) {
    const graph::UserRules<T>& rules = *step.user;
    switch (rules.arity) {
      case Arity::unary: return rules.unary(valueOf(step.a));
      case Arity::constant: return rules.constant(valueOf(step.a), step.constant);
      case Arity::binary: return rules.binary(valueOf(step.a), valueOf(step.b));
      default: break;
    }
    words_.clear();
    return rules.varying({values_.data(), encodeList(step, 0)});
  }

  /// Passes the gradient of a step on, and says to whom. Nothing goes to a condition or to what was not chosen.
  template <class Reach> void pull(const Step& step, Reach reach) {
    if (step.op == graph::userOpcode) {
      userSlope(step);
      return forEachOperand(step, reach);
    }
    graph::GraphOps::visitAt(step.op, [&]<class Op>() {
      if constexpr (std::is_same_v<Op, graph::Select>) {
        const graph::Id chosen = valueOf(step.a) != T{0} ? step.b : step.c;
        gradientOf(chosen) += gradientOf(step.result);
        reach(chosen);
      } else if constexpr (OpList::contains<Op>) {
        const Instruction code = encode(step, graph::GraphOps::infos[step.op]);
        burtorch::pull<Op, T>({values_.data(), gradients_.data(), words_.data()}, code, lastOf(step), true);
        forEachOperand(step, reach);
      }
    });
  }
  void userSlope(const Step& step) {
    const graph::UserRules<T>& rules = *step.user;
    const T g = gradientOf(step.result), result = valueOf(step.result);
    switch (rules.arity) {
      case Arity::unary: gradientOf(step.a) += rules.unarySlope(g, valueOf(step.a), result); return;
      case Arity::constant:
        gradientOf(step.a) += rules.constantSlope(g, valueOf(step.a), step.constant, result);
        return;
      case Arity::binary:
        gradientOf(step.a) += rules.slopeX(g, valueOf(step.a), valueOf(step.b), result);
        gradientOf(step.b) += rules.slopeY(g, valueOf(step.a), valueOf(step.b), result);
        return;
      default: break;
    }
    words_.clear();
    const ListShape shape = encodeList(step, 0);
    rules.varyingSlope(g, {values_.data(), shape}, result, {gradients_.data(), shape});
  }

  std::vector<T> values_, gradients_;
  std::vector<Index> words_;
};

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
    run_.forward(inputs);
    if constexpr (P::Result::isSingle) run_.backward(P::outputs[0]);
  }

  std::size_t recordCount() const { return P::argumentCount + P::stepCount; }
  std::size_t recordOf(std::size_t number) const { return owners_[number]; }
  DotNumbers numbersOf(std::size_t r) const {
    if (r < P::argumentCount) return {static_cast<std::size_t>(P::argumentStart[r]), P::sizeOf(r)};
    const auto& step = stepOf(r);
    return {static_cast<std::size_t>(step.result), static_cast<std::size_t>(step.count)};
  }
  std::span<const Scalar> values() const { return run_.values(); }
  std::span<const Scalar> gradients() const { return run_.gradients(); }

  DotRecord describe(std::size_t r) const {
    if (r < P::argumentCount) return {{}, "argument " + std::to_string(r), true};
    const auto& step = stepOf(r);
    const OpInfo info = infoOf(step);
    const bool isLeaf = info.arity == Arity::leaf, hasConstant = isLeaf || info.arity == Arity::constant;
    return {{}, dotOperator(info, hasConstant ? dotNumber(step.constant) : ""), isLeaf};
  }
  template <class Visit> void forEachOperand(std::size_t r, Visit visit) const {
    if (r < P::argumentCount) return;
    DotRun<P>::forEachOperand(stepOf(r), [&](graph::Id id) { visit(static_cast<std::size_t>(id)); });
  }

 private:
  static const graph::Step<Scalar>& stepOf(std::size_t r) { return P::steps[r - P::argumentCount]; }
  static OpInfo infoOf(const graph::Step<Scalar>& step) {
    if (step.op != graph::userOpcode) return graph::GraphOps::infos[step.op];
    return {step.user->name, step.user->name, step.user->name, step.user->arity};
  }

  std::vector<std::size_t> owners_;  // record of each number
  DotRun<P> run_;
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

}  // namespace burtorch
