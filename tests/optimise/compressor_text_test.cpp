// Compressors from text: every name with its option, and errors that say what was expected.
#include "burtorch/optimise/compressor_text.hpp"

#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace compressor_text_test {

TEST(CompressorText, NamesEveryCompressor) {
  EXPECT_TRUE(std::holds_alternative<Identity>(compressorFromText("identity")));
  EXPECT_EQ(std::get<RandK>(compressorFromText("randk:100")).share.count, 100u);
  EXPECT_EQ(std::get<RandSeqK>(compressorFromText("randseqk:0.05")).share.fraction, 0.05);
  EXPECT_EQ(std::get<TopK>(compressorFromText("topk:5%")).share.fraction, 0.05);
  EXPECT_EQ(std::get<PermK>(compressorFromText("permk:10")).workers, 10u);
  EXPECT_TRUE(std::holds_alternative<NaturalCompression>(compressorFromText("natural")));
  EXPECT_EQ(std::get<KLevelQuantisation>(compressorFromText("levels:7")).levels, 7u);
  EXPECT_EQ(std::get<KLevelQuantisation>(compressorFromText("levels")).levels, 4u);
}

TEST(CompressorText, OneIsACountAndOnePointIsAll) {
  EXPECT_EQ(std::get<TopK>(compressorFromText("topk:1")).share.of(50, "test"), 1u);
  EXPECT_EQ(std::get<TopK>(compressorFromText("topk:1.0")).share.of(50, "test"), 50u);
  EXPECT_EQ(std::get<TopK>(compressorFromText("topk:100%")).share.of(50, "test"), 50u);
  EXPECT_EQ(std::get<TopK>(compressorFromText("topk:.5")).share.of(50, "test"), 25u);
}

TEST(CompressorText, AnUnknownNameListsThoseThereAre) {
  const std::string sentence = sentenceOf([] { compressorFromText("top:5"); });
  EXPECT_NE(sentence.find("\"top:5\""), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("identity, randk, randseqk, topk, permk, natural, levels"), std::string::npos)
      << sentence;
}

TEST(CompressorText, AWrongOptionSaysWhatWasExpected) {
  for (const char* text :
       {"topk", "topk:", "topk:0", "topk:0.0", "topk:-1", "topk:1.5", "topk:101%", "topk:nan", "topk:1e3",
        "topk:0x10", "topk:5 ", "topk:.", "topk:%", "topk:1.2.3", "topk:1234567890123456"}) {
    const std::string sentence = sentenceOf([&] { compressorFromText(text); });
    EXPECT_NE(sentence.find("compressor topk: expected K"), std::string::npos) << text << ": " << sentence;
  }
  for (const char* text : {"permk", "permk:0", "permk:1.5", "permk:4294967296"})
    EXPECT_NE(sentenceOf([&] { compressorFromText(text); }).find("number of workers"), std::string::npos)
        << text;
  for (const char* text : {"levels:0", "levels:65536", "levels:x"})
    EXPECT_NE(sentenceOf([&] { compressorFromText(text); }).find("from 1 to 65535 levels"), std::string::npos)
        << text;
  for (const char* text : {"natural:1", "identity:"})
    EXPECT_NE(sentenceOf([&] { compressorFromText(text); }).find("expected no option"), std::string::npos)
        << text;
}

}  // namespace compressor_text_test
}  // namespace burtorch
