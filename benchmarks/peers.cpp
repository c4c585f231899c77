#include "peers.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

extern char** environ;

namespace bench {
namespace {

namespace fs = std::filesystem;

constexpr int notInstalled = 77;         // the exit code of a peer without its system
constexpr int longestSilence = 600'000;  // ms; compilers of graphs take their time

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

/// One thread for everybody, and no chatter.
void setEnvironment() {
  const std::pair<const char*, const char*> settings[] = {
      {"OMP_NUM_THREADS", "1"},      {"MKL_NUM_THREADS", "1"}, {"OPENBLAS_NUM_THREADS", "1"},
      {"TF_CPP_MIN_LOG_LEVEL", "3"}, {"JAX_PLATFORMS", "cpu"}, {"PYTHONDONTWRITEBYTECODE", "1"}};
  for (const auto& [name, value] : settings) setenv(name, value, 0);
}

}  // namespace

struct PeerMode {
  std::string name, dtype;
  double initMs;
};

/// A peer that runs: two pipes and what it said of itself.
class PeerProcess {
 public:
  PeerProcess(const Kind& kind, const std::string& experiment, const fs::path& folder,
              const Figures& settings)
      : name_(kind.name), folder_(folder) {
    fs::create_directories(folder);
    std::vector<std::string> command = commandOf(kind);
    if (!kind.isPython && !fs::exists(command[0])) {
      failure_ = "not installed";
      return;
    }
    command.insert(command.end(), {experiment, folder.string()});
    for (const auto& [setting, value] : settings) {
      std::ostringstream text;
      text.precision(17);
      text << setting << '=' << value;
      command.push_back(text.str());
    }
    start(command);
    listen();
  }
  ~PeerProcess() { stop(); }
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::string& failure() const { return failure_; }
  const std::vector<PeerMode>& modes() const { return modes_; }
  const std::vector<std::pair<std::string, std::string>>& failedModes() const { return failedModes_; }
  Memory memory() const { return child_ > 0 ? memoryOf(child_) : Memory{}; }

  /// Nanoseconds; NaN if the peer died.
  double run(const std::string& mode, long calls) { return ask("run " + mode + " " + std::to_string(calls)); }
  double loss(const std::string& mode) { return ask("answer " + mode); }
  std::vector<double> gradient(const std::string& mode) {
    loss(mode);
    return readNumbers(folder_ / "gradient.bin");
  }

