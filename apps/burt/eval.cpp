// burt eval: how well a trained model guesses a text: the mean loss over its tokens, as perplexity and as bits too.
//
// Without --data the text is that of the run, and the part of it that the run did not learn from. Each token of the part is
// guessed once, in windows that do not overlap; what is left at the end, shorter than a window, is not seen. --batches takes
// instead the samples that a validation during the training takes, so that both print the same number.
#include <unistd.h>
#include <algorithm>
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/oracle/token_oracle.hpp>
#include <burtorch/train/training.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "command.hpp"
#include "flags.hpp"
#include "json_line.hpp"
#include "model_file.hpp"
#include "progress.hpp"
#include "run_data.hpp"
#include "train_jobs.hpp"

namespace burt {
namespace {

using namespace burtorch;

struct EvalOptions {
  std::string model, data, part;
  std::uint64_t batches = 0, tile = 0, threads = 0;
  bool isJson = false;
};

/// What was guessed: how many tokens, and how much text they are.
struct Seen {
  std::uint64_t samples = 0, tokens = 0, bytes = 0, characters = 0;
};
struct Result {
  Seen seen;
  double loss = 0;  // nats per token

  double perplexity() const { return std::exp(loss); }
  double bitsPerToken() const { return loss / std::log(2.0); }
  double bitsPer(std::uint64_t count) const {
    return bitsPerToken() * static_cast<double>(seen.tokens) / static_cast<double>(count);
  }
};

/// On a terminal, a line that says how far the work is, from the first second on. On stderr: stdout is for results.
class EvalProgress {
 public:
  void show(std::size_t done, std::size_t all, double loss) {
    const auto now = Clock::now();
    if (!isLive_ || now - shown_ < std::chrono::milliseconds(200)) return;
    shown_ = now;
    isShown_ = true;
    const double seconds = std::chrono::duration<double>(now - start_).count(),
                 left = seconds / static_cast<double>(done) * static_cast<double>(all - done);
    std::fprintf(stderr, "\r\x1b[Ksample %zu/%zu  loss %.4f  %s left", done, all, loss,
                 clockTime(left).c_str());
    std::fflush(stderr);
  }
  ~EvalProgress() {
    if (isShown_) std::fputs("\r\x1b[K", stderr);
  }

 private:
  using Clock = std::chrono::steady_clock;
  const bool isLive_ = isatty(STDERR_FILENO) == 1;
  bool isShown_ = false;
  Clock::time_point start_ = Clock::now(), shown_ = start_;
};

template <class Job> class Evaluation {
  using Model = typename Job::Model;
  using Config = typename Job::Config;

 public:
  Evaluation(const EvalOptions& options, const ModelFile& file)
      : options_(options), file_(file), config_(file.config<Config>()) {
    Job::setDefaults(training_);
    readFields(training_, runPrefix, file.file().metadata(), file.path());
    if (!options.data.empty()) {
      training_.data = options.data;
      return;
    }
    if (!file.file().metadata().contains(checksumKey))
      throw BadInput("'" + printable(file.path()) +
                     "' does not say what it was trained on; pass a text with --data FILE");
    requireData(file.file().metadata(), options.model);
  }

  int run() {
    const Data data(training_.data, Job::defaultText());
    if (options_.data.empty()) requireSameData(file_.file().metadata(), options_.model, data);
    const Job job = jobOf(data);
    const std::string part = partName();
    const TokenView tokens = part == "all" ? job.tokens() : job.tokens(partOf(part));
    requireWindow(tokens.size(), part);
    OwnedModel<Model> owned(file_, config_);
    ThreadPool threads(options_.threads);
    const CurrentWorkers help(threads);
    const auto samples = Job::samplesOf(tokens, config_, options_.batches > 0 ? Overlap::all : Overlap::none);
    const std::vector<std::size_t> chosen =
        spreadEvenly(samples.size(), options_.batches > 0 ? training_.batch * options_.batches : SIZE_MAX);
    const Result result{.seen = seenIn(samples, chosen, job), .loss = lossOver(owned, samples, chosen)};
    if (options_.isJson)
      printJson(result, part, tokens.size());
    else
      print(result, part, tokens.size());
    return 0;
  }

 private:
  /// The text in the tokens of the model.
  Job jobOf(const Data& data) const {
    try {
      return Job(data.text, training_, file_.tokenizer());
    } catch (const Error& error) {
      throw BadInput("cannot evaluate the model on " + nameOfData(training_.data) + ": " + error.what());
    }
  }
  std::string partName() const {
    if (!options_.part.empty()) return options_.part;
    return options_.data.empty() ? "validation" : "all";
  }
  static Part partOf(const std::string& name) { return name == "train" ? Part::train : Part::validation; }
  void requireWindow(std::size_t tokens, const std::string& part) const {
    const std::size_t least = Job::tokensOfFirstSample(config_);
    if (tokens < least)
      throw BadInput((part == "all" ? "the text" : "the " + part + " part of the text") + " has " +
                     textOf(std::uint64_t{tokens}) +
                     " tokens, too few for this model, which needs at least " + textOf(std::uint64_t{least}) +
                     "; pass a longer text with --data FILE");
  }

  template <class Samples>
  Seen seenIn(const Samples& samples, std::span<const std::size_t> chosen, const Job& job) const {
    std::vector<std::uint32_t> bytes, characters;  // of each token
    for (TokenId token = 0; token < job.tokenizer().size(); ++token) {
      const std::string text = job.tokenizer().decode(token);
      bytes.push_back(static_cast<std::uint32_t>(text.size()));
      characters.push_back(static_cast<std::uint32_t>(
          std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; })));
    }
    Seen seen{.samples = chosen.size()};
    std::vector<TokenId> inputs(config_.context), targets(job.tokensPerSample(config_));
    for (const std::size_t sample : chosen) {
      samples.read(sample, inputs, targets);
      for (const TokenId target : targets) {
        seen.bytes += bytes[target];
        seen.characters += characters[target];
      }
    }
    seen.tokens = seen.samples * targets.size();
    return seen;
  }
  template <class Samples>
  double lossOver(OwnedModel<Model>& owned, const Samples& samples,
                  std::span<const std::size_t> chosen) const {
    TokenOracle<Model, Samples> oracle(owned.model, owned.parameters, samples, options_.tile);
    // So much at a time that there is work for all threads. A large model shares single layers among them instead.
    std::size_t group = oracle.tile();
    if (oracle.shardCount(chosen.size()) > 1)
      group *= std::max<std::size_t>(1, 4096 / owned.model.columnsFor(oracle.tile()));
    EvalProgress progress;
    double sum = 0;
    for (std::size_t done = 0; done < chosen.size();) {
      const std::size_t count = std::min(group, chosen.size() - done);
      sum += oracle.value(chosen.subspan(done, count)) * static_cast<double>(count);
      done += count;
      progress.show(done, chosen.size(), sum / static_cast<double>(done));
    }
    return sum / static_cast<double>(chosen.size());
  }

