// How the numbers of arguments and gradients go in and out of an evaluation: flat, without copies where they are so.
#pragma once

#include <tuple>

#include "../base/config.hpp"
#include "argument_tree.hpp"

namespace burtorch::inline BURTORCH_TARGET::graph {

/// The numbers of an argument, side by side: where they are, if they are so already.
template <class A> class Flat {
  using T = typename ArgumentTree<A>::Scalar;

 public:
  BURTORCH_INLINE constexpr explicit Flat(const A& argument) { ArgumentTree<A>::flatten(argument, numbers_); }
  BURTORCH_INLINE constexpr const T* data() const { return numbers_; }

 private:
  T numbers_[ArgumentTree<A>::count == 0 ? 1 : ArgumentTree<A>::count];
};
template <std::floating_point T, std::size_t n> class Flat<std::array<T, n>> {
 public:
  BURTORCH_INLINE constexpr explicit Flat(const std::array<T, n>& argument) : data_(argument.data()) {}
  BURTORCH_INLINE constexpr const T* data() const { return data_; }

 private:
  const T* data_;
};

/// The types of all arguments, whole numbers taken as double, and their common number type.
template <class... A> struct Arguments {
  using T = std::common_type_t<typename ArgumentTree<NormalOf<A>>::Scalar...>;
  static_assert((std::is_same_v<T, typename ArgumentTree<NormalOf<A>>::Scalar> && ...),
                "the arguments of a compile-time graph must all be float or all be double");
  template <std::size_t i> using At = std::tuple_element_t<i, std::tuple<NormalOf<A>...>>;
};

/// What a gradient looks like: for one argument like that argument, for several numbers an array, otherwise a tuple.
template <class T, class... A> struct GradientShape {
  using Type = std::tuple<A...>;
  static constexpr Type make(const T* flat) {
    return Type{[&] {
      const T* here = flat;
      flat += ArgumentTree<A>::count;
      return ArgumentTree<A>::make(here);
    }()...};
  }
};
template <class T, class A> struct GradientShape<T, A> {
  using Type = A;
  static constexpr Type make(const T* flat) { return ArgumentTree<A>::make(flat); }
};
template <class T, class... A>
requires(sizeof...(A) > 1 && (std::is_same_v<T, A> && ...)) struct GradientShape<T, A...> {
  using Type = std::array<T, sizeof...(A)>;
  static constexpr Type make(const T* flat) { return ArgumentTree<Type>::make(flat); }
};

/// The arguments (by their numbers `wanted`) that a gradient is taken with respect to, and where it is written.
template <class Arguments, class Wanted> class Gradients;
template <class Arguments, std::size_t... wanted> class Gradients<Arguments, std::index_sequence<wanted...>> {
  using T = typename Arguments::T;
  template <std::size_t i> using At = typename Arguments::template At<i>;
  using Result = GradientShape<T, At<wanted>...>;

  static_assert(
      [] {
        const std::size_t all[] = {wanted...};
        for (std::size_t i = 0; i < sizeof...(wanted); ++i)
          for (std::size_t j = 0; j < i; ++j)
            if (all[i] == all[j]) return false;
        return true;
      }(),
      "grad: an argument is named twice");
  static constexpr std::size_t total = (ArgumentTree<At<wanted>>::count + ...);
  /// Where the numbers of an argument start among the wanted ones.
  static constexpr std::size_t startOf(std::size_t argument) {
    std::size_t start = 0;
    static_cast<void>(((wanted == argument || (start += ArgumentTree<At<wanted>>::count, false)) || ...));
    return start;
  }

 public:
  using Type = typename Result::Type;

  /// Where the gradient of an argument goes; null if it is not wanted.
  template <std::size_t argument> BURTORCH_INLINE constexpr T* at(Type& result) {
    if constexpr (!((wanted == argument) || ...))
      return nullptr;
    else if constexpr (!isDirect)
      return flat_ + startOf(argument);
    else if constexpr (std::is_same_v<Type, T>)
      return &result;
    else
      return result.data() + startOf(argument);
  }
  BURTORCH_INLINE constexpr void finish(Type& result) const {
    if constexpr (!isDirect) result = Result::make(flat_);
  }

 private:
  /// The flat numbers can be written into the result itself.
  static constexpr bool isDirect = std::is_same_v<Type, T> || std::is_same_v<Type, std::array<T, total>>;

  T flat_[isDirect ? 1 : total];
};

/// All arguments, if none is named.
template <std::size_t count, std::size_t... wanted>
using WantedOrAll = std::conditional_t<sizeof...(wanted) == 0, std::make_index_sequence<count>,
                                       std::index_sequence<wanted...>>;

/// The place of an argument among the wanted ones; their count if it is not there.
template <std::size_t argument, std::size_t... wanted>
inline constexpr std::size_t positionOf = [] {
  std::size_t position = 0;
  static_cast<void>(((wanted == argument || (++position, false)) || ...));
  return position;
}();

/// All arguments in one array.
template <class... A> constexpr auto flatten(const A&... x) {
  using T = typename Arguments<A...>::T;
  std::array<T, (ArgumentTree<NormalOf<A>>::count + ...)> flat{};
  T* next = flat.data();
  ((ArgumentTree<NormalOf<A>>::template flatten<T>(normal(x), next),
    next += ArgumentTree<NormalOf<A>>::count),
   ...);
  return flat;
}

}  // namespace burtorch::inline BURTORCH_TARGET::graph
