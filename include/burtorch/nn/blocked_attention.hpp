// Causal attention of one head over a long sample, in blocks of queries and keys. Of the weights there is never more than one
// block: a block of keys at a time, the softmax keeps for each query the largest score so far and the sum of exp(score -
// largest), and rescales what it has mixed when the largest grows. These two numbers are all that the slope needs to compute
// the weights again. So memory grows with the length of the sample, not with its square.
//
// The order of all sums depends on the shape alone. A later position reaches no earlier result, whatever it holds.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "../simd/transpose.hpp"
#include "attention_tiles.hpp"
#include "drop_mask.hpp"
#include "scratch.hpp"

BURTORCH_FUSE_BEGIN
namespace burtorch::inline BURTORCH_TARGET::nn {

/// One head: queries, keys and values are [size][positions], their rows `columns` apart.
template <class T> struct BlockedAttention {
  std::size_t size, positions, columns;
  T scale;
  const T *queries, *keys, *values;
  std::optional<DropMask<T>> mask{};  // of the weights [key][query]

  /// Fills in `out`, and for each position the largest score in `most` and 1 / (sum of exp((score - most) scale)) in `share`.
  void value(T* out, T* most, T* share) const {
    const Memory at = memory(false);
    copyKeys(keys, at.keys);
    copyKeys(values, at.values);
    for (std::size_t t = 0; t < positions; t += block) {
      const std::size_t n = std::min(block, positions - t);
      copyColumns(queries + t, n, at.queries);
      for (std::size_t u = 0; u <= t; u += block)
        forEachStrip(n, [&]<std::size_t vectors>(std::size_t w) {
          const bool isDiagonal = u == t;
          scores<vectors>(keysFrom(at.keys, u), at.queries + w, at.weights + w, w, isDiagonal);
          for (std::size_t c = w; c < w + vectors * lanes; c += lanes) {
            softmax(at, c, u == 0, isDiagonal);
            if (mask) drop(at.weights, c, u, t);
          }
          Tiles::template mixtures<vectors>(keysFrom(at.values, u), at.weights + w, at.mixed + w, size,
                                            isDiagonal ? w : block, isDiagonal,
                                            {u > 0, u > 0 ? at.shares + w : nullptr});
        });
      finish(at, n, out + t, most + t, share + t);
    }
  }

  /// What the slope reads and adds to; a null gradient is not wanted.
  struct Slope {
    const T *out, *outGradient, *most, *share;
    T *queryGradient, *keyGradient, *valueGradient;
  };
  void vjp(const Slope& slope) const {
    const Memory at = memory(true);
    copyKeys(keys, at.keys);
    copyKeys(values, at.values);
    for (std::size_t t = 0; t < positions; t += block) {
      const std::size_t n = std::min(block, positions - t);
      startSlope(at, slope, t, n);
      for (std::size_t u = 0; u <= t; u += block) slopeOfBlock(at, slope, u, t, n);
      if (slope.queryGradient != nullptr) addRows(at.mixed, block, n, slope.queryGradient + t);
    }
    if (slope.keyGradient != nullptr) addTurned(at, at.keySlopes, slope.keyGradient);
    if (slope.valueGradient != nullptr) addTurned(at, at.valueSlopes, slope.valueGradient);
  }

 private:
  using Tiles = AttentionTiles<T>;
  using Pack = typename Tiles::Pack;
  static constexpr std::size_t lanes = Tiles::lanes, width = Tiles::width, block = Tiles::block;

  /// Scratch of one head. [e] has a row for each feature, up to a whole tile; [t][e] rows of whole vectors.
  struct Memory {
    T *keys, *values;          // [block of keys][e][keyStride]
    T *queries, *mixed;        // [e][block]: queries, and mixtures of values or the gradients of queries
    T* weights;                // [u][block]: scores, then weights
    T *mosts, *sums, *shares;  // of each query of a block
    // Only for the slope:
    T *outSlopes = nullptr, *scoreSlopes = nullptr;    // [e][block], [u][block]
    T* dots = nullptr;                                 // of each query of a block
    T *queriesTurned = nullptr, *outTurned = nullptr;  // [t][e]
    T *keySlopes = nullptr, *valueSlopes = nullptr;    // [u][e], for all keys

    /// `take(count)` returns room.
    template <class Take> Memory(const BlockedAttention& head, bool isSlope, Take take) {
      const std::size_t rows = Tiles::padded(head.size), features = head.features();
      const std::size_t blocks = (head.positions + block - 1) / block;
      keys = take(blocks * rows * Tiles::keyStride), values = take(blocks * rows * Tiles::keyStride);
      queries = take(rows * block), mixed = take(rows * block), weights = take(block * block);
      mosts = take(block), sums = take(block), shares = take(block);
      if (!isSlope) return;
      outSlopes = take(rows * block), scoreSlopes = take(block * block), dots = take(block);
      queriesTurned = take(block * features), outTurned = take(block * features);
      keySlopes = take(blocks * block * features), valueSlopes = take(blocks * block * features);
    }
  };
  Memory memory(bool isSlope) const {
    std::size_t count = 0;
    const auto taking = [&count](T* from) {
      return [&count, from](std::size_t some) {
        T* const at = from == nullptr ? nullptr : from + count;
        count += (some * sizeof(T) + 63) / 64 * 64 / sizeof(T);
        return at;
      };
    };
    Memory(*this, isSlope, taking(nullptr));
    T* const all = Scratch<T>::of(std::exchange(count, 0));
    return Memory(*this, isSlope, taking(all));
  }
  /// Features, up to a whole vector.
  std::size_t features() const { return (size + lanes - 1) / lanes * lanes; }
  /// The block of keys, or of values, from key u on.
  const T* keysFrom(const T* copies, std::size_t u) const {
    return copies + u / block * (Tiles::padded(size) * Tiles::keyStride);
  }

  /// Copies into blocks; places behind the last key and the last feature are 0.
  void copyKeys(const T* from, T* to) const {
    for (std::size_t u = 0; u < positions; u += block) {
      const std::size_t n = std::min(block, positions - u);
      for (std::size_t e = 0; e < Tiles::padded(size); ++e, to += Tiles::keyStride) {
        const std::size_t some = e < size ? n : 0;
        if (some > 0) std::copy_n(from + e * columns + u, some, to);
        std::fill(to + some, to + block, T{0});
      }
    }
  }
  void copyColumns(const T* from, std::size_t n, T* to) const {
    for (std::size_t e = 0; e < size; ++e, to += block) {
      std::copy_n(from + e * columns, n, to);
      std::fill(to + n, to + block, T{0});
    }
  }
  void addRows(const T* from, std::size_t stride, std::size_t n, T* to) const {
    for (std::size_t e = 0; e < size; ++e)
      for (std::size_t t = 0; t < n; ++t) to[e * columns + t] = to[e * columns + t] + from[e * stride + t];
  }
  void addTurned(const Memory& at, const T* from, T* to) const {
    for (std::size_t u = 0; u < positions; u += block) {
      const std::size_t n = std::min(block, positions - u), stride = paddedTo<T>(n);
      transpose(from + u * features(), n, size, features(), at.queries, stride);
      addRows(at.queries, stride, n, to + u);
    }
  }
  template <class Visit> BURTORCH_INLINE static void forEachStrip(std::size_t n, const Visit& visit) {
    std::size_t w = 0;
    for (; w + lanes < n; w += width) visit.template operator()<2>(w);
    if (w < n) visit.template operator()<1>(w);
  }

  /// The scores of a strip from w on; on the diagonal only of keys that the strip's vectors see.
  template <std::size_t vectors>
  void scores(const T* left, const T* x, T* to, std::size_t w, bool isDiagonal) const {
    if (!isDiagonal) return Tiles::template scores<vectors>(left, x, to, size, block);
    Tiles::template scores<vectors>(left, x, to, size, w + lanes);
    if constexpr (vectors == 2)
      Tiles::template scores<1>(left + w + lanes, x + lanes, to + (w + lanes) * block + lanes, size, lanes);
  }
  BURTORCH_INLINE static Pack get(const T* from) { return Pack(Tiles::load(from)); }
  BURTORCH_INLINE static void put(T* to, const Pack& pack) {
    std::memcpy(static_cast<void*>(to), &pack, sizeof pack);
  }
  /// For the keys that the vector of queries from c on sees: `whole.operator()<chain>(u)` where all queries do, with a chain
  /// from 0 to 3 by turns, and `part(u, which do)` on the diagonal.
  template <class Whole, class Part>
  BURTORCH_INLINE static void forEachSeen(std::size_t c, bool isDiagonal, const Whole& whole,
                                          const Part& part) {
    const std::size_t seen = isDiagonal ? c : block;
    std::size_t u = 0;
    for (; u + 4 <= seen; u += 4)
      unroll<4>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA { whole.template operator()<i>(u + i); });
    for (; u < seen; ++u) whole.template operator()<0>(u);
    if (isDiagonal)
      for (std::size_t i = 0; i < lanes; ++i) part(c + i, Tiles::seers(i));
  }

