// Causal self-attention of many heads: position t of a sample looks at positions 0 ... t of the same sample.
//
// A sample's positions are neighbouring columns, filled up to whole vectors; lanes are queries, so the softmax over keys is
// vertical. The six products are those of product.hpp, in either direction. The weights of attention are kept behind the
// results, [key][query] for every sample and head; where their gradients would go, the slope has its scratch memory.
// Samples of few positions, at most one vector of them, take a shorter way through registers.
#pragma once

#include <cmath>

#include "matrix.hpp"
#include "product.hpp"

namespace burtorch {

namespace ops {

/// Operands: queries, keys, values, each [heads * size][columns]. Own words: heads, size, columns, positions.
struct AttentionLayer : LayerOp {
  static constexpr std::string_view name = "attention", formula = "softmax(q k / sqrt(size)) v, causal";

  template <class T> static void value(const Layer<T>& layer, T* results) {
    const Shape<T> s(layer);
    if (lanes < T >> 1 && s.padded == lanes<T>) return valueInRegisters(s, layer, results);
    forEachHead(s, [&](std::size_t at, std::size_t weightsAt) {
      const T *q = layer.operand(0) + at, *k = layer.operand(1) + at, *v = layer.operand(2) + at;
      T *out = results + at, *weights = results + s.weights + weightsAt;
      for (std::size_t t = 0; t < s.padded; t += lanes<T>) {
        const std::size_t keys = s.keysSeenFrom(t);
        multiply<T>(k, 1, s.columns, {q + t, s.columns}, {weights + t, s.padded}, keys, s.size, false);
        softmaxOfKeys(s, weights + t, t, keys);
        multiply<T>(v, s.columns, 1, {weights + t, s.padded}, {out + t, s.columns}, s.size, keys, false);
      }
    });
  }

  template <class T> static void slope(const Layer<T>& layer) {
    using Pack = nn::LanePack<T>;
    const Shape<T> s(layer);
    if (lanes < T >> 1 && s.padded == lanes<T>) return slopeInRegisters(s, layer);
    forEachHead(s, [&](std::size_t at, std::size_t weightsAt) {
      const T *q = layer.operand(0) + at, *k = layer.operand(1) + at, *v = layer.operand(2) + at;
      const T *go = layer.resultGradients() + at, *weights = layer.results() + s.weights + weightsAt;
      T* scores = layer.resultGradients() + s.weights + weightsAt;  // their gradients
      T *gq = layer.operandGradient(0) + at, *gk = layer.operandGradient(1) + at,
        *gv = layer.operandGradient(2) + at;
      for (std::size_t t = 0; t < s.padded; t += lanes<T>) {
        const std::size_t keys = s.keysSeenFrom(t);
        multiply<T>(v, 1, s.columns, {go + t, s.columns}, {scores + t, s.padded}, keys, s.size, false);
        Pack dot(T{0});
        for (std::size_t u = 0; u < keys; ++u)
          dot = dot + nn::loadPack(weights + u * s.padded + t) * nn::loadPack(scores + u * s.padded + t);
        for (std::size_t u = 0; u < s.positions; ++u) {
          T* score = scores + u * s.padded + t;
          const Pack p = nn::loadPack(weights + u * s.padded + t) * Pack(s.scale);
          nn::storePack<T>(score, u < keys ? p * (nn::loadPack(score) - dot) : Pack(T{0}));
        }
        multiply<T>(k, s.columns, 1, {scores + t, s.padded}, {gq + t, s.columns}, s.size, keys, true);
      }
      nn::OuterProduct<T>{
          {gk, s.columns}, {q, s.columns}, {scores, s.padded}, s.size, s.positions, s.padded, true}
          .run();
      nn::OuterProduct<T>{
          {gv, s.columns}, {go, s.columns}, {weights, s.padded}, s.size, s.positions, s.padded, true}
          .run();
    });
  }

 private:
  template <class T> static constexpr std::size_t lanes = nn::laneCount<T>;

