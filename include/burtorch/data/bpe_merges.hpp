// Byte-pair merging: which neighbours become one token, and doing so until none are left.
//
// A merge has a rank, its place in the list. Of all neighbours that may be merged, those of the lowest rank are, the
// leftmost first, again and again. Two ways lead to the same tokens. A short list is searched from its start each time:
// words have some ten bytes, and nothing beats a loop over them. A long one is linked, and a heap holds what may be merged,
// so n bytes take O(n log n) time however they are made.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "../base/check.hpp"
#include "../base/config.hpp"
#include "../base/token_id.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Two neighbours and the token that they become.
struct BytePairMerge {
  TokenId left, right, result;
};

class BytePairMerges {
 public:
  /// In the order of their ranks. A pair that is there twice is an error.
  explicit BytePairMerges(std::span<const BytePairMerge> merges) {
    if (merges.size() >= maxRanks)
      fail("BytePairMerges: expected fewer than %zu merges, got %zu", maxRanks, merges.size());
    std::size_t slots = 16;
    while (slots < 2 * merges.size()) slots *= 2;
    slots_.resize(slots);
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
      Slot& slot = slots_[placeOf(keyOf(merges[rank].left, merges[rank].right))];
      if (slot.rule != none)
        fail("BytePairMerges: tokens %u and %u are merged twice, by merges %zu and %zu; leave one out",
             merges[rank].left, merges[rank].right, static_cast<std::size_t>(slot.rule >> 32), rank);
      slot = {keyOf(merges[rank].left, merges[rank].right), std::uint64_t{rank} << 32 | merges[rank].result};
    }
  }

  bool contains(TokenId left, TokenId right) const { return find(left, right) != none; }

  /// Memory that `merge` uses for long lists, to be used again for the next.
  struct Scratch {
    struct Node {
      std::uint64_t rule;  // of this token and the next; `none` also if this one is gone
      std::uint32_t previous, next;
    };
    std::vector<Node> nodes;
    std::vector<std::uint64_t> heap;
  };

  /// Merges a list of fewer than 2^32 tokens in place; returns how many remain at its front.
  std::size_t merge(std::span<TokenId> tokens, Scratch& scratch) const {
    return tokens.size() <= longestShort ? mergeShort(tokens) : mergeLong(tokens, scratch);
  }

  /// Up to this many tokens the list is searched.
  static constexpr std::size_t longestShort = 48;

 private:
  /// What is found for a pair, rank << 32 | result: the least rule is that of the lowest rank.
  static constexpr std::uint64_t none = UINT64_MAX;
  static constexpr std::size_t maxRanks = UINT32_MAX;
  struct Slot {
    std::uint64_t key = 0, rule = none;
  };

  static std::uint64_t keyOf(TokenId left, TokenId right) { return std::uint64_t{left} << 32 | right; }
  /// The slot that has the key, or the free one where it belongs.
  std::size_t placeOf(std::uint64_t key) const {
    std::uint64_t hash = key * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 32;
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = static_cast<std::size_t>(hash) & mask;
    while (slots_[place].rule != none && slots_[place].key != key) place = (place + 1) & mask;
    return place;
  }
  std::uint64_t find(TokenId left, TokenId right) const { return slots_[placeOf(keyOf(left, right))].rule; }

  std::size_t mergeShort(std::span<TokenId> tokens) const {
    std::size_t count = tokens.size();
    if (count < 2) return count;
    std::array<std::uint64_t, longestShort> rules;  // of token i and the next
    for (std::size_t i = 0; i + 1 < count; ++i) rules[i] = find(tokens[i], tokens[i + 1]);
    while (count > 1) {
      // In equal rules the first wins: the leftmost.
      const auto least = std::min_element(rules.begin(), rules.begin() + (count - 1));
      if (*least == none) break;
      const auto at = static_cast<std::size_t>(least - rules.begin());
      tokens[at] = static_cast<TokenId>(*least);
      --count;
      for (std::size_t i = at + 1; i < count; ++i) tokens[i] = tokens[i + 1];
      for (std::size_t i = at + 1; i + 1 < count; ++i) rules[i] = rules[i + 1];
      if (at + 1 < count) rules[at] = find(tokens[at], tokens[at + 1]);
      if (at > 0) rules[at - 1] = find(tokens[at - 1], tokens[at]);
    }
    return count;
  }

  std::size_t mergeLong(std::span<TokenId> tokens, Scratch& scratch) const {
    const auto end = static_cast<std::uint32_t>(tokens.size());
    std::vector<Scratch::Node>& nodes = scratch.nodes;
    std::vector<std::uint64_t>& heap = scratch.heap;
    nodes.resize(end);
    heap.clear();
    // Ascending by rank, then by place.
    const auto entryOf = [&](std::uint32_t at) { return (nodes[at].rule >> 32) << 32 | at; };
    for (std::uint32_t at = 0; at < end; ++at) {
      nodes[at] = {at + 1 < end ? find(tokens[at], tokens[at + 1]) : none, at - 1, at + 1};
      if (nodes[at].rule != none) heap.push_back(entryOf(at));
    }
    std::make_heap(heap.begin(), heap.end(), std::greater<>());
    const auto meet = [&](std::uint32_t left, std::uint32_t right) {
      nodes[left].rule = find(tokens[left], tokens[right]);
      if (nodes[left].rule == none) return;
      heap.push_back(entryOf(left));
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    };
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), std::greater<>());
      const std::uint64_t entry = heap.back();
      heap.pop_back();
      const auto at = static_cast<std::uint32_t>(entry);
      if (nodes[at].rule >> 32 != entry >> 32) continue;  // one of the two has been merged with another since
      const std::uint32_t gone = nodes[at].next, next = nodes[gone].next;
      tokens[at] = static_cast<TokenId>(nodes[at].rule);
      nodes[at].rule = nodes[gone].rule = none;
      nodes[at].next = next;
      if (next < end) {
        nodes[next].previous = at;
        meet(at, next);
      }
      if (at > 0) meet(nodes[at].previous, at);
    }
    std::size_t count = 0;
    for (std::uint32_t at = 0; at < end; at = nodes[at].next) tokens[count++] = tokens[at];
    return count;
  }

  std::vector<Slot> slots_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
