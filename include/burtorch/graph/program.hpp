// A traced function as constants of the program: its steps, and where each of its numbers will live.
//
// Numbers that only steps of single numbers touch are local variables, which a compiler keeps in registers. Lists stay
// loops, so their numbers need addresses: an argument that only ever stands alone in a list is read where the caller
// has it, and its gradient is summed where the caller wants it; all others are gathered in one local array.
#pragma once

#include <limits>

#include "argument_tree.hpp"
#include "trace.hpp"

namespace burtorch::inline BURTORCH_TARGET::graph {

enum class Home : std::uint8_t { argument, local, listed, constant };
template <class T> struct Place {
  Home home = Home::local;
  std::uint32_t argument = 0;  // which one
  std::uint32_t slot = 0;      // place in the argument, among the locals or in the array for lists
  PlainOf<T> constant{};
};

enum class ArgumentUse : std::uint8_t {
  single,   // no list reads it: its gradients are local variables
  inPlace,  // lists read it where it is, and add to its gradient there
  copied    // lists mix it with other numbers: it is copied into the array for lists
};

/// A list of operands as its loop needs it.
struct ListPlan {
  bool isArgument = false;
  std::uint32_t argument = 0;
  ListForm form = ListForm::contiguous;
  NodeIndex first = 0;
  std::int32_t stride = 1;
  std::uint32_t words = 0;  // scattered: where its slots lie in `slots`
};

/// What a function of this return type gives: how many outputs, and their ids.
template <class R> struct Outputs {
  static constexpr std::size_t count = 1;
  static constexpr bool isSingle = true;
  template <class T> using Result = T;
  template <class T, class Visit> static constexpr void forEach(const R& result, Visit visit) {
    visit(Symbol<T>(result));
  }
  template <class T> static constexpr T make(const T* flat) { return *flat; }
};
template <class R, std::size_t n> struct Outputs<std::array<R, n>> {
  static constexpr std::size_t count = n;
  static constexpr bool isSingle = false;
  template <class T> using Result = std::array<T, n>;
  template <class T, class Visit>
  static constexpr void forEach(const std::array<R, n>& results, Visit visit) {
    for (const R& result : results) visit(Symbol<T>(result));
  }
  template <class T> static constexpr Result<T> make(const T* flat) {
    Result<T> array{};
    for (std::size_t i = 0; i < n; ++i) array[i] = flat[i];
    return array;
  }
};

/// The function F on arguments Args..., for numbers of type T (a plain number, a pack, a dual number).
template <class F, class T, class... Args> class Program {
  template <class A> using SymbolsOf = typename ArgumentTree<A>::template Rebind<Symbol<T>>;
  static_assert(std::is_invocable_v<F, SymbolsOf<Args>...>,
                "the function of a compile-time graph cannot be called with arguments of these shapes");

 public:
  using Number = T;
  using Result = Outputs<std::remove_cvref_t<std::invoke_result_t<F, SymbolsOf<Args>...>>>;

  static constexpr std::size_t argumentCount = sizeof...(Args);
  static constexpr std::size_t outputCount = Result::count;
  /// Where the numbers of each argument start among the inputs.
  static constexpr std::array<Id, argumentCount + 1> argumentStart = [] {
    std::array<Id, argumentCount + 1> start{};
    const std::array<std::size_t, argumentCount> counts{ArgumentTree<Args>::count...};
    for (std::size_t i = 0; i < argumentCount; ++i) start[i + 1] = start[i] + static_cast<Id>(counts[i]);
    return start;
  }();
  static constexpr Id inputCount = argumentStart[argumentCount];
  static constexpr std::size_t sizeOf(std::size_t argument) {
    return static_cast<std::size_t>(argumentStart[argument + 1] - argumentStart[argument]);
  }
  static constexpr std::size_t argumentOf(Id input) {
    std::size_t argument = 0;
    while (input >= argumentStart[argument + 1]) ++argument;
    return argument;
  }

 private:
  struct Size {
    std::size_t steps = 0, operands = 0;
    Id numbers = 0;
  };

  /// Calls the function on symbols.
  static constexpr void record(Trace<T>& trace, Id* outputIds) {
    trace.numbers = inputCount;
    Id next = 0;
    const auto symbolsOf = [&]<class A>(std::type_identity<A>) {
      std::array<Symbol<T>, ArgumentTree<A>::count> flat{};
      for (auto& symbol : flat) symbol = Symbol<T>(trace, next++);
      return ArgumentTree<A>::make(flat.data());
    };
    // Braces, because they keep the order.
    const std::tuple<SymbolsOf<Args>...> arguments{symbolsOf(std::type_identity<Args>{})...};
    const auto result = std::apply(F{}, arguments);
    Result::template forEach<T>(result, [&](const Symbol<T>& symbol) { *outputIds++ = symbol.idOn(trace); });
  }
  static constexpr Size measure() {
    Trace<T> trace;
    std::array<Id, outputCount> outputIds{};
    record(trace, outputIds.data());
    return {trace.steps.size(), trace.operands.size(), trace.numbers};
  }
  static constexpr Size size = measure();

  struct Stored {
    std::array<Step<T>, size.steps> steps{};
    std::array<Id, size.operands> operands{};
    std::array<Id, outputCount> outputs{};
  };
  static constexpr Stored store() {
    Trace<T> trace;
    Stored result;
    record(trace, result.outputs.data());
    for (std::size_t i = 0; i < size.steps; ++i) result.steps[i] = trace.steps[i];
    for (std::size_t i = 0; i < size.operands; ++i) result.operands[i] = trace.operands[i];
    return result;
  }
  static constexpr Stored stored = store();

 public:
  static constexpr std::size_t stepCount = size.steps;
  static constexpr Id numberCount = size.numbers;
  static constexpr const auto& steps = stored.steps;
  static constexpr const auto& operands = stored.operands;
  static constexpr const auto& outputs = stored.outputs;

  static constexpr std::size_t listsOf(const Step<T>& step) { return step.info().listCount(); }
  /// Element i of a step's list.
  static constexpr Id operandOf(const Step<T>& step, std::size_t list, std::int32_t i) {
    const Operands& of = step.lists[list];
    return of.isEven() ? of.first + i * of.stride : operands[static_cast<std::size_t>(of.start + i)];
  }

 private:
  static constexpr bool isInput(Id id) { return id < inputCount; }
  /// Which argument a list lies in, or -1 if it is mixed or computed.
  static constexpr int onlyArgument(const Step<T>& step, std::size_t list) {
    const Id first = operandOf(step, list, 0);
    if (!isInput(first)) return -1;
    const std::size_t argument = argumentOf(first);
    // Of an even list the ends tell.
    for (std::int32_t i = step.lists[list].isEven() ? step.length - 1 : 1; i < step.length; ++i) {
      const Id id = operandOf(step, list, i);
      if (id < argumentStart[argument] || id >= argumentStart[argument + 1]) return -1;
    }
    return static_cast<int>(argument);
  }

  /// How many slots must be written down one by one: those of lists that are not slices of one argument.
  static constexpr std::size_t slotCount = [] {
    std::size_t count = 0;
    for (const Step<T>& step : steps)
      for (std::size_t list = 0; list < listsOf(step); ++list)
        if (!step.lists[list].isEven() || onlyArgument(step, list) < 0)
          count += static_cast<std::size_t>(step.length);
    return count;
  }();

  /// Where everything lives.
  struct Layout {
    std::array<ArgumentUse, argumentCount> use{};
    std::array<std::uint32_t, argumentCount> copiedAt{};  // slot of the first number of a copied argument
    std::array<std::uint32_t, argumentCount> localAt{};   // of a single one
    std::array<Place<T>, static_cast<std::size_t>(size.numbers - inputCount)> results{};
    std::array<std::array<ListPlan, 2>, size.steps> lists{};
    std::array<NodeIndex, slotCount> slots{};
    std::uint32_t locals = 0, listed = 0;
  };

  static constexpr Layout layOut() {
    Layout all;
    constexpr auto results = static_cast<std::size_t>(size.numbers - inputCount);
    std::array<bool, results> isListed{};
    for (const Step<T>& step : steps) {
      for (std::size_t list = 0; list < listsOf(step); ++list) {
        const int argument = onlyArgument(step, list);
        if (argument >= 0) {
          auto& use = all.use[static_cast<std::size_t>(argument)];
          if (use == ArgumentUse::single) use = ArgumentUse::inPlace;
          continue;
        }
        for (std::int32_t i = 0; i < step.length; ++i) {
          const Id id = operandOf(step, list, i);
          if (isInput(id))
            all.use[argumentOf(id)] = ArgumentUse::copied;
          else
            isListed[static_cast<std::size_t>(id - inputCount)] = true;
        }
      }
      if (step.info().isBlock())
        for (std::int32_t i = 0; i < step.count; ++i)
          isListed[static_cast<std::size_t>(step.result + i - inputCount)] = true;
    }
    for (std::size_t a = 0; a < argumentCount; ++a) {
      const auto n = static_cast<std::uint32_t>(sizeOf(a));
      if (all.use[a] == ArgumentUse::copied) all.copiedAt[a] = all.listed, all.listed += n;
      if (all.use[a] == ArgumentUse::single) all.localAt[a] = all.locals, all.locals += n;
    }
    for (const Step<T>& step : steps)
      for (std::int32_t i = 0; i < step.count; ++i) {
        const auto r = static_cast<std::size_t>(step.result + i - inputCount);
        if (isListed[r])
          all.results[r] = {Home::listed, 0, all.listed++};
        else if (step.info().isLeaf())  // a slot for its gradient, in case somebody wants it
          all.results[r] = {Home::constant, 0, all.locals++, step.constant};
        else
          all.results[r] = {Home::local, 0, all.locals++};
      }
    planLists(all);
    return all;
  }

  static constexpr void planLists(Layout& all) {
    std::uint32_t words = 0;
    for (std::size_t k = 0; k < size.steps; ++k)
      for (std::size_t list = 0; list < listsOf(steps[k]); ++list) {
        ListPlan plan{.words = words};
        const int argument = onlyArgument(steps[k], list);
        if (argument >= 0 && all.use[static_cast<std::size_t>(argument)] == ArgumentUse::inPlace)
          plan.isArgument = true, plan.argument = static_cast<std::uint32_t>(argument);
        bool isEven = true;
        if (argument >= 0 && steps[k].lists[list].isEven()) {
          plan.first = placeIn(all, steps[k].lists[list].first).slot;
          plan.stride = steps[k].lists[list].stride;
        } else {
          isEven = writeSlots(all, k, list, plan);
          words += static_cast<std::uint32_t>(steps[k].length);
        }
        plan.form = !isEven            ? ListForm::scattered
                    : plan.stride == 1 ? ListForm::contiguous
                                       : ListForm::strided;
        all.lists[k][list] = plan;
      }
  }
  /// Writes down the slots of a list one by one; they may turn out even after all.
  static constexpr bool writeSlots(Layout& all, std::size_t k, std::size_t list, ListPlan& plan) {
    bool isEven = true;
    for (std::int32_t i = 0; i < steps[k].length; ++i) {
      const auto at = plan.words + static_cast<std::uint32_t>(i);
      all.slots[at] = placeIn(all, operandOf(steps[k], list, i)).slot;
      const auto difference = static_cast<std::int32_t>(all.slots[at] - all.slots[i > 0 ? at - 1 : at]);
      if (i == 0) plan.first = all.slots[at];
      if (i == 1) plan.stride = difference;
      if (i > 1) isEven = isEven && difference == plan.stride;
    }
    return isEven;
  }
  static constexpr Place<T> placeIn(const Layout& all, Id id) {
    if (!isInput(id)) return all.results[static_cast<std::size_t>(id - inputCount)];
    const std::size_t argument = argumentOf(id);
    const auto offset = static_cast<std::uint32_t>(id - argumentStart[argument]);
    if (all.use[argument] == ArgumentUse::copied) return {Home::listed, 0, all.copiedAt[argument] + offset};
    return {Home::argument, static_cast<std::uint32_t>(argument), offset};
  }

 public:
  static constexpr Layout layout = layOut();

  /// Where a number is read.
  static constexpr Place<T> placeOf(Id id) {
    if (id < 0) return {};
    return placeIn(layout, id);
  }
  /// Where its gradient is summed.
  static constexpr Place<T> gradientPlaceOf(Id id) {
    const Place<T> place = placeOf(id);
    if (place.home == Home::argument && layout.use[place.argument] == ArgumentUse::single)
      return {Home::local, 0, layout.localAt[place.argument] + place.slot};
    return place;
  }
};

}  // namespace burtorch::inline BURTORCH_TARGET::graph
