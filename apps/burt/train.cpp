// burt train: a model, its data, an optimiser, and a run that survives what happens to programs.
//
// All of a run is in one file, FOLDER/state.safetensors: parameters, optimiser, random stream, vocabulary and options. It
// is replaced as a whole at every save, and only by a state whose loss is known to be finite. So whatever ends the run,
// `--resume FOLDER` continues it from the last save with the bits of a run that was never interrupted.
#include <algorithm>
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/checkpoint/training_file.hpp>
#include <burtorch/io/atomic_file.hpp>
#include <burtorch/oracle/token_oracle.hpp>
#include <burtorch/train/training.hpp>
#include <cstdio>
#include <filesystem>
#include <optional>

#include "amounts.hpp"
#include "both_parts.hpp"
#include "command.hpp"
#include "flags.hpp"
#include "memory_plan.hpp"
#include "metrics.hpp"
#include "model_file.hpp"
#include "progress.hpp"
#include "ranks.hpp"
#include "run_data.hpp"
#include "system.hpp"
#include "train_jobs.hpp"
#include "train_options.hpp"

namespace burt {
namespace {

using namespace burtorch;
namespace fs = std::filesystem;

/// The folder of a new run, which is made.
fs::path makeFolder(const Place& place, const std::string& model) {
  std::error_code error;
  fs::path folder = place.out;
  if (!folder.empty()) {
    fs::create_directories(folder, error);
  } else {
    fs::create_directories("runs", error);
    for (int i = 1; !error; ++i) {
      folder = fs::path("runs") / (model + "-" + std::to_string(i));
      if (fs::create_directory(folder, error)) break;  // false if it is there
    }
  }
  if (error)
    throw BadInput("cannot make the folder '" + printable(folder.string()) + "': " + error.message());
  return folder;
}
/// Before any work: a run is replaced only on request.
void checkPlace(const Place& place) {
  if (place.out.empty()) return;
  std::error_code error;
  for (const char* name : {stateName, "model.safetensors", "metrics.csv"}) {
    const bool exists = fs::exists(fs::path(place.out) / name, error);
    if (error)
      throw BadInput("--out: cannot use the folder '" + printable(place.out) + "': " + error.message());
    if (exists && !place.isOverwriting)
      throw BadInput("'" + printable(place.out) + "' already holds a run; continue it with --resume " +
                     shellWord(place.out) + ", or replace it with --overwrite");
  }
}

/// All that takes part in a training, and the file it is saved in.
template <class Job> class Session {
  using Model = typename Job::Model;
  using Config = typename Job::Config;
  using Samples = decltype(std::declval<const Job&>().samples(Part::train, std::declval<const Config&>()));
  using Oracle = TokenOracle<Model, BothParts<Samples>>;

 public:
  /// `saved` is the state to resume, or nullptr; `model` the one to start from, or nullptr.
  Session(const TrainOptions& options, const Config& config, const Data& data, const Job& job,
          const ModelFile* saved, const ModelFile* model = nullptr)
      : options_(options),
        saveInterval_(parseSaveInterval("--save-every", options.saveEvery)),
        job_(job),
        config_(resolved(config, job_.tokenizer())),
        plan_(planWithoutTape(data)),
        owned_(config_),
        oracle_(
            owned_.model, owned_.parameters,
            BothParts<Samples>{job_.samples(Part::train, config_), job_.samples(Part::validation, config_)},
            TokenOracleOptions{.tile = static_cast<std::size_t>(chosenTile()),
                               .shards = static_cast<std::size_t>(options.shards),
                               .ranks = ranks()}),
        train_(oracle_, job_.samples(Part::train, config_).size()),
        validation_(oracle_, train_.size()),
        optimizer_(methodOf(options), owned_.parameters.size()),
        training_(train_, validation_, optimizer_, scheduleOf(options),
                  {.steps = options.steps,
                   .batch = static_cast<std::size_t>(samplesPerStep(options)),
                   .clipNorm = options.clip,
                   .evaluateEvery = options.evaluateEvery,
                   .evaluationSamples = static_cast<std::size_t>(validationSamples(options))},
                  options.seed),
        metadata_(metadataOf(config_, job_.tokenizer())) {
    describe(options_, runPrefix, metadata_);
    metadata_["burtorch"] = BURTORCH_VERSION;
    describeData(options.data, data, metadata_);
    if (model != nullptr)
      startFrom(*model);
    else if (saved == nullptr)
      initialise();
    optimizer_.exemptFromDecay(owned_.model.layout());
    if (saved != nullptr) load(saved->file());
  }

  int run(const Place& place);

 private:
  int follow(bool isNew);
  StopReason trainOnRanks(FunctionRef<bool(const TrainingStep&)> observe, std::string& lost);
  int endAfterLoss(const std::string& lost, Metrics& metrics);
  std::uint64_t fingerprint();

  using Clock = Progress::Clock;

  static Config resolved(Config config, const AnyTokenizer& tokenizer) {
    config.vocabulary = tokenizer.size();
    if constexpr (requires { config.hiddenWidth(); }) config.hidden = config.hiddenWidth();
    return config;
  }
  /// All but the tape. The numbers of a model that cannot fit are not even allocated.
  MemoryPlan planWithoutTape(const Data& data) const {
    const AnyMethod method = methodOf(options_);
    MemoryPlan plan{.parameters = parameterCountOf(config_)};
    const std::uint64_t count = std::min<std::uint64_t>(plan.parameters, UINT32_MAX);
    plan.state = sizeof(float) * (2 * count + Optimizer<float>::stateSize(method, count));
    plan.data =
        (options_.data.empty() ? 0 : data.text.size()) + job_.tokens().size() * job_.tokens().bytesPerToken();
    if (!options_.memory.empty()) plan.tileFor(parseBytes("--memory", options_.memory), 1, sizesOf(config_));
    return plan;
  }
  /// The tile that was asked for, or that fits. One that was made to fit is saved with the run: the bits depend on it.
  std::uint64_t chosenTile() {
    plan_.firstSample = tapeBytes(owned_.model, owned_.parameters, 1);
    plan_.everyFurther = tapeBytes(owned_.model, owned_.parameters, 2) - plan_.firstSample;
    plan_.step = samplesPerStep(options_);
    plan_.validation = validationSamples(options_);
    plan_.shards = [this](std::uint64_t batch) {
      return options_.shards > 0 ? std::min(options_.shards, batch) : Oracle::shardCount(owned_.model, batch);
    };
    if (options_.memory.empty()) return options_.tile;
    const std::uint64_t limit = parseBytes("--memory", options_.memory), wanted = options_.tile,
                        most = wanted > 0 ? wanted : owned_.model.bestTile();
    options_.tile = plan_.tileFor(limit, most, sizesOf(config_));
    if (wanted > options_.tile)
      throw BadInput("--tile " + textOf(wanted) + " does not fit into --memory " + bytesText(limit) +
                     ", in which at most " + textOf(options_.tile) + " is possible");
    return options_.tile;
  }
  /// How many samples are on the tape at a time.
  std::uint64_t samplesOnTape() const { return plan_.samplesOnTape(oracle_.tile()); }
  /// As many threads as are wanted, or as have room.
  std::size_t chosenThreads(std::uint64_t wanted) const {
    const std::uint64_t most = wanted > 0 ? wanted : ranks() != nullptr ? 1 : ThreadPool::coreCount();
    if (options_.memory.empty()) return most;
    return plan_.threadsFor(parseBytes("--memory", options_.memory), samplesOnTape(), most);
  }
  void initialise() {
    Rng rng(options_.seed, 1);
    if (options_.init == "gpt2")
      initialiseLikeGpt2(owned_.parameters, rng);
    else
      owned_.parameters.initialise(rng);
  }
  /// Takes the parameters of a model; those of its first positions, if the context is shorter here.
  void startFrom(const ModelFile& model) {
    const auto config = model.config<Config>();
    if (parameterCountOf(config) == owned_.parameters.size()) return owned_.load(model);
    const OwnedModel<Model> whole(model, config);
    const auto& blocks = owned_.model.layout().blocks();
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::span<const float> from = whole.parameters.values(whole.model.layout().blocks()[i]);
      std::copy_n(from.begin(), blocks[i].size(), owned_.parameters.values(blocks[i]).begin());
    }
  }

