#include "peers.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>

#include "child.hpp"

namespace bench {
namespace {

namespace fs = std::filesystem;

constexpr int notInstalled = 77;  // the exit code of a peer without its system

struct Kind {
  const char* name;
  bool isPython;
};
constexpr Kind kinds[] = {{"pytorch", true},  {"libtorch", false}, {"jax", true},       {"tensorflow", true},
                          {"tflite", true},   {"autograd", true},  {"micrograd", true}, {"mlx", true},
                          {"tinygrad", true}, {"casadi", true},    {"adolc", false},    {"cppad", false},
                          {"sacado", false},  {"stan", false}};

template <class T> void writeNumbers(const fs::path& path, const std::vector<T>& numbers) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(numbers.data()),
             static_cast<std::streamsize>(numbers.size() * sizeof(T)));
}
std::vector<double> readNumbers(const fs::path& path) {
  std::vector<double> numbers(fs::exists(path) ? fs::file_size(path) / sizeof(double) : 0);
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(numbers.data()),
            static_cast<std::streamsize>(numbers.size() * sizeof(double)));
  return numbers;
}

std::string lastLineOf(const fs::path& path) {
  std::ifstream file(path);
  std::string line, last;
  while (std::getline(file, line))
    if (!line.empty()) last = line;
  return last;
}

/// The interpreter of the peers: the one that was named, the one that ./bench setup made, or the system's.
std::string python() {
  if (const char* named = std::getenv("BURTORCH_PYTHON")) return named;
  const std::string ours = BENCH_PEERS "/bin/python";
  return fs::exists(ours) ? ours : "python3";
}

std::vector<std::string> commandOf(const Kind& kind) {
  if (kind.isPython) return {python(), BENCH_SOURCES "/peers/" + std::string(kind.name) + "_peer.py"};
  return {std::string(BENCH_PROGRAMS) + "/peers/" + kind.name + "_peer"};
}

/// One thread for everybody who is not told otherwise, and no chatter.
void setEnvironment() {
  const std::pair<const char*, const char*> settings[] = {
      {"OMP_NUM_THREADS", "1"},      {"MKL_NUM_THREADS", "1"}, {"OPENBLAS_NUM_THREADS", "1"},
      {"TF_CPP_MIN_LOG_LEVEL", "3"}, {"JAX_PLATFORMS", "cpu"}, {"PYTHONDONTWRITEBYTECODE", "1"}};
  for (const auto& [name, value] : settings) setenv(name, value, 0);
}

}  // namespace

struct PeerMode {
  std::string name, dtype;
  double initMs = 0;
  Figures figures = {};
};

/// A peer that runs, and what it said of itself.
class PeerProcess {
 public:
  /// `extra` are further arguments.
  PeerProcess(const Kind& kind, const std::string& experiment, const fs::path& folder,
              const Figures& settings, const std::vector<std::string>& extra = {})
      : name_(kind.name), folder_(folder) {
    std::vector<std::string> command = commandOf(kind);
    if (!kind.isPython && !fs::exists(command[0])) {
      failure_ = "not installed";
      return;
    }
    command.insert(command.end(), {experiment, folder.string()});
    for (const auto& [setting, value] : settings) {
      std::ostringstream text;
      text.precision(17);
      text << setting << '=';
      if (value.isWord())
        text << value.word();
      else
        text << value.number();
      command.push_back(text.str());
    }
    command.insert(command.end(), extra.begin(), extra.end());
    child_.emplace(command, (folder / "errors.txt").string());
    listen();
  }

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  /// Why it does not run (any more); empty if it does.
  const std::string& failure() const { return failure_; }
  const std::vector<PeerMode>& modes() const { return modes_; }
  const std::vector<std::pair<std::string, std::string>>& failedModes() const { return failedModes_; }
  pid_t id() const { return child_ ? child_->id() : 0; }
  Memory memory() const { return child_ ? memoryOf(child_->id()) : Memory{}; }

