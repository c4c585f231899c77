// What a list of numbers is, and how a number type carries out an operator on one. `ListMode<X>` is to lists what
// `Mode<X>` is to numbers: plain and dual numbers compute (here), Values record a node (value_lists.hpp).
#pragma once

#include <iterator>
#include <string_view>
#include <type_traits>
#include <utility>

#include "check.hpp"
#include "handle.hpp"
#include "ops_varying.hpp"

namespace burtorch {

namespace detail {

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

/// What list operators do in each mode. Plain and dual numbers lie in memory and are simply computed on.
template <class X> struct ListMode {
  template <class L> static constexpr std::size_t count(const L& list) { return std::size(list); }
  template <class L> static List<X> listOf(const L& list) {
    return {std::data(list), ListShape::contiguous(std::size(list))};
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
}  // namespace burtorch
