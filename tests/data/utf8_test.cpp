// UTF-8: exactly the encodings of the code points are accepted, and a named character is visible.
#include "burtorch/data/utf8.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace burtorch {
namespace utf8_test {

std::string bytesOf(std::initializer_list<unsigned> bytes) {
  std::string text;
  for (const unsigned byte : bytes) text.push_back(static_cast<char>(byte));
  return text;
}

TEST(Utf8, EveryCodePointComesBackFromItsBytes) {
  for (char32_t c = 0; c < codePointEnd; ++c) {
    if (isSurrogate(c)) continue;
    std::string text;
    appendUtf8(text, c);
    const Utf8Step step = decodeUtf8(text, 0);
    ASSERT_EQ(step.codePoint, c);
    ASSERT_EQ(step.bytes, text.size()) << "U+" << std::hex << static_cast<unsigned>(c);
  }
}

TEST(Utf8, TheEncodingsAreThoseOfTheStandard) {
  const auto encoded = [](char32_t c) {
    std::string text;
    appendUtf8(text, c);
    return text;
  };
  EXPECT_EQ(encoded(0x7F), bytesOf({0x7F}));
  EXPECT_EQ(encoded(0x80), bytesOf({0xC2, 0x80}));
  EXPECT_EQ(encoded(0x7FF), bytesOf({0xDF, 0xBF}));
  EXPECT_EQ(encoded(0x800), bytesOf({0xE0, 0xA0, 0x80}));
  EXPECT_EQ(encoded(0x20AC), bytesOf({0xE2, 0x82, 0xAC}));
  EXPECT_EQ(encoded(0xFFFF), bytesOf({0xEF, 0xBF, 0xBF}));
  EXPECT_EQ(encoded(0x10000), bytesOf({0xF0, 0x90, 0x80, 0x80}));
  EXPECT_EQ(encoded(0x1F600), bytesOf({0xF0, 0x9F, 0x98, 0x80}));
  EXPECT_EQ(encoded(0x10FFFF), bytesOf({0xF4, 0x8F, 0xBF, 0xBF}));
}

// With the round trip above, the counts leave no room for any other sequence.
TEST(Utf8, NoOtherSequenceOfUpToThreeBytesIsAccepted) {
  std::size_t accepted[4] = {};
  std::string text(3, '\0');
  for (unsigned a = 0; a < 0x100; ++a) {
    text[0] = static_cast<char>(a);
    accepted[1] += decodeUtf8({text.data(), 1}, 0).bytes == 1;
    for (unsigned b = 0; b < 0x100; ++b) {
      text[1] = static_cast<char>(b);
      accepted[2] += decodeUtf8({text.data(), 2}, 0).bytes == 2;
      for (unsigned c = 0; c < 0x100; ++c) {
        text[2] = static_cast<char>(c);
        accepted[3] += decodeUtf8(text, 0).bytes == 3;
      }
    }
  }
  EXPECT_EQ(accepted[1], 0x80u);
  EXPECT_EQ(accepted[2], 0x800u - 0x80u);
  EXPECT_EQ(accepted[3], 0x10000u - 0x800u - 0x800u) << "without overlong forms and surrogates";
}

TEST(Utf8, FourBytesNameNothingOverlongAndNothingBeyondTheLastCodePoint) {
  for (unsigned lead = 0xF0; lead < 0x100; ++lead)
    for (unsigned second = 0; second < 0x100; ++second) {
      const bool isRight = (lead == 0xF0 && second >= 0x90 && second < 0xC0) ||
                           (lead > 0xF0 && lead < 0xF4 && second >= 0x80 && second < 0xC0) ||
                           (lead == 0xF4 && second >= 0x80 && second < 0x90);
      for (const unsigned third : {0x00u, 0x7Fu, 0x80u, 0xBFu, 0xC0u})
        for (const unsigned fourth : {0x00u, 0x7Fu, 0x80u, 0xBFu, 0xC0u}) {
          const bool hasEnd = third >= 0x80 && third < 0xC0 && fourth >= 0x80 && fourth < 0xC0;
          ASSERT_EQ(decodeUtf8(bytesOf({lead, second, third, fourth}), 0).bytes, isRight && hasEnd ? 4u : 0u)
              << std::hex << lead << ' ' << second << ' ' << third << ' ' << fourth;
        }
    }
}

TEST(Utf8, ASequenceCutOffByTheEndOfTheTextIsNotRead) {
  for (const std::string& whole :
       {bytesOf({0xC3, 0xA9}), bytesOf({0xE2, 0x82, 0xAC}), bytesOf({0xF0, 0x9F, 0x98, 0x80})})
    for (std::size_t bytes = 1; bytes < whole.size(); ++bytes) {
      const std::string text = "ab" + whole.substr(0, bytes);
      EXPECT_EQ(decodeUtf8(text, 2).bytes, 0u) << bytes << " of " << whole.size();
    }
}

TEST(Utf8, ACharacterIsNamedByItsCodePoint) {
  EXPECT_EQ(nameOfCharacter(U'a'), "'a' (U+0061)");
  EXPECT_EQ(nameOfCharacter(0xE9), "'\xC3\xA9' (U+00E9)");
  EXPECT_EQ(nameOfCharacter(0x10FFFF), "U+10FFFF");
}

TEST(Utf8, ACharacterThatMayBeInvisibleIsOnlyNumbered) {
  EXPECT_EQ(nameOfCharacter(0), "U+0000");
  EXPECT_EQ(nameOfCharacter(0x1B), "U+001B");
  EXPECT_EQ(nameOfCharacter(U' '), "U+0020");
  EXPECT_EQ(nameOfCharacter(0x9B), "U+009B");
  EXPECT_EQ(nameOfCharacter(0x202E), "U+202E");
  EXPECT_EQ(nameOfCharacter(0xFEFF), "U+FEFF");
}

}  // namespace utf8_test
}  // namespace burtorch
