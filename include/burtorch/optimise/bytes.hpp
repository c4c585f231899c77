// Numbers in messages: little-endian bytes, and whole numbers of a few bits side by side.
//
// A BitWriter fills bytes from their lowest bit on; the unused bits of its last byte are zero, and a reader can check that
// they are, so that a message has one form only.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../base/config.hpp"

namespace burtorch::inline BURTORCH_TARGET {

static_assert(std::endian::native == std::endian::little, "messages hold little-endian numbers");

namespace detail {

/// Writes a number and moves on.
template <class N> void putNumber(std::byte*& at, N number) {
  static_assert(std::is_trivially_copyable_v<N>);
  std::memcpy(at, &number, sizeof number);
  at += sizeof number;
}
/// Reads a number and moves on.
template <class N> N takeNumber(const std::byte*& at) {
  N number;
  std::memcpy(&number, at, sizeof number);
  at += sizeof number;
  return number;
}

/// How many bytes `count` numbers of `bits` bits take.
constexpr std::size_t packedBytes(std::size_t count, unsigned bits) { return (count * bits + 7) / 8; }

/// Numbers of up to 32 bits each, one after the other.
class BitWriter {
 public:
  explicit BitWriter(std::byte* at) : at_(at) {}
  void put(std::uint64_t number, unsigned bits) {
    waiting_ |= number << used_;
    used_ += bits;
    if (used_ < 32) return;
    detail::putNumber(at_, static_cast<std::uint32_t>(waiting_));
    waiting_ >>= 32;
    used_ -= 32;
  }
  /// Writes what waits; the place behind it.
  std::byte* finish() {
    for (; used_ > 0; used_ -= used_ < 8 ? used_ : 8) {
      detail::putNumber(at_, static_cast<std::uint8_t>(waiting_));
      waiting_ >>= 8;
    }
    return at_;
  }

 private:
  std::byte* at_;
  std::uint64_t waiting_ = 0;
  unsigned used_ = 0;
};

/// Reads what a BitWriter wrote into `bytes` bytes. Whoever reads knows how many numbers these hold.
class BitReader {
 public:
  BitReader(const std::byte* at, std::size_t bytes) : at_(at), end_(at + bytes) {}
  std::uint64_t take(unsigned bits) {
    if (held_ < bits) refill();
    const std::uint64_t number = waiting_ & ((std::uint64_t{1} << bits) - 1);
    waiting_ >>= bits;
    held_ -= bits;
    return number;
  }
  /// Whether nothing but unused zero bits is left.
  bool isAtEnd() const { return at_ == end_ && held_ < 8 && waiting_ == 0; }

 private:
  void refill() {
    if (end_ - at_ >= 4) {
      waiting_ |= std::uint64_t{detail::takeNumber<std::uint32_t>(at_)} << held_;
      held_ += 32;
      return;
    }
    for (; at_ != end_; held_ += 8) waiting_ |= std::uint64_t{detail::takeNumber<std::uint8_t>(at_)} << held_;
  }

  const std::byte *at_, *end_;
  std::uint64_t waiting_ = 0;
  unsigned held_ = 0;
};

}  // namespace detail

}  // namespace burtorch::inline BURTORCH_TARGET
