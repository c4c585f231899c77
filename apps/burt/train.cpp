// burt train: a model, its data, an optimiser, and the loop.
#include <burtorch/burtorch.hpp>
#include <burtorch/data/text.hpp>
#include <burtorch/data/words.hpp>
#include <burtorch/io/atomic_file.hpp>
#include <burtorch/io/mapped_file.hpp>
#include <burtorch/io/training_file.hpp>
#include <burtorch/model/generate.hpp>
#include <burtorch/oracle/token_oracle.hpp>
#include <burtorch/train/training.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "checkpoint.hpp"
#include "command.hpp"
#include "default_data.hpp"
#include "flags.hpp"
#include "metrics.hpp"
#include "progress.hpp"

namespace burt {
namespace {

using namespace burtorch;
namespace fs = std::filesystem;

volatile std::sig_atomic_t isInterrupted = 0;

struct TrainOptions {
  std::string data, out, resume;
  std::uint64_t steps = 0, batch = 0, tile = 0, seed = 1337, warmup = 100, evaluateEvery = 0, sampleEvery = 0,
                sampleLength = 300, topK = 0;
  double learningRate = 0, minimumRate = 0, weightDecay = 0.01, beta2 = 0.99, momentum = 0.9, clip = 1,
         validation = 0.1, temperature = 0.8;
  std::string optimizer = "adamw", schedule = std::string(WarmupCosine::name), start = "pytorch";
  bool isOverwriting = false, isForTensorBoard = false;

