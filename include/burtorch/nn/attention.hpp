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
//
// A dropout of the weights is a pass of its own between the softmax and the mixing of values, and the same pass in the slope;
// kept are the weights before it. Without one there is nothing but the test of a flag for each head.
#pragma once

#include <cmath>

#include "attention_in_registers.hpp"
#include "blocked_attention.hpp"
#include "matrix.hpp"
#include "product.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace ops {

/// Operands: queries, keys, values, each [heads * size][columns]. Own words: heads, size, columns, positions.
struct AttentionLayer : LayerOp {
  static constexpr std::string_view name = "attention", formula = "softmax(q k / sqrt(size)) v, causal";

  template <class T> static void value(const Layer<T>& layer, T* results) {
    valueOf(Shape<T>(layer), layer, results);
  }
  template <class T> static void vjp(const Layer<T>& layer) { vjpOf(Shape<T>(layer), layer); }

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

 protected:
  template <class T> using Shape = nn::AttentionShape<T>;
  static constexpr std::size_t shapeWords = 4;

  template <class T> static void valueOf(const Shape<T>& s, const Layer<T>& layer, T* results) {
    if (s.fitsOneVector()) return nn::AttentionInRegisters::value(s, layer, results);
    keepsWeights(s.positions) ? valueOfShort(s, layer, results) : valueOfLong(s, layer, results);
  }
  template <class T> static void vjpOf(const Shape<T>& s, const Layer<T>& layer) {
    if (s.fitsOneVector()) return nn::AttentionInRegisters::vjp(s, layer);
    keepsWeights(s.positions) ? vjpOfShort(s, layer) : vjpOfLong(s, layer);
  }

 private:
  /// Below this length computing the weights twice, and copying keys and values into blocks, costs more than it saves.
  static constexpr std::size_t mostKept = 48;
  static bool keepsWeights(std::size_t positions) { return positions <= mostKept; }
  template <class T>
  static nn::BlockedAttention<T> blocked(const Shape<T>& s, const Layer<T>& layer, std::size_t at) {
    return {s.size,
            s.positions,
            s.columns,
            s.scale,
            layer.operand(0) + at,
            layer.operand(1) + at,
            layer.operand(2) + at,
            s.maskOfHead(at)};
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
        const auto mix = [&](nn::Rows<const T> w) {
          multiply<T>(v, s.columns, 1, w, {out + t, s.columns}, s.size, t + n, n, false);
        };
        const auto mask = s.maskOfHead(at);
        if (!mask) return mix({weights + t, s.positions});
        T kept[mostKept * nn::laneCount<T>];  // the slope needs the weights as they were
        drop(*mask, {weights + t, s.positions}, {kept, nn::laneCount<T>}, t + n, t, n);
        mix({kept, nn::laneCount<T>});
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
      const auto mask = s.maskOfHead(at);
      nn::forEachVector<T>(s.positions, [&](std::size_t t, std::size_t n) {
        const std::size_t keys = t + n;
        multiply<T>(v, 1, s.columns, {go + t, s.columns}, {scores + t, s.positions}, keys, s.size, n, false);
        const auto in = [&](const T* numbers, std::size_t u) {
          return nn::loadSome(numbers + u * s.positions + t, n);
        };
        if (mask) drop(*mask, {scores + t, s.positions}, {scores + t, s.positions}, keys, t, n);
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
      if (layer.wants(2)) {
        if (mask)  // the gradients of scores are done with
          nn::forEachVector<T>(s.positions, [&](std::size_t t, std::size_t n) {
            drop(*mask, {weights + t, s.positions}, {scores + t, s.positions}, s.positions, t, n);
          });
        nn::OuterProduct<T>{{gv, s.columns},
                            {go, s.columns},
                            {mask ? scores : weights, s.positions},
                            s.size,
                            s.positions,
                            s.positions,
                            true}
            .run();
      }
    });
  }

  /// Drops weights, or passes their gradients on: of the n queries from t on, a row for each key.
  template <class T>
  static void drop(const nn::DropMask<T>& mask, nn::Rows<const T> from, nn::Rows<T> to, std::size_t keys,
                   std::size_t t, std::size_t n) {
    for (std::size_t u = 0; u < keys; ++u)
      nn::storeSome<T>(to.at + u * to.stride,
                       mask.drop(nn::loadSome(from.at + u * from.stride, n), mask.row(u), t), n);
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
      for (std::size_t i = 0; i < nn::laneCount<T>; ++i) query.set(i, static_cast<T>(t + i));
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

/// As AttentionLayer, with a dropout of the weights. Own words: those of AttentionLayer, and those of the mask.
struct AttentionDropoutLayer : AttentionLayer {
  static constexpr std::string_view name = "attentionWithDropout",
                                    formula = "dropout(softmax(q k / sqrt(size))) v, causal";

  template <class T> static void value(const Layer<T>& layer, T* results) {
    valueOf(shapeOf(layer), layer, results);
  }
  template <class T> static void vjp(const Layer<T>& layer) { vjpOf(shapeOf(layer), layer); }

 private:
  template <class T> static Shape<T> shapeOf(const Layer<T>& layer) {
    Shape<T> s(layer);
    s.mask.emplace(layer.own() + shapeWords);
    return s;
  }
};

}  // namespace ops

/// Causal self-attention: `heads` heads over samples of `positions` columns each, with a dropout of the weights.
template <class T, Config C>
Matrix<T, C> attention(const Matrix<T, C>& queries, const Matrix<T, C>& keys, const Matrix<T, C>& values,
                       std::size_t heads, std::size_t positions, const Dropout& dropped = {}) {
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
  dropped.check();
  Word own[4 + nn::DropMask<T>::wordCount] = {static_cast<Word>(heads), static_cast<Word>(rows / heads),
                                              static_cast<Word>(columns), static_cast<Word>(positions)};
  nn::DropMask<T>::write(dropped, own + 4);
  const std::size_t results = rows * columns + ops::AttentionLayer::keptCount(columns, heads, positions);
  if (dropped.probability == 0)
    return {recordLayer<ops::AttentionLayer, T, C>(operands, std::span(own).first(4), results), rows,
            columns};
  return {recordLayer<ops::AttentionDropoutLayer, T, C>(operands, own, results), rows, columns};
}

BURTORCH_LAYER_ONCE(ops::AttentionLayer)
BURTORCH_LAYER_ONCE(ops::AttentionDropoutLayer)

}  // namespace burtorch::inline BURTORCH_TARGET
