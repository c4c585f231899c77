// Numbers as text that no locale changes: the shortest digits that give a number back, and the nearest number to digits.
// The standard library does it; where it cannot yet (libc++ 13 has <charconv> without floating point), the C library's functions
// do, which are slower and follow the program's locale, so that its decimal point is put in and taken out.
#pragma once

#include <cerrno>
#include <charconv>
#include <clocale>
#include <cmath>
#include <concepts>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <version>

namespace burtorch::digits {

/// What printf wrote, with a point whatever the locale says.
inline std::string withPoint(std::string text) {
  const std::string_view point = std::localeconv()->decimal_point;
  if (const auto at = text.find(point); at != std::string::npos) text.replace(at, point.size(), ".");
  return text;
}

/// The C library's way. `std::from_chars` for general notation, but for the words inf and nan, which are no numbers here.
template <std::floating_point T>
std::from_chars_result readByC(const char* first, const char* last, T& number) {
  const std::size_t length =
      std::string_view(first, static_cast<std::size_t>(last - first)).find_first_not_of("+-.0123456789eE");
  std::string text(first, length == std::string_view::npos ? last : first + length);
  if (text.empty() || text[0] == '+') return {first, std::errc::invalid_argument};
  if (const auto point = text.find('.'); point != std::string::npos)
    text.replace(point, 1, std::localeconv()->decimal_point);
  char* end = nullptr;
  errno = 0;
  T nearest{};
  if constexpr (sizeof(T) == 4)
    nearest = std::strtof(text.c_str(), &end);
  else
    nearest = std::strtod(text.c_str(), &end);
  auto taken = end - text.c_str();
  if (taken == 0) return {first, std::errc::invalid_argument};
  const std::size_t pointLength = std::strlen(std::localeconv()->decimal_point);
  if (text.substr(0, static_cast<std::size_t>(taken)).find(std::localeconv()->decimal_point) !=
      std::string::npos)
    taken -= static_cast<std::ptrdiff_t>(pointLength - 1);
  if (errno == ERANGE && (nearest == 0 || std::isinf(nearest)))
    return {first + taken, std::errc::result_out_of_range};
  number = nearest;
  return {first + taken, std::errc{}};
}

/// In scientific notation, with the fewest digits that give the number back.
template <std::floating_point T> std::string scientificByC(T number) {
  char text[32];
  for (int digits = 0; digits < 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*e", digits, static_cast<double>(number));
    if (static_cast<T>(sizeof(T) == 4 ? std::strtof(text, nullptr) : std::strtod(text, nullptr)) == number)
      break;
  }
  return withPoint(text);
}
/// The C library's way: laid out as `std::to_chars` does, in whichever of the two notations is shorter.
template <std::floating_point T> std::string shortestByC(T number) {
  if (std::isnan(number)) return std::signbit(number) ? "-nan" : "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  const std::string scientific = scientificByC(number);
  const std::size_t e = scientific.find('e');
  const int exponent = std::atoi(scientific.c_str() + e + 1);
  std::string fixed;  // first the digits without their point
  for (const char c : std::string_view(scientific).substr(0, e))
    if (c >= '0' && c <= '9') fixed += c;

  const auto count = static_cast<int>(fixed.size());
  if (exponent < 0) {
    fixed.insert(0, "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0'));
  } else if (count > exponent + 1) {
    fixed.insert(static_cast<std::size_t>(exponent + 1), ".");
  } else if (count < exponent + 1) {  // as the standard library, with the digits that no reader needs
    char text[320];                   // a double has up to 309
    std::snprintf(text, sizeof text, "%.0f", std::abs(static_cast<double>(number)));
    fixed = text;
  }
  if (scientific[0] == '-') fixed.insert(0, "-");
  return fixed.size() <= scientific.size() ? fixed : scientific;
}

/// As `std::from_chars`.
template <std::floating_point T> std::from_chars_result read(const char* first, const char* last, T& number) {
#if defined(__cpp_lib_to_chars)
  return std::from_chars(first, last, number);
#else
  return readByC(first, last, number);
#endif
}
/// As `std::to_chars`.
template <std::floating_point T> std::string shortest(T number) {
#if defined(__cpp_lib_to_chars)
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
#else
  return shortestByC(number);
#endif
}

/// Some digits of a number, as printf's %g.
inline std::string rounded(double number, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*g", digits, number);
  return withPoint(text);
}

}  // namespace burtorch::digits
