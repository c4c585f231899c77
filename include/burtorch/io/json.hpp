// JSON (RFC 8259) for headers and settings of files. Strict: what the standard forbids is an error, and so is a value of
// another kind than the caller expects; what a caller has no use for it can pass over (`skip`).
//
// The caller says what it expects next, so a text cannot make the reader go deeper than the caller's own code: there is
// no recursion. A value that is passed over may be nested 64 deep. Results are never longer than the text they come from. Errors name the byte at which reading stopped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "../base/check.hpp"
#include "../base/number_text.hpp"
#include "../data/utf8.hpp"
#include "header_text.hpp"
#include "printable.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// How many bytes at the start of the text stand for themselves in a JSON string and are ASCII: nearly always all.
inline std::size_t plainLength(std::string_view text) {
  std::size_t length = 0;
  for (; length < text.size(); ++length) {
    const auto byte = static_cast<unsigned char>(text[length]);
    if (byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\') break;
  }
  return length;
}

class JsonReader : public HeaderText {
 public:
  using HeaderText::HeaderText, HeaderText::refuse;

  /// Calls `member(key)` for each member; it must read the value.
  template <class Member> void object(Member&& member) {
    take('{', "'{'");
    if (takes('}')) return;
    do {
      skipSpace();
      keyAt_ = at_;
      const std::string key = string();
      take(':', "':'");
      member(key);
    } while (takes(','));
    take('}', "',' or '}'");
  }
  /// Calls `element()` for each element; it must read it.
  template <class Element> void array(Element&& element) {
    take('[', "'['");
    if (takes(']')) return;
    do {
      element();
    } while (takes(','));
    take(']', "',' or ']'");
  }
  /// A string, as UTF-8.
  std::string string() {
    take('"', "a string");
    std::string result;
    while (true) {
      const std::size_t plain = plainLength(text_.substr(at_));
      result.append(text_, at_, plain);
      at_ += plain;
      const std::size_t length = at_ < text_.size() ? decodeUtf8(text_, at_).bytes : 0;
      if (length == 0) refuse(at_ < text_.size() ? "text in UTF-8" : "the end of a string");
      if (static_cast<unsigned char>(text_[at_]) < 0x20) refuse("an escape for a control character");
      if (text_[at_] == '"') break;
      if (text_[at_] == '\\') {
        appendEscaped(result);
      } else {
        result.append(text_, at_, length);
        at_ += length;
      }
    }
    ++at_;
    return result;
  }
  /// A whole number without sign, below 2^64.
  std::uint64_t integer() {
    const std::uint64_t value = digits();
    if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E'))
      refuse("a whole number");
    return value;
  }
  /// A number of any kind, as the nearest double.
  double real() {
    skipSpace();
    const std::size_t first = at_;
    const auto isAt = [&](std::string_view letters) {
      return at_ < text_.size() && letters.find(text_[at_]) != std::string_view::npos;
    };
    const auto someDigits = [&] {
      if (!isAt("0123456789")) refuse("a digit");
      while (isAt("0123456789")) ++at_;
    };
    if (isAt("-")) ++at_;
    const bool beginsWithZero = isAt("0");
    const std::size_t whole = at_;
    someDigits();
    if (beginsWithZero && at_ > whole + 1) refuse("a number without leading zeros");
    if (isAt(".")) {
      ++at_;
      someDigits();
    }
    if (isAt("eE")) {
      ++at_;
      if (isAt("+-")) ++at_;
      someDigits();
    }
    double value = 0;
    if (digits::read(text_.data() + first, text_.data() + at_, value).ec != std::errc{})
      refuse("a number within the range of a double before this");
    return value;
  }
  bool boolean() {
    if (takesWord("true")) return true;
    if (!takesWord("false")) refuse("true or false");
    return false;
  }
  /// Passes over null, if it is next.
  bool takesNull() { return takesWord("null"); }
  /// Passes over a value of any kind.
  void skip() {
    char ends[64];  // of the objects and arrays around
    std::size_t depth = 0;
    do {
      const bool isObject = takes('{');
      if (isObject || takes('[')) {
        const char end = isObject ? '}' : ']';
        if (depth == sizeof ends) refuse("a value nested at most 64 deep");
        if (!takes(end)) {
          ends[depth++] = end;
          if (isObject) skipKey();
          continue;
        }
      } else {
        skipSingle();
      }
      while (depth > 0 && !takes(',')) {
        --depth;
        take(ends[depth], ends[depth] == '}' ? "',' or '}'" : "',' or ']'");
      }
      if (depth > 0 && ends[depth - 1] == '}') skipKey();
    } while (depth > 0);
  }
  /// Nothing but white space may follow.
  void end(const char* expected = "the end of the header") {
    skipSpace();
    if (at_ < text_.size()) refuse(expected);
  }

  /// Reports that the last key has no business there.
  [[noreturn]] void refuseKey(const std::string& key, const char* why) const {
    fail(ErrorCode::badFile, "cannot read '%s': %s '%s' at byte %zu of %s; was the file damaged?",
         printable(source_).c_str(), why, printable(key, 40).c_str(), keyAt_, part_);
  }

 private:
  bool takesWord(std::string_view word) {
    skipSpace();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void skipKey() {
    string();
    take(':', "':'");
  }
  /// A value that is neither an object nor an array.
  void skipSingle() {
    if (takesWord("null") || takesWord("true") || takesWord("false")) return;
    if (at_ < text_.size() && text_[at_] == '"')
      string();
    else
      real();
  }
  void appendEscaped(std::string& result) {
    constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    ++at_;
    const char letter = at_ < text_.size() ? text_[at_] : '\0';
    if (letter == 'u') {
      ++at_;
      return appendUtf8(result, codePoint());
    }
    const std::size_t known = letters.find(letter);
    if (known == std::string_view::npos) refuse("an escape of JSON");
    ++at_;
    result += meanings[known];
  }
  /// The number behind \u; characters above FFFF are two of them, a high and a low surrogate.
  std::uint32_t codePoint() {
    const std::uint32_t high = fourDigits();
    if (high < 0xD800 || high > 0xDFFF) return high;
    if (high > 0xDBFF || text_.substr(at_, 2) != "\\u") refuse("a pair of surrogates");
    at_ += 2;
    const std::uint32_t low = fourDigits();
    if (low < 0xDC00 || low > 0xDFFF) refuse("a low surrogate before this");
    return 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
  }
  std::uint32_t fourDigits() {
    std::uint32_t value = 0;
    for (const std::size_t last = at_ + 4; at_ < last; ++at_) {
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      const char lower = static_cast<char>(c | 0x20);
      if (c >= '0' && c <= '9')
        value = value * 16 + static_cast<std::uint32_t>(c - '0');
      else if (lower >= 'a' && lower <= 'f')
        value = value * 16 + static_cast<std::uint32_t>(lower - 'a' + 10);
      else
        refuse("four hexadecimal digits");
    }
    return value;
  }
  std::size_t keyAt_ = 0;
};

/// Appends a string with its quotes. False, and nothing useful is appended, if the text is not UTF-8.
inline bool appendJsonString(std::string& json, std::string_view text) {
  json += '"';
  while (true) {
    const std::size_t plain = plainLength(text);
    json.append(text, 0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const std::size_t length = decodeUtf8(text, 0).bytes;
    if (length == 0) return false;
    if (text[0] == '"' || text[0] == '\\') json += '\\';
    if (static_cast<unsigned char>(text[0]) < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(text[0]));
      json += escape;
    } else {
      json.append(text, 0, length);
    }
    text.remove_prefix(length);
  }
  json += '"';
  return true;
}

}  // namespace burtorch::inline BURTORCH_TARGET
