// The graph of Figure 2, as a function of any numbers and by hand.
#pragma once

#include <burtorch/burtorch.hpp>

#include "harness.hpp"
#include "limits/graphs.hpp"

namespace bench {

/// Listing F.8, 32 nodes.
struct Small {
  static constexpr const char* name = "small";
  static constexpr double a = -4, b = 2;
  static constexpr long iterations = 20000;
  static Answer reference() { return {{138.83381924198252, 645.5772594752186}, 24.70408163265306}; }

  template <class X> [[gnu::always_inline]] static constexpr X graph(X x, X y) {
    auto c = x + y;
    auto d = x * y + pow3(y);
    c += c + X(1.0);
    c += X(1.0) + c - x;
    d += d * X(2.0) + relu(y + x);
    d += X(3.0) * d + relu(y - x);
    auto e = c - d;
    auto f = sqr(e);
    auto g = f / X(2.0);
    g += X(10.0) / f;
    return g;
  }
  template <class X> [[gnu::always_inline]] static constexpr X graphWithConstants(X x, X y) {
    auto c = x + y;
    auto d = x * y + pow3(y);
    c += c + 1.0;
    c += 1.0 + c - x;
    d += d * 2.0 + relu(y + x);
    d += 3.0 * d + relu(y - x);
    auto e = c - d;
    auto f = sqr(e);
    auto g = f / 2.0;
    g += 10.0 / f;
    return g;
  }
  template <class V> [[gnu::always_inline]] static limits::Gradient<V> byHand(const V& x, const V& y) {
    return limits::small(x, y);
  }
};

}  // namespace bench
