// Tables 7 and 14 of the paper: one gradient of the mini GPT, FP32, batches of 1 to 64. The limit is the same gradient
// written by hand for exactly this shape (limits/gpt.hpp).
//
// --shape measures larger GPTs (gpt_shapes.hpp), their gradient and a whole step of training; their limit is OpenBLAS on the
// same products. --width, --heads, --context and --layers change a shape. The paper's, changed, has no limit: the share of the
// FMA peak tells whether the library has a favourite shape.
#include <burtorch/model/gpt.hpp>
#include <cstdio>
#include <optional>

#include "gpt_shapes.hpp"
#include "openblas.hpp"
#include "token_models.hpp"

#if defined(__AVX2__) && defined(__FMA__)
#define BENCH_HAS_LIMITS 1
#include "limits/gpt.hpp"
#else
#define BENCH_HAS_LIMITS 0
#endif

namespace bench {
namespace {

using burtorch::Gpt;
using burtorch::GptConfig;

double flopsOf(const GptConfig& config, std::size_t batch);

/// Eight batches, so that nothing is learned from one; fewer where a gradient takes long enough to forget the last. The fp64
/// answers of GPT-2 take a gigabyte each.
std::size_t batchCount(const GptConfig& config, std::size_t batch) {
  const double flops = flopsOf(config, batch);
  return flops < 1e9 ? 8 : flops < 1e11 ? 2 : 1;
}

/// Random tokens, in samples that fp32 can get right. Without a kink in the model it can do any.
Batches randomBatches(const GptConfig& config, const std::vector<float>& weights, std::size_t batch) {
  Batches batches{batchCount(config, batch), batch, config.context, config.context, {}, {}};
  burtorch::Rng rng(2);
  std::optional<WellPosed<Gpt<double>>> isWellPosed;
  if (config.activation == burtorch::Activation::relu) isWellPosed.emplace(config, weights);
  std::vector<int> tokens(config.context), targets(config.context);
  for (std::size_t chosen = 0; chosen < batches.size();) {
    for (int& token : tokens) token = static_cast<int>(rng.below(config.vocabulary));
    for (int& target : targets) target = static_cast<int>(rng.below(config.vocabulary));
    if (isWellPosed && !(*isWellPosed)(tokens, targets)) continue;
    batches.tokens.insert(batches.tokens.end(), tokens.begin(), tokens.end());
    batches.targets.insert(batches.targets.end(), targets.begin(), targets.end());
    ++chosen;
  }
  return batches;
}

/// Multiply-adds count two; the way back is twice the way there. Only products: norms and softmax come on top.
double flopsOf(const GptConfig& config, std::size_t batch) {
  const auto t = static_cast<double>(config.context), w = static_cast<double>(config.width);
  const auto h = static_cast<double>(config.hiddenWidth()), v = static_cast<double>(config.vocabulary);
  const double linear = t * (w * 3 * w + w * w + 2 * w * h), attention = t * (t + 1) / 2 * w * 2;
  return 3 * 2 * static_cast<double>(batch) *
         (static_cast<double>(config.layers) * (linear + attention) + t * w * v);
}

/// Sizes that the options change, by the names they have in rows.
std::vector<std::pair<const char*, std::size_t>> changes(const Options& options) {
  std::vector<std::pair<const char*, std::size_t>> all = {{"width", options.width},
                                                          {"heads", options.heads},
                                                          {"context", options.context},
                                                          {"layers", options.layers}};
  std::erase_if(all, [](const auto& change) { return change.second == 0; });
  return all;
}

GptShape shapeFrom(const Options& options) {
  GptShape shape = gptShapeNamed(options.shape);
  if (options.width > 0) shape.config.width = options.width;
  if (options.heads > 0) shape.config.heads = options.heads;
  if (options.context > 0) shape.config.context = options.context;
  if (options.layers > 0) shape.config.layers = options.layers;
  return shape;
}

/// What the rows show.
Figures paramsOf(const Options& options, const GptShape& shape, std::size_t batch) {
  Figures params = {{"shape", shape.name}, {"batch", static_cast<double>(batch)}};
  for (const auto& [name, size] : changes(options)) params.push_back({name, static_cast<double>(size)});
  return params;
}

/// For the peers.
Figures settingsOf(const GptConfig& config, std::size_t batch) {
  const auto isSet = [](bool is) { return is ? 1.0 : 0.0; };
  return {{"batch", static_cast<double>(batch)},
          {"batches", static_cast<double>(batchCount(config, batch))},
          {"vocabulary", static_cast<double>(config.vocabulary)},
          {"context", static_cast<double>(config.context)},
          {"width", static_cast<double>(config.width)},
          {"heads", static_cast<double>(config.heads)},
          {"layers", static_cast<double>(config.layers)},
          {"final_norm", isSet(config.finalNorm)},
          {"attention_biases", isSet(config.hasAttentionBias)},
          {"biases", isSet(config.hasBiases)},
          {"tied", isSet(config.isTied)},
          {"activation", std::string(nameOf(config.activation))},
          {"rate", tinyRate}};
}

#if BENCH_HAS_LIMITS
void addLimit(std::vector<Contestant>& contestants, const std::vector<float>& weights, const Batches& batches,
              Figures params) {
  params.push_back({"tile", limits::gpt::Gradient::tileFor(static_cast<int>(batches.batch))});
  contestants.push_back(contestant("limit", "plain",
                                   std::make_shared<LimitRun<limits::gpt::Gradient>>(batches, weights),
                                   batches, params));
}
#else
void addLimit(std::vector<Contestant>&, const std::vector<float>&, const Batches&, const Figures&) {}
#endif

Trial trialOf(const GptConfig& config, const std::vector<float>& weights, const Batches& batches) {
  const double flops = flopsOf(config, batches.batch);
  return {.experiment = "gpt",
          .iterations = iterationsFor(flops, batches),
          .answers = answersOf<Gpt<double>>(config, weights, batches),
          .unit = {"limit", "plain"},
          .dtype = "fp32",
          .tolerance = 1e-4,
          .flops = flops,
          .bytes = 2 * sizeof(float) * static_cast<double>(weights.size()),
          .peers = {settingsOf(config, batches.batch),
                    weights,
                    fileOf(batches),
                    {{"batch", static_cast<double>(batches.batch)}}}};
}

std::vector<Contestant> paperContestants(const Options& options, const GptConfig& config,
                                         const std::vector<float>& weights, const Batches& batches,
                                         const Figures& params) {
  std::vector<Contestant> contestants;
  if (changes(options).empty()) addLimit(contestants, weights, batches, params);
  contestants.push_back(ours<Gpt<float>>("tiles", config, weights, batches, 0, params));
  if (batches.batch == 64)
    contestants.push_back(ours<Gpt<float>>("tile1", config, weights, batches, 1, params));
  return contestants;
}

}  // namespace

ShapeTrial shapeTrial(const GptShape& shape, std::size_t batch, const Figures& params) {
  const auto weights = randomWeights<Gpt<float>>(shape.config, shape.largestWeight());
  const auto batches = std::make_shared<Batches>(randomBatches(shape.config, weights, batch));
  ShapeTrial found{trialOf(shape.config, weights, *batches), {}, batches};
  found.trial.unit.second = "openblas";
  found.trial.peers.params = params;
  found.trial.peers.experiment = "shape";
  auto run = std::make_shared<OracleRun<Gpt<float>>>(shape.config, weights, *batches);
  Figures own = params;
  own.push_back({"tile", static_cast<double>(run->tile())});
  found.ours.push_back(contestant("burtorch", "tiles", run, *batches, own));
  found.ours.push_back(
      contestant("burtorch", "tiles", std::make_shared<StepRun<Gpt<float>>>(run), *batches, own));
  found.ours.back().work = "step";
  return found;
}

std::shared_ptr<const Batches> gptBatches(const GptConfig& config, const std::vector<float>& weights,
                                          std::size_t batch) {
  return std::make_shared<Batches>(randomBatches(config, weights, batch));
}
Figures gptSettings(const GptConfig& config, std::size_t batch) { return settingsOf(config, batch); }

Trial gptTrial(const Options&, std::size_t batch) {
  const GptConfig config;
  const auto weights = randomWeights<Gpt<float>>(config);
  return trialOf(config, weights, randomBatches(config, weights, batch));
}

namespace {

std::vector<Row> paperRows(const Options& options, const GptShape& shape, std::size_t batch) {
  const auto weights = randomWeights<Gpt<float>>(shape.config, shape.largestWeight());
  const Batches batches = randomBatches(shape.config, weights, batch);
  const Figures params = paramsOf(options, shape, batch);
  Trial trial = trialOf(shape.config, weights, batches);
  trial.peers.params = params;
  return compare(options, trial, paperContestants(options, shape.config, weights, batches, params));
}

std::vector<Row> shapeRows(const Options& options, const GptShape& shape, std::size_t batch) {
  const Figures params = paramsOf(options, shape, batch);
  const ShapeTrial one = shapeTrial(shape, batch, params);
  std::vector<Contestant> contestants = openblasProducts(shape.config, batch, params);
  contestants.insert(contestants.end(), one.ours.begin(), one.ours.end());
  return compare(options, one.trial, contestants);
}

}  // namespace

std::vector<Row> gpt(const Options& options) {
  const GptShape shape = shapeFrom(options);
  std::fprintf(stderr, "gpt: %zu parameters\n", Gpt<float>(shape.config).layout().size());
  if (shape.isPaper() && !changes(options).empty())
    std::fprintf(stderr, "gpt: no limit rows, they are written for the paper's sizes\n");
  else if (shape.isPaper() && !BENCH_HAS_LIMITS)
    std::fprintf(stderr, "gpt: no limit rows, they need AVX2 and FMA\n");
  std::vector<Row> rows;
  for (const std::size_t batch : shape.batches)
    for (Row& row : shape.isPaper() ? paperRows(options, shape, batch) : shapeRows(options, shape, batch))
      rows.push_back(std::move(row));
  return rows;
}

std::vector<Row> gptGrowth(const Options& options) {
  std::vector<Row> rows;
  const auto add = [&](const GptConfig& config, std::size_t batch, const char* mode) {
    const auto weights = randomWeights<Gpt<float>>(config);
    const Batches batches = randomBatches(config, weights, batch);
    const Figures params = {{"parameters", static_cast<double>(weights.size())},
                            {"batch", static_cast<double>(batch)}};
    Trial trial = trialOf(config, weights, batches);
    trial.experiment = "scale";
    Options few = options;
    few.repeats = fewestRepeats;
    for (Row& row : compare(few, trial, {ours<Gpt<float>>(mode, config, weights, batches, 0, params)}))
      rows.push_back(std::move(row));
  };
  for (const std::size_t width : {12u, 24u, 48u, 96u, 192u, 384u})
    if (!options.isQuick || width < 192) add({.width = width}, 1, "gpt-parameters");
  for (std::size_t batch = 1; batch <= (options.isQuick ? 64u : 1024u); batch *= 4)
    add({}, batch, "gpt-batch");
  return rows;
}

}  // namespace bench
