// Text from outside in a sentence: what a terminal would obey does not reach it, and long text leaves its end.
#include "burtorch/io/printable.hpp"

#include <gtest/gtest.h>

namespace burtorch {
namespace printable_test {

TEST(Shown, OrdinaryTextStaysAsItIs) {
  for (const char* text :
       {"", "blocks.0.weight", "a path/with spaces", "\xC3\xA9 \xCE\xB1 \xE4\xB8\xAD \xF0\x9F\x98\x80"})
    EXPECT_EQ(printable(text), text);
}
TEST(Shown, EveryControlCharacterBecomesAQuestionMark) {
  for (char32_t c = 0; c < 0xA0; ++c) {
    const bool isControl = c < 0x20 || (c >= 0x7F && c < 0xA0);
    std::string text;
    appendUtf8(text, c);
    EXPECT_EQ(printable("a" + text + "b") == "a?b", isControl || c == U'?') << static_cast<unsigned>(c);
  }
}
TEST(Shown, MarksOfDirectionAndUnseenCharactersBecomeQuestionMarks) {
  for (const char32_t c :
       {0xADU, 0x61CU, 0x200BU, 0x200FU, 0x2028U, 0x202EU, 0x2066U, 0x2069U, 0xFEFFU, 0xE0041U}) {
    std::string text;
    appendUtf8(text, c);
    EXPECT_EQ(printable("a" + text + "b"), "a?b") << static_cast<unsigned>(c);
  }
}
TEST(Shown, BytesThatAreNotUtf8BecomeQuestionMarks) {
  EXPECT_EQ(printable("a\x9B[2J"), "a?[2J");
  EXPECT_EQ(printable("\xFF\xC0\x80z"), "???z");
  EXPECT_EQ(printable("cut \xF0\x9F"), "cut ??");
}
TEST(Shown, OfLongTextTheEndIsShown) {
  EXPECT_EQ(printable("0123456789", 10), "0123456789");
  EXPECT_EQ(printable("0123456789", 4), "...6789");
  EXPECT_EQ(printable(std::string(1000, 'x')).size(), 83U);
}
TEST(Shown, ALongTextIsNotCutWithinACharacter) {
  EXPECT_EQ(printable("abc\xC3\xA9z", 2), "...z");
  EXPECT_EQ(printable("abc\xC3\xA9z", 3), "...\xC3\xA9z");
  EXPECT_EQ(printable(std::string(100, '\x80'), 10), "...");
}

}  // namespace printable_test
}  // namespace burtorch