  /// Nanoseconds; NaN if the peer died.
  double run(const std::string& mode, long calls) { return ask("run " + mode + " " + std::to_string(calls)); }
  double loss(const std::string& mode) { return ask("answer " + mode); }
  std::vector<double> gradient(const std::string& mode) {
    loss(mode);
    return readNumbers(folder_ / "gradient.bin");
  }

 private:
  /// What the peer says of itself.
  void listen() {
    for (std::string line; child_->hear(line);) {
      std::istringstream words(line);
      std::string word;
      words >> word;
      if (word == "ready") return;
      if (word == "version") std::getline(words >> std::ws, version_);
      if (word == "mode") {
        PeerMode mode;
        words >> mode.name >> mode.dtype >> mode.initMs;
        for (std::string figure; words >> figure;)
          if (const std::size_t at = figure.find('='); at != std::string::npos)
            mode.figures.push_back({figure.substr(0, at), std::atof(figure.c_str() + at + 1)});
        modes_.push_back(mode);
      } else if (word == "failed") {
        std::string mode, why;
        std::getline(words >> mode >> std::ws, why);
        failedModes_.push_back({mode, why});
      }
    }
    fail();
  }

  double ask(const std::string& question) {
    std::string answer;
    if (failure_.empty() && child_->say(question) && child_->hear(answer)) return std::atof(answer.c_str());
    fail();
    return std::numeric_limits<double>::quiet_NaN();
  }

  void fail() {
    if (!failure_.empty()) return;
    failure_ = child_->finish() == notInstalled ? "not installed" : "failed";
    const std::string why = lastLineOf(folder_ / "errors.txt");
    if (!why.empty()) failure_ += ": " + why;
  }

  std::string name_, version_, failure_;
  fs::path folder_;
  std::optional<Child> child_;
  std::vector<PeerMode> modes_;
  std::vector<std::pair<std::string, std::string>> failedModes_;
};

const std::vector<std::string>& knownPeers() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Kind& kind : kinds) list.push_back(kind.name);
    return list;
  }();
  return names;
}

namespace {

fs::path temporaryFolder() {
  return fs::temp_directory_path() / ("burtorch-bench-" + std::to_string(getpid()));
}

/// Calls use(kind, folder) for each peer that the options name; the folder holds what the job gives it. `name` is that of the
/// folder, behind the peer's.
template <class Use>
void forEachPeer(const Options& options, const std::string& experiment, const PeerJob& job, Use use,
                 const std::string& name = "") {
  if (options.peers.empty()) return;
  setEnvironment();
  for (const Kind& kind : kinds) {
    if (std::find(options.peers.begin(), options.peers.end(), kind.name) == options.peers.end()) continue;
    if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K%s: starting %s", experiment.c_str(), kind.name);
    const fs::path folder = temporaryFolder() / (kind.name + name);
    fs::create_directories(folder);
    writeNumbers(folder / "weights.bin", job.weights);
    writeNumbers(folder / "batches.bin", job.batches);
    use(kind, folder);
  }
  if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K");
}

}  // namespace

Peers::Peers(const Options& options, const Trial& trial) : folder_(temporaryFolder().string()) {
  const PeerJob& job = trial.peers;
  const std::string& experiment = job.experiment.empty() ? trial.experiment : job.experiment;
  const auto start = [&](std::size_t threads, const Figures& params,
                         const std::vector<std::string>& arguments, const std::string& name) {
    const OnCores here(options.core, threads);  // which a process inherits
    const auto one = [&](const Kind& kind, const fs::path& folder) {
      members_.push_back({std::make_shared<PeerProcess>(kind, experiment, folder, job.settings, arguments),
                          params, threads});
    };
    forEachPeer(options, trial.experiment, job, one, name);
  };
  if (job.threads.empty()) start(1, job.params, {}, "");
  for (const std::size_t threads : job.threads) {
    const std::string count = std::to_string(threads);
    Figures params = job.params;
    params.push_back({"threads", static_cast<double>(threads)});
    start(threads, params, {"threads=" + count}, "-" + count);
  }
}

