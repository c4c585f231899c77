// Options that a command line can set: a struct with named fields, each with the range it may take, chosen by name.
//
// A struct of options has a static `name` and a static tuple `fields`; it stays an aggregate, so in C++ one writes
// Adam{.learningRate = 3e-4}. What concerns several fields at once is checked by a member `checkTogether`.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "../base/check.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// A number for the field of that name.
struct Setting {
  std::string_view field;
  double value = 0;
};

/// A field of a struct of options: least <= value < below.
template <class Options, class Number> struct OptionField {
  std::string_view name;
  Number Options::*member;
  double least, below;
};
template <class Options, class Number>
constexpr OptionField<Options, Number> optionField(std::string_view name, Number Options::*member,
                                                   double least = 0,
                                                   double below = std::numeric_limits<double>::infinity()) {
  static_assert(std::same_as<Number, double> || std::same_as<Number, std::uint64_t>);
  return {name, member, least, below};
}

namespace detail {

inline void appendName(std::string& list, std::string_view name) {
  if (!list.empty()) list += ", ";
  list += name;
}

template <class Options, class Visit> void forEachField(Visit visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, Options::fields);
}

/// Fails unless the field may be `value`; NaN is outside every range.
template <class Options, class Number>
void requireInRange(const OptionField<Options, Number>& field, double value) {
  const bool isWhole = std::same_as<Number, double> || value == std::floor(value);
  if (value >= field.least && value < field.below && isWhole) return;
  fail("%s of %s is %g: expected %s from %g to below %g", std::string(field.name).c_str(),
       std::string(Options::name).c_str(), value,
       std::same_as<Number, double> ? "a number" : "a whole number", field.least, field.below);
}

}  // namespace detail

/// Fails unless every field is in its range.
template <class Options> void checkOptions(const Options& options) {
  detail::forEachField<Options>(
      [&](const auto& field) { detail::requireInRange(field, static_cast<double>(options.*field.member)); });
  if constexpr (requires { options.checkTogether(); }) options.checkTogether();
}
template <class... Options> void checkOptions(const std::variant<Options...>& any) {
  std::visit([](const auto& options) { checkOptions(options); }, any);
}

/// Sets one field; an unknown one is an error that lists those there are.
template <class Options> void setOption(Options& options, const Setting& setting) {
  bool isKnown = false;
  std::string names;
  detail::forEachField<Options>([&]<class Number>(const OptionField<Options, Number>& field) {
    detail::appendName(names, field.name);
    if (field.name != setting.field) return;
    detail::requireInRange(field, setting.value);
    options.*field.member = static_cast<Number>(setting.value);
    isKnown = true;
  });
  if (!isKnown)
    fail("%s has no option %s: it has %s", std::string(Options::name).c_str(),
         std::string(setting.field).c_str(), names.c_str());
}

/// The names that `optionsFromName` knows, for help texts: "sgd, momentum, ...".
template <class Any> std::string optionNames() {
  std::string names;
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (detail::appendName(names, std::variant_alternative_t<i, Any>::name), ...);
  }
  (std::make_index_sequence<std::variant_size_v<Any>>{});
  return names;
}

/// The alternative of the variant `Any` with that name, its other fields as the settings say. `what` is for the error.
template <class Any>
Any optionsFromName(const char* what, std::string_view name, std::span<const Setting> settings) {
  Any any;
  bool isKnown = false;
  const auto take = [&]<class Options>(Options options) {
    if (Options::name != name) return;
    for (const Setting& setting : settings) setOption(options, setting);
    checkOptions(options);
    any = options;
    isKnown = true;
  };
  [&]<std::size_t... i>(std::index_sequence<i...>) { (take(std::variant_alternative_t<i, Any>{}), ...); }
  (std::make_index_sequence<std::variant_size_v<Any>>{});
  if (!isKnown)
    fail("there is no %s called \"%s\": choose from %s", what, std::string(name).c_str(),
         optionNames<Any>().c_str());
  return any;
}

}  // namespace burtorch::inline BURTORCH_TARGET
