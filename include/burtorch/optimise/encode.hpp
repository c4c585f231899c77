// Compressed vectors into bytes (message.hpp says which).
//
// What is compressed is a source: anything with a Scalar, a size() and an operator[] that may compute its numbers, so that a
// difference of two vectors is compressed without being stored. Of a value-independent compressor only the numbers that are
// sent are read. Memory is the caller's and grows to the largest message once.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "quantise.hpp"
#include "top_k.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// What a compressor keeps from call to call: memory, and the coordinates it drew last.
struct CompressorMemory {
  CoordinateSet set;
  TopSelection top;
};

/// Numbers that can be compressed.
template <class S>
concept CompressionSource = requires(const S& source, std::size_t i) {
  typename S::Scalar;
  { source.size() } -> std::convertible_to<std::size_t>;
  { source[i] } -> std::convertible_to<typename S::Scalar>;
};

/// A vector as a source.
template <class T> struct Numbers {
  using Scalar = T;
  std::span<const T> x;
  std::size_t size() const { return x.size(); }
  T operator[](std::size_t i) const { return x[i]; }
};

namespace detail {

// Sources are passed by value: a byte that is written could change a source that somebody else holds.

/// Numbers side by side, and what to reject: the largest magnitude goes along.
template <class T> class NumberWriter {
 public:
  explicit NumberWriter(std::byte* at) : at_(at) {}
  void put(T number) {
    detail::putNumber(at_, number);
    largest_ = std::max(largest_, magnitudeBits(number));
  }
  T largest() const { return fromRawBits<T>(largest_); }

 private:
  std::byte* at_;
  RawBits<T> largest_ = 0;
};

[[noreturn]] inline void failNotFinite(const char* who) {
  fail(ErrorCode::notFinite, "%s: expected finite numbers, got one that is not, or that is too large", who);
}

/// The largest magnitude; infinity or NaN if one is not finite.
template <CompressionSource Source> auto largestOf(Source x) {
  using T = typename Source::Scalar;
  RawBits<T> largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) largest = std::max(largest, magnitudeBits(static_cast<T>(x[i])));
  return fromRawBits<T>(largest);
}

template <CompressionSource Source> auto writeNatural(Source x, std::uint64_t key, std::byte* at) {
  using T = typename Source::Scalar;
  const T largest = largestOf(x);
  if (!(largest <= largestNatural<T>())) return std::numeric_limits<T>::infinity();
  Rng rng(key);
  BitWriter codes(at);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto draw = static_cast<RawBits<T>>(rng.next() >> (64 - mantissaBits<T>));
    codes.put(naturalCode(static_cast<T>(x[i]), draw), naturalBits<T>);
  }
  codes.finish();
  return largest;
}

template <CompressionSource Source>
auto writeLevels(Source x, const MessageHeader& header, std::uint64_t key, std::byte* at) {
  using T = typename Source::Scalar;
  const T largest = largestOf(x);
  if (!std::isfinite(largest)) return largest;
  const T norm = normOf(x, largest);
  if (!std::isfinite(norm)) return norm;
  detail::putNumber(at, norm);
  const double divisor = norm == 0 ? 1 : static_cast<double>(norm);
  const unsigned bits = levelBitsOf(header);
  Rng rng(key);
  BitWriter codes(at);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const T number = x[i];
    const double place = std::abs(static_cast<double>(number)) / divisor * header.count;
    const std::uint64_t level = levelOf(place, header.count, rng.uniform<double>());
    codes.put(level << 1 | (std::signbit(number) ? 1 : 0), bits);
  }
  codes.finish();
  return norm;
}

template <CompressionSource Source>
auto writeIndexed(Source x, const MessageHeader& header, TopSelection& top, std::byte* at) {
  using T = typename Source::Scalar;
  const std::span<const std::uint32_t> indices = top.select(x, header.count);
  BitWriter codes(at);
  for (const std::uint32_t i : indices) codes.put(i, indexBitsOf(header));
  NumberWriter<T> numbers(codes.finish());
  for (const std::uint32_t i : indices) numbers.put(x[i]);
  return numbers.largest();
}

/// Writes what follows the header and returns the largest magnitude that is decoded before the factor is applied.
template <CompressionSource Source>
auto writePayload(Source x, const MessageHeader& header, std::uint64_t key, CompressorMemory& memory,
                  std::byte* at) {
  using T = typename Source::Scalar;
  switch (header.kind) {
    case MessageKind::natural: return writeNatural(x, key, at);
    case MessageKind::levels: return writeLevels(x, header, key, at);
    case MessageKind::indexed: return writeIndexed(x, header, memory.top, at);
    default: break;
  }
  NumberWriter<T> numbers(at);
  const auto putRun = [&](std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) numbers.put(x[i]);
  };
  drawSet(header, memory.set);
  if (header.kind == MessageKind::dense) {
    putRun(0, x.size());
  } else if (header.kind == MessageKind::run) {
    const auto [front, back] = memory.set.halves();
    putRun(front.first, front.count);
    putRun(back.first, back.count);
  } else {
    for (const std::uint32_t i : memory.set.indices()) numbers.put(x[i]);
  }
  return numbers.largest();
}

}  // namespace detail

/// Writes the compressed source behind the first `offset` bytes of `message`, which stay, and makes the message as long as that
/// takes. Numbers that are not finite are an error.
template <CompressionSource Source>
void encode(const AnyCompressor& compressor, const CompressionKey& key, MessageForm form, const Source& x,
            CompressorMemory& memory, std::vector<std::byte>& message, std::size_t offset = 0) {
  using T = typename Source::Scalar;
  const MessageHeader header = headerOf<T>(compressor, x.size(), key, form);
  message.resize(offset + detail::bytesOf(header));
  header.write(message.data() + offset);
  const T largest =
      detail::writePayload(x, header, key.own(), memory, message.data() + offset + MessageHeader::bytes);
  if (!std::isfinite(static_cast<T>(detail::factorOf(header)) * largest))
    detail::failNotFinite(std::visit([](const auto& c) { return c.name.data(); }, compressor));
}
/// The same of a vector, as a message of its own: unbiased if the compressor is, and contractive otherwise.
template <std::floating_point T>
void encode(const AnyCompressor& compressor, const CompressionKey& key, std::span<const T> x,
            CompressorMemory& memory, std::vector<std::byte>& message) {
  encode(compressor, key, isUnbiased(compressor) ? MessageForm::unbiased : MessageForm::contractive,
         Numbers<T>{x}, memory, message);
}

}  // namespace burtorch::inline BURTORCH_TARGET
