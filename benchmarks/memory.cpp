// Start-up and memory of whole processes: an empty C++ program, one gradient of the tiny graph, and training programs of the
// mini GPT and the character MLP, whose memory is compared with what their numbers take. Other systems have a process for each
// of their modes, which computes one gradient of the same and takes no step: from the start of the program, imports and
// compilation included.
#include <time.h>

#include <cstdlib>
#include <string>

#include "child.hpp"
#include "peers.hpp"

namespace bench {
namespace {

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

struct Start {
  double nsToReport = 0, bytesNeeded = 0;
  Memory memory = {};
  bool isOk = false;  // it ran to its end and found its gradient right
};

/// Starts a program of this folder; it prints the time at which it had its gradient and how many bytes it needs at least,
/// and waits for the end of its input, so that its memory can be looked at.
Start start(const std::vector<std::string>& command) {
  const double begin = now();
  Child child(command);
  std::string line;
  if (!child.hear(line)) return {};
  Start result;
  result.memory = memoryOf(child.id());
  char* rest = nullptr;
  result.nsToReport = std::strtod(line.c_str(), &rest) - begin;
  result.bytesNeeded = std::strtod(rest, nullptr);
  result.isOk = child.finish() == 0;
  return result;
}

/// What a training program may take: this much for being a program, and its numbers with some air.
double allowedKb(double bytesNeeded) { return 1.5 * 1024 + 1.3 * bytesNeeded / 1024; }

void addPeers(const Options& options, const Trial& trial, std::vector<Row>& rows) {
  for (const PeerStart& start : startPeers(options, trial)) {
    Row row{.experiment = "memory",
            .system = start.system,
            .mode = start.mode,
            .dtype = start.dtype,
            .work = trial.experiment + " process"};
    row.params = trial.peers.params;
    row.failure = start.failure;
    row.version = start.version;
    row.memory = start.memory;
    if (start.failure.empty()) setTimes(row, start.times);
    row.extra = {{"peak_resident_kb", static_cast<double>(start.memory.vmHwm)}};
    rows.push_back(row);
  }
}

}  // namespace

std::vector<Row> memory(const Options& options) {
  struct Case {
    const char *program, *data;
    int batch, tile;  // 0: not a training program; tile 0: the fastest
    const char* work = "process";
  };
  const Case cases[] = {
      {"empty", "", 0, 0},
      {"first_gradient", "", 0, 0, "tiny process"},
      {"train_gpt", BENCH_DATA "/scenes.txt", 1, 1, "gpt process"},
      {"train_gpt", BENCH_DATA "/scenes.txt", 64, 1, "gpt process"},
      {"train_gpt", BENCH_DATA "/scenes.txt", 64, 0, "gpt process"},
      {"train_mlp", BENCH_DATA "/names.txt", 1, 1, "mlp process"},
      {"train_mlp", BENCH_DATA "/names.txt", 64, 1, "mlp process"},
      {"train_mlp", BENCH_DATA "/names.txt", 64, 0, "mlp process"},
  };
  std::vector<Row> rows;
  for (const Case& one : cases) {
    const bool isLong = one.batch > 1 || std::string(one.program) == "train_mlp";
    if (options.isQuick && isLong) continue;
    Row row{.experiment = "memory", .system = "burtorch", .mode = one.program, .work = one.work};
    if (one.batch > 0)
      row.params = {{"batch", static_cast<double>(one.batch)}, {"tile", static_cast<double>(one.tile)}};
    std::vector<std::string> command{std::string(BENCH_PROGRAMS) + "/" + one.program};
    if (one.batch > 0)
      command.insert(command.end(), {one.data, std::to_string(one.batch), std::to_string(one.tile)});
    double needed = 0;
    std::vector<double> times;
    for (int i = 0; i < (options.isQuick ? 10 : 40); ++i) {
      const Start started = start(command);
      if (!started.isOk) row.failure = "failed";
      times.push_back(started.nsToReport);
      if (started.memory.vmHwm > row.memory.vmHwm) row.memory = started.memory;
      needed = started.bytesNeeded;
    }
    setTimes(row, times);
    row.extra = {{"peak_resident_kb", static_cast<double>(row.memory.vmHwm)}};
    if (needed > 0) row.extra.push_back({"allowed_kb", allowedKb(needed)});
    rows.push_back(row);
  }
  addPeers(options, tinyTrial(options), rows);
  addPeers(options, gptTrial(options, 1), rows);
  if (!options.isQuick) addPeers(options, gptTrial(options, 64), rows);
  if (!options.isQuick) addPeers(options, mlpTrial(options, 1, 1024), rows);
  return rows;
}

}  // namespace bench
