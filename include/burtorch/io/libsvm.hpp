// Samples in LIBSVM's text format: `label index:value index:value ...`, one sample per line, indices ascending from 1, what is
// not there is zero. '#' begins a comment, lines may be blank or end in CR LF, the last one needs no end.
//
// Strict: a file is read as a whole or refused with the line and the column. Numbers must be finite and within the range of
// their type, whatever the locale; "qid:" and several labels have no meaning here. Any bytes lead to samples or to an error, and
// memory is in proportion to the file: the lengths of all lists are counted before anything is read.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "../base/check.hpp"
#include "../base/number_text.hpp"
#include "../data/sparse_rows.hpp"
#include "atomic_file.hpp"
#include "mapped_file.hpp"
#include "printable.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// How a LIBSVM file is read.
struct LibsvmOptions {
  std::size_t features = 0;  // of every row, such as those of the training set; 0: the largest that occurs
  std::uint32_t firstIndex = 1;  // 0 for files that count from 0
};

namespace detail {

/// Reads from left to right; errors name the line and the column.
class LibsvmText {
 public:
  LibsvmText(std::string_view text, std::string_view source)
      : at_(text.data()), end_(at_ + text.size()), line_(at_), source_(source) {}

  /// Passes over blank lines and comments. False at the end of the text.
  bool toNextSample() {
    while (true) {
      skipSpace();
      if (at_ == end_) return false;
      if (!takesEndOfLine()) return true;
    }
  }
  /// Passes over white space. False at the end of a line, which it passes over as well.
  bool toNextEntry() {
    const char* const before = at_;
    skipSpace();
    if (at_ == end_ || takesEndOfLine()) return false;
    if (at_ == before) refuse("white space or the end of the line");
    return true;
  }
  std::uint32_t index(std::uint32_t first, std::size_t features) {
    if (std::string_view(at_, static_cast<std::size_t>(end_ - at_)).starts_with("qid:"))
      refuse("an index; the queries of rankings are not supported,");
    const char* const start = at_;
    std::uint64_t index = 0;
    for (; isDigit(); ++at_) {
      index = index * 10 + digit();
      if (index > UINT32_MAX) refuse("an index below 4294967296, which ends before this,");
    }
    if (at_ == start) refuse("an index");
    if (index < first) refuseAt(start, first == 1 ? "indices from 1 on (see firstIndex)" : "a larger index");
    const std::uint64_t column = index - first;
    if (features != 0 ? column >= features : column == UINT32_MAX)
      refuseAt(start, "an index of the features that were asked for");
    if (at_ == end_ || *at_ != ':') refuse("':' after an index");
    ++at_;
    return static_cast<std::uint32_t>(column);
  }
  /// The nearest T.
  template <class T> T number() {
    const char* const start = at_;
    const bool isNegative = at_ != end_ && *at_ == '-';
    if (isNegative || (at_ != end_ && *at_ == '+')) ++at_;
    T value{};
    if (!shortNumber(value)) {
      if (!isDigit() && (at_ == end_ || *at_ != '.')) refuse("a finite number");
      const auto [end, error] = digits::read(at_, end_, value);
      if (error == std::errc::result_out_of_range)
        refuseAt(start, sizeof(T) == 4 ? "a number within the range of a float"
                                       : "a number within the range of a double");
      if (error != std::errc{}) refuse("a number");
      at_ = end;
    }
    return isNegative ? -value : value;
  }
  [[noreturn]] void refuse(const char* expected) const { refuseAt(at_, expected); }
  [[noreturn]] void refuseAt(const char* place, const char* expected) const {
    char found[32] = "the end of the line";
    if (place == end_) {
      std::snprintf(found, sizeof found, "the end of the file");
    } else if (*place != '\n' && *place != '\r') {
      const auto byte = static_cast<unsigned char>(*place);
      const bool isPrintable = byte >= 0x20 && byte < 0x7F;
      std::snprintf(found, sizeof found, isPrintable ? "'%c'" : "byte 0x%02X", byte);
    }
    fail(ErrorCode::badFile, "cannot read '%s': expected %s at line %zu, column %zu, found %s",
         printable(source_, 60).c_str(), expected, lineNumber_, static_cast<std::size_t>(place - line_) + 1,
         found);
  }
  const char* place() const { return at_; }

 private:
  bool isDigit() const { return at_ != end_ && *at_ >= '0' && *at_ <= '9'; }
  std::uint64_t digit() const { return static_cast<std::uint64_t>(*at_ - '0'); }
  void skipSpace() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t')) ++at_;
  }
  bool takesEndOfLine() {
    if (*at_ == '#')
      while (at_ != end_ && *at_ != '\n') ++at_;
    if (at_ != end_ && *at_ == '\r' && (at_ + 1 == end_ || at_[1] == '\n')) ++at_;
    if (at_ == end_) return true;
    if (*at_ != '\n') return false;
    line_ = ++at_;
    ++lineNumber_;
    return true;
  }
  /// Digits with at most a point, few enough that digits and power of ten are exact: then their quotient is the nearest
  /// number, since division is rounded correctly. False, and nothing is read, for others.
  template <class T> bool shortNumber(T& value) {
    constexpr int powers = sizeof(T) == 4 ? 11 : 23;  // of ten, which a T holds exactly
    static constexpr std::array<T, powers> powersOfTen = [] {
      std::array<T, powers> result{};
      T power{1};
      for (T& p : result) p = std::exchange(power, power * T{10});
      return result;
    }();
    constexpr std::uint64_t most = std::uint64_t{1} << std::numeric_limits<T>::digits;
    const char* at = at_;
    std::uint64_t digits = 0;
    int behindPoint = 0;
    bool hasDigits = false, hasPoint = false;
    for (; at != end_; ++at) {
      if (*at == '.' && !hasPoint) {
        hasPoint = true;
        continue;
      }
      if (*at < '0' || *at > '9') break;
      digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
      behindPoint += hasPoint;
      hasDigits = true;
      if (digits > most || behindPoint >= powers) return false;
    }
    if (!hasDigits || (at != end_ && (*at == 'e' || *at == 'E'))) return false;
    value = static_cast<T>(digits) / powersOfTen[static_cast<std::size_t>(behindPoint)];
    at_ = at;
    return true;
  }

