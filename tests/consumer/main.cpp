// The paper's Figure 1 as a stranger would write it.
#include <burtorch/burtorch.hpp>
#include <iostream>

int main() {
  using burtorch::Value;
  Value a(-41.0), b(2.0);
  auto c = a + b, d = a * b + pow3(b), e = c - d, f = sqr(e), g = f / 2.0;
  backward(g);
  std::cout << a.gradCopy() << ' ' << b.gradCopy() << '\n';
}
