// Data and points for tests of problems, and their gradients by differences.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "burtorch/base/rng.hpp"
#include "burtorch/data/sparse_rows.hpp"
#include "burtorch/oracle/finite_sum.hpp"

namespace burtorch {

template <class T = double>
std::vector<T> randomPoint(std::size_t count, std::uint64_t seed, double size = 1) {
  Rng rng(seed, 77);
  std::vector<T> x(count);
  for (T& xi : x) xi = static_cast<T>(size * rng.normal<double>());
  return x;
}
/// Normal numbers at a fraction `fill` of the places; labels 0 to classes - 1, or normal ones if there are no classes.
template <class T = double>
SampleRows<T> randomRows(std::size_t rows, std::size_t features, double fill, std::size_t classes,
                         std::uint64_t seed) {
  Rng rng(seed, 5);
  std::vector<std::size_t> starts{0};
  std::vector<std::uint32_t> columns;
  std::vector<T> values;
  std::vector<double> labels;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < features; ++j)
      if (rng.uniform<double>() < fill) {
        columns.push_back(static_cast<std::uint32_t>(j));
        values.push_back(rng.normal<T>());
      }
    starts.push_back(values.size());
    labels.push_back(classes == 0  ? rng.normal<double>()
                     : i < classes ? static_cast<double>(i)
                                   : static_cast<double>(rng.below(classes)));
  }
  return SampleRows<T>::sparse(features, starts, columns, values, labels);
}
inline std::vector<std::size_t> randomBatch(std::size_t count, std::size_t samples, std::uint64_t seed) {
  Rng rng(seed, 9);
  std::vector<std::size_t> batch(count);
  for (std::size_t& i : batch) i = rng.index(samples);
  return batch;
}
inline double dot(const std::vector<double>& x, const std::vector<double>& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}
inline double norm(const std::vector<double>& x) { return std::sqrt(dot(x, x)); }
inline std::vector<double> minus(std::vector<double> x, const std::vector<double>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
  return x;
}
template <class F>
std::vector<typename F::Scalar> gradientOf(F& f, const std::vector<typename F::Scalar>& x, Batch batch) {
  std::vector<typename F::Scalar> g(x.size());
  f.gradient(x, batch, g);
  return g;
}

/// The gradient agrees with central differences of the value, and its value is the value.
template <class F> void expectGradientByDifferences(F& f, const std::vector<double>& x, Batch batch) {
  std::vector<double> g(x.size()), y = x;
  const double value = f.gradient(x, batch, g);
  EXPECT_EQ(value, f.value(x, batch));
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double h = 6e-6 * std::max(1.0, std::abs(x[j]));
    y[j] = x[j] + h;
    const double up = f.value(y, batch), above = y[j];
    y[j] = x[j] - h;
    const double down = f.value(y, batch), below = y[j];
    y[j] = x[j];
    EXPECT_NEAR(g[j], (up - down) / (above - below), 1e-9 * std::max(1.0, std::abs(value))) << j;
  }
}
/// f is L-smooth and mu-strongly convex between two points, as the constants say.
template <class F>
void expectConstantsHold(F& f, double L, double mu, Batch batch, const std::vector<double>& x,
                         const std::vector<double>& y) {
  const std::vector<double> step = minus(x, y),
                            change = minus(gradientOf(f, x, batch), gradientOf(f, y, batch));
  const double tolerance = 1 + 1e-11;
  EXPECT_LE(norm(change), L * norm(step) * tolerance);
  EXPECT_LE(mu * dot(step, step), dot(change, step) * tolerance);
  // Convex and smooth: the gradient is co-coercive.
  EXPECT_LE(dot(change, change), L * dot(change, step) * tolerance);
}

}  // namespace burtorch
