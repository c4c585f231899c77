// A compressed vector as bytes: what is sent is what is counted.
//
// Every message begins with 24 bytes that say what follows:
//   0  kind (MessageKind)     1  bytes of a number, 4 or 8     2  form (MessageForm)     3  zero
//   4  d, 32 bits             8  count, 32 bits               12  part, 32 bits         16  key, 64 bits
// and the rest has exactly the length that follows from these fields:
//   dense     d numbers
//   subset    `count` numbers, whose coordinates are drawn from the key; run the same
//   part      the numbers of part `part` of `count` parts, dealt out by the key
//   indexed   `count` ascending coordinates of as many bits as d - 1 has, then as many numbers
//   natural   d times sign and exponent: 9 bits (fp32) or 12 bits (fp64)
//   levels    the norm, then d times sign and level, of `count` levels
// Fields that a kind does not use are zero. A message may come from anywhere: nothing is used before all of it is checked.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <variant>

#include "../base/check.hpp"
#include "../base/rng.hpp"
#include "bytes.hpp"
#include "compressor.hpp"
#include "coordinate_set.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// How the numbers of a message are laid out.
enum class MessageKind : std::uint8_t { dense = 1, subset, run, part, indexed, natural, levels };
/// Whether a message decodes to an unbiased compression or to its contractive form.
enum class MessageForm : std::uint8_t { unbiased, contractive };

/// What a compressor's random choices depend on: nothing of them is stored.
struct CompressionKey {
  std::uint64_t seed = 0, round = 0;
  std::uint32_t worker = 0;

  /// The same for all workers of a round.
  std::uint64_t shared() const { return Rng(seed, round).next(); }
  /// This worker's own.
  std::uint64_t own() const { return Rng(shared(), worker).next(); }
};

/// The first bytes of a message.
struct MessageHeader {
  static constexpr std::size_t bytes = 24;

  MessageKind kind = MessageKind::dense;
  std::uint8_t scalarBytes = 4;
  MessageForm form = MessageForm::unbiased;
  std::uint32_t d = 0, count = 0, part = 0;
  std::uint64_t key = 0;

  friend bool operator==(const MessageHeader&, const MessageHeader&) = default;

  void write(std::byte* at) const {
    detail::putNumber(at, static_cast<std::uint8_t>(kind));
    detail::putNumber(at, scalarBytes);
    detail::putNumber(at, static_cast<std::uint8_t>(form));
    detail::putNumber(at, std::uint8_t{0});
    detail::putNumber(at, d);
    detail::putNumber(at, count);
    detail::putNumber(at, part);
    detail::putNumber(at, key);
  }
};

/// What a message costs on a wire.
constexpr std::uint64_t bitsSent(std::size_t bytes) { return std::uint64_t{8} * bytes; }

