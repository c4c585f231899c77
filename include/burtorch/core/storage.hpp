// Memory of a tape: arrays that grow in place (reserve.hpp), are fixed, or lie in the caller's own buffer (paper F.9.3).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "../base/check.hpp"
#include "../base/config.hpp"
#include "../base/reserve.hpp"
#include "../ops/instruction.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// How much of each a tape uses or may use: numbers, instructions, and 32-bit words for constants, lists and names.
struct TapeCapacity {
  std::size_t scalars = 0, instructions = 0, words = 0;

  friend constexpr TapeCapacity operator+(TapeCapacity x, TapeCapacity y) {
    return {x.scalars + y.scalars, x.instructions + y.instructions, x.words + y.words};
  }
};

/// Where `at` lies within an array, in bytes, or notWithin: what a caller passes may lie in the array that grows, and
/// move with it.
inline constexpr auto notWithin = static_cast<std::size_t>(-1);
inline std::size_t offsetWithin(const void* array, std::size_t bytes, const void* at) {
  const auto begin = reinterpret_cast<std::uintptr_t>(array), place = reinterpret_cast<std::uintptr_t>(at);
  return place >= begin && place < begin + bytes ? place - begin : notWithin;
}

/// By half, so that n appends cost O(n). Not by doubling: arrays at distances of powers of two share cache sets and
/// memory banks, and three of them written in step then take three times as long.
inline std::size_t grownCapacity(std::size_t capacity, std::size_t atLeast) {
  const std::size_t larger = capacity < 64 ? 64 : capacity + capacity / 2;
  const std::size_t wanted = larger < atLeast ? atLeast : larger;
  return wanted < maxIndex ? wanted : maxIndex;
}

/// An array of trivial elements, without their count. realloc may move a large block without copying it. The array starts
/// `skew` bytes after a cache line.
template <class T, bool allocates = true, std::size_t skew = 0> class Buffer {
  static_assert(std::is_trivially_copyable_v<T> || hasOwnOperators<T>);  // which say no, and are bytes

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

  void grow(std::size_t atLeast) { allocate(grownCapacity(capacity_, atLeast)); }
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
  void setCapacity(std::size_t capacity) { capacity_ = capacity; }

 private:
  static constexpr std::size_t cacheLine = 64;
  T* data_ = nullptr;
  std::size_t capacity_ = 0;
  std::byte* owned_ = nullptr;  // what the allocator gave
};

inline void requireIndices(TapeCapacity room) {
  if (room.scalars > maxIndex || room.instructions > maxIndex || room.words > maxIndex)
    fail(ErrorCode::outOfRoom,
         "a tape holds at most %zu scalars and words, not %zu and %zu: rewind between samples", maxIndex,
         room.scalars, room.words);
}

