// Numbers of a run as TensorBoard draws them, while it trains or afterwards: `tensorboard --logdir FOLDER`.
//
//   EventFile events("runs/gpt-1");
//   events.scalar("loss/train", step, loss);
//   training.run(events.observer());             // or events.add(step) in your own observer
//   events.flush();                              // fails if something could not be written
//
// Written by hand: the format is a length, a checksum (crc32c.hpp) and a protobuf message of four fields, and the
// libraries of protobuf and TensorFlow would be a hundred times this file.
//
// It is a log. Records wait in memory and are appended some hundreds at a time; a crash loses those that waited and leaves
// whole records, and perhaps the beginning of one, which TensorBoard passes over. Nothing is synced to the disk.
//
// A disk that is full does not end a training of hours for the sake of its curve: `scalar` and `add` go on, what is not
// written waits (up to a megabyte, then values are lost and counted) and is tried again, `flush` reports it. The destructor
// tries too, and says nothing. Not for two threads at once.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "../base/check.hpp"
#include "../data/utf8.hpp"
#include "../train/training.hpp"
#include "crc32c.hpp"
#include "printable.hpp"

namespace burtorch::inline BURTORCH_TARGET {

static_assert(std::endian::native == std::endian::little, "event files hold little-endian numbers");

struct EventFileOptions {
  /// A value waits no longer for the file than until the first value that comes so much later. 0: it does not wait.
  double flushSeconds = 5;
  /// What earlier files of the folder say of this step and later ones is no longer drawn: a run that goes on gives the
  /// step that comes next, and one that starts again in its folder replaces the old curves.
  std::uint64_t firstStep = 0;
};

namespace protobuf {

inline void appendVarint(std::string& message, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) message += static_cast<char>((number & 0x7FU) | 0x80U);
  message += static_cast<char>(number);
}
inline void appendInteger(std::string& message, unsigned field, std::uint64_t number) {
  appendVarint(message, field << 3);
  appendVarint(message, number);
}
inline void appendBytes(std::string& message, unsigned field, std::string_view bytes) {
  appendVarint(message, (field << 3) | 2U);
  appendVarint(message, bytes.size());
  message += bytes;
}
/// The bytes of a number as they lie in memory.
template <class Number> void appendRaw(std::string& message, Number number) {
  char bytes[sizeof number];
  std::memcpy(bytes, &number, sizeof number);
  message.append(bytes, sizeof bytes);
}
inline void appendDouble(std::string& message, unsigned field, double number) {
  appendVarint(message, (field << 3) | 1U);
  appendRaw(message, number);
}
inline void appendFloat(std::string& message, unsigned field, float number) {
  appendVarint(message, (field << 3) | 5U);
  appendRaw(message, number);
}

}  // namespace protobuf

/// One new file of events in a folder that exists. All files of a folder are one run, in the order of their names: a run
/// that goes on makes a further file, another run takes another folder.
class EventFile {
 public:
  explicit EventFile(const std::string& folder, const EventFileOptions& options = {})
      : options_(options), lastTry_(secondsNow()) {
    std::string version = eventAt(lastTry_, 0);
    protobuf::appendBytes(version, 3, "brain.Event:2");
    appendRecord(version);
    // The start of a session. From the second one on, TensorBoard forgets what came later; so the first must be there too.
    std::string start = eventAt(lastTry_, options.firstStep), status;
    protobuf::appendInteger(status, 1, 1);
    protobuf::appendBytes(start, 7, status);
    appendRecord(start);
    create(folder);
    if (const int reason = writeWaiting(); reason != 0) {
      unlink(path_.c_str());
      closeFile();
      fail(ErrorCode::fileAccess, "cannot write '%s': %s; make room or choose another folder",
           printable(path_).c_str(), std::strerror(reason));
    }
  }
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;
  ~EventFile() {
    writeWaiting();
    closeFile();
  }

  /// FOLDER/events.out.tfevents.SECONDS.burtorch.PROCESS.NUMBER
  const std::string& path() const { return path_; }

  /// The value of a curve at a step below 2^63, rounded to float. A tag may be any bytes; those that are not UTF-8 are
  /// shown as U+FFFD. Tags with the same word before a '/' are drawn together.
  void scalar(std::string_view tag, std::uint64_t step, double value) {
    const double now = secondsNow();
    std::string named, summary, event = eventAt(now, step);
    protobuf::appendBytes(named, 1, asUtf8(tag));  // a reader refuses messages with other text
    protobuf::appendFloat(named, 2, static_cast<float>(value));
    protobuf::appendBytes(summary, 1, named);
    protobuf::appendBytes(event, 5, summary);
    if (waiting_.size() < mostBytesWaiting)
      appendRecord(event);
    else
      ++lost_;
    if (++sinceTry_ < recordsPerWrite && now - lastTry_ < options_.flushSeconds) return;
    lastTry_ = now;
    writeWaiting();
  }

