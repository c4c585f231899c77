// Hostile messages: cut at every byte, every bit flipped, random bytes, wrong headers. Either an error and an untouched
// destination, or a message that is one.
#include "burtorch/optimise/decode.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "burtorch/optimise/compressor_text.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace decode_test {

using Message = std::vector<std::byte>;
constexpr std::size_t d = 37;
const char* const texts[] = {"identity", "randk:5", "randseqk:9", "topk:6", "permk:4", "natural", "levels:5"};

template <class T> Message messageOf(const char* text) {
  Rng rng(8);
  std::vector<T> x(d);
  for (T& number : x) number = rng.normal<T>();
  CompressorMemory memory;
  Message message;
  encode<T>(compressorFromText(text), {.seed = 1, .round = 2, .worker = 3}, x, memory, message);
  return message;
}
/// Whether a message is taken; if not, nothing may have been written.
template <class T> bool isTaken(std::span<const std::byte> message) {
  std::vector<T> into(d, T{42});
  CompressorMemory memory;
  const std::string sentence = sentenceOf([&] { decodeAdd<T>(message, 1, into, memory); });
  for (const T number : into) {
    if (sentence.empty()) {
      EXPECT_TRUE(std::isfinite(number));
    } else {
      EXPECT_EQ(number, T{42}) << sentence;
    }
  }
  return sentence.empty();
}

template <class T> struct DecodeTest : testing::Test {};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(DecodeTest, Scalars, );

TYPED_TEST(DecodeTest, AddsAScaledVector) {
  const TypeParam x[] = {1, -2, 3};
  std::vector<TypeParam> into{10, 20, 30};
  CompressorMemory memory;
  Message message;
  encode<TypeParam>(Identity{}, {}, x, memory, message);
  decodeAdd<TypeParam>(message, 0.5, into, memory);
  EXPECT_EQ(into, (std::vector<TypeParam>{10.5, 19, 31.5}));
}

TYPED_TEST(DecodeTest, RejectsEveryPrefixAndEveryExtension) {
  for (const char* text : texts) {
    Message message = messageOf<TypeParam>(text);
    ASSERT_TRUE(isTaken<TypeParam>(message)) << text;
    for (std::size_t length = 0; length < message.size(); ++length)
      EXPECT_FALSE(
          isTaken<TypeParam>(Message(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(length))))
          << text << ", " << length << " bytes";
    message.push_back(std::byte{0});
    EXPECT_FALSE(isTaken<TypeParam>(message)) << text;
  }
}

TYPED_TEST(DecodeTest, SurvivesEveryFlippedBit) {
  for (const char* text : texts) {
    const Message message = messageOf<TypeParam>(text);
    for (std::size_t bit = 0; bit < 8 * message.size(); ++bit) {
      Message flipped = message;
      flipped[bit / 8] ^= std::byte{1} << (bit % 8);
      isTaken<TypeParam>(flipped);
    }
  }
}

TYPED_TEST(DecodeTest, SurvivesRandomMutations) {
  Rng rng(17);
  std::size_t taken = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    Message message = messageOf<TypeParam>(texts[rng.below(std::size(texts))]);
    for (std::uint32_t changes = 1 + rng.below(6); changes > 0; --changes)
      message[rng.below(rng.below(2) == 0 ? MessageHeader::bytes : message.size())] =
          static_cast<std::byte>(rng.below(256));
    taken += isTaken<TypeParam>(message);
  }
  EXPECT_GT(taken, 0u) << "seed 17: mutated numbers are still numbers";
  EXPECT_LT(taken, 20000u);
}

TYPED_TEST(DecodeTest, RejectsAHeaderThatDoesNotFit) {
  for (const char* text : texts) {
    const Message message = messageOf<TypeParam>(text);
    const auto with = [&](std::size_t at, std::uint8_t byte) {
      Message changed = message;
      changed[at] = std::byte{byte};
      return isTaken<TypeParam>(changed);
    };
    EXPECT_FALSE(with(0, 0)) << text;
    EXPECT_FALSE(with(0, 8)) << text;
    EXPECT_FALSE(with(1, sizeof(TypeParam) == 4 ? 8 : 4)) << text;
    EXPECT_FALSE(with(2, 2)) << text;
    EXPECT_FALSE(with(3, 1)) << text;
    EXPECT_FALSE(with(4, d - 1)) << text;
    EXPECT_FALSE(with(11, 255)) << text;
    EXPECT_FALSE(with(15, 255)) << text;
  }
}

