// A file that is replaced as a whole or not at all. What is written goes into a temporary beside it, `commit` gives the
// temporary the file's name; before that, readers and a crash see the old file, after it the new one.
//
// An error removes the temporary and leaves the old file. Writers of one file do not disturb each other: each has its
// own temporary, and the last commit stands. A process that is killed leaves its temporary (.NAME.HEX.partial) behind,
// and the next save of the same file removes it: a living writer holds a lock on its temporary, so one without a lock
// has no owner. Cost beside the writing: two fsyncs, and one look through the folder.
//
// The new file has the permissions of any new file (umask), whatever the old one had. A link is followed: it stays, and
// the file it leads to is replaced.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "../base/check.hpp"
#include "printable.hpp"

namespace burtorch::inline BURTORCH_TARGET {

struct SaveOptions {
  /// The file is on the disk when the save returns. False is faster: a crash of the program does no harm either, but
  /// after a power cut the file may be empty.
  bool durable = true;
};

namespace detail {

/// Writes everything; returns 0 or the system's error.
inline int writeAll(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written > 0)
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    else if (written == 0 || errno != EINTR)
      return written == 0 ? EIO : errno;
  }
  return 0;
}

/// What to do about an error of the system.
inline const char* adviceFor(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return ", make room there";
    case EACCES:
    case EPERM:
    case EROFS: return ", choose another folder or change its permissions";
    case ENOENT:
    case ENOTDIR: return ", is the path right?";
    default: return "";
  }
}

}  // namespace detail

