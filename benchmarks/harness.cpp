#include "harness.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <burtorch/burtorch.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "limits/bandwidth.hpp"
#include "limits/fma_peak.hpp"
#include "peers.hpp"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

double nsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// A field of a file in /proc in KB, 0 where there is none.
long procField(const std::string& file, const std::string& name) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line))
    if (line.rfind(name, 0) == 0) return std::atol(line.c_str() + name.size());
  return 0;
}

constexpr const char* errorName = "gradient_error";

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", x);
  return text;
}

/// For tables: whole numbers as they are, others to three digits.
std::string rounded(double x) {
  char text[32];
  std::snprintf(text, sizeof text, x == std::round(x) || x >= 1000 ? "%.0f" : "%.3g", x);
  return text;
}

/// A JSON string; what is not printable becomes a blank.
std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

std::string asJson(const Row& row) {
  const auto fields = [&](const auto& list) {
    std::string text;
    for (const auto& [name, value] : list) {
      if (!text.empty()) text += ',';
      text += quoted(name) + ":" + (value.isWord() ? quoted(value.word()) : number(value.number()));
    }
    return text;
  };
  const auto orNull = [&](double x) { return row.isOk() && x > 0 ? number(x) : "null"; };
  const bool isOurs = row.version.empty();
  std::ostringstream out;
  out << "{\"experiment\":" << quoted(row.experiment) << ",\"system\":" << quoted(row.system)
      << ",\"mode\":" << quoted(row.mode) << ",\"dtype\":" << quoted(row.dtype) << ",\"params\":{"
      << fields(row.params) << "},\"work\":" << quoted(row.work) << ",\"ns_min\":" << orNull(row.nsMin)
      << ",\"ns_median\":" << orNull(row.nsMedian) << ",\"spread\":" << number(row.spread)
      << ",\"ratio_to_limit\":" << orNull(row.ratioToLimit)
      << ",\"gradient_ok\":" << (row.isOk() ? "true" : "false") << ",\"init_ms\":" << number(row.initMs);
  if (!row.isOk()) out << ",\"failure\":" << quoted(row.failure);
  if (!row.extra.empty()) out << "," << fields(row.extra);
  out << ",\"vm_peak_kb\":" << row.memory.vmPeak << ",\"vm_hwm_kb\":" << row.memory.vmHwm
      << ",\"private_dirty_kb\":" << row.memory.privateDirty
      << ",\"version\":" << quoted(isOurs ? BURTORCH_VERSION : row.version)
      << ",\"compiler\":" << quoted(isOurs ? BENCH_COMPILER : "")
      << ",\"flags\":" << quoted(isOurs ? BENCH_FLAGS : "") << "}";
  return out.str();
}

/// Four digits and a unit.
std::string duration(double ns) {
  const std::pair<double, const char*> units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {0, "ns"}};
  for (const auto& [size, unit] : units) {
    if (ns < size) continue;
    char text[32];
    std::snprintf(text, sizeof text, "%#.4g %s", ns / std::max(size, 1.0), unit);
    return text;
  }
  return "";
}

/// The error of an FP32 gradient against FP64, which has a column of its own; nothing if the row has none.
std::string errorOf(const Row& row) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1e", numberOf(row.extra, errorName));
  return numberOf(row.extra, errorName) > 0 ? text : "";
}

void printTable(const std::vector<Row>& rows) {
  const bool hasErrors = std::ranges::any_of(rows, [](const Row& row) { return !errorOf(row).empty(); });
  const auto inColumn = [&](const std::string& error) {
    return hasErrors ? std::string(9 - std::min<std::size_t>(error.size(), 9), ' ') + error : "";
  };
  std::printf("%-10s %-22s %12s %12s %7s %8s%s\n", "system", "mode", "min", "median", "spread", "x limit",
              inColumn("error").c_str());
  for (const Row& row : rows) {
    std::string notes;
    for (const Figures* figures : {&row.params, &row.extra})
      for (const auto& [name, value] : *figures)
        if (name != errorName)
          notes += "  " + name + " " + (value.isWord() ? value.word() : rounded(value.number()));
    const bool isNamed = row.work == "step" || row.work == "build" || row.experiment == "kernels";
    const std::string mode = isNamed ? row.mode + " " + row.work : row.mode;
    std::printf("%-10s %-22s ", row.system.c_str(), mode.c_str());
    if (row.isOk())
      std::printf("%12s %12s %6.1f%% %8s%s%s\n", duration(row.nsMin).c_str(), duration(row.nsMedian).c_str(),
                  100 * row.spread, row.ratioToLimit > 0 ? rounded(row.ratioToLimit).c_str() : "",
                  inColumn(errorOf(row)).c_str(), notes.c_str());
    else
      std::printf("%-42s%s%s\n", row.failure.c_str(), inColumn(errorOf(row)).c_str(), notes.c_str());
  }
}

