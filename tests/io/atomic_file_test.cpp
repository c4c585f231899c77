// Files that are replaced as a whole or not at all: errors, kills and other writers leave the old or the new file.
#include "burtorch/io/atomic_file.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "io/scratch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace atomic_file_test {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

std::span<const std::byte> bytesOf(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
void save(const std::string& path, std::string_view content, const SaveOptions& options = {}) {
  AtomicFile file(path, options);
  file.write(bytesOf(content));
  file.commit();
}
std::string sentenceOfSave(const std::string& path) {
  return sentenceOf([&] { save(path, "new"); });
}

TEST(AtomicFile, WritesANewFile) {
  const Scratch scratch;
  save(scratch.path("f"), "new");
  EXPECT_EQ(contentOf(scratch.path("f")), "new");
  EXPECT_EQ(scratch.entries(), Names{"f"});
}
TEST(AtomicFile, ReplacesAnOldFile) {
  const Scratch scratch;
  save(scratch.put("f", "an old and longer one"), "new", {.durable = false});
  EXPECT_EQ(contentOf(scratch.path("f")), "new");
  EXPECT_EQ(scratch.entries(), Names{"f"});
}
TEST(AtomicFile, PutsPartsOneAfterTheOther) {
  const Scratch scratch;
  AtomicFile file(scratch.path("f"));
  for (const char* part : {"one", "", "two", "three"}) file.write(bytesOf(part));
  file.commit();
  EXPECT_EQ(contentOf(scratch.path("f")), "onetwothree");
}
TEST(AtomicFile, WithoutCommitNothingHappens) {
  const Scratch scratch;
  scratch.put("f", "old");
  { AtomicFile(scratch.path("f")).write(bytesOf("new")); }
  EXPECT_EQ(contentOf(scratch.path("f")), "old");
  EXPECT_EQ(scratch.entries(), Names{"f"});
}
TEST(AtomicFile, IsOverAfterCommit) {
  const Scratch scratch;
  AtomicFile file(scratch.path("f"));
  file.commit();
  EXPECT_TRUE(contains(sentenceOf([&] { file.write(bytesOf("x")); }), "this save is over"));
  EXPECT_TRUE(contains(sentenceOf([&] { file.commit(); }), "this save is over"));
  EXPECT_EQ(contentOf(scratch.path("f")), "");
}
TEST(AtomicFile, TakesNamesOfTheLargestLength) {
  const Scratch scratch;
  const std::string longest(255, 'n');
  save(scratch.path(longest), "new");
  EXPECT_EQ(scratch.entries(), Names{longest});
  EXPECT_TRUE(contains(sentenceOfSave(scratch.path(longest + "n")), "nothing was changed"));
}
TEST(AtomicFile, TakesAPathWithoutFolder) {
  const Scratch scratch;
  const fs::path before = fs::current_path();
  fs::current_path(scratch.folder());
  save("f", "new");
  fs::current_path(before);
  EXPECT_EQ(contentOf(scratch.path("f")), "new");
}
TEST(AtomicFile, HasThePermissionsOfANewFile) {
  const Scratch scratch;
  fs::permissions(scratch.put("f", "old"), fs::perms::owner_all);
  for (const mode_t mask : {022U, 077U, 002U}) {
    const mode_t before = umask(mask);
    save(scratch.path("f"), "new");
    umask(before);
    EXPECT_EQ(static_cast<mode_t>(fs::status(scratch.path("f")).permissions()), 0666U & ~mask);
  }
}

TEST(AtomicFile, RefusesWhatIsNoFile) {
  const Scratch scratch;
  fs::create_directory(scratch.path("folder"));
  ASSERT_EQ(mkfifo(scratch.path("pipe").c_str(), 0600), 0);
  for (const char* name : {"folder", "pipe"})
    EXPECT_TRUE(contains(sentenceOfSave(scratch.path(name)), "folder, pipe or device")) << name;
  {
    const WithoutPrivileges user;  // a bug must not cost the machine its /dev/null
    EXPECT_TRUE(contains(sentenceOfSave("/dev/null"), "folder, pipe or device"));
  }
  for (const char* name : {"", ".", "..", "folder/"})
    EXPECT_TRUE(contains(sentenceOfSave(scratch.path(name)), "it is a folder")) << name;
  EXPECT_TRUE(contains(sentenceOfSave(""), "it is a folder"));
  EXPECT_TRUE(contains(sentenceOfSave(scratch.path(std::string("f\0g", 3))), "a zero byte"));
  EXPECT_EQ(scratch.entries().size(), 2U);
}
TEST(AtomicFile, NamesPathAndReasonOfAFolderThatIsMissing) {
  const std::string sentence = sentenceOfSave("/nowhere/at/all/f");
  EXPECT_TRUE(contains(sentence, "/nowhere/at/all/f")) << sentence;
  EXPECT_TRUE(contains(sentence, "No such file or directory")) << sentence;
}
TEST(AtomicFile, LeavesAReadOnlyFolderAlone) {
  const Scratch scratch;
  scratch.put("f", "old");
  fs::permissions(scratch.folder(), fs::perms(0555));
  {
    const WithoutPrivileges user;
    EXPECT_TRUE(contains(sentenceOfSave(scratch.path("f")), "Permission denied"));
  }
  EXPECT_EQ(contentOf(scratch.path("f")), "old");
  EXPECT_EQ(scratch.entries(), Names{"f"});
}
TEST(AtomicFile, AFullDiskLeavesTheOldFile) {
  const Scratch scratch;
  scratch.put("f", "old");
  std::string sentence;
  {
    const FullDisk disk(10'000);
    sentence = sentenceOf([&] { save(scratch.path("f"), std::string(10'001, 'x')); });
  }
  EXPECT_TRUE(contains(sentence, "File too large")) << sentence;
  EXPECT_TRUE(contains(sentence, "nothing was changed")) << sentence;
  EXPECT_EQ(contentOf(scratch.path("f")), "old");
  EXPECT_EQ(scratch.entries(), Names{"f"});
}

TEST(AtomicFile, FollowsALink) {
  const Scratch scratch;
  fs::create_directory(scratch.path("elsewhere"));
  scratch.put("elsewhere/f", "old");
  fs::create_symlink("elsewhere/f", scratch.path("link"));
  save(scratch.path("link"), "new");
  EXPECT_TRUE(fs::is_symlink(scratch.path("link")));
  EXPECT_EQ(contentOf(scratch.path("elsewhere/f")), "new");
  ASSERT_EQ(mkfifo(scratch.path("pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", scratch.path("to a pipe"));
  EXPECT_TRUE(contains(sentenceOfSave(scratch.path("to a pipe")), "folder, pipe or device"));
  fs::create_symlink("nowhere", scratch.path("dangling"));
  EXPECT_TRUE(contains(sentenceOfSave(scratch.path("dangling")), "leads to no file"));
}

TEST(AtomicFile, RemovesWhatKilledSavesOfThisFileLeft) {
  const Scratch scratch;
  scratch.put(".f.0123456789abcdef.partial", "half");
  for (const char* other :
       {".g.0123456789abcdef.partial", ".f.0123456789abcdeX.partial", ".f.partial",
        ".f.0123456789abcdef.partial2", ".f.0123456789abcdef.x.partial", "f.0123456789abcdef.partial"})
    scratch.put(other, "of others");
  save(scratch.path("f"), "new");
  EXPECT_FALSE(fs::exists(scratch.path(".f.0123456789abcdef.partial")));
  EXPECT_EQ(scratch.entries().size(), 7U);
}
TEST(AtomicFile, LeavesTemporariesOfLivingWriters) {
  const Scratch scratch;
  AtomicFile living(scratch.path("f"));
  living.write(bytesOf("of the living"));
  save(scratch.path("f"), "new");
  EXPECT_EQ(scratch.entries().size(), 2U);
  living.commit();
  EXPECT_EQ(contentOf(scratch.path("f")), "of the living");
  EXPECT_EQ(scratch.entries(), Names{"f"});
}
TEST(AtomicFile, TouchesNothingThatPosesAsATemporary) {
  const Scratch scratch;
  scratch.put("victim", "precious");
  fs::create_symlink("victim", scratch.path(".f.0123456789abcdef.partial"));
  fs::create_directory(scratch.path(".f.1123456789abcdef.partial"));
  ASSERT_EQ(mkfifo(scratch.path(".f.2123456789abcdef.partial").c_str(), 0600), 0);
  save(scratch.path("f"), "new");
  EXPECT_EQ(contentOf(scratch.path("victim")), "precious");
  EXPECT_EQ(scratch.entries().size(), 5U);
}

TEST(AtomicFile, AKillLeavesTheOldOrTheNewFile) {
  const Scratch scratch;
  const std::string path = scratch.path("f");
  const std::string contents[] = {std::string(300'000, 'a'), std::string(200'000, 'b')};
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  save(path, contents[0]);
  std::size_t leftovers = 0;
  for (int kill = 0; kill < 50; ++kill) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (std::size_t i = 0;; ++i) save(path, contents[i % 2], {.durable = kill % 2 == 0});
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 5'000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
    const std::string found = contentOf(path);
    ASSERT_TRUE(found == contents[0] || found == contents[1]) << "kill " << kill << ": " << found.size();
    ASSERT_LE(scratch.entries().size(), 2U) << "the save of the next child removes what this one left";
    leftovers += scratch.entries().size() - 1;
    if (kill % 10 == 9) {
      save(path, contents[1]);
      ASSERT_EQ(scratch.entries(), Names{"f"});
    }
  }
  RecordProperty("leftovers", static_cast<int>(leftovers));
}

TEST(AtomicFile, TwoWritersDoNotDisturbEachOther) {
  const Scratch scratch;
  const std::string path = scratch.path("f");
  const std::string contents[] = {std::string(30'000, 'a'), std::string(20'000, 'b')};
  save(path, contents[0]);
  std::atomic<int> running = 2;
  std::vector<std::thread> writers;
  for (const std::string& content : contents)
    writers.emplace_back([&] {
      for (int i = 0; i < 300; ++i)
        EXPECT_EQ(sentenceOf([&] { save(path, content, {.durable = false}); }), "");
      --running;
    });
  std::size_t reads = 0;
  do {
    const std::string found = contentOf(path);
    EXPECT_TRUE(found == contents[0] || found == contents[1]) << found.size();
    ++reads;
  } while (running > 0);
  for (std::thread& writer : writers) writer.join();
  EXPECT_GT(reads, 0U);
  EXPECT_EQ(scratch.entries(), Names{"f"});
}

TEST(AtomicFileErrors, HaveTheCodeOfWhatIsWrong) {
  const Scratch scratch;
  const auto code = [&](const std::string& name) { return codeOf([&] { save(scratch.path(name), "new"); }); };
  EXPECT_EQ(code("no/folder"), ErrorCode::fileAccess);
  EXPECT_EQ(code("."), ErrorCode::fileAccess);
  EXPECT_EQ(code(std::string("f\0g", 3)), ErrorCode::invalidArgument);
  AtomicFile file(scratch.path("f"));
  file.commit();
  EXPECT_EQ(codeOf([&] { file.commit(); }), ErrorCode::invalidArgument);
}

}  // namespace atomic_file_test
}  // namespace burtorch