  void load(const SafetensorsFile& file) {
    loadTraining(file, owned_.parameters, optimizer_, training_.rng());
    savedStep_ = training_.stepsDone();
  }
  void save() {
    metadata_["step"] = textOf(training_.stepsDone());
    saveTraining((folder_ / stateName).string(), owned_.parameters, optimizer_, training_.rng(), metadata_);
    savedStep_ = training_.stepsDone();
  }
  /// While it lives, this rank computes without the others.
  struct Alone {
    Oracle& oracle;
    explicit Alone(Oracle& o) : oracle(o) { oracle.setAlone(true); }
    ~Alone() { oracle.setAlone(false); }
  };
  /// The loss of the parameters as they are after this step.
  double lossAfter(const TrainingStep& step) {
    const Alone alone(oracle_);
    return step.isEvaluated() ? step.validationLoss : train_.value(training_.batch());
  }
  bool isSaveDue(const TrainingStep& step) const {
    if (step.step == options_.steps) return false;  // saved at the end
    if (saveInterval_.time.count() > 0) return Clock::now() - savedAt_ >= saveInterval_.time;
    return saveInterval_.steps > 0 ? step.step % saveInterval_.steps == 0 : step.isEvaluated();
  }
  /// A save on the way: if it fails, the next one may succeed.
  void saveOnTheWay(const TrainingStep& step, Metrics& metrics, Progress& progress) {
    savedAt_ = Clock::now();         // whatever comes of it
    progress.warn(metrics.flush());  // before the state, so that no step is missing after a resume
    if (!std::isfinite(lossAfter(step))) return;
    try {
      save();
    } catch (const Error& error) {
      progress.warn("burt: " + std::string(error.what()) + "; the training continues\n");
    }
  }

