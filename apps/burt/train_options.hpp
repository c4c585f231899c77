// What `burt train` can be told, except the sizes of the model. Every field is a flag, is saved with a run and
// is read back by --resume; `Place` says where a run lives and is neither.
#pragma once

#include <algorithm>
#include <burtorch/train/methods.hpp>
#include <burtorch/train/schedule.hpp>
#include <string>
#include <vector>

#include "fields.hpp"

namespace burt {

struct TrainOptions {
  std::string data, tokenizer;
  std::uint64_t steps = 0, batch = 0, tile = 0, seed = 1337, warmup = 100, evaluateEvery = 0,
                evaluationBatches = 0, accumulate = 1, sampleEvery = 0, sampleLength = 300, topK = 0,
                shards = 0;
  double learningRate = 0, minimumRate = 0, weightDecay = 0.01, beta2 = 0.99, momentum = 0.9, clip = 1,
         validation = 0.1, temperature = 0.8;
  std::string memory, saveEvery = "10m";
  std::string optimizer = "adamw", schedule = std::string(burtorch::WarmupCosine::name), init = "pytorch";
  bool isForTensorBoard = false;
};

template <> struct Fields<TrainOptions> {
  static auto all() {
    using O = TrainOptions;
    constexpr std::uint64_t billion = 1'000'000'000;
    return std::tuple(
        text("data", &O::data, "FILE", "text to learn from; default: data that comes with burt"),
        fixed(text("tokenizer", &O::tokenizer, "DIR",
                   "gpt: learn byte pairs, with vocab.json and merges.txt in DIR, instead of characters")),
        number("steps", &O::steps, 1, billion, "number of training steps"),
        number("batch", &O::batch, 1, 1'000'000, "samples per step"),
        number("accumulate", &O::accumulate, 1, 1'000'000,
               "batches per step: as --batch times as many, and in the same memory"),
        number("tile", &O::tile, 0, 65'536, "samples recorded at a time; 1: least memory, 0: fastest"),
        later(number("shards", &O::shards, 0, 65'536,
                     "parts of a batch that threads and ranks share; 0: as many as pay")),
        text("memory", &O::memory, "SIZE",
             "let --tile and the number of threads be what fits into so much memory: 512M, 2G"),
        number("lr", &O::learningRate, 0, 1000, "learning rate"),
        number("min-lr", &O::minimumRate, 0, 1000, "learning rate at the end of the cosine schedule"),
        number("warmup", &O::warmup, 0, billion, "steps until the learning rate is reached"),
        text("schedule", &O::schedule, "NAME",
             "learning rate schedule: " + burtorch::optionNames<burtorch::AnySchedule>()),
        fixed(text("optimizer", &O::optimizer, "NAME",
                   "optimizer: " + burtorch::optionNames<burtorch::AnyMethod>())),
        number("weight-decay", &O::weightDecay, 0, 1000, "weight decay, except on biases and norms"),
        number("beta2", &O::beta2, 0, 0.999999, "decay of the squared gradients of adam and adamw"),
        number("momentum", &O::momentum, 0, 0.999999, "momentum of momentum and nesterov"),
        number("clip", &O::clip, 0, 1e9, "clip gradients to this norm; 0: never"),
        fixed(text(
            "init", &O::init, "NAME|MODEL",
            "initial weights: pytorch, gpt2, or those of a model: the folder of a run or of a GPT-2, or a "
            "file; then --lr is 1e-4 and --min-lr 1e-5 unless given")),
        fixed(number("val-fraction", &O::validation, 0.001, 0.9, "fraction of the data used for validation")),
        fixed(number("seed", &O::seed, 0, UINT64_MAX, "random seed of weights, batches and samples")),
        number("eval-every", &O::evaluateEvery, 1, billion, "steps between two validations"),
        number("eval-batches", &O::evaluationBatches, 0, 1'000'000,
               "batches per validation; 0: up to 512 samples, a tenth of the time at most"),
        text("save-every", &O::saveEvery, "N|TIME",
             "steps or time between two saves: 500, 90s, 10m, 2h; 0: every validation"),
        number("sample-every", &O::sampleEvery, 0, billion,
               "steps between two sample texts; 0: only at the end"),
        number("sample-length", &O::sampleLength, 1, 1'000'000, "length of a sample text in tokens"),
        number("temperature", &O::temperature, 0, 100,
               "temperature of sample texts; 0: always the most likely token"),
        number("top-k", &O::topK, 0, 1'000'000, "sample from the K most likely tokens; 0: from all"),
        toggle("tensorboard", &O::isForTensorBoard, false, true, "also write the curves for TensorBoard"));
  }
};

/// Where a run lives, and how many threads and ranks compute it. Neither changes a bit of the result.
struct Place {
  std::string out, resume;
  std::uint64_t threads = 0, patience = 600;
  bool isOverwriting = false, isOnRanks = false;

  void addTo(Flags& flags) {
    flags.add("--out", "DIR", "folder for the results; default: a new one under runs/", out);
    flags.add("--overwrite", "let --out replace an earlier run", isOverwriting);
    flags.add("--resume", "DIR", "continue the run in DIR, with the options that it was started with",
              resume);
    flags.add("--threads",
              "threads that share the work of a step; 0: as many as there are cores, or 1 with --mpi",
              threads, 0, 1024);
    flags.add("--mpi", "share the batches among the ranks of mpirun or srun: the same bits", isOnRanks);
    flags.add("--patience", "seconds after which a silent rank of --mpi is given up", patience, 1, 1'000'000);
  }
};

/// Whether the weights begin as those of a model, whose path --init is.
inline bool startsFromModel(const TrainOptions& options) {
  return options.init != "pytorch" && options.init != "gpt2";
}
/// How many samples a step sees.
inline std::uint64_t samplesPerStep(const TrainOptions& options) {
  return options.batch * options.accumulate;
}
/// How many samples a validation sees. Unless told, as few as keep it below a tenth of the training between two of them: a
/// sample costs a third of what it costs in training, so a quarter of the batches are a twelfth of the time.
inline std::uint64_t validationSamples(const TrainOptions& options) {
  if (options.evaluationBatches > 0) return options.batch * options.evaluationBatches;
  const std::uint64_t trained = std::min(options.evaluateEvery, options.steps) * samplesPerStep(options);
  return std::min<std::uint64_t>(512, std::max(options.batch, trained / 4));
}

inline burtorch::AnyMethod methodOf(const TrainOptions& options) {
  std::vector<burtorch::Setting> settings{{"learningRate", options.learningRate},
                                          {"weightDecay", options.weightDecay}};
  if (options.optimizer == "adam" || options.optimizer == "adamw")
    settings.push_back({"beta2", options.beta2});
  if (options.optimizer == "momentum" || options.optimizer == "nesterov")
    settings.push_back({"momentum", options.momentum});
  return burtorch::methodFromName(options.optimizer, settings);
}
inline burtorch::Schedule scheduleOf(const TrainOptions& options) {
  std::vector<burtorch::Setting> settings{{"learningRate", options.learningRate}};
  const auto real = [](std::uint64_t n) { return static_cast<double>(n); };
  if (options.schedule == burtorch::WarmupCosine::name) {
    settings.push_back({"totalSteps", real(options.steps)});
    settings.push_back({"warmupSteps", real(std::min(options.warmup, options.steps / 2))});
    settings.push_back({"minimumRate", std::min(options.minimumRate, options.learningRate)});
  } else if (options.schedule == burtorch::StepDecay::name) {
    settings.push_back({"every", real(std::max<std::uint64_t>(1, options.steps / 3))});
  }
  return burtorch::scheduleFromName(options.schedule, settings);
}

}  // namespace burt
