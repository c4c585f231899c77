// Attention of samples whose positions fit into one vector: the weights of a head are as many vectors as it has positions, and
// stay in registers from the scores to the output. `isFull`: a position for every lane; otherwise lanes without one are 0.
#pragma once

#include <cmath>
#include <optional>

#include "../simd/transpose.hpp"
#include "drop_mask.hpp"
#include "matrix.hpp"

namespace burtorch::inline BURTORCH_TARGET::nn {

/// What the words of an attention layer say, and where its numbers lie.
template <class T> struct AttentionShape {
  std::size_t heads, size, columns, positions;
  std::size_t kept;  // where that lies behind the results
  T scale;
  std::optional<DropMask<T>>
      mask{};  // of the weights: a row for every head and key, a column for every query

  explicit AttentionShape(const Layer<T>& layer)
      : heads(layer.own()[0]),
        size(layer.own()[1]),
        columns(layer.own()[2]),
        positions(layer.own()[3]),
        kept(heads * size * columns),
        scale(T{1} / T(std::sqrt(static_cast<PlainOf<T>>(size)))) {}
  bool fitsOneVector() const { return laneCount<T> != 1 && positions <= laneCount<T>; }

  /// Calls `visit(where its columns start, where that starts which is kept of it)`.
  template <class Visit> BURTORCH_INLINE void forEachHead(std::size_t keptOfEach, Visit visit) const {
    std::size_t keptAt = 0;
    for (std::size_t column = 0; column < columns; column += positions)
      for (std::size_t head = 0; head < heads; ++head, keptAt += keptOfEach)
        visit(head * size * columns + column, keptAt);
  }
  /// The mask of the weights [key][query] of the head whose columns start at `at`, if there is one.
  std::optional<DropMask<T>> maskOfHead(std::size_t at) const {
    if (!mask) return {};
    return mask->from(at / columns / size * positions, at % columns);
  }
};

struct AttentionInRegisters {
  template <class T> using Shape = AttentionShape<T>;

  template <class T> static void value(const Shape<T>& s, const Layer<T>& layer, T* results) {
    s.positions == lanes<T> ? value<true>(s, layer, results) : value<false>(s, layer, results);
  }
  template <class T> static void vjp(const Shape<T>& s, const Layer<T>& layer) {
    s.positions == lanes<T> ? vjp<true>(s, layer) : vjp<false>(s, layer);
  }

