// Mean cross-entropy of columns of logits, softmax included: log(sum of exp) - logit of the target, the largest logit taken
// out first. Columns whose target is noToken do not count. The largest logit and the sum of each column are kept behind the
// result, apart: their sum would round away the digits of the loss where logits are large. The slope needs no more.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "../ops/kernels.hpp"
#include "elementwise.hpp"
#include "embedding.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace ops {

/// Operand: the logits. Own words: classes, columns, how many columns count, then the targets.
struct CrossEntropyLayer : LayerOp {
  static constexpr std::string_view name = "meanCrossEntropy",
                                    formula = "mean of log(sum exp(x)) - x[target]";

  template <class T> static void value(const Layer<T>& layer, T* results) {
    using std::log;
    const std::size_t classes = layer.own()[0], columns = layer.own()[1], counted = layer.own()[2];
    const TokenId* targets = layer.own() + 3;
    const T* x = layer.operand(0);
    T *largest = results + 1, *sums = largest + columns;
    // In double: thousands of columns may come together, and an optimiser compares these numbers.
    std::conditional_t<std::is_same_v<T, float>, double, T> sum{0};
    if (columns == 1)
      sumOfOne(x, classes, largest, sums);
    else
      nn::forEachVectorShared<T>(columns, classes, [=](std::size_t c, std::size_t n) BURTORCH_INLINE_LAMBDA {
        sumOfColumns(x, classes, columns, c, n, largest, sums);
      });
    nn::forEachVector<T>(columns, [&](std::size_t c, std::size_t n) BURTORCH_INLINE_LAMBDA {
      T logs[nn::laneCount<T>];
      if (n == 1)
        logs[0] = log(sums[c]);
      else
        nn::storePack<T>(logs, log(nn::loadSome(sums + c, n)));
      for (std::size_t k = 0; k < n; ++k)
        if (const TokenId target = targets[c + k]; target != noToken)
          sum = sum + (logs[k] + (largest[c + k] - x[target * columns + c + k]));
    });
    results[0] = T(sum / static_cast<PlainOf<T>>(counted));
  }

  template <class T> static void vjp(const Layer<T>& layer) {
    using std::exp;
    if (!layer.wants(0)) return;
    const std::size_t classes = layer.own()[0], columns = layer.own()[1], counted = layer.own()[2];
    const TokenId* targets = layer.own() + 3;
    const T *x = layer.operand(0), *largest = layer.results() + 1, *sums = largest + columns;
    T* gx = layer.operandGradient(0);
    const T g = layer.resultGradients()[0] / static_cast<PlainOf<T>>(counted);
    // p = exp(x - largest) / sum, and 1 less at the target.
    if (columns == 1) {
      const nn::LanePack<T> factor(T(g / sums[0])), most(largest[0]);
      nn::forEachVector<T>(classes, [&](std::size_t v, std::size_t n) BURTORCH_INLINE_LAMBDA {
        nn::storeSome<T>(gx + v, nn::loadSome(gx + v, n) + exp(nn::loadSome(x + v, n) - most) * factor, n);
      });
    } else {
      nn::forEachVectorShared<T>(columns, classes, [=](std::size_t c, std::size_t n) BURTORCH_INLINE_LAMBDA {
        T share[nn::laneCount<T>];
        for (std::size_t k = 0; k < nn::laneCount<T>; ++k)
          share[k] = k >= n || targets[c + k] == noToken ? T{0} : g;
        const nn::LanePack<T> factor = nn::loadPack(share) / nn::loadSome(sums + c, n),
                              most = nn::loadSome(largest + c, n);
        for (std::size_t v = 0; v < classes; ++v) {
          T* to = gx + v * columns + c;
          nn::storeSome<T>(
              to, nn::loadSome(to, n) + exp(nn::loadSome(x + v * columns + c, n) - most) * factor, n);
        }
      });
    }
    for (std::size_t c = 0; c < columns; ++c)
      if (targets[c] != noToken) {
        T& to = gx[targets[c] * columns + c];
        to = to - g;
      }
  }

 private:
  /// A single column lies side by side: the classes fill the vectors.
  template <class T> static void sumOfOne(const T* x, std::size_t classes, T* largest, T* total) {
    using std::exp;
    T most = x[0];
    for (std::size_t v = 1; v < classes; ++v) most = most < x[v] ? x[v] : most;
    nn::LanePack<T> sum(T{0});
    nn::forEachVector<T>(classes, [&](std::size_t v, std::size_t n) BURTORCH_INLINE_LAMBDA {
      // What fills up the last vector is below everything and adds 0, however large the logits are.
      constexpr auto infinity = std::numeric_limits<PlainOf<T>>::infinity();
      sum = sum + exp(nn::loadSome(x + v, n, T(-infinity)) - nn::LanePack<T>(most));
    });
    T lanes[nn::laneCount<T>];
    nn::storePack(lanes, sum);
    *largest = most;
    *total = kernels::sumPairwise(lanes, nn::laneCount<T>);
  }
  /// `n` columns from c on.
  template <class T>
  BURTORCH_INLINE static void sumOfColumns(const T* logits, std::size_t classes, std::size_t columns,
                                           std::size_t c, std::size_t n, T* largest, T* sums) {
    using Pack = nn::LanePack<T>;
    using std::exp;
    const auto at = [x = logits + c, columns, n](std::size_t v)
                        BURTORCH_INLINE_LAMBDA { return nn::loadSome(x + v * columns, n); };
    Pack most = at(0);
    for (std::size_t v = 1; v < classes; ++v) {
      const Pack logit = at(v);
      most = select(most < logit, logit, most);
    }
    Pack sum[2] = {Pack(T{0}), Pack(T{0})};
    std::size_t v = 0;
    for (; v + 2 <= classes; v += 2) {
      sum[0] = sum[0] + exp(at(v) - most);
      sum[1] = sum[1] + exp(at(v + 1) - most);
    }
    if (v < classes) sum[0] = sum[0] + exp(at(v) - most);
    nn::storeSome(largest + c, most, n);
    nn::storeSome<T>(sums + c, sum[0] + sum[1], n);
  }
};

}  // namespace ops

/// The mean over all columns that have a target.
template <class T, Config C>
Value<T, C> meanCrossEntropy(const Matrix<T, C>& logits, std::span<const TokenId> targets) {
  if (targets.size() != logits.columns())
    fail("meanCrossEntropy: expected %zu targets, one for each column, got %zu", logits.columns(),
         targets.size());
  std::uint32_t counted = 0;
  for (const TokenId target : targets) {
    if (target != noToken && target >= logits.rows())
      fail(ErrorCode::outOfRange, "meanCrossEntropy: target %u is out of range for %zu classes", target,
           logits.rows());
    counted += target != noToken ? 1 : 0;
  }
  if (counted == 0) fail("meanCrossEntropy: no column has a target");
  const Block operands[] = {logits.block()};
  const Word own[] = {static_cast<Word>(logits.rows()), static_cast<Word>(logits.columns()), counted};
  return Value<T, C>(
      recordLayer<ops::CrossEntropyLayer, T, C>(operands, own, targets, 1 + 2 * logits.columns()));
}

BURTORCH_LAYER_ONCE(ops::CrossEntropyLayer)

}  // namespace burtorch::inline BURTORCH_TARGET
