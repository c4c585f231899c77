// The minimiser of a smooth, strongly convex finite sum to the last digits: for f(x) - f(x*) in plots and for tests, not a method to
// compare others with.
//
// Newton's method, because the problems one looks at are often ill-conditioned: first-order methods take some
// sqrt(L/mu) log(1/tolerance) gradients, Newton's some ten steps whatever L/mu is. Up to 128 parameters the Hessian is built
// column by column and factored by Cholesky, which the condition hurts least; beyond, conjugate gradients solve each step as far as it
// pays. An oracle with a member `hessianProduct` is asked for it, of others gradients are subtracted. Far away, steps are halved until
// the value falls; close by, where values differ by rounding only, the slope along the step decides. It stops where
// gradients stop shrinking: what is left is the rounding of the gradient.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "finite_sum.hpp"
#include "symmetric.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// When a search for a minimiser ends.
struct MinimiseOptions {
  double tolerance = 1e-12;  // of the gradient's norm, relative to that at the start
  std::size_t mostSteps = 200;
};

/// What a search found.
struct Minimum {
  std::vector<double> x;
  double value = 0;         // of f, over all samples
  double gradientNorm = 0;  // of f there; with a prox, of the gradient mapping
  std::size_t steps = 0;
  bool isConverged = false;  // the tolerance was reached
};

namespace detail {

inline double innerOf(std::span<const double> x, std::span<const double> y) {
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}
inline double normOf(std::span<const double> x) { return std::sqrt(innerOf(x, x)); }

/// One search for a minimiser.
template <class F> class NewtonSearch {
 public:
  NewtonSearch(F& f, std::vector<double> start)
      : f_(f), all_(f.size()), x_(std::move(start)), d_(x_.size()), g_(d_), p_(d_), next_(d_), nextG_(d_) {}

  Minimum run(const MinimiseOptions& options) {
    value_ = f_.gradient(x_, all_, g_);
    const double first = normOf(g_);
    Minimum best{x_, value_, first, 0, first == 0};
    constexpr int mostFruitless = 4;
    for (int fruitless = 0; best.steps < options.mostSteps && fruitless < mostFruitless; ++best.steps) {
      const double norm = normOf(g_);
      if (!std::isfinite(value_ + norm))
        fail(ErrorCode::notFinite, "minimise: f or its gradient is not finite after %zu steps", best.steps);
      if (best.gradientNorm <= options.tolerance * first) break;
      setDirection(std::sqrt(norm / first));
      const double before = value_;
      const bool hasMoved = search();
      const double now = normOf(g_);
      // On the way down gradients may grow for a while.
      const bool hasFallen = value_ < before - 1e-12 * std::abs(before);
      fruitless = now < best.gradientNorm || hasFallen ? 0 : fruitless + 1;
      if (now < best.gradientNorm) best = {x_, value_, now, best.steps, false};
      if (!hasMoved) break;
    }
    best.isConverged = best.gradientNorm <= options.tolerance * first;
    return best;
  }

 private:
  static constexpr std::size_t largestDense = 128;

  /// H v at x, where the gradient is g.
  void curve(std::span<const double> v, std::span<double> into) {
    if constexpr (requires { f_.hessianProduct(x_, v, all_, into); }) {
      f_.hessianProduct(x_, v, all_, into);
    } else {
      const double length = normOf(v),
                   h = std::sqrt(std::numeric_limits<double>::epsilon()) * (1 + normOf(x_)) / length;
      for (std::size_t j = 0; j < d_; ++j) next_[j] = x_[j] + h * v[j];
      f_.gradient(next_, all_, into);
      for (std::size_t j = 0; j < d_; ++j) into[j] = (into[j] - g_[j]) / h;
    }
  }
  /// p with H p = -g, or nearly so.
  void setDirection(double accuracy) {
    if (d_ > largestDense || !solveDense()) conjugateGradients(std::clamp(accuracy, 1e-10, 0.1));
    if (!(innerOf(p_, g_) < 0))  // rounding left nothing of it
      for (std::size_t j = 0; j < d_; ++j) p_[j] = -g_[j];
  }
  bool solveDense() {
    std::vector<double> hessian(d_ * d_), unit(d_);
    for (std::size_t j = 0; j < d_; ++j) {
      unit[j] = 1;
      curve(unit, std::span(hessian).subspan(j * d_, d_));
      unit[j] = 0;
    }
    if (!symmetric::cholesky(hessian, d_)) return false;
    for (std::size_t j = 0; j < d_; ++j) p_[j] = -g_[j];
    symmetric::solveCholesky(hessian, d_, p_);
    return true;
  }
  void conjugateGradients(double accuracy) {
    std::vector<double> rest(d_), direction, product(d_);
    for (std::size_t j = 0; j < d_; ++j) rest[j] = -g_[j];
    std::fill(p_.begin(), p_.end(), 0.0);
    direction = rest;
    double squares = innerOf(rest, rest);
    const double enough = accuracy * accuracy * squares;
    for (std::size_t i = 0; i < 10 * d_ && squares > enough; ++i) {
      curve(direction, product);
      const double curvature = innerOf(direction, product);
      if (!(curvature > 0)) break;
      const double step = squares / curvature, before = squares;
      for (std::size_t j = 0; j < d_; ++j) p_[j] += step * direction[j], rest[j] -= step * product[j];
      squares = innerOf(rest, rest);
      for (std::size_t j = 0; j < d_; ++j) direction[j] = rest[j] + squares / before * direction[j];
    }
  }
  /// Moves x along p. False if no step helps.
  bool search() {
    const double slope = innerOf(g_, p_), noise = 1e-12 * std::abs(value_);
    for (double t = 1; t > 1e-18; t /= 2) {
      for (std::size_t j = 0; j < d_; ++j) next_[j] = x_[j] + t * p_[j];
      const double value = f_.gradient(next_, all_, nextG_), slopeThere = innerOf(nextG_, p_);
      const bool falls = value <= value_ + 1e-4 * t * slope,
                 flattens = value <= value_ + noise && slopeThere <= -0.8 * slope;
      if (!falls && !flattens) continue;
      std::swap(x_, next_);
      std::swap(g_, nextG_);
      value_ = value;
      return true;
    }
    return false;
  }

  F& f_;
  AllSamples all_;
  std::vector<double> x_;
  std::size_t d_;
  std::vector<double> g_, p_, next_, nextG_;
  double value_ = 0;
};

template <class F> std::vector<double> startOf(const F& f, std::vector<double> start, const char* who) {
  if (start.empty()) start.resize(f.parameterCount());
  if (start.size() != f.parameterCount())
    fail("%s: expected a start of %zu numbers, got %zu", who, static_cast<std::size_t>(f.parameterCount()),
         start.size());
  return start;
}

}  // namespace detail

