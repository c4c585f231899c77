// The sum of something over the samples of a batch, a number and a vector, by as many threads as help.
//
// A batch is divided into parts whose number depends on the batch and on what a sample costs, never on the threads. Each part is
// summed in the order of its samples into a vector of its own, and the parts are added in a fixed tree: so the bits are the same for
// any number of threads. Memory of the parts is kept for the next call, and each call that runs at the same time as
// another one has its own; so a const oracle may be asked by several threads, and allocates in its first steps only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "../base/workers.hpp"

namespace burtorch::inline BURTORCH_TARGET {

template <class T> class BatchSum {
 public:
  static constexpr std::size_t mostParts = 32;

  BatchSum() = default;
  // Memory is of use to one object only.
  BatchSum(const BatchSum&) {}
  BatchSum& operator=(const BatchSum&) { return *this; }

  /// Into how many parts a batch is divided, if a sample costs `work` multiply-adds: a power of two. A part has to be worth the
  /// zeros and the addition of its vector.
  static std::size_t partCount(std::size_t batch, std::size_t work, std::size_t dimension) {
    constexpr std::size_t leastWork = std::size_t{1} << 15, mostBytes = std::size_t{32} << 20;
    const std::size_t worth = batch * work / std::max(leastWork, 8 * dimension),
                      room = mostBytes / sizeof(T) / std::max<std::size_t>(1, dimension);
    return std::bit_floor(std::clamp<std::size_t>(std::min(worth, room), 1, mostParts));
  }

  /// Writes the sum of all parts' vectors to `into` and returns that of their numbers. `add(first, end, sum, scratch)` adds the
  /// samples of a part, by their places in the batch, to a vector, with `scratchCount` numbers to work with, and returns a
  /// number (or a few that have +=). An empty `into` asks for the number only.
  template <class Add>
  auto run(std::size_t batch, std::size_t parts, std::span<T> into, std::size_t scratchCount,
           const Add& add) const {
    using Number = std::invoke_result_t<Add, std::size_t, std::size_t, std::span<T>, T*>;
    const std::size_t d = into.size(), unit = 64 / sizeof(T),
                      stride = (d + scratchCount + unit - 1) / unit * unit;  // no cache line has two parts
    // The first part has the caller's memory, and only its scratch here.
    const Borrowed memory(*this, parts * stride - d);
    T* const others = memory.data() + (stride - d);
    Number numbers[mostParts];
    const auto part = [&](std::size_t p, std::size_t) {
      const std::span<T> sum = p == 0 ? into : std::span<T>(others + (p - 1) * stride, d);
      numbers[p] = addPart(batch * p / parts, batch * (p + 1) / parts, sum,
                           p == 0 ? memory.data() : sum.data() + d, add);
    };
    Workers* const help = currentWorkers();
    if (help != nullptr && parts > 1)
      help->run(parts, part);
    else
      for (std::size_t p = 0; p < parts; ++p) part(p, 0);
    if (parts > 1) addParts(into.data(), others, d, stride, parts);
    for (std::size_t width = 1; width < parts; width *= 2)
      for (std::size_t p = 0; p + width < parts; p += 2 * width) numbers[p] += numbers[p + width];
    return numbers[0];
  }

 private:
  // One function for the caller alone and for workers: where it is inlined, a compiler could fuse other products and sums.
  template <class Add>
  [[gnu::noinline]] static auto addPart(std::size_t first, std::size_t end, std::span<T> sum, T* scratch,
                                        const Add& add) {
    std::fill(sum.begin(), sum.end(), T{0});
    return add(first, end, sum, scratch);
  }
  static void addParts(T* into, T* others, std::size_t d, std::size_t stride, std::size_t parts) {
    const auto vectorOf = [=](std::size_t p) { return p == 0 ? into : others + (p - 1) * stride; };
    forEachPartOfLoop(d, 64, Worth{parts, std::size_t{1} << 14}, [=](std::size_t first, std::size_t end) {
      constexpr std::size_t strip = 256;  // of all parts, in the first cache
      for (std::size_t at = first; at < end; at += strip)
        for (std::size_t width = 1; width < parts; width *= 2)
          for (std::size_t p = 0; p + width < parts; p += 2 * width) {
            T* const to = vectorOf(p);
            const T* const from = vectorOf(p + width);
            for (std::size_t i = at; i < std::min(at + strip, end); ++i) to[i] = to[i] + from[i];
          }
    });
  }

  /// Memory of one call.
  class Borrowed {
   public:
    Borrowed(const BatchSum& owner, std::size_t count) : owner_(owner) {
      {
        const std::lock_guard lock(owner_.mutex_);
        if (!owner_.free_.empty()) {
          memory_ = std::move(owner_.free_.back());
          owner_.free_.pop_back();
        }
      }
      if (memory_.size() < count) memory_.resize(count);
    }
    Borrowed(const Borrowed&) = delete;
    Borrowed& operator=(const Borrowed&) = delete;
    ~Borrowed() {
      const std::lock_guard lock(owner_.mutex_);
      owner_.free_.push_back(std::move(memory_));
    }
    T* data() const { return const_cast<T*>(memory_.data()); }

   private:
    const BatchSum& owner_;
    std::vector<T> memory_;
  };

  mutable std::mutex mutex_;
  mutable std::vector<std::vector<T>> free_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
