// Characters out of pieces: none is cut, nothing is lost, and what cannot become a character is not waited for.
#include "burtorch/data/utf8_stream.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "burtorch/base/rng.hpp"

namespace burtorch {
namespace utf8_stream_test {

TEST(Utf8Stream, ACharacterIsReturnedWhenItIsWhole) {
  for (const std::string& character :
       {std::string("\u00E9"), std::string("\u20AC"), std::string("\U0001F600")}) {
    Utf8Stream stream;
    for (std::size_t i = 0; i + 1 < character.size(); ++i) EXPECT_EQ(stream.push(character.substr(i, 1)), "");
    EXPECT_EQ(stream.push(character.substr(character.size() - 1) + "a"), character + "a");
    EXPECT_EQ(stream.finish(), "");
  }
}
TEST(Utf8Stream, WhatComesBeforeIsNotHeldBack) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("ab\xF0\x9F"), "ab");
  EXPECT_EQ(stream.push("\x98\x80\xE2"), "\U0001F600");
  EXPECT_EQ(stream.finish(), "\xE2");
  EXPECT_EQ(stream.push("c"), "c");
}
TEST(Utf8Stream, WhatCannotBecomeACharacterIsNotHeldBack) {
  for (const char* bytes : {"\x80", "\xBF\x80", "\xC0", "\xC1", "\xF5", "\xFF", "\xE0\x80", "\xED\xA0",
                            "\xF0\x80", "\xF4\x90", "\xF4\x90\x80", "\xE2\x28", "\xC3\x28"})
    EXPECT_EQ(Utf8Stream().push(bytes), bytes);
}
TEST(Utf8Stream, EveryLeadByteIsHeldBackIfItMayBeginACharacter) {
  for (unsigned lead = 0x80; lead < 0x100; ++lead) {
    const std::string byte(1, static_cast<char>(lead));
    EXPECT_EQ(Utf8Stream().push(byte), lead >= 0xC2 && lead <= 0xF4 ? "" : byte) << lead;
  }
}
TEST(Utf8Stream, NothingIsLostAndCharactersAreWhole) {
  constexpr std::uint64_t seed = 41;
  Rng rng(seed);
  for (int i = 0; i < 3000; ++i) {
    std::string text;
    for (std::size_t n = rng.index(20); n > 0; --n) {
      const auto c = static_cast<char32_t>(rng.index(codePointEnd));
      if (rng.index(4) == 0)
        text += static_cast<char>(rng.index(256));
      else if (!isSurrogate(c))
        appendUtf8(text, c);
    }
    Utf8Stream stream;
    std::string all, shown;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t bytes = 1 + rng.index(5);
      const std::string piece = stream.push(std::string_view(text).substr(at, bytes));
      all += piece;
      shown += asUtf8(piece);
      at += bytes;
    }
    const std::string rest = stream.finish();
    ASSERT_EQ(all + rest, text) << "seed " << seed << ", text " << i;
    ASSERT_EQ(shown + asUtf8(rest), asUtf8(text)) << "a character was cut; seed " << seed << ", text " << i;
  }
}

}  // namespace utf8_stream_test
}  // namespace burtorch
