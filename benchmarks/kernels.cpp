// The kernels of the layers and of the optimiser, one at a time, FP32: how near each is to what the machine can do. A row has the
// time of a call, the time of a number, and shares of the memory's bandwidth and of the FMA peak. The limit `stream` is a loop
// that reads and writes the same arrays and computes next to nothing (limits/streams.hpp), so it also holds where a cache has
// them; that of products is OpenBLAS (kernel_products.cpp).
//
// Every kernel is judged by the same layer in FP64, which tests compare with PyTorch. Multiply-adds count two; comparisons,
// selections and shifts of bits count nothing.
#include "kernels.hpp"

#include <burtorch/nn/cross_entropy.hpp>
#include <burtorch/nn/embedding.hpp>
#include <burtorch/nn/layer_norm.hpp>
#include <burtorch/nn/softmax.hpp>

#include "kernel_layers.hpp"
#include "limits/streams.hpp"

namespace bench {
namespace {

namespace ops = burtorch::ops;
using burtorch::Word;

/// What a call must read and write, and its limit: a loop that does.
struct Traffic {
  std::size_t arrays;  // as large as the matrix
  std::function<void(Array<float>* arrays, std::size_t count)> stream;
};

/// Value alone, or with the way back.
template <class Op>
void measure(const Options& options, const LayerCase& layer, bool hasGradients, double flopsOfEach,
             const Traffic& traffic, std::vector<Row>& rows) {
  const std::size_t count = layer.count();
  Figures params = {{"kernel", layer.kernel}};
  params.insert(params.end(), layer.shape.begin(), layer.shape.end());
  Trial trial = kernelTrial(count, params);
  trial.work = hasGradients ? "gradient" : "value";
  trial.unit = {"limit", "stream"};
  trial.flops = flopsOfEach * static_cast<double>(count);
  trial.bytes = static_cast<double>(traffic.arrays * count * sizeof(float));
  const auto right = LayerRun<Op, double>(layer).outputs(hasGradients);
  trial.answers = {{inOne(right, right), 0}};
  auto run = std::make_shared<LayerRun<Op, float>>(layer);
  const Contestant own{
      .system = "burtorch",
      .mode = "layer",
      .run =
          [run, hasGradients](long calls) {
            for (long i = 0; i < calls; ++i) {
              run->value();
              if (hasGradients) run->vjp();
            }
          },
      .gradient = [run, right, hasGradients] { return inOne(run->outputs(hasGradients), right); },
      .params = params};
  auto arrays = std::make_shared<std::vector<Array<float>>>();
  for (std::size_t shift : {0u, 0u, 2048u, 2048u}) arrays->emplace_back(count, shift);
  const Contestant stream{.system = "limit",
                          .mode = "stream",
                          .run =
                              [arrays, traffic, count](long calls) {
                                for (long i = 0; i < calls; ++i) traffic.stream(arrays->data(), count);
                              },
                          .gradient = {},
                          .params = params};
  addRows(options, trial, {stream, own}, static_cast<double>(count), rows);
}

void copy(Array<float>* arrays, std::size_t count) {
  limits::copyScaled(arrays[0].begin(), arrays[1].begin(), count);
}
void copyAndBack(Array<float>* arrays, std::size_t count) {
  copy(arrays, count);
  limits::addProducts(arrays[0].begin(), arrays[2].begin(), arrays[3].begin(), count);
}
void sum(Array<float>* arrays, std::size_t count) { limits::sumUp(arrays[0].begin(), count); }
void sumAndBack(Array<float>* arrays, std::size_t count) {
  sum(arrays, count);
  limits::addScaled(arrays[0].begin(), arrays[3].begin(), count);
}
/// Into a matrix of the same size, and back.
const Traffic forward{2, copy}, bothWays{6, copyAndBack};

/// Floating-point operations of a number, there and back.
struct Flops {
  double value, vjp;
};
template <class Op>
void measureBoth(const Options& options, const LayerCase& layer, Flops flops, std::vector<Row>& rows,
                 const Traffic& there = forward, const Traffic& back = bothWays) {
  measure<Op>(options, layer, false, flops.value, there, rows);
  measure<Op>(options, layer, true, flops.value + flops.vjp, back, rows);
}

Figures shapeOf(std::size_t rows, std::size_t columns) {
  return {{"rows", static_cast<double>(rows)}, {"columns", static_cast<double>(columns)}};
}

/// A scalar operator on a matrix that the second cache holds, and on one beyond all caches.
template <class Op>
void elementwise(const Options& options, const std::string& kernel, Flops flops, std::vector<Row>& rows) {
  for (const auto& [height, width] : {std::pair<std::size_t, std::size_t>{128, 768}, {3072, 4096}})
    measureBoth<ops::Each<Op>>(options,
                               {.kernel = kernel,
                                .shape = shapeOf(height, width),
                                .operands = {{height * width, 4}},
                                .results = height * width},
                               flops, rows);
}

void layerNorm(const Options& options, std::size_t height, std::size_t width, std::vector<Row>& rows) {
  const auto noId = static_cast<Word>(burtorch::Layer<float>::noId);
  measureBoth<ops::LayerNormLayer>(options,
                                   {.kernel = "layerNorm",
                                    .shape = shapeOf(height, width),
                                    .operands = {{height * width, 2, .5}, {height, .2, 1}, {height, .2}},
                                    .results = height * width,
                                    .hidden = 2 * width,
                                    .own = {static_cast<Word>(height), static_cast<Word>(width), noId, noId},
                                    .constant = 1e-5},
                                   {9, 15}, rows);
}

void softmax(const Options& options, std::size_t height, std::size_t width, std::vector<Row>& rows) {
  measureBoth<ops::SoftmaxLayer>(options,
                                 {.kernel = "softmax",
                                  .shape = shapeOf(height, width),
                                  .operands = {{height * width, 4}},
                                  .results = height * width,
                                  .own = {static_cast<Word>(height), static_cast<Word>(width)}},
                                 {24, 5}, rows);
}

void crossEntropy(const Options& options, std::size_t classes, std::size_t columns, std::vector<Row>& rows) {
  std::vector<Word> own = {static_cast<Word>(classes), static_cast<Word>(columns),
                           static_cast<Word>(columns)};
  burtorch::Rng rng(3);
  for (std::size_t c = 0; c < columns; ++c) own.push_back(static_cast<Word>(rng.below(classes)));
  measureBoth<ops::CrossEntropyLayer>(options,
                                      {.kernel = "crossEntropy",
                                       .shape = shapeOf(classes, columns),
                                       .operands = {{classes * columns, 4}},
                                       .results = 1,
                                       .hidden = 2 * columns,
                                       .own = own},
                                      {23, 24}, rows, {1, sum}, {4, sumAndBack});
}

/// One token for each column.
void embedding(const Options& options, std::size_t vocabulary, std::size_t width, std::size_t columns,
               std::vector<Row>& rows) {
  const auto noId = static_cast<Word>(burtorch::Layer<float>::noId);
  std::vector<Word> own = {static_cast<Word>(width), static_cast<Word>(columns), 1, noId};
  burtorch::Rng rng(3);
  for (std::size_t c = 0; c < columns; ++c) own.push_back(static_cast<Word>(rng.below(vocabulary)));
  Figures shape = shapeOf(width, columns);
  shape.push_back({"vocabulary", static_cast<double>(vocabulary)});
  measureBoth<ops::EmbeddingLayer>(options,
                                   {.kernel = "embedding",
                                    .shape = shape,
                                    .operands = {{vocabulary * width}},
                                    .results = columns * width,
                                    .own = own},
                                   {0, 1}, rows, forward, {5, copyAndBack});
}

}  // namespace

Trial kernelTrial(std::size_t count, const Figures& params) {
  Trial trial{.experiment = "kernels", .iterations = 1, .answers = {}};
  trial.dtype = "fp32";
  trial.tolerance = 1e-5;
  trial.peers.params = params;
  // Turns of about a millisecond.
  trial.iterations = std::max(1L, static_cast<long>(2e6 / static_cast<double>(count)));
  return trial;
}

void addRows(const Options& options, const Trial& trial, const std::vector<Contestant>& contestants,
             double numbers, std::vector<Row>& rows) {
  for (Row& row : compare(options, trial, contestants)) {
    if (row.isOk() && numbers > 0)
      row.extra.insert(row.extra.begin(), {"ns_per_number", row.nsMin / numbers});
    rows.push_back(std::move(row));
  }
}

std::vector<Row> kernels(const Options& options) {
  std::vector<Row> rows;
  // exp takes 21 operations, tanh and erf 23 to 40: see simd/pack_math.hpp.
  elementwise<ops::Relu>(options, "relu", {0, 1}, rows);
  elementwise<ops::Exp>(options, "exp", {21, 2}, rows);
  elementwise<ops::Tanh>(options, "tanh", {23, 4}, rows);
  elementwise<ops::Gelu>(options, "gelu", {62, 66}, rows);
  elementwise<ops::GeluTanh>(options, "geluTanh", {32, 42}, rows);
  for (const std::size_t width : {768u, 256u})
    for (const std::size_t height : {128u, 384u, 768u}) layerNorm(options, height, width, rows);
  softmax(options, 128, 768, rows);
  softmax(options, 1024, 256, rows);
  for (const std::size_t classes : {65u, 50257u})
    for (const std::size_t columns : {64u, 256u}) crossEntropy(options, classes, columns, rows);
  embedding(options, 65, 128, 768, rows);
  embedding(options, 50257, 768, 256, rows);
  kernelSteps(options, rows);
  kernelProducts(options, rows);
  return rows;
}

}  // namespace bench