 private:
  void start(const std::vector<std::string>& command) {
    int toChild[2], fromChild[2];
    if (pipe2(toChild, O_CLOEXEC) != 0 || pipe2(fromChild, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, toChild[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fromChild[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, (folder_ / "errors.txt").c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    std::vector<char*> arguments;
    for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    if (posix_spawnp(&child_, arguments[0], &actions, nullptr, arguments.data(), environ) != 0) child_ = 0;
    posix_spawn_file_actions_destroy(&actions);
    close(toChild[0]), close(fromChild[1]);
    to_ = toChild[1], from_ = fromChild[0];
  }

  /// What the peer says of itself.
  void listen() {
    for (std::string line; readLine(line);) {
      std::istringstream words(line);
      std::string word;
      words >> word;
      if (word == "ready") return;
      if (word == "version") std::getline(words >> std::ws, version_);
      if (word == "mode") {
        PeerMode mode;
        words >> mode.name >> mode.dtype >> mode.initMs;
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
    const std::string line = question + "\n";
    std::string answer;
    if (failure_.empty() && write(to_, line.data(), line.size()) == static_cast<ssize_t>(line.size()) &&
        readLine(answer))
      return std::atof(answer.c_str());
    fail();
    return std::numeric_limits<double>::quiet_NaN();
  }

  bool readLine(std::string& line) {
    for (;;) {
      if (const std::size_t end = pending_.find('\n'); end != std::string::npos) {
        line = pending_.substr(0, end);
        pending_.erase(0, end + 1);
        return true;
      }
      pollfd wait{from_, POLLIN, 0};
      if (poll(&wait, 1, longestSilence) <= 0) return false;
      char part[4096];
      const ssize_t count = read(from_, part, sizeof part);
      if (count <= 0) return false;
      pending_.append(part, static_cast<std::size_t>(count));
    }
  }

  void fail() {
    if (!failure_.empty()) return;
    const int code = stop();
    failure_ = code == notInstalled ? "not installed" : "failed";
    const std::string why = lastLineOf(folder_ / "errors.txt");
    if (!why.empty()) failure_ += ": " + why;
  }

  /// Its exit code, -1 if it had to be ended.
  int stop() {
    if (to_ >= 0) close(to_);
    if (from_ >= 0) close(from_);
    to_ = from_ = -1;
    if (child_ <= 0) return -1;
    int status = 0, waited = 0;
    while (waitpid(child_, &status, WNOHANG) == 0) {
      if (++waited == 500) kill(child_, SIGKILL);
      usleep(10'000);
    }
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string name_, version_, failure_, pending_;
  fs::path folder_;
  std::vector<PeerMode> modes_;
  std::vector<std::pair<std::string, std::string>> failedModes_;
  pid_t child_ = 0;
  int to_ = -1, from_ = -1;
};

const std::vector<std::string>& knownPeers() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Kind& kind : kinds) list.push_back(kind.name);
    return list;
  }();
  return names;
}

Peers::Peers(const Options& options, const std::string& experiment, const PeerJob& job)
    : folder_((fs::temp_directory_path() / ("burtorch-bench-" + std::to_string(getpid()))).string()),
      params_(job.params) {
  if (options.peers.empty()) return;
  signal(SIGPIPE, SIG_IGN);  // a peer that died is a row, not the end
  setEnvironment();
  for (const Kind& kind : kinds) {
    if (std::find(options.peers.begin(), options.peers.end(), kind.name) == options.peers.end()) continue;
    if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K%s: starting %s", experiment.c_str(), kind.name);
    const fs::path folder = fs::path(folder_) / kind.name;
    fs::create_directories(folder);
    writeNumbers(folder / "weights.bin", job.weights);
    writeNumbers(folder / "batches.bin", job.batches);
    processes_.push_back(std::make_shared<PeerProcess>(kind, experiment, folder, job.settings));
  }
  if (isatty(STDERR_FILENO)) std::fprintf(stderr, "\r\033[K");
}

Peers::~Peers() {
  processes_.clear();
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::vector<Contestant> Peers::contestants() const {
  std::vector<Contestant> list;
  for (const auto& process : processes_)
    for (const PeerMode& mode : process->modes()) {
      auto lastNs = std::make_shared<double>(0);
      list.push_back(
          {.system = process->name(),
           .mode = mode.name,
           .run = [process, lastNs, name = mode.name](long calls) { *lastNs = process->run(name, calls); },
           .gradient = [process, name = mode.name] { return process->gradient(name); },
           .loss = [process, name = mode.name] { return process->loss(name); },
           .params = params_,
           .ownNs = [lastNs] { return *lastNs; },
           .dtype = mode.dtype,
           .version = process->version(),
           .initMs = mode.initMs});
    }
  return list;
}

void Peers::finish(std::vector<Row>& rows, const Trial& trial) const {
  const auto add = [&](const std::string& system, const std::string& mode, const std::string& why) {
    Row row{.experiment = trial.experiment, .system = system, .mode = mode, .dtype = trial.dtype};
    row.params = params_;
    row.failure = why;
    rows.push_back(row);
  };
  for (const auto& process : processes_) {
    for (Row& row : rows)
      if (row.system == process->name()) row.memory = process->memory();
    for (const auto& [mode, why] : process->failedModes()) add(process->name(), mode, "failed: " + why);
    if (process->modes().empty() && process->failedModes().empty())
      add(process->name(), "", process->failure().empty() ? "has no such experiment" : process->failure());
  }
}

}  // namespace bench
