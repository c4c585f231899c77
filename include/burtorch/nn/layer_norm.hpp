// Layer normalisation of every column: (x - mean) / sqrt(variance + epsilon) * gain (+ bias). The variance is biased and
// taken in a second pass, so that a large mean does not eat its digits; the mean is taken of the differences to the first
// row, so that equal numbers have exactly that mean. Mean and 1 / sqrt are kept behind the results.
#pragma once

#include <cmath>
#include <type_traits>

#include "matrix.hpp"
#include "parameter_layout.hpp"
#include "row_sums.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace ops {

/// Operands: x, gain, bias (if it has one). Own words: rows, columns, ids of gain and bias, epsilon (its bytes).
struct LayerNormLayer : LayerOp {
  static constexpr std::string_view name = "layerNorm",
                                    formula = "(x - mean) / sqrt(variance + eps) * gain + bias";

  template <class T> static PlainOf<T> epsilonOf(const Layer<T>& layer) {
    return constantAt<T>(layer.own(), 4);
  }

  template <class T> static void value(const Layer<T>& layer, T* results) {
    const std::size_t rows = layer.own()[0], columns = layer.own()[1];
    const T *x = layer.operand(0), *gain = layer.operand(1);
    const T* bias = layer.operandCount() == 3 ? layer.operand(2) : nullptr;
    T *means = results + rows * columns, *scales = means + columns;
    const T epsilon(epsilonOf(layer));
    if (columns < fewColumns)
      return nn::forEachVectorShared<T>(columns, rows,
                                        [=](std::size_t c, std::size_t n) BURTORCH_INLINE_LAMBDA {
                                          normalise(x, rows, columns, c, n, gain, bias, epsilon, results);
                                        });
    nn::forEachStrip<T>(rows, columns, [=](std::size_t first, std::size_t end) BURTORCH_INLINE_LAMBDA {
      const auto forEachPlace = [=](auto f) BURTORCH_INLINE_LAMBDA { nn::forEachWide<T>(first, end, f); };
      std::size_t r = 0;
      for (; r + blockRows <= rows; r += blockRows)
        forEachPlace([=](auto at) BURTORCH_INLINE_LAMBDA {
          addMoments(at, x + r * columns, columns, r, std::integral_constant<std::size_t, blockRows>{}, means,
                     scales);
        });
      if (r < rows)
        forEachPlace([=](auto at) BURTORCH_INLINE_LAMBDA {
          addMoments(at, x + r * columns, columns, r, rows - r, means, scales);
        });
      const T share = T{1} / static_cast<PlainOf<T>>(rows);
      forEachPlace([=](auto at) BURTORCH_INLINE_LAMBDA {
        using std::sqrt;
        const auto variance = at.load(scales) * share;
        at.store(scales, T{1} / sqrt(variance + epsilon));
      });
      for (r = 0; r < rows; ++r) {
        const T factor = gain[r], shift = bias != nullptr ? bias[r] : T{0};
        const auto normal = [=, from = x + r * columns](auto at) BURTORCH_INLINE_LAMBDA {
          return (at.load(from) - at.load(means)) * at.load(scales) * factor;
        };
        T* to = results + r * columns;
        if (bias != nullptr)
          forEachPlace([=](auto at) BURTORCH_INLINE_LAMBDA { at.store(to, normal(at) + shift); });
        else
          forEachPlace([=](auto at) BURTORCH_INLINE_LAMBDA { at.store(to, normal(at)); });
      }
    });
  }

  // With n = (x - mean) * scale and h = g * gain: dx = scale * (h - mean of h - n * mean of h n).
  template <class T> static void vjp(const Layer<T>& layer) {
    using Pack = nn::LanePack<T>;
    const std::size_t rows = layer.own()[0], columns = layer.own()[1];
    const T *x = layer.operand(0), *gain = layer.operand(1), *g = layer.resultGradients();
    const T *means = layer.results() + rows * columns, *scales = means + columns;
    if (layer.wants(0)) {
      T* gx = layer.operandGradient(0);
      if (columns < fewColumns)
        nn::forEachVectorShared<T>(columns, rows, [=](std::size_t c, std::size_t n) BURTORCH_INLINE_LAMBDA {
          addSlopes(x, g, gain, rows, columns, c, n, means, scales, gx);
        });
      else  // where the gradients of means and scales would be lie both sums
        addSlopesOfMany(x, g, gain, rows, columns, means, scales, layer.resultGradients() + rows * columns,
                        gx);
    }
    if (layer.wants(1))
      nn::rowSums<T>(layer.operandGradient(1), rows, columns, !layer.isFirstWrite(1, layer.own()[2]),
                     [=](std::size_t r, std::size_t c, std::size_t n) BURTORCH_INLINE_LAMBDA {
                       const Pack normal =
                           (nn::loadSome(x + r * columns + c, n) - nn::loadSome(means + c, n)) *
                           nn::loadSome(scales + c, n);
                       return nn::lanesOf<T>(nn::loadSome(g + r * columns + c, n, T{0}) * normal);
                     });
    if (layer.operandCount() == 3 && layer.wants(2))
      nn::rowSums<T>(layer.operandGradient(2), rows, columns, !layer.isFirstWrite(2, layer.own()[3]),
                     [=](std::size_t r, std::size_t c, std::size_t n)
                         BURTORCH_INLINE_LAMBDA { return nn::loadUpTo(g + r * columns + c, n); });
  }

