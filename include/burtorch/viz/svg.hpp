// What pictures in SVG share: text made harmless, round steps for axes, formatting.
#pragma once

#include <locale.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>

#include "../data/utf8.hpp"

namespace burtorch::inline BURTORCH_TARGET::detail {

/// For XML: what XML cannot hold, and bytes that are not UTF-8, become a question mark.
inline std::string escapedForXml(std::string_view text) {
  std::string safe;
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = decodeUtf8(text, at);
    const char32_t c = step.codePoint;
    if (c == '&')
      safe += "&amp;";
    else if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '"')
      safe += "&quot;";
    else if (step.bytes == 0 || c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xFFFE || c == 0xFFFF)
      safe += '?';
    else
      safe.append(text, at, step.bytes);
    at += std::max<std::size_t>(step.bytes, 1);
  }
  return safe;
}

/// 1, 2 or 5 times a power of ten, so that some `count` steps cover `width`.
inline double roundStep(double width, double count) {
  const double raw = width / count, power = std::pow(10.0, std::floor(std::log10(raw))), part = raw / power;
  return power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}

/// A range of numbers that grows to hold what it is shown.
struct Span1d {
  double low = 0, high = 0;
  bool isEmpty = true;
  void hold(double x) {
    low = isEmpty ? x : std::min(low, x);
    high = isEmpty ? x : std::max(high, x);
    isEmpty = false;
  }
  double width() const { return high > low ? high - low : 1; }
};

/// Until the end of the block printf writes 1.5 in this thread, whatever the program's locale is.
class PlainDecimalPoint {
 public:
  PlainDecimalPoint() : plain_(newlocale(LC_NUMERIC_MASK, "C", locale_t{})), previous_(uselocale(plain_)) {}
  PlainDecimalPoint(const PlainDecimalPoint&) = delete;
  PlainDecimalPoint& operator=(const PlainDecimalPoint&) = delete;
  ~PlainDecimalPoint() {
    uselocale(previous_);
    if (plain_ != locale_t{}) freelocale(plain_);
  }

 private:
  locale_t plain_, previous_;
};

template <class... Arguments>
void appendFormatted(std::string& to, const char* format, Arguments... arguments) {
  char text[512];
  std::snprintf(text, sizeof text, format, arguments...);
  to += text;
}

}  // namespace burtorch::inline BURTORCH_TARGET::detail
