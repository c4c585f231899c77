// A file as memory: read-only, without a copy, and loaded by the system as it is read.
//
// Only regular files: a directory, a pipe or a device is an error at once and is never waited for. Opening costs the
// same for any size, so a limit (`maxBytes`) is for what the caller will do with the bytes. The file should not be
// shortened while it is mapped: the system answers reads of pages that are gone with the signal SIGBUS.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "../core/check.hpp"

namespace burtorch {

struct MapOptions {
  /// A larger file is an error. No view can be larger than the default.
  std::size_t maxBytes = PTRDIFF_MAX;
};

class MappedFile {
 public:
  /// Maps the file of this name.
  explicit MappedFile(const std::string& name, const MapOptions& options = {}) {
    // A name ends at its first zero for the system, which would open another file than the one that was given.
    if (name.find('\0') != std::string::npos) refuse(name, "its name contains a zero byte");
    const Descriptor file{openWithoutWaiting(name)};
    const std::size_t bytes = sizeOf(name, file.number, options.maxBytes);
    void* place = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file.number, 0);
    if (place == MAP_FAILED) refuse(name, std::strerror(errno));
    text_ = {static_cast<const char*>(place), bytes};
  }
  MappedFile(MappedFile&& other) noexcept : text_(std::exchange(other.text_, {})) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(text_, other.text_);
    return *this;
  }
  ~MappedFile() {
    if (!text_.empty()) munmap(const_cast<char*>(text_.data()), text_.size());
  }

  std::size_t size() const { return text_.size(); }
  std::string_view text() const { return text_; }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(text_.data(), text_.size())); }

 private:
  /// An open file; the mapping outlives it.
  struct Descriptor {
    explicit Descriptor(int opened) : number(opened) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() { close(number); }
    int number;
  };

  static int openWithoutWaiting(const std::string& name) {
    // O_NONBLOCK: a pipe without a writer would let open wait forever. O_NOCTTY: a terminal must not become ours.
    const int number = open(name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (number >= 0) return number;
    if (errno == ENOENT) refuse(name, "there is no such file; is the name right?");
    if (errno == EACCES) refuse(name, "reading it is not permitted; change its permissions or take a copy");
    if (errno == ENXIO || errno == ENODEV) refuse(name, notRegular);
    refuse(name, std::strerror(errno));
  }
  static std::size_t sizeOf(const std::string& name, int number, std::size_t maxBytes) {
    struct stat status {};
    if (fstat(number, &status) != 0) refuse(name, std::strerror(errno));
    if (S_ISDIR(status.st_mode)) refuse(name, "it is a directory; give the name of a file");
    if (!S_ISREG(status.st_mode)) refuse(name, notRegular);
    if (status.st_size == 0) refuse(name, "it is empty; give a file with at least one byte");
    const auto bytes = static_cast<std::uintmax_t>(status.st_size);
    if (bytes > maxBytes)
      fail("cannot read '%s': it has %ju bytes, and at most %zu are allowed; take a part of it",
           shortened(name).c_str(), bytes, maxBytes);
    return static_cast<std::size_t>(bytes);
  }

  [[noreturn]] static void refuse(const std::string& name, const char* reason) {
    fail("cannot read '%s': %s", shortened(name).c_str(), reason);
  }
  /// The name, or its end if it is long, so that the reason has room behind it; control characters become '?', since
  /// a sentence may be shown on a terminal.
  static std::string shortened(const std::string& name) {
    constexpr std::size_t longest = 120;
    std::string result = name.size() <= longest ? name : "..." + name.substr(name.size() - longest + 3);
    for (char& c : result)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
    return result;
  }

  static constexpr const char* notRegular = "it is a pipe, a socket or a device; copy it to a file first";
  std::string_view text_;
};

}  // namespace burtorch