/// One save: write as often as you like, then commit. Without commit nothing happens to the file.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& path, const SaveOptions& options = {})
      : path_(path), options_(options) {
    findPlace();
    removeLeftovers();
    createTemporary();
  }
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile() { discard(); }

  void write(std::span<const std::byte> bytes) {
    checkOpen();
    if (const int error = detail::writeAll(file_, bytes); error != 0) giveUp("writing failed", error);
  }

  /// The file now holds what was written.
  void commit() {
    checkOpen();
    if (options_.durable && !sync(file_)) giveUp("writing to the disk failed", errno);
    if (!closesWell(file_)) giveUp("closing the file failed", errno);
    if (renameat(folder_, temporary_.c_str(), folder_, name_.c_str()) != 0)
      giveUp("the new file cannot take its name", errno);
    temporary_.clear();
    // EINVAL: a file system that does not sync folders.
    const bool isSynced = !options_.durable || sync(folder_) || errno == EINVAL;
    const int reason = errno;
    discard();
    if (!isSynced)
      fail(ErrorCode::fileAccess, "'%s' was saved, but may be lost in a power cut: %s; save it again",
           printable(path_).c_str(), std::strerror(reason));
  }

 private:
  static constexpr std::string_view suffix = ".partial";
  static constexpr std::size_t randomDigits = 16;

  /// Opens the folder; everything else happens relative to it, even if its path leads elsewhere meanwhile.
  void findPlace() {
    if (path_.find('\0') != std::string::npos)
      refuse("its name contains a zero byte", ErrorCode::invalidArgument);
    const std::string path = behindLinks();
    const std::size_t slash = path.rfind('/');
    name_ = slash == std::string::npos ? path : path.substr(slash + 1);
    if (name_.empty() || name_ == "." || name_ == "..") refuse("it is a folder; add the name of a file");
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    folder_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder_ < 0) giveUp("its folder cannot be opened", errno);
    struct stat status {};
    if (fstatat(folder_, name_.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(status.st_mode)) {
      discard();
      refuse("there is a folder, pipe or device of this name; choose another one");
    }
    // A file's name has at most 255 bytes; of a long one the temporary carries a part.
    prefix_ = "." + name_.substr(0, 200) + ".";
  }
  std::string behindLinks() const {
    struct stat status {};
    if (lstat(path_.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path_;
    char* real = realpath(path_.c_str(), nullptr);
    if (real == nullptr) refuse("it is a link that leads to no file; remove the link");
    std::string result = real;
    std::free(real);
    return result;
  }

  /// Removes what killed saves of this file left. Leftovers that cannot be removed do no harm, so this never fails.
  void removeLeftovers() {
    const int copy = openat(folder_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* list = copy < 0 ? nullptr : fdopendir(copy);
    if (list == nullptr) {
      if (copy >= 0) close(copy);
      return;
    }
    while (const dirent* entry = readdir(list)) {
      if (!isTemporary(entry->d_name)) continue;
      const int leftover = openat(folder_, entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
      if (leftover < 0) continue;
      // The name is never used again, so this removes the file that was locked or, if it was renamed meanwhile, nothing.
      if (isRegular(leftover) && flock(leftover, LOCK_EX | LOCK_NB) == 0) unlinkat(folder_, entry->d_name, 0);
      close(leftover);
    }
    closedir(list);
  }
  bool isTemporary(std::string_view name) const {
    if (name.size() != prefix_.size() + randomDigits + suffix.size()) return false;
    if (!name.starts_with(prefix_) || !name.ends_with(suffix)) return false;
    const std::string_view digits = name.substr(prefix_.size(), randomDigits);
    return digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  }
  static bool isRegular(int file) {
    struct stat status {};
    return fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  }

  void createTemporary() {
    for (int attempt = 0; attempt < 100; ++attempt) {
      std::uint64_t random = 0;
      if (getentropy(&random, sizeof random) != 0) giveUp("the system gives no random number", errno);
      char digits[randomDigits + 1];
      std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(random));
      std::string name = prefix_ + digits + std::string(suffix);
      // O_EXCL: never a file or link that is already there.
      file_ = openat(folder_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
      if (file_ < 0 && errno == EEXIST) continue;
      if (file_ < 0) giveUp("no file can be made in its folder", errno);
      temporary_ = std::move(name);
      if (lockTemporary()) return;
      removeTemporary();
    }
    giveUp("no temporary can be made in its folder", EEXIST);
  }
  /// False if another save took the temporary for a leftover, in the moment between its birth and its lock.
  bool lockTemporary() const {
    // A file system without locks is no reason to save nothing; leftovers stay there.
    if (flock(file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return false;
    struct stat status {};
    return fstat(file_, &status) != 0 || status.st_nlink > 0;
  }

  /// Some file systems (NFS) report a full disk only when a file is closed. A copy of the descriptor is closed for that:
  /// closing the file itself would release the lock before the temporary has its final name.
  static bool closesWell([[maybe_unused]] int file) {
#ifdef __EMSCRIPTEN__  // whose dup (3.1.6) opens the file once more, which O_EXCL forbids
    return true;
#else
    const int copy = dup(file);
    return copy >= 0 && (close(copy) == 0 || errno == EINTR);
#endif
  }
  static bool sync(int file) {
    int result = fsync(file);
    while (result != 0 && errno == EINTR) result = fsync(file);
    return result == 0;
  }
  void checkOpen() const {
    if (file_ < 0) refuse("this save is over; begin another one", ErrorCode::invalidArgument);
  }
  void removeTemporary() {
    if (!temporary_.empty()) unlinkat(folder_, temporary_.c_str(), 0);
    temporary_.clear();
    if (file_ >= 0) close(file_);
    file_ = -1;
  }
  void discard() {
    removeTemporary();
    if (folder_ >= 0) close(folder_);
    folder_ = -1;
  }

  [[noreturn]] void refuse(const char* why, ErrorCode code = ErrorCode::fileAccess) const {
    fail(code, "cannot save '%s': %s", printable(path_).c_str(), why);
  }
  [[noreturn]] void giveUp(const char* what, int reason) {
    // Before fail and not in the destructor: without exceptions no destructor runs.
    discard();
    fail(ErrorCode::fileAccess, "cannot save '%s': %s (%s)%s; nothing was changed", printable(path_).c_str(),
         what, std::strerror(reason), detail::adviceFor(reason));
  }

  std::string path_, name_, prefix_, temporary_;
  SaveOptions options_;
  int folder_ = -1, file_ = -1;
};

}  // namespace burtorch::inline BURTORCH_TARGET
