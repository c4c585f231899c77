// Coordinates that a compressor draws before it knows a value: RandK's, RandSeqK's and PermK's. Sender and receiver draw them
// from the same key, so a message need not name them, and what is not drawn need not be computed.
//
// A set is drawn into memory that it keeps; the same set again costs a comparison, so a client and a server in one process
// that share a set draw it once. Coordinates stay in the order in which they were drawn: to sort 5 % of 46,000 takes longer
// than to draw them, and saves nothing that was measured.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "../base/check.hpp"
#include "../base/rng.hpp"
#include "../ops/instruction.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace detail {

/// Uniform numbers from 0 to bound - 1, two from each number of the stream (Lemire's product, as Rng::below).
class HalfDraws {
 public:
  HalfDraws(std::uint64_t key, std::uint32_t bound)
      : rng_(key),
        bound_(bound),
        unfair_(static_cast<std::uint32_t>((std::uint64_t{1} << 32) % (bound > 0 ? bound : 1))) {}
  std::uint32_t operator()() {
    for (;;) {
      word_ = hasHalf_ ? word_ << 32 : rng_.next();
      hasHalf_ = !hasHalf_;
      const std::uint64_t product = (word_ >> 32) * bound_;
      if (static_cast<std::uint32_t>(product) >= unfair_) [[likely]]
        return static_cast<std::uint32_t>(product >> 32);
    }
  }

 private:
  Rng rng_;
  std::uint32_t bound_, unfair_;
  std::uint64_t word_ = 0;
  bool hasHalf_ = false;
};

/// Draws until `count` different numbers are listed: every set of that size is equally likely. `bits` is zero before, and
/// then says which were drawn; `list` has room for one more than `count`.
template <class Draw>
void drawDistinct(std::size_t count, Draw draw, std::uint64_t* bits, std::uint32_t* list) {
  // Without a branch on whether a number is new: it is written anyway, and the next one takes its place.
  for (std::size_t listed = 0; listed < count;) {
    const std::uint32_t i = draw();
    std::uint64_t& word = bits[i / 64];
    const std::uint64_t bit = std::uint64_t{1} << (i % 64);
    list[listed] = i;
    listed += (word & bit) == 0;
    word |= bit;
  }
}

/// A uniform permutation of 0 to d - 1, by Fisher and Yates; `draw(n)` is uniform below n.
template <class Draw> void drawPermutation(std::span<std::uint32_t> permutation, Draw draw) {
  std::iota(permutation.begin(), permutation.end(), 0u);
  for (std::size_t i = permutation.size(); i > 1; --i)
    std::swap(permutation[i - 1], permutation[draw(static_cast<std::uint32_t>(i))]);
}

/// Where a part of those that d coordinates are dealt into begins and ends. Parts differ by one coordinate if d is no multiple
/// of their number; a shift that all workers share makes each equally likely to get a larger one, so that every coordinate
/// falls to every worker with the same probability.
struct PartBounds {
  std::size_t first, end;
};
constexpr PartBounds partBounds(std::size_t d, std::size_t parts, std::size_t part, std::size_t shift) {
  const std::size_t place = (part + shift) % parts;
  return {d * place / parts, d * (place + 1) / parts};
}

}  // namespace detail

/// A set of coordinates that depends on a key alone, never on values.
class CoordinateSet {
 public:
  /// A uniform subset of k coordinates (RandK).
  void drawSubset(std::size_t d, std::size_t k, std::uint64_t key) {
    const Drawn wanted{Kind::subset, d, k, 0, key};
    if (drawn_ == wanted) return;
    drawn_ = {};
    const std::size_t fewer = std::min(k, d - k);  // of more than half, those that are left out are drawn
    bits_.assign((d + 63) / 64, 0);
    indices_.resize(std::max(k, fewer + 1));
    detail::drawDistinct(fewer, detail::HalfDraws(key, static_cast<std::uint32_t>(d)), bits_.data(),
                         indices_.data());
    if (fewer < k) listMissing(d);
    indices_.resize(k);
    drawn_ = wanted;
  }
  /// k consecutive coordinates from a uniform start on, around the end (RandSeqK): one draw.
  void drawRun(std::size_t d, std::size_t k, std::uint64_t key) {
    drawn_ = {Kind::run, d, k, 0, key};
    start_ = k == d ? 0 : Rng(key).below(d);
  }
  /// Part `part` of `parts` of a permutation that all workers share (PermK).
  void drawPart(std::size_t d, std::size_t parts, std::size_t part, std::uint64_t key) {
    const Drawn wanted{Kind::part, d, parts, part, key};
    if (drawn_ == wanted) return;
    if (drawn_.kind != Kind::part || drawn_.d != d || drawn_.key != key || drawn_.count != parts) {
      drawn_ = {};
      permutation_.resize(d);
      Rng rng(key);
      shift_ = rng.below(parts);
      detail::drawPermutation(permutation_, [&](std::uint32_t bound) { return rng.below(bound); });
    }
    const auto [first, end] = detail::partBounds(d, parts, part, shift_);
    indices_.assign(permutation_.begin() + static_cast<std::ptrdiff_t>(first),
                    permutation_.begin() + static_cast<std::ptrdiff_t>(end));
    drawn_ = wanted;
  }
  /// How many coordinates that part has.
  static std::size_t partSize(std::size_t d, std::size_t parts, std::size_t part, std::uint64_t key) {
    const auto [first, end] = detail::partBounds(d, parts, part, Rng(key).below(parts));
    return end - first;
  }

  std::size_t size() const { return isRun() ? drawn_.count : indices_.size(); }
  /// Whether the set is one run, around the end; otherwise `indices` lists it.
  bool isRun() const { return drawn_.kind == Kind::run; }
  /// The coordinates in the order of a message, unless the set is a run.
  std::span<const std::uint32_t> indices() const { return indices_; }

  /// Half of a run: `count` coordinates from `first` on.
  struct Half {
    std::size_t first, count;
  };
  /// A run as its two halves: up to the end, and from 0 on.
  std::pair<Half, Half> halves() const {
    const std::size_t before = std::min(drawn_.count, drawn_.d - start_);
    return {{start_, before}, {0, drawn_.count - before}};
  }

  /// The set as blocks of parameters, in ascending order, neighbours together: for a sweep that computes nothing else.
  void blocks(std::vector<Block>& into) {
    into.clear();
    const auto add = [&](std::size_t first, std::size_t count) {
      if (count > 0)
        into.push_back({static_cast<NodeIndex>(first), static_cast<NodeIndex>(count), /*isParameter=*/true});
    };
    if (isRun()) {
      const auto [front, back] = halves();
      add(back.first, back.count);
      return add(front.first, front.count);
    }
    sorted_.assign(indices_.begin(), indices_.end());
    std::sort(sorted_.begin(), sorted_.end());
    for (const std::uint32_t i : sorted_)
      if (!into.empty() && into.back().first + into.back().count == i)
        ++into.back().count;
      else
        add(i, 1);
  }

 private:
  enum class Kind : std::uint8_t { none, subset, run, part };
  struct Drawn {
    Kind kind = Kind::none;
    std::size_t d = 0, count = 0, part = 0;
    std::uint64_t key = 0;

    friend bool operator==(const Drawn&, const Drawn&) = default;
  };

  void listMissing(std::size_t d) {
    std::uint32_t* next = indices_.data();
    for (std::uint32_t i = 0; i < d; ++i)
      if ((bits_[i / 64] >> (i % 64) & 1) == 0) *next++ = i;
  }

  Drawn drawn_;
  std::size_t start_ = 0, shift_ = 0;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> indices_, permutation_, sorted_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
