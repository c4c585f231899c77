// What tests of generated text ask about it.
#pragma once

#include <cstddef>
#include <string_view>

inline std::size_t countOf(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) ++found;
  return found;
}
inline bool has(std::string_view text, std::string_view part) { return countOf(text, part) > 0; }

/// Labels that try to break out of the text they are put into.
inline constexpr std::string_view hostileLabels[] = {"'",
                                                     "\"",
                                                     "\\",
                                                     "\\'",
                                                     "'''",
                                                     "\"\"\"",
                                                     "\n",
                                                     "\r\n",
                                                     "$(touch x)",
                                                     "`touch x`",
                                                     "</script>",
                                                     "{0}%s%n",
                                                     "#",
                                                     "')\nimport os\nos.abort()\n('",
                                                     "\\u0027",
                                                     "\\N{APOSTROPHE}",
                                                     "$x$",
                                                     "$\\frac{",
                                                     "_hidden",
                                                     "\xff\xfe",
                                                     "\xC3",
                                                     "\xED\xA0\x80",
                                                     "\u202E\u2028\uFEFF",
                                                     "\U0001F600"};