  /// Shows that the run can start, before anything of an earlier one is touched.
  bool isStarting() {
    TrainingStep step;
    try {
      step = training_.rehearse();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::outOfRoom && error.code() != ErrorCode::outOfMemory) throw;
      std::string why = error.what();
      why = why.substr(0, why.find(": rewind"));  // advice for programs
      throw BadInput("the first step failed: " + why +
                     "; choose a smaller --tile or --context, or a smaller " + sizesOf(config_));
    }
    if (step.isFinite()) return true;
    reportNotFinite(step);
    std::fputs("burt: nothing was written; try --init pytorch\n", stderr);
    return false;
  }
  void reportNotFinite(const TrainingStep& step) {
    const StepKey key = training_.keyOf(step.step);  // a finite step was followed by a loss without dropout
    const std::string where =
        oracle_.describeFirstNonFinite(training_.batch(), step.isFinite() ? nullptr : &key);
    const auto number = static_cast<unsigned long long>(step.step);
    if (step.isFinite())
      std::fprintf(stderr, "burt: after step %llu the loss is not finite; %s\n", number, where.c_str());
    else  // neither is negative: fabs takes the sign off a NaN
      std::fprintf(stderr, "burt: step %llu: the loss is %g, the norm of its gradient %g; %s\n", number,
                   std::fabs(step.loss), std::fabs(step.gradientNorm), where.c_str());
  }
  /// The parameters as they are give no finite loss, those one step before did. That state is found by taking the steps
  /// from the last save once more, which gives the same bits, and saved.
  void keepLastFinite() {
    const std::uint64_t wanted = training_.stepsDone() - std::min<std::uint64_t>(1, training_.stepsDone());
    if (wanted > savedStep_) {
      const Alone alone(oracle_);
      load(SafetensorsFile((folder_ / stateName).string()));
      training_.run(
          [&](const TrainingStep& step) { return step.step < wanted && StopSignals::received() == 0; });
      save();
    }
    std::fprintf(
        stderr,
        "burt: the state after step %llu, with a finite loss, is saved; continue from it with a smaller "
        "step: %s --lr %g\n",
        static_cast<unsigned long long>(savedStep_), resumeCommand().c_str(), options_.learningRate / 10);
  }

