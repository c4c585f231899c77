// A file as memory: read-only, without a copy, and loaded by the system as it is read.
//
// Only regular files (readable_file.hpp). Opening costs the same for any size, so a limit (`maxBytes`) is for what the
// caller will do with the bytes. The file should not be shortened while it is mapped: the system answers reads of pages
// that are gone with the signal SIGBUS.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "../base/check.hpp"
#include "printable.hpp"
#include "readable_file.hpp"

namespace burtorch::inline BURTORCH_TARGET {

struct MapOptions {
  /// A larger file is an error. No view can be larger than the default.
  std::size_t maxBytes = PTRDIFF_MAX;
  /// The bytes may be changed in memory, page by page as needed; the file is not.
  bool isCopiedOnWrite = false;
};

class MappedFile {
 public:
  /// Maps the file of this name.
  explicit MappedFile(const std::string& name, const MapOptions& options = {}) {
    const ReadableFile file(name);
    if (file.size() == 0) file.refuse("it is empty; give a file with at least one byte", ErrorCode::badFile);
    if (file.size() > options.maxBytes)
      fail(ErrorCode::badFile,
           "cannot read '%s': it has %ju bytes, and at most %zu are allowed; take a part of it",
           printable(name, 120).c_str(), file.size(), options.maxBytes);
    const auto bytes = static_cast<std::size_t>(file.size());
    const int access = options.isCopiedOnWrite ? PROT_READ | PROT_WRITE : PROT_READ;
    void* place = mmap(nullptr, bytes, access, MAP_PRIVATE, file.number(), 0);
    if (place == MAP_FAILED) file.refuse(std::strerror(errno));
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
  /// To be changed; only of a file that is copied on write.
  std::span<std::byte> ownBytes() {
    return {reinterpret_cast<std::byte*>(const_cast<char*>(text_.data())), text_.size()};
  }

 private:
  std::string_view text_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
