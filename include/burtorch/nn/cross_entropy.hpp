// Mean cross-entropy of columns of logits, softmax included: log(sum of exp) - logit of the target, the largest logit taken
// out first. Columns whose target is noToken do not count. The log-sums are kept behind the result; the slope needs no more.
#pragma once

#include <cmath>
#include <type_traits>

#include "../core/kernels.hpp"
#include "elementwise.hpp"
#include "embedding.hpp"

namespace burtorch {

namespace ops {

/// Operand: the logits. Own words: classes, columns, how many columns count, then the targets.
struct CrossEntropyLayer : LayerOp {
  static constexpr std::string_view name = "meanCrossEntropy",
                                    formula = "mean of log(sum exp(x)) - x[target]";

  template <class T> static void value(const Layer<T>& layer, T* results) {
    const std::size_t columns = layer.own()[1], counted = layer.own()[2];
    const Index* targets = layer.own() + 3;
    const T* x = layer.operand(0);
    if (columns == 1)
      results[1] = logSumOfOne(x, layer.own()[0]);
    else
      forEachVector<T>(columns,
                       [&]<class Pack>(std::size_t c) { logSum<T, Pack>(layer, c, results + 1 + c); });
    // In double: thousands of columns may come together, and an optimiser compares these numbers.
    std::conditional_t<std::is_same_v<T, float>, double, T> sum{0};
    for (std::size_t c = 0; c < columns; ++c)
      if (targets[c] != noToken) sum = sum + (results[1 + c] - x[targets[c] * columns + c]);
    results[0] = T(sum / static_cast<PlainOf<T>>(counted));
  }

  template <class T> static void slope(const Layer<T>& layer) {
    using std::exp;
    const std::size_t classes = layer.own()[0], columns = layer.own()[1], counted = layer.own()[2];
    const Index* targets = layer.own() + 3;
    const T *x = layer.operand(0), *logSums = layer.results() + 1;
    T* gx = layer.operandGradient(0);
    const T g = layer.resultGradients()[0] / static_cast<PlainOf<T>>(counted);
    if (columns == 1) {
      nn::forEachVector<T>(classes, [&](std::size_t v, std::size_t n) BURTORCH_INLINE_LAMBDA {
        const auto p = exp(nn::loadSome(x + v, n) - nn::LanePack<T>(logSums[0]));
        nn::storeSome<T>(gx + v, nn::loadSome(gx + v, n) + p * nn::LanePack<T>(g), n);
      });
      gx[targets[0]] = gx[targets[0]] - g;
      return;
    }
    forEachVector<T>(columns, [&]<class Pack>(std::size_t c) {
      constexpr std::size_t count = sizeof(Pack) / sizeof(T);
      T share[count];
      for (std::size_t k = 0; k < count; ++k) share[k] = targets[c + k] == noToken ? T{0} : g;
      const Pack factor = read<Pack>(share), logs = read<Pack>(logSums + c);
      for (std::size_t v = 0; v < classes; ++v) {
        T* to = gx + v * columns + c;
        write<Pack>(to, read<Pack>(to) + exp(read<Pack>(x + v * columns + c) - logs) * factor);
      }
      for (std::size_t k = 0; k < count; ++k)
        if (targets[c + k] != noToken) {
          T& to = gx[targets[c + k] * columns + c + k];
          to = to - g;
        }
    });
  }

 private:
  template <class Pack, class T> static Pack read(const T* from) {
    Pack pack;
    std::memcpy(&pack, from, sizeof pack);
    return pack;
  }
  template <class Pack, class T> static void write(T* to, const Pack& pack) {
    std::memcpy(to, &pack, sizeof pack);
  }
  /// Calls `visit.operator()<Pack>(c)`: vectors of columns, or single ones if they do not fill vectors.
  template <class T, class Visit> static void forEachVector(std::size_t columns, Visit visit) {
    if (columns % nn::laneCount<T> == 0)
      for (std::size_t c = 0; c < columns; c += nn::laneCount<T>)
        visit.template operator()<nn::LanePack<T>>(c);
    else
      for (std::size_t c = 0; c < columns; ++c) visit.template operator()<T>(c);
  }
  /// A single column lies side by side: the classes fill the vectors.
  template <class T> static T logSumOfOne(const T* x, std::size_t classes) {
    using std::exp;
    using std::log;
    T most = x[0];
    for (std::size_t v = 1; v < classes; ++v) most = most < x[v] ? x[v] : most;
    nn::LanePack<T> sum(T{0});
    nn::forEachVector<T>(classes, [&](std::size_t v, std::size_t n) BURTORCH_INLINE_LAMBDA {
      // What fills up the last vector is far below everything and adds 0.
      sum = sum + exp(nn::loadSome(x + v, n, most - T(1000)) - nn::LanePack<T>(most));
    });
    T lanes[nn::laneCount<T>];
    nn::storePack(lanes, sum);
    return most + log(kernels::sumPairwise(lanes, nn::laneCount<T>));
  }
  template <class T, class Pack> static void logSum(const Layer<T>& layer, std::size_t c, T* to) {
    using std::exp;
    using std::log;
    const std::size_t classes = layer.own()[0], columns = layer.own()[1];
    const T* x = layer.operand(0) + c;
    Pack most = read<Pack>(x);
    for (std::size_t v = 1; v < classes; ++v) {
      const Pack logit = read<Pack>(x + v * columns);
      most = select(most < logit, logit, most);
    }
    Pack sum[2] = {Pack(T{0}), Pack(T{0})};
    std::size_t v = 0;
    for (; v + 2 <= classes; v += 2) {
      sum[0] = sum[0] + exp(read<Pack>(x + v * columns) - most);
      sum[1] = sum[1] + exp(read<Pack>(x + (v + 1) * columns) - most);
    }
    if (v < classes) sum[0] = sum[0] + exp(read<Pack>(x + v * columns) - most);
    write<Pack>(to, most + log(sum[0] + sum[1]));
  }
};

}  // namespace ops

/// The mean over all columns that have a target.
template <class T, Config C>
Value<T, C> meanCrossEntropy(const Matrix<T, C>& logits, std::span<const Index> targets) {
  if (targets.size() != logits.columns())
    fail("a cross-entropy of %zu columns is given %zu targets", logits.columns(), targets.size());
  Index counted = 0;
  for (const Index target : targets) {
    if (target != noToken && target >= logits.rows())
      fail("target %u of a cross-entropy of %zu classes", target, logits.rows());
    counted += target != noToken ? 1 : 0;
  }
  if (counted == 0) fail("a cross-entropy without any target");
  const Block operands[] = {logits.block()};
  const Index own[] = {static_cast<Index>(logits.rows()), static_cast<Index>(logits.columns()), counted};
  return Value<T, C>(recordLayer<ops::CrossEntropyLayer, T, C>(operands, own, targets, 1 + logits.columns()));
}

}  // namespace burtorch
