// Tables 5, 6, 12 and 13 of the paper: one gradient of the character MLP, FP32, 4 to 1024 hidden units, batches of 1 and 64.
// The limits are the same gradient written by hand (limits/mlp.hpp): `plain` does all the work of every sample, `shared`
// computes what samples with the same token at the same place have in common once. The library shares too, so real
// contexts matter here: they are cut out of a list of names. Rates count the plain work, so sharing may exceed the peak.
#include <burtorch/data/words.hpp>
#include <burtorch/model/char_mlp.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "token_models.hpp"

#if defined(__AVX2__) && defined(__FMA__)
#define BENCH_HAS_LIMITS 1
#include "limits/mlp.hpp"
#else
#define BENCH_HAS_LIMITS 0
#endif

namespace bench {
namespace {

using burtorch::CharMlp;
using burtorch::CharMlpConfig;

constexpr std::size_t batchSizes[] = {1, 64}, hiddenSizes[] = {4, 16, 32, 64, 128, 512, 1024};

burtorch::WordList readNames(const Options& options) {
  const std::string path = options.data.empty() ? BENCH_DATA "/names.txt" : options.data;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || text.str().empty()) {
    std::fprintf(stderr, "bench: cannot read %s: expected a list of names, one per line\n", path.c_str());
    std::exit(2);
  }
  burtorch::WordList names(text.str(), {.validation = 0});
  if (names.tokenizer().size() > CharMlpConfig{}.vocabulary) {
    std::fprintf(stderr, "bench: %s has %zu kinds of characters; names of at most 26 letters are wanted\n",
                 path.c_str(), names.tokenizer().size() - 1);
    std::exit(2);
  }
  return names;
}

/// Contexts from random places of the list.
Batches batchesOf(const burtorch::WordList& names, std::size_t batch) {
  const std::size_t context = CharMlpConfig{}.context;
  Batches batches{32, batch, context, 1, {}, {}};
  std::vector<burtorch::WordSample> samples(batches.size());
  burtorch::Rng rng(3);
  names.samples(burtorch::Part::train, context).sample(rng, samples);
  for (const burtorch::WordSample& sample : samples) {
    for (std::size_t i = 0; i < context; ++i) batches.tokens.push_back(static_cast<int>(sample[i]));
    batches.targets.push_back(static_cast<int>(sample.target()));
  }
  return batches;
}

/// How many distinct (place, token) pairs a batch has on average.
double pairsPerBatch(const Batches& batches) {
  std::size_t pairs = 0;
  for (std::size_t i = 0; i < batches.count; ++i) {
    std::set<std::pair<std::size_t, int>> distinct;
    for (std::size_t k = 0; k < batches.batch * batches.tokensEach; ++k)
      distinct.insert({k % batches.tokensEach, batches.tokensOf(i)[k]});
    pairs += distinct.size();
  }
  return static_cast<double>(pairs) / static_cast<double>(batches.count);
}

#if BENCH_HAS_LIMITS
void addLimits(std::vector<Contestant>& contestants, const std::vector<float>& weights, std::size_t hidden,
               const Batches& batches, const Figures& params) {
  using limits::mlp::Form;
  for (const Form form : {Form::plain, Form::shared}) {
    if (form == Form::shared && batches.batch == 1) continue;
    using Run = LimitRun<limits::mlp::Gradient>;
    contestants.push_back(contestant("limit", form == Form::plain ? "plain" : "shared",
                                     std::make_shared<Run>(batches, weights, static_cast<int>(hidden), form),
                                     batches, params));
  }
}
#else
void addLimits(std::vector<Contestant>&, const std::vector<float>&, std::size_t, const Batches&,
               const Figures&) {}
#endif

/// The ratio to `limit shared`, beside the one to `limit plain`.
void addRatioToShared(std::vector<Row>& rows) {
  double limit = 0;
  for (const Row& row : rows)
    if (row.mode == "shared") limit = row.nsMin;
  if (limit == 0) return;
  for (Row& row : rows)
    if (row.isOk()) row.extra.push_back({"ratio_to_shared", row.nsMin / limit});
}

/// The work of everybody who predicts one character per sample.
Trial trialOf(const CharMlpConfig& config, const std::vector<float>& weights, const Batches& batches) {
  const auto batch = static_cast<double>(batches.batch), hidden = static_cast<double>(config.hidden);
  const double flops =
      3 * 2 * batch * hidden * static_cast<double>(config.context * config.embedding + config.vocabulary);
  const Figures params = {{"batch", batch}, {"hidden", hidden}};
  return {.experiment = "mlp",
          .iterations = iterationsFor(flops, batches),
          .answers = answersOf<CharMlp<double>>(config, weights, batches),
          .unit = {"limit", "plain"},
          .dtype = "fp32",
          .tolerance = 1e-4,
          .flops = flops,
          .bytes = 2 * sizeof(float) * static_cast<double>(weights.size()),
          .peers = {params, weights, fileOf(batches), params}};
}

/// The paper's form of PyTorch's MLP: every sample asks for all its 16 predictions, of contexts that begin to fill. So a batch is
/// one of 16 times as many samples; the peer gets the contexts that all of these are cut from.
Batches withEveryPrefix(const Batches& whole) {
  Batches all{whole.count, whole.batch * whole.tokensEach, whole.tokensEach, 1, {}, {}};
  for (std::size_t sample = 0; sample < whole.size(); ++sample) {
    const int* tokens = whole.tokens.data() + sample * whole.tokensEach;
    for (std::size_t known = 1; known <= whole.tokensEach; ++known) {
      all.tokens.insert(all.tokens.end(), whole.tokensEach - known, 0);
      all.tokens.insert(all.tokens.end(), tokens, tokens + known);
      all.targets.push_back(known < whole.tokensEach ? tokens[known] : whole.targets[sample]);
    }
  }
  return all;
}

/// That form beside ours on the same work.
std::vector<Row> comparePaperForm(const Options& options, std::size_t hidden, const Batches& whole) {
  const CharMlpConfig config{.hidden = hidden};
  const auto weights = randomWeights<CharMlp<float>>(config);
  const Batches batches = withEveryPrefix(whole);
  Trial trial = trialOf(config, weights, batches);
  const Figures params = {{"batch", static_cast<double>(whole.batch)},
                          {"hidden", static_cast<double>(hidden)},
                          {"predictions", static_cast<double>(whole.tokensEach)}};
  trial.unit = {};
  trial.peers = {params, weights, fileOf(whole), params};
  Options few = options;
  few.peers.clear();
  for (const std::string& peer : options.peers)
    if (peer == "pytorch") few.peers.push_back(peer);
  return compare(few, trial, {ours<CharMlp<float>>("tiles", config, weights, batches, 0, params)});
}

std::vector<Row> compareSize(const Options& options, std::size_t hidden, const Batches& batches) {
  const CharMlpConfig config{.hidden = hidden};
  const auto weights = randomWeights<CharMlp<float>>(config);
  const Trial trial = trialOf(config, weights, batches);
  const Figures& params = trial.peers.params;
  std::vector<Contestant> contestants;
  addLimits(contestants, weights, hidden, batches, params);
  contestants.push_back(ours<CharMlp<float>>("tiles", config, weights, batches, 0, params));
  std::vector<Row> rows = compare(options, trial, contestants);
  addRatioToShared(rows);
  return rows;
}

}  // namespace

Trial mlpTrial(const Options& options, std::size_t batch, std::size_t hidden) {
  const CharMlpConfig config{.hidden = hidden};
  return trialOf(config, randomWeights<CharMlp<float>>(config), batchesOf(readNames(options), batch));
}

std::vector<Row> mlp(const Options& options) {
  if (!BENCH_HAS_LIMITS) std::fprintf(stderr, "mlp: no limit rows, they need AVX2 and FMA\n");
  const burtorch::WordList names = readNames(options);
  std::vector<Row> rows;
  for (const std::size_t batch : batchSizes) {
    const Batches batches = batchesOf(names, batch);
    std::fprintf(stderr, "mlp: batches of %zu have %.1f distinct (place, token) pairs among %zu\n", batch,
                 pairsPerBatch(batches), batch * batches.tokensEach);
    for (const std::size_t hidden : hiddenSizes)
      for (Row& row : compareSize(options, hidden, batches)) rows.push_back(std::move(row));
    for (const std::size_t hidden : hiddenSizes)
      if (!options.isQuick)
        for (Row& row : comparePaperForm(options, hidden, batches)) rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace bench
