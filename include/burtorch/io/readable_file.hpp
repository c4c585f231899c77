// A file that is open for reading, and is a regular one: a directory, a pipe or a device is an error at once and is never
// waited for. Its size is known before the first byte is read.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

#include "../base/check.hpp"
#include "printable.hpp"

namespace burtorch::inline BURTORCH_TARGET {

class ReadableFile {
 public:
  explicit ReadableFile(const std::string& name) : name_(name) {
    // A name ends at its first zero for the system, which would open another file than the one that was given.
    if (name.find('\0') != std::string::npos)
      refuse("its name contains a zero byte", ErrorCode::invalidArgument);
    // O_NONBLOCK: a pipe without a writer would let open wait forever. O_NOCTTY: a terminal must not become ours.
    number_ = open(name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (number_ < 0) refuse(reasonOf(errno));
    struct stat status {};
    if (fstat(number_, &status) != 0) giveUp(std::strerror(errno));
    if (S_ISDIR(status.st_mode)) giveUp("it is a directory; give the name of a file");
    if (!S_ISREG(status.st_mode)) giveUp(notRegular);
    size_ = static_cast<std::uintmax_t>(status.st_size);
  }
  ReadableFile(const ReadableFile&) = delete;
  ReadableFile& operator=(const ReadableFile&) = delete;
  ~ReadableFile() {
    if (number_ >= 0) close(number_);
  }

  int number() const { return number_; }
  std::uintmax_t size() const { return size_; }

  [[noreturn]] void refuse(const char* reason, ErrorCode code = ErrorCode::fileAccess) const {
    fail(code, "cannot read '%s': %s", printable(name_, 120).c_str(), reason);
  }

 private:
  static constexpr const char* notRegular = "it is a pipe, a socket or a device; copy it to a file first";

  static const char* reasonOf(int error) {
    switch (error) {
      case ENOENT: return "there is no such file; is the name right?";
      case EACCES: return "reading it is not permitted; change its permissions or take a copy";
      case ENXIO:
      case ENODEV: return notRegular;
      default: return std::strerror(error);
    }
  }
  /// A constructor that fails runs no destructor.
  [[noreturn]] void giveUp(const char* reason) {
    close(number_);
    refuse(reason);
  }

  const std::string& name_;  // the caller's: a file is open only as long as one call needs it
  int number_ = -1;
  std::uintmax_t size_ = 0;
};

}  // namespace burtorch::inline BURTORCH_TARGET
