// Messages: the exact mean and variance of every compressor, lengths to the bit, what is read, what is rejected.
#include "burtorch/optimise/encode.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "burtorch/optimise/compressor_text.hpp"
#include "burtorch/optimise/decode.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace encode_test {

using Message = std::vector<std::byte>;

template <class T> std::vector<T> randomNumbers(std::size_t d, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<T> x(d);
  for (T& number : x) number = rng.normal<T>();
  return x;
}
template <class T> double squareOf(const std::vector<T>& x) {
  double sum = 0;
  for (const T number : x) sum += static_cast<double>(number) * static_cast<double>(number);
  return sum;
}
template <class T> std::vector<T> less(std::vector<T> x, const std::vector<T>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
  return x;
}
/// C(x), there and back.
template <class T>
std::vector<T> compressed(const AnyCompressor& any, const std::vector<T>& x, const CompressionKey& key,
                          MessageForm form) {
  CompressorMemory memory;
  Message message;
  encode(any, key, form, Numbers<T>{x}, memory, message);
  std::vector<T> result(x.size());
  CompressorMemory receiver;
  decodeAdd<T>(message, 1, result, receiver);
  return result;
}

template <class T> struct EncodeTest : testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(EncodeTest, Scalars, );

// Every subset (start) that keys lead to counts once: these are all outcomes, and coordinate_set_test.cpp shows that they are
// equally likely. Powers of two and whole numbers: no sum below is rounded.
TYPED_TEST(EncodeTest, RandKAndRandSeqKHaveTheirExactMeanAndVariance) {
  const std::vector<TypeParam> x{1, -2, 3, 8};
  struct Case {
    AnyCompressor any;
    std::size_t outcomes;
  };
  const Case cases[] = {{RandK{{.count = 1}}, 4},
                        {RandK{{.count = 2}}, 6},
                        {RandSeqK{{.count = 1}}, 4},
                        {RandSeqK{{.count = 2}}, 4}};
  for (const auto& [any, outcomes] : cases) {
    std::map<std::vector<TypeParam>, int> seen;
    for (std::uint64_t round = 0; round < 400; ++round)
      ++seen[compressed(any, x, {.seed = 1, .round = round}, MessageForm::unbiased)];
    ASSERT_EQ(seen.size(), outcomes);
    std::vector<TypeParam> sum(4);
    double variance = 0;
    for (const auto& [c, count] : seen) {
      for (std::size_t i = 0; i < 4; ++i) sum[i] += c[i];
      variance += squareOf(less(c, x));
    }
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(sum[i], static_cast<TypeParam>(outcomes) * x[i]);
    EXPECT_EQ(variance, static_cast<double>(outcomes) * omega(any, 4) * squareOf(x));
  }
}

TYPED_TEST(EncodeTest, PermKOfAllWorkersIsTheVectorItself) {
  const std::vector<TypeParam> x{1, -2, 3, 8, 0.5, 7, -9};
  for (const std::uint64_t workers : {1u, 2u, 4u, 16u})
    for (std::uint64_t round = 0; round < 20; ++round) {
      std::vector<TypeParam> sum(x.size());
      for (std::uint32_t worker = 0; worker < workers; ++worker) {
        const auto c = compressed(PermK{workers}, x, {1, round, worker}, MessageForm::unbiased);
        for (std::size_t i = 0; i < x.size(); ++i) sum[i] += c[i];
      }
      for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(sum[i], static_cast<TypeParam>(workers) * x[i]);
    }
}