 private:
  template <class T> static constexpr std::size_t lanes = laneCount<T>;
  template <bool isFull, class T> BURTORCH_INLINE static Lanes<T> loadRow(const Shape<T>& s, const T* from) {
    if constexpr (isFull)
      return load(from);
    else
      return loadPart(from, s.positions);
  }
  template <bool isFull, class T>
  BURTORCH_INLINE static void storeRow(const Shape<T>& s, T* to, const Lanes<T>& row) {
    if constexpr (isFull)
      store<T>(to, row);
    else
      storePart<T>(to, row, s.positions);
  }
  /// sums[i] = sum over e of x[e] * w[e][i]; rows of both lie s.columns apart.
  template <bool isFull, class T>
  BURTORCH_INLINE static void outer(const Shape<T>& s, const T* x, const T* w, Lanes<T> (&sums)[lanes<T>]) {
    unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA { sums[i] = fill(T{0}); });
    for (std::size_t e = 0; e < s.size; ++e) {
      const Lanes<T> in = loadRow<isFull>(s, x + e * s.columns);
      unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
        if (isFull || i < s.positions) sums[i] = sums[i] + w[e * s.columns + i] * in;
      });
    }
  }
  /// y[e] = sum over i of w[e][i] * x[i], or added to.
  template <bool isAdded, bool isFull, class T>
  BURTORCH_INLINE static void inner(const Shape<T>& s, const Lanes<T> (&x)[lanes<T>], const T* w, T* y) {
    for (std::size_t e = 0; e < s.size; ++e) {
      T* to = y + e * s.columns;
      Lanes<T> sum[2] = {isAdded ? loadRow<isFull>(s, to) : fill(T{0}), fill(T{0})};
      unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
        if (isFull || i < s.positions) sum[i % 2] = sum[i % 2] + w[e * s.columns + i] * x[i];
      });
      storeRow<isFull, T>(s, to, sum[0] + sum[1]);
    }
  }
  /// Which queries see key i: lanes from i on, of each head that a register holds.
  template <class P, std::size_t positions, std::size_t i> BURTORCH_INLINE static auto seers() {
    return [&]<std::size_t... lane>(std::index_sequence<lane...>) BURTORCH_INLINE_LAMBDA {
      return typename P::Mask{{(lane % positions >= i ? -1 : 0)...}};
    }
    (std::make_index_sequence<sizeof(P::lanes) / sizeof(P::lanes[0])>{});
  }
  /// Turns scores into weights.
  template <class T, class P> BURTORCH_INLINE static void softmax(const Shape<T>& s, P (&w)[lanes<T>]) {
    P most = w[0];
    unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
      most = select(seers<P, lanes<T>, i>() && most < w[i], w[i], most);
    });
    P sum(T{0});
    unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
      w[i] = select(seers<P, lanes<T>, i>(), exp((w[i] - most) * P(s.scale)), P(T{0}));
      sum = sum + w[i];
    });
    const P share = P(T{1}) / sum;
    unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA { w[i] = w[i] * share; });
  }
  /// Keeps the weights of a head and takes what they say of the values.
  template <bool isFull, class T>
  static void mix(const Shape<T>& s, const Layer<T>& layer, Lanes<T> (&w)[lanes<T>], std::size_t at,
                  std::size_t weightsAt, T* results) {
    T* weights = results + s.kept + weightsAt;
    unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
      if (isFull || i < s.positions) storeRow<isFull, T>(s, weights + i * s.positions, w[i]);
    });
    if (const auto mask = s.maskOfHead(at)) drop<T>(*mask, w);
    inner<false, isFull>(s, w, layer.operand(2) + at, results + at);
  }

  template <bool isFull, class T> static void value(const Shape<T>& s, const Layer<T>& layer, T* results) {
    if constexpr (laneCount<T> != 1) {
      const auto scores = [&](std::size_t at, Lanes<T>(&w)[lanes<T>]) BURTORCH_INLINE_LAMBDA {
        outer<isFull, T>(s, layer.operand(0) + at, layer.operand(1) + at, w);
      };
      const std::size_t ofHead = s.positions * s.positions, next = s.size * s.columns;
      for (std::size_t column = 0, k = 0; column < s.columns; column += s.positions) {
        std::size_t head = 0;
        // The softmax of two heads at once, where a register holds the queries of both.
        if constexpr (laneCount<T> == 8 && wideCount<T> == 16)
          for (; head + 2 <= s.heads; head += 2, k += 2) {
            const std::size_t at = head * next + column;
            Lanes<T> w[lanes<T>], other[lanes<T>];
            scores(at, w), scores(at + next, other);
            WidePack<T> both[lanes<T>];
            unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
              both[i].lanes = __builtin_shufflevector(w[i], other[i], 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
                                                      12, 13, 14, 15);
            });
            softmax(s, both);
            unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
              w[i] = firstOf<Lanes<T>>(both[i].lanes);
              other[i] = __builtin_shufflevector(both[i].lanes, both[i].lanes, 8, 9, 10, 11, 12, 13, 14, 15);
            });
            mix<isFull>(s, layer, w, at, k * ofHead, results);
            mix<isFull>(s, layer, other, at + next, (k + 1) * ofHead, results);
          }
        for (; head < s.heads; ++head, ++k) {
          const std::size_t at = head * next + column;
          Lanes<T> w[lanes<T>];
          LanePack<T> packs[lanes<T>];
          scores(at, w);
          unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA { packs[i] = LanePack<T>(w[i]); });
          softmax(s, packs);
          unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA { w[i] = packs[i].lanes; });
          mix<isFull>(s, layer, w, at, k * ofHead, results);
        }
      }
    }
  }
  template <bool isFull, class T> static void vjp(const Shape<T>& s, const Layer<T>& layer) {
    s.forEachHead(s.positions * s.positions, [&](std::size_t at, std::size_t weightsAt) {
      const T* go = layer.resultGradients() + at;
      const auto mask = s.maskOfHead(at);
      Lanes<T> w[lanes<T>], g[lanes<T>];
      const T* weights = layer.results() + s.kept + weightsAt;
      unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
        w[i] = isFull || i < s.positions ? loadRow<isFull>(s, weights + i * s.positions) : fill(T{0});
      });
      outer<isFull, T>(s, go, layer.operand(2) + at, g);
      if (mask) drop<T>(*mask, g);
      Lanes<T> dot = fill(T{0});
      unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA { dot = dot + w[i] * g[i]; });
      unroll<lanes<T>>([&]<std::size_t i>()
                           BURTORCH_INLINE_LAMBDA { g[i] = w[i] * (s.scale * (g[i] - dot)); });
      if (layer.wants(0)) inner<true, isFull>(s, g, layer.operand(1) + at, layer.operandGradient(0) + at);
      transposeVectors<T>(g);
      if (layer.wants(1)) inner<true, isFull>(s, g, layer.operand(0) + at, layer.operandGradient(1) + at);
      if (mask) drop<T>(*mask, w);
      transposeVectors<T>(w);
      if (layer.wants(2)) inner<true, isFull>(s, w, go, layer.operandGradient(2) + at);
    });
  }

  /// Drops weights, or passes their gradients on.
  template <class T>
  BURTORCH_INLINE static void drop(const DropMask<T>& mask, Lanes<T> (&weights)[lanes<T>]) {
    unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
      weights[i] = lanesOf<T>(mask.drop(LanePack<T>(weights[i]), mask.row(i), 0));
    });
  }
};

}  // namespace burtorch::inline BURTORCH_TARGET::nn
