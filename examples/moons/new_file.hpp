// A file that appears whole or not at all: it is written under another name beside its place, and moved there at the
// end. Opened before the training starts, so that a name that cannot be written is reported at once.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "options.hpp"

namespace moons {

class NewFile {
 public:
  explicit NewFile(const std::string& name) : name_(name) {
    std::error_code ignored;
    // A link stays a link: what it points to is replaced.
    place_ = std::filesystem::weakly_canonical(name, ignored);
    if (place_.empty()) place_ = name;
    const auto status = std::filesystem::status(place_, ignored);
    if (std::filesystem::exists(status)) {
      // Renaming would replace a device, and would not ask whether the old file may be changed.
      if (!std::filesystem::is_regular_file(status)) refuse("it is not a regular file");
      if (access(place_.c_str(), W_OK) != 0) refuse(std::strerror(errno));
    }
    draft_ = place_;
    draft_ += ".new" + std::to_string(getpid());
    file_ = std::fopen(draft_.c_str(), "wx");  // x: never an existing file
    if (!file_) refuse(std::strerror(errno));
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    if (!file_) return;
    std::fclose(file_);
    std::remove(draft_.c_str());
  }

  std::FILE* stream() const { return file_; }

  /// Moves the file to its place; before this, nothing there has changed.
  void finish() {
    if (std::fflush(file_) != 0 || std::ferror(file_))
      refuse("not all of it could be stored; is the disk full?");
    if (std::rename(draft_.c_str(), place_.c_str()) != 0) refuse(std::strerror(errno));
    std::fclose(file_);
    file_ = nullptr;
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw BadInput("cannot write " + name_ + ": " + reason);
  }

  std::string name_;
  std::filesystem::path place_, draft_;
  std::FILE* file_ = nullptr;
};

}  // namespace moons
