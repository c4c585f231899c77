// Address space: reserved once, backed by memory as it is needed.
//
// A growing tape reserves room for the longest tape there can be, which costs nothing but addresses, and asks for memory
// in steps. So its arrays never move: spans of parameters stay good however much is recorded, and growing copies nothing.
// Where this is not possible (addresses of 32 bits, no mmap, a limit on address space, which a reservation would use up
// for everybody else) `reserve` returns nullptr, and the tape grows by realloc.
#pragma once

#include <cstddef>
#include <cstring>

#include "../base/config.hpp"

#if __has_include(<sys/mman.h>) && __has_include(<sys/resource.h>) && !defined(__EMSCRIPTEN__)
#include <sys/mman.h>
#include <sys/resource.h>
#define BURTORCH_HAS_MMAP 1
#else
#define BURTORCH_HAS_MMAP 0
#endif

namespace burtorch::inline BURTORCH_TARGET {

struct AddressSpace {
  /// A multiple of every page size in use.
  static constexpr std::size_t step = 65536;
  static constexpr std::size_t inSteps(std::size_t bytes) { return (bytes + step - 1) / step * step; }

  static std::byte* reserve([[maybe_unused]] std::size_t bytes) {
#if BURTORCH_HAS_MMAP
    rlimit limit{};
    if (sizeof(void*) < 8 || getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY)
      return nullptr;
    void* space = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return space == MAP_FAILED ? nullptr : static_cast<std::byte*>(space);
#else
    return nullptr;
#endif
  }
  /// Backs whole steps with memory, which holds zeros. False: the system has no more.
  static bool commit([[maybe_unused]] std::byte* at, [[maybe_unused]] std::size_t bytes) {
#if BURTORCH_HAS_MMAP
    return mprotect(at, bytes, PROT_READ | PROT_WRITE) == 0;
#else
    return false;
#endif
  }
  static void release([[maybe_unused]] std::byte* at, [[maybe_unused]] std::size_t bytes) {
#if BURTORCH_HAS_MMAP
    munmap(at, bytes);
#endif
  }
};

/// The spaces of small tapes that died in this thread, for the next ones: making and returning a reservation takes tens
/// of microseconds, a hundred times as long as recording a small graph. Each holds the address of the one below it, so
/// nothing is allocated. `Owner` tells sizes apart.
template <class Owner> class SpareSpaces {
 public:
  /// nullptr: there is none.
  static std::byte* take() {
    std::byte* space = top_;
    if (space == nullptr) return nullptr;
    std::memcpy(&top_, space, sizeof top_);
    --count_;
    return space;
  }
  /// Keeps it, or returns it to the system: if there are several, or the thread is at its end. Its first bytes must be
  /// in memory.
  static void give(std::byte* space) {
    if (count_ == most || isClosed_) return AddressSpace::release(space, Owner::reservedBytes());
    static thread_local Closer closer;
    static_cast<void>(&closer);
    std::memcpy(space, &top_, sizeof top_);
    top_ = space;
    ++count_;
  }

 private:
  struct Closer {
    ~Closer() {
      isClosed_ = true;
      while (std::byte* space = take()) AddressSpace::release(space, Owner::reservedBytes());
    }
  };
  static constexpr int most = 8;
  static inline constinit thread_local std::byte* top_ = nullptr;
  static inline constinit thread_local int count_ = 0;
  static inline constinit thread_local bool isClosed_ = false;
};

}  // namespace burtorch::inline BURTORCH_TARGET
