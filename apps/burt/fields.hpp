// One description of an options struct, from which its flags, its metadata in a file and the reading of both are made. A
// struct is described by a specialisation of `Fields` whose function `all` returns a tuple of fields.
//
// The field "val-fraction" is the flag --val-fraction and the metadata key PREFIXval_fraction.
#pragma once

#include <algorithm>
#include <burtorch/io/printable.hpp>
#include <burtorch/io/safetensors_header.hpp>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "flags.hpp"

namespace burt {

template <class Options> struct Fields;

template <class Options, class Type> struct Field {
  std::string name;
  Type Options::*member;
  std::string help;
  Type least{}, most{};         // of numbers; of a toggle, without and with its flag
  std::string value{};          // what the help calls a text: "FILE"
  bool isFixed = false;         // a run that is resumed cannot change it
  bool isLater = false;         // files from before it have it at its default
  std::vector<Type> choices{};  // of an enumeration that is given by name

  std::string flag() const { return "--" + name; }
  std::string key(const std::string& prefix) const {
    std::string key = prefix + name;
    std::replace(key.begin(), key.end(), '-', '_');
    return key;
  }
};

template <class Options, class Number>
Field<Options, Number> number(std::string name, Number Options::*member, std::type_identity_t<Number> least,
                              std::type_identity_t<Number> most, std::string help) {
  return {std::move(name), member, std::move(help), least, most};
}
template <class Options>
Field<Options, std::string> text(std::string name, std::string Options::*member, std::string value,
                                 std::string help) {
  return {std::move(name), member, std::move(help), {}, {}, std::move(value)};
}
/// A flag without a value: without it the member is `off`, with it `on`.
template <class Options, class Type>
Field<Options, Type> toggle(std::string name, Type Options::*member, std::type_identity_t<Type> off,
                            std::type_identity_t<Type> on, std::string help) {
  return {std::move(name), member, std::move(help), off, on};
}
/// One of some values of an enumeration, which `nameOf` names.
template <class Options, class Type>
Field<Options, Type> choice(std::string name, Type Options::*member, std::vector<Type> choices,
                            std::string help) {
  return {.name = std::move(name), .member = member, .help = std::move(help), .choices = std::move(choices)};
}
template <class Type> constexpr bool isToggle = std::is_same_v<Type, bool> || std::is_enum_v<Type>;
template <class Options, class Type> Field<Options, Type> fixed(Field<Options, Type> field) {
  field.isFixed = true;
  return field;
}

template <class Options, class Type> Field<Options, Type> later(Field<Options, Type> field) {
  field.isLater = true;
  return field;
}

/// "relu, gelu"
template <class Options, class Type> std::string choicesOf(const Field<Options, Type>& field) {
  std::string names;
  for (const Type value : field.choices) names += (names.empty() ? "" : ", ") + std::string(nameOf(value));
  return names;
}
template <class Options, class Type>
Type chosen(const Field<Options, Type>& field, const std::string& who, const std::string& text) {
  for (const Type value : field.choices)
    if (nameOf(value) == text) return value;
  throw BadInput(who + ": expected one of " + choicesOf(field) + ", got '" + text + "'");
}
/// The value of a field as metadata and flags have it.
template <class Options, class Type>
std::string textOf(const Field<Options, Type>& field, const Options& options) {
  const Type& value = options.*field.member;
  if constexpr (std::is_enum_v<Type>)
    if (!field.choices.empty()) return std::string(nameOf(value));
  if constexpr (isToggle<Type>)
    return textOf(value == field.most);
  else
    return textOf(value);
}

template <class Options, class Visit> void forEachField(Visit visit) {
  std::apply([&](const auto&... field) { (visit(field), ...); }, Fields<Options>::all());
}

/// A flag for every field.
template <class Options> void addFlags(Flags& flags, Options& options) {
  forEachField<Options>([&]<class Type>(const Field<Options, Type>& field) {
    if constexpr (std::is_enum_v<Type>)
      if (!field.choices.empty())
        return flags.add(
            field.flag(), "NAME",
            field.help + ": " + choicesOf(field) + " (default " + textOf(field, options) + ")",
            [&place = options.*field.member, field](const std::string& flag, const std::string& text) {
              place = chosen(field, flag, text);
            });
    if constexpr (isToggle<Type>)
      flags.add(field.flag(), field.help, [&place = options.*field.member, on = field.most] { place = on; });
    else if constexpr (std::is_same_v<Type, std::string>)
      flags.add(field.flag(), field.value, field.help, options.*field.member);
    else
      flags.add(field.flag(), field.help, options.*field.member, field.least, field.most);
  });
}

/// A line of metadata for every field.
template <class Options>
void describe(const Options& options, const std::string& prefix, burtorch::Metadata& metadata) {
  forEachField<Options>([&]<class Type>(const Field<Options, Type>& field) {
    metadata[field.key(prefix)] = textOf(field, options);
  });
}
/// Reads the fields that are in the metadata of `file`; returns the key of the first one that must be there and is not, or "".
template <class Options>
std::string readFields(Options& options, const std::string& prefix, const burtorch::Metadata& metadata,
                       const std::string& file) {
  std::string missing;
  forEachField<Options>([&]<class Type>(const Field<Options, Type>& field) {
    const auto found = metadata.find(field.key(prefix));
    if (found == metadata.end()) {
      if (!isToggle<Type> && !field.isLater && missing.empty())
        missing = field.key(prefix);  // files older than a switch have it off
      return;
    }
    const std::string who = "'" + burtorch::printable(file) + "' has a wrong '" + found->first + "'",
                      said = burtorch::printable(found->second, 30);
    if constexpr (std::is_enum_v<Type>)
      if (!field.choices.empty()) {
        options.*field.member = chosen(field, who, said);
        return;
      }
    if constexpr (std::is_same_v<Type, std::string>) {
      options.*field.member = found->second;
    } else if constexpr (isToggle<Type>) {
      bool isOn = false;
      parse(isOn, who, said);
      options.*field.member = isOn ? field.most : field.least;
    } else {
      parse(options.*field.member, who, said, field.least, field.most);
    }
  });
  return missing;
}

/// Gives `options` what a run was started with wherever the command line says nothing else. A flag that contradicts
/// something that cannot change is an error, which calls what was saved `owner`: "the run in runs/gpt-1".
template <class Options>
void resumeWith(const Options& saved, const Flags& flags, const std::string& owner, Options& options) {
  forEachField<Options>([&]<class Type>(const Field<Options, Type>& field) {
    if (!flags.isGiven(field.flag()) || !field.isFixed || options.*field.member == saved.*field.member)
      return;
    std::string said = field.flag(), has = ", which does not have it";
    if (!isToggle<Type> || !field.choices.empty()) {
      has = ", which has " + field.flag() + " " + textOf(field, saved);
      said += " " + textOf(field, options);
    }
    throw BadInput(said + " contradicts " + owner + has + "; leave the flag out, or start a new run");
  });
  // Only now: two flags may set one member, as --gelu and --activation do.
  forEachField<Options>([&]<class Type>(const Field<Options, Type>& field) {
    if (!flags.isGiven(field.flag())) options.*field.member = saved.*field.member;
  });
}

}  // namespace burt
