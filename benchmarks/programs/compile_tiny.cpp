// For ./bench compile: one gradient of Figure 1.
#include <burtorch/burtorch.hpp>

constexpr auto graph = burtorch::compile([](auto a, auto b) {
  auto e = (a + b) - (a * b + pow3(b));
  return sqr(e) / 2.0;
});

std::array<double, 2> gradient(double a, double b) { return graph.grad(a, b); }
