// The header of .npy files: what is read, and what is refused and where.
#include "burtorch/io/npy_header.hpp"

#include <gtest/gtest.h>

#include "io/scratch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace npy_header_test {

using Shape = std::vector<std::uint64_t>;

NpyHeader read(const std::string& text) { return npy::parseHeader(text + "\n", "f"); }
std::string refusal(const std::string& text) {
  return sentenceOf([&] { read(text); });
}
/// A right header in which one part is replaced.
std::string with(const std::string& part, const std::string& replacement) {
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }";
  EXPECT_TRUE(contains(header, part)) << part;
  return header.replace(header.find(part), part.size(), replacement);
}
Shape shapeOf(const std::string& shape) { return read(with("(2, 3)", shape)).shape; }

TEST(NpyHeader, ReadsWhatNumPyWrites) {
  const NpyHeader header = read("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3, 4), }     ");
  EXPECT_EQ(header.dtype, "<f4");
  EXPECT_TRUE(header.isFortranOrder);
  EXPECT_EQ(header.shape, (Shape{2, 3, 4}));
  EXPECT_EQ(header.bytesPerNumber, 4U);
  EXPECT_EQ(header.count, 24U);
}
TEST(NpyHeader, OtherWaysToWriteTheSameAreRead) {
  for (const char* text : {R"({"shape":(2,3),"descr":"<f8","fortran_order":False})",
                           "{'fortran_order':False,'shape':(2,3,),'descr':'<f8'}",
                           " {\t'descr' :'<f8' ,\n'fortran_order': False, 'shape' : ( 2 , 3 ) , } \r "}) {
    const NpyHeader header = read(text);
    EXPECT_EQ(header.dtype, "<f8") << text;
    EXPECT_FALSE(header.isFortranOrder) << text;
    EXPECT_EQ(header.shape, (Shape{2, 3})) << text;
  }
}
TEST(NpyHeader, Shapes) {
  EXPECT_EQ(shapeOf("()"), Shape{});
  EXPECT_EQ(shapeOf("( )"), Shape{});
  EXPECT_EQ(shapeOf("(7,)"), Shape{7});
  EXPECT_EQ(shapeOf("(0, 9)"), (Shape{0, 9}));
  EXPECT_EQ(shapeOf("(1,2,3,)"), (Shape{1, 2, 3}));
  EXPECT_EQ(read(with("(2, 3)", "()")).count, 1U);
  EXPECT_EQ(read(with("(2, 3)", "(5, 0)")).count, 0U);
}
TEST(NpyHeader, ShapesThatAreNone) {
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "(2)")), "at byte 52 of its header expected ',', found ')'"));
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "2")), "expected '(', found '2'"));
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "[2, 3]")), "expected '(', found '['"));
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "(,)")), "expected a whole number without sign"));
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "(2,,3)")), "expected a whole number without sign"));
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "(2 3)")), "expected ',', found '3'"));
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "(1, 2 3)")), "expected ',' or ')', found '3'"));
  EXPECT_TRUE(
      contains(refusal(with("(2, 3)", "(-2, 3)")), "expected a whole number without sign, found '-'"));
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "(02, 3)")), "without leading zeros"));
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "(2.0, 3)")), "expected ',', found '.'"));
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "(2L, 3)")), "found 'L'"));
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "(1_0, 3)")), "found '_'"));
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "((2, 3))")), "found '('"));
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "(18446744073709551616,)")), "a number below 2^64"));
  EXPECT_TRUE(
      contains(refusal(with("(2, 3), }", "(2,")), "expected a whole number without sign, found its end"));
}
TEST(NpyHeader, ShapesThatCannotBeCounted) {
  const std::string large = "more bytes than 63 bits can count";
  EXPECT_EQ(read(with("(2, 3)", "(1152921504606846975,)")).count, 1'152'921'504'606'846'975U);
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "(1152921504606846976,)")), large));
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "(18446744073709551615,)")), large));
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "(4294967296, 4294967296)")), large));
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "(0, 4294967296, 4294967296)")), large));
  EXPECT_TRUE(contains(refusal(with("(2, 3)", "(4294967296, 4294967296, 0)")), large));
}
TEST(NpyHeader, AShapeHasAtMost64Sizes) {
  std::string sizes = "(";
  for (int i = 0; i < 64; ++i) sizes += "1, ";
  EXPECT_EQ(shapeOf(sizes + ")").size(), 64U);
  EXPECT_TRUE(contains(refusal(with("(2, 3)", sizes + "1)")), "no more than 64 sizes"));
}
TEST(NpyHeader, MembersAreThereExactlyOnce) {
  EXPECT_TRUE(contains(refusal("{}"), "descr, fortran_order and shape before this"));
  EXPECT_TRUE(contains(refusal(with("'descr': '<f8', ", "")), "descr, fortran_order and shape before this"));
  EXPECT_TRUE(contains(refusal(with("'fortran_order': False, ", "")), "and shape before this"));
  EXPECT_TRUE(contains(refusal(with("'shape': (2, 3), ", "")), "and shape before this"));
  EXPECT_TRUE(contains(refusal(with(", }", ", 'shape': (1,)}")), "twice the member 'shape' at byte 58"));
  EXPECT_TRUE(contains(refusal(with("{", "{'descr': '<f4', ")), "twice the member 'descr'"));
  EXPECT_TRUE(contains(refusal(with("{", "{'fortran_order': True, ")), "twice the member 'fortran_order'"));
  EXPECT_TRUE(contains(refusal(with("{", "{'colour': 'red', ")), "the unknown member 'colour' at byte 1"));
  EXPECT_TRUE(contains(refusal(with("{", "{'': 'red', ")), "the unknown member ''"));
}
TEST(NpyHeader, WhatIsNoSuchDictionary) {
  EXPECT_TRUE(contains(refusal(""), "at byte 1 of its header expected '{', found its end"));
  EXPECT_TRUE(contains(refusal("[]"), "at byte 0 of its header expected '{', found '['"));
  EXPECT_TRUE(contains(refusal("{,}"), "expected a string, found ','"));
  EXPECT_TRUE(contains(refusal("{1: 2}"), "expected a string, found '1'"));
  EXPECT_TRUE(contains(refusal(with(", 'fort", " 'fort")), "expected ',' or '}', found '''"));
  EXPECT_TRUE(contains(refusal(with("'descr':", "'descr'")), "expected ':'"));
  EXPECT_TRUE(contains(refusal(with("False", "false")), "expected True or False, found 'f'"));
  EXPECT_TRUE(contains(refusal(with("False", "0")), "expected True or False, found '0'"));
  EXPECT_TRUE(contains(refusal(with("False", "Falsehood")), "expected ',' or '}', found 'h'"));
  EXPECT_TRUE(contains(refusal(with("'<f8'", "'<f8\"")), "expected ',' or '}', found 'f'"));
  EXPECT_TRUE(contains(refusal(with("'<f8'", "'<\\x668'")), "a letter without escape, found '\\'"));
  EXPECT_TRUE(contains(refusal(with("'<f8'", "'\xC3\xA9'")), "a letter without escape, found byte 0xC3"));
  EXPECT_TRUE(contains(refusal(with("'<f8'", "u'<f8'")), "expected a string, found 'u'"));
  EXPECT_TRUE(contains(refusal(with("'<f8'", "[('x', '<f8')]")), "expected a string, found '['"));
  EXPECT_TRUE(contains(refusal(with("'<f8'", "__import__('os')")), "expected a string, found '_'"));
  EXPECT_TRUE(contains(refusal(with(", }", ", } {")), "expected the end of the header, found '{'"));
  EXPECT_TRUE(contains(refusal(with(", }", ", } # a comment")), "found '#'"));
  EXPECT_TRUE(contains(refusal("{'" + std::string(9'000, 'a')), "a letter without escape, found byte 0x0A"));
  EXPECT_TRUE(
      contains(sentenceOf([] { npy::parseHeader("{'a", "f"); }), "the end of a string, found its end"));
}
TEST(NpyHeader, DeepNestingIsRefusedAtItsFirstLevel) {
  for (const char* level : {"(", "[", "{", "{'shape':"})
    for (const char* before : {"", "{'shape':", "{'shape':(", "{'descr':"}) {
      std::string text = before;
      while (text.size() < 9'000) text += level;
      EXPECT_TRUE(contains(refusal(text), "cannot read 'f'")) << before << level;
    }
}
TEST(NpyHeader, EndsWithANewLine) {
  const std::string right = with("f8", "f8");
  EXPECT_EQ(sentenceOf([&] { npy::parseHeader(right + " \n", "f"); }), "");
  EXPECT_TRUE(contains(sentenceOf([&] { npy::parseHeader(right, "f"); }), "a new line before this"));
  EXPECT_TRUE(contains(sentenceOf([&] { npy::parseHeader(right + "\n ", "f"); }), "a new line before this"));
}
TEST(NpyHeader, TypesThatAreNoLittleEndianNumbers) {
  EXPECT_TRUE(contains(refusal(with("<f8", ">f8")), "big-endian ('>f8'); save them with astype('<f8')"));
  for (const char* type :
       {"<f16", "<U5", "|S3", "|O", "|V8", "<M8[ns]", "=f8", "f8", "float64", "<b1", "|f8", ""})
    EXPECT_TRUE(contains(refusal(with("<f8", type)), "expected numbers such as '<f8'")) << type;
}
TEST(NpyHeader, SentencesShowLittleOfWhatIsLong) {
  const std::string sentence = refusal("{'" + std::string(5'000, 'n') + "': 1}");
  EXPECT_TRUE(sentence.ends_with("was the file damaged?")) << sentence;
}

TEST(NpyHeader, IsPrintedAsPythonDoes) {
  EXPECT_EQ(npy::shapeText({}), "()");
  EXPECT_EQ(npy::shapeText({5}), "(5,)");
  EXPECT_EQ(npy::shapeText({2, 3}), "(2, 3)");
  EXPECT_EQ(npy::printHeader("<f8", {2, 3}, 10),
            "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }" + std::string(58, ' ') + "\n");
}
TEST(NpyHeader, WhatIsPrintedFillsBlocksOf64AndIsReadAgain) {
  Shape shape;
  for (int dimensions = 0; dimensions <= 64; ++dimensions) {
    const std::string text = npy::printHeader("<f4", shape, 10);
    EXPECT_EQ((10 + text.size()) % 64, 0U);
    EXPECT_LT(text.size(), 10U + 64 + 64 * 22);
    EXPECT_EQ(npy::parseHeader(text, "f").shape, shape);
    shape.push_back(dimensions == 0 ? 1'000'000'000'000'000 : 1);
  }
}

}  // namespace npy_header_test
}  // namespace burtorch
