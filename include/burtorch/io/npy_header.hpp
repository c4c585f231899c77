// The header of an .npy file: which numbers there are, of which type and shape.
//
//   {'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }
//
// That is Python, so readers are tempted to evaluate it. This one knows the three members, in any order and each exactly
// once, and nothing else: no escapes, no nesting, no recursion. A header that was read describes numbers whose bytes can
// be counted in 63 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "../base/check.hpp"
#include "header_text.hpp"
#include "printable.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// What an .npy file says of its numbers.
struct NpyHeader {
  std::string dtype;  // NumPy's name, such as "<f8"
  bool isFortranOrder = false;
  std::vector<std::uint64_t> shape;
  std::uint64_t bytesPerNumber = 0, count = 0;
};

namespace npy {

inline constexpr std::size_t maxHeaderBytes = 10'000;  // NumPy's own limit
inline constexpr std::size_t maxDimensions = 64;       // NumPy's own limit

/// Bytes of one number; 0 for a type that is not known or is no number. All are little-endian.
inline std::uint64_t bytesPerNumber(std::string_view dtype) {
  for (const std::string_view one : {"|u1", "|i1", "|b1"})
    if (dtype == one) return 1;
  for (const std::string_view two : {"<f2", "<i2", "<u2"})
    if (dtype == two) return 2;
  for (const std::string_view four : {"<f4", "<i4", "<u4"})
    if (dtype == four) return 4;
  for (const std::string_view eight : {"<f8", "<i8", "<u8", "<c8"})
    if (dtype == eight) return 8;
  return dtype == "<c16" ? 16 : 0;
}

/// How many numbers the shape has. False if the bytes of its non-empty dimensions cannot be counted in 63 bits, which
/// NumPy refuses even where another dimension is empty.
inline bool countOf(const std::vector<std::uint64_t>& shape, std::uint64_t bytesEach, std::uint64_t& count) {
  std::uint64_t bytes = bytesEach;
  bool isEmpty = false;
  for (const std::uint64_t size : shape) {
    isEmpty = isEmpty || size == 0;
    if (size > 0 && __builtin_mul_overflow(bytes, size, &bytes)) return false;
  }
  count = isEmpty ? 0 : bytes / bytesEach;
  return bytes <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

/// "(2, 3)", as Python writes it.
inline std::string shapeText(const std::vector<std::uint64_t>& shape) {
  std::string text = "(";
  for (const std::uint64_t size : shape) text += (text.size() > 1 ? " " : "") + std::to_string(size) + ",";
  if (shape.size() > 1) text.pop_back();  // only (2,) keeps its comma
  return text + ")";
}

class HeaderReader : private HeaderText {
 public:
  using HeaderText::HeaderText;

  NpyHeader read() {
    take('{', "'{'");
    while (!takes('}')) {
      member();
      if (takes(',')) continue;
      take('}', "',' or '}'");
      break;
    }
    skipSpace();
    if (at_ < text_.size()) refuse("the end of the header");
    if (!text_.ends_with('\n')) refuse("a new line before this");
    if (!hasDescr_ || !hasOrder_ || !hasShape_) refuse("descr, fortran_order and shape before this");
    return header_;
  }

 private:
  void member() {
    skipSpace();
    const std::size_t keyAt = at_;
    const std::string key = string();
    bool& has = key == "descr" ? hasDescr_ : key == "fortran_order" ? hasOrder_ : hasShape_;
    const bool isKnown = &has != &hasShape_ || key == "shape";
    if (!isKnown || has)
      fail(ErrorCode::badFile,
           "cannot read '%s': %s member '%s' at byte %zu of its header; was the file damaged?",
           printable(source_).c_str(), isKnown ? "twice the" : "the unknown", printable(key, 40).c_str(),
           keyAt);
    has = true;
    take(':', "':'");
    if (&has == &hasDescr_)
      header_.dtype = string();
    else if (&has == &hasOrder_)
      header_.isFortranOrder = boolean();
    else
      shape();
  }
  /// A string of printable ASCII, in quotes of either kind.
  std::string string() {
    skipSpace();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') refuse("a string");
    const std::size_t first = ++at_;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_)
      if (text_[at_] < 0x20 || text_[at_] > 0x7E || text_[at_] == '\\') refuse("a letter without escape");
    if (at_ == text_.size()) refuse("the end of a string");
    return std::string(text_.substr(first, at_++ - first));
  }
  bool boolean() {
    skipSpace();
    for (const std::string_view word : {"True", "False"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    refuse("True or False");
  }
  void shape() {
    take('(', "'('");
    bool hasComma = true;  // (2) would be a number
    while (!takes(')')) {
      if (!hasComma) refuse("',' or ')'");
      if (header_.shape.size() == maxDimensions) refuse("no more than 64 sizes");
      header_.shape.push_back(digits());
      hasComma = takes(',');
      if (!hasComma && header_.shape.size() == 1) refuse("','");
    }
  }
  NpyHeader header_;
  bool hasDescr_ = false, hasOrder_ = false, hasShape_ = false;
};

/// Reads and checks a header. `source` names the file in errors.
inline NpyHeader parseHeader(std::string_view text, std::string_view source) {
  NpyHeader header = HeaderReader(text, source).read();
  const std::string dtype = printable(header.dtype, 20);
  header.bytesPerNumber = bytesPerNumber(header.dtype);
  if (header.dtype.starts_with('>'))
    fail(ErrorCode::badFile,
         "cannot read '%s': its numbers are big-endian ('%s'); save them with astype('<%s') in NumPy",
         printable(source).c_str(), dtype.c_str(), dtype.c_str() + 1);
  if (header.bytesPerNumber == 0)
    fail(ErrorCode::badFile,
         "cannot read '%s': it holds '%s', expected numbers such as '<f8'; convert them in NumPy",
         printable(source).c_str(), dtype.c_str());
  if (!countOf(header.shape, header.bytesPerNumber, header.count))
    fail(ErrorCode::badFile,
         "cannot read '%s': its shape %s has more bytes than 63 bits can count; was the file damaged?",
         printable(source).c_str(), printable(shapeText(header.shape), 40).c_str());
  return header;
}

/// A header as NumPy writes it: with all that stands before the numbers (`prefix` bytes), it fills whole blocks of 64.
inline std::string printHeader(std::string_view dtype, const std::vector<std::uint64_t>& shape,
                               std::size_t prefix) {
  std::string text =
      "{'descr': '" + std::string(dtype) + "', 'fortran_order': False, 'shape': " + shapeText(shape) + ", }";
  const std::size_t whole = (prefix + text.size() + 1 + 63) / 64 * 64;
  text.resize(whole - prefix - 1, ' ');
  return text + '\n';
}

}  // namespace npy
}  // namespace burtorch::inline BURTORCH_TARGET
