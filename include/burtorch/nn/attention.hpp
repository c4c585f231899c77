// Causal self-attention of many heads: position t of a sample looks at positions 0 ... t of the same sample.
//
// A sample's positions are neighbouring columns; lanes are queries, so the softmax over keys is vertical. Short samples, of up
// to 48 positions, keep their weights behind the results, [key][query] for every sample and head; where the gradients of
// these would go, the slope has its scratch memory. Samples of at most one vector of positions go through registers, other
// short ones through the products of product.hpp. Long samples are computed in blocks (blocked_attention.hpp) and keep two
// numbers for each query and head, [most][share], from which the slope computes the weights again. So a tape grows linearly
// with the positions.
//
// The weight of a later position is exactly 0. So finite numbers there change no bit of an earlier result, and a query or a
// key never does, finite or not. A value that is infinite or NaN makes earlier queries of the same vector NaN in short
// samples, since 0 * inf is NaN (in PyTorch all earlier ones), and the gradients of its head and sample; in long samples it
// changes no earlier result. Other heads and samples are not affected.
#pragma once

#include <cmath>

#include "blocked_attention.hpp"
#include "matrix.hpp"
#include "product.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace ops {

/// Operands: queries, keys, values, each [heads * size][columns]. Own words: heads, size, columns, positions.
struct AttentionLayer : LayerOp {
  static constexpr std::string_view name = "attention", formula = "softmax(q k / sqrt(size)) v, causal";

  template <class T> static void value(const Layer<T>& layer, T* results) {
    const Shape<T> s(layer);
    if (s.fitsOneVector())
      return s.positions == lanes<T> ? valueInRegisters<true>(s, layer, results)
                                     : valueInRegisters<false>(s, layer, results);
    keepsWeights(s.positions) ? valueOfShort(s, layer, results) : valueOfLong(s, layer, results);
  }

  template <class T> static void vjp(const Layer<T>& layer) {
    const Shape<T> s(layer);
    if (s.fitsOneVector())
      return s.positions == lanes<T> ? vjpInRegisters<true>(s, layer) : vjpInRegisters<false>(s, layer);
    keepsWeights(s.positions) ? vjpOfShort(s, layer) : vjpOfLong(s, layer);
  }

  /// How many numbers a layer keeps behind its results.
  static std::size_t keptCount(std::size_t columns, std::size_t heads, std::size_t positions) {
    return columns * heads * (keepsWeights(positions) ? positions : 2);
  }

  /// The weight of one sample and head with which a query takes the value of a key. Computed here for long samples.
  template <class T>
  static T weightOf(const Layer<T>& layer, std::size_t sample, std::size_t head, std::size_t query,
                    std::size_t key) {
    using std::exp;
    const Shape<T> s(layer);
    const T* const kept = layer.results() + s.kept;
    const std::size_t at = sample * s.heads + head;
    if (keepsWeights(s.positions)) return kept[(at * s.positions + key) * s.positions + query];
    if (key > query) return T{0};
    const std::size_t first = head * s.size * s.columns + sample * s.positions;
    const T *q = layer.operand(0) + first + query, *k = layer.operand(1) + first + key;
    T score{0};
    for (std::size_t e = 0; e < s.size; ++e) score = score + k[e * s.columns] * q[e * s.columns];
    const T *most = kept + 2 * at * s.positions, *share = most + s.positions;
    return exp((score - most[query]) * s.scale) * share[query];
  }

 private:
  template <class T> static constexpr std::size_t lanes = nn::laneCount<T>;

  template <class T> struct Shape {
    std::size_t heads, size, columns, positions;
    std::size_t kept;  // where that lies behind the results
    T scale;
    explicit Shape(const Layer<T>& layer)
        : heads(layer.own()[0]),
          size(layer.own()[1]),
          columns(layer.own()[2]),
          positions(layer.own()[3]),
          kept(heads * size * columns),
          scale(T{1} / T(std::sqrt(static_cast<PlainOf<T>>(size)))) {}
    bool fitsOneVector() const { return nn::laneCount<T> != 1 && positions <= nn::laneCount<T>; }
  };
  /// Below this length computing the weights twice, and copying keys and values into blocks, costs more than it saves.
  static bool keepsWeights(std::size_t positions) { return positions <= 48; }
  template <class T>
  static nn::BlockedAttention<T> blocked(const Shape<T>& s, const Layer<T>& layer, std::size_t at) {
    return {s.size,
            s.positions,
            s.columns,
            s.scale,
            layer.operand(0) + at,
            layer.operand(1) + at,
            layer.operand(2) + at};
  }

