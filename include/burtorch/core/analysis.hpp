// What depends on what, for every kind of graph: at run time (tapes, replay, pictures) and at compile time (plans of
// compile-time graphs). No recursion; one pass over the instructions, forwards or backwards.
//
// A graph is a view with
//   instructionCount(), results(k) as {first, count}, forEachOperand(k, visit(first, count, stride))
// Operands come as ranges: a block of a million parameters is one call, and one fill of memory at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "../base/config.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Numbers side by side.
struct NumberRange {
  std::size_t first = 0, count = 0;
};

/// Marks on numbers, in somebody's array of bytes (or bool).
template <class Byte> class Marks {
 public:
  constexpr explicit Marks(Byte* bytes) : bytes_(bytes) {}

  constexpr bool has(std::size_t number) const { return bytes_[number] != Byte{0}; }
  constexpr void set(std::size_t number) const { bytes_[number] = Byte{1}; }
  constexpr bool hasAny(const NumberRange& range) const { return hasAny(range.first, range.count, 1); }
  constexpr bool hasAny(std::size_t first, std::size_t count, std::ptrdiff_t stride) const {
    const Byte* at = bytes_ + first;
    if constexpr (sizeof(Byte) == 1) {
      // Large blocks are mostly unmarked: 64 marks at a time.
      for (; stride == 1 && count >= 64 && !std::is_constant_evaluated(); count -= 64, at += 64) {
        std::uint64_t words[8];
        std::memcpy(words, at, sizeof words);
        if ((words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] | words[7]) != 0)
          return true;
      }
    }
    for (std::size_t i = 0; i < count; ++i, at += i < count ? stride : 0)
      if (*at != Byte{0}) return true;
    return false;
  }
  constexpr void set(const NumberRange& range) const { set(range.first, range.count, 1); }
  constexpr void set(std::size_t first, std::size_t count, std::ptrdiff_t stride) const {
    Byte* at = bytes_ + first;
    if (stride == 1)
      for (std::size_t i = 0; i < count; ++i) at[i] = Byte{1};
    else
      for (std::size_t i = 0; i < count; ++i, at += i < count ? stride : 0) *at = Byte{1};
  }

 private:
  Byte* bytes_;
};

/// Marks everything that marked numbers depend on, through instructions for which `passes(k)` holds.
template <class Graph, class Byte, class Passes>
constexpr void reaches(const Graph& graph, Marks<Byte> marks, Passes passes) {
  for (std::size_t k = graph.instructionCount(); k-- > 0;)
    if (marks.hasAny(graph.results(k)) && passes(k))
      graph.forEachOperand(k, [&](std::size_t first, std::size_t count, std::ptrdiff_t stride) {
        marks.set(first, count, stride);
      });
}

/// Marks everything that depends on marked numbers, through instructions for which `passes(k)` holds.
template <class Graph, class Byte, class Passes>
constexpr void varies(const Graph& graph, Marks<Byte> marks, Passes passes) {
  for (std::size_t k = 0; k < graph.instructionCount(); ++k) {
    if (!passes(k)) continue;
    bool does = false;
    graph.forEachOperand(k, [&](std::size_t first, std::size_t count, std::ptrdiff_t stride) {
      does = does || marks.hasAny(first, count, stride);
    });
    if (does) marks.set(graph.results(k));
  }
}

/// Whether a number is used for the first time; from now on it has been. Where gradients are summed the first one is
/// stored, not added, so that nothing has to be cleared.
template <class Byte> constexpr bool firstUse(Marks<Byte> isUsed, std::size_t number) {
  const bool isFirst = !isUsed.has(number);
  isUsed.set(number);
  return isFirst;
}

}  // namespace burtorch::inline BURTORCH_TARGET
