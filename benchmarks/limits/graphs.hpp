// The gradients of the paper's tiny and small graph, written by hand: every operation of the graph and its reverse
// rule, in registers, nothing simplified. This is how far one core can go with these graphs; the library is measured as
// a multiple of it. V is double, or a vector of doubles for several inputs at once.
#pragma once

namespace limits {

template <class V> struct Gradient { V value, a, b; };

/// Figure 1: c = a + b, d = a b + b^3, e = c - d, f = e^2, g = f / 2.
template <class V> [[gnu::always_inline]] inline Gradient<V> tiny(const V& a, const V& b) {
  const V c = a + b, d = a * b + b * b * b, e = c - d, f = e * e, g = f / 2.0;
  const V df = V{} + 0.5, de = df * (e + e), dc = de, dd = -de;
  const V da = dd * b + dc;
  const V db = dd * (3.0 * (b * b)) + dd * a + dc;
  return {g, da, db};
}

/// Figure 2, Listing F.8.
template <class V> [[gnu::always_inline]] inline Gradient<V> small(const V& a, const V& b) {
  const V zero{};
  const V c0 = a + b, d0 = a * b + b * b * b;
  const V c1 = c0 + (c0 + 1.0), c2 = c1 + ((1.0 + c1) - a);
  const V p = b + a, rp = p > zero ? p : zero, d1 = d0 + (d0 * 2.0 + rp);
  const V q = b - a, rq = q > zero ? q : zero, d2 = d1 + (3.0 * d1 + rq);
  const V e = c2 - d2, f = e * e, t = 10.0 / f, g = f / 2.0 + t;

  const V df = 0.5 - t / f, de = df * (e + e);
  const V dc2 = de, dd2 = -de;
  const V dq = q > zero ? dd2 : zero, dd1 = dd2 + 3.0 * dd2;
  const V dp = p > zero ? dd1 : zero, dd0 = dd1 + 2.0 * dd1;
  const V dc1 = dc2 + dc2, dc0 = dc1 + dc1;
  const V da = dp - dq - dc2 + dd0 * b + dc0;
  const V db = dp + dq + dd0 * (3.0 * (b * b)) + dd0 * a + dc0;
  return {g, da, db};
}

}  // namespace limits
