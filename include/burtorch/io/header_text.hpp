// The text of a file or its header, read from left to right: what readers of its languages (json.hpp, npy_header.hpp) share.
// Errors name the file, the byte at which reading stopped, and what was expected there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string_view>

#include "../base/check.hpp"
#include "printable.hpp"

namespace burtorch::inline BURTORCH_TARGET {

class HeaderText {
 public:
  /// `source` names the file in errors, `part` says which part of it the text is. All must outlive the reader.
  HeaderText(std::string_view text, std::string_view source, const char* part = "its header")
      : text_(text), source_(source), part_(part) {}

 protected:
  void skipSpace() {
    const auto isSpace = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
    while (at_ < text_.size() && isSpace(text_[at_])) ++at_;
  }
  bool takes(char c) {
    skipSpace();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void take(char c, const char* expected) {
    if (!takes(c)) refuse(expected);
  }
  /// A whole number without sign, below 2^64; whatever comes behind its digits.
  std::uint64_t digits() {
    skipSpace();
    const std::size_t first = at_;
    std::uint64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const auto digit = static_cast<std::uint64_t>(text_[at_] - '0');
      if (value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) refuse("a number below 2^64");
      if (at_ > first && value == 0) refuse("a number without leading zeros");
      value = value * 10 + digit;
    }
    if (at_ == first) refuse("a whole number without sign");
    return value;
  }

  /// Reports what was expected here.
  [[noreturn]] void refuse(const char* expected) const {
    char found[32] = "its end";
    if (at_ < text_.size()) {
      const auto byte = static_cast<unsigned char>(text_[at_]);
      const bool isPrintable = byte >= 0x20 && byte < 0x7F;
      std::snprintf(found, sizeof found, isPrintable ? "'%c'" : "byte 0x%02X", byte);
    }
    fail(ErrorCode::badFile,
         "cannot read '%s': at byte %zu of %s expected %s, found %s; was the file damaged?",
         printable(source_).c_str(), at_, part_, expected, found);
  }

  std::string_view text_, source_;
  const char* part_;
  std::size_t at_ = 0;
};

}  // namespace burtorch::inline BURTORCH_TARGET