  /// What an observer of a training sees. A step that was not taken, its loss or gradient not being finite, has no rate.
  void add(const TrainingStep& step) {
    scalar("loss/train", step.step, step.loss);
    scalar("gradient_norm", step.step, step.gradientNorm);
    if (step.isEvaluated()) scalar("loss/validation", step.step, step.validationLoss);
    if (std::isfinite(step.loss) && std::isfinite(step.gradientNorm))
      scalar("learning_rate", step.step, step.learningRate);
  }
  /// For Training::run: adds every step and stops none. The file must outlive it.
  auto observer() {
    return [this](const TrainingStep& step) {
      add(step);
      return true;
    };
  }

  /// Everything is in the file now, or this fails and says why; the file can be used on.
  void flush() {
    if (const int reason = writeWaiting(); reason != 0)
      fail(ErrorCode::fileAccess, "cannot write '%s': %s; make room there, %zu bytes wait for the next flush",
           printable(path_).c_str(), std::strerror(reason), waiting_.size());
    if (lost_ == 0) return;
    const std::uint64_t lost = std::exchange(lost_, 0);
    fail(ErrorCode::fileAccess,
         "'%s' lacks %llu values of a time when it could not be written; keep room on its disk",
         printable(path_).c_str(), static_cast<unsigned long long>(lost));
  }

 private:
  static constexpr std::size_t recordsPerWrite = 256, mostBytesWaiting = 1 << 20;

  static double secondsNow() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
  static std::string eventAt(double seconds, std::uint64_t step) {
    if (step > INT64_MAX)
      fail("an event at step %llu: the format counts to 2^63 - 1; count from 0 or 1",
           static_cast<unsigned long long>(step));
    std::string event;
    protobuf::appendDouble(event, 1, seconds);
    protobuf::appendInteger(event, 2, step);
    return event;
  }

  void create(const std::string& folder) {
    if (folder.find('\0') != std::string::npos)
      fail("cannot write events to '%s': its name contains a zero byte", printable(folder).c_str());
    // A host would follow the seconds. Its name is nobody's business; O_EXCL keeps files of two hosts apart, too.
    char name[96];
    for (unsigned number = 0;; ++number) {
      std::snprintf(name, sizeof name, "events.out.tfevents.%010lld.burtorch.%lld.%u",
                    static_cast<long long>(lastTry_), static_cast<long long>(getpid()), number);
      path_ = (folder.empty() ? "." : folder) + "/" + name;
      file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
      if (file_ >= 0) return;
      if (errno != EEXIST) break;
    }
    const int reason = errno;
    const bool isMissing = reason == ENOENT || reason == ENOTDIR;
    fail(ErrorCode::fileAccess, "cannot write events to the folder '%s': %s; %s", printable(folder).c_str(),
         std::strerror(reason), isMissing ? "make it first" : "choose another one or change its permissions");
  }

  void appendRecord(const std::string& message) {
    std::string length;
    protobuf::appendRaw(length, std::uint64_t{message.size()});
    waiting_ += length;
    protobuf::appendRaw(waiting_, maskedCrc32c(length));
    waiting_ += message;
    protobuf::appendRaw(waiting_, maskedCrc32c(message));
  }
  /// 0, or the reason why something still waits. What was written of a record is not written again.
  int writeWaiting() {
    std::size_t done = 0;
    int reason = 0;
    while (done < waiting_.size() && reason == 0) {
      const ssize_t written = ::write(file_, waiting_.data() + done, waiting_.size() - done);
      if (written > 0)
        done += static_cast<std::size_t>(written);
      else if (written == 0 || errno != EINTR)
        reason = written == 0 ? EIO : errno;
    }
    waiting_.erase(0, done);
    sinceTry_ = 0;
    return reason;
  }
  void closeFile() {
    if (file_ >= 0) close(file_);
    file_ = -1;
  }

  EventFileOptions options_;
  double lastTry_;  // when it was last written to, in seconds since 1970
  std::size_t sinceTry_ = 0;
  std::string path_, waiting_;
  int file_ = -1;
  std::uint64_t lost_ = 0;
};

}  // namespace burtorch::inline BURTORCH_TARGET