  const char *at_, *end_, *line_;
  std::size_t lineNumber_ = 1;
  std::string_view source_;
};

}  // namespace detail

/// Samples from a text in LIBSVM's format; `source` names it in errors.
template <class T = double>
SampleRows<T> parseLibsvm(std::string_view text, const LibsvmOptions& options = {},
                          std::string_view source = "a text in memory") {
  if (options.features > UINT32_MAX)
    fail("parseLibsvm: expected at most 4294967295 features, got %zu", options.features);
  // No further than to a zero byte, which ends every text but a comment: most of a huge file may be a hole.
  const std::string_view counted = text.substr(0, text.find('\0'));
  const auto lines = static_cast<std::size_t>(std::count(counted.begin(), counted.end(), '\n')) + 1;
  // A sample takes two bytes at least, an entry four: lines of nothing cost nothing.
  const std::size_t samples = std::min(lines, counted.size() / 2 + 1);
  const auto colons = static_cast<std::size_t>(std::count(counted.begin(), counted.end(), ':'));
  const std::size_t entries = std::min(colons, counted.size() / 4 + 1);
  std::vector<double> labels;
  std::vector<std::size_t> starts;
  std::vector<std::uint32_t> columns;
  std::vector<T> values;
  labels.reserve(samples);
  starts.reserve(samples + 1);
  columns.reserve(entries);
  values.reserve(entries);

  detail::LibsvmText reader(text, source);
  std::size_t features = options.features;
  starts.push_back(0);
  while (reader.toNextSample()) {
    labels.push_back(reader.number<double>());
    while (reader.toNextEntry()) {
      const char* const place = reader.place();
      const std::uint32_t column = reader.index(options.firstIndex, options.features);
      if (values.size() > starts.back() && column <= columns.back())
        reader.refuseAt(place, "an index larger than the one before");
      columns.push_back(column);
      values.push_back(reader.number<T>());
      features = std::max(features, std::size_t{column} + 1);
    }
    starts.push_back(values.size());
  }
  if (labels.empty())
    fail(ErrorCode::badFile, "cannot read '%s': it has no samples", printable(source).c_str());
  return SampleRows<T>::sparse(features, std::move(starts), std::move(columns), std::move(values),
                               std::move(labels));
}

/// Samples from a file in LIBSVM's format.
template <class T = double>
SampleRows<T> loadLibsvm(const std::string& path, const LibsvmOptions& options = {}) {
  const MappedFile file(path);
  return parseLibsvm<T>(file.text(), options, path);
}

namespace detail {

template <class Number> void appendNumber(std::string& text, Number number) {
  if constexpr (std::is_floating_point_v<Number>)
    text += digits::shortest(number);
  else
    text += std::to_string(number);
}
template <class T> void appendLibsvmLine(std::string& text, const SampleRows<T>& rows, std::size_t i) {
  const Row<T> row = rows.row(i);
  const auto require = [i](bool isFinite) {
    if (!isFinite) fail(ErrorCode::notFinite, "saveLibsvm: sample %zu has a number that is not finite", i);
  };
  require(std::isfinite(rows.label(i)));
  appendNumber(text, rows.label(i));
  for (std::size_t k = 0; k < row.count(); ++k) {
    if (!rows.isSparse() && row.value(k) == T{0}) continue;
    require(std::isfinite(row.value(k)));
    text += ' ';
    appendNumber(text, row.column(k) + 1);
    text += ':';
    appendNumber(text, row.value(k));
  }
  text += '\n';
}

}  // namespace detail

/// Samples as a text in LIBSVM's format, with as many digits as each number needs to be read as what it is.
template <class T> std::string toLibsvm(const SampleRows<T>& rows) {
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) detail::appendLibsvmLine(text, rows, i);
  return text;
}

/// The same into a file, which is replaced as a whole or not at all (atomic_file.hpp).
template <class T>
void saveLibsvm(const std::string& path, const SampleRows<T>& rows, const SaveOptions& options = {}) {
  constexpr std::size_t chunk = std::size_t{1} << 16;
  AtomicFile file(path, options);
  std::string text;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    detail::appendLibsvmLine(text, rows, i);
    if (text.size() < chunk && i + 1 < rows.size()) continue;
    file.write(std::as_bytes(std::span(text)));
    text.clear();
  }
  file.commit();
}

}  // namespace burtorch::inline BURTORCH_TARGET
