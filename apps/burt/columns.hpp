// Text in columns on a terminal. Texts come from files and are hostile: nothing that a terminal would obey gets through,
// and a character counts as many columns as terminals give it, so that a name in any script does not bend the table.
// Scripts whose letters melt together (such as Devanagari) may still be a column off.
#pragma once

#include <algorithm>
#include <burtorch/io/printable.hpp>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

namespace burt {

/// How many columns a terminal gives to a character: none to accents on the one before, two to Chinese and pictures.
inline std::size_t columnsOf(char32_t c) {
  struct Range {
    char32_t first, last;
  };
  static constexpr Range none[] = {{0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},    {0x610, 0x61A},
                                   {0x64B, 0x65F},   {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF},  {0x20D0, 0x20FF},
                                   {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xE0100, 0xE01EF}};
  static constexpr Range two[] = {
      {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},  {0xA960, 0xA97C},
      {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6},
      {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};
  const auto isIn = [c](const Range& range) { return c >= range.first && c <= range.last; };
  if (std::any_of(std::begin(none), std::end(none), isIn)) return 0;
  return std::any_of(std::begin(two), std::end(two), isIn) ? 2 : 1;
}

/// A character as it is shown: itself, or '?'.
struct Glyph {
  std::string_view text;
  std::size_t columns;
};
template <class Use> void forEachGlyph(std::string_view text, Use&& use) {
  for (std::size_t at = 0; at < text.size();) {
    const auto [character, bytes] = burtorch::decodeUtf8(text, at);
    const bool isShown = bytes > 0 && burtorch::isShowable(character);
    use(isShown ? Glyph{text.substr(at, bytes), columnsOf(character)} : Glyph{"?", 1});
    at += bytes > 0 ? bytes : 1;
  }
}
inline std::size_t widthOf(std::string_view text) {
  std::size_t width = 0;
  forEachGlyph(text, [&](const Glyph& glyph) { width += glyph.columns; });
  return width;
}

/// The text in at most `width` columns: of a long one the beginning and the end, with … between them.
inline std::string fitted(std::string_view text, std::size_t width) {
  std::string ends;
  // A text may have megabytes. What is left out here would be left out below, since a character has at most 4 bytes;
  // only of accents without letters some would have stayed.
  if (text.size() > 16 * width + 16) {
    ends.append(text.substr(0, 8 * width)).append(text.substr(text.size() - 8 * width));
    text = ends;
  }
  std::vector<Glyph> glyphs;
  std::size_t all = 0;
  forEachGlyph(text, [&](const Glyph& glyph) {
    glyphs.push_back(glyph);
    all += glyph.columns;
  });
  std::string result, tail;
  if (all <= width) {
    for (const Glyph& glyph : glyphs) result += glyph.text;
    return result;
  }
  std::size_t left = (width - 1) / 2, right = width - 1 - left;
  for (auto glyph = glyphs.begin(); glyph->columns <= left; ++glyph) {
    result += glyph->text;
    left -= glyph->columns;
  }
  auto from = glyphs.end();
  for (; (from - 1)->columns <= right; --from) right -= (from - 1)->columns;
  for (; from != glyphs.end(); ++from) tail += from->text;
  return result + "…" + tail;
}

/// Rows of cells; the first column to the left, numbers to the right.
class Table {
 public:
  enum class Side { left, right };
  explicit Table(std::vector<Side> sides) : sides_(std::move(sides)) {}

  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  /// Prints all rows in at most `width` columns if the first column can give way, down to `leastFirst`.
  void print(std::size_t width, std::size_t leastFirst) const {
    std::vector<std::size_t> widths(sides_.size());
    for (const auto& row : rows_)
      for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], widthOf(row[i]));
    std::size_t others = 0;
    for (std::size_t i = 1; i < widths.size(); ++i) others += 2 + widths[i];
    const std::size_t room = width > others ? width - others : 0;
    widths[0] = std::min(widths[0], std::max(room, leastFirst));
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const std::string cell = fitted(row[i], widths[i]);
        const std::string space(widths[i] - widthOf(cell), ' ');
        line += (i > 0 ? "  " : "") + (sides_[i] == Side::left ? cell + space : space + cell);
      }
      std::printf("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
    }
  }

 private:
  std::vector<Side> sides_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace burt
