// compile(f): an ordinary function becomes a graph at compile time, and its value, gradient, Jacobian and Hessian become
// straight-line code in registers: no tape, no allocation, nothing that runs but the arithmetic.
//
//   constexpr auto f = burtorch::compile([](auto a, auto b) { return sqr(a + b) * relu(b); });
//   auto [da, db] = f.grad(-1.0, 2.0);
//
// The same function runs unchanged on plain numbers, Values and dual numbers. It has no captures, and takes numbers,
// std::arrays or struct templates of numbers. A call is traced once for the types of its arguments.
#pragma once

#include "../ops/dual.hpp"
#include "arguments.hpp"
#include "batch.hpp"
#include "run.hpp"

namespace burtorch::inline BURTORCH_TARGET {

template <class V, class G> struct ValueAndGrad {
  V value;
  G gradient;
};

template <class F> class Compiled {
  static_assert(std::is_empty_v<F> && std::is_default_constructible_v<F>,
                "compile needs a function without captures: pass what it uses as an argument");

  template <class... A> using ScalarOf = typename graph::Arguments<A...>::T;
  template <class T, class... A> using ProgramOf = graph::Program<F, T, graph::NormalOf<A>...>;
  template <std::size_t... wanted> struct For {
    template <class... A>
    using Gradients = graph::Gradients<graph::Arguments<A...>, graph::WantedOrAll<sizeof...(A), wanted...>>;
  };

 public:
  /// How many operators the function has for arguments of these types.
  template <class... A> static constexpr std::size_t nodeCount = ProgramOf<ScalarOf<A...>, A...>::stepCount;

  /// f(x...)
  template <class... A> BURTORCH_INLINE constexpr auto value(const A&... x) const {
    using T = ScalarOf<A...>;
    using P = ProgramOf<T, A...>;
    T outputs[P::outputCount];
    graph::evaluate<P, graph::WantNothing, true>(
        {{graph::Flat<graph::NormalOf<A>>(graph::normal(x)).data()...}}, {}, outputs);
    return P::Result::template make<T>(outputs);
  }

  /// The gradient with respect to all arguments, or to those named: `f.grad<0>(a, b)`. For one argument it looks like
  /// that argument; for several numbers it is an array, otherwise a tuple.
  template <std::size_t... wanted, class... A> BURTORCH_INLINE constexpr auto grad(const A&... x) const {
    requireArguments<sizeof...(A), wanted...>();
    typename For<wanted...>::template Gradients<A...>::Type gradient;
    evaluate<false, wanted...>(gradient, static_cast<ScalarOf<A...>*>(nullptr), x...);
    return gradient;
  }
  /// {value, gradient}
  template <std::size_t... wanted, class... A>
  BURTORCH_INLINE constexpr auto valueAndGrad(const A&... x) const {
    requireArguments<sizeof...(A), wanted...>();
    using T = ScalarOf<A...>;
    ValueAndGrad<T, typename For<wanted...>::template Gradients<A...>::Type> result;
    evaluate<true, wanted...>(result.gradient, &result.value, x...);
    return result;
  }
  /// Derivatives with respect to some of the inputs, counted over all arguments: `f.partial<5>(weights)`.
  template <std::size_t... inputs, class... A> BURTORCH_INLINE constexpr auto partial(const A&... x) const {
    using T = ScalarOf<A...>;
    using P = ProgramOf<T, A...>;
    requireOneOutput<P>();
    static_assert(((inputs < static_cast<std::size_t>(P::inputCount)) && ...),
                  "partial: there is no such input");
    T all[static_cast<std::size_t>(P::inputCount)];
    [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
      graph::evaluate<P, graph::WantInputs<inputs...>, false>(
          {{graph::Flat<graph::NormalOf<A>>(graph::normal(x)).data()...}}, {{all + P::argumentStart[i]...}},
          nullptr);
    }
    (std::index_sequence_for<A...>{});
    if constexpr (sizeof...(inputs) == 1)
      return (all[inputs], ...);
    else
      return std::array<T, sizeof...(inputs)>{all[inputs]...};
  }

  /// For a function that returns a std::array: the gradient of each of its outputs.
  template <class... A> BURTORCH_INLINE constexpr auto jacobian(const A&... x) const {
    using P = ProgramOf<ScalarOf<A...>, A...>;
    return jacobianOf<P>(std::make_index_sequence<P::outputCount>{}, std::index_sequence_for<A...>{}, x...);
  }

  /// The Hessian times v, at x: `f.hvp(x, v)`; for several arguments first all of x, then all of v.
  template <class... A> constexpr auto hvp(const A&... xAndV) const {
    static_assert(sizeof...(A) % 2 == 0, "hvp takes the arguments of the function, then as many directions");
    return hvpOf(std::make_index_sequence<sizeof...(A) / 2>{}, std::forward_as_tuple(xAndV...));
  }
  /// All second derivatives, a row for every input, counted over all arguments.
  template <class... A> constexpr auto hessian(const A&... x) const {
    using T = ScalarOf<A...>;
    using P = ProgramOf<Dual<T>, A...>;
    constexpr auto n = static_cast<std::size_t>(P::inputCount);
    static_assert(n <= 64, "a Hessian of more than 64 inputs: multiply it with vectors instead, by hvp");
    const auto point = graph::flatten(x...);
    std::array<std::array<T, n>, n> hessian{};
    for (std::size_t row = 0; row < n; ++row) {
      std::array<T, n> direction{};
      direction[row] = T{1};
      hessian[row] = secondOrder<P>(point, direction);
    }
    return hessian;
  }

  /// The gradients of many samples, a pack of them at a time. First a list for every argument, then a list for every
  /// gradient: `f.gradBatch(as, bs, das, dbs)`, or of the named arguments only: `f.gradBatch<1>(as, bs, dbs)`. A list is
  /// anything contiguous: vector, array, span.
  template <std::size_t... wanted, class... L> void gradBatch(L&&... lists) const {
    constexpr std::size_t gradients = sizeof...(wanted) == 0 ? sizeof...(L) / 2 : sizeof...(wanted);
    constexpr std::size_t arguments = sizeof...(L) - gradients;
    static_assert((sizeof...(wanted) > 0 || sizeof...(L) % 2 == 0) && ((wanted < arguments) && ...),
                  "gradBatch takes a list for every argument, then one for every gradient");
    gradBatchOf<graph::WantArguments<wanted...>>(graph::WantedOrAll<arguments, wanted...>{},
                                                 std::make_index_sequence<arguments>{},
                                                 std::tuple(graph::asSpan(lists)...));
  }
  /// The sums over samples of f(parameters, sample...) and of its gradient with respect to the parameters.
  template <class A, class... L> auto valueAndGradSum(const A& parameters, const L&... samples) const {
    using T = ScalarOf<A>;
    using P = ProgramOf<Pack<T>, A, typename decltype(graph::asSpan(samples))::value_type...>;
    requireOneOutput<P>();
    ValueAndGrad<T, graph::NormalOf<A>> result;
    result.value = graph::sumBatch<P>(graph::Flat<graph::NormalOf<A>>(graph::normal(parameters)).data(),
                                      result.gradient, graph::asSpan(samples)...);
    return result;
  }

 private:
  template <std::size_t count, std::size_t... wanted> static constexpr void requireArguments() {
    static_assert(((wanted < count) && ...), "grad: there is no such argument");
  }
  template <class P> static constexpr void requireOneOutput() {
    static_assert(P::Result::isSingle, "a function of several outputs has a Jacobian: use jacobian(x...)");
  }

  template <bool wantsValue, std::size_t... wanted, class G, class T, class... A>
  BURTORCH_INLINE constexpr void evaluate(G& gradient, T* value, const A&... x) const {
    using P = ProgramOf<T, A...>;
    requireOneOutput<P>();
    typename For<wanted...>::template Gradients<A...> gradients;
    [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
      graph::evaluate<P, graph::WantArguments<wanted...>, wantsValue>(
          {{graph::Flat<graph::NormalOf<A>>(graph::normal(x)).data()...}},
          {{gradients.template at<i>(gradient)...}}, value);
    }
    (std::index_sequence_for<A...>{});
    gradients.finish(gradient);
  }

  template <class P, std::size_t... rows, std::size_t... i, class... A>
  BURTORCH_INLINE constexpr auto jacobianOf(std::index_sequence<rows...>, std::index_sequence<i...>,
                                            const A&... x) const {
    using T = typename P::Number;
    using Plan = graph::Plan<P, graph::WantArguments<>, false, rows...>;
    using Row = graph::GradientShape<T, graph::NormalOf<A>...>;
    T flat[sizeof...(rows)][static_cast<std::size_t>(P::inputCount)];
    graph::withMemory<P, Plan>(
        {{graph::Flat<graph::NormalOf<A>>(graph::normal(x)).data()...}},
        [&](graph::Memory<P> memory) __attribute__((always_inline)) {
          graph::Unrolled<P>::template forward<Plan>(memory);
          const auto row = [&]<std::size_t r>(std::index_sequence<r>) __attribute__((always_inline)) {
            memory.gradients = {{flat[r] + P::argumentStart[i]...}};
            graph::clearInPlace<P, Plan>(memory);
            graph::Unrolled<P>::template backward<Plan, r, r, false>(memory, T{1});
          };
          (row(std::index_sequence<rows>{}), ...);
        });
    return std::array<typename Row::Type, sizeof...(rows)>{Row::make(flat[rows])...};
  }

  template <std::size_t... i, class Both>
  constexpr auto hvpOf(std::index_sequence<i...>, const Both& xAndV) const {
    constexpr std::size_t n = sizeof...(i);
    using T = ScalarOf<std::tuple_element_t<i, Both>...>;
    using P = ProgramOf<Dual<T>, std::tuple_element_t<i, Both>...>;
    const auto product =
        secondOrder<P>(graph::flatten(std::get<i>(xAndV)...), graph::flatten(std::get<n + i>(xAndV)...));
    return graph::GradientShape<T, graph::NormalOf<std::tuple_element_t<i, Both>>...>::make(product.data());
  }
  /// Forward over reverse: the gradient, computed on dual numbers, carries the Hessian times the direction along.
  template <class P, class T, std::size_t n>
  static constexpr std::array<T, n> secondOrder(const std::array<T, n>& x,
                                                const std::array<T, n>& direction) {
    requireOneOutput<P>();
    std::array<Dual<T>, n> point{}, gradient{};
    for (std::size_t i = 0; i < n; ++i) point[i] = {x[i], direction[i]};
    graph::Inputs<P> arguments{};
    graph::Results<P> gradients{};
    for (std::size_t a = 0; a < P::argumentCount; ++a) {
      arguments.of[a] = point.data() + P::argumentStart[a];
      gradients.of[a] = gradient.data() + P::argumentStart[a];
    }
    graph::evaluate<P, graph::WantArguments<>, false>(arguments, gradients, nullptr);
    std::array<T, n> product{};
    for (std::size_t i = 0; i < n; ++i) product[i] = gradient[i].tangent;
    return product;
  }

  template <class Want, std::size_t... wanted, std::size_t... i, class Spans>
  void gradBatchOf(std::index_sequence<wanted...>, std::index_sequence<i...>, const Spans& spans) const {
    using P = ProgramOf<Pack<ScalarOf<typename std::tuple_element_t<i, Spans>::value_type...>>,
                        typename std::tuple_element_t<i, Spans>::value_type...>;
    requireOneOutput<P>();
    const std::size_t count = std::get<0>(spans).size();
    std::apply([&](const auto&... list) { (graph::requireSamples(count, list.size()), ...); }, spans);
    const auto gradientOf = [&]<std::size_t argument>(std::index_sequence<argument>) {
      constexpr std::size_t position = graph::positionOf<argument, wanted...>;
      if constexpr (position == sizeof...(wanted))
        return static_cast<typename std::tuple_element_t<argument, Spans>::value_type*>(nullptr);
      else
        return std::get<sizeof...(i) + position>(spans).data();
    };
    graph::gradBatch<P, Want, typename std::tuple_element_t<i, Spans>::value_type...>(
        count, std::get<i>(spans).data()..., gradientOf(std::index_sequence<i>{})...);
  }
};

/// Makes a compile-time graph of a function without captures. (constexpr: clang 14 crashes on consteval with a local lambda.)
template <class F> constexpr Compiled<F> compile(F) { return {}; }

}  // namespace burtorch::inline BURTORCH_TARGET