  std::string resumeCommand() const { return self() + " train --resume " + shellWord(folder_.string()); }
  void introduce(std::size_t threads) const {
    std::printf("%s with %zu parameters on %s of %s, vocabulary %zu\n", Job::name, owned_.parameters.size(),
                job_.size().c_str(), nameOfData(options_.data).c_str(), job_.tokenizer().size());
    if (const Tokenizer* characters = job_.tokenizer().characters(); characters && characters->invalidAt())
      std::printf("the data is not UTF-8 (byte %zu), so tokens are bytes\n", *characters->invalidAt());
    if (training_.stepsDone() == 0 && startsFromModel(options_))
      std::printf("starts with the parameters of %s\n", printable(options_.init).c_str());
    if (training_.stepsDone() > 0)
      std::printf("resumed after step %llu\n", static_cast<unsigned long long>(training_.stepsDone()));
    std::printf("%llu steps of %llu samples, results in %s\n",
                static_cast<unsigned long long>(options_.steps),
                static_cast<unsigned long long>(samplesPerStep(options_)), folder_.c_str());
    if (ranks() != nullptr) introduceRanks();
    std::printf("memory%s: %s\n", ranks() != nullptr ? " of a rank" : "",
                plan_.text(samplesOnTape(), threads).c_str());
    std::fflush(stdout);
  }
  void introduceRanks() const {
    const std::uint64_t count = ranks()->size(), parts = plan_.shards(samplesPerStep(options_));
    std::printf("ranks: %llu, for the %llu parts of a batch\n", static_cast<unsigned long long>(count),
                static_cast<unsigned long long>(parts));
    if (count > parts)
      std::printf(
          "%llu of them have nothing to do: start the run with a larger --batch, or with --shards %llu\n",
          static_cast<unsigned long long>(count - parts), static_cast<unsigned long long>(count));
  }
  std::string sampleText(std::uint64_t step) {
    return job_.sampleText(owned_, options_, Rng(options_.seed, step));
  }
  void finish(const Metrics& metrics) {
    if (options_.sampleEvery == 0 || options_.steps % options_.sampleEvery != 0)
      std::printf("--- sample\n%s\n", sampleText(options_.steps).c_str());
    writePicture(metrics);
    const std::string folder = shellWord(folder_.string());
    std::printf("saved %s, metrics.csv, metrics.jsonl and loss.svg\n", (folder_ / stateName).c_str());
    std::printf(
        "what to try next:\n"
        "  %s sample --model %s --temperature 0.5\n"
        "  %s eval --model %s\n"
        "  %s export %s --out model.safetensors\n"
        "  %s train %s --help\n",
        self().c_str(), folder.c_str(), self().c_str(), folder.c_str(), self().c_str(), folder.c_str(),
        self().c_str(), Job::name);
    if (options_.isForTensorBoard) std::printf("  tensorboard --logdir %s\n", folder.c_str());
  }
  void writePicture(const Metrics& metrics) const {
    const std::string svg = metrics.svg();
    AtomicFile file((folder_ / "loss.svg").string(), {.durable = false});
    file.write(std::as_bytes(std::span(svg)));
    file.commit();
  }

  TrainOptions options_;
  SaveInterval saveInterval_;
  const Job& job_;
  Config config_;
  MemoryPlan plan_;
  OwnedModel<Model> owned_;
  Oracle oracle_;
  TrainingPart<Oracle> train_;
  ValidationPart<Oracle> validation_;
  Optimizer<float> optimizer_;
  Training<TrainingPart<Oracle>, ValidationPart<Oracle>> training_;
  Metadata metadata_;
  fs::path folder_;
  std::uint64_t savedStep_ = 0;
  Clock::time_point savedAt_ = Clock::now();
};

