// Compressing, decoding and rounds of methods ask for no memory once they are warm.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "burtorch/optimise/compressor_text.hpp"
#include "burtorch/optimise/decode.hpp"
#include "reference/allocation_counter.hpp"

namespace burtorch {
namespace {

TEST(Allocation, MessagesNeedNoneOnceWarm) {
  Rng rng(2);
  std::vector<float> x(500), into(500);
  for (float& number : x) number = rng.normal<float>();
  for (const char* text :
       {"identity", "randk:7", "randk:90%", "randseqk:7", "topk:7", "permk:3", "natural", "levels:4"}) {
    CompressorMemory memory, receiver;
    std::vector<std::byte> message;
    const AnyCompressor any = compressorFromText(text);
    const auto once = [&](std::uint64_t round) {
      encode<float>(any, {3, round, 1}, x, memory, message);
      decodeAdd<float>(message, 0.5, into, receiver);
    };
    for (std::uint64_t round = 0; round < 8; ++round) once(round);
    EXPECT_EQ(allocationsOf([&] {
                for (std::uint64_t round = 8; round < 30; ++round) once(round);
              }),
              0u)
        << text;
  }
}

}  // namespace
}  // namespace burtorch
