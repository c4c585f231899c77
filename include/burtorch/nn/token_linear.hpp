// A linear layer over embedded tokens, the first layer of a language model with a fixed context: W [E(token 0); E(token 1);
// ...] + b for every column. The embedded input is never written out, and samples share work: W_p E(token) is the same for
// all columns that have this token at place p, so it is computed once for each distinct (place, token) pair. A batch of 64
// names has about a hundred of them among 1,024 places. The result is the same sum in another order.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "embedding.hpp"
#include "linear.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace ops {

/// Operands: table, W, b. Own words: outputs, width of the table, places, columns, pairs, ids of table, W and b; then the
/// first pair of every place and the end, the token of every pair, and the pair of every column, [place][column].
/// Behind the results lie the products of the pairs, a block of outputs at a time.
struct TokenLinearLayer : LayerOp {
  static constexpr std::string_view name = "tokenLinear", formula = "W [E(t0); E(t1); ...] + b";
  static constexpr std::size_t blockSize =
      64;  // outputs: the products of a hundred pairs stay in the first-level cache

  template <class T> static void value(const Layer<T>& layer, T* results) {
    const Shape s(layer);
    T* products = results + s.outputs * s.columns;
    // Nodes like all others, though nobody reads them: whatever lay there before must not look like a result.
    if (s.outputs < blockSize) std::fill_n(products, s.pairs * blockSize, T{0});
    for (std::size_t first = 0; first < s.outputs; first += blockSize) {
      const std::size_t count = std::min(blockSize, s.outputs - first);
      for (std::size_t j = 0; j < count; j += 4) {
        const std::size_t rows = std::min<std::size_t>(4, count - j);
        for (std::size_t p = 0; p < s.places; ++p) pairProducts(layer, s, p, first + j, rows, products + j);
      }
      alignas(64) T start[blockSize];
      for (std::size_t j = 0; j < blockSize; ++j) start[j] = j < count ? layer.operand(2)[first + j] : T{0};
      forCommonPlaces(s, [&](std::size_t pair) { addRow(start, products + pair * blockSize, count); });
      nn::forEachVector<T>(s.columns, [&](std::size_t c, std::size_t n) {
        alignas(64) T sums[nn::laneCount<T> * blockSize];
        for (std::size_t k = 0; k < n; ++k) sumPairs(s, products, start, c + k, count, sums + k * blockSize);
        T* to = results + first * s.columns + c;
        std::size_t j = 0;
        if (n == nn::laneCount<T>)
          for (; j + n <= count; j += n)
            nn::transposeSquare([&](std::size_t k) { return sums + k * blockSize + j; }, to + j * s.columns,
                                s.columns);
        for (; j < count; ++j)
          for (std::size_t k = 0; k < n; ++k) to[j * s.columns + k] = sums[k * blockSize + j];
      });
    }
  }

  template <class T> static void vjp(const Layer<T>& layer) {
    const Shape s(layer);
    T* table = layer.wants(0) ? layer.operandGradient(0) : nullptr;
    if (table != nullptr && layer.isFirstWrite(0, s.tableId)) std::fill_n(table, layer.operandSize(0), T{0});
    const bool isAdded = layer.wants(1) && !layer.isFirstWrite(1, s.weightId);
    const bool wantsBias = layer.wants(2), isBiasAdded = wantsBias && !layer.isFirstWrite(2, s.biasId);
    const T* g = layer.resultGradients();
    T* products = layer.resultGradients() + s.outputs * s.columns;
    for (std::size_t first = 0; first < s.outputs; first += blockSize) {
      const std::size_t count = std::min(blockSize, s.outputs - first);
      if (first > 0) std::fill_n(products, s.pairs * blockSize, T{0});
      alignas(64) T total[blockSize] = {};
      nn::forEachVector<T>(s.columns, [&](std::size_t c, std::size_t n) {
        alignas(64) T turned[nn::laneCount<T> * blockSize];
        nn::transpose(g + first * s.columns + c, count, n, s.columns, turned, blockSize);
        for (std::size_t k = 0; k < n; ++k) {
          addRow(total, turned + k * blockSize, count);
          for (std::size_t p = 0; p < s.places; ++p)
            if (!s.isCommon(p))
              addRow(products + s.pairOf(p, c + k) * blockSize, turned + k * blockSize, count);
        }
      });
      T* bias = layer.operandGradient(2) + first;
      for (std::size_t j = 0; wantsBias && j < count; ++j)
        bias[j] = isBiasAdded ? bias[j] + total[j] : total[j];
      forCommonPlaces(s,
                      [&](std::size_t pair) { std::copy_n(total, blockSize, products + pair * blockSize); });
      for (std::size_t p = 0; p < s.places; ++p)
        placeVjp(layer, s, p, first, count, products, table, isAdded);
    }
  }

