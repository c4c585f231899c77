// Compressors: omega and alpha by their formulas, the shares that K may be, what is rejected.
#include "burtorch/optimise/compressor.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference/error_sentence.hpp"

namespace burtorch {
namespace compressor_test {

TEST(Compressor, OmegaAndAlphaFollowTheFormulas) {
  EXPECT_EQ(omega(Identity{}, 10), 0);
  EXPECT_EQ(alpha(Identity{}, 10), 1);
  EXPECT_EQ(omega(RandK{{.count = 4}}, 10), 1.5);
  EXPECT_DOUBLE_EQ(alpha(RandK{{.count = 4}}, 10), 0.4);
  EXPECT_EQ(omega(RandSeqK{{.fraction = 0.4}}, 10), 1.5);
  EXPECT_EQ(alpha(TopK{{.count = 4}}, 10), 0.4);
  EXPECT_EQ(omega(PermK{7}, 10), 6);
  EXPECT_EQ(omega(NaturalCompression{}, 10), 0.125);
  EXPECT_EQ(omega(KLevelQuantisation{5}, 100), 2);      // sqrt(d)/s
  EXPECT_EQ(omega(KLevelQuantisation{20}, 100), 0.25);  // d/s^2
}

TEST(Compressor, AShareIsAtLeastOneAndAtMostAll) {
  EXPECT_EQ((Share{.fraction = 0.001}.of(10, "test")), 1u);
  EXPECT_EQ((Share{.fraction = 0.25}.of(10, "test")), 3u);
  EXPECT_EQ((Share{.fraction = 1}.of(10, "test")), 10u);
  EXPECT_EQ((Share{.count = 10}.of(10, "test")), 10u);
}

TEST(Compressor, RejectsAShareThatIsNone) {
  EXPECT_NE(sentenceOf([] { alpha(RandK{{.count = 0}}, 10); }), "");
  EXPECT_NE(sentenceOf([] { alpha(TopK{{.count = 11}}, 10); }), "");
  const double wrong[] = {-0.1, 1.1, std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::infinity()};
  for (const double fraction : wrong)
    EXPECT_NE(sentenceOf([&] { alpha(RandSeqK{{.fraction = fraction}}, 10); }), "") << fraction;
  EXPECT_NE(sentenceOf([] { alpha(TopK{{.fraction = 0.5, .count = 5}}, 10); }), "");
}

TEST(Compressor, RejectsOtherOptionsOutOfRange) {
  EXPECT_NE(sentenceOf([] { omega(PermK{0}, 10); }), "");
  EXPECT_NE(sentenceOf([] { omega(KLevelQuantisation{0}, 10); }), "");
  EXPECT_NE(sentenceOf([] { omega(KLevelQuantisation{65536}, 10); }), "");
  EXPECT_NE(sentenceOf([] { checkCompressor(Identity{}, 0); }), "");
  EXPECT_NE(sentenceOf([] { checkCompressor(Identity{}, std::size_t{1} << 32); }), "");
}

TEST(Compressor, ABiasedOneHasNoOmega) {
  EXPECT_FALSE(isUnbiased(TopK{{.count = 1}}));
  EXPECT_NE(sentenceOf([] { omega(TopK{{.count = 1}}, 10); }).find("topk is biased"), std::string::npos);
}

TEST(Compressor, KnowsWhichDependOnNoValue) {
  for (const AnyCompressor& any :
       {AnyCompressor{Identity{}}, AnyCompressor{RandK{}}, AnyCompressor{RandSeqK{}}, AnyCompressor{PermK{}}})
    EXPECT_TRUE(isValueIndependent(any));
  for (const AnyCompressor& any :
       {AnyCompressor{TopK{}}, AnyCompressor{NaturalCompression{}}, AnyCompressor{KLevelQuantisation{}}})
    EXPECT_FALSE(isValueIndependent(any));
}

TEST(Compressor, IsTheIdentityIfItSendsAll) {
  EXPECT_TRUE(isIdentity(Identity{}, 10));
  EXPECT_TRUE(isIdentity(TopK{{.count = 10}}, 10));
  EXPECT_TRUE(isIdentity(RandK{{.fraction = 1}}, 10));
  EXPECT_TRUE(isIdentity(PermK{1}, 10));
  EXPECT_FALSE(isIdentity(TopK{{.count = 9}}, 10));
  EXPECT_FALSE(isIdentity(PermK{2}, 10));
  EXPECT_FALSE(isIdentity(NaturalCompression{}, 10));
}

}  // namespace compressor_test
}  // namespace burtorch