 private:
  static constexpr std::size_t blockRows = 8, fewColumns = 64;

  /// Adds rows to the mean and to the sum of squares about it, of which there are `before` already (Chan's rule). Sums of a block
  /// are taken about its first row and about its own mean, so nothing large is subtracted.
  template <class T, class At, class Rows>
  BURTORCH_INLINE static void addMoments(At at, const T* x, std::size_t columns, std::size_t before,
                                         Rows rows, T* means, T* squares) {
    using Pack = decltype(at.load(x));
    using Plain = PlainOf<T>;
    const auto count = static_cast<Plain>(std::size_t{rows});
    const Pack top = at.load(x);
    Pack sum(T{0});
    for (std::size_t r = 1; r < rows; ++r) sum = sum + (at.load(x + r * columns) - top);
    const Pack mean = top + sum * (Plain{1} / count);
    Pack square(T{0});
    for (std::size_t r = 0; r < rows; ++r) {
      const Pack d = at.load(x + r * columns) - mean;
      square = square + d * d;
    }
    if (before == 0) {
      at.store(means, mean);
      at.store(squares, square);
      return;
    }
    const auto old = static_cast<Plain>(before);
    const Pack oldMean = at.load(means), step = (mean - oldMean) * (count / (old + count));
    at.store(means, oldMean + step);
    at.store(squares, at.load(squares) + (square + (mean - oldMean) * step * old));
  }
  /// sums: that of h and that of h (x - mean) for each column; then what the rows have in common.
  template <class T>
  BURTORCH_INLINE static void addSlopesOfMany(const T* x, const T* g, const T* gain, std::size_t rows,
                                              std::size_t columns, const T* means, const T* scales, T* sums,
                                              T* gx) {
    T* weighted = sums + columns;
    const T share = T{1} / static_cast<PlainOf<T>>(rows);
    nn::forEachStrip<T>(rows, columns, [=](std::size_t first, std::size_t end) BURTORCH_INLINE_LAMBDA {
      for (std::size_t c = first; c < end; ++c) sums[c] = weighted[c] = T{0};
      const auto addRows = [=](std::size_t r, auto count) BURTORCH_INLINE_LAMBDA {
        nn::forEachWide<T>(first, end, [=](auto at) BURTORCH_INLINE_LAMBDA {
          const auto mean = at.load(means);
          auto sum = at.load(sums), product = at.load(weighted);
          nn::unroll<count>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA {
            const auto h = at.load(g + (r + k) * columns) * gain[r + k];
            sum = sum + h;
            product = product + h * (at.load(x + (r + k) * columns) - mean);
          });
          at.store(sums, sum);
          at.store(weighted, product);
        });
      };
      std::size_t r = 0;
      for (; r + blockRows <= rows; r += blockRows)
        addRows(r, std::integral_constant<std::size_t, blockRows>{});
      for (; r < rows; ++r) addRows(r, std::integral_constant<std::size_t, 1>{});
      // scale (h - mean of h - n * mean of h n) = (scale h - sum) - (x - mean) weighted, with these:
      nn::forEachWide<T>(first, end, [=](auto at) BURTORCH_INLINE_LAMBDA {
        const auto scale = at.load(scales);
        at.store(sums, at.load(sums) * share * scale);
        at.store(weighted, at.load(weighted) * share * scale * scale * scale);
      });
      for (r = 0; r < rows; ++r)
        nn::forEachWide<T>(first, end, [=](auto at) BURTORCH_INLINE_LAMBDA {
          const auto h = at.load(g + r * columns) * gain[r], d = at.load(x + r * columns) - at.load(means);
          T* to = gx + r * columns;
          const auto level = h * at.load(scales) - at.load(sums);
          at.store(to, at.load(to) + (level - d * at.load(weighted)));
        });
    });
  }
  /// As addSlopesOfMany, for few columns: everything of a vector of them stays in registers.
  template <class T>
  BURTORCH_INLINE static void addSlopes(const T* x, const T* g, const T* gain, std::size_t rows,
                                        std::size_t columns, std::size_t c, std::size_t n, const T* means,
                                        const T* scales, T* gx) {
    using Pack = nn::LanePack<T>;
    const Pack share(T{1} / static_cast<PlainOf<T>>(rows));
    const Pack mean = nn::loadSome(means + c, n), scale = nn::loadSome(scales + c, n);
    const auto h = [&](std::size_t r) BURTORCH_INLINE_LAMBDA {
      return nn::loadSome(g + r * columns + c, n) * Pack(gain[r]);
    };
    const auto normal = [&](std::size_t r) BURTORCH_INLINE_LAMBDA {
      return (nn::loadSome(x + r * columns + c, n) - mean) * scale;
    };
    Pack a, b;
    sumOver<T>(rows, a, b, [&](std::size_t r, Pack& sum, Pack& weighted) BURTORCH_INLINE_LAMBDA {
      const Pack slope = h(r);
      sum = sum + slope;
      weighted = weighted + slope * normal(r);
    });
    a = a * share;
    b = b * share;
    for (std::size_t r = 0; r < rows; ++r) {
      T* to = gx + r * columns + c;
      nn::storeSome<T>(to, nn::loadSome(to, n) + scale * (h(r) - a - normal(r) * b), n);
    }
  }
  /// Few columns: everything of a vector of them stays in registers.
  template <class T>
  BURTORCH_INLINE static void normalise(const T* x, std::size_t rows, std::size_t columns, std::size_t c,
                                        std::size_t n, const T* gain, const T* bias, T epsilon, T* results) {
    using std::sqrt;
    using Pack = nn::LanePack<T>;
    const Pack share(T{1} / static_cast<PlainOf<T>>(rows));
    const auto at = [&](std::size_t r)
                        BURTORCH_INLINE_LAMBDA { return nn::loadSome(x + r * columns + c, n); };
    const Pack top = at(0);
    const Pack mean =
        top + sumOver<T>(rows, [&](std::size_t r) BURTORCH_INLINE_LAMBDA { return at(r) - top; }) * share;
    const Pack variance = sumOver<T>(rows,
                                     [&](std::size_t r) BURTORCH_INLINE_LAMBDA {
                                       const Pack d = at(r) - mean;
                                       return d * d;
                                     }) *
                          share;
    const Pack scale = Pack(T{1}) / sqrt(variance + Pack(epsilon));
    nn::storeSome(results + rows * columns + c, mean, n);
    nn::storeSome(results + (rows + 1) * columns + c, scale, n);
    for (std::size_t r = 0; r < rows; ++r) {
      const Pack y = (at(r) - mean) * scale * Pack(gain[r]);
      nn::storeSome<T>(results + r * columns + c, bias != nullptr ? y + Pack(bias[r]) : y, n);
    }
  }
  /// Two sums over rows by `add(r, first, second)`. Each is four sums, added at the end: one would wait for its own
  /// additions.
  template <class T, class Add>
  BURTORCH_INLINE static void sumOver(std::size_t rows, nn::LanePack<T>& x, nn::LanePack<T>& y, Add add) {
    using Pack = nn::LanePack<T>;
    Pack xs[4] = {Pack(T{0}), Pack(T{0}), Pack(T{0}), Pack(T{0})}, ys[4] = {xs[0], xs[0], xs[0], xs[0]};
    std::size_t r = 0;
    for (; r + 4 <= rows; r += 4)
      nn::unroll<4>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA { add(r + k, xs[k], ys[k]); });
    for (; r < rows; ++r) add(r, xs[0], ys[0]);
    x = (xs[0] + xs[1]) + (xs[2] + xs[3]);
    y = (ys[0] + ys[1]) + (ys[2] + ys[3]);
  }
  template <class T, class Term> BURTORCH_INLINE static nn::LanePack<T> sumOver(std::size_t rows, Term term) {
    nn::LanePack<T> sum, unused;
    sumOver<T>(rows, sum, unused,
               [&](std::size_t r, nn::LanePack<T>& x, nn::LanePack<T>&)
                   BURTORCH_INLINE_LAMBDA { x = x + term(r); });
    return sum;
  }
};

}  // namespace ops

