// Event files: a reader of our own finds what was written, all of it and nothing else, whatever happens to the disk.
#include "burtorch/io/tensorboard.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <csignal>
#include <limits>
#include <regex>

#include "burtorch/io/json.hpp"
#include "io/event_reader.hpp"
#include "io/scratch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace tensorboard_test {

constexpr EventFileOptions atOnce{.flushSeconds = 0}, never{.flushSeconds = 1e9};

std::uint32_t bitsOf(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
/// The values of a file, without the two events at its beginning: version and start.
std::vector<ReadEvent> valuesIn(const std::string& path) {
  std::vector<ReadEvent> events = EventReader::all(contentOf(path));
  EXPECT_GE(events.size(), 2U);
  if (events.size() < 2) return {};
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_TRUE(events[1].isStart);
  events.erase(events.begin(), events.begin() + 2);
  for (const ReadEvent& event : events)
    EXPECT_TRUE(event.valueBits && event.version.empty() && !event.isStart);
  return events;
}
/// The tag under which one value is found again.
std::string tagOf(std::string_view tag) {
  const Scratch scratch;
  EventFile events(scratch.folder(), atOnce);
  events.scalar(tag, 1, 2);
  const std::vector<ReadEvent> found = valuesIn(events.path());
  EXPECT_EQ(found.size(), 1U);
  return found.empty() ? "" : found[0].tag;
}

TEST(EventFile, HasTheNameThatTensorBoardLooksFor) {
  const Scratch scratch;
  const EventFile events(scratch.folder());
  const std::string name = events.path().substr(scratch.folder().size());
  EXPECT_TRUE(std::regex_match(name, std::regex(R"(/events\.out\.tfevents\.\d{10}\.burtorch\.\d+\.0)")))
      << name;
}
TEST(EventFile, FilesOfOneMomentHaveDifferentNames) {
  const Scratch scratch;
  EventFile first(scratch.folder(), atOnce), second(scratch.folder(), atOnce);
  first.scalar("a", 1, 1);
  second.scalar("b", 1, 1);
  EXPECT_NE(first.path(), second.path());
  EXPECT_EQ(valuesIn(first.path())[0].tag, "a");
  EXPECT_EQ(valuesIn(second.path())[0].tag, "b");
}
TEST(EventFile, BeginsAtOnceWithTheVersionAndItsFirstStep) {
  const Scratch scratch;
  for (const std::uint64_t first : {0U, 41U}) {
    const EventFile events(scratch.folder(), {.flushSeconds = 1e9, .firstStep = first});
    const std::vector<ReadEvent> found = EventReader::all(contentOf(events.path()));
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].version, "brain.Event:2");
    EXPECT_TRUE(found[1].isStart);
    EXPECT_EQ(found[1].step, first);
  }
}
TEST(EventFile, ValuesComeBackInTheirOrder) {
  const Scratch scratch;
  EventFile events(scratch.folder());
  for (std::uint64_t step = 1; step <= 1000; ++step) {
    events.scalar("loss", step, 1.0 / static_cast<double>(step));
    events.scalar("rate", step, static_cast<double>(step));
  }
  events.flush();
  const std::vector<ReadEvent> found = valuesIn(events.path());
  ASSERT_EQ(found.size(), 2000U);
  for (std::size_t i = 0; i < 2000; ++i) {
    ASSERT_EQ(found[i].step, i / 2 + 1);
    ASSERT_EQ(found[i].tag, i % 2 == 0 ? "loss" : "rate");
    const double value = static_cast<double>(i / 2 + 1);
    ASSERT_EQ(found[i].valueBits, bitsOf(static_cast<float>(i % 2 == 0 ? 1 / value : value)));
  }
}
TEST(EventFile, EveryKindOfNumberKeepsItsBits) {
  using Limits = std::numeric_limits<float>;
  const float numbers[] = {0.0F,
                           -0.0F,
                           1.5F,
                           -Limits::max(),
                           Limits::min(),
                           Limits::denorm_min(),
                           Limits::infinity(),
                           -Limits::infinity(),
                           Limits::quiet_NaN(),
                           -Limits::quiet_NaN(),
                           0.1F};
  const Scratch scratch;
  EventFile events(scratch.folder(), atOnce);
  for (const float x : numbers) events.scalar("x", 1, static_cast<double>(x));
  const std::vector<ReadEvent> found = valuesIn(events.path());
  ASSERT_EQ(found.size(), std::size(numbers));
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].valueBits, bitsOf(numbers[i])) << i;
}
TEST(EventFile, DoublesAreRoundedToTheNearestFloat) {
  const Scratch scratch;
  EventFile events(scratch.folder(), atOnce);
  events.scalar("x", 1, 1 + 0x1.8p-24);
  EXPECT_EQ(valuesIn(events.path())[0].valueBits, bitsOf(1 + 0x1p-23F));
}
TEST(EventFile, StepsUpTo2To63AreExact) {
  const std::uint64_t steps[] = {0, 1, 127, 128, 16'383, 16'384, UINT64_C(1) << 32, INT64_MAX};
  const Scratch scratch;
  EventFile events(scratch.folder(), atOnce);
  for (const std::uint64_t step : steps) events.scalar("x", step, 1);
  const std::vector<ReadEvent> found = valuesIn(events.path());
  ASSERT_EQ(found.size(), std::size(steps));
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i].step, steps[i]);
}
TEST(EventFile, AStepBeyondIsRefusedAndNothingIsWritten) {
  const Scratch scratch;
  EventFile events(scratch.folder(), atOnce);
  EXPECT_TRUE(contains(sentenceOf([&] { events.scalar("x", UINT64_C(1) << 63, 1); }), "9223372036854775808"));
  EXPECT_TRUE(valuesIn(events.path()).empty());
}
TEST(EventFile, TellsWhenAValueWasGiven) {
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  };
  const Scratch scratch;
  const double before = now();
  EventFile events(scratch.folder(), atOnce);
  events.scalar("x", 1, 1);
  const double after = now();
  for (const ReadEvent& event : EventReader::all(contentOf(events.path()))) {
    EXPECT_GE(event.wallTime, before);
    EXPECT_LE(event.wallTime, after);
  }
}