// Over 20,000 keys. A mean of independent numbers is off by six standard errors with probability below 1e-8 (normal
// approximation); the variance must be omega |x|^2, or at most that, up to six standard errors of its own.
TYPED_TEST(EncodeTest, UnbiasedOnesAreUnbiasedAndKeepTheirVariance) {
  constexpr std::size_t d = 23;
  constexpr int keys = 20000;
  const auto x = randomNumbers<TypeParam>(d, 5);
  for (const char* text :
       {"identity", "randk:7", "randk:20", "randseqk:7", "permk:5", "natural", "levels:1", "levels:4"}) {
    const AnyCompressor any = compressorFromText(text);
    std::vector<double> sum(d), squares(d);
    double errors = 0, errorSquares = 0;
    for (std::uint64_t round = 0; round < keys; ++round) {
      const auto c = compressed(any, x, {.seed = 9, .round = round, .worker = 3}, MessageForm::unbiased);
      for (std::size_t i = 0; i < d; ++i) {
        const double error = static_cast<double>(c[i]) - static_cast<double>(x[i]);
        sum[i] += error;
        squares[i] += error * error;
      }
      const double error = squareOf(less(c, x));
      errors += error;
      errorSquares += error * error;
    }
    const double rounding = 4 * keys * static_cast<double>(std::numeric_limits<TypeParam>::epsilon());
    for (std::size_t i = 0; i < d; ++i)
      EXPECT_LE(std::abs(sum[i]), 6 * std::sqrt(squares[i]) + rounding * std::abs(static_cast<double>(x[i])))
          << text << ", coordinate " << i << ", seed 9";
    const double mean = errors / keys, bound = omega(any, d) * squareOf(x);
    const double deviation =
        6 * std::sqrt(std::max(0.0, errorSquares / keys - mean * mean) / keys) + 1e-6 * bound;
    EXPECT_LE(mean, bound + deviation) << text << ", seed 9";
    if (isValueIndependent(any)) {
      EXPECT_GE(mean, bound - deviation) << text << ", seed 9";
    }
  }
}

TYPED_TEST(EncodeTest, ContractiveFormsContract) {
  constexpr std::size_t d = 23;
  constexpr int keys = 4000;
  const auto x = randomNumbers<TypeParam>(d, 6);
  for (const char* text : {"identity", "randk:7", "randseqk:7", "permk:5", "natural", "levels:2"}) {
    const AnyCompressor any = compressorFromText(text);
    double errors = 0, errorSquares = 0;
    for (std::uint64_t round = 0; round < keys; ++round) {
      const double error = squareOf(less(compressed(any, x, {9, round, 3}, MessageForm::contractive), x));
      errors += error;
      errorSquares += error * error;
    }
    const double mean = errors / keys;
    const double deviation = 6 * std::sqrt(std::max(0.0, errorSquares / keys - mean * mean) / keys);
    EXPECT_LE(mean, (1 - alpha(any, d)) * squareOf(x) + deviation + 1e-9) << text << ", seed 9";
  }
}

TYPED_TEST(EncodeTest, TopKContractsEveryVector) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const std::size_t d = 1 + seed % 40;
    const auto x = randomNumbers<TypeParam>(d, seed);
    for (std::size_t k = 1; k <= d; ++k) {
      const AnyCompressor any = TopK{{.count = k}};
      const auto error = less(compressed(any, x, {}, MessageForm::contractive), x);
      EXPECT_LE(squareOf(error), (1 - alpha(any, d)) * squareOf(x) * (1 + 1e-14))
          << "seed " << seed << ", K = " << k;
    }
  }
}

TYPED_TEST(EncodeTest, SendingAllIsTheIdentity) {
  for (const std::size_t d : {1u, 2u, 64u, 65u, 129u}) {
    const auto x = randomNumbers<TypeParam>(d, d);
    for (const AnyCompressor& any : {AnyCompressor{Identity{}}, AnyCompressor{RandK{{.count = d}}},
                                     AnyCompressor{RandSeqK{{.count = d}}}, AnyCompressor{PermK{1}}}) {
      EXPECT_EQ(compressed(any, x, {1, 2, 0}, MessageForm::unbiased), x) << d;
      EXPECT_EQ(compressed(any, x, {1, 2, 0}, MessageForm::contractive), x) << d;
    }
    EXPECT_EQ(compressed(TopK{{.count = d}}, x, {}, MessageForm::contractive), x) << d;
  }
}

