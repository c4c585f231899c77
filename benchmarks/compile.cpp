// What a compile-time graph costs the compiler: time and memory for one gradient of the tiny, the small and the moons
// graph, beside a file that only includes the library. The compiler and its flags are those of this benchmark.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "harness.hpp"

extern char** environ;

namespace bench {
namespace {

/// Compiles a program of benchmarks/programs; `mb` becomes the compiler's peak memory. False if it fails.
bool compileProgram(const std::string& name, double& mb) {
  std::vector<std::string> words{BENCH_CXX};
  std::istringstream flags(BENCH_FLAGS);
  for (std::string flag; flags >> flag;) words.push_back(flag);
  const std::string source = std::string(BENCH_SOURCES) + "/programs/" + name + ".cpp";
  for (const char* word : {"-std=c++20", "-I", BENCH_INCLUDE, "-c", source.c_str(), "-o", "/dev/null"})
    words.push_back(word);
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawnp(&child, BENCH_CXX, nullptr, nullptr, arguments.data(), environ) != 0) return false;
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  mb = std::max(mb, static_cast<double>(usage.ru_maxrss) / 1024);
  return status == 0;
}

}  // namespace

std::vector<Row> compile(const Options& options) {
  struct Case {
    const char* name;
    double nodes;
  };
  const Case cases[] = {
      {"compile_nothing", 0}, {"compile_tiny", 9}, {"compile_small", 26}, {"compile_moons", 983}};
  std::vector<Row> rows;
  for (const Case& one : cases) {
    Row row{.experiment = "compile", .system = "burtorch", .mode = "static", .work = "compilation"};
    if (one.nodes == 0) row.mode = "include-only";
    double mb = 0;
    bool isOk = true;
    setTimes(row, timesOf([&] { isOk = compileProgram(one.name, mb) && isOk; }, options.isQuick ? 1 : 3));
    if (!isOk) row.failure = "does not compile";
    row.params = {{"nodes", one.nodes}};
    row.extra = {{"seconds", row.nsMin / 1e9}, {"peak_mb", mb}};
    if (!rows.empty()) row.extra.push_back({"added_seconds", (row.nsMin - rows[0].nsMin) / 1e9});
    rows.push_back(row);
  }
  return rows;
}

}  // namespace bench
