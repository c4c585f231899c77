// What a function of a compile-time graph takes: numbers, std::arrays of such, and structs of numbers that are templates
// over their number type (`template <class X> struct Point { X x, y; };`). Here they become flat lists and back.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "../base/config.hpp"

namespace burtorch::inline BURTORCH_TARGET::graph {

/// Says how many numbers an argument has, what it is made of, and what it is over another number type.
template <class A> struct ArgumentTree {
  static_assert(
      !std::is_same_v<A, A>,
      "an argument of a compile-time graph is float, double, a std::array, or a struct template over its "
      "number type, like template <class X> struct Point { X x, y; }");
};

template <std::floating_point T> struct ArgumentTree<T> {
  using Scalar = T;
  template <class X> using Rebind = X;
  static constexpr std::size_t count = 1;

  template <class X> static constexpr X make(const X* flat) { return *flat; }
  template <class X> static constexpr void flatten(const X& argument, X* flat) { *flat = argument; }
};

template <class A, std::size_t n> struct ArgumentTree<std::array<A, n>> {
  using Element = ArgumentTree<A>;
  using Scalar = typename Element::Scalar;
  template <class X> using Rebind = std::array<typename Element::template Rebind<X>, n>;
  static constexpr std::size_t count = n * Element::count;

  template <class X> static constexpr Rebind<X> make(const X* flat) {
    Rebind<X> array{};
    for (std::size_t i = 0; i < n; ++i) array[i] = Element::make(flat + i * Element::count);
    return array;
  }
  template <class X> static constexpr void flatten(const Rebind<X>& argument, X* flat) {
    for (std::size_t i = 0; i < n; ++i) Element::template flatten<X>(argument[i], flat + i * Element::count);
  }
};

template <template <class> class S, std::floating_point T> struct ArgumentTree<S<T>> {
  using Scalar = T;
  template <class X> using Rebind = S<X>;
  static constexpr std::size_t count = sizeof(S<T>) / sizeof(T);
  static_assert(
      std::is_aggregate_v<S<T>> && std::is_trivially_copyable_v<S<T>> && alignof(S<T>) == alignof(T) &&
          sizeof(S<T>) % sizeof(T) == 0,
      "a struct argument of a compile-time graph holds numbers of its number type and nothing else");

  template <class X> static constexpr S<X> make(const X* flat) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-braces"
    return [flat]<std::size_t... i>(std::index_sequence<i...>) {
      constexpr bool isMadeOfNumbers = requires { S<X>{flat[i]...}; };
      static_assert(
          isMadeOfNumbers,
          "a struct argument of a compile-time graph holds numbers of its number type and nothing else");
      if constexpr (isMadeOfNumbers)
        return S<X>{flat[i]...};
      else
        return S<X>{};
    }
    (std::make_index_sequence<count>{});
#pragma GCC diagnostic pop
  }
  static constexpr void flatten(const S<T>& argument, T* flat) {
    const auto numbers = __builtin_bit_cast(std::array<T, count>, argument);  // libc++ 13 lacks std's
    for (std::size_t i = 0; i < count; ++i) flat[i] = numbers[i];
  }
  template <class X>
  requires std::is_same_v<X, T>
  static constexpr void flatten(const S<T>& argument, T* flat) { flatten(argument, flat); }
};

/// Whole numbers are taken as double.
template <class A> struct Normal { using Type = A; };
template <std::integral A> struct Normal<A> { using Type = double; };
template <class A> using NormalOf = typename Normal<std::remove_cvref_t<A>>::Type;
template <class A> constexpr const A& normal(const A& argument) { return argument; }
template <std::integral A> constexpr double normal(const A& argument) {
  return static_cast<double>(argument);
}

}  // namespace burtorch::inline BURTORCH_TARGET::graph
