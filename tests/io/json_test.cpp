// The JSON of headers: what is read, what is refused and where, and that what is written is read again.
#include "burtorch/io/json.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "io/scratch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace json_test {

std::string readString(std::string_view json) {
  JsonReader reader(json, "f");
  std::string result = reader.string();
  reader.end();
  return result;
}
std::uint64_t readInteger(std::string_view json) {
  JsonReader reader(json, "f");
  const std::uint64_t result = reader.integer();
  reader.end();
  return result;
}
std::vector<std::uint64_t> readArray(std::string_view json) {
  std::vector<std::uint64_t> result;
  JsonReader reader(json, "f");
  reader.array([&] { result.push_back(reader.integer()); });
  reader.end();
  return result;
}
std::string readObject(std::string_view json) {
  std::string result;
  JsonReader reader(json, "f");
  reader.object([&](const std::string& key) { result += key + "=" + reader.string() + ";"; });
  reader.end();
  return result;
}
/// "12 expected ..., found ...": the part of the sentence that differs.
template <class Read> std::string refusal(Read read, std::string_view json) {
  std::string sentence = sentenceOf([&] { read(json); });
  const std::string_view before = "cannot read 'f': at byte ", after = "; was the file damaged?";
  if (!sentence.starts_with(before) || !sentence.ends_with(after)) return "another sentence: " + sentence;
  sentence = sentence.substr(before.size(), sentence.size() - before.size() - after.size());
  return sentence.replace(sentence.find(" of its header"), 14, "");
}
std::string quoted(std::string_view text) { return '"' + std::string(text) + '"'; }

