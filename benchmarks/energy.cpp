// What gradients cost besides time (Table 19): energy where the machine counts it (RAPL), else processor seconds and
// instructions, of as many gradients of the small graph as fit into a few seconds, scaled to 200,000.
#include <linux/perf_event.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "child.hpp"
#include "peers.hpp"

namespace bench {
namespace {

constexpr double wanted = 200'000;  // gradients, as in the paper
constexpr double longest = 2e9;     // ns of one contestant

/// Processor seconds that a process has used; 0: this one.
double processorSeconds(pid_t process) {
  if (process == 0) {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  }
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;  // state to cmajflt
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

/// Joules that the processor's package has used since some time; negative where nobody counts them.
double joules() {
  std::ifstream file("/sys/class/powercap/intel-rapl:0/energy_uj");
  double microjoules = 0;
  return file >> microjoules ? microjoules / 1e6 : -1;
}

/// Counts the instructions of a process's first thread.
class InstructionCounter {
 public:
  explicit InstructionCounter(pid_t process) {
    perf_event_attr what{};
    what.size = sizeof what;
    what.type = PERF_TYPE_HARDWARE;
    what.config = PERF_COUNT_HW_INSTRUCTIONS;
    what.exclude_kernel = 1;
    file_ = static_cast<int>(syscall(SYS_perf_event_open, &what, process, -1, -1, 0));
  }
  ~InstructionCounter() {
    if (file_ >= 0) close(file_);
  }
  InstructionCounter(const InstructionCounter&) = delete;
  InstructionCounter& operator=(const InstructionCounter&) = delete;
  /// 0 where the machine does not count.
  double count() const {
    std::uint64_t value = 0;
    return file_ >= 0 && read(file_, &value, sizeof value) == sizeof value ? static_cast<double>(value) : 0;
  }

 private:
  int file_;
};

/// Instructions of a program by valgrind's count; 0 without valgrind, or if it does not know this processor's.
double instructionsByValgrind(const std::string& calls) {
  const std::string errors =
      (std::filesystem::temp_directory_path() / ("burtorch-valgrind-" + std::to_string(getpid()))).string();
  const int code =
      Child({"valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
             std::string(BENCH_PROGRAMS) + "/gradients", calls},
            errors)
          .wait();
  std::ifstream file(errors);
  double count = 0;
  for (std::string line; std::getline(file, line);)
    if (const std::size_t at = line.find("refs:");  // "== I   refs:", in newer ones "== I refs:"
        at != std::string::npos && line.find("== I ") < at && code == 0) {
      std::string digits;
      for (const char c : line.substr(at))
        if (c >= '0' && c <= '9') digits += c;
      count = std::atof(digits.c_str());
    }
  std::remove(errors.c_str());
  return count;
}

/// Of one gradient of the small graph, eager; the start of the program cancels.
double instructionsPerGradient() {
  const double few = instructionsByValgrind("1000"), many = instructionsByValgrind("3000");
  return few > 0 && many > few ? (many - few) / 2000 : 0;
}

}  // namespace

std::vector<Row> spent(const Options& options, const Trial& trial, const std::vector<Contestant>& locals) {
  const Peers peers(options, trial);
  std::vector<Contestant> contestants = locals;
  for (Contestant& peer : peers.contestants()) contestants.push_back(std::move(peer));
  std::vector<Row> rows;
  for (const Contestant& contestant : contestants) {
    Row row{.experiment = "energy",
            .system = contestant.system,
            .mode = contestant.mode,
            .work = "200000 gradients"};
    row.version = contestant.version;
    row.initMs = contestant.initMs;
    if (!contestant.dtype.empty()) row.dtype = contestant.dtype;
    const double once = timesOf([&] { contestant.run(16); }, 1)[0] / 16;
    if (!isRight(contestant, trial, 0)) row.failure = "wrong gradient";
    const double calls =
        std::floor(std::max(16.0, std::min(wanted, (options.isQuick ? longest / 4 : longest) / once)));
    const InstructionCounter counter(contestant.process);
    const double seconds = processorSeconds(contestant.process), energy = joules(), counted = counter.count();
    setTimes(row, timesOf([&] { contestant.run(static_cast<long>(calls)); }, 1));
    const double scale = wanted / calls;
    row.nsMin *= scale, row.nsMedian *= scale;
    row.params = {{"iterations", calls}};
    row.extra = {{"cpu_seconds", (processorSeconds(contestant.process) - seconds) * scale}};
    if (counted > 0 || counter.count() > 0)
      row.extra.push_back({"instructions_per_gradient", (counter.count() - counted) / calls});
    if (energy >= 0) row.extra.push_back({"joules", (joules() - energy) * scale});
    rows.push_back(row);
  }
  Trial named = trial;
  named.experiment = "energy";
  peers.finish(rows, named);
  for (Row& row : rows) {
    const bool isCounted = std::any_of(row.extra.begin(), row.extra.end(), [](const auto& figure) {
      return figure.first == "instructions_per_gradient";
    });
    if (row.system != "burtorch" || row.mode != "eager" || isCounted) continue;
    if (const double count = instructionsPerGradient(); count > 0)
      row.extra.push_back({"instructions_per_gradient", count});
    else
      std::fprintf(stderr,
                   "energy: instructions are not measured: no counters in this machine, no valgrind\n");
  }
  if (joules() < 0)
    std::fprintf(stderr,
                 "energy: not measured, this machine does not count it; processor seconds stand for it\n");
  return rows;
}

}  // namespace bench
