// What a list of numbers is, and how a number type carries out an operator on one. `ListMode<X>` is to lists what
// `Mode<X>` is to numbers: plain and dual numbers compute (here), Values record a node (value_lists.hpp).
#pragma once

#include <iterator>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include "../base/check.hpp"
#include "../ops/ops_varying.hpp"
#include "handle.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {

template <class X> struct ListMode;

template <class X> struct ElementOfItem { using Type = X; };
template <class T, Config C> struct ElementOfItem<Range<T, C>> { using Type = Value<T, C>; };
template <class L> using ItemOf = std::remove_cvref_t<decltype(*std::data(std::declval<const L&>()))>;

template <class L> struct ElementOfList {};
template <class L>
requires requires(const L& list) {
  std::data(list);
  std::size(list);
}
struct ElementOfList<L> {
  using Type = typename ElementOfItem<ItemOf<L>>::Type;
};
template <class T, Config C> struct ElementOfList<Range<T, C>> { using Type = Value<T, C>; };

}  // namespace detail

/// The number type of a list: Value<double> for a vector of them, for a Range and for a vector of Ranges.
template <class L> using ElementOf = typename detail::ElementOfList<L>::Type;
template <class L>
concept NumberList = Number<ElementOf<L>>;

namespace detail {

constexpr void requireElements(std::size_t count, std::string_view name) {
  if (count == 0) fail("%.*s of an empty list", static_cast<int>(name.size()), name.data());
  if (count > maxIndex)  // a list of ranges may name the same numbers many times
    fail(ErrorCode::outOfRoom, "%.*s of %zu numbers: a list holds at most %zu", static_cast<int>(name.size()),
         name.data(), count, maxIndex);
}
constexpr void requireEqual(std::size_t x, std::size_t y, std::string_view name) {
  if (x != y) fail("%.*s of lists of %zu and %zu numbers", static_cast<int>(name.size()), name.data(), x, y);
}

/// The elements of a list at some positions, each of which is checked.
template <class L, class I> struct Gathered {
  const L& list;
  std::span<const I> indices;

  std::size_t size() const { return indices.size(); }
  ElementOf<L> operator[](std::size_t i) const {
    const auto at = static_cast<std::size_t>(indices[i]);  // a negative one becomes too large
    if (at >= std::size(list))
      fail(ErrorCode::outOfRange, "index %zu is out of range for a list of %zu numbers", at, std::size(list));
    if constexpr (requires { std::data(list); })
      return std::data(list)[at];
    else
      return list[at];
  }
};

/// The mode of an operator on two lists, one of which may be data, a list of plain numbers.
template <class L, class M>
using ElementOfBoth = std::conditional_t<Plain<ElementOf<L>>, ElementOf<M>, ElementOf<L>>;
template <class L, class M> consteval void requireDataIsTaken() {
  using X = ElementOfBoth<L, M>;
  static_assert(
      std::is_same_v<ElementOf<L>, ElementOf<M>> || requires { ListMode<X>::takesData; },
      "a compile-time graph takes no lists of plain numbers; make them inputs, or write the sum out");
}

/// What list operators do in each mode. Plain and dual numbers lie in memory and are simply computed on.
template <class X> struct ListMode {
  template <class L> static constexpr std::size_t count(const L& list) { return std::size(list); }
  static constexpr bool takesData = true;
  template <class L> static List<X> listOf(const L& list) {
    if constexpr (std::is_same_v<ItemOf<L>, X>) {
      return {std::data(list), ListShape::contiguous(std::size(list))};
    } else {
      static_assert(std::is_same_v<ItemOf<L>, PlainOf<X>>, "data of dual numbers must have their plain type");
      return {nullptr,
              {.form = ListForm::numbers,
               .words = reinterpret_cast<const Word*>(std::data(list)),
               .count = std::size(list)}};
    }
  }

  template <class Op, class L, class... Extra> static X varying(const L& xs, Extra... extra) {
    requireElements(std::size(xs), Op::name);
    return Op::value(listOf(xs), extra...);
  }
  template <class Op, class L, class M> static X pair(const L& xs, const M& ys) {
    requireElements(std::size(xs), Op::name);
    requireEqual(std::size(xs), std::size(ys), Op::name);
    return Op::value(listOf(xs), listOf(ys));
  }
  template <class Op, class L, class M> static X pairWithBias(const L& xs, const M& ys, X bias) {
    return pair<Op>(xs, ys) + bias;
  }
};

}  // namespace detail
}  // namespace burtorch::inline BURTORCH_TARGET
