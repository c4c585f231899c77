// Start-up and memory of whole processes: an empty C++ program, one gradient of the tiny graph, and training programs of the
// mini GPT and the character MLP, whose memory is compared with what their numbers take.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "harness.hpp"

extern char** environ;

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
};

/// Starts a program of this folder; it prints the time at which it had its gradient and how many bytes it needs at least,
/// and waits for the end of its input, so that its memory can be looked at.
Start start(const std::vector<std::string>& command) {
  int toChild[2], fromChild[2];
  if (pipe2(toChild, O_CLOEXEC) != 0 || pipe2(fromChild, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, toChild[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, fromChild[1], STDOUT_FILENO);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const double begin = now();
  const bool isRunning = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(toChild[0]), close(fromChild[1]);
  char text[64] = {};
  if (isRunning && read(fromChild[0], text, sizeof text - 1) < 0) text[0] = 0;
  Start result;
  if (isRunning) result.memory = memoryOf(child);
  close(toChild[1]), close(fromChild[0]);
  if (isRunning) waitpid(child, nullptr, 0);
  char* rest = text;
  result.nsToReport = std::strtod(text, &rest) - begin;
  result.bytesNeeded = std::strtod(rest, nullptr);
  return result;
}

/// What a training program may take: this much for being a program, and its numbers with some air.
double allowedKb(double bytesNeeded) { return 1.5 * 1024 + 1.3 * bytesNeeded / 1024; }

}  // namespace

std::vector<Row> memory(const Options& options) {
  struct Case {
    const char *program, *data;
    int batch, tile;  // 0: not a training program; tile 0: the fastest
  };
  const Case cases[] = {
      {"empty", "", 0, 0},
      {"first_gradient", "", 0, 0},
      {"train_gpt", BENCH_DATA "/scenes.txt", 1, 1},
      {"train_gpt", BENCH_DATA "/scenes.txt", 64, 1},
      {"train_gpt", BENCH_DATA "/scenes.txt", 64, 0},
      {"train_mlp", BENCH_DATA "/names.txt", 1, 1},
      {"train_mlp", BENCH_DATA "/names.txt", 64, 1},
      {"train_mlp", BENCH_DATA "/names.txt", 64, 0},
  };
  std::vector<Row> rows;
  for (const Case& one : cases) {
    Row row{.experiment = "memory", .system = "burtorch", .mode = one.program, .work = "process"};
    if (one.batch > 0)
      row.params = {{"batch", static_cast<double>(one.batch)}, {"tile", static_cast<double>(one.tile)}};
    std::vector<std::string> command{std::string(BENCH_PROGRAMS) + "/" + one.program};
    if (one.batch > 0)
      command.insert(command.end(), {one.data, std::to_string(one.batch), std::to_string(one.tile)});
    double needed = 0;
    std::vector<double> times;
    for (int i = 0; i < (options.isQuick ? 10 : 40); ++i) {
      const Start started = start(command);
      times.push_back(started.nsToReport);
      if (started.memory.vmHwm > row.memory.vmHwm) row.memory = started.memory;
      needed = started.bytesNeeded;
    }
    setTimes(row, times);
    row.extra = {{"peak_resident_kb", static_cast<double>(row.memory.vmHwm)}};
    if (needed > 0) row.extra.push_back({"allowed_kb", allowedKb(needed)});
    rows.push_back(row);
  }
  return rows;
}

}  // namespace bench
