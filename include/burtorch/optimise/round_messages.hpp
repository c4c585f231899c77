// What server and clients say in a round, around the compressed vectors: a broadcast downwards, an answer upwards.
//
//   broadcast  0 method, 1 bytes of a number, 2 whether full gradients are wanted, 3 zero, 4 workers (32 bits),
//              8 round, 16 d, 24 seed (64 bits each), 32 the d numbers of x
//   answer     0 method, 1 whether it is full, 2 zero (16 bits), 4 worker (32 bits), 8 round (64 bits),
//              16 f_i(x) (a double), 24 a compressed vector (message.hpp)
// Both may come from anywhere and are checked before use. In one process clients read x where the server has it.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "decode.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Whose message it is.
enum class RoundMethod : std::uint8_t { ef21 = 1, marina };

/// What a server says of a round, besides x.
struct RoundHeader {
  static constexpr std::size_t bytes = 32;

  RoundMethod method = RoundMethod::ef21;
  bool isFull = false;  // everybody sends a whole gradient
  std::uint32_t workers = 0;
  std::uint64_t round = 0, seed = 0;
};
/// What a client says of its answer, besides the vector.
struct AnswerHeader {
  static constexpr std::size_t bytes = 24;

  RoundMethod method = RoundMethod::ef21;
  bool isFull = false;
  std::uint32_t worker = 0;
  std::uint64_t round = 0;
  double value = 0;

  void write(std::byte* at) const {
    detail::putNumber(at, static_cast<std::uint8_t>(method));
    detail::putNumber(at, static_cast<std::uint8_t>(isFull));
    detail::putNumber(at, std::uint16_t{0});
    detail::putNumber(at, worker);
    detail::putNumber(at, round);
    detail::putNumber(at, value);
  }
};

/// Fails unless all numbers are finite; `what` is for the error.
template <class T> void requireFinite(std::span<const T> numbers, const char* what) {
  // The exponent of infinities and NaNs has all bits set. A count, so that compilers use vectors.
  const detail::RawBits<T> infinity = detail::rawBits(std::numeric_limits<T>::infinity());
  std::size_t i = 0;
  while (i < numbers.size()) {
    const std::size_t end = std::min(numbers.size(), i + 1024);
    detail::RawBits<T> wrong = 0;
    for (; i < end; ++i) wrong += (detail::rawBits(numbers[i]) & infinity) == infinity;
    if (wrong != 0)
      fail(ErrorCode::notFinite, "%s has a number that is not finite; is the step too large?", what);
  }
}

namespace detail {

[[noreturn]] inline void failBroadcast(const char* what) {
  fail(ErrorCode::badFile, "cannot read a broadcast: %s", what);
}
[[noreturn]] inline void failAnswer(std::size_t worker, const char* what) {
  fail(ErrorCode::badFile, "cannot take the answer of worker %zu: %s", worker, what);
}

template <class T> void writeRoundHeader(const RoundHeader& header, std::size_t d, std::byte* at) {
  putNumber(at, static_cast<std::uint8_t>(header.method));
  putNumber(at, static_cast<std::uint8_t>(sizeof(T)));
  putNumber(at, static_cast<std::uint8_t>(header.isFull));
  putNumber(at, std::uint8_t{0});
  putNumber(at, header.workers);
  putNumber(at, header.round);
  putNumber(at, static_cast<std::uint64_t>(d));
  putNumber(at, header.seed);
}

/// Checks a broadcast of that method and copies its x.
template <class T>
RoundHeader readBroadcast(RoundMethod method, std::span<const std::byte> message, std::span<T> x) {
  if (message.size() != RoundHeader::bytes + x.size_bytes())
    failBroadcast("its length is not that of d numbers");
  const std::byte* at = message.data();
  RoundHeader header{.method = method};
  if (takeNumber<std::uint8_t>(at) != static_cast<std::uint8_t>(method))
    failBroadcast("it is of another method");
  if (takeNumber<std::uint8_t>(at) != sizeof(T)) failBroadcast("its numbers are of another type");
  const auto full = takeNumber<std::uint8_t>(at), zero = takeNumber<std::uint8_t>(at);
  if (full > 1 || zero != 0) failBroadcast("its header is damaged");
  header.isFull = full != 0;
  header.workers = takeNumber<std::uint32_t>(at);
  header.round = takeNumber<std::uint64_t>(at);
  if (takeNumber<std::uint64_t>(at) != x.size()) failBroadcast("it is of another dimension");
  header.seed = takeNumber<std::uint64_t>(at);
  if (const T largest = largestOf<T>(at, x.size()); !std::isfinite(largest))
    fail(ErrorCode::notFinite,
         "cannot read a broadcast: x has a number that is not finite; is the step too large?");
  if (!x.empty()) std::memcpy(x.data(), at, x.size_bytes());
  return header;
}

/// Checks what an answer says of itself.
inline AnswerHeader readAnswer(std::size_t worker, const RoundHeader& round,
                               std::span<const std::byte> message) {
  if (message.size() < AnswerHeader::bytes) failAnswer(worker, "it is shorter than its header");
  const std::byte* at = message.data();
  AnswerHeader header{.method = round.method, .isFull = round.isFull};
  if (takeNumber<std::uint8_t>(at) != static_cast<std::uint8_t>(round.method))
    failAnswer(worker, "it is of another method");
  if (takeNumber<std::uint8_t>(at) != static_cast<std::uint8_t>(round.isFull))
    failAnswer(worker, "a full gradient and a compressed one were confused");
  if (takeNumber<std::uint16_t>(at) != 0) failAnswer(worker, "its header is damaged");
  header.worker = takeNumber<std::uint32_t>(at);
  header.round = takeNumber<std::uint64_t>(at);
  header.value = takeNumber<double>(at);
  if (header.worker != worker) failAnswer(worker, "it says that it is another worker's");
  if (header.round != round.round) failAnswer(worker, "it is of another round");
  if (!std::isfinite(header.value))
    fail(ErrorCode::notFinite, "worker %zu sent a loss that is not finite", worker);
  return header;
}

}  // namespace detail

}  // namespace burtorch::inline BURTORCH_TARGET
