// burt optimise: the methods of the paper's section 4 on finite sums, alone or compared.
#include <algorithm>
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/io/crc32c.hpp>
#include <cstdio>

#include "command.hpp"
#include "optimise_run.hpp"
#include "progress.hpp"
#include "ranks.hpp"
#include "system.hpp"

namespace burt {
namespace {

using namespace burtorch;
namespace fs = std::filesystem;

struct Command {
  std::string method = "page", compare, out, resume;
  ProblemOptions problem;
  MethodOptions options;
  double epochs = 500, every = 0;
  std::uint64_t rounds = 0, threads = 0, patience = 600;
  bool isOnRanks = false;
};

void addFlags(Flags& flags, Command& c) {
  flags.add("--method", "NAME", std::string("one of ") + methodNames, c.method);
  flags.add("--compare", "A,B,...", "several methods on the same problem, in one picture", c.compare);
  flags.add("--compressor", "NAME",
            "of ef21 and marina: randk:K, randseqk:K, topk:K, permk, natural, "
            "levels:N or identity; K is a count or a fraction (default topk:0.05 and randk:0.05)",
            c.options.compressor);
  flags.add("--problem", "NAME", "logistic, least-squares, softmax, quadratic, mlp or gpt", c.problem.name);
  flags.add("--data", "FILE",
            "LIBSVM file, or a text for mlp and gpt (default: built in; breast cancer, digits for softmax)",
            c.problem.data);
  flags.add("--l2", "weight of the penalty l2/2 |x|^2 of a regression", c.problem.l2, 0, 1e9);
  flags.add("--l1", "weight of the penalty l1 |x|, for gd and sgd", c.options.l1, 0, 1e9);
  flags.add("--box", "keeps every |x_j| at most this, for gd and sgd (0: no bound)", c.options.box, 0, 1e300);
  flags.add("--samples", "of a quadratic, mlp or gpt (0: 200)", c.problem.samples, 0, 1'000'000);
  flags.add("--dimension", "of a quadratic", c.problem.dimension, 1, 1'000'000);
  flags.add("--condition", "L / mu of a quadratic", c.problem.condition, 1, 1e12);
  flags.add("--no-scale", "take features as they are; otherwise each is divided by its largest magnitude",
            [&c] { c.problem.isScaled = false; });
  flags.add("--no-bias", "add no constant feature", [&c] { c.problem.hasBias = false; });
  flags.add("--blockwise", "of ef21 and marina on mlp and gpt: compress each block of parameters on its own",
            c.options.isBlockwise);
  flags.add("--workers",
            "machines, simulated; samples are dealt out in their order (0: 20, or one per sample)",
            c.options.workers, 0, 100'000);
  flags.add("--tau", "samples of a gradient of sgd, ringmaster and mindflayer (0: 1)", c.options.tau, 0,
            1'000'000'000);
  flags.add("--batch", "samples of a correction of page and vr-marina (0: of theory)", c.options.batch, 0,
            1'000'000'000);
  flags.add("--step-size", "instead of that of theory (0)", c.options.stepSize, 0, 1e9);
  flags.add("--step-factor", "multiplies the step size", c.options.stepFactor, 1e-9, 1e9);
  flags.add("--accuracy",
            "epsilon of step sizes: |x - x*|^2 of sgd, |grad f|^2 of ringmaster and mindflayer gets below it "
            "(0: largest step)",
            c.options.accuracy, 0, 1e9);
  flags.add("--delay", "R of ringmaster: later gradients are not applied (0: of theory, or the workers)",
            c.options.delay, 0, 1'000'000'000);
  flags.add("--epochs", "stop after so many gradients, in units of all samples", c.epochs, 1e-9, 1e12);
  flags.add("--rounds", "or after so many rounds (0: any)", c.rounds, 0, UINT64_MAX);
  flags.add("--every", "epochs between rows of the record (0: a 200th of all)", c.every, 0, 1e12);
  flags.add("--seed", "random seed", c.options.seed, 0, UINT64_MAX);
  flags.add("--threads", "threads (0: one per core, or one with --mpi); the curve is the same for any number",
            c.threads, 0, 1024);
  flags.add(
      "--mpi",
      "of ef21 and marina: the server on rank 0, the workers on the others; with --blockwise they send while "
      "they compute",
      c.isOnRanks);
  flags.add("--patience", "seconds after which a silent rank of --mpi is given up", c.patience, 1, 1'000'000);
  flags.add("--out", "FOLDER", "folder of the run (default: a new one in runs)", c.out);
  flags.add("--resume", "FOLDER", "continue a run; only --epochs, --rounds, --threads and --mpi may differ",
            c.resume);
}

std::string help() {
  return "usage: " + self() +
         " optimise [--method NAME | --compare A,B,...] [options]\n\n"
         "Minimises a finite sum with methods that reach into backpropagation. Step sizes are those of "
         "theory:\n"
         "  gd          1 / L\n"
         "  sgd         1 / (2 Lexp), Lexp the expected smoothness of nice sampling (arXiv 1901.09401)\n"
         "  page        1 / (L+ (1 + sqrt(b) / b')) (arXiv 2008.10898)\n"
         "  ef21        1 / (L + L+ xi), xi = sqrt(1 - alpha) / (1 - sqrt(1 - alpha)) (arXiv 2106.05203)\n"
         "  ef21-w      1 / (L + mean L_i xi) (arXiv 2402.10774)\n"
         "  marina      1 / (L+ (1 + sqrt((1 - p) omega / (p n)))) (arXiv 2102.07845)\n"
         "  vr-marina   1 / (L+ + sqrt((1 - p) / (p n) (omega L+^2 + (1 + omega) S^2 / b)))\n"
         "  ringmaster  1 / (2 R L), with --accuracy min {that, epsilon / (4 L sigma^2)} (arXiv 2501.16168)\n"
         "  mindflayer  1 / (2 L), with --accuracy min {that, epsilon B / (2 L sigma^2)} (arXiv 2410.04285)\n"
         "L+ is the root of the mean square of the L_i, S that of the samples. A compressor may follow the "
         "method: ef21:topk:0.05.\n"
         "The workers of ringmaster and mindflayer have a simulated clock: worker i takes about i seconds "
         "for a "
         "gradient.\n\n";
}

/// The arguments of the run in a folder: one per line in its state.
std::vector<std::string> argumentsOf(const std::string& folder) {
  const SafetensorsFile file((fs::path(folder) / "run.safetensors").string());
  const auto found = file.metadata().find("run.arguments");
  if (found == file.metadata().end())
    throw BadInput("the folder '" + printable(folder) + "' holds no run of burt optimise");
  std::vector<std::string> arguments;
  for (std::size_t at = 0; at < found->second.size();) {
    const std::size_t end = found->second.find('\n', at);
    arguments.push_back(found->second.substr(at, end - at));
    at = end + 1;
  }
  return arguments;
}
std::string joined(std::span<const std::string> arguments) {
  std::string text;
  for (const std::string& argument : arguments) text += argument + "\n";
  return text;
}

class Optimisation {
 public:
  Optimisation(const Command& command, std::vector<std::string> arguments)
      : command_(command),
        arguments_(std::move(arguments)),
        problem_(problemOf(command.problem)),
        sum_(problem_->sum()),
        division_(sum_.size(), chooseWorkers()),
        constants_(*problem_, division_),
        regulariser_(command.options.regulariser()),
        minimum_(isFirstRank() ? problem_->minimum(division_.all, regulariser_) : std::nullopt) {}

  int run() {
    ThreadPool threads(command_.threads > 0 ? static_cast<std::size_t>(command_.threads)
                       : ranks() != nullptr ? 1
                                            : 0);
    const CurrentWorkers help(threads);
    const StopSignals signals;
    if (ranks() != nullptr) agreeWithRanks();
    const std::vector<std::string> names = methods();
    const bool isNew = command_.resume.empty();
    // Everything that can be wrong is found before a folder is made.
    std::vector<std::unique_ptr<RunningMethod>> built;
    for (const std::string& name : names)
      built.push_back(methodOf(name, *problem_, division_, constants_, command_.options));
    if (!isFirstRank()) {
      for (const auto& method : built) method->serve();
      return 0;
    }
    folder_ = isNew ? newFolder() : fs::path(command_.resume);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const fs::path own = folder_ / folderName(names[i]);
      std::error_code error;
      fs::create_directories(own, error);
      if (error)
        throw BadInput("cannot make the folder '" + printable(own.string()) + "': " + error.message());
      runs_.push_back(std::make_unique<OptimiseRun>(names[i], own, std::move(built[i]), regulariser_));
    }
    introduce(threads.size());
    int code = 0;
    for (auto& run : runs_) {
      if (!isNew && fs::exists(run->stateFile())) run->load();
      if (!optimise(*run)) code = 1;
      if (StopSignals::received() != 0 || !lost_.empty()) break;
      run->method().endServing();
    }
    finish();
    if (!lost_.empty())
      std::fprintf(stderr, "burt: %s%s\n", lost_.c_str(),
                   StopSignals::received() != 0 ? " (launchers send the signal when a rank has died)" : "");
    if (StopSignals::received() == 0 && lost_.empty()) return code;
    std::printf("stopped; resume with: %s optimise --resume %s\n", self().c_str(),
                shellWord(folder_.string()).c_str());
    return StopSignals::received() != 0 ? 128 + StopSignals::received() : 3;
  }

 private:
  /// Before anything else: that all ranks run the same, and when they are given up.
  void agreeWithRanks() {
    ranks()->setStop([] { return StopSignals::received() != 0; });
    ranks()->setPatience(std::chrono::seconds(command_.patience));
    const std::size_t first = 0;
    const std::string all = joined(arguments_) + textOf(sum_.value(problem_->start(), Batch(&first, 1)));
    ranks()->requireSame({.kind = 2}, crc32c(all), "options or data");
  }

  using Clock = std::chrono::steady_clock;

  std::uint64_t chooseWorkers() {
    std::uint64_t& workers = command_.options.workers;
    if (workers == 0) workers = std::min<std::uint64_t>(20, sum_.size());
    return workers;
  }
  std::vector<std::string> methods() const {
    std::vector<std::string> names;
    const std::string& list = command_.compare.empty() ? command_.method : command_.compare;
    for (std::size_t at = 0; at <= list.size();) {
      const std::size_t end = std::min(list.find(',', at), list.size());
      names.push_back(list.substr(at, end - at));
      if (names.back().empty()) throw BadInput("--compare: expected names of methods, got '" + list + "'");
      if (std::count(names.begin(), names.end(), names.back()) > 1)
        throw BadInput("--compare: '" + names.back() + "' is there twice");
      at = end + 1;
    }
    return names;
  }
  static std::string folderName(std::string name) {
    std::replace(name.begin(), name.end(), ':', '-');
    return name;
  }
  fs::path newFolder() const {
    std::error_code error;
    if (command_.out.empty()) {
      fs::create_directories("runs", error);
      for (int i = 1; !error; ++i) {
        const fs::path folder = fs::path("runs") / ("optimise-" + std::to_string(i));
        if (fs::create_directory(folder, error)) return saveArguments(folder);
      }
      throw BadInput("cannot make a folder in runs: " + error.message());
    }
    if (fs::exists(fs::path(command_.out) / "run.safetensors", error))
      throw BadInput("'" + printable(command_.out) + "' already holds a run; continue it with --resume " +
                     shellWord(command_.out) + ", or choose another folder");
    fs::create_directories(command_.out, error);
    if (error) throw BadInput("cannot make the folder '" + printable(command_.out) + "': " + error.message());
    return saveArguments(command_.out);
  }
  fs::path saveArguments(const fs::path& folder) const {
    saveSafetensors((folder / "run.safetensors").string(), {}, {{"run.arguments", joined(arguments_)}});
    return folder;
  }
  void introduce(std::size_t threads) {
    std::printf("%s\n", problem_->describe().c_str());
    if (minimum_) std::printf("minimum %s = %.12g\n", isSmooth() ? "f*" : "of f + R", *minimum_);
    const auto plural = [](std::size_t count) { return count == 1 ? "" : "s"; };
    std::printf("%zu worker%s of %zu sample%s each%s, %zu thread%s%s\n", division_.workers,
                plural(division_.workers), division_.each, plural(division_.each),
                division_.all.size() < sum_.size() ? ", the rest is left out" : "", threads, plural(threads),
                ranks() != nullptr ? " on each rank" : "");
    if (ranks() != nullptr)
      std::printf("%zu ranks: the server on the first%s\n", ranks()->size(),
                  ranks()->size() > 1 ? ", the workers on the others" : ", and the workers too");
    for (const auto& run : runs_)
      std::printf("  %-18s %s\n", run->label().c_str(), run->method().description.c_str());
  }

  /// Runs a method to the end of its budget. False if it diverged.
  bool optimise(OptimiseRun& run) {
    const auto n = static_cast<double>(division_.all.size());
    const double every = command_.every > 0 ? command_.every : command_.epochs / 200;
    OptimiseRow row = run.rows().empty() ? run.look(sum_, division_.all, minimum_) : run.rows().back();
    double next = std::floor(static_cast<double>(row.gradients) / n / every + 1e-9) * every + every;
    auto shown = Clock::now(), saved = shown;
    bool isFinite = std::isfinite(row.value);
    const auto isOver = [&] {
      return static_cast<double>(run.gradients()) >= command_.epochs * n ||
             (command_.rounds > 0 && run.round() >= command_.rounds) || StopSignals::received() != 0;
    };
    while (isFinite && !isOver()) {
      if (!step(run)) break;
      if (static_cast<double>(run.gradients()) < next * n && !isOver()) continue;
      row = run.look(sum_, division_.all, minimum_);
      isFinite = std::isfinite(row.value);
      while (next * n <= static_cast<double>(row.gradients)) next += every;
      const auto now = Clock::now();
      if (isTerminal() && now - shown > std::chrono::milliseconds(100)) {
        show(run, row, false);
        shown = now;
      }
      if (now - saved > std::chrono::seconds(30)) {
        run.save({});
        saved = now;
      }
    }
    run.save({});
    show(run, row, true);
    if (!isFinite)
      std::fprintf(stderr,
                   "burt: %s diverged after %llu rounds; try a smaller --step-size or --step-factor\n",
                   run.label().c_str(), static_cast<unsigned long long>(row.round));
    return isFinite;
  }
  /// A round; false if a rank was lost: then everything is as before it.
  bool step(OptimiseRun& run) {
    try {
      run.step();
    } catch (const Error& error) {
      if (!isLossOfRank(error)) throw;
      lost_ = error.what();
    }
    return lost_.empty();
  }
  void show(const OptimiseRun& run, const OptimiseRow& row, bool isLast) const {
    const auto n = static_cast<double>(division_.all.size());
    std::string bits;
    if (row.bitsUp > 0) {
      char text[64];
      std::snprintf(text, sizeof text, "  %.4g bits up per worker",
                    static_cast<double>(row.bitsUp) / static_cast<double>(division_.workers));
      bits = text;
    }
    const bool isLive = isTerminal();
    std::printf("%s%-18s round %llu  %.1f epochs%s  %s %.6g%s  %s %.2e  %.2f s%s%s", isLive ? "\r" : "",
                run.label().c_str(), static_cast<unsigned long long>(row.round),
                static_cast<double>(row.gradients) / n, bits.c_str(), isSmooth() ? "f" : "f + R", row.value,
                minimum_ ? ((isSmooth() ? "  f - f* " : "  f + R - min ") + shortText(row.gap)).c_str() : "",
                isSmooth() ? "|grad f|" : "|x - prox(x - grad f)|", row.gradientNorm, row.seconds,
                isLive ? "\033[K" : "", isLast ? "\n" : "");
    std::fflush(stdout);
  }
  static std::string shortText(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.2e", number);
    return text;
  }
  bool isSmooth() const { return std::holds_alternative<NoRegulariser>(regulariser_); }
  void finish() const {
    for (const auto& run : runs_)
      if (const std::string wire = run->method().wire(); !wire.empty())
        std::printf("wire of %s: %s\n", run->label().c_str(), wire.c_str());
    const std::string path = (folder_ / "curves.svg").string(),
                      svg = pictureOf(runs_, division_.all.size(), division_.workers, problem_->describe(),
                                      isSmooth());
    AtomicFile file(path, {.durable = false});
    file.write(std::as_bytes(std::span(svg)));
    file.commit();
    std::printf("wrote %s, and metrics.csv and state.safetensors in a folder for each method\n",
                path.c_str());
  }

  Command command_;
  std::vector<std::string> arguments_;
  std::unique_ptr<Problem> problem_;
  Problem::Sum sum_;
  Division division_;
  Constants constants_;
  Regulariser regulariser_;
  std::optional<double> minimum_;
  fs::path folder_;
  std::vector<std::unique_ptr<OptimiseRun>> runs_;
  std::string lost_;
};

}  // namespace

int optimise(std::span<const std::string> arguments) {
  Command command;
  Flags flags;
  addFlags(flags, command);
  if (!flags.parseAll(arguments)) {
    std::printf("%s%s", help().c_str(), flags.help().c_str());
    return 0;
  }
  std::vector<std::string> all(arguments.begin(), arguments.end());
  if (!command.resume.empty()) {
    std::size_t allowed = 1;
    for (const char* name : {"--epochs", "--rounds", "--threads", "--mpi", "--patience"})
      allowed += flags.isGiven(name) ? 1 : 0;
    if (flags.givenCount() > allowed)
      throw BadInput(
          "--resume continues a run as it was; only --epochs, --rounds, --threads, --mpi and --patience may "
          "be "
          "given with it");
    const Command given = command;
    all = argumentsOf(given.resume);
    command = Command();
    Flags before;
    addFlags(before, command);
    before.parseAll(all);
    command.resume = given.resume;
    command.every = command.every > 0 ? command.every : command.epochs / 200;
    if (flags.isGiven("--epochs")) command.epochs = given.epochs;
    if (flags.isGiven("--rounds")) command.rounds = given.rounds;
    if (flags.isGiven("--threads")) command.threads = given.threads;
    command.patience = given.patience;
  }
  for (const std::string& argument : all)
    if (argument.find('\n') != std::string::npos || !isUtf8(argument))
      throw BadInput("an argument has a line break or is not UTF-8; rename the file");
  if (!command.problem.data.empty() && command.problem.name == "quadratic")
    throw BadInput("--data: a quadratic has no data; leave it out");
  return Optimisation(command, std::move(all)).run();
}

}  // namespace burt
