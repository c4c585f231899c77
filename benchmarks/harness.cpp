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

#include "limits/fma_peak.hpp"

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

double nsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// A field of /proc/self/status or smaps_rollup in KB, 0 where there is none.
long procField(const char* file, const std::string& name) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line))
    if (line.rfind(name, 0) == 0) return std::atol(line.c_str() + name.size());
  return 0;
}

std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", x);
  return text;
}

/// For tables: whole numbers as they are, others to three digits.
std::string rounded(double x) {
  char text[32];
  std::snprintf(text, sizeof text, x == std::round(x) ? "%.0f" : "%.3g", x);
  return text;
}

std::string asJson(const Row& row) {
  std::ostringstream out;
  const auto fields = [&](const auto& list) {
    std::string text;
    for (const auto& [name, value] : list)
      text += (text.empty() ? "\"" : ",\"") + name + "\":" + number(value);
    return text;
  };
  out << "{\"experiment\":\"" << row.experiment << "\",\"system\":\"" << row.system << "\",\"mode\":\""
      << row.mode << "\",\"dtype\":\"" << row.dtype << "\",\"params\":{" << fields(row.params)
      << "},\"work\":\"" << row.work << "\",\"ns_min\":" << (row.isGradientOk ? number(row.nsMin) : "null")
      << ",\"ns_median\":" << (row.isGradientOk ? number(row.nsMedian) : "null")
      << ",\"spread\":" << number(row.spread) << ",\"ratio_to_limit\":"
      << (row.isGradientOk && row.ratioToLimit > 0 ? number(row.ratioToLimit) : "null")
      << ",\"gradient_ok\":" << (row.isGradientOk ? "true" : "false");
  out << ",\"init_ms\":" << number(row.initMs);
  if (!row.extra.empty()) out << "," << fields(row.extra);
  out << ",\"vm_peak_kb\":" << procField("/proc/self/status", "VmPeak:")
      << ",\"vm_hwm_kb\":" << procField("/proc/self/status", "VmHWM:")
      << ",\"private_dirty_kb\":" << procField("/proc/self/smaps_rollup", "Private_Dirty:")
      << ",\"version\":\"" << BURTORCH_VERSION << "\",\"compiler\":\"" << BENCH_COMPILER << "\",\"flags\":\""
      << BENCH_FLAGS << "\"}";
  return out.str();
}

void printTable(const std::vector<Row>& rows) {
  double longest = 0;
  for (const Row& row : rows) longest = std::max(longest, row.nsMin);
  const bool isMs = longest >= 1e6;
  const auto time = [&](double ns) {
    char text[32];
    std::snprintf(text, sizeof text, isMs ? "%#.4g" : "%.2f", isMs ? ns / 1e6 : ns);
    return std::string(text);
  };
  std::printf("%-10s %-22s %10s %10s %7s %8s  %s\n", "system", "mode", isMs ? "min ms" : "min ns",
              isMs ? "median ms" : "median ns", "spread", "x limit", "");
  for (const Row& row : rows) {
    std::string notes;
    for (const Figures* figures : {&row.params, &row.extra})
      for (const auto& [name, value] : *figures) notes += name + " " + rounded(value) + "  ";
    if (!row.isGradientOk) {
      std::printf("%-10s %-22s wrong gradient  %s\n", row.system.c_str(), row.mode.c_str(), notes.c_str());
      continue;
    }
    const std::string ratio = row.ratioToLimit > 0 ? number(std::round(row.ratioToLimit * 100) / 100) : "";
    std::printf("%-10s %-22s %10s %10s %6.1f%% %8s  %s\n", row.system.c_str(), row.mode.c_str(),
                time(row.nsMin).c_str(), time(row.nsMedian).c_str(), 100 * row.spread, ratio.c_str(),
                notes.c_str());
  }
}

/// NaN is not within anything.
bool isRight(const Contestant& contestant, const Answer& answer, double tolerance) {
  const std::vector<double> found = contestant.gradient();
  if (found.size() != answer.gradient.size()) return false;
  double scale = 0;
  for (const double g : answer.gradient) scale = std::max(scale, std::abs(g));
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!(std::abs(found[i] - answer.gradient[i]) <= tolerance * scale)) return false;
  return !contestant.loss || std::abs(contestant.loss() - answer.loss) <= tolerance * std::abs(answer.loss);
}

/// The first call, and the gradients after 1, 2, 4, ... calls: of several batches, without running all of them often.
Row judged(const Trial& trial, const Contestant& contestant) {
  Row row{.experiment = trial.experiment,
          .system = contestant.system,
          .mode = contestant.mode,
          .dtype = trial.dtype};
  row.params = contestant.params;
  row.params.push_back({"iterations", static_cast<double>(trial.iterations)});
  for (long calls = 1;; calls = std::min(2 * calls, trial.iterations)) {
    const auto start = Clock::now();
    contestant.run(calls);
    if (calls == 1) row.initMs = nsSince(start) / 1e6;
    const auto batch = static_cast<std::size_t>(calls - 1) % trial.answers.size();
    row.isGradientOk = isRight(contestant, trial.answers[batch], trial.tolerance);
    if (!row.isGradientOk || calls == trial.iterations) return row;
  }
}

}  // namespace

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

std::vector<Row> compare(const Options& options, const Trial& trial,
                         const std::vector<Contestant>& contestants) {
  std::vector<Row> rows;
  for (const Contestant& c : contestants) rows.push_back(judged(trial, c));
  std::vector<std::vector<double>> times(contestants.size());
  double peak = 0;
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    if (trial.flops > 0) peak = std::max(peak, limits::fmaPeak());
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      if (!rows[i].isGradientOk) continue;
      const auto start = Clock::now();
      contestants[i].run(trial.iterations);
      times[i].push_back(nsSince(start) / static_cast<double>(trial.iterations));
    }
  }
  double limit = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].isGradientOk) continue;
    setTimes(rows[i], times[i]);
    if (std::pair(rows[i].system, rows[i].mode) == trial.unit) limit = rows[i].nsMin;
    if (trial.flops > 0) rows[i].extra.push_back({"gflops", trial.flops / rows[i].nsMin});
    if (trial.flops > 0 && peak > 0)
      rows[i].extra.push_back({"peak_share", trial.flops / rows[i].nsMin / peak});
  }
  for (Row& row : rows) row.ratioToLimit = limit > 0 ? row.nsMin / limit : 0;
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

void pinToCore(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  CPU_SET(static_cast<std::size_t>(core >= 0 ? core : cores - 1), &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    std::fprintf(stderr, "bench: cannot pin to a core, timing goes on\n");
}

}  // namespace bench