  void addTo(Flags& flags) {
    flags.add("--data", "FILE", "what to learn; without it, data that comes with burt", data);
    flags.add("--steps", "how many", steps, 1, 1'000'000'000);
    flags.add("--batch", "samples per step", batch, 1, 1'000'000);
    flags.add("--tile", "samples on the tape at a time; 1: least memory, 0: fastest", tile, 0, 65'536);
    flags.add("--lr", "learning rate", learningRate, 0, 1000);
    flags.add("--min-lr", "where the schedule ends", minimumRate, 0, 1000);
    flags.add("--warmup", "steps until the learning rate is reached", warmup, 0, 1'000'000'000);
    flags.add("--schedule", "NAME", "of the learning rate: " + optionNames<AnySchedule>(), schedule);
    flags.add("--optimizer", "NAME", optionNames<AnyRule>(), optimizer);
    flags.add("--weight-decay", "not on biases and norms", weightDecay, 0, 1000);
    flags.add("--beta2", "of adam and adamw", beta2, 0, 0.999999);
    flags.add("--momentum", "of momentum and nesterov", momentum, 0, 0.999999);
    flags.add("--clip", "largest norm of a gradient; 0: any", clip, 0, 1e9);
    flags.add("--start", "NAME", "first weights like: pytorch, gpt2", start);
    flags.add("--validation", "part of the data that is not learned from", validation, 0.001, 0.9);
    flags.add("--seed", "of weights, batches and samples", seed, 0, UINT64_MAX);
    flags.add("--eval-every", "steps between two validations", evaluateEvery, 1, 1'000'000'000);
    flags.add("--sample-every", "steps between two sample texts; 0: only at the end", sampleEvery, 0,
              1'000'000'000);
    flags.add("--sample-length", "of a sample text, in tokens", sampleLength, 1, 1'000'000);
    flags.add("--temperature", "of sample texts; 0: always the likeliest token", temperature, 0, 100);
    flags.add("--top-k", "sample from the likeliest only; 0: from all", topK, 0, 1'000'000);
    flags.add("--out", "DIR", "where results go; without it, a new folder under runs", out);
    flags.add("--overwrite", "let --out replace an earlier run", isOverwriting);
    flags.add("--tensorboard", "also write the curves as TensorBoard reads them", isForTensorBoard);
    flags.add("--resume", "DIR", "go on with the run in this folder", resume);
  }
};

AnyRule ruleOf(const TrainOptions& options) {
  std::vector<Setting> settings{{"learningRate", options.learningRate}, {"weightDecay", options.weightDecay}};
  if (options.optimizer == "adam" || options.optimizer == "adamw")
    settings.push_back({"beta2", options.beta2});
  if (options.optimizer == "momentum" || options.optimizer == "nesterov")
    settings.push_back({"momentum", options.momentum});
  return ruleNamed(options.optimizer, settings);
}
Schedule scheduleOf(const TrainOptions& options) {
  std::vector<Setting> settings{{"learningRate", options.learningRate}};
  if (options.schedule == WarmupCosine::name) {
    settings.push_back({"totalSteps", static_cast<double>(options.steps)});
    settings.push_back({"warmupSteps", static_cast<double>(std::min(options.warmup, options.steps / 2))});
    settings.push_back({"minimumRate", std::min(options.minimumRate, options.learningRate)});
  } else if (options.schedule == StepDecay::name) {
    settings.push_back({"every", static_cast<double>(std::max<std::uint64_t>(1, options.steps / 3))});
  }
  return scheduleNamed(options.schedule, settings);
}

/// A folder for results: the one that was asked for, or a new one.
fs::path makeFolder(const TrainOptions& options, const std::string& model) {
  if (!options.resume.empty()) return options.resume;
  fs::path folder = options.out;
  if (folder.empty())
    for (int i = 1; folder.empty() || fs::exists(folder); ++i)
      folder = fs::path("runs") / (model + "-" + std::to_string(i));
  else if ((fs::exists(folder / "model.safetensors") || fs::exists(folder / "state.safetensors")) &&
           !options.isOverwriting)
    throw BadInput(folder.string() + " holds a model already; go on with it by --resume " + folder.string() +
                   ", or replace it with --overwrite");
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw BadInput("cannot make the folder " + folder.string() + ": " + error.message());
  return folder;
}

/// A token as a terminal may show it: what could move its cursor is a dot.
std::string shown(const Tokenizer& tokenizer, Index token) {
  const std::string text = tokenizer.decode(token);
  const auto first = static_cast<unsigned char>(text[0]);
  const bool isControl = text != "\n" && text.size() == 1 && (first < 0x20 || first >= 0x7f);
  return isControl ? "·" : text;
}

/// What the two models differ in, besides their class.
struct GptJob {
  using Model = Gpt<float>;
  using Config = GptConfig;
  static constexpr const char* name = "gpt";

  static void setDefaults(TrainOptions& options, Config&) {
    options.steps = 40'000;
    options.batch = 32;
    options.learningRate = 3e-3;
    options.minimumRate = 3e-4;
    options.evaluateEvery = 2000;
    options.sampleEvery = 8000;
  }
  static void addTo(Flags& flags, Config& c) {
    flags.add("--layers", "how many", c.layers, 1, 1000);
    flags.add("--heads", "of each attention", c.heads, 1, 1000);
    flags.add("--width", "of the residual stream, a multiple of the heads", c.width, 1, 100'000);
    flags.add("--context", "tokens that a prediction sees", c.context, 1, 100'000);
    flags.add("--hidden", "of the feed-forward network; 0: four times the width", c.hidden, 0, 1'000'000);
    flags.add("--final-norm", "a layer norm before the head, as GPT-2", c.hasFinalNorm);
    flags.add("--attention-bias", "biases on queries, keys and values, as GPT-2", c.hasAttentionBias);
    flags.add("--gelu", "instead of relu, as GPT-2", c.isGelu);
  }

  TextCorpus corpus;
  GptJob(std::string_view text, const TrainOptions& options)
      : corpus(text, {.validation = options.validation}) {}
  static std::string_view defaultText() { return defaultData::scenes(); }
  const Tokenizer& tokenizer() const { return corpus.tokenizer(); }
  std::string size() const { return std::to_string(corpus.tokens().size()) + " characters"; }
  auto samples(Part part, const Config& config) const {
    return corpus.windows(part, {.context = config.context});
  }
  std::size_t tokensPerSample(const Config& config) const { return config.context; }

  std::string sampleText(const Model& model, ParameterStore<float>& parameters, const TrainOptions& options,
                         Rng rng) const {
    std::vector<Index> tokens{corpus.tokens()[0]};
    generate(model, parameters, tokens, options.sampleLength, {options.temperature, options.topK}, rng,
             [](Index) { return false; });
    std::string text;
    for (const Index token : std::span(tokens).subspan(1)) text += shown(tokenizer(), token);
    return text;
  }
};

struct MlpJob {
  using Model = CharMlp<float>;
  using Config = CharMlpConfig;
  static constexpr const char* name = "mlp";

  static void setDefaults(TrainOptions& options, Config&) {
    options.steps = 20'000;
    options.batch = 64;
    options.learningRate = 1e-3;
    options.minimumRate = 1e-5;
    options.evaluateEvery = 1000;
    options.sampleEvery = 4000;
    options.sampleLength = 200;
    options.temperature = 1;
  }
  static void addTo(Flags& flags, Config& c) {
    flags.add("--context", "characters that a prediction sees", c.context, 1, 10'000);
    flags.add("--embedding", "numbers for each character", c.embedding, 1, 100'000);
    flags.add("--hidden", "units of the hidden layer", c.hidden, 1, 1'000'000);
  }

  WordList words;
  MlpJob(std::string_view text, const TrainOptions& options)
      : words(text, {.validation = options.validation, .seed = options.seed}) {}
  static std::string_view defaultText() { return defaultData::names(); }
  const Tokenizer& tokenizer() const { return words.tokenizer(); }
  std::string size() const { return std::to_string(words.wordCount()) + " words"; }
  auto samples(Part part, const Config& config) const { return words.samples(part, config.context); }
  std::size_t tokensPerSample(const Config&) const { return 1; }

  std::string sampleText(const Model& model, ParameterStore<float>& parameters, const TrainOptions& options,
                         Rng rng) const {
    std::string text;
    for (std::size_t length = 0; length < options.sampleLength;) {
      std::vector<Index> tokens;
      generate(model, parameters, tokens, 40, {options.temperature, options.topK}, rng,
               [](Index token) { return token == 0; });
      text += text.empty() ? "" : "  ";
      for (const Index token : tokens) text += shown(tokenizer(), token);
      length += tokens.size() + 1;
    }
    return text;
  }
};

template <class Job> class TrainCommand {
  using Model = typename Job::Model;
  using Config = typename Job::Config;

 public:
  TrainCommand(const TrainOptions& options, Config config) : options_(options), config_(config) {}

  int run() {
    std::optional<MappedFile> file;
    if (!options_.data.empty()) file.emplace(options_.data);
    const std::string_view text = file ? file->text() : Job::defaultText();
    const Job job(text, options_);
    config_.vocabulary = job.tokenizer().size();
    config_.check();

    const Model model(config_);
    ParameterStore<float> parameters = firstParameters(model);
    TokenOracle train(model, parameters, job.samples(Part::train, config_), options_.tile),
        validation(model, parameters, job.samples(Part::validation, config_), options_.tile);
    Optimizer<float> optimizer(ruleOf(options_), parameters.size());
    optimizer.exemptFromDecay(model.layout());
    Training training(train, validation, optimizer, scheduleOf(options_),
                      {.steps = options_.steps,
                       .batch = options_.batch,
                       .clipNorm = options_.clip,
                       .evaluateEvery = options_.evaluateEvery},
                      options_.seed);
    if (!options_.resume.empty()) restore(parameters, job, optimizer, training.rng());
    const fs::path folder = makeFolder(options_, Job::name);
    introduce(job, model, folder);
    return loop(job, model, parameters, optimizer, training, train, folder);
  }

 private:
  using Clock = Progress::Clock;

  ParameterStore<float> firstParameters(const Model& model) const {
    if (options_.start != "pytorch" && options_.start != "gpt2")
      throw BadInput("--start takes pytorch or gpt2, not '" + options_.start + "'");
    ParameterStore<float> parameters(model.layout());
    Rng rng(options_.seed, 1);
    options_.start == "gpt2" ? initialiseLikeGpt2(parameters, rng) : parameters.initialise(rng);
    return parameters;
  }
  void introduce(const Job& job, const Model& model, const fs::path& folder) const {
    std::printf("%s with %zu parameters on %s of %s, vocabulary %zu\n", Job::name, model.layout().size(),
                job.size().c_str(), options_.data.empty() ? "burt's own data" : options_.data.c_str(),
                job.tokenizer().size());
    if (job.tokenizer().invalidAt())
      std::printf("it is not UTF-8 (byte %zu), so tokens are bytes\n", *job.tokenizer().invalidAt());
    std::printf("%llu steps of %llu samples, results in %s\n",
                static_cast<unsigned long long>(options_.steps),
                static_cast<unsigned long long>(options_.batch), folder.c_str());
    std::fflush(stdout);
  }

  template <class Train, class Loop>
  int loop(const Job& job, const Model& model, ParameterStore<float>& parameters, Optimizer<float>& optimizer,
           Loop& training, Train& train, const fs::path& folder) {
    isInterrupted = 0;
    struct sigaction stop {
    }, before{};
    stop.sa_handler = [](int) { isInterrupted = 1; };
    sigaction(SIGINT, &stop, &before);
    Metrics metrics(folder, !options_.resume.empty());
    metrics.setShare(options_.steps / 400);
    if (options_.isForTensorBoard) metrics.showInTensorBoard(folder, training.stepsDone() + 1);
    Progress progress(training.stepsDone(), options_.steps, options_.batch * job.tokensPerSample(config_));
    const auto start = Clock::now();
    TrainingStep last;
    const TrainingEnd end = training.run([&](const TrainingStep& step) {
      last = step;
      metrics.add(step, std::chrono::duration<double>(Clock::now() - start).count());
      progress.show(step);
      if (options_.sampleEvery > 0 && (step.step % options_.sampleEvery == 0 || step.step == 1)) {
        const auto pause = Clock::now();
        progress.say("--- sample at step " + std::to_string(step.step) + "\n" +
                     job.sampleText(model, parameters, options_, Rng(options_.seed, step.step)));
        progress.pause(Clock::now() - pause);
      }
      return isInterrupted == 0;
    });
    progress.finish();
    sigaction(SIGINT, &before, nullptr);
    if (const std::string problem = metrics.flush(); !problem.empty())
      std::fprintf(stderr, "burt: %s\n", problem.c_str());
    if (end == TrainingEnd::notFinite) {
      std::fprintf(stderr, "burt: step %llu: the loss is %g, the norm of its gradient %g; %s\n",
                   static_cast<unsigned long long>(last.step), last.loss, last.gradientNorm,
                   train.describeFirstBad(training.batch()).c_str());
      std::fputs("burt: nothing was saved; try a smaller --lr, a smaller --clip or more --warmup\n", stderr);
      return 1;
    }
    save(job, parameters, optimizer, training.rng(), folder);
    writePicture(folder / "loss.svg", metrics.svg());
    if (end == TrainingEnd::stopped) {
      std::printf("stopped after step %llu; go on with: %s train %s --resume %s\n",
                  static_cast<unsigned long long>(training.stepsDone()), self().c_str(), Job::name,
                  folder.c_str());
      return 130;
    }
    if (options_.sampleEvery == 0 || options_.steps % options_.sampleEvery != 0)
      std::printf("--- sample\n%s\n",
                  job.sampleText(model, parameters, options_, Rng(options_.seed, options_.steps)).c_str());
    std::printf("saved %s, metrics.csv, metrics.jsonl and loss.svg\n",
                (folder / "model.safetensors").c_str());
    std::printf(
        "what to try next:\n"
        "  %s sample --model %s --temperature 0.5\n"
        "  %s train %s --help%s\n",
        self().c_str(), (folder / "model.safetensors").c_str(), self().c_str(), Job::name,
        options_.data.empty() ? "      (--data FILE learns from a file of yours)" : "");
    if (options_.isForTensorBoard) std::printf("  tensorboard --logdir %s\n", folder.c_str());
    return 0;
  }

  static void writePicture(const fs::path& path, const std::string& svg) {
    AtomicFile file(path.string(), {.isDurable = false});
    file.write(std::as_bytes(std::span(svg)));
    file.commit();
  }
  void save(const Job& job, const ParameterStore<float>& parameters, const Optimizer<float>& optimizer,
            const Rng& rng, const fs::path& folder) const {
    Metadata metadata = describe(config_);
    metadata["vocabulary"] = job.tokenizer().toString();
    metadata["step"] = std::to_string(optimizer.steps());
    metadata["burtorch"] = BURTORCH_VERSION;
    // All that --resume needs is in the first file; the second one is for `burt sample` and PyTorch.
    saveTraining((folder / "state.safetensors").string(), parameters, optimizer, rng, metadata);
    saveParameters((folder / "model.safetensors").string(), parameters, metadata);
  }
  void restore(ParameterStore<float>& parameters, const Job& job, Optimizer<float>& optimizer,
               Rng& rng) const {
    const SafetensorsFile state((fs::path(options_.resume) / "state.safetensors").string());
    const Description was(state);
    if (was.text("vocabulary") != job.tokenizer().toString())
      throw BadInput(state.path() + " was trained on a text with another vocabulary; give the same --data");
    // Not every difference shows in the shapes: gelu, for one.
    std::string differences;
    for (const auto& [key, text] : describe(config_))
      if (was.text(key) != text)
        differences += ", " + key + " " + burtorch::shown(was.text(key), 20) + " and not " + text;
    if (!differences.empty())
      throw BadInput(state.path() + " is of another model (" + differences.substr(2) +
                     "); give the options it had");
    loadTraining(state, parameters, optimizer, rng);
    if (optimizer.steps() >= options_.steps)
      throw BadInput("the run in " + options_.resume + " has done its " + std::to_string(optimizer.steps()) +
                     " steps; ask for more with --steps");
  }

  const TrainOptions& options_;
  Config config_;
};

template <class Job> int trainModel(std::span<const std::string> arguments) {
  TrainOptions options;
  typename Job::Config config;
  Job::setDefaults(options, config);
  Flags flags;
  options.addTo(flags);
  Job::addTo(flags, config);
  if (!flags.parse(arguments)) {
    std::printf("usage: %s train %s [options]\n\n%s", self().c_str(), Job::name, flags.help().c_str());
    return 0;
  }
  if (!options.resume.empty() && !options.out.empty())
    throw BadInput("--resume goes on in its own folder: leave out --out");
  return TrainCommand<Job>(options, config).run();
}

}  // namespace

int train(std::span<const std::string> arguments) {
  const std::string model = arguments.empty() ? "" : arguments[0];
  if (model == "gpt") return trainModel<GptJob>(arguments.subspan(1));
  if (model == "mlp") return trainModel<MlpJob>(arguments.subspan(1));
  if (model == "--help" || model == "-h") {
    std::printf("usage: %s train gpt|mlp [options]; --help after the model lists them\n", self().c_str());
    return 0;
  }
  throw BadInput(model.empty() ? self() + " train needs a model: gpt or mlp"
                               : "there is no model '" + model + "': gpt or mlp");
}

}  // namespace burt
