// Softmax of every column of a matrix: exp(x - largest) over their sum.
#pragma once

#include <cmath>
#include <type_traits>

#include "elementwise.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace ops {

/// Operand: x. Own words: rows, columns.
struct SoftmaxLayer : LayerOp {
  static constexpr std::string_view name = "softmaxOfColumns", formula = "exp(x_i) / sum of exp(x_j)";

  template <class T> static void value(const Layer<T>& layer, T* y) {
    const std::size_t rows = layer.own()[0], columns = layer.own()[1];
    const T* x = layer.operand(0);
    if (rows * columns <= cached)
      return nn::forEachWide<T>(0, columns, [=](auto at) BURTORCH_INLINE_LAMBDA {
        using std::exp;
        auto most = at.load(x);
        for (std::size_t r = 1; r < rows; ++r) most = nn::larger(most, at.load(x + r * columns));
        decltype(most) sum(T{0});
        for (std::size_t r = 0; r < rows; ++r) {
          const auto part = exp(at.load(x + r * columns) - most);
          at.store(y + r * columns, part);
          sum = sum + part;
        }
        for (std::size_t r = 0; r < rows; ++r) at.store(y + r * columns, at.load(y + r * columns) / sum);
      });
    nn::forEachStrip<T>(rows, columns, [=](std::size_t first, std::size_t end) BURTORCH_INLINE_LAMBDA {
      T largest[nn::widestStrip], sums[nn::widestStrip];
      const auto forEachPlace = [size = end - first](auto f)
                                    BURTORCH_INLINE_LAMBDA { nn::forEachWide<T>(0, size, f); };
      forEachPlace([&](auto at) BURTORCH_INLINE_LAMBDA {
        at.store(largest, at.load(x + first));
        at.store(sums, decltype(at.load(x))(T{0}));
      });
      forEachBlock(rows, columns, first, [&](std::size_t start, auto count) BURTORCH_INLINE_LAMBDA {
        forEachPlace([&](auto at) BURTORCH_INLINE_LAMBDA {
          auto most = at.load(largest);
          nn::unroll<count>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA {
            most = nn::larger(most, at.load(x + start + k * columns));
          });
          at.store(largest, most);
        });
      });
      forEachBlock(rows, columns, first, [&](std::size_t start, auto count) BURTORCH_INLINE_LAMBDA {
        forEachPlace([&](auto at) BURTORCH_INLINE_LAMBDA {
          using std::exp;
          const auto most = at.load(largest);
          auto sum = at.load(sums);
          nn::unroll<count>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA {
            const auto part = exp(at.load(x + start + k * columns) - most);
            at.store(y + start + k * columns, part);
            sum = sum + part;
          });
          at.store(sums, sum);
        });
      });
      forEachBlock(rows, columns, first, [&](std::size_t start, auto count) BURTORCH_INLINE_LAMBDA {
        forEachPlace([&](auto at) BURTORCH_INLINE_LAMBDA {
          const auto sum = at.load(sums);
          nn::unroll<count>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA {
            T* const to = y + start + k * columns;
            at.store(to, at.load(to) / sum);
          });
        });
      });
    });
  }
  // dx_i = y_i (g_i - sum of g_j y_j)
  template <class T> static void vjp(const Layer<T>& layer) {
    if (!layer.wants(0)) return;
    const std::size_t rows = layer.own()[0], columns = layer.own()[1];
    const T *y = layer.results(), *g = layer.resultGradients();
    T* gx = layer.operandGradient(0);
    if (rows * columns <= cached)
      return nn::forEachWide<T>(0, columns, [=](auto at) BURTORCH_INLINE_LAMBDA {
        decltype(at.load(g)) sum(T{0});
        for (std::size_t r = 0; r < rows; ++r)
          sum = sum + at.load(g + r * columns) * at.load(y + r * columns);
        for (std::size_t r = 0; r < rows; ++r) {
          T* const to = gx + r * columns;
          at.store(to, at.load(to) + at.load(y + r * columns) * (at.load(g + r * columns) - sum));
        }
      });
    nn::forEachStrip<T>(rows, columns, [=](std::size_t first, std::size_t end) BURTORCH_INLINE_LAMBDA {
      T sums[nn::widestStrip];
      const auto forEachPlace = [size = end - first](auto f)
                                    BURTORCH_INLINE_LAMBDA { nn::forEachWide<T>(0, size, f); };
      for (std::size_t c = 0; c < end - first; ++c) sums[c] = T{0};
      forEachBlock(rows, columns, first, [&](std::size_t start, auto count) BURTORCH_INLINE_LAMBDA {
        forEachPlace([&](auto at) BURTORCH_INLINE_LAMBDA {
          auto sum = at.load(sums);
          nn::unroll<count>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA {
            sum = sum + at.load(g + start + k * columns) * at.load(y + start + k * columns);
          });
          at.store(sums, sum);
        });
      });
      forEachBlock(rows, columns, first, [&](std::size_t start, auto count) BURTORCH_INLINE_LAMBDA {
        forEachPlace([&](auto at) BURTORCH_INLINE_LAMBDA {
          const auto sum = at.load(sums);
          nn::unroll<count>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA {
            const std::size_t row = start + k * columns;
            at.store(gx + row, at.load(gx + row) + at.load(y + row) * (at.load(g + row) - sum));
          });
        });
      });
    });
  }

 private:
  static constexpr std::size_t cached =
      4096;  // numbers that the first cache keeps, whichever way they are read

  /// Calls `f(where the first number of a strip lies, count)` for runs of rows.
  template <class F>
  BURTORCH_INLINE static void forEachBlock(std::size_t rows, std::size_t columns, std::size_t first, F f) {
    constexpr std::size_t blockRows = 4;
    std::size_t r = 0;
    for (; r + blockRows <= rows; r += blockRows)
      f(r * columns + first, std::integral_constant<std::size_t, blockRows>{});
    for (; r < rows; ++r) f(r * columns + first, std::integral_constant<std::size_t, 1>{});
  }
};

}  // namespace ops

/// The softmax of every column.
template <class T, Config C> Matrix<T, C> softmax(const Matrix<T, C>& x) {
  const Block operands[] = {x.block()};
  const Word own[] = {static_cast<Word>(x.rows()), static_cast<Word>(x.columns())};
  return {recordLayer<ops::SoftmaxLayer, T, C>(operands, own, x.size()), x.rows(), x.columns()};
}

BURTORCH_LAYER_ONCE(ops::SoftmaxLayer)

}  // namespace burtorch::inline BURTORCH_TARGET