  template <class T> struct Shape {
    std::size_t heads, size, columns, positions, padded, weights;
    T scale;
    explicit Shape(const Layer<T>& layer)
        : heads(layer.own()[0]),
          size(layer.own()[1]),
          columns(layer.own()[2]),
          positions(layer.own()[3]),
          padded(nn::paddedTo<T>(positions)),
          weights(heads * size * columns),
          scale(T{1} / T(std::sqrt(static_cast<PlainOf<T>>(size)))) {}
    /// How many keys the queries from t on, a vector of them, look at.
    std::size_t keysSeenFrom(std::size_t t) const {
      return t + lanes<T> < positions ? t + lanes<T> : positions;
    }
  };

  /// Calls `visit(where its columns start, where its weights start)`.
  template <class T, class Visit> static void forEachHead(const Shape<T>& s, Visit visit) {
    std::size_t weightsAt = 0;
    for (std::size_t column = 0; column < s.columns; column += s.padded)
      for (std::size_t head = 0; head < s.heads; ++head, weightsAt += s.positions * s.padded)
        visit(head * s.size * s.columns + column, weightsAt);
  }

  // Where a sample's positions fit into one vector, the weights of a head are as many vectors as it has lanes, and stay
  // in registers from the scores to the output. Keys that only fill up come after every query that counts.

  /// sums[i] = sum over e of x[e] * w[e][i]; rows of both lie s.columns apart.
  template <class T>
  BURTORCH_INLINE static void outer(const Shape<T>& s, const T* x, const T* w,
                                    nn::Lanes<T> (&sums)[lanes<T>]) {
    nn::unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA { sums[i] = nn::fill(T{0}); });
    for (std::size_t e = 0; e < s.size; ++e) {
      const nn::Lanes<T> in = nn::load(x + e * s.columns);
      nn::unroll<lanes<T>>([&]<std::size_t i>()
                               BURTORCH_INLINE_LAMBDA { sums[i] = sums[i] + w[e * s.columns + i] * in; });
    }
  }
  /// y[e] = sum over i of w[e][i] * x[i], or added to.
  template <bool isAdded, class T>
  BURTORCH_INLINE static void inner(const Shape<T>& s, const nn::Lanes<T> (&x)[lanes<T>], const T* w, T* y) {
    for (std::size_t e = 0; e < s.size; ++e) {
      T* to = y + e * s.columns;
      nn::Lanes<T> sum[2] = {isAdded ? nn::load(to) : nn::fill(T{0}), nn::fill(T{0})};
      nn::unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
        sum[i % 2] = sum[i % 2] + w[e * s.columns + i] * x[i];
      });
      nn::store<T>(to, sum[0] + sum[1]);
    }
  }
  /// Which queries see key i: lanes from i on.
  template <class T, std::size_t i> BURTORCH_INLINE static auto seers() {
    return [&]<std::size_t... lane>(std::index_sequence<lane...>) BURTORCH_INLINE_LAMBDA {
      return typename nn::LanePack<T>::Mask{{(lane >= i ? -1 : 0)...}};
    }
    (std::make_index_sequence<lanes<T>>{});
  }

  template <class T> static void valueInRegisters(const Shape<T>& s, const Layer<T>& layer, T* results) {
    if constexpr (lanes < T >> 1) {
      using Pack = nn::LanePack<T>;
      forEachHead(s, [&](std::size_t at, std::size_t weightsAt) {
        nn::Lanes<T> w[lanes<T>];
        outer<T>(s, layer.operand(0) + at, layer.operand(1) + at, w);
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
        T* weights = results + s.weights + weightsAt;
        nn::unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
          if (i < s.positions) nn::store(weights + i * lanes<T>, w[i]);
        });
        inner<false>(s, w, layer.operand(2) + at, results + at);
      });
    }
  }
  template <class T> static void slopeInRegisters(const Shape<T>& s, const Layer<T>& layer) {
    forEachHead(s, [&](std::size_t at, std::size_t weightsAt) {
      const T* go = layer.resultGradients() + at;
      nn::Lanes<T> w[lanes<T>], g[lanes<T>];
      const T* weights = layer.results() + s.weights + weightsAt;
      nn::unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA {
        w[i] = i < s.positions ? nn::load(weights + i * lanes<T>) : nn::fill(T{0});
      });
      outer<T>(s, go, layer.operand(2) + at, g);
      nn::Lanes<T> dot = nn::fill(T{0});
      nn::unroll<lanes<T>>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA { dot = dot + w[i] * g[i]; });
      nn::unroll<lanes<T>>([&]<std::size_t i>()
                               BURTORCH_INLINE_LAMBDA { g[i] = w[i] * (s.scale * (g[i] - dot)); });
      inner<true>(s, g, layer.operand(1) + at, layer.operandGradient(0) + at);
      nn::transposeVectors<T>(g);
      inner<true>(s, g, layer.operand(0) + at, layer.operandGradient(1) + at);
      nn::transposeVectors<T>(w);
      inner<true>(s, w, go, layer.operandGradient(2) + at);
    });
  }

  /// A product for one vector of columns.
  template <class T>
  static void multiply(const T* w, std::size_t outputStride, std::size_t inputStride, nn::Rows<const T> x,
                       nn::Rows<T> y, std::size_t outputs, std::size_t inputs, bool isAdded) {
    nn::Product<T>{w, outputStride, inputStride, x, y, outputs, inputs, lanes<T>, nullptr, isAdded}.run();
  }

  /// Turns scores [key][query], for one vector of queries from t on, into weights; keys after a query get 0.
  template <class T>
  static void softmaxOfKeys(const Shape<T>& s, T* scores, std::size_t t, std::size_t keys) {
    using Pack = nn::LanePack<T>;
    using std::exp;
    Pack query = Pack(T(static_cast<PlainOf<T>>(t)));
    if constexpr (lanes < T >> 1)
      for (std::size_t i = 0; i < lanes<T>; ++i) query.set(i, static_cast<T>(t + i));
    const auto isSeen = [&](std::size_t u) { return Pack(T(static_cast<PlainOf<T>>(u))) <= query; };
    Pack most = nn::loadPack(scores);
    for (std::size_t u = 1; u < keys; ++u) {
      const Pack score = nn::loadPack(scores + u * s.padded);
      most = select(isSeen(u) && most < score, score, most);
    }
    Pack sum(T{0});
    for (std::size_t u = 0; u < keys; ++u) {
      const Pack score = nn::loadPack(scores + u * s.padded);
      const Pack weight = select(isSeen(u), exp((score - most) * Pack(s.scale)), Pack(T{0}));
      nn::storePack<T>(scores + u * s.padded, weight);
      sum = sum + weight;
    }
    const Pack share = Pack(T{1}) / sum;
    for (std::size_t u = 0; u < s.positions; ++u) {
      T* score = scores + u * s.padded;
      nn::storePack<T>(score, u < keys ? nn::loadPack(score) * share : Pack(T{0}));
    }
  }
};

}  // namespace ops