/// Nanoseconds of `calls` units of work.
double timed(const Contestant& contestant, long calls) {
  const auto start = Clock::now();
  contestant.run(calls);
  return contestant.ownNs ? contestant.ownNs() : nsSince(start);
}

/// The same on as many cores as the contestant has threads.
double timedOn(int core, const Contestant& contestant, long calls) {
  const OnCores here(core, contestant.threads);
  return timed(contestant, calls);
}

constexpr double turnOfAPeer = 20e6;  // ns: long enough for any clock
constexpr double patience = 3e9;      // ns: who takes longer has had nine turns and needs no more

/// The first call, and the gradients after 1, 2, 4, ... calls: of several batches, without running all of them often.
/// `calls` becomes the number of a turn.
Row judged(const Options& options, const Trial& trial, const Contestant& contestant, long& calls) {
  Row row{.experiment = trial.experiment,
          .system = contestant.system,
          .mode = contestant.mode,
          .dtype = contestant.dtype.empty() ? trial.dtype : contestant.dtype,
          .work = contestant.work.empty() ? trial.work : contestant.work};
  row.params = contestant.params;
  row.extra = contestant.extra;
  row.version = contestant.version;
  row.initMs = contestant.initMs;
  double error = 0;
  for (calls = 1;; calls = std::min(2 * calls, trial.iterations)) {
    const double ns = timedOn(options.core, contestant, calls);
    if (calls == 1 && row.initMs == 0) row.initMs = ns / 1e6;
    const auto batch = static_cast<std::size_t>(calls - 1) % trial.answers.size();
    if (!isRight(contestant, trial, batch, &error)) row.failure = "wrong gradient";
    const bool isLongEnough = contestant.ownNs && ns >= turnOfAPeer && calls > 1;
    if (!row.isOk() || isLongEnough || calls == trial.iterations) break;
  }
  row.params.push_back({"iterations", static_cast<double>(calls)});
  // Who rounds how much, right or wrong: a small model has rows beyond the tolerance that only rounding explains.
  if (row.dtype == "fp32" && contestant.gradient && std::isfinite(error))
    row.extra.push_back({errorName, error});
  return row;
}

}  // namespace

double numberOf(const Figures& figures, const std::string& name) {
  for (const auto& [own, value] : figures)
    if (own == name) return value.number();
  return 0;
}

bool isRight(const Contestant& contestant, const Trial& trial, std::size_t batch, double* error) {
  if (!contestant.gradient) return true;
  const Answer& answer = trial.answers[batch];
  const double tolerance = contestant.dtype == "fp32" ? std::max(trial.tolerance, 1e-4) : trial.tolerance;
  const std::vector<double> found = contestant.gradient();
  if (found.size() != answer.gradient.size()) return false;
  double scale = 0, most = 0;
  bool hasNan = false;
  for (std::size_t i = 0; i < found.size(); ++i) {
    scale = std::max(scale, std::abs(answer.gradient[i]));
    most = std::max(most, std::abs(found[i] - answer.gradient[i]));
    hasNan |= std::isnan(found[i]);  // which no maximum shows
  }
  if (error != nullptr && scale > 0) *error = std::max(*error, hasNan ? INFINITY : most / scale);
  if (hasNan || !(most <= tolerance * scale)) return false;
  return !contestant.loss || std::abs(contestant.loss() - answer.loss) <= tolerance * std::abs(answer.loss);
}

