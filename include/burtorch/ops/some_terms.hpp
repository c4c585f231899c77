// The rule of an inner product of n terms of which k are kept: every set of k is equally likely, and what passes is
// multiplied by n / k, so that the expected gradient is the exact one (Oktay et al. 2021). Costs a draw for each of the terms
// up to the last that is kept, no memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>

#include "../base/rng.hpp"
#include "list.hpp"

namespace burtorch::inline BURTORCH_TARGET::detail {

/// `words` are those of the instruction (instruction.hpp), `g` has arrived, and of n terms round(n share) are kept, at least
/// one. A bias takes all of g. `mark(node, 1, 1)` hears where something has arrived.
template <class T, class Mark>
void passSomeTerms(const T* values, T* gradients, const Word* words, bool hasBias, NodeIndex n, T g,
                   double share, Rng& rng, Mark mark) {
  const auto reached = ReachedLanes<T>::of(g);
  const auto pass = [&](NodeIndex node, const T& vjp) {
    reached.add(gradients[node], vjp);
    mark(node, NodeIndex{1}, std::int32_t{1});
  };
  if (hasBias) pass(*words++, g);
  const ListShape xs = ListShape::decode(words, n), ys = ListShape::decode(words + xs.wordCount(), n);
  const auto read = [&](const ListShape& list, std::size_t at) {
    if (list.form != ListForm::numbers) return values[at];
    PlainOf<T> number;
    std::memcpy(&number, list.words + at * (sizeof number / sizeof(Word)), sizeof number);
    return T(number);
  };
  const auto add = [&](const ListShape& list, std::size_t at, const T& vjp) {
    if (list.form != ListForm::numbers) pass(static_cast<NodeIndex>(at), vjp);  // numbers are data
  };
  auto left = std::max(NodeIndex{1}, static_cast<NodeIndex>(std::lround(share * n)));
  const T scaled = g * T(static_cast<PlainOf<T>>(static_cast<double>(n) / left));
  ListBackwards x(xs), y(ys);
  for (NodeIndex i = n; left > 0; --i) {
    const std::size_t atX = x.next(), atY = y.next();
    if (rng.below(i) >= left) continue;
    --left;
    add(xs, atX, scaled * read(ys, atY));
    add(ys, atY, scaled * read(xs, atX));
  }
}

}  // namespace burtorch::inline BURTORCH_TARGET::detail