template <class Job> int Session<Job>::run(const Place& place) {
  burtorch::ThreadPool threads(chosenThreads(place.threads));
  const burtorch::CurrentWorkers help(threads);
  const StopSignals signals;
  if (ranks() != nullptr) {
    ranks()->setStop([] { return StopSignals::received() != 0; });
    ranks()->setPatience(std::chrono::seconds(place.patience));
    ranks()->requireSame({.kind = 2}, fingerprint(), "options, data or parameters");
    if (!isFirstRank()) return follow(place.resume.empty());
  }
  const auto start = Clock::now();
  if (place.resume.empty()) {
    if (!isStarting()) return 1;
    folder_ = makeFolder(place, Job::name);
    save();
  } else {
    folder_ = place.resume;
  }
  introduce(threads.size());
  Metrics metrics(folder_, training_.stepsDone(), options_.steps);
  if (options_.isForTensorBoard) metrics.showInTensorBoard(folder_, training_.stepsDone() + 1);
  Progress progress(training_.stepsDone(), options_.steps,
                    samplesPerStep(options_) * job_.tokensPerSample(config_));
  TrainingStep last;
  std::string lost;
  const auto observe = [&](const TrainingStep& step) {
    last = step;
    metrics.add(step, std::chrono::duration<double>(Clock::now() - start).count());
    progress.show(step);
    if (!step.isFinite() || !validation_.interruption().empty()) return false;
    if (options_.sampleEvery > 0 && (step.step % options_.sampleEvery == 0 || step.step == 1))
      progress.aside([&] {
        progress.say("--- sample at step " + std::to_string(step.step) + "\n" + sampleText(step.step));
      });
    if (isSaveDue(step)) progress.aside([&] { saveOnTheWay(step, metrics, progress); });
    return StopSignals::received() == 0;
  };
  StopReason end = trainOnRanks(observe, lost);
  progress.finish();
  std::puts(progress.losses().c_str());
  progress.warn(metrics.flush());
  if (!lost.empty()) return endAfterLoss(lost, metrics);
  if (end == StopReason::stopped && savedStep_ != training_.stepsDone() && !std::isfinite(lossAfter(last)))
    end = StopReason::notFinite;
  if (end == StopReason::notFinite) {
    reportNotFinite(last);
    keepLastFinite();
    return 1;
  }
  if (savedStep_ != training_.stepsDone()) save();
  if (end == StopReason::finished) {
    finish(metrics);
    return 0;
  }
  writePicture(metrics);
  std::printf("stopped after step %llu; resume with: %s\n",
              static_cast<unsigned long long>(training_.stepsDone()), resumeCommand().c_str());
  return 128 + StopSignals::received();
}

/// What the other ranks do: the same steps, of which rank 0 tells. Whether the run goes on is decided there.
template <class Job> int Session<Job>::follow(bool isNew) {
  if (isNew && !training_.rehearse().isFinite()) return 1;
  std::string lost;
  const StopReason end = trainOnRanks([](const TrainingStep& step) { return step.isFinite(); }, lost);
  if (!lost.empty()) throw BadInput(lost);
  return end == StopReason::finished ? 0 : 1;
}

/// The training. If a rank is lost, or a signal comes while others are waited for, `lost` says so, and everything is as after the
/// last whole step.
template <class Job>
StopReason Session<Job>::trainOnRanks(FunctionRef<bool(const TrainingStep&)> observe, std::string& lost) {
  StopReason end = StopReason::stopped;
  try {
    end = training_.run(observe);
    lost = validation_.interruption();
  } catch (const Error& error) {
    if (!isLossOfRank(error)) throw;
    lost = error.what();
  }
  return end;
}
/// Saves what there is. It was finite when its gradient was taken; what the last step made of it is looked at.
template <class Job> int Session<Job>::endAfterLoss(const std::string& lost, Metrics& metrics) {
  const int signal = StopSignals::received();
  std::fprintf(stderr, "burt: %s%s\n", lost.c_str(),
               signal != 0 ? " (launchers send the signal when a rank has died)" : "");
  const std::span<const float> values = owned_.parameters.values();
  const bool isFinite = std::all_of(values.begin(), values.end(), [](float x) { return std::isfinite(x); });
  if (isFinite && savedStep_ != training_.stepsDone()) save();
  writePicture(metrics);
  std::printf("stopped after step %llu; resume, on any number of ranks or without --mpi, with: %s --mpi\n",
              static_cast<unsigned long long>(savedStep_), resumeCommand().c_str());
  return signal != 0 ? 128 + signal : 3;
}
/// Says in one number from what a rank starts.
template <class Job> std::uint64_t Session<Job>::fingerprint() {
  std::string options;
  for (const auto& [key, value] : metadata_)
    if (key != dataKey) options += key + "=" + value + "\n";
  options += textOf(training_.stepsDone()) + " " + textOf(training_.rng().state());
  const std::span<const float> x = owned_.parameters.values();
  const std::string_view bytes(reinterpret_cast<const char*>(x.data()), x.size_bytes());
  return std::uint64_t{crc32c(options)} << 32 | crc32c(bytes);
}

