// Memory of a tape: arrays that grow, are fixed, or lie in a buffer of the caller's (paper F.9.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

#include "check.hpp"
#include "config.hpp"
#include "instruction.hpp"

namespace burtorch {

/// How much of each a tape uses or may use: numbers, instructions, and 32-bit words for constants, lists and names.
struct Room {
  std::size_t scalars = 0, instructions = 0, words = 0;

  friend constexpr Room operator+(Room x, Room y) {
    return {x.scalars + y.scalars, x.instructions + y.instructions, x.words + y.words};
  }
};

/// An array of trivial elements, without their count. realloc may move a large block without copying it. The array starts
/// `skew` bytes after a cache line.
template <class T, bool allocates = true, std::size_t skew = 0> class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  constexpr Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if constexpr (allocates)
      if (owned_ != nullptr) std::free(owned_);
  }

  T* data() const { return data_; }
  std::size_t capacity() const { return capacity_; }

  /// By half, so that n appends cost O(n). Not by doubling: arrays at distances of powers of two share cache sets and
  /// memory banks, and three of them written in step then take three times as long.
  void grow(std::size_t atLeast, std::size_t atMost) {
    const std::size_t larger = capacity_ < 64 ? 64 : capacity_ + capacity_ / 2;
    const std::size_t wanted = larger < atLeast ? atLeast : larger;
    allocate(wanted < atMost ? wanted : atMost);
  }
  void allocate(std::size_t capacity) {
    static_assert(allocates);
    if (capacity == 0) return;
    if (capacity > (SIZE_MAX - cacheLine - skew) / sizeof(T))  // where addresses have 32 bits
      fail(ErrorCode::outOfMemory, "out of memory: a tape asked for %zu times %zu bytes", capacity,
           sizeof(T));
    const std::size_t bytes = capacity * sizeof(T) + cacheLine + skew;
    const std::ptrdiff_t shift = owned_ != nullptr ? reinterpret_cast<std::byte*>(data_) - owned_ : 0;
    void* memory = std::realloc(owned_, bytes);
    if (memory == nullptr) fail(ErrorCode::outOfMemory, "out of memory: a tape asked for %zu bytes", bytes);
    owned_ = static_cast<std::byte*>(memory);
    std::byte* start = owned_ + (cacheLine - reinterpret_cast<std::uintptr_t>(memory) % cacheLine) + skew;
    if (start != owned_ + shift && capacity_ > 0) std::memmove(start, owned_ + shift, capacity_ * sizeof(T));
    data_ = reinterpret_cast<T*>(start);
    capacity_ = capacity;
  }
  void borrow(void* memory, std::size_t capacity) {
    data_ = static_cast<T*>(memory);
    capacity_ = capacity;
  }

 private:
  static constexpr std::size_t cacheLine = 64;
  T* data_ = nullptr;
  std::size_t capacity_ = 0;
  std::byte* owned_ = nullptr;  // what the allocator gave
};

inline void requireIndices(Room room) {
  if (room.scalars > maxIndex || room.instructions > maxIndex || room.words > maxIndex)
    fail(ErrorCode::outOfRoom,
         "a tape holds at most %zu scalars and words, not %zu and %zu: rewind between samples", maxIndex,
         room.scalars, room.words);
}

/// The arrays of a tape.
template <class T, Config C> struct TapeArrays {
  struct Nothing {};

  Buffer<T, C.allocates> values;
  // Half a page further: a load that follows a store to the same place of another page waits for it, as far as the first
  // comparison of the two addresses can see. One gradient of a large layer took 1.8 times as long.
  Buffer<T, C.allocates, 2112> gradients;
  Buffer<Instruction, C.allocates> code;
  Buffer<Index, C.allocates> words;
  // Only with checks: when each scalar was recorded.
  [[no_unique_address]] std::conditional_t<C.checks, Buffer<Index, C.allocates>, Nothing> epochs;

  Room room() const { return {values.capacity(), code.capacity(), words.capacity()}; }
  /// Whether `extra` fits beside what is used. Compared without adding: a sum could wrap.
  bool fits(Room used, Room extra) const {
    return extra.scalars <= values.capacity() - used.scalars &&
           extra.instructions <= code.capacity() - used.instructions &&
           extra.words <= words.capacity() - used.words;
  }

  void allocate(Room room) {
    requireIndices(room);
    values.allocate(room.scalars);
    gradients.allocate(room.scalars);
    code.allocate(room.instructions);
    words.allocate(room.words);
    if constexpr (C.checks) epochs.allocate(room.scalars);
  }
  void grow(Room needed) {
    if (needed.scalars > values.capacity()) {
      gradients.grow(needed.scalars, maxIndex);
      if constexpr (C.checks) epochs.grow(needed.scalars, maxIndex);
      values.grow(needed.scalars, maxIndex);  // last: its capacity speaks for all three
    }
    if (needed.instructions > code.capacity()) code.grow(needed.instructions, maxIndex);
    if (needed.words > words.capacity()) words.grow(needed.words, maxIndex);
  }

  static constexpr std::size_t requiredBytes(Room room) {
    const std::size_t perScalar = 2 * sizeof(T) + (C.checks ? sizeof(Index) : 0);
    return room.scalars * perScalar + room.instructions * sizeof(Instruction) + room.words * sizeof(Index) +
           alignof(T) + alignof(Instruction);  // lost at most to alignment
  }
  /// As many instructions as scalars and two words each, as many as fit and a tape can hold.
  static constexpr Room evenRoom(std::size_t bytes) {
    const std::size_t overhead = requiredBytes({}), each = requiredBytes({1, 1, 2}) - overhead;
    const std::size_t fitting = bytes < overhead ? 0 : (bytes - overhead) / each;
    const std::size_t count = fitting < maxIndex / 2 ? fitting : maxIndex / 2;
    return {count, count, 2 * count};
  }
  void borrow(std::span<std::byte> memory, Room room) {
    requireIndices(room);
    if (memory.size() < requiredBytes(room))
      fail(ErrorCode::outOfRoom, "a buffer of %zu bytes is too small for the room asked for: %zu are needed",
           memory.size(), requiredBytes(room));
    void* at = memory.data();
    std::size_t left = memory.size();
    const auto take = [&]<class E, std::size_t skew>(Buffer<E, C.allocates, skew>& buffer,
                                                     std::size_t count) {
      buffer.borrow(std::align(alignof(E), count * sizeof(E), at, left), count);
      at = static_cast<std::byte*>(at) + count * sizeof(E);
      left -= count * sizeof(E);
    };
    take(values, room.scalars);
    take(gradients, room.scalars);
    take(code, room.instructions);
    take(words, room.words);
    if constexpr (C.checks) take(epochs, room.scalars);
  }
};

}  // namespace burtorch
