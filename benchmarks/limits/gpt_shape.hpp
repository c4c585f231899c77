// The GPT of the paper's section 2.5 as the hand-written gradient sees it: its sizes, all of them constants, the layout of
// its parameters, and where activations lie.
//
// Activations are feature-major, X[group][feature][columns of the group]; a column is one position of one sample. So layer
// norm, softmax, relu and cross-entropy are vertical vector code, and a product broadcasts a weight and multiplies a
// vector of columns with it, forwards as well as backwards.
#pragma once

#include "avx.hpp"

namespace limits::gpt {

constexpr int vocabulary = 65, context = 8, width = 24, layers = 6, heads = 6, headWidth = 4, hidden = 96;

/// Every matrix has `width` as its contiguous side, whether that is the input or the output: a gradient of a weight is then
/// made of tiles of 4 x 24 that stay in registers over all columns.
struct Block {
  float gain1[width], shift1[width];
  float qkv[3 * width * width];                            // [output][input]
  float projection[width * width], projectionBias[width];  // [input][output]
  float gain2[width], shift2[width];
  float expand[hidden * width], expandBias[hidden];     // [output][input]
  float contract[hidden * width], contractBias[width];  // [input][output]
};
struct Parameters {
  float tokens[vocabulary * width], positions[context * width];
  Block blocks[layers];
  float head[vocabulary * width], headBias[vocabulary];  // [output][input]
};
constexpr int parameterCount = 46289;
static_assert(sizeof(Parameters) == parameterCount * sizeof(float));

/// A tile of 1, 2, 4 or 8 samples. With 8, a lane is a sample and a vector a position: causal attention needs neither
/// masks nor transposes. With fewer, a lane is a position and a vector a sample.
template <int samples> struct Columns {
  static constexpr int vectors = samples, count = 8 * samples;
  static constexpr bool isOneSample = samples == 1, isLanePerSample = samples == 8;
  // Two vectors use a broadcast weight twice; their sums for six outputs fit into the registers.
  static constexpr int vectorsPerGroup = samples == 1 ? 1 : 2, groups = vectors / vectorsPerGroup;
  static constexpr int stride = vectorsPerGroup * 8;  // floats from one feature to the next

  static constexpr int sampleOf(int vector, int lane) { return isLanePerSample ? lane : vector; }
  static constexpr int positionOf(int vector, int lane) { return isLanePerSample ? vector : lane; }
  /// The number of a column in the caller's lists of tokens.
  static constexpr int tokenOf(int vector, int lane) {
    return sampleOf(vector, lane) * context + positionOf(vector, lane);
  }

  /// Where a vector of a feature lies in a buffer of `features` features.
  template <int features> static constexpr int place(int vector, int feature) {
    return (vector / vectorsPerGroup * features + feature) * stride + vector % vectorsPerGroup * 8;
  }
  template <int features> [[gnu::always_inline]] static V8 get(const float* buffer, int vector, int feature) {
    return load(buffer + place<features>(vector, feature));
  }
  template <int features>
  [[gnu::always_inline]] static void put(float* buffer, int vector, int feature, V8 x) {
    store(buffer + place<features>(vector, feature), x);
  }
};

}  // namespace limits::gpt