TEST(Json, ReadsStrings) {
  EXPECT_EQ(readString(" \t\n\r\"plain\" \r\n"), "plain");
  EXPECT_EQ(readString("\"\""), "");
  EXPECT_EQ(readString(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(readString(R"("\u0041\u00e9\u20AC\uD83D\uDE00")"), "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(readString(R"("\uDBFF\uDFFF")"), "\xF4\x8F\xBF\xBF");
  EXPECT_EQ(readString(R"("\u0000x")"), std::string("\0x", 2));
  EXPECT_EQ(readString("\"\xC3\xA9\x7F\""), "\xC3\xA9\x7F");
}
TEST(Json, RefusesWhatIsNoString) {
  EXPECT_EQ(refusal(readString, ""), "0 expected a string, found its end");
  EXPECT_EQ(refusal(readString, "  x"), "2 expected a string, found 'x'");
  EXPECT_EQ(refusal(readString, "\"ab"), "3 expected the end of a string, found its end");
  EXPECT_EQ(refusal(readString, "\"a\nb\""), "2 expected an escape for a control character, found byte 0x0A");
  EXPECT_EQ(refusal(readString, std::string_view("\"a\0b\"", 5)),
            "2 expected an escape for a control character, found byte 0x00");
  EXPECT_EQ(refusal(readString, R"("\x")"), "2 expected an escape of JSON, found 'x'");
  EXPECT_EQ(refusal(readString, std::string_view("\"\\\0\"", 4)),
            "2 expected an escape of JSON, found byte 0x00");
  EXPECT_EQ(refusal(readString, R"("\)"), "2 expected an escape of JSON, found its end");
  EXPECT_EQ(refusal(readString, R"("\u12)"), "5 expected four hexadecimal digits, found its end");
  EXPECT_EQ(refusal(readString, R"("\u12G4")"), "5 expected four hexadecimal digits, found 'G'");
  EXPECT_EQ(refusal(readString, R"("a" b)"), "4 expected the end of the header, found 'b'");
}
TEST(Json, RefusesSurrogatesThatAreNoPair) {
  EXPECT_EQ(refusal(readString, R"("\uD800")"), "7 expected a pair of surrogates, found '\"'");
  EXPECT_EQ(refusal(readString, R"("\uDC00\uD800")"), "7 expected a pair of surrogates, found '\\'");
  EXPECT_EQ(refusal(readString, R"("\uD800\n")"), "7 expected a pair of surrogates, found '\\'");
  EXPECT_EQ(refusal(readString, R"("\uD800\uD800")"), "13 expected a low surrogate before this, found '\"'");
  EXPECT_EQ(refusal(readString, R"("\uD800\u0041")"), "13 expected a low surrogate before this, found '\"'");
  EXPECT_EQ(refusal(readString, R"("\uD83D\u)"), "9 expected four hexadecimal digits, found its end");
}

/// The character of a number, written without looking at the range.
std::string utf8(std::uint32_t point, int length) {
  if (length == 1) return {static_cast<char>(point)};
  const std::uint32_t marks[] = {0, 0, 0xC0, 0xE0, 0xF0};
  std::string result(1, static_cast<char>(marks[length] | (point >> (6 * (length - 1)))));
  for (int i = length - 2; i >= 0; --i) result += static_cast<char>(0x80 | ((point >> (6 * i)) & 0x3F));
  return result;
}
TEST(Json, TakesExactlyTheCharactersOfUtf8) {
  for (std::uint32_t point = 0x20; point < 0x200000; ++point) {
    const int shortest = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    const bool isCharacter = point < 0x110000 && (point < 0xD800 || point > 0xDFFF);
    for (int length = shortest; length <= 4; ++length) {
      const std::string text = utf8(point, length);
      ASSERT_EQ(decodeUtf8(text + "x", 0).bytes, isCharacter && length == shortest ? text.size() : 0U)
          << point << " in " << length << " bytes";
      for (std::size_t cut = 1; cut < text.size(); ++cut)
        ASSERT_EQ(decodeUtf8(text.substr(0, cut), 0).bytes, 0U) << point;
    }
  }
  for (const char* wrong : {"\x80", "\xFF", "\xC3(", "\xE2\x82(", "\xF0\x9F\x98(", "\xF8\x88\x80\x80\x80"})
    EXPECT_TRUE(contains(refusal(readString, quoted(wrong)), "1 expected text in UTF-8")) << wrong;
}
TEST(Json, EscapesAndCharactersOfEveryNumberAreTheSame) {
  for (std::uint32_t point = 0x20; point < 0x110000; point += point < 0x3000 ? 1 : 97) {
    if (point >= 0xD800 && point <= 0xDFFF) continue;
    char escape[16];
    if (point < 0x10000)
      std::snprintf(escape, sizeof escape, "\\u%04x", point);
    else
      std::snprintf(escape, sizeof escape, "\\u%04X\\u%04x", 0xD800 + ((point - 0x10000) >> 10),
                    0xDC00 + (point & 0x3FF));
    const int length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    ASSERT_EQ(readString(quoted(escape)), utf8(point, length)) << point;
  }
}

TEST(Json, ReadsWholeNumbers) {
  EXPECT_EQ(readInteger(" 0 "), 0U);
  EXPECT_EQ(readInteger("1234567890"), 1234567890U);
  EXPECT_EQ(readInteger("18446744073709551615"), 18446744073709551615U);
}
TEST(Json, RefusesOtherNumbers) {
  for (const char* json : {"", "-1", "+1", ".5", "x", "\"1\"", "null", "true", "[1]", "NaN"})
    EXPECT_TRUE(contains(refusal(readInteger, json), "0 expected a whole number without sign")) << json;
  for (const char* json : {"1.0", "1e3", "1E3"})
    EXPECT_TRUE(contains(refusal(readInteger, json), "1 expected a whole number, found")) << json;
  for (const char* json : {"00", "01"})
    EXPECT_TRUE(contains(refusal(readInteger, json), "1 expected a number without leading zeros")) << json;
  for (const char* json : {"18446744073709551616", "99999999999999999999", "184467440737095516150"})
    EXPECT_TRUE(contains(refusal(readInteger, json), "expected a number below 2^64")) << json;
  EXPECT_EQ(refusal(readInteger, "0x10"), "1 expected the end of the header, found 'x'");
}

TEST(Json, ReadsArraysAndObjects) {
  EXPECT_EQ(readArray("[]"), std::vector<std::uint64_t>{});
  EXPECT_EQ(readArray(" [ 1 , 2,3 ] "), (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(readObject(" { } "), "");
  EXPECT_EQ(readObject(R"({"a":"b" , "c" : "d"})"), "a=b;c=d;");
}
TEST(Json, RefusesOtherArraysAndObjects) {
  EXPECT_EQ(refusal(readArray, "[1,]"), "3 expected a whole number without sign, found ']'");
  EXPECT_EQ(refusal(readArray, "[1 2]"), "3 expected ',' or ']', found '2'");
  EXPECT_EQ(refusal(readArray, "[1"), "2 expected ',' or ']', found its end");
  EXPECT_EQ(refusal(readArray, "[[1]]"), "1 expected a whole number without sign, found '['");
  EXPECT_EQ(refusal(readArray, "{}"), "0 expected '[', found '{'");
  EXPECT_EQ(refusal(readObject, "[]"), "0 expected '{', found '['");
  EXPECT_EQ(refusal(readObject, "{\"a\":\"b\",}"), "9 expected a string, found '}'");
  EXPECT_EQ(refusal(readObject, "{\"a\" \"b\"}"), "5 expected ':', found '\"'");
  EXPECT_EQ(refusal(readObject, "{a:\"b\"}"), "1 expected a string, found 'a'");
  EXPECT_EQ(refusal(readObject, "{\"a\":\"b\"}}"), "9 expected the end of the header, found '}'");
  EXPECT_EQ(refusal(readObject, "{\"a\":{}}"), "5 expected a string, found '{'");
  EXPECT_EQ(refusal(readObject, "{\"a\":\"b\"\f}"), "8 expected ',' or '}', found byte 0x0C");
}

TEST(Json, WritesWhatItReads) {
  std::string all;
  for (char c = 0; c < 0x7F; ++c) all += c;
  for (const std::string& text :
       {std::string(), std::string("a\"b\\c/"), all, std::string("\xC3\xA9\xF0\x9F\x98\x80")}) {
    std::string json;
    ASSERT_TRUE(appendJsonString(json, text));
    EXPECT_EQ(readString(json), text);
  }
}
TEST(Json, WritesNoInvalidUtf8) {
  for (const char* text : {"\xFF", "a\xC3", "\xED\xA0\x80"}) {
    std::string json;
    EXPECT_FALSE(appendJsonString(json, text));
  }
}

double readReal(std::string_view json) {
  JsonReader reader(json, "f");
  const double value = reader.real();
  reader.end();
  return value;
}
TEST(JsonNumbers, OfAnyKindAsDoubles) {
  EXPECT_EQ(readReal(" 0"), 0);
  EXPECT_EQ(readReal("-12.5"), -12.5);
  EXPECT_EQ(readReal("1e-05"), 1e-5);
  EXPECT_EQ(readReal("0.1E+2"), 10);
  for (const char* json :
       {"", "-", ".5", "1.", "1e", "1e+", "01", "+1", "NaN", "Infinity", "1e999", "0x1", "1 2"})
    EXPECT_NE(sentenceOf([&] { readReal(json); }), "") << json;
}
std::string afterSkip(std::string_view json) {
  JsonReader reader(json, "f");
  std::string rest;
  reader.object([&](const std::string& key) {
    if (key == "wanted")
      rest += reader.string();
    else
      reader.skip();
  });
  reader.end();
  return rest;
}
TEST(Json, ValuesOfAnyKindArePassedOver) {
  EXPECT_EQ(
      afterSkip(R"({"a": {"b": [1, [], {}, [[-2.5]], "]}"], "c": null}, "wanted": "x", "d": [true, false]})"),
      "x");
  for (const char* json :
       {R"({"a": })", R"({"a": [1,]})", R"({"a": [1})", R"({"a": {"b"}})", R"({"a": {"b": 1]})",
        R"({"a": {1: 2}})", R"({"a": tru})", R"({"a": [1 2]})", R"({"a": [)", R"({"a": nul)"})
    EXPECT_NE(sentenceOf([&] { afterSkip(json); }), "") << json;
  const auto nested = [](std::size_t depth) {
    return "{\"a\": " + std::string(depth, '[') + std::string(depth, ']') + ", \"wanted\": \"y\"}";
  };
  EXPECT_EQ(afterSkip(nested(64)), "y");
  EXPECT_NE(sentenceOf([&] { afterSkip(nested(65)); }), "");
}

}  // namespace json_test
}  // namespace burtorch
