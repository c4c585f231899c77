// A Python script that draws with Matplotlib, as text: how data enter it, and the frame that all such scripts share.
//
// Data are one JSON text in a string that the script parses with json.loads; nothing of a label or a number becomes code.
// The script is ASCII whatever the labels are. A label comes back in Python as it was; bytes that are not UTF-8 become
// U+FFFD. Numbers come back with all their bits, as floats, NaN and infinities too (as Python's JSON writes them).
// In the picture a label is shown literally, with its dollars, and cut if it is very long.
//
// `python3 SCRIPT` opens a window, `python3 SCRIPT OUT.png` (or .svg, .pdf) writes a picture and needs no display. Without
// Matplotlib, or without a display, the script says so in one sentence and exits with 1.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>

#include "../base/number_text.hpp"
#include "../data/utf8.hpp"
#include "../io/json.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {

inline std::string toJson(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number > 0 ? "Infinity" : "-Infinity";
  return digits::shortest(number);
}
inline std::string toJson(std::string_view text) {
  std::string json;
  appendJsonString(json, asUtf8(text));
  return json;
}
/// An array; `element(x)` gives the JSON of each x.
template <class Elements, class ToJson>
std::string toJsonArray(const Elements& elements, ToJson element, const char* separator = ",") {
  std::string json = "[";
  for (const auto& x : elements) {
    if (json.size() > 1) json += separator;
    json += element(x);
  }
  return json + "]";
}
inline constexpr auto numberToJson = [](double number) { return toJson(number); };
inline constexpr auto textToJson = [](const std::string& text) { return toJson(std::string_view(text)); };

/// A text in UTF-8 as string literals of Python, one for each of its lines (whose ends are left out), in ASCII.
inline std::string pythonLiterals(std::string_view text) {
  std::string code = "    '";
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Step step = decodeUtf8(text, at);
    char escape[16];
    if (step.codePoint == '\n') {
      code += "'\n    '";
    } else if (step.codePoint == '\'' || step.codePoint == '\\') {
      code += {'\\', text[at]};
    } else if (step.codePoint < 0x20 || step.codePoint >= 0x7F) {
      std::snprintf(escape, sizeof escape, "\\U%08x", static_cast<unsigned>(step.codePoint));
      code += escape;
    } else {
      code += text[at];
    }
    at += step.bytes;
  }
  return code + "'";
}

/// A whole script: `what` says in its first line what it draws, `json` becomes DATA, `drawing` makes `figure`. Lines of
/// `json` become lines of the script.
inline std::string matplotlibScript(std::string_view what, std::string_view json, std::string_view drawing) {
  std::string script = "#!/usr/bin/env python3\n\"\"\"";
  script += what;
  script += R"(, drawn by Matplotlib.

usage: python3 THIS_FILE            opens a window
       python3 THIS_FILE OUT.png    writes a picture instead (.png, .svg, .pdf)
"""
import json
import sys

try:
    import matplotlib
except ImportError:
    sys.exit("this plot needs Matplotlib, which this Python cannot import; install it: pip install matplotlib")
if len(sys.argv) > 1:
    matplotlib.use("Agg")
import matplotlib.pyplot as plt

DATA = json.loads(
)";
  script += pythonLiterals(json);
  script += R"(,
    parse_int=float)

# Labels are text: neither TeX nor formulas.
for name, value in (("text.usetex", False), ("text.parse_math", True)):
    if name in plt.rcParams:
        plt.rcParams[name] = value


def literal(text, longest=60):
    if len(text) > longest:
        text = text[:longest - 1] + "\u2026"
    return text.replace("$", r"\$")


)";
  script += drawing;
  script += R"(
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1])
elif plt.get_backend().lower() in ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template"):
    sys.exit("this Python can open no window here; give a file to draw into, such as OUT.png")
else:
    plt.show()
)";
  return script;
}

}  // namespace detail

}  // namespace burtorch::inline BURTORCH_TARGET
