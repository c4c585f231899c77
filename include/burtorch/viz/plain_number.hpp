// What a user's function gives to a plot: a number, or a Value, of which only the number is wanted. The nodes that the
// function records on the way are forgotten.
#pragma once

#include <type_traits>
#include <utility>

#include "../core/value.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {

template <class X> struct IsValue : std::false_type {};
template <class T, Config C> struct IsValue<Value<T, C>> : std::true_type {
  static Tape<T, C>& tape() { return currentTape<T, C>(); }
};

template <class X>
concept Plottable = std::is_arithmetic_v<X> || IsValue<X>::value;

/// What `function(arguments...)` gives, as a plain number. A tape of the Value's type is left as it was.
template <class Function, class... Arguments>
auto plainNumber(Function&& function, Arguments&&... arguments) {
  using Result = std::remove_cvref_t<std::invoke_result_t<Function, Arguments...>>;
  static_assert(Plottable<Result>, "a function to be plotted must return a number or a Value");
  if constexpr (IsValue<Result>::value) {
    const SampleScope scope(IsValue<Result>::tape());
    return function(std::forward<Arguments>(arguments)...).value();
  } else {
    return static_cast<Result>(function(std::forward<Arguments>(arguments)...));
  }
}

}  // namespace detail

}  // namespace burtorch::inline BURTORCH_TARGET
