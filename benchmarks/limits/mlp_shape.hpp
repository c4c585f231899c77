// The character MLP of the paper's section 2.4 as its hand-written gradients see it: every size but the hidden units is a
// constant. Parameters are flat and in the library's order, which is PyTorch's: 1052 e + 1755 for e hidden units.
// Hidden units: 4, or a multiple of 16 that is at most 64 or a multiple of 64.
#pragma once

#include <cstddef>

#include "avx.hpp"

namespace limits::mlp {

constexpr int vocabulary = 27, context = 16, embedding = 64, inputs = context * embedding, mostHidden = 1024;
constexpr int batchSize = 64;

constexpr int paddedTo8(int count) { return (count + 7) & ~7; }

/// The blocks of a flat vector of parameters, or of their gradients.
template <class Float> struct Blocks {
  Float* table;                // [token][embedding]
  Float *hidden, *hiddenBias;  // [unit][place][embedding]
  Float *output, *outputBias;  // [token][unit]

  Blocks(Float* flat, int units)
      : table(flat),
        hidden(table + vocabulary * embedding),
        hiddenBias(hidden + static_cast<std::ptrdiff_t>(inputs) * units),
        output(hiddenBias + units),
        outputBias(output + vocabulary * units) {}
};
using Weights = Blocks<const float>;
using Gradients = Blocks<float>;

/// acc += row for one embedding.
[[gnu::always_inline]] inline void addEmbedding(float* to, const float* row) {
  for (int m = 0; m < embedding; m += 8) store(to + m, load(to + m) + load(row + m));
}

}  // namespace limits::mlp