TYPED_TEST(EncodeTest, MessagesAreAsLongAsTheirBits) {
  constexpr std::size_t w = sizeof(TypeParam), header = 24;
  const auto bytes = [](const char* text, std::size_t d) {
    return messageBytes<TypeParam>(compressorFromText(text), d);
  };
  EXPECT_EQ(bytes("identity", 1000), header + 1000 * w);
  EXPECT_EQ(bytes("randk:50", 1000), header + 50 * w);
  EXPECT_EQ(bytes("randseqk:50", 1000), header + 50 * w);
  EXPECT_EQ(bytes("topk:50", 1000), header + 63 + 50 * w);  // 500 bits
  EXPECT_EQ(bytes("topk:1", 1), header + w);                // no bit tells one from itself
  EXPECT_EQ(bytes("topk:8", 257), header + 9 + 8 * w);
  EXPECT_EQ(bytes("permk:10", 1000), header + 100 * w);
  EXPECT_EQ(bytes("natural", 1000), header + (w == 4 ? 1125 : 1500));
  EXPECT_EQ(bytes("levels:4", 1000), header + w + 500);
  EXPECT_EQ(bytes("levels:3", 1000), header + w + 375);
  EXPECT_EQ(bitsSent(3), 24u);

  const auto x = randomNumbers<TypeParam>(1000, 1);
  CompressorMemory memory;
  Message message;
  for (const char* text :
       {"identity", "randk:50", "randseqk:50", "topk:50", "permk:10", "natural", "levels:4"}) {
    encode<TypeParam>(compressorFromText(text), {}, x, memory, message);
    EXPECT_EQ(message.size(), bytes(text, 1000)) << text;
  }
}

TYPED_TEST(EncodeTest, WhatIsNotSentIsNotRead) {
  const auto nan = std::numeric_limits<TypeParam>::quiet_NaN();
  for (const char* text : {"randk:3", "randk:40", "randseqk:10", "permk:5"}) {
    const AnyCompressor any = compressorFromText(text);
    const CompressionKey key{4, 7, 2};
    CoordinateSet set;
    detail::drawSet(headerOf<TypeParam>(any, 50, key, MessageForm::unbiased), set);
    std::vector<Block> blocks;
    set.blocks(blocks);
    std::vector<TypeParam> x(50, nan);
    for (const Block& block : blocks)
      for (NodeIndex i = block.first; i < block.first + block.count; ++i)
        x[i] = static_cast<TypeParam>(i) + 1;
    const auto c = compressed(any, x, key, MessageForm::contractive);
    for (std::size_t i = 0; i < 50; ++i) EXPECT_EQ(c[i], std::isnan(x[i]) ? 0 : x[i]) << text;
  }
}

TYPED_TEST(EncodeTest, RejectsNumbersThatAreNotFinite) {
  using Limits = std::numeric_limits<TypeParam>;
  CompressorMemory memory;
  Message message;
  for (const char* text :
       {"identity", "randk:100%", "randseqk:100%", "topk:1", "permk:1", "natural", "levels:4"})
    for (const TypeParam wrong : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
      std::vector<TypeParam> x(9, TypeParam{1});
      x[5] = wrong;
      EXPECT_EQ(codeOf([&] { encode<TypeParam>(compressorFromText(text), {}, x, memory, message); }),
                ErrorCode::notFinite)
          << text;
    }
  // Finite, but not what arrives.
  const std::vector<TypeParam> large(9, Limits::max());
  for (const char* text : {"randk:1", "permk:2", "natural", "levels:4"})
    EXPECT_EQ(codeOf([&] { encode<TypeParam>(compressorFromText(text), {}, large, memory, message); }),
              ErrorCode::notFinite)
        << text;
}

TYPED_TEST(EncodeTest, ZerosStayZeros) {
  const std::vector<TypeParam> zeros(20);
  for (const char* text : {"topk:3", "natural", "levels:4"}) {
    const auto form = isUnbiased(compressorFromText(text)) ? MessageForm::unbiased : MessageForm::contractive;
    EXPECT_EQ(compressed(compressorFromText(text), zeros, {}, form), zeros) << text;
  }
}

TYPED_TEST(EncodeTest, WritesBehindAnOffset) {
  const auto x = randomNumbers<TypeParam>(30, 2);
  CompressorMemory memory;
  Message alone, behind(5, std::byte{7});
  encode<TypeParam>(TopK{{.count = 4}}, {}, x, memory, alone);
  encode(TopK{{.count = 4}}, {}, MessageForm::contractive, Numbers<TypeParam>{x}, memory, behind, 5);
  EXPECT_EQ(behind[4], std::byte{7});
  EXPECT_EQ(Message(behind.begin() + 5, behind.end()), alone);
}

}  // namespace encode_test
}  // namespace burtorch
