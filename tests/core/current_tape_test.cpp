// Tapes that die, marks that are stale or foreign, handles that outlived their tape.
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>
#include <thread>

#include "burtorch/burtorch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace current_tape_test {

constexpr Config checked{.names = true, .checks = true};
using CheckedTape = Tape<double, checked>;
using CheckedValue = Value<double, checked>;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// ---- Tapes that die ----

TEST(DeadTape, IsNotCurrentAnyMore) {
  std::thread([] {
    auto tape = std::make_unique<Tape<double>>();
    CurrentTape here(*tape);
    Value<double> a(2.0);
    tape.reset();
    EXPECT_EQ((currentTapeSlot<double, defaultConfig>), (&noTape<double, defaultConfig>));
    Value<double> b(3.0);  // on the thread's own tape
    Value<double> c = b * b;
    backward(c);
    EXPECT_EQ(b.gradCopy(), 6.0);
  }).join();
}

TEST(DeadTape, ThatWasShadowedDoesNotComeBack) {
  std::thread([] {
    auto first = std::make_unique<Tape<double>>();
    Tape<double> second;
    CurrentTape outer(*first);
    {
      CurrentTape inner(second);
      first.reset();
    }
    EXPECT_EQ((currentTapeSlot<double, defaultConfig>), (&noTape<double, defaultConfig>));
    Value<double> b(3.0);
    EXPECT_EQ(b.dataCopy(), 3.0);
  }).join();
}

std::string lateSentence;
struct LateRecorder {
  ~LateRecorder() {
    lateSentence = sentenceOf([] {
      Value<double> x(3.0);
      backward(x * x);
    });
  }
};
TEST(DeadTape, RecordingAfterTheThreadsTapeIsReported) {
  std::thread([] {
    static thread_local LateRecorder recorder;  // made before the tape, so destroyed after it
    static_cast<void>(&recorder);
    Value<double> a(2.0);
    backward(a * a);
  }).join();
  EXPECT_TRUE(contains(lateSentence, "this thread's tape has been destroyed")) << lateSentence;
}

// ---- Marks ----

TEST(CheckedMark, OfAnotherTapeIsRefused) {
  CheckedTape a, b;
  {
    CurrentTape here(a);
    for (int i = 0; i < 3; ++i) CheckedValue(0.5);
  }
  CurrentTape here(b);
  for (int i = 0; i < 50; ++i) CheckedValue(0.5);
  EXPECT_TRUE(contains(sentenceOf([&] { b.rewind(a.mark()); }), "another tape"));
  EXPECT_EQ(b.size(), 50u);
}

TEST(CheckedMark, FromBeforeAFurtherRewindIsRefused) {
  CheckedTape tape;
  CurrentTape here(tape);
  for (int i = 0; i < 4; ++i) CheckedValue(0.5);
  const auto mark = tape.mark();
  tape.clear();
  tape.leaves(50, 1.0);
  for (int i = 0; i < 9; ++i) CheckedValue(0.5);
  EXPECT_TRUE(contains(sentenceOf([&] { tape.rewind(mark); }), "stale"));
  EXPECT_EQ(tape.size(), 59u);
}

TEST(CheckedMark, WhoseNamesAreGoneIsRefused) {
  CheckedTape tape;
  CurrentTape here(tape);
  CheckedValue a(0.5);
  const auto unnamed = tape.mark();
  a.setName("a");
  const auto named = tape.mark();
  tape.rewind(unnamed);
  EXPECT_TRUE(contains(sentenceOf([&] { tape.rewind(named); }), "stale"));
}

TEST(CheckedMark, IsGoodForAnyNumberOfRewinds) {
  CheckedTape tape;
  CurrentTape here(tape);
  const CheckedValue a(0.5);
  const auto mark = tape.mark();
  for (int i = 0; i < 5; ++i) {
    const CheckedValue b = a * a;
    const auto inner = tape.mark();
    tanh(b);
    tape.rewind(inner);
    tape.rewind(mark);
  }
  EXPECT_EQ(tape.size(), 1u);
}

TEST(CheckedScope, WhoseBlockRewoundFurtherKeepsWhatCameAfter) {
  CheckedTape tape;
  CurrentTape here(tape);
  for (int i = 0; i < 4; ++i) CheckedValue(0.5);
  Range<double, checked> w;
  {
    SampleScope sample(tape);
    tape.clear();
    w = tape.leaves(50, 1.0);
    CheckedValue s = w[0];
    for (std::size_t i = 0; i < 9; ++i) s = s + w[i];
  }
  EXPECT_EQ(tape.size(), 59u);
  CheckedValue z(77.0);
  EXPECT_EQ(w[4].dataCopy(), 1.0);
}

TEST(CheckedHandle, ThatOutlivedItsTapeIsReportedOnTheNextAtThatAddress) {
  alignas(CheckedTape) std::byte memory[sizeof(CheckedTape)];
  CheckedValue old;
  for (int round = 0; round < 3; ++round) {
    auto* tape = new (memory) CheckedTape;
    CurrentTape here(*tape);
    const CheckedValue a(0.5);
    if (round > 0) {
      EXPECT_NE(sentenceOf([&] { tanh(old); }), "") << round;
    }
    old = a;
    tape->~CheckedTape();
  }
}

}  // namespace current_tape_test
}  // namespace burtorch
