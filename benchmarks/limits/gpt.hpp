// The gradient of the paper's GPT written by hand, for exactly this shape, as fast as we know how on one core with AVX2
// and FMA: the limit of experiment `gpt`. The library, whose sizes are all options, is measured as a multiple of it.
// Batches of 1, 2, 4, and multiples of 8.
//
// The first tile of a batch stores gradients and the others add, so only the embeddings are zeroed. What is not a matrix
// has its gradient in vectors of 8 lanes, summed once at the end. Memory: one tile's activations, 0.8 MB for 8 samples.
#pragma once

#include <cstring>
#include <vector>

#include "arena.hpp"
#include "gpt_attention.hpp"
#include "gpt_loss.hpp"
#include "gpt_norm.hpp"
#include "gpt_products.hpp"

namespace limits::gpt {

/// The gradient of a tile of `samples` samples at a time.
template <int samples> struct TileGradient {
  using C = Columns<samples>;

  struct BlockActivations {
    float scaled1[width * C::count], inverse1[C::count];
    float qkv[3 * width * C::count], shares[Attention<C>::shareCount], heads[width * C::count];
    float scaled2[width * C::count], inverse2[C::count];
    float hidden[gpt::hidden * C::count];
  };
  struct LaneGradients {
    float gain1[width * 8], shift1[width * 8], gain2[width * 8], shift2[width * 8], expandBias[hidden * 8];
  };
  struct Workspace {
    BlockActivations blocks[layers];
    float x[width * C::count], normed[width * C::count];
    float logits[vocabulary * C::count];
    float dx[width * C::count], dNormed[width * C::count], rows[width * C::count];
    float dHidden[hidden * C::count], dQkv[3 * width * C::count], dHeads[width * C::count];
    float dScores[pairCount * 8];
    LaneGradients lanes[layers];
    float headBias[vocabulary * 8];
  };

  Workspace& w;
  const Parameters& p;
  Parameters& g;

  void embed(const int* tokens) {
    for (int vector = 0; vector < C::vectors; ++vector)
      for (int k = 0; k < 3; ++k) {
        V8 r[8];
        for (int j = 0; j < 8; ++j)
          r[j] = load(p.tokens + tokens[C::tokenOf(vector, j)] * width + k * 8) +
                 load(p.positions + C::positionOf(vector, j) * width + k * 8);
        transpose(r);
        for (int j = 0; j < 8; ++j) C::template put<width>(w.x, vector, k * 8 + j, r[j]);
      }
  }
  void embedVjp(const int* tokens) {
    toRows<C>(w.rows, w.dx);
    for (int vector = 0; vector < C::vectors; ++vector)
      for (int j = 0; j < 8; ++j) {
        const float* row = w.rows + (vector * 8 + j) * width;
        float* token = g.tokens + tokens[C::tokenOf(vector, j)] * width;
        float* position = g.positions + C::positionOf(vector, j) * width;
        for (int k = 0; k < width; k += 8) {
          const V8 d = load(row + k);
          store(token + k, load(token + k) + d);
          store(position + k, load(position + k) + d);
        }
      }
  }

  void forward(const Block& b, BlockActivations& a) {
    norm<C>(w.x, a.scaled1, w.normed, a.inverse1, b.gain1, b.shift1);
    multiply<C, width, 3 * width, Rows::outputs>(a.qkv, w.normed, b.qkv);
    Attention<C>::value(a.qkv, a.shares, a.heads);
    addLinear<C, width, width, Rows::inputs>(w.x, a.heads, b.projection, b.projectionBias);
    norm<C>(w.x, a.scaled2, w.normed, a.inverse2, b.gain2, b.shift2);
    linearRelu<C, width, hidden, Rows::outputs>(a.hidden, w.normed, b.expand, b.expandBias);
    addLinear<C, hidden, width, Rows::inputs>(w.x, a.hidden, b.contract, b.contractBias);
  }

  void backward(const Block& b, const BlockActivations& a, Block& d, LaneGradients& lanes, bool isFirst) {
    toRows<C>(w.rows, w.dx);
    addRows<C>(d.contractBias, w.rows, isFirst);
    weightGradient<C, hidden>(d.contract, a.hidden, w.rows, isFirst);
    multiplyRelu<C, width, hidden, Rows::outputs>(w.dHidden, w.dx, b.contract, a.hidden, lanes.expandBias,
                                                  isFirst);
    normToRows<C>(w.rows, a.scaled2, b.gain2, b.shift2);
    weightGradient<C, hidden>(d.expand, w.dHidden, w.rows, isFirst);
    multiply<C, hidden, width, Rows::inputs>(w.dNormed, w.dHidden, b.expand);
    normVjp<C>(w.dx, w.dNormed, a.scaled2, a.inverse2, b.gain2, lanes.gain2, lanes.shift2, isFirst);

    toRows<C>(w.rows, w.dx);
    addRows<C>(d.projectionBias, w.rows, isFirst);
    weightGradient<C, width>(d.projection, a.heads, w.rows, isFirst);
    multiply<C, width, width, Rows::outputs>(w.dHeads, w.dx, b.projection);
    Attention<C>::vjp(a.qkv, a.shares, a.heads, w.dHeads, w.dQkv, w.dScores);
    normToRows<C>(w.rows, a.scaled1, b.gain1, b.shift1);
    weightGradient<C, 3 * width>(d.qkv, w.dQkv, w.rows, isFirst);
    multiply<C, 3 * width, width, Rows::inputs>(w.dNormed, w.dQkv, b.qkv);
    normVjp<C>(w.dx, w.dNormed, a.scaled1, a.inverse1, b.gain1, lanes.gain1, lanes.shift1, isFirst);
  }

  double tile(const int* tokens, const int* targets, float scale, bool isFirst) {
    embed(tokens);
    for (int l = 0; l < layers; ++l) forward(p.blocks[l], w.blocks[l]);
    linear<C, width, vocabulary, Rows::outputs>(w.logits, w.x, p.head, p.headBias);
    const double loss = CrossEntropy<C>::vjp(w.logits, w.headBias, targets, scale, isFirst);
    toRows<C>(w.rows, w.x);
    weightGradient<C, vocabulary>(g.head, w.logits, w.rows, isFirst);
    multiply<C, vocabulary, width, Rows::inputs>(w.dx, w.logits, p.head);
    for (int l = layers - 1; l >= 0; --l)
      backward(p.blocks[l], w.blocks[l], g.blocks[l], w.lanes[l], isFirst);
    embedVjp(tokens);
    return loss;
  }

  template <int count> [[gnu::always_inline]] static void sumLanes(float* sums, const float* lanes) {
    constexpr int whole = count / 8 * 8;
    for (int i = 0; i < whole; i += 8) {
      V8 r[8];
      for (int j = 0; j < 8; ++j) r[j] = load(lanes + (i + j) * 8);
      store(sums + i, laneSums(r));
    }
    for (int i = whole; i < count; ++i) sums[i] = laneSum(load(lanes + i * 8));
  }

  /// The mean loss over the batch; its gradient goes to `g`.
  double batch(const int* tokens, const int* targets, int size) {
    std::memset(g.tokens, 0, sizeof g.tokens + sizeof g.positions);
    const float scale = 1.f / static_cast<float>(size * context);
    double loss = 0;
    for (int s = 0; s < size; s += samples)
      loss += tile(tokens + s * context, targets + s * context, scale, s == 0);
    for (int l = 0; l < layers; ++l) {
      const LaneGradients& lanes = w.lanes[l];
      sumLanes<width>(g.blocks[l].gain1, lanes.gain1);
      sumLanes<width>(g.blocks[l].shift1, lanes.shift1);
      sumLanes<width>(g.blocks[l].gain2, lanes.gain2);
      sumLanes<width>(g.blocks[l].shift2, lanes.shift2);
      sumLanes<hidden>(g.blocks[l].expandBias, lanes.expandBias);
    }
    sumLanes<vocabulary>(g.headBias, w.headBias);
    return loss * static_cast<double>(scale);
  }
};

class Gradient {
  // The workspace of the largest tile also serves the smaller ones.
  using Workspace = TileGradient<8>::Workspace;
  static_assert(sizeof(Workspace) >= sizeof(TileGradient<4>::Workspace));
  static constexpr std::size_t bytes = 2 * Arena::bytesFor<Parameters>() + Arena::bytesFor<Workspace>();

