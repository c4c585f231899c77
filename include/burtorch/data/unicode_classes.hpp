// The class of a code point (letter, number, white space, other), as regular expressions of tokenizers ask for it.
//
// A table of 6 KB, searched by halves, and a memory of the range found last: a text stays in one alphabet for long, so
// the search is rare. The memory belongs to the reader of a text, so readers in different threads share nothing.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "../base/config.hpp"
#include "unicode_ranges.hpp"
#include "utf8.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Numbered as in unicode_ranges.hpp.
enum class CharacterClass : std::uint8_t { other, letter, number, space };

/// Any number below `codePointEnd` is a code point here, surrogates too.
class CharacterClasses {
 public:
  CharacterClass of(char32_t codePoint) {
    if (codePoint < 0x80) return ascii[codePoint];
    if (codePoint < first_ || codePoint >= end_) search(codePoint);
    return class_;
  }

 private:
  static constexpr std::array<CharacterClass, 0x80> asciiClasses() {
    std::array<CharacterClass, 0x80> classes{};
    for (std::size_t c = 0, next = 1; c < classes.size(); ++c) {
      while (unicodeRanges[next] >> 2 <= c) ++next;
      classes[c] = static_cast<CharacterClass>(unicodeRanges[next - 1] & 3);
    }
    return classes;
  }
  static const std::array<CharacterClass, 0x80> ascii;

  void search(char32_t codePoint) {
    // The largest entry that begins at this code point or before.
    const auto* next =
        std::upper_bound(std::begin(unicodeRanges), std::end(unicodeRanges), codePoint << 2 | 3);
    first_ = *(next - 1) >> 2;
    end_ = next == std::end(unicodeRanges) ? codePointEnd : *next >> 2;
    class_ = static_cast<CharacterClass>(*(next - 1) & 3);
  }

  char32_t first_ = 0, end_ = 0;
  CharacterClass class_ = CharacterClass::other;
};

inline constexpr std::array<CharacterClass, 0x80> CharacterClasses::ascii = CharacterClasses::asciiClasses();

}  // namespace burtorch::inline BURTORCH_TARGET
