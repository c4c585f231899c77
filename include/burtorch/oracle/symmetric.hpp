// Small dense symmetric matrices, for constants of problems and for Newton's method: extreme eigenvalues and Cholesky. In
// double, row after row in one list, by textbook methods in n^3 operations, so for some hundred rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "../base/check.hpp"

namespace burtorch::inline BURTORCH_TARGET::symmetric {

/// A symmetric matrix with one diagonal on each side.
struct Tridiagonal {
  std::vector<double> diagonal, beside;  // `beside` has one number less
};

/// A matrix with the same eigenvalues, by Householder reflections. The matrix, whose both triangles are there, is overwritten.
inline Tridiagonal tridiagonalise(std::span<double> matrix, std::size_t n) {
  Tridiagonal result{std::vector<double>(n), std::vector<double>(n > 0 ? n - 1 : 0)};
  std::vector<double> v(n), w(n);
  for (std::size_t k = 0; k + 2 < n; ++k) {
    double squares = 0;
    for (std::size_t i = k + 1; i < n; ++i) squares += matrix[k * n + i] * matrix[k * n + i];
    const double first = matrix[k * n + k + 1], length = first > 0 ? -std::sqrt(squares) : std::sqrt(squares);
    result.beside[k] = length;
    const double norm = squares - first * length;  // half of v . v
    if (!(norm > 0)) continue;
    for (std::size_t i = k + 1; i < n; ++i) v[i] = matrix[k * n + i];
    v[k + 1] -= length;
    double product = 0;
    for (std::size_t i = k + 1; i < n; ++i) {
      double sum = 0;
      for (std::size_t j = k + 1; j < n; ++j) sum += matrix[i * n + j] * v[j];
      w[i] = sum / norm;
      product += w[i] * v[i];
    }
    for (std::size_t i = k + 1; i < n; ++i) w[i] -= product / (2 * norm) * v[i];
    for (std::size_t i = k + 1; i < n; ++i)
      for (std::size_t j = k + 1; j < n; ++j) matrix[i * n + j] -= v[i] * w[j] + w[i] * v[j];
  }
  for (std::size_t k = 0; k < n; ++k) result.diagonal[k] = matrix[k * n + k];
  if (n > 1) result.beside[n - 2] = matrix[(n - 2) * n + n - 1];
  return result;
}

/// Bounds of the eigenvalues.
struct Extremes {
  double lowest = 0, highest = 0;
};

/// How many eigenvalues are below `x`: the negative pivots of the elimination (Sturm).
inline std::size_t countBelow(const Tridiagonal& matrix, double x, double tiny) {
  std::size_t count = 0;
  double pivot = 1;
  for (std::size_t i = 0; i < matrix.diagonal.size(); ++i) {
    const double b = i > 0 ? matrix.beside[i - 1] : 0;
    pivot = matrix.diagonal[i] - x - b * b / pivot;
    if (std::abs(pivot) < tiny) pivot = -tiny;
    count += pivot < 0;
  }
  return count;
}

/// The smallest and the largest eigenvalue, by bisection to the last bits.
inline Extremes extremesOf(const Tridiagonal& matrix) {
  const std::size_t n = matrix.diagonal.size();
  double low = std::numeric_limits<double>::infinity(), high = -low, size = 0;
  bool isFinite = true;
  for (std::size_t i = 0; i < n; ++i) {  // Gershgorin
    const double radius =
        (i > 0 ? std::abs(matrix.beside[i - 1]) : 0) + (i + 1 < n ? std::abs(matrix.beside[i]) : 0);
    low = std::min(low, matrix.diagonal[i] - radius);
    high = std::max(high, matrix.diagonal[i] + radius);
    size = std::max(size, std::abs(matrix.diagonal[i]) + radius);
    isFinite = isFinite && std::isfinite(std::abs(matrix.diagonal[i]) + radius);
  }
  if (!isFinite) fail(ErrorCode::notFinite, "eigenvalues of a matrix that is not finite");
  if (size == 0) return {};
  const double exact = size * std::numeric_limits<double>::epsilon(), tiny = exact * exact;
  const auto firstWith = [&](std::size_t count) {  // where `count` eigenvalues are below
    double below = low - exact, above = high + exact;
    while (above - below > exact) {
      const double middle = below + (above - below) / 2;
      (countBelow(matrix, middle, tiny) >= count ? above : below) = middle;
    }
    return below + (above - below) / 2;
  };
  return {firstWith(1), firstWith(n)};
}

/// L with L L' = matrix, in the lower triangle of the matrix. False if the matrix is not positive definite.
inline bool cholesky(std::span<double> matrix, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i * n + k] * matrix[j * n + k];
      if (i == j && !(sum > 0)) return false;
      matrix[i * n + j] = i == j ? std::sqrt(sum) : sum / matrix[j * n + j];
    }
  return true;
}
/// Solves L L' x = b in place.
inline void solveCholesky(std::span<const double> factor, std::size_t n, std::span<double> b) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) b[i] -= factor[i * n + k] * b[k];
    b[i] /= factor[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    b[i] /= factor[i * n + i];
    for (std::size_t k = 0; k < i; ++k) b[k] -= factor[i * n + k] * b[i];
  }
}

}  // namespace burtorch::inline BURTORCH_TARGET::symmetric