/// The message with a number, written at a byte offset behind the header.
template <class N> Message withNumber(Message message, std::size_t offset, N number) {
  std::memcpy(message.data() + MessageHeader::bytes + offset, &number, sizeof number);
  return message;
}
TYPED_TEST(DecodeTest, RejectsNumbersThatAreNotFinite) {
  using Limits = std::numeric_limits<TypeParam>;
  for (const TypeParam wrong : {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()}) {
    for (const char* text : {"identity", "randk:5", "randseqk:9", "permk:4", "levels:5"})
      EXPECT_FALSE(isTaken<TypeParam>(withNumber(messageOf<TypeParam>(text), 0, wrong))) << text;
    const std::size_t indexBytes = (6 * 6 + 7) / 8;
    EXPECT_FALSE(isTaken<TypeParam>(withNumber(messageOf<TypeParam>("topk:6"), indexBytes, wrong)));
  }
  EXPECT_FALSE(
      isTaken<TypeParam>(withNumber(messageOf<TypeParam>("natural"), 0, static_cast<std::uint16_t>(0xffff))));
  EXPECT_FALSE(isTaken<TypeParam>(withNumber(messageOf<TypeParam>("levels:5"), 0, TypeParam{-1})));
  // Finite until it is multiplied by d/K.
  EXPECT_FALSE(isTaken<TypeParam>(withNumber(messageOf<TypeParam>("randk:5"), 0, Limits::max())));
}

TYPED_TEST(DecodeTest, RejectsIndicesThatDoNotAscendOrAreOutOfRange) {
  // Six indices of 6 bits: the first 30 bits are five of them.
  const auto message = messageOf<TypeParam>("topk:6");
  const auto indices = [&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    Message changed = message;
    const std::uint64_t all =
        a | b << 6 | c << 12 | std::uint64_t{30} << 18 | std::uint64_t{31} << 24 | std::uint64_t{36} << 30;
    std::memcpy(changed.data() + MessageHeader::bytes, &all, 5);
    return isTaken<TypeParam>(changed);
  };
  EXPECT_TRUE(indices(0, 1, 2));
  EXPECT_TRUE(indices(0, 28, 29));
  EXPECT_FALSE(indices(0, 1, 1));
  EXPECT_FALSE(indices(0, 2, 1));
  EXPECT_FALSE(indices(0, 1, 63));
  EXPECT_FALSE(indices(0, 1, 37));
}

TYPED_TEST(DecodeTest, RejectsBitsAfterTheEnd) {
  for (const char* text :
       {"natural", "levels:5"}) {  // 37 codes of 9, 12 or 4 bits: some of the last byte is unused
    Message message = messageOf<TypeParam>(text);
    message.back() |= std::byte{0x80};
    EXPECT_FALSE(isTaken<TypeParam>(message)) << text;
  }
}

TYPED_TEST(DecodeTest, RejectsALevelAboveTheLast) {
  EXPECT_FALSE(isTaken<TypeParam>(
      withNumber(messageOf<TypeParam>("levels:5"), sizeof(TypeParam), std::uint8_t{0x0c})));
  EXPECT_TRUE(isTaken<TypeParam>(
      withNumber(messageOf<TypeParam>("levels:5"), sizeof(TypeParam), std::uint8_t{0x0a})));
}

TEST(Decode, SaysWhatIsWrong) {
  const Message message = messageOf<float>("randk:5");
  std::vector<float> into(d + 1);
  CompressorMemory memory;
  EXPECT_EQ(codeOf([&] { decodeAdd<float>(message, 1, into, memory); }), ErrorCode::badFile);
  EXPECT_NE(sentenceOf([&] { decodeAdd<float>(message, 1, into, memory); }).find("another dimension"),
            std::string::npos);
}

}  // namespace decode_test
}  // namespace burtorch
