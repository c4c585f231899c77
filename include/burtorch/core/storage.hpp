// Memory of a tape: an array that grows, is fixed, or is borrowed from the caller (paper F.9.3).
#pragma once

#include <cstddef>
#include <cstdlib>
#include <type_traits>

#include "check.hpp"

namespace burtorch {

/// How much of each a tape uses or may use: numbers, instructions, and 32-bit words for constants, lists and names.
struct Room {
  std::size_t scalars = 0, instructions = 0, words = 0;

  friend constexpr Room operator+(Room x, Room y) {
    return {x.scalars + y.scalars, x.instructions + y.instructions, x.words + y.words};
  }
};

/// An array of trivial elements, without their count. realloc may move a large block without copying it.
template <class T, bool allocates = true> class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  constexpr Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() {
    if constexpr (allocates)
      if (isOwned_) std::free(data_);
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
    void* data = std::realloc(static_cast<void*>(data_), capacity * sizeof(T));
    if (data == nullptr) fail("out of memory: a tape asked for %zu bytes", capacity * sizeof(T));
    data_ = static_cast<T*>(data);
    capacity_ = capacity;
    isOwned_ = true;
  }
  void borrow(void* memory, std::size_t capacity) {
    data_ = static_cast<T*>(memory);
    capacity_ = capacity;
  }

 private:
  T* data_ = nullptr;
  std::size_t capacity_ = 0;
  bool isOwned_ = false;
};

}  // namespace burtorch