/// The arrays of a tape.
template <class T, Config C> class TapeArrays {
  struct Nothing {};

 public:
  Buffer<T, C.allocates> values;
  // Half a page further: a load that follows a store to the same place of another page waits for it, as far as the first
  // comparison of the two addresses can see. One gradient of a large layer took 1.8 times as long.
  Buffer<T, C.allocates, 2112> gradients;
  Buffer<Instruction, C.allocates> code;
  Buffer<Word, C.allocates> words;
  // Only with checks: when each scalar was recorded.
  [[no_unique_address]] std::conditional_t<C.checks, Buffer<Word, C.allocates>, Nothing> epochs;

  constexpr TapeArrays() = default;
  TapeArrays(const TapeArrays&) = delete;
  TapeArrays& operator=(const TapeArrays&) = delete;
  ~TapeArrays() {
    if constexpr (C.allocates)
      if (space_ != nullptr) giveBack();
  }

  TapeCapacity room() const { return {values.capacity(), code.capacity(), words.capacity()}; }
  /// Whether `extra` fits beside what is used. Compared without adding: a sum could wrap.
  bool fits(TapeCapacity used, TapeCapacity extra) const {
    return extra.scalars <= values.capacity() - used.scalars &&
           extra.instructions <= code.capacity() - used.instructions &&
           extra.words <= words.capacity() - used.words;
  }

  void allocate(TapeCapacity room) {
    requireIndices(room);
    forEach(room, [](auto& array, std::size_t capacity) { array.allocate(capacity); });
  }
  void grow(TapeCapacity needed) {
    if (values.capacity() == 0 && code.capacity() == 0 && words.capacity() == 0) reserve();
    if (needed.scalars > values.capacity()) {
      growOne(gradients, needed.scalars);
      if constexpr (C.checks) growOne(epochs, needed.scalars);
      growOne(values, needed.scalars);  // last: its capacity speaks for all three
    }
    if (needed.instructions > code.capacity()) growOne(code, needed.instructions);
    if (needed.words > words.capacity()) growOne(words, needed.words);
  }
  /// How much address space a growing tape reserves.
  static constexpr std::size_t reservedBytes() {
    return 2 * part<T>() + part<Instruction>() + (C.checks ? 2 : 1) * part<Word>();
  }

  static constexpr std::size_t requiredBytes(TapeCapacity room) {
    const std::size_t perScalar = 2 * sizeof(T) + (C.checks ? sizeof(Word) : 0);
    return room.scalars * perScalar + room.instructions * sizeof(Instruction) + room.words * sizeof(Word) +
           alignof(T) + alignof(Instruction);  // lost at most to alignment
  }
  /// As many instructions as scalars and two words each, as many as fit and a tape can hold.
  static constexpr TapeCapacity evenRoom(std::size_t bytes) {
    const std::size_t overhead = requiredBytes({}), each = requiredBytes({1, 1, 2}) - overhead;
    const std::size_t fitting = bytes < overhead ? 0 : (bytes - overhead) / each;
    const std::size_t count = fitting < maxIndex / 2 ? fitting : maxIndex / 2;
    return {count, count, 2 * count};
  }
  void borrow(std::span<std::byte> memory, TapeCapacity room) {
    requireIndices(room);
    if (memory.size() < requiredBytes(room))
      fail(ErrorCode::outOfRoom, "a buffer of %zu bytes is too small for the room asked for: %zu are needed",
           memory.size(), requiredBytes(room));
    void* at = memory.data();
    std::size_t left = memory.size();
    forEach(room, [&]<class E, std::size_t skew>(Buffer<E, C.allocates, skew>& array, std::size_t count) {
      array.borrow(std::align(alignof(E), count * sizeof(E), at, left), count);
      at = static_cast<std::byte*>(at) + count * sizeof(E);
      left -= count * sizeof(E);
    });
  }

 private:
  using Space = AddressSpace;

  /// Calls `use(array, capacity)` for every array.
  template <class Use> void forEach(TapeCapacity room, Use use) {
    use(values, room.scalars);
    use(gradients, room.scalars);
    use(code, room.instructions);
    use(words, room.words);
    if constexpr (C.checks) use(epochs, room.scalars);
  }

  /// The part of the space that the longest array of E takes, with a step to shift it.
  template <class E> static constexpr std::size_t part() {
    return Space::inSteps(maxIndex * sizeof(E)) + Space::step;
  }

  /// Takes address space, with the first step of every array in memory. Where there is none, nothing changes.
  void reserve() {
    if constexpr (sizeof(std::size_t) >= 8) {  // fewer bits cannot even count it
      std::byte* space = SpareSpaces<TapeArrays>::take();
      const bool isNew = space == nullptr;
      if (isNew) space = Space::reserve(reservedBytes());
      if (space == nullptr) return;
      space_ = space;
      // Each array begins a page later than the one before: parts lie at distances of powers of two, and at the same
      // place in each they would share sets of caches and of the TLB. Within its page each begins at another quarter,
      // for the reason that gradients have above: with code where values are, a tiny graph took 18 % longer.
      constexpr std::size_t page = 4096;
      std::size_t at = 0;
      bool isCommitted = true;
      const auto place = [&]<class E, std::size_t skew>(Buffer<E, true, skew>& buffer, std::size_t shift) {
        isCommitted = isCommitted && (!isNew || Space::commit(space + at, Space::step));
        buffer.borrow(space + at + shift, (Space::step - shift) / sizeof(E));
        at += part<E>();
      };
      place(values, 0);
      place(gradients, page + 2112);
      place(code, 2 * page + 1024);
      place(words, 3 * page + 3136);
      if constexpr (C.checks) place(epochs, 4 * page);
      std::size_t scalars = gradients.capacity();
      if constexpr (C.checks) {
        scalars = scalars < epochs.capacity() ? scalars : epochs.capacity();
        epochs.setCapacity(scalars);
      }
      gradients.setCapacity(scalars);
      values.setCapacity(scalars);
      if (!isCommitted) forgetSpace();
    }
  }
  /// More of an array in memory, where it lies; by realloc without address space.
  template <class E, std::size_t skew> void growOne(Buffer<E, true, skew>& buffer, std::size_t atLeast) {
    if (space_ == nullptr) return buffer.grow(atLeast);
    const std::size_t capacity = grownCapacity(buffer.capacity(), atLeast);
    const auto endOf = [&](std::size_t count) {
      return Space::inSteps(
          static_cast<std::size_t>(reinterpret_cast<std::byte*>(buffer.data() + count) - space_));
    };
    const std::size_t from = endOf(buffer.capacity()), to = endOf(capacity);
    if (to > from && !Space::commit(space_ + from, to - from))
      fail(ErrorCode::outOfMemory, "out of memory: a tape asked for %zu more bytes", to - from);
    buffer.setCapacity(capacity);
  }
  void forgetSpace() {
    Space::release(std::exchange(space_, nullptr), reservedBytes());
    forEach({}, [](auto& array, std::size_t) { array.borrow(nullptr, 0); });
  }
  /// A tape that never outgrew the first step leaves its space to the next one.
  void giveBack() {
    const bool isSmall = values.capacity() * sizeof(T) <= Space::step &&
                         words.capacity() * sizeof(Word) <= Space::step &&
                         code.capacity() * sizeof(Instruction) <= Space::step;
    if (isSmall)
      SpareSpaces<TapeArrays>::give(space_);
    else
      Space::release(space_, reservedBytes());
  }

  std::byte* space_ = nullptr;
};

}  // namespace burtorch::inline BURTORCH_TARGET
