// Saves in which one system call fails: each call in turn, with each reason. The functions of the system are replaced by
// ones that fail when they are told to, so this file is a program of its own.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstddef>

namespace {

/// What the replaced functions do.
struct Faults {
  int failAt = -1;  // which call fails, counted from 0; none if negative
  int reason = 0;   // its errno
  int calls = 0;    // so far
  const char* failed = "";
  std::size_t largestWrite = 1 << 30;

  bool fails(const char* function) {
    if (calls++ != failAt) return false;
    failed = function;
    errno = reason;
    return true;
  }
} faults;
bool isWatching = false;
bool failsNow(const char* function) { return isWatching && faults.fails(function); }

}  // namespace

extern "C" {
ssize_t write(int file, const void* from, size_t bytes) {
  if (failsNow("write")) return -1;
  if (isWatching && bytes > faults.largestWrite) bytes = faults.largestWrite;
  return syscall(SYS_write, file, from, bytes);
}
int fsync(int file) { return failsNow("fsync") ? -1 : static_cast<int>(syscall(SYS_fsync, file)); }
int dup(int file) noexcept { return failsNow("dup") ? -1 : static_cast<int>(syscall(SYS_dup, file)); }
int flock(int file, int how) noexcept {
  return failsNow("flock") ? -1 : static_cast<int>(syscall(SYS_flock, file, how));
}
int renameat(int from, const char* name, int to, const char* newName) noexcept {
  if (failsNow("renameat")) return -1;
  return static_cast<int>(syscall(SYS_renameat2, from, name, to, newName, 0));
}
int openat(int folder, const char* name, int flags, ...) {
  if (failsNow("openat")) return -1;
  std::va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return static_cast<int>(syscall(SYS_openat, folder, name, flags, mode));
}
int getentropy(void* to, size_t bytes) {
  if (failsNow("getentropy")) return -1;
  return syscall(SYS_getrandom, to, bytes, 0) == static_cast<long>(bytes) ? 0 : -1;
}
}

#include <cstring>
#include <map>

#include "burtorch/io/atomic_file.hpp"
#include "io/scratch.hpp"
#include "reference/error_sentence.hpp"

namespace burtorch {
namespace {

std::string saveWith(const Faults& wanted, const std::string& path, std::string_view content) {
  faults = wanted;
  isWatching = true;
  const std::string sentence = sentenceOf([&] {
    AtomicFile file(path);
    file.write(std::as_bytes(std::span(content.data(), content.size() / 2)));
    file.write(
        std::as_bytes(std::span(content.data() + content.size() / 2, content.size() - content.size() / 2)));
    file.commit();
  });
  isWatching = false;
  return sentence;
}
std::size_t openFiles() {
  const auto all = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

TEST(AtomicFileFaults, EachCallInTurnLeavesTheOldFileAndNothingElse) {
  const Scratch scratch;
  const std::string path = scratch.path("f");
  std::map<std::string, int> failures;
  for (const int reason : {ENOSPC, EIO, EDQUOT, EACCES, ENOLCK, EMFILE})
    for (int call = 0;; ++call) {
      scratch.put("f", "old");
      const std::size_t before = openFiles();
      const std::string sentence = saveWith({.failAt = call, .reason = reason}, path, "new content");
      const std::string place =
          std::string(faults.failed) + ", call " + std::to_string(call) + ": " + sentence;
      EXPECT_EQ(openFiles(), before) << place;
      EXPECT_EQ(scratch.entries(), std::vector<std::string>{"f"}) << place;
      if (faults.calls <= call) break;  // there are no more
      if (sentence.empty()) {
        EXPECT_EQ(contentOf(path), "new content") << place;
        continue;
      }
      ++failures[faults.failed];
      EXPECT_TRUE(contains(sentence, std::strerror(reason)) && contains(sentence, path)) << place;
      const bool isRenamed = contains(sentence, "was saved, but may be lost");
      EXPECT_NE(isRenamed, contains(sentence, "nothing was changed")) << place;
      EXPECT_EQ(contentOf(path), isRenamed ? "new content" : "old") << place;
    }
  // The listing of leftovers and the lock may fail without harm; everything else is reported.
  const std::map<std::string, int> all{{"dup", 6},    {"fsync", 12},   {"getentropy", 6},
                                       {"openat", 6}, {"renameat", 6}, {"write", 12}};
  EXPECT_EQ(failures, all);
}
TEST(AtomicFileFaults, ShortWritesAndInterruptionsChangeNothing) {
  const Scratch scratch;
  const std::string path = scratch.path("f"), content = "some twenty letters ";
  for (std::size_t most = 1; most <= content.size(); ++most) {
    scratch.put("f", "old");
    EXPECT_EQ(saveWith({.largestWrite = most}, path, content), "");
    EXPECT_EQ(contentOf(path), content);
  }
  std::size_t interruptions = 0;
  for (int call = 0; call < 30; ++call) {
    const std::string sentence =
        saveWith({.failAt = call, .reason = EINTR, .largestWrite = 3}, path, content);
    const std::string_view failed = faults.failed;
    if (failed != "write" && failed != "fsync") continue;
    ++interruptions;
    EXPECT_EQ(sentence, "") << failed;
    EXPECT_EQ(contentOf(path), content);
  }
  EXPECT_EQ(interruptions, 2 * 4 + 2U);
}
TEST(AtomicFileFaults, AFileSystemThatDoesNotSyncFoldersIsAccepted) {
  const Scratch scratch;
  const std::string path = scratch.path("f");
  int accepted = 0;
  for (int call = 0; call < 30; ++call) {
    const std::string sentence = saveWith({.failAt = call, .reason = EINVAL}, path, "new");
    if (std::string_view(faults.failed) == "fsync") accepted += sentence.empty();
  }
  EXPECT_EQ(accepted, 1);
}
TEST(AtomicFileFaults, ATemporaryThatIsTakenForALeftoverIsMadeAgain) {
  const Scratch scratch;
  int locks = 0;
  for (int call = 0; call < 30; ++call) {
    const std::string sentence = saveWith({.failAt = call, .reason = EWOULDBLOCK}, scratch.path("f"), "new");
    if (std::string_view(faults.failed) != "flock") continue;
    ++locks;
    EXPECT_EQ(sentence, "");
    EXPECT_EQ(scratch.entries(), std::vector<std::string>{"f"});
  }
  EXPECT_EQ(locks, 1);
}

}  // namespace
}  // namespace burtorch