/// What a new run begins with that is not its own: the parameters of a model, and tokens.
struct Beginning {
  std::optional<ModelFile> model;
  std::optional<AnyTokenizer> tokenizer;
};
/// The beginning that the options ask for. A model decides about its sizes.
template <class Job>
Beginning beginningOf(const Flags& flags, TrainOptions& options, typename Job::Config& config) {
  constexpr bool isGpt = std::is_same_v<Job, GptJob>;
  Beginning beginning;
  // A header holds UTF-8 only.
  for (const auto& [flag, path] : {std::pair{"--init", options.init}, {"--tokenizer", options.tokenizer}})
    if (!isUtf8(path)) throw BadInput(flag + std::string(": expected a path in UTF-8; rename it"));
  if (!options.tokenizer.empty()) {
    if (!isGpt)
      throw BadInput("--tokenizer is for gpt; a model of kind mlp learns the letters of words: leave it out");
    if (startsFromModel(options))
      throw BadInput("--init " + printable(options.init) + " brings its own tokens; leave out --tokenizer");
    beginning.tokenizer = AnyTokenizer::fromFolder(options.tokenizer);
  }
  if (options.init == "gpt2" && !fileInFolder("gpt2").empty())
    throw BadInput(
        "--init gpt2 could be random weights or the folder gpt2; write --init ./gpt2 for the folder");
  if (!startsFromModel(options)) return beginning;
  std::error_code ignored;
  if (!fs::exists(options.init, ignored))
    throw BadInput("--init: expected pytorch, gpt2 or the path of a model, got '" + printable(options.init) +
                   "'");
  const ModelFile& model = beginning.model.emplace(options.init);
  if (model.kind() != Job::name)
    throw BadInput("--init: '" + printable(options.init) + "' is a model of kind " + model.kind() +
                   "; start from it with: " + self() + " train " + model.kind());
  auto has = model.config<typename Job::Config>();
  if (isGpt && flags.isGiven("--context") && config.context < has.context) has.context = config.context;
  resumeWith(has, flags, "the model " + printable(options.init), config);
  if (!flags.isGiven("--lr")) options.learningRate = 1e-4;
  if (!flags.isGiven("--min-lr")) options.minimumRate = 1e-5;
  beginning.tokenizer = model.tokenizer();
  return beginning;
}

/// Fills in what the run was started with, and checks that the command line and the data agree with it.
template <class Config>
void readRun(const ModelFile& saved, const Flags& flags, const std::string& folder, TrainOptions& options,
             Config& config) {
  const Config configWas = saved.config<Config>();
  if constexpr (requires { config.hiddenWidth(); })  // a file has the width itself where --hidden 0 was given
    if (config.hidden == 0 && configWas.hidden == 4 * configWas.width) config.hidden = configWas.hidden;
  resumeWith(configWas, flags, "the run in " + folder, config);
  TrainOptions was = options;  // what a file of an earlier version does not say is as the command line has it
  readFields(was, runPrefix, saved.file().metadata(), saved.path());
  resumeWith(was, flags, "the run in " + folder, options);
  // Another limit: another tile, unless it was given too.
  if (flags.isGiven("--memory") && !flags.isGiven("--tile")) options.tile = 0;
  if (!flags.isGiven("--data")) requireData(saved.file().metadata(), folder);
  std::uint64_t done = 0;
  parse(done, "'" + printable(saved.path()) + "' has a wrong 'step'", printable(saved.text("step"), 30), 0,
        UINT64_MAX);
  if (done >= options.steps)
    throw BadInput("the run in " + folder + " has taken its " + textOf(done) +
                   " steps; continue it with a larger --steps");
}
void checkData(const ModelFile& saved, const Flags& flags, const std::string& folder, const Data& data,
               const AnyTokenizer& tokenizer) {
  if (saved.text("vocabulary") != tokenizer.toString())
    throw BadInput("the run in " + folder + " has another vocabulary than this text; pass the same --data");
  if (!flags.isGiven("--data")) requireSameData(saved.file().metadata(), folder, data);
}