  /// Calls `visit(where its columns start, where that starts which is kept of it)`.
  template <class T, class Visit>
  BURTORCH_INLINE static void forEachHead(const Shape<T>& s, std::size_t keptOfEach, Visit visit) {
    std::size_t keptAt = 0;
    for (std::size_t column = 0; column < s.columns; column += s.positions)
      for (std::size_t head = 0; head < s.heads; ++head, keptAt += keptOfEach)
        visit(head * s.size * s.columns + column, keptAt);
  }
  /// As forEachHead, by all threads: no two heads of samples share a number that they write.
  template <class T, class Visit>
  static void forEachHeadShared(const Shape<T>& s, std::size_t keptOfEach, Visit visit) {
    const std::size_t count = s.columns / s.positions * s.heads, work = s.positions * s.positions * s.size;
    forEachPart(count, 1, Worth{work, nn::leastProduct}, [&](std::size_t first, std::size_t end) {
      for (std::size_t i = first; i < end; ++i)
        visit(i % s.heads * s.size * s.columns + i / s.heads * s.positions, i * keptOfEach);
    });
  }

  // Where a sample's positions fit into one vector, the weights of a head are as many vectors as it has positions, and stay
  // in registers from the scores to the output. `isFull`: a position for every lane. Otherwise lanes without one are 0.