  void print(const Result& result, const std::string& part, std::size_t tokens) const {
    const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
    const Seen& seen = result.seen;
    std::printf("%s on %s of %s\n", printable(options_.model).c_str(),
                part == "all" ? "all" : ("the " + part + " part").c_str(),
                nameOfData(training_.data).c_str());
    std::printf("%llu %s, %llu of %zu tokens\n", number(seen.samples),
                seen.samples == 1 ? "sample" : "samples", number(seen.tokens), tokens);
    std::printf("loss        %.4f nats per token\nperplexity  %.4f\n", result.loss, result.perplexity());
    std::printf("bits        %.4f per token, %.4f per character, %.4f per byte\n", result.bitsPerToken(),
                result.bitsPer(seen.characters), result.bitsPer(seen.bytes));
  }
  void printJson(const Result& result, const std::string& part, std::size_t tokens) const {
    const Seen& seen = result.seen;
    std::string json = "{\"model\":" + jsonString(options_.model) +
                       ",\"data\":" + jsonString(training_.data) + ",\"part\":" + jsonString(part) +
                       ",\"part_tokens\":" + std::to_string(tokens);
    for (const auto& [key, count] : {std::pair{"samples", seen.samples},
                                     {"tokens", seen.tokens},
                                     {"characters", seen.characters},
                                     {"bytes", seen.bytes}})
      json += ",\"" + std::string(key) + "\":" + std::to_string(count);
    for (const auto& [key, value] : {std::pair{"loss", result.loss},
                                     {"perplexity", result.perplexity()},
                                     {"bits_per_token", result.bitsPerToken()},
                                     {"bits_per_character", result.bitsPer(seen.characters)},
                                     {"bits_per_byte", result.bitsPer(seen.bytes)}})
      json += ",\"" + std::string(key) + "\":" + jsonNumber(value);
    std::printf("%s}\n", json.c_str());
  }

  const EvalOptions& options_;
  const ModelFile& file_;
  Config config_;
  TrainOptions training_;
};

}  // namespace

int eval(std::span<const std::string> arguments) {
  EvalOptions options;
  Flags flags;
  flags.add("--model", "PATH", "the model: the folder of a run, a file, or the folder of a GPT-2",
            options.model);
  flags.add("--data", "FILE", "a text to guess; default: the data of the run", options.data);
  flags.add("--part", "NAME",
            "validation, train or all of the data (default validation, with --data all of it)", options.part);
  flags.add("--batches",
            "see as many samples as a validation of N batches during the training; 0: each token once",
            options.batches, 0, 1'000'000'000);
  flags.add("--tile", "samples recorded at a time; 1: least memory, 0: fastest", options.tile, 0, 65'536);
  flags.add("--threads", "threads that share the work; 0: as many as there are cores", options.threads, 0,
            1024);
  flags.add("--json", "print one JSON object", options.isJson);
  if (!flags.parseAll(arguments)) {
    std::printf(
        "usage: %s eval --model PATH [options]\n\n"
        "Prints the mean loss of a model over a text, as perplexity and as bits too.\n\n%s",
        self().c_str(), flags.help().c_str());
    return 0;
  }
  if (options.model.empty())
    throw BadInput(self() + " eval needs --model PATH; see " + self() + " eval --help");
  if (!options.part.empty() && options.part != "validation" && options.part != "train" &&
      options.part != "all")
    throw BadInput("--part: expected validation, train or all, got '" + options.part + "'");
  const ModelFile file(options.model);
  return file.kind() == GptJob::name ? Evaluation<GptJob>(options, file).run()
                                     : Evaluation<MlpJob>(options, file).run();
}

}  // namespace burt
