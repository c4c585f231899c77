// The text of a picture of a graph in DOT, Graphviz's language: options, labels, records, edges. Knows nothing of tapes.
//
// Whatever a name contains, Graphviz takes the text and shows the name: what means something in a record label
// (\ " { } | < > & and spaces) is escaped, a line break stays one, a control character or a byte that is no UTF-8 becomes
// U+FFFD, and of a long name the start is shown. Nodes have integer ids, so no name is ever one; labels are never HTML.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "../data/utf8.hpp"
#include "../ops/scalar.hpp"

namespace burtorch::inline BURTORCH_TARGET {

enum class DotDirection : std::uint8_t { topDown, leftToRight };

struct DotOptions {
  /// Records in one picture. Of more, those nearest to the root, or the last of the tape, are drawn, and a note says so.
  std::size_t maxNodes = 200;
  bool showsValues = true, showsGradients = true;
  DotDirection direction = DotDirection::topDown;
  std::string title = {};
};

namespace detail {

/// A text as it must stand between the quotes of a label.
inline std::string escapedForDot(std::string_view text) {
  constexpr std::size_t longest = 80;  // characters
  constexpr char32_t replacement = 0xFFFD;
  constexpr std::string_view marks = "\\\"{}|<>";
  std::string safe;
  std::size_t characters = 0;
  char32_t previous = ' ';
  for (std::size_t at = 0; at < text.size(); ++characters) {
    if (characters == longest) return safe + "...";
    const Utf8Step step = decodeUtf8(text, at);
    const char32_t c = step.bytes > 0 ? step.codePoint : replacement;
    at += step.bytes > 0 ? step.bytes : 1;
    // Graphviz drops a space beside another one or at an end, at the start even an escaped one: it becomes a no-break space.
    const bool isLooseSpace = c == ' ' && (previous == ' ' || at == text.size());
    // SVG, which is XML, cannot hold FFFE and FFFF.
    const bool isControl = c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0xFFFE || c == 0xFFFF;
    if (c == '\n')
      safe += "\\n";
    else if (isControl)
      appendUtf8(safe, replacement);
    else if (c == '&')
      safe += "&amp;";  // it would start an entity, in plain labels too
    else if (isLooseSpace)
      appendUtf8(safe, 0xA0);
    else if (c < 0x80 && marks.find(static_cast<char>(c)) != std::string_view::npos)
      safe += '\\', safe += static_cast<char>(c);
    else
      appendUtf8(safe, c);
    previous = c == '\n' ? U' ' : c;
  }
  return safe;
}

/// Few digits: a picture is looked at. A dual number shows both its parts.
template <class T> std::string dotNumber(const T& x, int digits = 6) {
  if constexpr (std::is_floating_point_v<T>) {
    char text[32];
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(x));
    return text;
  } else {
    return dotNumber(x.value, digits) + "+" + dotNumber(x.tangent, digits) + "e";
  }
}

/// "value 3", "values 1, 2, 3", and of many the smallest and the largest: "values -0.2 .. 0.7, 3 not finite".
template <class T> std::string dotNumbers(const char* what, std::span<const T> numbers) {
  constexpr std::size_t few = 4;
  std::string text = what;
  if (numbers.size() == 1) return text + " " + dotNumber(numbers[0]);
  text += "s ";
  if (numbers.size() <= few) {
    for (std::size_t i = 0; i < numbers.size(); ++i) text += (i > 0 ? ", " : "") + dotNumber(numbers[i]);
    return text;
  }
  const T *least = nullptr, *most = nullptr;
  std::size_t notFinite = 0;
  for (const T& x : numbers) {
    if (!ScalarTraits<T>::isFinite(x)) {
      ++notFinite;
      continue;
    }
    if (least == nullptr || x < *least) least = &x;
    if (most == nullptr || *most < x) most = &x;
  }
  if (least != nullptr) {
    const std::string from = dotNumber(*least + T{0}, 4), to = dotNumber(*most + T{0}, 4);  // +0: never "-0"
    text += !(*least < *most) && notFinite == 0 ? "all " + from : from + " .. " + to;
  }
  if (notFinite > 0) text += (least != nullptr ? ", " : "") + std::to_string(notFinite) + " not finite";
  return text;
}

/// Rows of cells, as the label of a record.
class DotLabel {
 public:
  void row() { isNewRow_ = !text_.empty(); }
  void cell(std::string_view text) {
    text_ += isNewRow_ ? "}|{" : text_.empty() ? "" : "|";
    text_ += escapedForDot(text);
    isNewRow_ = false;
  }
  /// Graphviz starts a record along the ranks: braces turn it, so that rows lie below each other either way.
  std::string text(DotDirection direction) const {
    return direction == DotDirection::topDown ? "{{" + text_ + "}}" : "{" + text_ + "}";
  }

 private:
  std::string text_;
  bool isNewRow_ = false;
};

enum class DotStyle : std::uint8_t { leaf, result, results };

/// Writes a digraph: nodes as they come, then all edges.
class DotWriter {
 public:
  explicit DotWriter(const DotOptions& options) : options_(options) {
    text_ = "digraph burtorch {\n";
    text_ += options.direction == DotDirection::topDown ? "  rankdir=TB;\n" : "  rankdir=LR;\n";
    text_ += "  ranksep=0.35;\n  nodesep=0.25;\n  fontname=\"Helvetica\";\n";
    text_ +=
        "  node [shape=record, style=filled, fillcolor=\"#ffffff\", color=\"#6b7280\", "
        "fontname=\"Helvetica\", "
        "fontsize=11, height=0.2, margin=\"0.08,0.04\"];\n"
        "  edge [color=\"#6b7280\", fontname=\"Helvetica\", fontsize=9, arrowsize=0.6];\n";
    if (!options.title.empty()) text_ += "  labelloc=t;\n  label=\"" + escapedForDot(options.title) + "\";\n";
  }

  void node(std::size_t id, const DotLabel& label, DotStyle style, bool isRoot) {
    text_ += "  " + std::to_string(id) + " [label=\"" + label.text(options_.direction) + "\"";
    if (style == DotStyle::leaf) text_ += ", fillcolor=\"#e0edff\"";
    if (style == DotStyle::results) text_ += ", fillcolor=\"#e7f6ec\"";
    if (isRoot) text_ += ", color=\"#b91c1c\", penwidth=2";
    text_ += "];\n";
  }
  void edge(std::size_t from, std::size_t to, const std::string& label) {
    edges_ += "  " + std::to_string(from) + " -> " + std::to_string(to);
    if (!label.empty()) edges_ += " [label=\" " + label + "\"]";
    edges_ += ";\n";
  }
  void note(std::size_t id, std::string_view text) {
    text_ += "  " + std::to_string(id) + " [shape=note, fillcolor=\"#fef3c7\", label=\"" +
             escapedForDot(text) + "\"];\n";
  }
  std::string finish() { return text_ + edges_ + "}\n"; }

 private:
  const DotOptions& options_;
  std::string text_, edges_;
};

}  // namespace detail
}  // namespace burtorch::inline BURTORCH_TARGET