 private:
  struct Shape {
    std::size_t outputs, width, places, columns, pairs, inputs;
    std::uint32_t tableId, weightId, biasId;
    const TokenId *starts, *tokens, *ids;
    template <class T>
    explicit Shape(const Layer<T>& layer)
        : outputs(layer.own()[0]),
          width(layer.own()[1]),
          places(layer.own()[2]),
          columns(layer.own()[3]),
          pairs(layer.own()[4]),
          inputs(width * places),
          tableId(layer.own()[5]),
          weightId(layer.own()[6]),
          biasId(layer.own()[7]),
          starts(layer.own() + 8),
          tokens(starts + places + 1),
          ids(tokens + pairs) {}
    /// All columns have the same token at this place.
    bool isCommon(std::size_t p) const { return starts[p + 1] - starts[p] == 1; }
    std::size_t pairOf(std::size_t p, std::size_t c) const { return ids[p * columns + c]; }
  };
  template <class Visit> static void forCommonPlaces(const Shape& s, Visit visit) {
    for (std::size_t p = 0; p < s.places; ++p)
      if (s.isCommon(p)) visit(s.starts[p]);
  }
  /// Whole vectors: rows of blockSize numbers lie behind each other, the rest of a short one is never read.
  template <class T> BURTORCH_INLINE static void addRow(T* to, const T* from, std::size_t count) {
    for (std::size_t j = 0; j < count; j += nn::laneCount<T>)
      nn::store<T>(to + j, nn::load(to + j) + nn::load(from + j));
  }

  /// Four outputs of every pair of a place: products with four rows of W, three pairs at a time.
  template <class T>
  static void pairProducts(const Layer<T>& layer, const Shape& s, std::size_t p, std::size_t output,
                           std::size_t rows, T* to) {
    const T* w = layer.operand(1) + output * s.inputs + p * s.width;
    std::size_t pair = s.starts[p];
    const std::size_t end = s.starts[p + 1];
    const auto dots = [&]<std::size_t n, std::size_t r>() {
      const T* x[n];
      nn::unroll<n>([&]<std::size_t k>()
                        BURTORCH_INLINE_LAMBDA { x[k] = layer.operand(0) + s.tokens[pair + k] * s.width; });
      nn::Lanes<T> sum[n][r];
      nn::unroll<n * r>([&]<std::size_t i>() BURTORCH_INLINE_LAMBDA { sum[i / r][i % r] = nn::fill(T{0}); });
      nn::forEachVector<T>(s.width, [&](std::size_t m, std::size_t part) BURTORCH_INLINE_LAMBDA {
        nn::Lanes<T> in[n];
        nn::unroll<n>([&]<std::size_t k>() BURTORCH_INLINE_LAMBDA { in[k] = nn::loadUpTo(x[k] + m, part); });
        nn::unroll<r>([&]<std::size_t q>() BURTORCH_INLINE_LAMBDA {
          const nn::Lanes<T> weight = nn::loadUpTo(w + q * s.inputs + m, part);
          nn::unroll<n>([&]<std::size_t k>()
                            BURTORCH_INLINE_LAMBDA { sum[k][q] = sum[k][q] + weight * in[k]; });
        });
      });
      nn::unroll<n>([&]<std::size_t k>()
                        BURTORCH_INLINE_LAMBDA { nn::storeSums<T, r>(to + (pair + k) * blockSize, sum[k]); });
      pair += n;
    };
    if (rows == 4) {
      while (end - pair >= 3) dots.template operator()<3, 4>();
      while (end > pair) dots.template operator()<1, 4>();
    } else {
      const T* base = w;
      for (std::size_t q = 0; q < rows; ++q, ++to) {
        pair = s.starts[p];
        w = base + q * s.inputs;
        while (end > pair) dots.template operator()<1, 1>();
      }
    }
  }
  /// A block of outputs of one column: the start and the products of its pairs.
  template <class T>
  static void sumPairs(const Shape& s, const T* products, const T* start, std::size_t c, std::size_t count,
                       T* to) {
    constexpr std::size_t lanes = nn::laneCount<T>;
    const auto strip = [&]<std::size_t vectors>(std::size_t j) {
      nn::Lanes<T> sum[vectors];
      nn::unroll<vectors>([&]<std::size_t v>()
                              BURTORCH_INLINE_LAMBDA { sum[v] = nn::load(start + j + v * lanes); });
      for (std::size_t p = 0; p < s.places; ++p) {
        if (s.isCommon(p)) continue;
        const T* product = products + s.pairOf(p, c) * blockSize + j;
        nn::unroll<vectors>([&]<std::size_t v>()
                                BURTORCH_INLINE_LAMBDA { sum[v] = sum[v] + nn::load(product + v * lanes); });
      }
      nn::unroll<vectors>([&]<std::size_t v>()
                              BURTORCH_INLINE_LAMBDA { nn::store(to + j + v * lanes, sum[v]); });
    };
    std::size_t j = 0;
    for (; j + 4 * lanes <= count; j += 4 * lanes) strip.template operator()<4>(j);
    for (; j < count; j += lanes) strip.template operator()<1>(j);
  }
  /// From the gradients of the products of one place to those of W and of the table.
  template <class T>
  static void placeVjp(const Layer<T>& layer, const Shape& s, std::size_t p, std::size_t first,
                       std::size_t count, const T* products, T* table, bool isAdded) {
    constexpr std::size_t most = 16;  // pairs at a time, whose rows of the table are gathered
    const std::size_t at = first * s.inputs + p * s.width;
    for (std::size_t pair = s.starts[p]; pair < s.starts[p + 1]; pair += most) {
      const std::size_t pairs = std::min(most, s.starts[p + 1] - pair);
      const T* g = products + pair * blockSize;
      for (std::size_t m = 0; m < s.width; m += blockSize) {
        const std::size_t width = std::min(blockSize, s.width - m);
        alignas(64) T rows[most * blockSize], slopes[most * blockSize];
        for (std::size_t k = 0; k < pairs; ++k)
          std::copy_n(layer.operand(0) + s.tokens[pair + k] * s.width + m, width, rows + k * blockSize);
        if (layer.wants(1))
          nn::Product<T>{.w = g,
                         .outputStride = 1,
                         .inputStride = blockSize,
                         .x = {rows, blockSize},
                         .y = {layer.operandGradient(1) + at + m, s.inputs},
                         .outputs = count,
                         .inputs = pairs,
                         .columns = width,
                         .isAdded = isAdded || pair > s.starts[p]}
              .run();
        if (table == nullptr) continue;
        nn::Product<T>{.w = g,
                       .outputStride = blockSize,
                       .inputStride = 1,
                       .x = {layer.operand(1) + at + m, s.inputs},
                       .y = {slopes, blockSize},
                       .outputs = pairs,
                       .inputs = count,
                       .columns = width}
            .run();
        for (std::size_t k = 0; k < pairs; ++k) {
          T* to = table + s.tokens[pair + k] * s.width + m;
          nn::forEachVector<T>(width, [&](std::size_t j, std::size_t n) BURTORCH_INLINE_LAMBDA {
            nn::storeUpTo<T>(to + j, nn::loadUpTo(to + j, n) + nn::load(slopes + k * blockSize + j), n);
          });
        }
      }
    }
  }
};

}  // namespace ops