Peers::~Peers() {
  members_.clear();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::vector<Contestant> Peers::contestants() const {
  std::vector<Contestant> list;
  for (const auto& [process, params, threads] : members_)
    for (const PeerMode& mode : process->modes()) {
      auto lastNs = std::make_shared<double>(0);
      const std::size_t colon = mode.name.find(':');
      list.push_back({.system = process->name(),
                      .mode = mode.name.substr(0, colon),
                      .run = [process = process, lastNs,
                              name = mode.name](long calls) { *lastNs = process->run(name, calls); },
                      .gradient = [process = process, name = mode.name] { return process->gradient(name); },
                      .loss = [process = process, name = mode.name] { return process->loss(name); },
                      .params = params,
                      .ownNs = [lastNs] { return *lastNs; },
                      .dtype = mode.dtype,
                      .version = process->version(),
                      .initMs = mode.initMs,
                      .process = process->id(),
                      .extra = mode.figures,
                      .work = colon == std::string::npos ? "" : mode.name.substr(colon + 1),
                      .threads = threads});
    }
  return list;
}

void Peers::finish(std::vector<Row>& rows, const Trial& trial) const {
  const auto add = [&](const std::string& system, const std::string& mode, const Figures& params,
                       const std::string& why) {
    const std::size_t colon = mode.find(':');
    Row row{.experiment = trial.experiment,
            .system = system,
            .mode = mode.substr(0, colon),
            .dtype = trial.dtype,
            .work = colon == std::string::npos ? trial.work : mode.substr(colon + 1)};
    row.params = params;
    row.failure = why;
    rows.push_back(row);
  };
  for (const auto& [process, params, threads] : members_) {
    for (Row& row : rows) {
      const bool isOf = numberOf(row.params, "threads") == numberOf(params, "threads");
      if (row.system != process->name() || !isOf) continue;
      row.memory = process->memory();
      if (!process->failure().empty()) row.failure = process->failure();  // it died on the way
    }
    for (const auto& [mode, why] : process->failedModes())
      add(process->name(), mode, params, "failed: " + why);
    if (process->modes().empty() && !process->failure().empty())
      add(process->name(), "", params, process->failure());
  }
}

namespace {

using Clock = std::chrono::steady_clock;

void startOnce(const Kind& kind, const Trial& trial, const fs::path& folder, const PeerMode& mode,
               PeerStart& start) {
  const auto begin = Clock::now();
  PeerProcess process(kind, trial.experiment, folder, trial.peers.settings, {"only=" + mode.name});
  start.times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
  start.memory = process.memory();
  const Contestant contestant{.system = kind.name,
                              .mode = mode.name,
                              .run = {},
                              .gradient = [&] { return process.gradient(mode.name); },
                              .loss = [&] { return process.loss(mode.name); },
                              .dtype = mode.dtype};
  if (!process.failure().empty())
    start.failure = process.failure();
  else if (!process.failedModes().empty())
    start.failure = "failed: " + process.failedModes()[0].second;
  else if (!isRight(contestant, trial, 0))
    start.failure = "wrong gradient";
}

}  // namespace

std::vector<PeerStart> startPeers(const Options& options, const Trial& trial) {
  std::vector<PeerStart> starts;
  forEachPeer(options, trial.experiment, trial.peers, [&](const Kind& kind, const fs::path& folder) {
    const PeerProcess list(kind, trial.experiment, folder, trial.peers.settings, {"list=1"});
    if (!list.failure().empty())
      starts.push_back(
          {.system = kind.name, .mode = "", .dtype = trial.dtype, .version = "", .failure = list.failure()});
    for (const PeerMode& mode : list.modes()) {
      PeerStart start{kind.name, mode.name, mode.dtype, list.version(), ""};
      // As often as ours, if that takes no longer than some seconds.
      const auto end = Clock::now() + std::chrono::seconds(2);
      while (start.failure.empty() && start.times.size() < 40 && (start.times.empty() || Clock::now() < end))
        startOnce(kind, trial, folder, mode, start);
      starts.push_back(start);
    }
  });
  std::error_code ignored;
  fs::remove_all(temporaryFolder(), ignored);
  return starts;
}

}  // namespace bench
