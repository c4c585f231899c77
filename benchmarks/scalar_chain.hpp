// A graph of scalars as long as one likes, for what recording costs: scale and the rows `build` of threads.
#pragma once

#include <burtorch/burtorch.hpp>

namespace bench {

/// Products, sums, differences and relu, `nodes` in all with a and b; |x| stays near 1. In Values or any other numbers.
template <class X> [[gnu::noinline]] X scalarChain(X a, X b, long nodes) {
  X x = a, y = b;
  for (long done = 2; done + 4 <= nodes; done += 4) {
    const auto z = x * b;
    const auto w = z + y;
    y = x;
    x = relu(w - z);
  }
  return x;
}

}  // namespace bench
