// The command line: a table of flags, each with the variable it sets, its range and a line of help. Every mistake is one
// sentence. What a flag accepts is parsed in one place (`parse`), which also reads the options in a file's metadata.
#pragma once

#include <burtorch/base/number_text.hpp>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace burt {

/// A mistake that the user can correct. Nothing has been overwritten when it is thrown.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A short text that reads back as the same value.
template <std::unsigned_integral N> std::string textOf(N number) { return std::to_string(number); }
inline std::string textOf(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", number);  // 0.0003, where to_chars says 3e-04
  if (std::strtod(text, nullptr) == number) return text;
  return burtorch::digits::shortest(number);
}
inline std::string textOf(bool isSet) { return isSet ? "1" : "0"; }
inline std::string textOf(const std::string& text) { return text; }

/// Reads a value in [least, most]; `who` begins the error: "--steps".
template <std::unsigned_integral N>
void parse(N& number, const std::string& who, const std::string& text, std::uint64_t least,
           std::uint64_t most) {
  std::uint64_t read = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
  if (error != std::errc{} || end != text.data() + text.size() || read < least || read > most)
    throw BadInput(who + ": expected a whole number from " + textOf(least) + " to " + textOf(most) +
                   ", got '" + text + "'");
  number = static_cast<N>(read);
}
inline void parse(double& number, const std::string& who, const std::string& text, double least,
                  double most) {
  char* end = nullptr;
  const double read = std::strtod(text.c_str(), &end);
  // Written so that NaN is refused too.
  if (text.empty() || end != text.c_str() + text.size() || !(read >= least && read <= most))
    throw BadInput(who + ": expected a number from " + textOf(least) + " to " + textOf(most) + ", got '" +
                   text + "'");
  number = read;
}
inline void parse(bool& isSet, const std::string& who, const std::string& text) {
  if (text != "0" && text != "1") throw BadInput(who + ": expected 0 or 1, got '" + text + "'");
  isSet = text == "1";
}

/// Breaks a line at spaces where it has more than 120 letters; what follows is indented.
inline std::string wrapped(std::string line, std::size_t indent) {
  constexpr std::size_t most = 120;
  std::string lines;
  while (line.size() > most) {
    const std::size_t space = line.rfind(' ', most);
    if (space == std::string::npos || space <= indent) break;
    lines += line.substr(0, space) + "\n";
    line = std::string(indent, ' ') + line.substr(space + 1);
  }
  return lines + line + "\n";
}

class Flags {
 public:
  template <class Number>
  void add(std::string name, const std::string& help, Number& number, std::type_identity_t<Number> least,
           std::type_identity_t<Number> most) {
    insert(std::move(name), std::is_same_v<Number, double> ? "X" : "N",
           help + " (default " + textOf(number) + ")",
           [=, &number](const std::string& flag, const std::string& text) {
             parse(number, flag, text, least, most);
           });
  }
  void add(std::string name, std::string value, std::string help, std::string& text) {
    if (!text.empty()) help += " (default " + text + ")";
    insert(std::move(name), std::move(value), std::move(help),
           [&text](const std::string& flag, const std::string& given) {
             if (given.empty()) throw BadInput(flag + " needs a value that is not empty");
             text = given;
           });
  }
  /// A flag whose value `set` reads; it throws if it cannot.
  void add(std::string name, std::string value, std::string help,
           std::function<void(const std::string& flag, const std::string& text)> set) {
    insert(std::move(name), std::move(value), std::move(help), std::move(set));
  }
  /// A flag without a value.
  void add(std::string name, std::string help, std::function<void()> set) {
    insert(std::move(name), "", std::move(help),
           [set = std::move(set)](const std::string&, const std::string&) { set(); });
  }
  void add(std::string name, std::string help, bool& isSet) {
    add(std::move(name), std::move(help), [&isSet] { isSet = true; });
  }

  /// Returns false if --help is among the arguments.
  bool parseAll(std::span<const std::string> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string& argument = arguments[i];
      if (argument == "--help" || argument == "-h") return false;
      const std::size_t equals = argument.find('=');
      const std::string name = argument.substr(0, equals);
      const Flag* flag = find(name);
      if (flag == nullptr) throw BadInput("unknown option '" + argument + "'; see --help");
      flag->isGiven = true;
      if (flag->value.empty()) {
        if (equals != std::string::npos) throw BadInput(name + " takes no value");
        flag->set(name, "");
      } else if (equals != std::string::npos) {
        flag->set(name, argument.substr(equals + 1));
      } else {
        if (i + 1 == arguments.size()) throw BadInput(name + " needs a value after it");
        flag->set(name, arguments[++i]);
      }
    }
    return true;
  }
  bool isGiven(std::string_view name) const {
    const Flag* flag = find(name);
    return flag != nullptr && flag->isGiven;
  }
  std::size_t givenCount() const {
    std::size_t count = 0;
    for (const Flag& flag : flags_) count += flag.isGiven ? 1 : 0;
    return count;
  }
  std::string help() const {
    std::string lines;
    for (const Flag& flag : flags_) {
      std::string head = "  " + flag.name + (flag.value.empty() ? "" : " " + flag.value);
      head.resize(head.size() < 24 ? 24 : head.size() + 1, ' ');
      lines += wrapped(head + flag.help, 24);
    }
    return lines;
  }

 private:
  struct Flag {
    std::string name, value, help;
    std::function<void(const std::string& flag, const std::string& text)> set;
    mutable bool isGiven = false;
  };
  void insert(std::string name, std::string value, std::string help,
              std::function<void(const std::string&, const std::string&)> set) {
    flags_.push_back({std::move(name), std::move(value), std::move(help), std::move(set)});
  }
  const Flag* find(std::string_view name) const {
    for (const Flag& flag : flags_)
      if (flag.name == name) return &flag;
    return nullptr;
  }

  std::vector<Flag> flags_;
};

}  // namespace burt
