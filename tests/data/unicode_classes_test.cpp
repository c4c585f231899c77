// Classes of code points: those of well-known characters, and that what was asked before does not matter.
#include "burtorch/data/unicode_classes.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

#include "burtorch/base/rng.hpp"

namespace burtorch {
namespace unicode_classes_test {

using enum CharacterClass;

void expectClass(CharacterClass expected, std::initializer_list<char32_t> characters) {
  CharacterClasses classes;
  for (const char32_t c : characters)
    EXPECT_EQ(classes.of(c), expected) << std::hex << "U+" << static_cast<unsigned>(c);
}

TEST(CharacterClasses, LettersOfManyScripts) {
  expectClass(letter,
              {U'a',  U'z',  U'A',   U'Z',   0xAA,   0xB5,   0xE9,   0x3B1,   0x416,   0x5D0,   0x627,
               0x905, 0xE01, 0x1D00, 0x3042, 0x4E00, 0x9FFF, 0xAC00, 0x10330, 0x1D400, 0x20000, 0x31350});
}
TEST(CharacterClasses, NumbersAreDigitsFractionsAndNumerals) {
  expectClass(number, {U'0', U'9', 0xB2, 0xBD, 0x660, 0x966, 0x2160, 0x2460, 0x3007, 0xFF15, 0x1D7CE});
}
TEST(CharacterClasses, AllWhiteSpaceThereIs) {
  expectClass(space, {9,      10,     11,     12,     13,     0x20,   0x85,   0xA0,   0x1680,
                      0x2000, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007, 0x2008,
                      0x2009, 0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000});
  CharacterClasses classes;
  int count = 0;
  for (char32_t c = 0; c < codePointEnd; ++c) count += classes.of(c) == space;
  EXPECT_EQ(count, 25);
}
TEST(CharacterClasses, TheRestIsOther) {
  expectClass(other, {0,      0x1C,   0x1F,   U'!',        U'_',    U'~',     0x7F,   0xAD,    0x301,
                      0x20AC, 0x200B, 0x200D, 0x2060,      0xFE0F,  0xFEFF,   0xFFFD, 0x1F600, 0xE000,
                      0xD800, 0xDFFF, 0xFFFF, 0x30000 - 1, 0xE0001, 0x10FFFF, 0x0378});
}
TEST(CharacterClasses, WhatWasAskedBeforeDoesNotMatter) {
  Rng rng(7);
  CharacterClasses used;
  for (int i = 0; i < 200'000; ++i) {
    const std::size_t end = i % 2 == 0 ? codePointEnd : 0x3000;
    const auto c = static_cast<char32_t>(rng.index(end));
    ASSERT_EQ(used.of(c), CharacterClasses().of(c)) << "seed 7, U+" << std::hex << static_cast<unsigned>(c);
  }
}

}  // namespace unicode_classes_test
}  // namespace burtorch