/// The minimiser of a smooth, strongly convex f, from zero or a given start. The current workers help if they help the oracle.
template <FiniteSum F>
requires std::same_as<typename F::Scalar, double> Minimum minimise(F& f, const MinimiseOptions& options = {},
                                                                   std::vector<double> start = {}) {
  return detail::NewtonSearch<F>(f, detail::startOf(f, std::move(start), "minimise")).run(options);
}

/// The minimiser of f + R, where `prox(x, step)` turns a span x into the minimiser of R(z) + |z - x|^2 / (2 step) and f is
/// L-smooth and strongly convex: FISTA, begun again whenever its momentum leads uphill. Takes some sqrt(L/mu) log(1/tolerance)
/// gradients. The norm that is compared with the tolerance is that of the gradient mapping, L |y - prox(y - g/L)|.
template <FiniteSum F, class Prox>
requires std::same_as<typename F::Scalar, double> Minimum
minimiseWithProx(F& f, double L, const Prox& prox,
                 const MinimiseOptions& options = {.tolerance = 1e-12, .mostSteps = 100'000},
                 std::vector<double> start = {}) {
  if (!(L > 0) || !std::isfinite(L)) fail("minimiseWithProx: expected a positive L, got %g", L);
  std::vector<double> x = detail::startOf(f, std::move(start), "minimiseWithProx");
  const AllSamples all(f.size());
  std::vector<double> y = x, next(x.size()), g(x.size());
  double t = 1, first = 0, norm = 0;
  Minimum result;
  for (; result.steps < options.mostSteps && !result.isConverged; ++result.steps) {
    f.gradient(y, all, g);
    for (std::size_t j = 0; j < x.size(); ++j) next[j] = y[j] - g[j] / L;
    prox(std::span<double>(next), 1 / L);
    double squares = 0, uphill = 0;
    for (std::size_t j = 0; j < x.size(); ++j) {
      squares += (y[j] - next[j]) * (y[j] - next[j]);
      uphill += (y[j] - next[j]) * (next[j] - x[j]);
    }
    norm = L * std::sqrt(squares);
    if (!std::isfinite(norm))
      fail(ErrorCode::notFinite, "minimiseWithProx: a step is not finite after %zu steps", result.steps);
    if (result.steps == 0) first = norm;
    result.isConverged = norm <= options.tolerance * first;
    const double before = std::exchange(t, uphill > 0 ? 1 : (1 + std::sqrt(1 + 4 * t * t)) / 2),
                 momentum = uphill > 0 ? 0 : (before - 1) / t;
    for (std::size_t j = 0; j < x.size(); ++j) y[j] = next[j] + momentum * (next[j] - x[j]);
    std::swap(x, next);
  }
  result.value = f.value(x, all);
  result.gradientNorm = norm;
  result.x = std::move(x);
  return result;
}

}  // namespace burtorch::inline BURTORCH_TARGET
