// Memory of a thread for the intermediate numbers of a layer. It grows to the largest amount that was asked for and stays, so
// a training allocates in its first step only.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <type_traits>

#include "../base/check.hpp"

namespace burtorch::inline BURTORCH_TARGET::nn {

template <class T> class Scratch {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Room for `count` numbers at a border of 64 bytes. What it holds is anything; the next call may move it.
  static T* of(std::size_t count) {
    if (count > capacity_) grow(count);
    return at_;
  }

 private:
  static void grow(std::size_t count) {
    static thread_local Guard guard;
    Guard::release();
    const std::size_t bytes = (count * sizeof(T) + 63) / 64 * 64;
    at_ = static_cast<T*>(std::aligned_alloc(64, bytes));
    if (at_ == nullptr) fail(ErrorCode::outOfMemory, "no memory for %zu bytes of a layer's scratch", bytes);
    capacity_ = count;
  }
  struct Guard {
    ~Guard() { release(); }  // a layer in the destructor of a static object gets memory again
    static void release() {
      std::free(at_);
      at_ = nullptr;
      capacity_ = 0;
    }
  };
  static inline constinit thread_local T* at_ = nullptr;
  static inline constinit thread_local std::size_t capacity_ = 0;
};

}  // namespace burtorch::inline BURTORCH_TARGET::nn
