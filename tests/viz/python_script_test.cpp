// How data enter a script. That Python reads back what was meant is shown by scripts.py.
#include <burtorch/viz/python_script.hpp>

#include <gtest/gtest.h>

#include <clocale>
#include <limits>

#include "viz/text_parts.hpp"

namespace burtorch::detail {
namespace python_script_test {

TEST(PythonScript, NumbersHaveTheFewestDigitsThatGiveThemBack) {
  EXPECT_EQ(toJson(0.1), "0.1");
  EXPECT_EQ(toJson(-0.0), "-0");
  EXPECT_EQ(toJson(1.0 / 3), "0.3333333333333333");
  EXPECT_EQ(toJson(static_cast<double>(0.1f)), "0.10000000149011612");
  EXPECT_EQ(toJson(5e-324), "5e-324");
}
TEST(PythonScript, NumbersThatAreNoneAreWrittenAsPythonReadsThem) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(toJson(infinity), "Infinity");
  EXPECT_EQ(toJson(-infinity), "-Infinity");
  EXPECT_EQ(toJson(std::numeric_limits<double>::quiet_NaN()), "NaN");
}
TEST(PythonScript, NumbersDoNotFollowTheLocale) {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  if (std::setlocale(LC_NUMERIC, "de_DE.UTF-8") == nullptr) GTEST_SKIP() << "there is no German locale here";
  EXPECT_EQ(toJson(1.5), "1.5");
  std::setlocale(LC_NUMERIC, before.c_str());
}
TEST(PythonScript, BytesThatAreNotUtf8BecomeReplacementCharacters) {
  EXPECT_EQ(asUtf8("a\xff\xfe z"), "a\uFFFD\uFFFD z");
  EXPECT_EQ(asUtf8("\xC3"), "\uFFFD");
  EXPECT_EQ(asUtf8("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(asUtf8("é😀"), "é😀");
}
TEST(PythonScript, LiteralsAreAsciiAndEndWhereTheyShould) {
  EXPECT_EQ(pythonLiterals("a'b\\c"), "    'a\\'b\\\\c'");
  EXPECT_EQ(pythonLiterals("é😀"), "    '\\U000000e9\\U0001f600'");
  EXPECT_EQ(pythonLiterals("[1,\n2]"), "    '[1,'\n    '2]'");
}
TEST(PythonScript, IsAsciiWithoutControlCharactersWhateverTheLabel) {
  for (const std::string_view label : hostileLabels)
    for (const char c : matplotlibScript("A test", toJson(label), "figure = None\n"))
      EXPECT_TRUE((c >= 0x20 && c < 0x7F) || c == '\n') << label << ": " << static_cast<int>(c);
}

}  // namespace python_script_test
}  // namespace burtorch::detail
