// Memory for the hand-written gradients: zeroed, aligned to a huge page and asked for as huge pages, so that neither a
// page fault nor the luck of an address is part of a measurement.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace limits {

class Arena {
 public:
  /// Takes whole huge pages: the kernel gives none to a smaller area.
  explicit Arena(std::size_t wanted) {
    const std::size_t bytes = (wanted + hugePage - 1) / hugePage * hugePage;
    mapped_ = bytes + hugePage;  // wherever it starts, an aligned part is long enough
    start_ = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start_ == MAP_FAILED) throw std::bad_alloc();
    const auto address = reinterpret_cast<std::uintptr_t>(start_);
    next_ = static_cast<std::byte*>(start_) + (hugePage - address % hugePage) % hugePage;
    end_ = next_ + bytes;
    madvise(next_, bytes, MADV_HUGEPAGE);  // where it is refused, small pages do
  }
  ~Arena() { munmap(start_, mapped_); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// The next `count` objects, which must be fine with zeros; `offset` bytes behind the start of a page.
  template <class T> T* take(std::size_t count = 1, std::size_t offset = 0) {
    std::byte* place = next_ + offset;
    const std::size_t bytes = bytesFor<T>(count, offset);
    if (bytes > static_cast<std::size_t>(end_ - next_)) throw std::bad_alloc();
    next_ += bytes;
    return reinterpret_cast<T*>(place);
  }
  /// How much of an arena such a call takes.
  template <class T> static constexpr std::size_t bytesFor(std::size_t count = 1, std::size_t offset = 0) {
    return (offset + count * sizeof(T) + page - 1) / page * page;
  }

 private:
  static constexpr std::size_t page = 4096, hugePage = std::size_t{2} << 20;
  void* start_;
  std::size_t mapped_;
  std::byte *next_, *end_;
};

}  // namespace limits