TEST(EventFileTags, MayBeAnyText) {
  using namespace std::string_literals;
  for (const std::string& tag :
       {""s, "loss/train"s, "a \"b\" \\ $(c) `d` <script>"s, "a\0b\n\x7F"s, "Füße 日本 🙂"s,
        "../../etc"s, std::string(127, 'x'), std::string(128, 'x'), std::string(20'000, 'x')})
    EXPECT_EQ(tagOf(tag), tag);
}
TEST(EventFileTags, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(tagOf("a\xFFz"), "a\uFFFDz");
  EXPECT_EQ(tagOf("\xC0\x80"), "\uFFFD\uFFFD") << "an overlong zero";
  EXPECT_EQ(tagOf("\xED\xA0\x80"), "\uFFFD\uFFFD\uFFFD") << "a surrogate";
  EXPECT_EQ(tagOf("é\xC3"), "é\uFFFD") << "half a character at the end";
  EXPECT_EQ(tagOf("\xE2\x82z"), "\uFFFD\uFFFDz");
}
TEST(EventFileTags, EveryPairOfBytesGivesUtf8) {
  const Scratch scratch;
  EventFile events(scratch.folder(), never);
  for (int i = 0; i < 65'536; ++i) {
    const char bytes[] = {static_cast<char>(i >> 8), static_cast<char>(i)};
    events.scalar({bytes, 2}, 1, 1);
  }
  events.flush();
  const std::vector<ReadEvent> found = valuesIn(events.path());
  ASSERT_EQ(found.size(), 65'536U);
  for (const ReadEvent& event : found)
    for (std::size_t at = 0; at < event.tag.size();) {
      const std::size_t length = decodeUtf8(event.tag, at).bytes;
      ASSERT_GT(length, 0U) << event.tag;
      at += length;
    }
}

TEST(EventFileWriting, WithoutWaitingAValueIsInTheFileAtOnce) {
  const Scratch scratch;
  EventFile events(scratch.folder(), atOnce);
  for (std::size_t i = 1; i < 5; ++i) {
    events.scalar("x", i, 1);
    EXPECT_EQ(valuesIn(events.path()).size(), i);
  }
}
TEST(EventFileWriting, OtherwiseValuesWaitUntilTheyAre256) {
  const Scratch scratch;
  EventFile events(scratch.folder(), never);
  for (int i = 0; i < 255; ++i) events.scalar("x", 1, 1);
  EXPECT_EQ(valuesIn(events.path()).size(), 0U);
  events.scalar("x", 1, 1);
  EXPECT_EQ(valuesIn(events.path()).size(), 256U);
}
TEST(EventFileWriting, FlushAndTheDestructorWriteWhatWaits) {
  const Scratch scratch;
  std::string path;
  {
    EventFile events(scratch.folder(), never);
    path = events.path();
    events.scalar("x", 1, 1);
    events.flush();
    EXPECT_EQ(valuesIn(path).size(), 1U);
    events.scalar("x", 2, 1);
    EXPECT_EQ(valuesIn(path).size(), 1U);
  }
  EXPECT_EQ(valuesIn(path).size(), 2U);
}
TEST(EventFileWriting, EveryPrefixIsReadUpToItsLastWholeRecord) {
  const Scratch scratch;
  EventFile events(scratch.folder(), {.firstStep = 3});
  for (std::uint64_t i = 0; i < 9; ++i) events.scalar("loss/train", i, 0.5);
  events.flush();
  const std::string whole = contentOf(events.path());
  std::vector<std::size_t> ends;  // of records
  EventReader reader(whole);
  while (reader.next()) ends.push_back(whole.size() - reader.bytesLeft());
  ASSERT_EQ(ends.size(), 11U);
  ASSERT_EQ(ends.back(), whole.size());
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    const auto wanted =
        std::count_if(ends.begin(), ends.end(), [&](std::size_t end) { return end <= bytes; });
    ASSERT_EQ(EventReader::all(std::string_view(whole).substr(0, bytes)).size(),
              static_cast<std::size_t>(wanted));
  }
}
TEST(EventFileOfATraining, HasACurveForEachNumberOfAStep) {
  const Scratch scratch;
  EventFile events(scratch.folder(), atOnce);
  events.add({.step = 7, .loss = 2.5, .gradientNorm = 0.75, .learningRate = 0.01});
  events.add({.step = 8, .loss = 2.25, .gradientNorm = 0.5, .learningRate = 0.02, .validationLoss = 3.5});
  std::vector<std::string> lines;
  for (const ReadEvent& event : valuesIn(events.path())) {
    float value = 0;
    std::memcpy(&value, &*event.valueBits, sizeof value);
    char line[64];
    std::snprintf(line, sizeof line, "%llu %s %g", static_cast<unsigned long long>(event.step),
                  event.tag.c_str(), static_cast<double>(value));
    lines.emplace_back(line);
  }
  const std::vector<std::string> wanted{
      "7 loss/train 2.5",    "7 gradient_norm 0.75",  "7 learning_rate 0.01", "8 loss/train 2.25",
      "8 gradient_norm 0.5", "8 loss/validation 3.5", "8 learning_rate 0.02"};
  EXPECT_EQ(lines, wanted);
}
TEST(EventFileOfATraining, AStepThatWasNotTakenHasNoLearningRate) {
  const Scratch scratch;
  EventFile events(scratch.folder(), atOnce);
  events.add({.step = 9, .loss = std::nan(""), .gradientNorm = 1});
  const std::vector<ReadEvent> found = valuesIn(events.path());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].tag, "loss/train");
  EXPECT_EQ(found[1].tag, "gradient_norm");
}
TEST(EventFileOfATraining, ItsObserverAddsAndNeverStops) {
  const Scratch scratch;
  EventFile events(scratch.folder(), atOnce);
  auto observer = events.observer();
  EXPECT_TRUE(observer(TrainingStep{.step = 1, .loss = 2}));
  EXPECT_EQ(valuesIn(events.path()).size(), 3U);
}

/// While it lives, files end at so many bytes as on a full disk.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    if (setrlimit(RLIMIT_FSIZE, &small) != 0) ADD_FAILURE() << "no limit can be set";
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(EventFileOnAFullDisk, TrainingGoesOnAndFlushSaysWhy) {
  const Scratch scratch;
  EventFile events(scratch.folder(), atOnce);
  const SmallDisk disk(1000);
  EXPECT_EQ(sentenceOf([&] {
              for (std::uint64_t i = 0; i < 100; ++i) events.scalar("loss", i, 1);
            }),
            "");
  const std::string sentence = sentenceOf([&] { events.flush(); });
  EXPECT_TRUE(contains(sentence, "cannot write '") && contains(sentence, "make room there")) << sentence;
}
TEST(EventFileOnAFullDisk, WhatWaitsIsWrittenWhenThereIsRoomAgain) {
  // Limits that cut records at each of their bytes: what was written of one must not be written twice.
  for (rlim_t bytes = 500; bytes < 560; ++bytes) {
    const Scratch scratch;
    EventFile events(scratch.folder(), atOnce);
    {
      const SmallDisk disk(bytes);
      for (std::uint64_t i = 0; i < 100; ++i) events.scalar("loss", i, 1);
      EXPECT_EQ(contentOf(events.path()).size(), bytes);
      EXPECT_LT(valuesIn(events.path()).size(), 100U);
    }
    events.flush();
    const std::vector<ReadEvent> found = valuesIn(events.path());
    ASSERT_EQ(found.size(), 100U) << bytes;
    for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(found[i].step, i);
  }
}
TEST(EventFileOnAFullDisk, TheDestructorIsQuietAndLeavesWholeRecords) {
  const Scratch scratch;
  const SmallDisk disk(1000);
  std::string path;
  {
    EventFile events(scratch.folder(), atOnce);
    path = events.path();
    for (std::uint64_t i = 0; i < 100; ++i) events.scalar("loss", i, 1);
  }
  EXPECT_EQ(contentOf(path).size(), 1000U);
  EXPECT_GT(valuesIn(path).size(), 10U);
}
TEST(EventFileOnAFullDisk, ALongTimeWithoutRoomTakesAMegabyteAndLosesValues) {
  const Scratch scratch;
  EventFile events(scratch.folder(), never);
  const std::string tag(1000, 'x');
  {
    const SmallDisk disk(1000);
    for (std::uint64_t i = 0; i < 2000; ++i) events.scalar(tag, i, 1);
  }
  const std::string sentence = sentenceOf([&] { events.flush(); });
  const std::vector<ReadEvent> found = valuesIn(events.path());
  EXPECT_NEAR(static_cast<double>(contentOf(events.path()).size()), 1 << 20, 3000);
  EXPECT_TRUE(contains(sentence, "lacks " + std::to_string(2000 - found.size()) + " values")) << sentence;
  EXPECT_EQ(found.back().step, found.size() - 1) << "the first ones are kept";
  EXPECT_EQ(sentenceOf([&] { events.flush(); }), "") << "said once";
}
TEST(EventFileOnAFullDisk, NoFileIsBegunAndNoneIsLeft) {
  const Scratch scratch;
  const SmallDisk disk(10);
  EXPECT_TRUE(contains(sentenceOf([&] { EventFile events(scratch.folder()); }), "make room"));
  EXPECT_TRUE(scratch.entries().empty());
}

TEST(EventFileErrors, NameTheFolderAndWhatToDo) {
  const Scratch scratch;
  const auto sentence = [](const std::string& folder, const EventFileOptions& options = {}) {
    return sentenceOf([&] { EventFile events(folder, options); });
  };
  EXPECT_TRUE(
      contains(sentence(scratch.path("missing")), "missing': No such file or directory; make it first"));
  EXPECT_TRUE(contains(sentence(scratch.put("file", "x")), "make it first"));
  EXPECT_TRUE(contains(sentence(scratch.folder() + std::string(1, '\0')), "zero byte"));
  EXPECT_TRUE(contains(sentence(scratch.folder(), {.firstStep = UINT64_MAX}), "2^63 - 1"));
  EXPECT_EQ(scratch.entries(), std::vector<std::string>{"file"});
}
TEST(EventFileErrors, AFolderThatMayNotBeWritten) {
  const Scratch scratch;
  ASSERT_EQ(chmod(scratch.folder().c_str(), 0555), 0);
  const WithoutPrivileges nobody;
  EXPECT_TRUE(contains(sentenceOf([&] { EventFile events(scratch.folder()); }), "change its permissions"));
}
TEST(EventFileErrors, ALongFolderLeavesRoomForTheReason) {
  const std::string sentence =
      sentenceOf([&] { EventFile events("/" + std::string(200, 'a') + "/" + std::string(200, 'b')); });
  EXPECT_LT(sentence.size(), 255U);
  EXPECT_TRUE(contains(sentence, "make it first")) << sentence;
}
TEST(EventFileErrors, HaveTheCodeOfWhatIsWrong) {
  const Scratch scratch;
  const auto code = [&](const std::string& folder) {
    return codeOf([&] { EventFile events(scratch.path(folder)); });
  };
  EXPECT_EQ(code("missing"), ErrorCode::fileAccess);
  EXPECT_EQ(code(std::string("f\0g", 3)), ErrorCode::invalidArgument);
  EventFile events(scratch.folder(), never);
  EXPECT_EQ(codeOf([&] { events.scalar("x", UINT64_C(1) << 63, 1); }), ErrorCode::invalidArgument);
  const SmallDisk disk(10);
  events.scalar("x", 1, 1);
  EXPECT_EQ(codeOf([&] { events.flush(); }), ErrorCode::fileAccess);
}

}  // namespace tensorboard_test
}  // namespace burtorch
