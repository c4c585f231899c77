// The products of GPTs for the experiment `kernels`: forward, the gradient of the input and that of the weights, beside OpenBLAS.
#include <burtorch/nn/linear.hpp>

#include "kernel_layers.hpp"
#include "kernels.hpp"
#include "openblas.hpp"

namespace bench {
namespace {

using burtorch::Word;

struct Shape {
  std::size_t outputs, inputs, columns;
};
/// Of nanoGPT's recipes, GPT-2 and the paper's GPT, the largest last; 1024 is where rows share sets of the cache.
constexpr Shape shapes[] = {{64, 64, 32},       {24, 512, 24},    {128, 768, 128},   {512, 128, 768},
                            {384, 256, 384},    {1536, 256, 384}, {3072, 1024, 768}, {768, 3072, 256},
                            {1024, 1024, 1024}, {50257, 768, 256}};
enum class Pass { forward, inputGradient, weightGradient };
/// Their names, in rows and for OpenBLAS.
struct PassNames {
  Pass pass;
  const char *work, *openblas;
};
constexpr PassNames passes[] = {{Pass::forward, "forward", "forward"},
                                {Pass::inputGradient, "input gradient", "input"},
                                {Pass::weightGradient, "weight gradient", "weight"}};

LayerCase caseOf(const Shape& shape, Pass pass) {
  const auto [outputs, inputs, columns] = shape;
  const auto noId = static_cast<Word>(burtorch::Layer<float>::noId);
  return {.kernel = "product",
          .shape = {{"rows", static_cast<double>(outputs)},
                    {"inner", static_cast<double>(inputs)},
                    {"columns", static_cast<double>(columns)}},
          .operands = {{outputs * inputs, 1, 0, pass == Pass::weightGradient},
                       {inputs * columns, 1, 0, pass == Pass::inputGradient}},
          .results = outputs * columns,
          .own = {static_cast<Word>(outputs), static_cast<Word>(inputs), static_cast<Word>(columns), 0, noId,
                  noId}};
}

}  // namespace

void kernelProducts(const Options& options, std::vector<Row>& rows) {
  using Run = LayerRun<burtorch::ops::LinearLayer, float>;
  bool hasOpenblas = true;
  for (const Shape& shape : shapes)
    for (const auto& [pass, work, openblas] : passes) {
      const LayerCase layer = caseOf(shape, pass);
      Figures params = {{"kernel", layer.kernel}};
      params.insert(params.end(), layer.shape.begin(), layer.shape.end());
      const double flops = 2 * static_cast<double>(shape.outputs * shape.inputs * shape.columns);
      Trial trial = kernelTrial(static_cast<std::size_t>(flops / 30), params);
      trial.work = work;
      trial.unit = {"limit", "openblas"};
      trial.flops = flops;
      const bool isForward = pass == Pass::forward;
      const auto right = LayerRun<burtorch::ops::LinearLayer, double>(layer).outputs(!isForward);
      trial.answers = {{inOne(right, right), 0}};
      auto run = std::make_shared<Run>(layer);
      run->value();
      auto contestants = hasOpenblas
                             ? openblasProduct(openblas, shape.outputs, shape.inputs, shape.columns, params)
                             : std::vector<Contestant>{};
      hasOpenblas = !contestants.empty();  // says so once
      contestants.push_back(
          {.system = "burtorch",
           .mode = "layer",
           .run =
               [run, isForward = isForward](long calls) {
                 for (long i = 0; i < calls; ++i) isForward ? run->value() : run->vjp();
               },
           .gradient = [run, right, isForward] { return inOne(run->outputs(!isForward), right); },
           .params = params});
      addRows(options, trial, contestants, 0, rows);
    }
}

}  // namespace bench