void setTimes(Row& row, std::vector<double> times) {
  std::sort(times.begin(), times.end());
  row.nsMin = times.front();
  row.nsMedian = times[times.size() / 2];
  // Half of the repeats lie within this share of the median.
  row.spread = (times[times.size() * 3 / 4] - times[times.size() / 4]) / row.nsMedian;
}

std::vector<double> timesOf(const std::function<void()>& call, int repeats) {
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const auto start = Clock::now();
    call();
    times.push_back(nsSince(start));
  }
  return times;
}

Memory memoryOf(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  return {procField(folder + "/status", "VmPeak:"), procField(folder + "/status", "VmHWM:"),
          procField(folder + "/smaps_rollup", "Private_Dirty:")};
}

std::vector<Row> compare(const Options& options, const Trial& asked, const std::vector<Contestant>& locals) {
  Trial trial = asked;
  if (options.isOnlyJudged) trial.iterations = std::max(1L, static_cast<long>(trial.answers.size()));
  const Peers peers(options, trial);
  std::vector<Contestant> contestants = locals;
  for (Contestant& peer : peers.contestants()) contestants.push_back(std::move(peer));
  std::vector<Row> rows;
  std::vector<long> calls(contestants.size());
  for (std::size_t i = 0; i < contestants.size(); ++i)
    rows.push_back(judged(options, trial, contestants[i], calls[i]));

  std::vector<std::vector<double>> times(contestants.size());
  std::vector<double> spent(contestants.size());
  double peak = 0, bandwidth = 0;
  // Not between the turns: it empties the caches.
  const auto measureBandwidth = [&] {
    for (int i = 0; i < 3 && trial.bytes > 0; ++i) bandwidth = std::max(bandwidth, limits::bandwidth());
  };
  measureBandwidth();
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    if (trial.flops > 0) peak = std::max(peak, limits::fmaPeak());
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      if (!rows[i].isOk() || (repeat >= fewestRepeats && spent[i] > patience)) continue;
      const double ns = timedOn(options.core, contestants[i], calls[i]);
      spent[i] += ns;
      times[i].push_back(ns / static_cast<double>(calls[i]));
    }
  }
  measureBandwidth();
  double limit = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].isOk()) continue;
    setTimes(rows[i], times[i]);
    if (std::pair(rows[i].system, rows[i].mode) == trial.unit) limit = rows[i].nsMin;
    if (trial.flops > 0) rows[i].extra.push_back({"gflops", trial.flops / rows[i].nsMin});
    if (trial.flops > 0 && peak > 0)  // of all its cores
      rows[i].extra.push_back(
          {"peak_share", trial.flops / rows[i].nsMin / peak / static_cast<double>(contestants[i].threads)});
    if (bandwidth > 0) rows[i].extra.push_back({"bandwidth_share", trial.bytes / rows[i].nsMin / bandwidth});
    if (rows[i].system == "limit" && peak > 0) rows[i].extra.push_back({"peak_gflops", peak});
    if (rows[i].system == "limit" && bandwidth > 0) rows[i].extra.push_back({"bandwidth_gbs", bandwidth});
  }
  for (Row& row : rows) row.ratioToLimit = limit > 0 ? row.nsMin / limit : 0;
  peers.finish(rows, trial);
  return rows;
}

void print(const Options& options, const std::vector<Row>& rows) {
  if (options.json == "-") {
    for (const Row& row : rows) std::cout << asJson(row) << '\n';
    return;
  }
  printTable(rows);
  if (options.json.empty()) return;
  std::ofstream out(options.json, std::ios::app);
  for (const Row& row : rows) out << asJson(row) << '\n';
  if (!out) std::fprintf(stderr, "bench: cannot write %s\n", options.json.c_str());
}

void pinToCores(int core, std::size_t count) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const auto cores = static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN));
  const std::size_t first = core >= 0 ? static_cast<std::size_t>(core) : cores - std::min(count, cores);
  CPU_SET(first, &set);  // even one that there is not, for the message
  for (std::size_t i = 1; i < count; ++i) CPU_SET((first + i) % cores, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    std::fprintf(stderr, "bench: cannot pin to a core, timing goes on\n");
}

}  // namespace bench