  /// Turns the scores of a block of keys, for the vector of queries from c on, into exp((score - largest so far) scale).
  void softmax(const Memory& at, std::size_t c, bool isFirst, bool isDiagonal) const {
    using std::exp;
    T* const column = at.weights + c;
    const Pack lowest(T(-std::numeric_limits<PlainOf<T>>::infinity()));
    const Pack before = isFirst ? lowest : get(at.mosts + c);
    // Four chains: one would wait for each comparison.
    Pack mosts[4] = {before, lowest, lowest, lowest};
    forEachSeen(
        c, isDiagonal,
        [&]<std::size_t i>(std::size_t u) BURTORCH_INLINE_LAMBDA {
          const Pack score = get(column + u * block);
          mosts[i] = select(mosts[i] < score, score, mosts[i]);
        },
        [&](std::size_t u, auto isSeen) BURTORCH_INLINE_LAMBDA {
          const Pack score = get(column + u * block);
          mosts[0] = select(isSeen && mosts[0] < score, score, mosts[0]);
        });
    Pack most = mosts[0];
    for (std::size_t i = 1; i < 4; ++i) most = select(most < mosts[i], mosts[i], most);
    // Only minus infinities so far: their weights are 0, where -inf - -inf would be NaN.
    most = select(most == lowest, Pack(T{0}), most);
    Pack sums[4] = {T{0}, T{0}, T{0}, T{0}};
    forEachSeen(
        c, isDiagonal,
        [&]<std::size_t i>(std::size_t u) BURTORCH_INLINE_LAMBDA {
          const Pack weight = exp((get(column + u * block) - most) * Pack(scale));
          put(column + u * block, weight);
          sums[i] = sums[i] + weight;
        },
        [&](std::size_t u, auto isSeen) BURTORCH_INLINE_LAMBDA {
          const Pack weight = select(isSeen, exp((get(column + u * block) - most) * Pack(scale)), Pack(T{0}));
          put(column + u * block, weight);
          sums[0] = sums[0] + weight;
        });
    const Pack sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    const Pack share = exp((before - most) * Pack(scale));
    put(at.mosts + c, most);
    put(at.shares + c, share);
    put(at.sums + c, isFirst ? sum : get(at.sums + c) * share + sum);
  }
  /// Drops weights, or passes their gradients on: of the vector of queries from t + c on, and the keys from u on that it sees.
  void drop(T* numbers, std::size_t c, std::size_t u, std::size_t t) const {
    const std::size_t seen = u == t ? c + lanes : block;
    for (std::size_t i = 0; i < seen; ++i) {
      T* const to = numbers + i * block + c;
      put(to, mask->drop(get(to), mask->row(u + i), t + c));
    }
  }
  void finish(const Memory& at, std::size_t n, T* out, T* most, T* share) const {
    for (std::size_t t = 0; t < n; ++t) {
      most[t] = at.mosts[t];
      share[t] = at.shares[t] = T{1} / at.sums[t];
    }
    for (std::size_t e = 0; e < size; ++e)
      for (std::size_t t = 0; t < n; ++t) out[e * columns + t] = at.mixed[e * block + t] * at.shares[t];
  }