/// `linear`, which has a bias, of the embedded tokens, [place][column].
template <class T, Config C = defaultConfig>
Matrix<T, C> tokenLinear(const Embedding& embedding, const Linear& linear, std::span<const TokenId> tokens,
                         std::size_t columns) {
  const Parameter &table = embedding.table, &w = linear.weight;
  const std::size_t places = columns > 0 ? tokens.size() / columns : 0;
  if (places == 0 || tokens.size() != places * columns || w.columns != places * table.columns)
    fail("tokenLinear: %zu tokens of %u numbers in %zu columns do not fit a layer of %u inputs",
         tokens.size(), table.columns, columns, w.columns);
  if (!linear.bias.isPresent()) fail("tokenLinear: the layer has no bias");
  // Scratch memory of the caller's thread: the words are known only at the end.
  static thread_local std::vector<Word> words, pairAt;
  words.assign(places + 1, 0);
  pairAt.resize(table.rows);
  std::vector<Word>& all = words;
  std::uint32_t pairs = 0;
  for (std::size_t p = 0; p < places; ++p) {
    all[p] = pairs;
    std::fill(pairAt.begin(), pairAt.end(), noToken);
    for (std::size_t c = 0; c < columns; ++c) {
      const TokenId token = tokens[p * columns + c];
      if (token >= table.rows)
        fail(ErrorCode::outOfRange, "tokenLinear: token %u is out of range for a table of %u rows", token,
             table.rows);
      if (pairAt[token] == noToken) {
        pairAt[token] = pairs++;
        all.push_back(token);
      }
    }
  }
  all[places] = pairs;
  for (std::size_t p = 0; p < places; ++p) {
    for (std::uint32_t pair = all[p]; pair < all[p + 1]; ++pair) pairAt[all[places + 1 + pair]] = pair;
    for (std::size_t c = 0; c < columns; ++c) all.push_back(pairAt[tokens[p * columns + c]]);
  }
  const Block operands[] = {table.block(), w.block(), linear.bias.block()};
  const Word own[] = {
      w.rows, table.columns, static_cast<Word>(places), static_cast<Word>(columns), pairs, table.id,
      w.id,   linear.bias.id};
  const std::size_t results = w.rows * columns + pairs * ops::TokenLinearLayer::blockSize;
  return {recordLayer<ops::TokenLinearLayer, T, C>(operands, own, all, results), w.rows, columns};
}

BURTORCH_LAYER_ONCE(ops::TokenLinearLayer)

}  // namespace burtorch::inline BURTORCH_TARGET
