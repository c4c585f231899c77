// Listing F.8, the small graph of Figure 2, for programs that want more of it than its gradient.
#pragma once

#include <array>
#include <burtorch/burtorch.hpp>

namespace bench {

constexpr double listingA = -4, listingB = 2;

/// Its seven variables, as the last line leaves them; on the current tape.
inline std::array<burtorch::Value<double>, 7> listing() {
  using burtorch::Value;
  Value a(listingA), b(listingB);
  auto c = a + b;
  auto d = a * b + pow3(b);
  c += c + Value(1.0);
  c += Value(1.0) + c - a;
  d += d * Value(2.0) + relu(b + a);
  d += Value(3.0) * d + relu(b - a);
  auto e = c - d;
  auto f = sqr(e);
  auto g = f / Value(2.0);
  g += Value(10.0) / f;
  return {a, b, c, d, e, f, g};
}

}  // namespace bench