/// A layer norm; without a bias if `hasBias` is false.
struct LayerNorm {
  Parameter gain, bias;
  double epsilon = 1e-5;

  LayerNorm(ParameterLayout& layout, const std::string& name, std::size_t width, bool hasBias = true)
      : gain(layout.add(name + ".weight", ParameterRole::gain, width, 1, FirstNumbers::constant(1))) {
    if (hasBias) bias = layout.add(name + ".bias", ParameterRole::bias, width);
  }

  template <class T, Config C> Matrix<T, C> operator()(const Matrix<T, C>& x) const {
    if (x.rows() != gain.rows) fail("LayerNorm: expected %u rows, got %zu", gain.rows, x.rows());
    const Block operands[] = {x.block(), gain.block(), bias.block()};
    Word own[4 + sizeof(PlainOf<T>) / sizeof(Word)] = {static_cast<Word>(x.rows()),
                                                       static_cast<Word>(x.columns()), gain.id, bias.id};
    const auto eps = static_cast<PlainOf<T>>(epsilon);
    std::memcpy(own + 4, &eps, sizeof eps);
    return {recordLayer<ops::LayerNormLayer, T, C>(std::span(operands).first(bias.isPresent() ? 3 : 2), own,
                                                   x.size() + 2 * x.columns()),
            x.rows(), x.columns()};
  }
};

BURTORCH_LAYER_ONCE(ops::LayerNormLayer)

}  // namespace burtorch::inline BURTORCH_TARGET
