// How much a tape can hold: counts that wrap, buffers beyond the limit.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "burtorch/burtorch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace storage_test {

constexpr auto huge = static_cast<std::size_t>(-1);

void expectRefused(Tape<double>& tape) {
  CurrentTape here(tape);
  const Value a(1.5);
  const std::size_t before = tape.size();
  for (const std::size_t count : {huge, huge - before, huge - before + 1, huge / 2, maxIndex})
    EXPECT_NE(sentenceOf([&] { tape.leaves(count); }), "") << count;
  EXPECT_EQ(tape.size(), before);
  EXPECT_EQ(a.dataCopy(), 1.5);
}

TEST(Counts, ThatWrapAreRefusedByAGrowingTape) {
  Tape<double> tape;
  expectRefused(tape);
}
TEST(Counts, ThatWrapAreRefusedByAFixedTape) {
  Tape<double> tape(TapeCapacity{16, 16, 16});
  expectRefused(tape);
}
TEST(Counts, ThatWrapAreRefusedByABorrowedTape) {
  std::vector<std::byte> memory(4096);
  Tape<double> tape{std::span<std::byte>(memory)};
  expectRefused(tape);
}
TEST(Counts, ThatWrapAreRefusedByAnEmptyThreadTape) {
  EXPECT_NE(sentenceOf([] { currentTape<double>().leaves(huge); }), "");
}

TEST(BorrowedMemory, BeyondTheLimitIsUsedUpToTheLimit) {
  for (const std::uint64_t bytes :
       {std::uint64_t{5'000'000'000}, std::uint64_t{1} << 40, std::uint64_t{huge}}) {
    const TapeCapacity room = TapeArrays<float, defaultConfig>::evenRoom(static_cast<std::size_t>(bytes));
    EXPECT_LE(room.words, maxIndex);
    EXPECT_EQ(room.scalars, maxIndex / 2);
    EXPECT_LE(Tape<float>::requiredBytes(room), bytes);
  }
}

TEST(RangeEvery, CountsThatOverflowAreRefused) {
  Tape<double> tape;
  CurrentTape here(tape);
  const auto all = tape.leaves(40, 0.5);
  const auto strided = all.every(0, 10, 4);
  EXPECT_NE(sentenceOf([&] { strided.every(0, std::size_t{1} << 62, 4); }), "");
  EXPECT_NE(sentenceOf([&] { strided.every(huge, 2, 1); }), "");
  EXPECT_NE(sentenceOf([&] { strided.every(2, huge, 1 << 30); }), "");
  EXPECT_NE(sentenceOf([&] { strided.every(2, 2, 1 << 30); }), "");
}
TEST(RangeEvery, AStepThatIsNeverTakenDoesNotOverflow) {
  Tape<double> tape;
  CurrentTape here(tape);
  const auto all = tape.leaves(40, 0.5);
  const auto one = all.every(0, 10, 4).every(2, 1, 1 << 30);
  EXPECT_EQ(one.size(), 1u);
  EXPECT_EQ(one.first(), 8u);
  EXPECT_EQ(one.values().size(), 1u);
}

}  // namespace storage_test
}  // namespace burtorch
