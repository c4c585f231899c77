// Start-up and memory of a whole process: the tiny graph's program beside an empty C++ program, 20 starts each.
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
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
  double nsToReport = 0, kbResident = 0;
};

/// Starts a program of this folder; it prints the time at which it had its gradient.
Start start(const std::string& program) {
  int pipeEnds[2];
  if (pipe(pipeEnds) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipeEnds[1], 1);
  posix_spawn_file_actions_addclose(&actions, pipeEnds[0]);
  char* arguments[] = {const_cast<char*>(program.c_str()), nullptr};
  pid_t child = 0;
  const double begin = now();
  const int failed = posix_spawn(&child, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipeEnds[1]);
  char text[64] = {};
  if (failed == 0 && read(pipeEnds[0], text, sizeof text - 1) < 0) text[0] = 0;
  close(pipeEnds[0]);
  rusage usage{};
  if (failed == 0) wait4(child, nullptr, 0, &usage);
  return {std::atof(text) - begin, static_cast<double>(usage.ru_maxrss)};
}

}  // namespace

std::vector<Row> memory(const Options& options) {
  std::vector<Row> rows;
  for (const char* program : {"empty", "first_gradient"}) {
    Row row{.experiment = "memory", .system = "burtorch", .mode = program, .work = "process"};
    double resident = 0;
    std::vector<double> times;
    for (int i = 0; i < (options.isQuick ? 10 : 40); ++i) {
      const Start one = start(std::string(BENCH_PROGRAMS) + "/" + program);
      times.push_back(one.nsToReport);
      resident = std::max(resident, one.kbResident);
    }
    setTimes(row, times);
    row.extra = {{"peak_resident_kb", resident}};
    rows.push_back(row);
  }
  return rows;
}

}  // namespace bench
