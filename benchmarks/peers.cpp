#include "peers.hpp"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace bench {
namespace {

namespace fs = std::filesystem;

template <class T> void writeNumbers(const fs::path& path, const std::vector<T>& numbers) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(numbers.data()),
             static_cast<std::streamsize>(numbers.size() * sizeof(T)));
}
std::vector<float> readFloats(const fs::path& path) {
  std::vector<float> numbers(fs::exists(path) ? fs::file_size(path) / sizeof(float) : 0);
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(numbers.data()),
            static_cast<std::streamsize>(numbers.size() * sizeof(float)));
  return numbers;
}

/// What follows `"name": ` in a line of JSON that our own script wrote.
std::string fieldOf(const std::string& line, const std::string& name) {
  const std::size_t at = line.find("\"" + name + "\": ");
  if (at == std::string::npos) return "";
  std::size_t from = at + name.size() + 4;
  const bool isText = line[from] == '"';
  from += isText ? 1 : 0;
  return line.substr(from, line.find_first_of(isText ? "\"" : ",}", from) - from);
}

/// Runs a program without a shell and gives what it printed; empty if it failed.
std::string outputOf(const std::vector<std::string>& command) {
  int ends[2];
  if (pipe(ends) != 0) return "";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  pid_t child = 0;
  const bool isRunning =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  char part[4096];
  for (ssize_t count = 0; isRunning && (count = read(ends[0], part, sizeof part)) > 0;)
    output.append(part, static_cast<std::size_t>(count));
  close(ends[0]);
  int status = 1;
  if (isRunning) waitpid(child, &status, 0);
  return status == 0 ? output : "";
}

bool isRight(const std::vector<float>& found, const Answer& answer, double tolerance) {
  if (found.size() != answer.gradient.size()) return false;
  double scale = 0;
  for (const double g : answer.gradient) scale = std::max(scale, std::abs(g));
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!(std::abs(static_cast<double>(found[i]) - answer.gradient[i]) <= tolerance * scale)) return false;
  return true;
}

}  // namespace

std::vector<Row> pytorch(const Options& options, const Trial& trial, const PeerJob& job) {
  const char* named = std::getenv("BURTORCH_PYTHON");
  const std::string python = named != nullptr ? named : "python3";
  const fs::path folder = fs::temp_directory_path() / ("burtorch-bench-" + std::to_string(getpid()));
  fs::create_directories(folder);
  writeNumbers(folder / "weights.bin", job.weights);
  writeNumbers(folder / "batches.bin", job.batches);
  std::vector<std::string> command{python,
                                   BENCH_SOURCES "/peers/pytorch.py",
                                   trial.experiment,
                                   "--parameters",
                                   (folder / "weights.bin").string(),
                                   "--batches",
                                   (folder / "batches.bin").string(),
                                   "--out",
                                   folder.string(),
                                   "--repeats",
                                   std::to_string(options.isQuick ? 9 : 15)};
  command.insert(command.end(), job.arguments.begin(), job.arguments.end());
  std::vector<Row> rows;
  std::string output = outputOf(command);
  for (std::size_t end; (end = output.find('\n')) != std::string::npos; output.erase(0, end + 1)) {
    const std::string line = output.substr(0, end);
    Row row{.experiment = trial.experiment,
            .system = "pytorch",
            .mode = fieldOf(line, "mode"),
            .dtype = trial.dtype};
    row.params = job.params;
    row.nsMin = std::atof(fieldOf(line, "ns_min").c_str());
    row.nsMedian = std::atof(fieldOf(line, "ns_median").c_str());
    row.spread = std::atof(fieldOf(line, "spread").c_str());
    row.initMs = std::atof(fieldOf(line, "init_ms").c_str());
    row.isGradientOk = isRight(readFloats(fieldOf(line, "gradient")), trial.answers[0], trial.tolerance);
    rows.push_back(row);
  }
  fs::remove_all(folder);
  if (rows.empty())
    std::fprintf(
        stderr,
        "bench: no rows of PyTorch: %s cannot run it; BURTORCH_PYTHON names an interpreter with torch\n",
        python.c_str());
  return rows;
}

}  // namespace bench
