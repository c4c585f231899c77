// Compressed vectors out of bytes that may come from anywhere: all of a message is checked before a number is used.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "encode.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {

[[noreturn]] inline void failMessage(const char* what) {
  fail(ErrorCode::badFile, "cannot decode a message: %s", what);
}

inline MessageHeader readHeader(std::span<const std::byte> message) {
  if (message.size() < MessageHeader::bytes) failMessage("it is shorter than its header of 24 bytes");
  const std::byte* at = message.data();
  MessageHeader header;
  const auto kind = takeNumber<std::uint8_t>(at);
  header.kind = static_cast<MessageKind>(kind);
  header.scalarBytes = takeNumber<std::uint8_t>(at);
  const auto form = takeNumber<std::uint8_t>(at), zero = takeNumber<std::uint8_t>(at);
  header.form = static_cast<MessageForm>(form);
  header.d = takeNumber<std::uint32_t>(at);
  header.count = takeNumber<std::uint32_t>(at);
  header.part = takeNumber<std::uint32_t>(at);
  header.key = takeNumber<std::uint64_t>(at);
  if (kind < 1 || kind > static_cast<std::uint8_t>(MessageKind::levels))
    failMessage("its kind is unknown; was it sent by another version?");
  if (form > 1 || zero != 0) failMessage("its header is damaged");
  return header;
}

/// Whether the fields of a header can belong together.
inline bool isConsistent(const MessageHeader& header) {
  const bool hasKey = header.key != 0, hasPart = header.part != 0;
  const bool isCountOfD = header.count >= 1 && header.count <= header.d;
  switch (header.kind) {
    case MessageKind::subset:
    case MessageKind::run: return isCountOfD && !hasPart;
    case MessageKind::part: return header.count >= 1 && header.part < header.count;
    case MessageKind::indexed:
      return isCountOfD && !hasPart && !hasKey && header.form == MessageForm::contractive;
    case MessageKind::levels: return header.count >= 1 && header.count <= 65535 && !hasPart && !hasKey;
    default: return header.count == 0 && !hasPart && !hasKey;
  }
}

/// The largest of numbers side by side, by magnitude.
template <class T> T largestOf(const std::byte* at, std::size_t count) {
  RawBits<T> largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, magnitudeBits(takeNumber<T>(at)));
  return fromRawBits<T>(largest);
}

/// Checks what follows the header; returns the largest magnitude.
template <class T> T checkPayload(const MessageHeader& header, const std::byte* at) {
  const std::size_t numbers = messageNumbers(header);
  if (header.kind == MessageKind::natural) {
    BitReader codes(at, packedBytes(numbers, naturalBits<T>));
    RawBits<T> largest = 0;
    for (std::size_t i = 0; i < numbers; ++i)
      largest = std::max(
          largest, magnitudeBits(fromNaturalCode<T>(static_cast<RawBits<T>>(codes.take(naturalBits<T>)))));
    if (!codes.isAtEnd()) failMessage("it has bits after its end");
    return fromRawBits<T>(largest);
  }
  if (header.kind == MessageKind::levels) {
    const T norm = takeNumber<T>(at);
    BitReader codes(at, packedBytes(numbers, levelBitsOf(header)));
    std::uint64_t largest = 0;
    for (std::size_t i = 0; i < numbers; ++i)
      largest = std::max(largest, codes.take(levelBitsOf(header)) >> 1);
    if (!codes.isAtEnd()) failMessage("it has bits after its end");
    if (largest > header.count) failMessage("a level is out of range");
    if (std::signbit(norm)) failMessage("its norm is negative");
    return norm;
  }
  if (header.kind == MessageKind::indexed) {
    const unsigned bits = indexBitsOf(header);
    BitReader codes(at, packedBytes(numbers, bits));
    std::uint64_t next = 0;  // the least that the next index may be
    for (std::size_t i = 0; i < numbers; ++i) {
      const std::uint64_t index = codes.take(bits);
      if (index < next || index >= header.d)
        failMessage("an index is out of range, or indices do not ascend");
      next = index + 1;
    }
    if (!codes.isAtEnd()) failMessage("it has bits after its last index");
    at += packedBytes(numbers, bits);
  }
  return largestOf<T>(at, numbers);
}

/// Adds `scale` times the vector of a message that was checked.
template <class T>
void addChecked(const MessageHeader& header, std::span<const std::byte> message, double scale,
                std::span<T> into, CoordinateSet& set) {
  const std::byte* at = message.data() + MessageHeader::bytes;
  const T factor = static_cast<T>(factorOf(header) * scale);
  const std::size_t numbers = messageNumbers(header);
  const auto addRun = [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) into[i] = into[i] + factor * takeNumber<T>(at);
  };
  drawSet(header, set);
  switch (header.kind) {
    case MessageKind::dense: return addRun(0, numbers);
    case MessageKind::run: {
      const auto [front, back] = set.halves();
      addRun(front.first, front.count);
      return addRun(back.first, back.count);
    }
    case MessageKind::subset:
    case MessageKind::part:
      for (const std::uint32_t i : set.indices()) into[i] = into[i] + factor * takeNumber<T>(at);
      return;
    case MessageKind::indexed: {
      BitReader codes(at, packedBytes(numbers, indexBitsOf(header)));
      at += packedBytes(numbers, indexBitsOf(header));
      for (std::size_t n = 0; n < numbers; ++n) {
        const std::size_t i = codes.take(indexBitsOf(header));
        into[i] = into[i] + factor * takeNumber<T>(at);
      }
      return;
    }
    case MessageKind::natural: {
      BitReader codes(at, packedBytes(numbers, naturalBits<T>));
      for (T& sum : into)
        sum = sum + factor * fromNaturalCode<T>(static_cast<RawBits<T>>(codes.take(naturalBits<T>)));
      return;
    }
    case MessageKind::levels: {
      const T unit =
          static_cast<T>(static_cast<double>(takeNumber<T>(at)) / header.count * factorOf(header) * scale);
      BitReader codes(at, packedBytes(numbers, levelBitsOf(header)));
      const unsigned bits = levelBitsOf(header);
      for (T& sum : into) {
        const std::uint64_t code = codes.take(bits);
        sum = sum + fromLevel(code >> 1, (code & 1) != 0, unit);
      }
      return;
    }
  }
}

}  // namespace detail

/// Checks a message of d numbers of type T, all of it, and returns its header; fails if it is not one.
template <class T> MessageHeader checkMessage(std::span<const std::byte> message, std::size_t d) {
  const MessageHeader header = detail::readHeader(message);
  if (header.scalarBytes != sizeof(T)) detail::failMessage("its numbers are of another type");
  if (header.d != d || d == 0) detail::failMessage("it is of another dimension");
  if (!detail::isConsistent(header)) detail::failMessage("its header is damaged");
  if (message.size() != detail::bytesOf(header))
    detail::failMessage("its length is not what its header says");
  const T largest = detail::checkPayload<T>(header, message.data() + MessageHeader::bytes);
  if (!std::isfinite(static_cast<T>(detail::factorOf(header)) * largest))
    fail(ErrorCode::notFinite, "cannot decode a message: it has a number that is not finite");
  return header;
}

/// Adds `scale` times the vector that a message holds. If the message is damaged, nothing was added.
template <class T>
void decodeAdd(std::span<const std::byte> message, double scale, std::span<T> into,
               CompressorMemory& memory) {
  const MessageHeader header = checkMessage<T>(message, into.size());
  detail::addChecked(header, message, scale, into, memory.set);
}

}  // namespace burtorch::inline BURTORCH_TARGET