 public:
  /// From the library's order of parameters, in which every matrix is [output][input].
  explicit Gradient(const std::vector<float>& parameters)
      : arena_(bytes),
        parameters_(*arena_.take<Parameters>()),
        gradients_(*arena_.take<Parameters>()),
        workspace_(arena_.take<Workspace>()) {
    std::memcpy(&parameters_, parameters.data(), sizeof(Parameters));
    for (Block& block : parameters_.blocks) {
      turn(block.projection, width, width);
      turn(block.contract, width, hidden);
    }
  }

  static int tileFor(int batch) { return batch >= 8 ? 8 : batch >= 4 ? 4 : batch >= 2 ? 2 : 1; }

  double operator()(const int* tokens, const int* targets, int batch) {
    switch (tileFor(batch)) {
      case 1: return run<1>(tokens, targets, batch);
      case 2: return run<2>(tokens, targets, batch);
      case 4: return run<4>(tokens, targets, batch);
      default: return run<8>(tokens, targets, batch);
    }
  }

  /// In the library's order.
  std::vector<double> gradient() const {
    Parameters turned = gradients_;
    for (Block& block : turned.blocks) {
      turn(block.projection, width, width);
      turn(block.contract, hidden, width);
    }
    std::vector<float> flat(parameterCount);
    std::memcpy(flat.data(), &turned, sizeof turned);
    return {flat.begin(), flat.end()};
  }

 private:
  template <int samples> double run(const int* tokens, const int* targets, int batch) {
    auto& workspace = *static_cast<typename TileGradient<samples>::Workspace*>(workspace_);
    return TileGradient<samples>{workspace, parameters_, gradients_}.batch(tokens, targets, batch);
  }
  /// A matrix of `rows` rows becomes its transpose.
  static void turn(float* matrix, int rows, int columns) {
    const std::vector<float> old(matrix, matrix + rows * columns);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) matrix[j * rows + i] = old[static_cast<std::size_t>(i * columns + j)];
  }

  Arena arena_;
  Parameters &parameters_, &gradients_;
  void* workspace_;
};

}  // namespace limits::gpt