/// Causal self-attention: `heads` heads over samples of `positions` columns each, filled up to whole vectors.
template <class T, Config C>
Matrix<T, C> attention(const Matrix<T, C>& queries, const Matrix<T, C>& keys, const Matrix<T, C>& values,
                       std::size_t heads, std::size_t positions) {
  const std::size_t rows = queries.rows(), columns = queries.columns(), padded = nn::paddedTo<T>(positions);
  if (keys.rows() != rows || values.rows() != rows || keys.columns() != columns ||
      values.columns() != columns)
    fail("queries, keys and values of an attention have different shapes");
  if (heads == 0 || rows % heads != 0) fail("an attention of %zu heads over %zu rows", heads, rows);
  if (positions == 0 || columns % padded != 0)
    fail("an attention over samples of %zu positions, %zu columns each, is given %zu columns", positions,
         padded, columns);
  const Block operands[] = {queries.block(), keys.block(), values.block()};
  const Index own[] = {static_cast<Index>(heads), static_cast<Index>(rows / heads),
                       static_cast<Index>(columns), static_cast<Index>(positions)};
  const std::size_t weights = columns / padded * heads * positions * padded;
  return {recordLayer<ops::AttentionLayer, T, C>(operands, own, rows * columns + weights), rows, columns};
}

}  // namespace burtorch
