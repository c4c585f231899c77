// The command line: a table of flags, each with the variable it sets, what it may be, and a line of help. Every mistake is
// one sentence.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace burt {

/// Something the user can put right. Nothing has been overwritten when it is thrown.
struct BadInput : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Flags {
 public:
  void add(std::string name, std::string help, std::uint64_t& number, std::uint64_t least,
           std::uint64_t most) {
    const std::string was = std::to_string(number);
    insert(std::move(name), "N", help + " (" + was + ")",
           [=, &number](const std::string& flag, const std::string& text) {
             std::uint64_t read = 0;
             const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), read);
             if (error != std::errc{} || end != text.data() + text.size() || read < least || read > most)
               throw BadInput(flag + " takes a whole number from " + std::to_string(least) + " to " +
                              std::to_string(most) + ", not '" + text + "'");
             number = read;
           });
  }
  void add(std::string name, std::string help, double& number, double least, double most) {
    insert(std::move(name), "X", help + " (" + shortened(number) + ")",
           [=, &number](const std::string& flag, const std::string& text) {
             char* end = nullptr;
             const double read = std::strtod(text.c_str(), &end);
             if (text.empty() || end != text.c_str() + text.size() || !(read >= least && read <= most))
               throw BadInput(flag + " takes a number from " + shortened(least) + " to " + shortened(most) +
                              ", not '" + text + "'");
             number = read;
           });
  }
  void add(std::string name, std::string value, std::string help, std::string& text) {
    if (!text.empty()) help += " (" + text + ")";
    insert(std::move(name), std::move(value), std::move(help),
           [&text](const std::string& flag, const std::string& given) {
             if (given.empty()) throw BadInput(flag + " needs a value that is not empty");
             text = given;
           });
  }
  void add(std::string name, std::string help, bool& isSet) {
    insert(std::move(name), "", std::move(help),
           [&isSet](const std::string&, const std::string&) { isSet = true; });
  }

  /// Answers false if --help is among the arguments.
  bool parse(std::span<const std::string> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const std::string& argument = arguments[i];
      if (argument == "--help" || argument == "-h") return false;
      const std::size_t equals = argument.find('=');
      const std::string name = argument.substr(0, equals);
      const Flag* flag = find(name);
      if (flag == nullptr) throw BadInput("there is no flag '" + argument + "'; see --help");
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
  std::string help() const {
    std::string lines;
    for (const Flag& flag : flags_) {
      std::string head = "  " + flag.name + (flag.value.empty() ? "" : " " + flag.value);
      head.resize(head.size() < 24 ? 24 : head.size() + 1, ' ');
      lines += head + flag.help + "\n";
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
  static std::string shortened(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", number);
    return text;
  }

  std::vector<Flag> flags_;
};

}  // namespace burt
