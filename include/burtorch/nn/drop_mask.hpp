// Which numbers a dropout drops: a function of a key, a row and a column, and of nothing else. So no mask is stored, the slope
// computes it again, and neither threads nor tiles nor the width of vectors change a bit of it.
//
// A row is a place of the key's random stream (base/rng.hpp), whose 64 bits start the row; a column is mixed into them with two
// products of 32 bits (the constants are those of lowbias32), which every vector unit has. That costs about one operation for each
// number, where a 64-bit number of the stream would cost ten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "../base/rng.hpp"
#include "../base/step_key.hpp"
#include "../ops/instruction.hpp"
#include "../simd/lanes.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// What is dropped from a matrix: each number with the same probability, the others are divided by one minus it.
struct Dropout {
  double probability = 0;       // of being dropped, in [0, 1); a multiple of 2^-32 is taken
  std::uint64_t key = 0;        // another key, another mask
  std::size_t firstColumn = 0;  // where the matrix begins among all columns under this key

  void check() const {
    if (!(probability >= 0 && probability < 1))
      fail("a dropout of %g; expected a probability of at least 0 and below 1", probability);
  }
};

/// What the dropouts of a model draw from: a step of a training, and where in its batch the samples begin.
struct DropoutKey {
  StepKey step;
  std::size_t firstSample = 0;

  /// The key of one of the model's dropouts.
  std::uint64_t of(std::uint64_t site) const {
    // Not `site` itself: a guided sweep has these streams for its nodes.
    return Rng(Rng(step.seed, step.step).next(), ~site).next();
  }
};

namespace nn {

/// A dropout as layers have it: in four of their words.
template <class T> class DropMask {
 public:
  static constexpr std::size_t wordCount = 4;

  static void write(const Dropout& dropout, Word* words) {
    constexpr double all = 0x1p32;
    const double dropped = dropout.probability * all + 0.5;
    words[0] = dropped < all - 1 ? static_cast<Word>(dropped) : UINT32_MAX;
    words[1] = static_cast<Word>(dropout.firstColumn);
    words[2] = static_cast<Word>(dropout.key);
    words[3] = static_cast<Word>(dropout.key >> 32);
  }
  explicit DropMask(const Word* words)
      : rows_(words[2] | std::uint64_t{words[3]} << 32),
        firstColumn_(words[1]),
        limit_(static_cast<std::int32_t>(words[0] ^ 0x80000000u)),
        scale_(static_cast<PlainOf<T>>(0x1p32 / (0x1p32 - words[0]))) {}

  /// The mask of the part that begins at this row and column.
  DropMask from(std::size_t row, std::size_t column) const {
    DropMask part = *this;
    part.rows_.discard(row);
    part.firstColumn_ += static_cast<std::uint32_t>(column);
    return part;
  }

  /// A row's 64 bits.
  struct Row {
    std::uint32_t first, second;
  };
  BURTORCH_INLINE Row row(std::size_t r) const {
    Rng rng = rows_;
    rng.discard(r);
    const std::uint64_t bits = rng.next();
    return {static_cast<std::uint32_t>(bits) + firstColumn_, static_cast<std::uint32_t>(bits >> 32)};
  }

  /// Numbers of a row from a column on: each over (1 - probability), or 0.
  template <std::size_t n>
  BURTORCH_INLINE Pack<T, n> drop(const Pack<T, n>& x, const Row& row, std::size_t column) const {
    const auto bits = mixed(
        row, columnsOf<n>(std::make_index_sequence<n>{}) + (row.first + static_cast<std::uint32_t>(column)));
    const auto dropped = (Signed<n>)bits < limit_;
    return select(PackMask<T, n>{maskOf<n>(dropped)}, Pack<T, n>(T{0}), x * scale_);
  }
  BURTORCH_INLINE T drop(const T& x, const Row& row, std::size_t column) const {
    const std::uint32_t bits = mixed(row, row.first + static_cast<std::uint32_t>(column));
    return static_cast<std::int32_t>(bits) < limit_ ? T{0} : T(x * scale_);
  }

 private:
  template <std::size_t n> struct Vectors {
    typedef std::uint32_t Bits __attribute__((vector_size(n * sizeof(std::uint32_t))));
    typedef std::int32_t Signed __attribute__((vector_size(n * sizeof(std::int32_t))));
  };
  template <std::size_t n> using Bits = typename Vectors<n>::Bits;
  template <std::size_t n> using Signed = typename Vectors<n>::Signed;

  template <std::size_t n, std::size_t... i>
  BURTORCH_INLINE static constexpr Bits<n> columnsOf(std::index_sequence<i...>) {
    return Bits<n>{static_cast<std::uint32_t>(i)...};
  }
  template <std::size_t n> BURTORCH_INLINE static auto maskOf(const Signed<n>& lanes) {
    if constexpr (sizeof(T) == sizeof(std::int32_t))
      return lanes;
    else
      return __builtin_convertvector(lanes, decltype(PackMask<T, n>::lanes));
  }
  /// Only the upper bits decide, so there is no last shift.
  template <class Words> BURTORCH_INLINE static Words mixed(const Row& row, Words z) {
    z = (z ^ (z >> 16)) * UINT32_C(0x7feb352d);
    return (z ^ (z >> 15) ^ row.second) * UINT32_C(0x846ca68b);
  }

  Rng rows_;
  std::uint32_t firstColumn_;
  std::int32_t limit_;  // below it, as a signed number: dropped
  PlainOf<T> scale_;
};

}  // namespace nn

}  // namespace burtorch::inline BURTORCH_TARGET
