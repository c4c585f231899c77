// Layer normalisation of every column: (x - mean) / sqrt(variance + epsilon) * gain (+ bias). The variance is biased and
// taken in a second pass, so that a large mean does not eat its digits; the mean is taken of the differences to the first
// row, so that equal numbers have exactly that mean. Mean and 1 / sqrt are kept behind the results.
#pragma once

#include <cmath>

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
    using std::sqrt;
    using Pack = nn::LanePack<T>;
    const std::size_t rows = layer.own()[0], columns = layer.own()[1];
    const T *x = layer.operand(0), *gain = layer.operand(1);
    const T* bias = layer.operandCount() == 3 ? layer.operand(2) : nullptr;
    T *means = results + rows * columns, *scales = means + columns;
    const Pack share(T{1} / static_cast<PlainOf<T>>(rows)), epsilon(T{epsilonOf(layer)});
    nn::forEachVectorShared<T>(columns, rows, [=](std::size_t c, std::size_t n) BURTORCH_INLINE_LAMBDA {
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
      const Pack scale = Pack(T{1}) / sqrt(variance + epsilon);
      nn::storeSome(means + c, mean, n);
      nn::storeSome(scales + c, scale, n);
      for (std::size_t r = 0; r < rows; ++r) {
        const Pack y = (at(r) - mean) * scale * Pack(gain[r]);
        nn::storeSome<T>(results + r * columns + c, bias != nullptr ? y + Pack(bias[r]) : y, n);
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
      const Pack share(T{1} / static_cast<PlainOf<T>>(rows));
      nn::forEachVectorShared<T>(columns, rows, [=](std::size_t c, std::size_t n) BURTORCH_INLINE_LAMBDA {
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
      });
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
