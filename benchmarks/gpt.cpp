// Tables 7 and 14 of the paper: one gradient of the mini GPT, FP32, batches of 1 to 64. The limit is the same gradient
// written by hand for exactly this shape (limits/gpt.hpp). --width, --heads, --context and --layers run other shapes, which
// have no limit: there, the share of the FMA peak tells whether the library has a favourite shape.
#include <burtorch/model/gpt.hpp>
#include <cstdio>

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

constexpr std::size_t batchSizes[] = {1, 2, 4, 8, 16, 32, 64};

/// Random tokens, in samples that fp32 can get right.
Batches randomBatches(const GptConfig& config, const std::vector<float>& weights, std::size_t batch) {
  Batches batches{8, batch, config.context, config.context, {}, {}};
  burtorch::Rng rng(2);
  WellPosed<Gpt<double>> isWellPosed(config, weights);
  std::vector<int> tokens(config.context), targets(config.context);
  for (std::size_t chosen = 0; chosen < batches.size();) {
    for (int& token : tokens) token = static_cast<int>(rng.below(config.vocabulary));
    for (int& target : targets) target = static_cast<int>(rng.below(config.vocabulary));
    if (!isWellPosed(tokens, targets)) continue;
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

GptConfig configFrom(const Options& options) {
  GptConfig config;
  if (options.width > 0) config.width = options.width;
  if (options.heads > 0) config.heads = options.heads;
  if (options.context > 0) config.context = options.context;
  if (options.layers > 0) config.layers = options.layers;
  return config;
}
bool isPaperShape(const GptConfig& config) {
  const GptConfig paper;
  return config.width == paper.width && config.heads == paper.heads && config.context == paper.context &&
         config.layers == paper.layers;
}

/// For the peers.
Figures settingsOf(const GptConfig& config, std::size_t batch) {
  return {{"batch", static_cast<double>(batch)},
          {"vocabulary", static_cast<double>(config.vocabulary)},
          {"context", static_cast<double>(config.context)},
          {"width", static_cast<double>(config.width)},
          {"heads", static_cast<double>(config.heads)},
          {"layers", static_cast<double>(config.layers)}};
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

}  // namespace

Trial gptTrial(const Options&, std::size_t batch) {
  const GptConfig config;
  const auto weights = randomWeights<Gpt<float>>(config);
  return trialOf(config, weights, randomBatches(config, weights, batch));
}

std::vector<Row> gpt(const Options& options) {
  const GptConfig config = configFrom(options);
  const auto weights = randomWeights<Gpt<float>>(config);
  std::fprintf(stderr, "gpt: %zu parameters\n", weights.size());
  if (!isPaperShape(config))
    std::fprintf(stderr, "gpt: no limit rows, they are written for the paper's shape\n");
  else if (!BENCH_HAS_LIMITS)
    std::fprintf(stderr, "gpt: no limit rows, they need AVX2 and FMA\n");
  std::vector<Row> rows;
  for (const std::size_t batch : batchSizes) {
    const Batches batches = randomBatches(config, weights, batch);
    const Figures params = {{"batch", static_cast<double>(batch)}};
    std::vector<Contestant> contestants;
    if (isPaperShape(config)) addLimit(contestants, weights, batches, params);
    contestants.push_back(ours<Gpt<float>>("tiles", config, weights, batches, 0, params));
    if (batch == 64) contestants.push_back(ours<Gpt<float>>("tile1", config, weights, batches, 1, params));
    for (Row& row : compare(options, trialOf(config, weights, batches), contestants))
      rows.push_back(std::move(row));
  }
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