  template <bool isFull, class T>
  BURTORCH_INLINE static nn::Lanes<T> loadRow(const Shape<T>& s, const T* from) {
    if constexpr (isFull)
      return nn::load(from);
    else
      return nn::loadPart(from, s.positions);
  }
  template <bool isFull, class T>
  BURTORCH_INLINE static void storeRow(const Shape<T>& s, T* to, const nn::Lanes<T>& row) {
    if constexpr (isFull)
      nn::store<T>(to, row);
    else
      nn::storePart<T>(to, row, s.positions);
  }
  /// sums[i] = sum over e of x[e] * w[e][i]; rows of both lie s.columns apart.
  template <bool isFull, class T>
  BURTORCH_INLINE static void outer(const Shape<T>& s, const T* x, const T* w,
                                    nn::Lanes<T> (&sums)[lanes<T>]) {
    nn::unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA { sums[i] = nn::fill(T{0}); });
    for (std::size_t e = 0; e < s.size; ++e) {
      const nn::Lanes<T> in = loadRow<isFull>(s, x + e * s.columns);
      nn::unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
        if (isFull || i < s.positions) sums[i] = sums[i] + w[e * s.columns + i] * in;
      });
    }
  }
  /// y[e] = sum over i of w[e][i] * x[i], or added to.
  template <bool isAdded, bool isFull, class T>
  BURTORCH_INLINE static void inner(const Shape<T>& s, const nn::Lanes<T> (&x)[lanes<T>], const T* w, T* y) {
    for (std::size_t e = 0; e < s.size; ++e) {
      T* to = y + e * s.columns;
      nn::Lanes<T> sum[2] = {isAdded ? loadRow<isFull>(s, to) : nn::fill(T{0}), nn::fill(T{0})};
      nn::unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
        if (isFull || i < s.positions) sum[i % 2] = sum[i % 2] + w[e * s.columns + i] * x[i];
      });
      storeRow<isFull, T>(s, to, sum[0] + sum[1]);
    }
  }
  /// Which queries see key i: lanes from i on.
  template <class T, std::size_t i> BURTORCH_INLINE static auto seers() {
    return [&]<std::size_t... lane>(std::index_sequence<lane...>) BURTORCH_INLINE_LAMBDA {
      return typename nn::LanePack<T>::Mask{{(lane >= i ? -1 : 0)...}};
    }
    (std::make_index_sequence<lanes<T>>{});
  }

  template <bool isFull, class T>
  static void valueInRegisters(const Shape<T>& s, const Layer<T>& layer, T* results) {
    if constexpr (nn::laneCount<T> != 1) {
      using Pack = nn::LanePack<T>;
      forEachHead(s, s.positions * s.positions, [&](std::size_t at, std::size_t weightsAt) {
        nn::Lanes<T> w[lanes<T>];
        outer<isFull, T>(s, layer.operand(0) + at, layer.operand(1) + at, w);
        Pack most(w[0]);
        nn::unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
          most = select(seers<T, i>() && most < Pack(w[i]), Pack(w[i]), most);
        });
        Pack sum(T{0});
        nn::unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
          const Pack weight = select(seers<T, i>(), exp((Pack(w[i]) - most) * Pack(s.scale)), Pack(T{0}));
          w[i] = weight.lanes;
          sum = sum + weight;
        });
        const nn::Lanes<T> share = (Pack(T{1}) / sum).lanes;
        nn::unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA { w[i] = w[i] * share; });
        T* weights = results + s.kept + weightsAt;
        nn::unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
          if (isFull || i < s.positions) storeRow<isFull, T>(s, weights + i * s.positions, w[i]);
        });
        inner<false, isFull>(s, w, layer.operand(2) + at, results + at);
      });
    }
  }
  template <bool isFull, class T> static void vjpInRegisters(const Shape<T>& s, const Layer<T>& layer) {
    forEachHead(s, s.positions * s.positions, [&](std::size_t at, std::size_t weightsAt) {
      const T* go = layer.resultGradients() + at;
      nn::Lanes<T> w[lanes<T>], g[lanes<T>];
      const T* weights = layer.results() + s.kept + weightsAt;
      nn::unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
        w[i] = isFull || i < s.positions ? loadRow<isFull>(s, weights + i * s.positions) : nn::fill(T{0});
      });
      outer<isFull, T>(s, go, layer.operand(2) + at, g);
      nn::Lanes<T> dot = nn::fill(T{0});
      nn::unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA { dot = dot + w[i] * g[i]; });
      nn::unroll<lanes<T>>([&]<std::size_t i>()
                               BURTORCH_INLINE_LAMBDA { g[i] = w[i] * (s.scale * (g[i] - dot)); });
      if (layer.wants(0)) inner<true, isFull>(s, g, layer.operand(1) + at, layer.operandGradient(0) + at);
      nn::transposeVectors<T>(g);
      if (layer.wants(1)) inner<true, isFull>(s, g, layer.operand(0) + at, layer.operandGradient(1) + at);
      nn::transposeVectors<T>(w);
      if (layer.wants(2)) inner<true, isFull>(s, w, go, layer.operandGradient(2) + at);
    });
  }

  template <class T> static void valueOfLong(const Shape<T>& s, const Layer<T>& layer, T* results) {
    forEachHeadShared(s, 2 * s.positions, [&](std::size_t at, std::size_t keptAt) {
      T* const kept = results + s.kept + keptAt;
      blocked(s, layer, at).value(results + at, kept, kept + s.positions);
    });
  }
  template <class T> static void vjpOfLong(const Shape<T>& s, const Layer<T>& layer) {
    const auto gradient = [&](NodeIndex k, std::size_t at) {
      return layer.wants(k) ? layer.operandGradient(k) + at : nullptr;
    };
    forEachHeadShared(s, 2 * s.positions, [&](std::size_t at, std::size_t keptAt) {
      const T* const kept = layer.results() + s.kept + keptAt;
      blocked(s, layer, at)
          .vjp({layer.results() + at, layer.resultGradients() + at, kept, kept + s.positions, gradient(0, at),
                gradient(1, at), gradient(2, at)});
    });
  }

  // Short samples that do not fit one vector: the products of product.hpp, a vector of queries at a time.

  template <class T> static void valueOfShort(const Shape<T>& s, const Layer<T>& layer, T* results) {
    forEachHeadShared(s, s.positions * s.positions, [&](std::size_t at, std::size_t weightsAt) {
      const T *q = layer.operand(0) + at, *k = layer.operand(1) + at, *v = layer.operand(2) + at;
      T *out = results + at, *weights = results + s.kept + weightsAt;
      nn::forEachVector<T>(s.positions, [&](std::size_t t, std::size_t n) {
        multiply<T>(k, 1, s.columns, {q + t, s.columns}, {weights + t, s.positions}, t + n, s.size, n, false);
        softmaxOfKeys(s, weights + t, t, n);
        multiply<T>(v, s.columns, 1, {weights + t, s.positions}, {out + t, s.columns}, s.size, t + n, n,
                    false);
      });
    });
  }
  template <class T> static void vjpOfShort(const Shape<T>& s, const Layer<T>& layer) {
    using Pack = nn::LanePack<T>;
    forEachHeadShared(s, s.positions * s.positions, [&](std::size_t at, std::size_t weightsAt) {
      const T *q = layer.operand(0) + at, *k = layer.operand(1) + at, *v = layer.operand(2) + at;
      const T *go = layer.resultGradients() + at, *weights = layer.results() + s.kept + weightsAt;
      T* scores = layer.resultGradients() + s.kept + weightsAt;  // their gradients
      T *gq = layer.operandGradient(0) + at, *gk = layer.operandGradient(1) + at,
        *gv = layer.operandGradient(2) + at;
      nn::forEachVector<T>(s.positions, [&](std::size_t t, std::size_t n) {
        const std::size_t keys = t + n;
        multiply<T>(v, 1, s.columns, {go + t, s.columns}, {scores + t, s.positions}, keys, s.size, n, false);
        const auto in = [&](const T* numbers, std::size_t u) {
          return nn::loadSome(numbers + u * s.positions + t, n);
        };
        Pack dot(T{0});
        for (std::size_t u = 0; u < keys; ++u) dot = dot + in(weights, u) * in(scores, u);
        for (std::size_t u = 0; u < s.positions; ++u)
          nn::storeSome<T>(scores + u * s.positions + t,
                           u < keys ? in(weights, u) * Pack(s.scale) * (in(scores, u) - dot) : Pack(T{0}), n);
        if (layer.wants(0))
          multiply<T>(k, s.columns, 1, {scores + t, s.positions}, {gq + t, s.columns}, s.size, keys, n, true);
      });
      if (layer.wants(1))
        nn::OuterProduct<T>{
            {gk, s.columns}, {q, s.columns}, {scores, s.positions}, s.size, s.positions, s.positions, true}
            .run();
      if (layer.wants(2))
        nn::OuterProduct<T>{
            {gv, s.columns}, {go, s.columns}, {weights, s.positions}, s.size, s.positions, s.positions, true}
            .run();
    });
  }

  /// A product for at most one vector of columns.
  template <class T>
  static void multiply(const T* w, std::size_t outputStride, std::size_t inputStride, nn::Rows<const T> x,
                       nn::Rows<T> y, std::size_t outputs, std::size_t inputs, std::size_t columns,
                       bool isAdded) {
    nn::Product<T>{w, outputStride, inputStride, x, y, outputs, inputs, columns, nullptr, isAdded}.run();
  }

  /// Turns scores [key][query], for the n queries from t on, into weights; keys after a query get 0.
  template <class T> static void softmaxOfKeys(const Shape<T>& s, T* scores, std::size_t t, std::size_t n) {
    using Pack = nn::LanePack<T>;
    using std::exp;
    const std::size_t keys = t + n;
    Pack query = Pack(T(static_cast<PlainOf<T>>(t)));
    if constexpr (nn::laneCount<T> != 1)
      for (std::size_t i = 0; i < lanes<T>; ++i) query.set(i, static_cast<T>(t + i));
    const auto isSeen = [&](std::size_t u) { return Pack(T(static_cast<PlainOf<T>>(u))) <= query; };
    const auto at = [&](std::size_t u) { return nn::loadSome(scores + u * s.positions, n); };
    Pack most = at(0);
    for (std::size_t u = 1; u < keys; ++u) most = select(isSeen(u) && most < at(u), at(u), most);
    Pack sum(T{0});
    for (std::size_t u = 0; u < keys; ++u) {
      const Pack weight = select(isSeen(u), exp((at(u) - most) * Pack(s.scale)), Pack(T{0}));
      nn::storeSome<T>(scores + u * s.positions, weight, n);
      sum = sum + weight;
    }
    const Pack share = Pack(T{1}) / sum;
    for (std::size_t u = 0; u < s.positions; ++u)
      nn::storeSome<T>(scores + u * s.positions, u < keys ? at(u) * share : Pack(T{0}), n);
  }
};

}  // namespace ops

