// Tracing: a function is called once, at compile time, on symbols instead of numbers, and writes down what it does.
//
// A symbol is the place of a number in the graph, or a constant. Every operator on symbols appends one step. Loops
// have run, calls are inlined, and what is left is straight-line code as data, which unrolled.hpp turns into
// straight-line code as code. A function cannot look at the number behind a symbol: comparisons give a condition,
// which `select` takes and `if` does not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "../core/reduce.hpp"
#include "rules.hpp"

namespace burtorch::inline BURTORCH_TARGET::graph {

#if defined(__clang__) ? __clang_major__ < 14 : defined(__GNUC__) && __GNUC__ < 12
static_assert(false, "compile-time graphs need g++ 12 or clang 14, or newer");
#endif

/// A growing array for constant evaluation: not every standard library's vector can be used there yet.
template <class E> class Sequence {
 public:
  constexpr Sequence() = default;
  constexpr Sequence(const Sequence&) = delete;
  constexpr Sequence& operator=(const Sequence&) = delete;
  constexpr Sequence(Sequence&& other) noexcept
      : data_(other.data_), size_(other.size_), capacity_(other.capacity_) {
    other.data_ = nullptr;
  }
  constexpr ~Sequence() { delete[] data_; }

  constexpr std::size_t size() const { return size_; }
  constexpr const E* data() const { return data_; }
  constexpr const E& operator[](std::size_t i) const { return data_[i]; }
  constexpr void push(const E& element) {
    if (size_ == capacity_) {
      capacity_ = capacity_ == 0 ? 64 : 4 * capacity_;
      E* larger = new E[capacity_];
      for (std::size_t i = 0; i < size_; ++i) larger[i] = data_[i];
      delete[] data_;
      data_ = larger;
    }
    data_[size_++] = element;
  }

 private:
  E* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

/// The numbers of a graph are counted: first the inputs, then the results of the steps in their order.
using Id = std::int32_t;

/// The numbers of a list: evenly spaced, as slices of an argument are, or one by one. A long list costs the compiler no
/// more than a short one, as long as it is even.
struct Operands {
  Id first = 0;
  std::int32_t stride = 1;
  std::int32_t start = -1;  // not even: where they are in Trace::operands

  constexpr bool isEven() const { return start < 0; }
};

/// One operator and where its operands are. What they mean depends on the operator's arity:
///   unary a   binary a, b   ternary a, b, c   constant a   varying, block: a list   pair: two lists, c the bias
template <class T> struct Step {
  Opcode op = 0;
  VjpReads reads{};  // which numbers its slope looks at
  Id a = -1, b = -1, c = -1;
  Id result = -1;
  std::int32_t count = 1;   // how many results
  std::int32_t length = 0;  // how many operands its lists have
  Operands lists[2] = {};
  std::int32_t target = 0;  // of crossEntropy
  PlainOf<T> constant{};
  const UserOp<T>* user = nullptr;

  constexpr const OpInfo& info() const { return user != nullptr ? user->info : GraphOps::infos[op]; }
  constexpr Id operand(std::size_t i) const { return i == 0 ? a : i == 1 ? b : c; }
};

/// What a traced function writes down.
template <class T> struct Trace {
  Sequence<Step<T>> steps;
  Sequence<Id> operands;
  Id numbers = 0;  // inputs and results so far

  constexpr Id append(Step<T> step) {
    step.result = numbers;
    numbers += step.count;
    steps.push(step);
    return step.result;
  }
};

}  // namespace burtorch::inline BURTORCH_TARGET::graph

namespace burtorch::inline BURTORCH_TARGET {

/// Stands for a number while a function is traced.
template <class T> class Symbol {
 public:
  using Scalar = T;

  /// Refers to nothing yet; to be assigned before it is used.
  constexpr Symbol() = default;
  template <Plain N>
  constexpr Symbol(N number) : constant_(static_cast<PlainOf<T>>(number)), isConstant_(true) {}
  constexpr Symbol(graph::Trace<T>& trace, graph::Id id) : trace_(&trace), id_(id) {}

  constexpr bool isConstant() const { return isConstant_; }
  constexpr PlainOf<T> constant() const { return constant_; }
  constexpr bool hasTrace() const { return trace_ != nullptr; }
  constexpr graph::Id rawId() const { return id_; }
  /// Whether it is a number of the graph, and this one.
  constexpr bool isAt(graph::Id id) const { return id_ == id && trace_ != nullptr; }
  constexpr graph::Trace<T>& trace() const {
    if (trace_ == nullptr) fail("a number that was never given a value is used in a compile-time graph");
    return *trace_;
  }
  /// Where the number is; a constant becomes a step.
  constexpr graph::Id idOn(graph::Trace<T>& onto) const {
    if (isConstant_)
      return onto.append({.op = graph::GraphOps::indexOf<graph::Constant>(), .constant = constant_});
    static_cast<void>(trace());  // there is one
    return id_;
  }

 private:
  graph::Trace<T>* trace_ = nullptr;
  graph::Id id_ = -1;
  PlainOf<T> constant_{};
  bool isConstant_ = false;
};

/// What a comparison of symbols gives: known only when the graph runs, so it is for `select`, not for `if`.
template <class T> struct Condition {
  Symbol<T> symbol;

  /// Caught here because the language asks for a bool: `if (x < y)`, `x < y ? a : b`, `while (x < y)`.
  template <class B>
  requires std::is_same_v<B, bool>
  constexpr operator B() const {
    static_assert(!std::is_same_v<B, bool>,
                  "a compile-time graph cannot branch on the value of a number: use select(condition, a, b), "
                  "relu, max or min instead of if, ?:, while");
    return false;
  }
  friend constexpr Condition operator!(Condition x) { return {apply<ops::Not>(x.symbol)}; }
  friend constexpr Condition operator&&(Condition x, Condition y) {
    return {apply<ops::And>(x.symbol, y.symbol)};
  }
  friend constexpr Condition operator||(Condition x, Condition y) {
    return {apply<ops::Or>(x.symbol, y.symbol)};
  }
  friend constexpr Condition operator&(Condition x, Condition y) { return x && y; }
  friend constexpr Condition operator|(Condition x, Condition y) { return x || y; }
};

namespace detail {

template <class X> struct IsSymbol : std::false_type {};
template <class T> struct IsSymbol<Symbol<T>> : std::true_type {};
template <class X, class Y>
concept ComparesSymbols = (IsSymbol<X>::value && (IsSymbol<Y>::value || Plain<Y>)) ||
                          (Plain<X> && IsSymbol<Y>::value);

template <class Op, class X, class Y> constexpr auto compare(X x, Y y) {
  using S = std::conditional_t<IsSymbol<X>::value, X, Y>;
  return burtorch::Condition<typename S::Scalar>{apply<Op>(S(x), S(y))};
}
}  // namespace detail

template <class X, class Y>
requires detail::ComparesSymbols<X, Y>
constexpr auto operator<(X x, Y y) { return detail::compare<ops::Less>(x, y); }
template <class X, class Y>
requires detail::ComparesSymbols<X, Y>
constexpr auto operator<=(X x, Y y) { return detail::compare<ops::LessEqual>(x, y); }
template <class X, class Y>
requires detail::ComparesSymbols<X, Y>
constexpr auto operator>(X x, Y y) { return detail::compare<ops::Less>(y, x); }
template <class X, class Y>
requires detail::ComparesSymbols<X, Y>
constexpr auto operator>=(X x, Y y) { return detail::compare<ops::LessEqual>(y, x); }
template <class X, class Y>
requires detail::ComparesSymbols<X, Y>
constexpr auto operator==(X x, Y y) { return detail::compare<ops::Equal>(x, y); }
template <class X, class Y>
requires detail::ComparesSymbols<X, Y>
constexpr auto operator!=(X x, Y y) { return !detail::compare<ops::Equal>(x, y); }

/// Records the choice: all of a, b and the condition are computed, the gradient goes to the one chosen.
template <class T> constexpr Symbol<T> select(Condition<T> condition, Symbol<T> a, Symbol<T> b) {
  if (condition.symbol.isConstant()) return condition.symbol.constant() != 0 ? a : b;
  return apply<ops::Select>(condition.symbol, a, b);
}

template <class T, Plain N, Plain M> constexpr Symbol<T> select(Condition<T> condition, N a, M b) {
  return select(condition, Symbol<T>(a), Symbol<T>(b));
}

/// How operators act on symbols: they append a step. On constants they compute.
template <class T> struct Mode<Symbol<T>> {
  using Scalar = T;
  using S = Symbol<T>;
  using Step = graph::Step<T>;

  template <class Op> static constexpr S unary(S x) {
    if (x.isConstant()) return S(Op::value(x.constant()));
    graph::Trace<T>& trace = x.trace();
    Step step = stepOf<Op>();
    step.a = x.idOn(trace);
    return {trace, trace.append(step)};
  }
  template <class Op> static constexpr S binary(S x, S y) {
    if (x.isConstant() && y.isConstant()) return S(Op::value(x.constant(), y.constant()));
    graph::Trace<T>& trace = x.isConstant() ? y.trace() : x.trace();
    Step step = stepOf<Op>();
    step.a = x.idOn(trace);
    step.b = y.idOn(trace);
    return {trace, trace.append(step)};
  }
  template <class Op> static constexpr S ternary(S x, S y, S z) {
    if (x.isConstant() && y.isConstant() && z.isConstant())
      return S(Op::value(x.constant(), y.constant(), z.constant()));
    graph::Trace<T>& trace = (!x.isConstant() ? x : !y.isConstant() ? y : z).trace();
    Step step = stepOf<Op>();
    step.a = x.idOn(trace);
    step.b = y.idOn(trace);
    step.c = z.idOn(trace);
    return {trace, trace.append(step)};
  }
  template <class Op> static constexpr S withConstant(S x, PlainOf<T> constant) {
    if (x.isConstant()) return S(Op::value(x.constant(), constant));
    graph::Trace<T>& trace = x.trace();
    Step step = stepOf<Op>();
    step.a = x.idOn(trace);
    step.constant = constant;
    return {trace, trace.append(step)};
  }

  template <class Op> static constexpr Step stepOf() {
    return {.op = graph::opcodeOf<Op>(), .reads = vjpReads<Op, T>(), .user = graph::userOpIn<Op, T>()};
  }
};

/// On lists of symbols they append one step for the whole list, which stays a loop.
template <class T> struct detail::ListMode<Symbol<T>> {
  using S = Symbol<T>;
  using Step = graph::Step<T>;

  template <class L> static constexpr std::size_t count(const L& list) { return std::size(list); }

  template <class Op, class L, class... Extra> static constexpr S varying(const L& xs, Extra... extra) {
    requireElements(std::size(xs), Op::name);
    graph::Trace<T>& trace = traceOf(xs);
    Step step = listStep<Op>(trace, xs);
    if constexpr (sizeof...(extra) > 0) step.target = (static_cast<std::int32_t>(extra), ...);
    return {trace, trace.append(step)};
  }
  template <class Op, class L, class M> static constexpr S pair(const L& xs, const M& ys) {
    return pairOf<Op>(xs, ys, static_cast<const S*>(nullptr));
  }
  template <class Op, class L, class M>
  static constexpr S pairWithBias(const L& xs, const M& ys, const S& bias) {
    return pairOf<Op>(xs, ys, &bias);
  }
  /// As many results as elements.
  template <class Op, class L> static constexpr graph::Sequence<S> block(const L& xs) {
    requireElements(std::size(xs), Op::name);
    graph::Trace<T>& trace = traceOf(xs);
    Step step = listStep<Op>(trace, xs);
    step.count = step.length;
    const graph::Id first = trace.append(step);
    graph::Sequence<S> results;
    for (graph::Id i = 0; i < step.length; ++i) results.push(S(trace, first + i));
    return results;
  }

 private:
  template <class... L> static constexpr graph::Trace<T>& traceOf(const L&... lists) {
    graph::Trace<T>* trace = nullptr;
    const auto look = [&](const auto& list) {
      for (std::size_t i = 0, n = std::size(list); i < n && trace == nullptr; ++i)
        if (std::data(list)[i].hasTrace()) trace = &std::data(list)[i].trace();
    };
    (look(lists), ...);
    if (trace == nullptr) fail("a list of nothing but constants in a compile-time graph: compute it outside");
    return *trace;
  }
  template <class Op, class L> static constexpr Step listStep(graph::Trace<T>& trace, const L& xs) {
    Step step = Mode<S>::template stepOf<Op>();
    step.length = static_cast<std::int32_t>(std::size(xs));
    step.lists[0] = operandsOf(trace, std::data(xs), step.length);
    return step;
  }
  static constexpr graph::Operands operandsOf(graph::Trace<T>& trace, const S* xs, std::int32_t count) {
    bool isEven = !xs[0].isConstant();
    const graph::Id first = xs[0].rawId(), stride = count > 1 ? xs[1].rawId() - first : 1;
    for (std::int32_t i = 0; i < count && isEven; ++i) isEven = xs[i].isAt(first + i * stride);
    if (isEven) return {first, stride, -1};
    graph::Sequence<graph::Id>
        ids;  // first all constants become steps, then the list is written in one piece
    for (std::int32_t i = 0; i < count; ++i) ids.push(xs[i].idOn(trace));
    const auto start = static_cast<std::int32_t>(trace.operands.size());
    for (std::int32_t i = 0; i < count; ++i) trace.operands.push(ids[static_cast<std::size_t>(i)]);
    return {ids[0], 0, start};
  }
  template <class Op, class L, class M> static constexpr S pairOf(const L& xs, const M& ys, const S* bias) {
    requireElements(std::size(xs), Op::name);
    requireEqual(std::size(xs), std::size(ys), Op::name);
    graph::Trace<T>& trace = traceOf(xs, ys);
    const graph::Id c = bias != nullptr ? bias->idOn(trace) : -1;
    Step step = listStep<Op>(trace, xs);
    step.lists[1] = operandsOf(trace, std::data(ys), step.length);
    step.c = c;
    return {trace, trace.append(step)};
  }
};

}  // namespace burtorch::inline BURTORCH_TARGET
