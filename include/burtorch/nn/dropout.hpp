// Dropout: each number of a matrix is 0 with some probability, or divided by one minus it, so that its mean stays. Which ones is
// computed from a key (drop_mask.hpp), in the slope once more; nothing is stored but the results.
#pragma once

#include "drop_mask.hpp"
#include "matrix.hpp"
#include "shares.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace ops {

/// Operand: x. Own words: columns, and those of the mask.
struct DropoutLayer : LayerOp {
  static constexpr std::string_view name = "dropout", formula = "x / (1 - p) with probability 1 - p, else 0";

  template <class T> static void value(const Layer<T>& layer, T* y) {
    const T* x = layer.operand(0);
    forEachKept(layer, [=](std::size_t i, std::size_t n, const auto& drop) BURTORCH_INLINE_LAMBDA {
      nn::storeSome<T>(y + i, drop(nn::loadSome(x + i, n)), n);
    });
  }
  template <class T> static void vjp(const Layer<T>& layer) {
    if (!layer.wants(0)) return;
    const T* gy = layer.resultGradients();
    T* gx = layer.operandGradient(0);
    forEachKept(layer, [=](std::size_t i, std::size_t n, const auto& drop) BURTORCH_INLINE_LAMBDA {
      nn::storeSome<T>(gx + i, nn::loadSome(gx + i, n) + drop(nn::loadSome(gy + i, n)), n);
    });
  }

 private:
  /// Calls `at(i, n, drop)` for the n numbers from i on, whose mask `drop` applies to a pack.
  template <class T, class At> BURTORCH_INLINE static void forEachKept(const Layer<T>& layer, At at) {
    const std::size_t columns = layer.own()[0];
    const nn::DropMask<T> mask(layer.own() + 1);
    forEachPartOfLoop(
        layer.operandSize(0) / columns, 1, Worth{columns, nn::leastNumbers},
        [=](std::size_t first, std::size_t end) BURTORCH_INLINE_LAMBDA {
          for (std::size_t r = first; r < end; ++r) {
            const auto row = mask.row(r);
            nn::forEachVector<T>(columns, [&](std::size_t c, std::size_t n) BURTORCH_INLINE_LAMBDA {
              at(r * columns + c, n,
                 [&](const nn::LanePack<T>& x) BURTORCH_INLINE_LAMBDA { return mask.drop(x, row, c); });
            });
          }
        });
  }
};

}  // namespace ops

/// A matrix without what a dropout drops; with a probability of 0 the matrix itself.
template <class T, Config C> Matrix<T, C> dropout(const Matrix<T, C>& x, const Dropout& dropped) {
  dropped.check();
  if (dropped.probability == 0) return x;
  const Block operands[] = {x.block()};
  Word own[1 + nn::DropMask<T>::wordCount] = {static_cast<Word>(x.columns())};
  nn::DropMask<T>::write(dropped, own + 1);
  return {recordLayer<ops::DropoutLayer, T, C>(operands, own, x.size()), x.rows(), x.columns(),
          x.needsGradient()};
}

BURTORCH_LAYER_ONCE(ops::DropoutLayer)

}  // namespace burtorch::inline BURTORCH_TARGET
