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
      byWidth<T>(columns, [=](auto isWide) BURTORCH_INLINE_LAMBDA {
        forEachPartOfLoop(columns, nn::wideCount<T>, Worth{classes, nn::leastNumbers},
                          [=](std::size_t first, std::size_t end) BURTORCH_INLINE_LAMBDA {
                            sumOfColumns(x, classes, columns, first, end, largest, sums, isWide);
                          });
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
      // Where their gradients would be lie the factors of the columns.
      T* factors = layer.resultGradients() + 1;
      for (std::size_t c = 0; c < columns; ++c) factors[c] = targets[c] == noToken ? T{0} : g;
      byWidth<T>(columns, [=](auto isWide) BURTORCH_INLINE_LAMBDA {
        nn::forEachWide<T>(
            0, columns,
            [=](auto at) BURTORCH_INLINE_LAMBDA { at.store(factors, at.load(factors) / at.load(sums)); },
            isWide);
        forEachPartOfLoop(columns, nn::wideCount<T>, Worth{classes, nn::leastNumbers},
                          [=](std::size_t first, std::size_t end) BURTORCH_INLINE_LAMBDA {
                            addShares(x, classes, columns, first, end, largest, factors, gx, isWide);
                          });
      });
    }
    for (std::size_t c = 0; c < columns; ++c)
      if (targets[c] != noToken) {
        T& to = gx[targets[c] * columns + c];
        to = to - g;
      }
  }

 private:
  /// Calls `f` with whether there is a wide vector of columns. Few columns must not even load constants into wide registers: on some
  /// processors that slows down whatever else a small model does.
  template <class T, class F> BURTORCH_INLINE static void byWidth(std::size_t columns, F f) {
    columns < nn::wideCount<T> ? f(std::false_type{}) : f(std::true_type{});
  }
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
  /// The largest logit of columns `first` to `end`, and the sum of exp(logit - largest).
  template <class T>
  BURTORCH_INLINE static void sumOfColumns(const T* x, std::size_t classes, std::size_t columns,
                                           std::size_t first, std::size_t end, T* largest, T* sums,
                                           auto isWide) {
    // What the first cache holds is read twice. More is read once, a few rows at a time: where their largest logit is new, what was
    // summed before shrinks. Eight lines of a cache fit also where rows lie a power of two apart.
    constexpr std::size_t blockRows = 8, cached = 6144;
    // Not -infinity, from which an infinite logit has no distance.
    constexpr auto lowest = std::numeric_limits<PlainOf<T>>::lowest();
    if (classes * columns <= cached)
      return nn::forEachWide<T>(
          first, end,
          [=](auto at) BURTORCH_INLINE_LAMBDA {
            const auto most = largestOf(x, columns, at, classes);
            at.store(largest, most);
            at.store(sums, sumOfExp(x, columns, at, classes, most));
          },
          isWide);
    for (std::size_t c = first; c < end; ++c) largest[c] = T(lowest), sums[c] = T{0};
    const auto addRows = [=](std::size_t v, auto rows) BURTORCH_INLINE_LAMBDA {
      // What is next, for processors that follow one stream in a page; the last rows have nothing behind them.
      const std::size_t ahead = v + 2 * blockRows <= classes ? blockRows * columns : 0;
      nn::forEachWide<T>(
          first, end,
          [=, from = x + v * columns](auto at) BURTORCH_INLINE_LAMBDA {
            using std::exp;
            for (std::size_t r = 0; r < rows; ++r) __builtin_prefetch(from + ahead + r * columns + at.first);
            const auto before = at.load(largest),
                       most = nn::larger(before, largestOf(from, columns, at, rows));
            at.store(largest, most);
            at.store(sums, at.load(sums) * exp(before - most) + sumOfExp(from, columns, at, rows, most));
          },
          isWide);
    };
    std::size_t v = 0;
    for (; v + blockRows <= classes; v += blockRows)
      addRows(v, std::integral_constant<std::size_t, blockRows>{});
    if (v < classes) addRows(v, classes - v);
  }
  /// Of the first `rows` rows at a place.
  template <class T, class At, class Rows>
  BURTORCH_INLINE static auto largestOf(const T* x, std::size_t columns, At at, Rows rows) {
    auto even = at.load(x), odd = even;  // two chains that do not wait for each other
    std::size_t r = 1;
    for (; r + 2 <= rows; r += 2) {
      odd = nn::larger(odd, at.load(x + r * columns));
      even = nn::larger(even, at.load(x + (r + 1) * columns));
    }
    if (r < rows) odd = nn::larger(odd, at.load(x + r * columns));
    return nn::larger(even, odd);
  }
  template <class T, class At, class Rows, class Most>
  BURTORCH_INLINE static Most sumOfExp(const T* x, std::size_t columns, At at, Rows rows, const Most& most) {
    using std::exp;
    Most even(T{0}), odd(T{0});
    std::size_t r = 0;
    for (; r + 2 <= rows; r += 2) {
      even = even + exp(at.load(x + r * columns) - most);
      odd = odd + exp(at.load(x + (r + 1) * columns) - most);
    }
    if (r < rows) even = even + exp(at.load(x + r * columns) - most);
    return even + odd;
  }
  /// Adds factor * exp(logit - largest) to the gradients of columns `first` to `end`.
  template <class T>
  BURTORCH_INLINE static void addShares(const T* x, std::size_t classes, std::size_t columns,
                                        std::size_t first, std::size_t end, const T* largest,
                                        const T* factors, T* gx, auto isWide) {
    constexpr std::size_t blockRows = 4;
    const auto addRows = [=](std::size_t v, auto rows) BURTORCH_INLINE_LAMBDA {
      const std::size_t ahead = v + 3 * blockRows <= classes ? 2 * blockRows * columns : 0;
      nn::forEachWide<T>(
          first, end,
          [=, from = x + v * columns, to = gx + v * columns](auto at) BURTORCH_INLINE_LAMBDA {
            using std::exp;
            const auto most = at.load(largest), factor = at.load(factors);
            nn::unroll<rows>([&]<std::size_t r>() BURTORCH_INLINE_LAMBDA {
              __builtin_prefetch(from + ahead + r * columns + at.first);
              __builtin_prefetch(to + ahead + r * columns + at.first, 1);
              T* const g = to + r * columns;
              at.store(g, at.load(g) + exp(at.load(from + r * columns) - most) * factor);
            });
          },
          isWide);
    };
    std::size_t v = 0;
    for (; v + blockRows <= classes; v += blockRows)
      addRows(v, std::integral_constant<std::size_t, blockRows>{});
    for (; v < classes; ++v) addRows(v, std::integral_constant<std::size_t, 1>{});
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
