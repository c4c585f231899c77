// The naive twins of the layers: the same functions, one scalar node for every number, built from the library's scalar
// and list operators. They read matrices of any shape, and answer their outputs row by row.
#pragma once

#include <burtorch/core/backward.hpp>
#include <burtorch/core/reduce.hpp>
#include <burtorch/nn/drop_mask.hpp>
#include <burtorch/nn/embedding.hpp>
#include <burtorch/nn/parameter_nodes.hpp>
#include <cmath>
#include <span>
#include <vector>

namespace burtorch::twin {

template <class T> using Outputs = std::vector<Value<T>>;

/// All elements, row by row.
template <class T> Outputs<T> elementsOf(const Matrix<T>& x) {
  Outputs<T> elements;
  for (std::size_t i = 0; i < x.size(); ++i) elements.push_back(x.range()[i]);
  return elements;
}

/// W x + b of every column; the inputs stand one below the other.
template <class T>
Outputs<T> linear(const Parameter& weight, const Parameter& bias, std::span<const Matrix<T>> inputs) {
  const auto w = nodes<T>(weight), b = bias.isPresent() ? nodes<T>(bias) : w;
  Outputs<T> y;
  for (std::size_t o = 0; o < w.rows(); ++o)
    for (std::size_t c = 0; c < inputs[0].columns(); ++c) {
      std::vector<Range<T>> column;
      for (const auto& x : inputs) column.push_back(x.column(c));
      y.push_back(bias.isPresent() ? innerProductWithBias(w.row(o), column, b(o, 0))
                                   : innerProduct(w.row(o), column));
    }
  return y;
}

/// Rows of the table as columns; tokens are [place][column]. Without a token: zeros.
template <class T>
Outputs<T> embedding(const Parameter& table, std::span<const TokenId> tokens, std::size_t columns) {
  const auto rows = nodes<T>(table);
  Outputs<T> y;
  for (std::size_t place = 0; place < tokens.size() / columns; ++place)
    for (std::size_t d = 0; d < table.columns; ++d)
      for (std::size_t c = 0; c < columns; ++c) {
        const TokenId token = tokens[place * columns + c];
        y.push_back(token == noToken ? Value<T>(T{0}) : rows(token, d));
      }
  return y;
}

template <class T>
Outputs<T> layerNorm(const Parameter& gain, const Parameter& bias, double epsilon, const Matrix<T>& x) {
  const auto gains = nodes<T>(gain), biases = nodes<T>(bias);
  Outputs<T> y(x.size());
  for (std::size_t c = 0; c < x.columns(); ++c) {
    const auto mean = reduceMean(x.column(c));
    const auto scale = invSqrt(varianceBiased(x.column(c)) + epsilon);
    for (std::size_t r = 0; r < x.rows(); ++r)
      y[r * x.columns() + c] = (x(r, c) - mean) * scale * gains(r, 0) + biases(r, 0);
  }
  return y;
}

/// What a number is multiplied by, from the definition: place `row` of the key's stream, then two rounds with the column.
inline double kept(const Dropout& dropped, std::size_t row, std::size_t column) {
  if (dropped.probability == 0) return 1;
  std::uint64_t start = 0;
  Rng rng(dropped.key);
  for (std::size_t i = 0; i <= row; ++i) start = rng.next();
  constexpr std::uint64_t word = UINT64_C(1) << 32;
  std::uint64_t z = (start + dropped.firstColumn + column) % word;
  z = (z ^ z / 65536) * 0x7feb352d % word;
  z = (z ^ z / 32768 ^ start / word) * 0x846ca68b % word;
  // Ordered as signed numbers: what is dropped begins in the middle.
  const double place = static_cast<double>((z + word / 2) % word) / static_cast<double>(word);
  const double probability = std::round(dropped.probability * word) / word;
  return place < probability ? 0 : 1 / (1 - probability);
}
template <class T> Outputs<T> dropout(const Matrix<T>& x, const Dropout& dropped) {
  Outputs<T> y;
  for (std::size_t r = 0; r < x.rows(); ++r)
    for (std::size_t c = 0; c < x.columns(); ++c) y.push_back(x(r, c) * kept(dropped, r, c));
  return y;
}

/// Causal attention over samples of `positions` columns. The mask of the weights has a row for every head and key.
template <class T>
Outputs<T> attention(const Matrix<T>& q, const Matrix<T>& k, const Matrix<T>& v, std::size_t heads,
                     std::size_t positions, const Dropout& dropped = {}) {
  const std::size_t size = q.rows() / heads;
  Outputs<T> y(q.size());
  for (std::size_t sample = 0; sample < q.columns(); sample += positions)
    for (std::size_t row = 0; row < q.rows(); row += size)
      for (std::size_t t = sample; t < sample + positions; ++t) {
        const auto query = q.rowsFrom(row, size).column(t);
        Outputs<T> scores;
        for (std::size_t u = sample; u <= t; ++u)
          scores.push_back(innerProduct(query, k.rowsFrom(row, size).column(u)) /
                           std::sqrt(static_cast<double>(size)));
        const auto all = softmax(scores);
        Outputs<T> weights;
        for (std::size_t u = 0; u <= t - sample; ++u)
          weights.push_back(dropped.probability == 0 ? Value<T>(all[u])
                                                     : all[u] * kept(dropped, row / size * positions + u, t));
        for (std::size_t d = row; d < row + size; ++d)
          y[d * q.columns() + t] = innerProduct(weights, v.row(d).subrange(sample, t - sample + 1));
      }
  return y;
}

template <class T> Value<T> meanCrossEntropy(const Matrix<T>& logits, std::span<const TokenId> targets) {
  Outputs<T> losses;
  for (std::size_t c = 0; c < logits.columns(); ++c)
    if (targets[c] != noToken) losses.push_back(crossEntropy(logits.column(c), targets[c]));
  return reduceMean(losses);
}

template <class Op, class T> Outputs<T> map(const Matrix<T>& x) {
  Outputs<T> y;
  for (const auto& element : elementsOf(x)) y.push_back(apply<Op>(element));
  return y;
}
template <class Op, class T> Outputs<T> map(const Matrix<T>& x, const Matrix<T>& y) {
  Outputs<T> z;
  for (std::size_t i = 0; i < x.size(); ++i) z.push_back(apply<Op>(x.range()[i], y.range()[i]));
  return z;
}

}  // namespace burtorch::twin
