// Ranks: processes, on one machine or many, that work on one thing and send each other bytes. This is all that the rest of the
// library knows of them; what carries the bytes is a class derived from Ranks: threads of one process (ranks_in_process.hpp) or
// MPI (mpi/mpi_ranks.hpp).
//
// Messages of one rank to another arrive whole and in the order in which they were sent. Each has a label, and who receives
// says which label must come and how long the message may be: anything else is an error before a byte of it is used. On the wire
// a message is its label, `headerBytes`, and its bytes; both are counted.
//
// Nobody waits forever. A wait is a loop that polls, and it ends with an error if the caller's stop says so, if a rank has left,
// or if nothing came for as long as the caller's patience lasts. After such an error nothing more can be received.
//
// A Ranks is used by one thread at a time.
#pragma once

#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "../base/check.hpp"

namespace burtorch {

/// What a message is: a kind and a part that are the sender's business, and a number such as that of a round.
struct MessageLabel {
  std::uint32_t kind = 0, part = 0;
  std::uint64_t number = 0;

  friend bool operator==(const MessageLabel&, const MessageLabel&) = default;
};

/// What went over the wire, labels included.
struct WireCounts {
  std::uint64_t messages = 0, bytes = 0;

  friend bool operator==(const WireCounts&, const WireCounts&) = default;
};

class Ranks {
 public:
  /// What a message takes beside its bytes.
  static constexpr std::size_t headerBytes = sizeof(MessageLabel);

  virtual ~Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  /// Which one this is, and how many there are.
  std::size_t rank() const { return rank_; }
  std::size_t size() const { return size_; }
  /// Polled by whoever waits; if it returns true the wait ends with an error of the code `stopped`.
  void setStop(std::function<bool()> stop) { stop_ = std::move(stop); }
  /// How long a rank may be silent.
  void setPatience(std::chrono::milliseconds patience) { patience_ = patience; }

  const WireCounts& sent() const { return sent_; }
  const WireCounts& received() const { return received_; }

  /// Sends a message. Its bytes are copied, and this returns at once.
  void send(std::size_t to, const MessageLabel& label, std::span<const std::byte> bytes) {
    send(to, label, bytes.size(), [&](std::byte* at) {
      if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
      return at + bytes.size();
    });
  }
  /// Sends what `write(at)` writes, which is `most` bytes at most; it returns the place behind them.
  template <class Write> void send(std::size_t to, const MessageLabel& label, std::size_t most, Write write) {
    requirePeer(to);
    std::vector<std::byte> frame = freeFrame();
    frame.resize(headerBytes + most);
    std::memcpy(frame.data(), &label, headerBytes);
    frame.resize(static_cast<std::size_t>(write(frame.data() + headerBytes) - frame.data()));
    ++sent_.messages;
    sent_.bytes += frame.size();
    carry(to, std::move(frame));
  }
  /// A message that has come.
  struct Message {
    MessageLabel label;
    std::span<const std::byte> bytes;
  };
  /// Waits for the next message of a rank, of `most` bytes at most. It stays until the next one is received.
  Message receive(std::size_t from, std::size_t most) {
    requirePeer(from);
    wait(from, [&] { return take(from, headerBytes + most, frame_); });
    if (frame_.size() < headerBytes) failMessage(from, "it is shorter than a label");
    ++received_.messages;
    received_.bytes += frame_.size();
    Message message{{}, std::span<const std::byte>(frame_).subspan(headerBytes)};
    std::memcpy(&message.label, frame_.data(), headerBytes);
    return message;
  }
  /// The same of a message that must have this label.
  std::span<const std::byte> receive(std::size_t from, const MessageLabel& expected, std::size_t most) {
    const Message message = receive(from, most);
    if (!(message.label == expected))
      fail(ErrorCode::badFile,
           "rank %zu: expected message %u.%u of number %llu from rank %zu, got %u.%u of number %llu; do all "
           "ranks run the same program?",
           rank_, expected.kind, expected.part, static_cast<unsigned long long>(expected.number), from,
           message.label.kind, message.label.part, static_cast<unsigned long long>(message.label.number));
    return message.bytes;
  }