/// The value of --resume, or "".
std::string resumedFolder(std::span<const std::string> arguments) {
  constexpr std::string_view flag = "--resume";
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].starts_with(std::string(flag) + "=")) return arguments[i].substr(flag.size() + 1);
    if (arguments[i] == flag && i + 1 < arguments.size()) return arguments[i + 1];
  }
  return "";
}
void requireFolder(const std::string& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw BadInput("--resume: no such folder '" + printable(folder) + "'");
}

template <class Job> int trainModel(std::span<const std::string> arguments) {
  TrainOptions options;
  typename Job::Config config;
  Place place;
  Job::setDefaults(options);
  Flags flags;
  addFlags(flags, options);
  addFlags(flags, config);
  place.addTo(flags);
  if (!flags.parseAll(arguments)) {
    std::printf("usage: %s train %s [options]\n\n%s\n%s", self().c_str(), Job::name, flags.help().c_str(),
                exitCodes);
    return 0;
  }
  if (place.resume.empty()) {
    if (isFirstRank()) checkPlace(place);
    Beginning beginning = beginningOf<Job>(flags, options, config);
    const Data data(options.data, Job::defaultText());
    const Job job =
        beginning.tokenizer ? Job(data.text, options, *beginning.tokenizer) : Job(data.text, options);
    Session<Job> session(options, config, data, job, nullptr, beginning.model ? &*beginning.model : nullptr);
    beginning.model.reset();
    return session.run(place);
  }
  if (!place.out.empty() || place.isOverwriting)
    throw BadInput("--resume continues in the folder of the run; leave out --out and --overwrite");
  requireFolder(place.resume);
  std::optional<ModelFile> saved(place.resume);
  if (saved->kind() != Job::name)
    throw BadInput("'" + printable(place.resume) + "' is a run of " + saved->kind() +
                   "; resume it with: " + self() + " train --resume " + shellWord(place.resume));
  readRun(*saved, flags, place.resume, options, config);
  const Data data(options.data, Job::defaultText());
  // Tokens are those of the data, unless the run began with others.
  const bool hasOtherTokens = startsFromModel(options) || saved->tokenizer().characters() == nullptr;
  const Job job = hasOtherTokens ? Job(data.text, options, saved->tokenizer()) : Job(data.text, options);
  checkData(*saved, flags, place.resume, data, job.tokenizer());
  Session<Job> session(options, config, data, job, &*saved);
  saved.reset();  // the next save replaces the file; an open one would keep its place on the disk
  return session.run(place);
}

}  // namespace

int train(std::span<const std::string> arguments) {
  const std::string model = arguments.empty() ? "" : arguments[0];
  if (model == "gpt") return trainModel<GptJob>(arguments.subspan(1));
  if (model == "mlp") return trainModel<MlpJob>(arguments.subspan(1));
  if (model == "--help" || model == "-h") {
    std::printf(
        "usage: %s train gpt|mlp [options]; add --help after the model to list its options\n"
        "       %s train --resume DIR [options], which needs no more than the folder of a run\n",
        self().c_str(), self().c_str());
    return 0;
  }
  if (const std::string folder = resumedFolder(arguments); model.starts_with("--") && !folder.empty()) {
    requireFolder(folder);
    const bool isGpt = ModelFile(folder).kind() == GptJob::name;
    return isGpt ? trainModel<GptJob>(arguments) : trainModel<MlpJob>(arguments);
  }
  throw BadInput(model.empty() ? self() + " train: expected a model, gpt or mlp"
                               : "unknown model '" + model + "'; expected gpt or mlp");
}

}  // namespace burt
