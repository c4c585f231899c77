// Workers with quadratics of their own, their smoothness constants, and a round over bytes, for tests of methods.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "burtorch/base/rng.hpp"
#include "burtorch/oracle/finite_sum.hpp"

namespace burtorch {

using Vector = std::vector<double>;

inline Vector randomVector(std::size_t d, std::uint64_t seed) {
  Rng rng(seed);
  Vector x(d);
  for (double& number : x) number = rng.normal<double>();
  return x;
}
inline double squaredDistance(std::span<const double> x, std::span<const double> y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}
inline double squaredNorm(std::span<const double> x) { return squaredDistance(x, Vector(x.size())); }

/// The largest |eigenvalue| of a symmetric matrix, by the power method, rounded up a little.
inline double largestEigenvalue(const Vector& matrix, std::size_t d) {
  Vector x = randomVector(d, 99), y(d);
  double size = 0;
  for (int step = 0; step < 3000; ++step) {
    for (std::size_t i = 0; i < d; ++i)
      y[i] = std::inner_product(x.begin(), x.end(), matrix.begin() + static_cast<std::ptrdiff_t>(i * d), 0.0);
    size = std::sqrt(squaredNorm(y));
    for (std::size_t i = 0; i < d; ++i) x[i] = y[i] / size;
  }
  return size * (1 + 1e-6);
}

/// (1/m) sum of (x - b_j)' A_j (x - b_j) / 2 over samples j, with A_j = M_j' M_j.
class Quadratics {
 public:
  using Scalar = double;

  Quadratics(std::size_t d, std::size_t samples, double size, std::uint64_t seed) : d_(d) {
    for (std::size_t j = 0; j < samples; ++j) {
      const Vector m = randomVector(d * d, seed + 1000 * j);
      centres_.push_back(randomVector(d, seed + 1000 * j + 500));
      Vector& matrix = matrices_.emplace_back(d * d);
      for (std::size_t row = 0; row < d; ++row)
        for (std::size_t column = 0; column < d; ++column)
          for (std::size_t k = 0; k < d; ++k)
            matrix[row * d + column] += size * m[k * d + row] * m[k * d + column] / static_cast<double>(d);
    }
  }
  std::size_t size() const { return matrices_.size(); }
  std::size_t parameterCount() const { return d_; }
  OracleCounts counts() const { return counter_.counts(); }
  double value(std::span<const double> x, Batch batch) {
    Vector forgotten(d_);
    return compute(x, batch, forgotten);
  }
  double gradient(std::span<const double> x, Batch batch, std::span<double> into) {
    counter_.addGradients(batch.size());
    return compute(x, batch, into);
  }
  /// The mean of the samples' matrices, and the matrix of one sample.
  Vector meanMatrix() const {
    Vector mean(d_ * d_);
    for (const Vector& matrix : matrices_)
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += matrix[i] / static_cast<double>(size());
    return mean;
  }
  const Vector& matrix(std::size_t sample) const { return matrices_[sample]; }

 private:
  // One copy of the code: inlined in two places, its products and sums may be fused differently.
  [[gnu::noinline]] double compute(std::span<const double> x, Batch batch, std::span<double> into) {
    std::fill(into.begin(), into.end(), 0.0);
    double value = 0;
    const double share = 1 / static_cast<double>(batch.size());
    for (const std::size_t j : batch)
      for (std::size_t row = 0; row < d_; ++row) {
        double slope = 0;
        for (std::size_t k = 0; k < d_; ++k) slope += matrices_[j][row * d_ + k] * (x[k] - centres_[j][k]);
        into[row] += share * slope;
        value += share * slope * (x[row] - centres_[j][row]) / 2;
      }
    return value;
  }

  std::size_t d_;
  std::vector<Vector> matrices_, centres_;
  OracleCounter counter_;
};

/// n workers, the first ones smoother than the last ones.
struct Federation {
  std::vector<Quadratics> functions;
  Vector smoothness;          // of each worker
  double meanSmoothness = 0;  // of f, their mean

  Federation(std::size_t n, std::size_t d, std::size_t samples, std::uint64_t seed) {
    Vector sum(d * d);
    for (std::size_t i = 0; i < n; ++i) {
      functions.emplace_back(d, samples, 0.5 + static_cast<double>(i), seed + 100000 * i);
      const Vector mean = functions.back().meanMatrix();
      smoothness.push_back(largestEigenvalue(mean, d));
      for (std::size_t k = 0; k < sum.size(); ++k) sum[k] += mean[k] / static_cast<double>(n);
    }
    meanSmoothness = largestEigenvalue(sum, d);
  }
  std::size_t dimension() const { return functions[0].parameterCount(); }
  Vector gradientOf(std::size_t worker, std::span<const double> x) {
    Vector gradient(dimension());
    functions[worker].gradient(x, AllSamples(functions[worker].size()), gradient);
    return gradient;
  }
  Vector gradient(std::span<const double> x) {
    Vector mean(dimension());
    const double share = 1 / static_cast<double>(functions.size());
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const Vector own = gradientOf(i, x);
      for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += share * own[k];
    }
    return mean;
  }
  double value(std::span<const double> x) {
    double sum = 0;
    for (Quadratics& f : functions) sum += f.value(x, AllSamples(f.size()));
    return sum / static_cast<double>(functions.size());
  }
  /// x after so many steps of gradient descent, sums taken in the order of the workers.
  Vector descended(Vector x, double stepSize, int steps) {
    for (int step = 0; step < steps; ++step) {
      const Vector g = gradient(x);
      for (std::size_t k = 0; k < x.size(); ++k) x[k] -= stepSize * g[k];
    }
    return x;
  }
};

/// One round over bytes; answers arrive in the given order.
template <class Server, class Clients>
auto roundOverBytes(Server& server, Clients& clients, const std::vector<std::size_t>& order) {
  const auto sent = server.broadcast();
  const std::vector<std::byte> broadcast(sent.begin(), sent.end());
  for (const std::size_t i : order) {
    std::vector<std::byte> message;
    clients[i].answer(std::span<const std::byte>(broadcast), message);
    server.receive(i, message);
  }
  return server.finishRound();
}
inline std::vector<std::size_t> ascending(std::size_t n) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  return order;
}
inline Vector copyOf(std::span<const double> x) { return {x.begin(), x.end()}; }

/// What visitState hands out, kept and given back.
struct SavedState {
  std::vector<Vector> arrays;
  std::vector<std::uint64_t> counters;
  std::vector<std::string> names;

  auto save() {
    return [this](const char* name, auto&& state) {
      names.push_back(name);
      if constexpr (requires { state.size(); })
        arrays.emplace_back(state.begin(), state.end());
      else
        counters.push_back(state);
    };
  }
  auto load() const {
    return [this, array = std::size_t{0}, counter = std::size_t{0}](const char*, auto&& state) mutable {
      if constexpr (requires { state.size(); })
        std::copy(arrays[array].begin(), arrays[array].end(), state.begin()), ++array;
      else
        state = counters[counter++];
    };
  }
};

}  // namespace burtorch