  /// Gives all ranks what `write(at)` writes on rank 0, `most` bytes at most; the others have it as `read(bytes)`. Passed on along
  /// a binomial tree.
  template <class Write, class Read>
  void broadcast(const MessageLabel& label, std::size_t most, Write write, Read read) {
    std::size_t step = rank_ == 0 ? std::bit_ceil(size_) : rank_ & (~rank_ + 1);
    std::span<const std::byte> bytes;
    if (rank_ != 0) bytes = receive(rank_ - step, label, most);
    while ((step /= 2) > 0) {
      if (rank_ + step >= size_) continue;
      if (rank_ == 0)
        send(step, label, most, write);
      else
        send(rank_ + step, label, bytes);
    }
    if (rank_ != 0) read(bytes);
  }
  /// Gives all ranks the number of rank 0.
  template <class N> void broadcastNumber(const MessageLabel& label, N& number) {
    const auto write = [&](std::byte* at) {
      std::memcpy(at, &number, sizeof number);
      return at + sizeof number;
    };
    broadcast(label, sizeof number, write, [&](std::span<const std::byte> bytes) {
      if (bytes.size() != sizeof number) failMessage(0, "it is not one number");
      std::memcpy(&number, bytes.data(), sizeof number);
    });
  }
  /// Fails on every rank whose `number` is not that of rank 0; `what` completes "has other ... than rank 0".
  void requireSame(const MessageLabel& label, std::uint64_t number, const char* what) {
    std::uint64_t first = number;
    broadcastNumber(label, first);
    if (first != number) fail("rank %zu has other %s than rank 0", rank_, what);
  }

  /// Tells the others that this rank sends nothing more, and why. Those who wait for anybody then get an error.
  virtual void leave(const std::string& reason) = 0;

 protected:
  Ranks(std::size_t rank, std::size_t size) : rank_(rank), size_(size) {}

  /// Who has left, and why.
  struct Absence {
    std::size_t rank;
    std::string reason;
  };

  /// Sends a frame and owns it until it is gone.
  virtual void carry(std::size_t to, std::vector<std::byte>&& frame) = 0;
  /// Takes the next frame of a rank if it is there; one of more than `most` bytes is an error.
  virtual bool take(std::size_t from, std::size_t most, std::vector<std::byte>& frame) = 0;
  /// Whether somebody has left.
  virtual bool findAbsence(Absence& absence) = 0;

  /// How long a wait polls without a pause: long where every rank has a core.
  void setSpinning(std::chrono::microseconds time) { spinning_ = time; }
  /// Frames that are gone come back here, so that memory is used again.
  void recycle(std::vector<std::byte>&& frame) {
    if (free_.size() < 16) free_.push_back(std::move(frame));
  }
  [[noreturn]] void failMessage(std::size_t from, const char* what) const {
    fail(ErrorCode::badFile, "rank %zu cannot take a message of rank %zu: %s", rank_, from, what);
  }

 private:
  using Clock = std::chrono::steady_clock;

  void requirePeer(std::size_t other) const {
    if (other >= size_ || other == rank_)
      fail(ErrorCode::outOfRange, "rank %zu of %zu cannot exchange messages with rank %zu", rank_, size_,
           other);
  }
  std::vector<std::byte> freeFrame() {
    if (free_.empty()) return {};
    std::vector<std::byte> frame = std::move(free_.back());
    free_.pop_back();
    return frame;
  }
  /// Polls fast at first, since most waits are short, and gives the core away later. Who gives it away where others want it gets it
  /// back milliseconds later.
  template <class Done> void wait(std::size_t from, Done done) {
    using namespace std::chrono_literals;
    const auto start = Clock::now();
    for (std::size_t polls = 1; !done(); ++polls) {
      if (stop_ && stop_())
        fail(ErrorCode::stopped, "rank %zu was stopped while it waited for rank %zu", rank_, from);
      if (polls % 64 != 0) continue;
      // What was sent before somebody left still counts.
      hasAbsence_ = hasAbsence_ || findAbsence(absence_);
      if (hasAbsence_ && done()) return;
      if (hasAbsence_)
        fail(ErrorCode::peerLost, "rank %zu has left: %s", absence_.rank, absence_.reason.c_str());
      const auto waited = Clock::now() - start;
      if (waited > patience_)
        fail(ErrorCode::peerLost, "rank %zu heard nothing of rank %zu for %.1f s", rank_, from,
             std::chrono::duration<double>(waited).count());
      if (waited > 20ms)
        std::this_thread::sleep_for(200us);
      else if (waited > spinning_)
        std::this_thread::yield();
    }
  }

  std::size_t rank_, size_;
  std::function<bool()> stop_;
  std::chrono::milliseconds patience_ = std::chrono::minutes(10);
  std::chrono::microseconds spinning_{50};
  WireCounts sent_, received_;
  std::vector<std::byte> frame_;
  std::vector<std::vector<std::byte>> free_;
  Absence absence_{};
  bool hasAbsence_ = false;
};

}  // namespace burtorch
