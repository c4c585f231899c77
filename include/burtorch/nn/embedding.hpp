// Embedding lookup: row `token` of a table becomes a column. A column may have several tokens, whose rows then stand one
// below the other (the context of the char MLP). `noToken` gives zeros: a column without a token.
#pragma once

#include <span>

#include "../base/token_id.hpp"
#include "matrix.hpp"
#include "parameter_layout.hpp"
#include "product.hpp"

namespace burtorch::inline BURTORCH_TARGET {

namespace ops {

/// Operand: the table. Own words: its width, columns, tokens per column, id of the table, then the tokens [place][column].
struct EmbeddingLayer : LayerOp {
  static constexpr std::string_view name = "embedding", formula = "table[token]";

  template <class T> static void value(const Layer<T>& layer, T* y) {
    const Shape shape(layer);
    const T* table = layer.operand(0);
    static constexpr T zeros[nn::laneCount<T>] = {};
    const auto rowOf = [&](TokenId token, std::size_t d) {
      return token == noToken ? zeros : table + token * shape.width + d;
    };
    if (shape.columns >= nn::laneCount<T>)
      return forEachSquare<T>(
          shape,
          [&](const TokenId* tokens, std::size_t d, std::size_t at) {
            nn::transposeSquare([&](std::size_t k) { return rowOf(tokens[k], d); }, y + at, shape.columns);
          },
          [&](TokenId token, std::size_t d, std::size_t at) {
            y[at] = token == noToken ? T{0} : table[token * shape.width + d];
          });
    forEachRow(shape, [&](TokenId token, std::size_t at, auto step) {
      for (std::size_t d = 0; d < shape.width; ++d)
        y[at + d * step] = token == noToken ? T{0} : table[token * shape.width + d];
    });
  }

  template <class T> static void vjp(const Layer<T>& layer) {
    const Shape shape(layer);
    const T* gy = layer.resultGradients();
    if (!layer.wants(0)) return;
    T* table = layer.operandGradient(0);
    if (layer.isFirstWrite(0, layer.own()[3]))
      for (std::size_t i = 0; i < layer.operandSize(0); ++i) table[i] = T{0};
    const auto add = [](T& to, const T& g) { to = to + g; };
    if (shape.columns >= nn::laneCount<T>)
      return forEachSquare<T>(
          shape,
          [&](const TokenId* tokens, std::size_t d, std::size_t at) {
            alignas(64) T turned[nn::laneCount<T> * nn::laneCount<T>];
            nn::transposeSquare([&](std::size_t k) { return gy + at + k * shape.columns; }, turned,
                                nn::laneCount<T>);
            for (std::size_t k = 0; k < nn::laneCount<T>; ++k) {
              if (tokens[k] == noToken) continue;
              T* to = table + tokens[k] * shape.width + d;
              nn::store<T>(to, nn::load(to) + nn::load(turned + k * nn::laneCount<T>));
            }
          },
          [&](TokenId token, std::size_t d, std::size_t at) {
            if (token != noToken) add(table[token * shape.width + d], gy[at]);
          });
    forEachRow(shape, [&](TokenId token, std::size_t at, auto step) {
      if (token == noToken) return;
      for (std::size_t d = 0; d < shape.width; ++d) add(table[token * shape.width + d], gy[at + d * step]);
    });
  }

 private:
  struct Shape {
    std::size_t width, columns, places;
    const TokenId* tokens;
    template <class T>
    explicit Shape(const Layer<T>& layer)
        : width(layer.own()[0]), columns(layer.own()[1]), places(layer.own()[2]), tokens(layer.own() + 4) {}
  };
  /// Calls `visit(token, where its first number goes, how far the next ones lie apart)` for every token.
  template <class Visit> BURTORCH_INLINE static void forEachRow(const Shape& shape, Visit visit) {
    if (shape.columns == 1)  // known to the compiler: a vector at a time
      for (std::size_t place = 0; place < shape.places; ++place)
        visit(shape.tokens[place], place * shape.width, std::integral_constant<std::size_t, 1>{});
    else
      for (std::size_t i = 0; i < shape.places * shape.columns; ++i)
        visit(shape.tokens[i], i / shape.columns * shape.width * shape.columns + i % shape.columns,
              shape.columns);
  }
  /// Calls `square(tokens, d, where)` for as many tokens, and numbers from d on, as a vector has lanes, and
  /// `single(token, d, where)` for what is left of the width and of the columns.
  template <class T, class Square, class Single>
  BURTORCH_INLINE static void forEachSquare(const Shape& shape, Square square, Single single) {
    constexpr std::size_t lanes = nn::laneCount<T>;
    for (std::size_t place = 0; place < shape.places; ++place)
      nn::forEachVector<T>(shape.columns, [&](std::size_t c, std::size_t count) BURTORCH_INLINE_LAMBDA {
        const TokenId* tokens = shape.tokens + place * shape.columns + c;
        const auto at = [&](std::size_t d) { return (place * shape.width + d) * shape.columns + c; };
        std::size_t d = 0;
        if (count == lanes)
          for (; d + lanes <= shape.width; d += lanes) square(tokens, d, at(d));
        for (; d < shape.width; ++d)
          for (std::size_t k = 0; k < count; ++k) single(tokens[k], d, at(d) + k);
      });
  }
};

}  // namespace ops

struct Embedding {
  Parameter table;  // [vocabulary][width]

  Embedding(ParameterLayout& layout, const std::string& name, std::size_t vocabulary, std::size_t width)
      : table(
            layout.add(name + ".weight", ParameterRole::table, vocabulary, width, FirstNumbers::normal(1))) {}

  /// One column for each of `columns`; tokens are [place][column].
  template <class T, Config C = defaultConfig>
  Matrix<T, C> lookup(std::span<const TokenId> tokens, std::size_t columns) const {
    if (columns == 0 || tokens.empty() || tokens.size() % columns != 0)
      fail("embedding: %zu tokens cannot be split into %zu columns", tokens.size(), columns);
    return record<T, C>(tokens, columns, 1);
  }
  /// One column for each token, the same tokens `times` over: the positions of several samples.
  template <class T, Config C = defaultConfig>
  Matrix<T, C> repeated(std::span<const TokenId> tokens, std::size_t times) const {
    if (tokens.empty() || times == 0) fail("embedding: no tokens");
    return record<T, C>(tokens, tokens.size() * times, times);
  }

 private:
  template <class T, Config C>
  Matrix<T, C> record(std::span<const TokenId> tokens, std::size_t columns, std::size_t times) const {
    for (const TokenId token : tokens)
      if (token >= table.rows && token != noToken)
        fail(ErrorCode::outOfRange, "embedding: token %u is out of range for a table of %u rows", token,
             table.rows);
    const std::size_t places = times * tokens.size() / columns;
    const Block operands[] = {table.block()};
    const Word own[] = {table.columns, static_cast<Word>(columns), static_cast<Word>(places), table.id};
    return {recordLayer<ops::EmbeddingLayer, T, C>(operands, own, tokens, places * table.columns * columns,
                                                   times),
            places * table.columns, columns};
  }
};

BURTORCH_LAYER_ONCE(ops::EmbeddingLayer)

}  // namespace burtorch::inline BURTORCH_TARGET
