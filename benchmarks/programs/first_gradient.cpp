// The tiny graph's program: one gradient, then the time at which it was there.
#include <time.h>

#include <burtorch/burtorch.hpp>
#include <cstdio>

int main() {
  burtorch::Value a(-41.0), b(2.0);
  auto e = (a + b) - (a * b + pow3(b));
  backward(sqr(e) / 2.0);
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  std::printf("%.0f\n", static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec));
  std::fflush(stdout);
  std::getchar();  // until the harness has looked at the memory
  return a.grad() == -35 && b.grad() == 1050 ? 0 : 1;
}
