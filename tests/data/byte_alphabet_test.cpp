// GPT-2's alphabet of bytes: characters that are known from its files, both ways, and texts that are not of it.
#include "burtorch/data/byte_alphabet.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace burtorch {
namespace byte_alphabet_test {

TEST(ByteAlphabet, VisibleBytesAreThemselvesAndOthersFollowFrom100) {
  EXPECT_EQ(ByteAlphabet::characterOf('!'), U'!');
  EXPECT_EQ(ByteAlphabet::characterOf('~'), U'~');
  EXPECT_EQ(ByteAlphabet::characterOf(0xA1), 0xA1u);
  EXPECT_EQ(ByteAlphabet::characterOf(0xFF), 0xFFu);
  EXPECT_EQ(ByteAlphabet::characterOf(0), 0x100u);
  EXPECT_EQ(ByteAlphabet::characterOf('\n'), 0x10Au);
  EXPECT_EQ(ByteAlphabet::characterOf(' '), 0x120u);
  EXPECT_EQ(ByteAlphabet::characterOf(0x7F), 0x121u);
  EXPECT_EQ(ByteAlphabet::characterOf(0x80), 0x122u);
  EXPECT_EQ(ByteAlphabet::characterOf(0xA0), 0x142u);
  EXPECT_EQ(ByteAlphabet::characterOf(0xAD), 0x143u);
}
TEST(ByteAlphabet, EveryByteHasACharacterOfItsOwnAndComesBack) {
  std::set<char32_t> characters;
  for (unsigned byte = 0; byte < 256; ++byte) {
    characters.insert(ByteAlphabet::characterOf(static_cast<std::uint8_t>(byte)));
    const std::string one(1, static_cast<char>(byte));
    EXPECT_EQ(ByteAlphabet::bytesOf(ByteAlphabet::textOf(one)), one) << byte;
  }
  EXPECT_EQ(characters.size(), 256u);
}
TEST(ByteAlphabet, TextOutsideTheAlphabetIsNoBytes) {
  EXPECT_EQ(ByteAlphabet::bytesOf("\u0120the"), " the");
  EXPECT_EQ(ByteAlphabet::bytesOf(""), "");
  for (const char* text : {"a b", "\n", "\u007F", "\u00A0", "\u00AD", "\u0144", "\u20AC", "a\xFF", "\xC4"})
    EXPECT_FALSE(ByteAlphabet::bytesOf(text).has_value()) << text;
}

}  // namespace byte_alphabet_test
}  // namespace burtorch
