// For ./bench compile: one gradient of Figure 2.
#include <burtorch/burtorch.hpp>

constexpr auto graph = burtorch::compile([](auto a, auto b) {
  auto c = a + b;
  auto d = a * b + pow3(b);
  c += c + 1.0;
  c += 1.0 + c - a;
  d += d * 2.0 + relu(b + a);
  d += 3.0 * d + relu(b - a);
  auto e = c - d;
  auto f = sqr(e);
  auto g = f / 2.0;
  g += 10.0 / f;
  return g;
});

std::array<double, 2> gradient(double a, double b) { return graph.grad(a, b); }