namespace detail {

/// The same number as a float's or double's bits without the sign: larger magnitudes, then infinity, then NaN.
template <class T> using RawBits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
template <class T> RawBits<T> rawBits(T x) {
  RawBits<T> bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
template <class T> T fromRawBits(RawBits<T> bits) {
  T x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
template <class T> RawBits<T> magnitudeBits(T x) { return rawBits(x) & (static_cast<RawBits<T>>(-1) >> 1); }

template <class T> inline constexpr unsigned naturalBits = sizeof(T) == 4 ? 9 : 12;

/// How many numbers (or codes) follow.
inline std::size_t messageNumbers(const MessageHeader& header) {
  switch (header.kind) {
    case MessageKind::subset:
    case MessageKind::run:
    case MessageKind::indexed: return header.count;
    case MessageKind::part: return CoordinateSet::partSize(header.d, header.count, header.part, header.key);
    default: return header.d;
  }
}
inline unsigned indexBitsOf(const MessageHeader& header) {
  return static_cast<unsigned>(std::bit_width(header.d - 1));
}
inline unsigned levelBitsOf(const MessageHeader& header) {
  return 1 + static_cast<unsigned>(std::bit_width(header.count));
}
/// Length of a message, its header included.
inline std::size_t bytesOf(const MessageHeader& header) {
  const std::size_t numbers = messageNumbers(header), width = header.scalarBytes;
  switch (header.kind) {
    case MessageKind::indexed:
      return MessageHeader::bytes + packedBytes(numbers, indexBitsOf(header)) + numbers * width;
    case MessageKind::natural: return MessageHeader::bytes + packedBytes(numbers, width == 4 ? 9 : 12);
    case MessageKind::levels: return MessageHeader::bytes + width + packedBytes(numbers, levelBitsOf(header));
    default: return MessageHeader::bytes + numbers * width;
  }
}

/// What numbers are multiplied by when they arrive.
inline double factorOf(const MessageHeader& header) {
  const bool isUnbiased = header.form == MessageForm::unbiased;
  switch (header.kind) {
    case MessageKind::subset:
    case MessageKind::run:
      return isUnbiased ? static_cast<double>(header.d) / static_cast<double>(header.count) : 1;
    case MessageKind::part: return isUnbiased ? static_cast<double>(header.count) : 1;
    case MessageKind::natural: return isUnbiased ? 1 : 1 / (1 + NaturalCompression{}.omega(header.d));
    case MessageKind::levels:
      return isUnbiased ? 1 : 1 / (1 + KLevelQuantisation{header.count}.omega(header.d));
    default: return 1;
  }
}

/// Draws the coordinates of a message that names none.
inline void drawSet(const MessageHeader& header, CoordinateSet& set) {
  switch (header.kind) {
    case MessageKind::subset: return set.drawSubset(header.d, header.count, header.key);
    case MessageKind::run: return set.drawRun(header.d, header.count, header.key);
    case MessageKind::part: return set.drawPart(header.d, header.count, header.part, header.key);
    default: return;
  }
}

}  // namespace detail

/// How a compressor's message of d numbers begins, and so how long it is.
template <class T>
MessageHeader headerOf(const AnyCompressor& any, std::size_t d, const CompressionKey& key, MessageForm form) {
  checkCompressor(any, d);
  MessageHeader header{.scalarBytes = sizeof(T), .form = form, .d = static_cast<std::uint32_t>(d)};
  std::visit(
      [&]<class C>(const C& c) {
        if constexpr (requires { c.share; })
          header.count = static_cast<std::uint32_t>(c.share.of(d, C::name.data()));
        if constexpr (std::same_as<C, RandK>) {
          header.kind = MessageKind::subset, header.key = key.own();
        } else if constexpr (std::same_as<C, RandSeqK>) {
          header.kind = MessageKind::run, header.key = key.own();
        } else if constexpr (std::same_as<C, TopK>) {
          header.kind = MessageKind::indexed, header.form = MessageForm::contractive;
          if (form == MessageForm::unbiased) fail("TopK is biased: choose an unbiased compressor");
        } else if constexpr (std::same_as<C, PermK>) {
          if (key.worker >= c.workers)
            fail(ErrorCode::outOfRange, "PermK: worker %u is out of range for %llu workers", key.worker,
                 static_cast<unsigned long long>(c.workers));
          header.kind = MessageKind::part, header.key = key.shared();
          header.count = static_cast<std::uint32_t>(c.workers), header.part = key.worker;
        } else if constexpr (std::same_as<C, NaturalCompression>) {
          header.kind = MessageKind::natural;
        } else if constexpr (std::same_as<C, KLevelQuantisation>) {
          header.kind = MessageKind::levels, header.count = static_cast<std::uint32_t>(c.levels);
        }
      },
      any);
  return header;
}
/// How many bytes a compressor's message of d numbers takes.
template <class T>
std::size_t messageBytes(const AnyCompressor& any, std::size_t d, const CompressionKey& key = {}) {
  return detail::bytesOf(
      headerOf<T>(any, d, key, isUnbiased(any) ? MessageForm::unbiased : MessageForm::contractive));
}

}  // namespace burtorch::inline BURTORCH_TARGET