  void startSlope(const Memory& at, const Slope& slope, std::size_t t, std::size_t n) const {
    copyColumns(queries + t, n, at.queries);
    copyColumns(slope.outGradient + t, n, at.outSlopes);
    transpose(at.queries, size, n, block, at.queriesTurned, features());
    transpose(at.outSlopes, size, n, block, at.outTurned, features());
    std::copy_n(slope.most + t, n, at.mosts);
    std::copy_n(slope.share + t, n, at.shares);
    for (T* rest : {at.mosts, at.shares}) std::fill(rest + n, rest + block, T{0});
    // sum over u of weight * its gradient = sum over e of result * its gradient
    std::fill(at.dots, at.dots + block, T{0});
    for (std::size_t e = 0; e < size; ++e)
      for (std::size_t i = 0; i < n; ++i)
        at.dots[i] = at.dots[i] + slope.out[e * columns + t + i] * at.outSlopes[e * block + i];
  }
  /// What a block of queries and one of keys contribute to all gradients.
  void slopeOfBlock(const Memory& at, const Slope& slope, std::size_t u, std::size_t t, std::size_t n) const {
    const bool isDiagonal = u == t;
    const T *k = keysFrom(at.keys, u), *v = keysFrom(at.values, u);
    forEachStrip(n, [&]<std::size_t vectors>(std::size_t w) {
      scores<vectors>(k, at.queries + w, at.weights + w, w, isDiagonal);
      scores<vectors>(v, at.outSlopes + w, at.scoreSlopes + w, w, isDiagonal);
      for (std::size_t c = w; c < w + vectors * lanes; c += lanes) {
        if (mask) drop(at.scoreSlopes, c, u, t);
        slopeOfSoftmax(at, c, n, isDiagonal);
        if (mask) drop(at.weights, c, u, t);
      }
      if (slope.queryGradient != nullptr)
        Tiles::template mixtures<vectors>(k, at.scoreSlopes + w, at.mixed + w, size, isDiagonal ? w : block,
                                          isDiagonal, {u > 0});
    });
    const std::size_t keyCount = isDiagonal ? n : block;  // the diagonal is the first block to reach its keys
    if (slope.keyGradient != nullptr)
      Tiles::sumsOverQueries(at.scoreSlopes, at.queriesTurned, at.keySlopes + u * features(), features(),
                             keyCount, n, isDiagonal);
    if (slope.valueGradient != nullptr)
      Tiles::sumsOverQueries(at.weights, at.outTurned, at.valueSlopes + u * features(), features(), keyCount,
                             n, isDiagonal);
  }
  /// Scores become weights again, and the gradients of weights those of scores.
  void slopeOfSoftmax(const Memory& at, std::size_t c, std::size_t n, bool isDiagonal) const {
    using std::exp;
    const Pack most = get(at.mosts + c), share = get(at.shares + c), dot = get(at.dots + c);
    const auto weightAt = [&](std::size_t u) BURTORCH_INLINE_LAMBDA {
      return exp((get(at.weights + u * block + c) - most) * Pack(scale)) * share;
    };
    const auto slopeAt = [&](std::size_t u, const Pack& weight) BURTORCH_INLINE_LAMBDA {
      return weight * (Pack(scale) * (get(at.scoreSlopes + u * block + c) - dot));
    };
    const auto set = [&](std::size_t u, const Pack& weight, const Pack& slope) BURTORCH_INLINE_LAMBDA {
      put(at.weights + u * block + c, weight);
      put(at.scoreSlopes + u * block + c, slope);
    };
    const Pack zero(T{0});
    forEachSeen(
        c, isDiagonal,
        [&]<std::size_t>(std::size_t u) BURTORCH_INLINE_LAMBDA {
          const Pack weight = weightAt(u);
          set(u, weight, slopeAt(u, weight));
        },
        [&](std::size_t u, auto isSeen) BURTORCH_INLINE_LAMBDA {
          const Pack weight = weightAt(u);
          set(u, select(isSeen, weight, zero), select(isSeen, slopeAt(u, weight), zero));
        });
    if (isDiagonal)  // sums over queries go through tiles of keys
      for (std::size_t u = c + lanes; u < Tiles::padded(n); ++u) set(u, zero, zero);
  }
};

}  // namespace burtorch::inline BURTORCH_TARGET::nn
BURTORCH_FUSE_END
