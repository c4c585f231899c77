// Which samples a step looks at: tau of n without replacement, every subset equally likely ("nice" sampling).
//
// A draw is a function of seed and round alone: nothing else is remembered, so a run that is resumed draws what it would have
// drawn. All n are drawn in their order, so methods with tau = n have the bits of those that take everything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "../base/rng.hpp"
#include "../oracle/finite_sum.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Draws tau of n samples for a round.
class NiceSampling {
 public:
  NiceSampling(std::size_t samples, std::size_t tau, std::uint64_t seed) : tau_(tau), seed_(seed) {
    if (tau == 0 || tau > samples)
      fail("NiceSampling: expected 1 to %zu samples at a time, got %zu", samples, tau);
    order_.resize(samples);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    swaps_.resize(tau < samples ? tau : 0);
  }
  std::size_t tau() const { return tau_; }

  /// The samples of a round; they stay until the next draw.
  Batch draw(std::uint64_t round) {
    if (swaps_.empty()) return order_;
    undo();
    // The first places of a shuffle, from the same order every time.
    Rng rng(seed_, round);
    for (std::size_t i = 0; i < tau_; ++i) {
      swaps_[i] = i + rng.index(order_.size() - i);
      std::swap(order_[i], order_[swaps_[i]]);
    }
    isShuffled_ = true;
    return Batch(order_).first(tau_);
  }

 private:
  void undo() {
    if (!isShuffled_) return;
    for (std::size_t i = tau_; i-- > 0;) std::swap(order_[i], order_[swaps_[i]]);
    isShuffled_ = false;
  }

  std::size_t tau_;
  std::uint64_t seed_;
  std::vector<std::size_t> order_, swaps_;
  bool isShuffled_ = false;
};

}  // namespace burtorch::inline BURTORCH_TARGET