/// Causal self-attention: `heads` heads over samples of `positions` columns each.
template <class T, Config C>
Matrix<T, C> attention(const Matrix<T, C>& queries, const Matrix<T, C>& keys, const Matrix<T, C>& values,
                       std::size_t heads, std::size_t positions) {
  const std::size_t rows = queries.rows(), columns = queries.columns();
  if (keys.rows() != rows || values.rows() != rows || keys.columns() != columns ||
      values.columns() != columns)
    fail("attention: queries are %zu x %zu, keys %zu x %zu, values %zu x %zu; expected the same", rows,
         columns, keys.rows(), keys.columns(), values.rows(), values.columns());
  if (heads == 0 || rows % heads != 0)
    fail("attention: %zu rows cannot be split into %zu heads", rows, heads);
  if (positions == 0 || columns % positions != 0)
    fail("attention: %zu columns cannot be split into samples of %zu positions", columns, positions);
  const Block operands[] = {queries.block(), keys.block(), values.block()};
  const Word own[] = {static_cast<Word>(heads), static_cast<Word>(rows / heads), static_cast<Word>(columns),
                      static_cast<Word>(positions)};
  const std::size_t results = rows * columns + ops::AttentionLayer::keptCount(columns, heads, positions);
  return {recordLayer<ops::AttentionLayer, T, C>(operands, own, results), rows, columns};
}

BURTORCH_LAYER_ONCE(ops::AttentionLayer)

}  // namespace burtorch::inline BURTORCH_TARGET
