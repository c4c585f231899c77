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
  std::printf("%-10s %-22s %10s %10s %7s %8s  %s\n", "system", "mode", "min ns", "median ns", "spread",
              "x limit", "");
  for (const Row& row : rows) {
    std::string notes;
    for (const auto& [name, value] : row.params) notes += name + " " + number(value) + "  ";
    for (const auto& [name, value] : row.extra) notes += name + " " + number(value) + "  ";
    if (!row.isGradientOk) {
      std::printf("%-10s %-22s wrong gradient\n", row.system.c_str(), row.mode.c_str());
      continue;
    }
    const std::string ratio = row.ratioToLimit > 0 ? number(std::round(row.ratioToLimit * 100) / 100) : "";
    std::printf("%-10s %-22s %10.2f %10.2f %6.1f%% %8s  %s\n", row.system.c_str(), row.mode.c_str(),
                row.nsMin, row.nsMedian, 100 * row.spread, ratio.c_str(), notes.c_str());
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

std::vector<Row> compare(const Options& options, const std::string& experiment, long iterations,
                         const std::vector<double>& reference, const std::vector<Contestant>& contestants,
                         const std::pair<std::string, std::string>& unit) {
  std::vector<Row> rows;
  std::vector<std::vector<double>> times(contestants.size());
  for (const Contestant& c : contestants) {
    Row row{.experiment = experiment, .system = c.system, .mode = c.mode};
    row.params = {{"iterations", static_cast<double>(iterations)}};
    const auto start = Clock::now();
    c.run(1);
    row.initMs = nsSince(start) / 1e6;
    c.run(iterations);  // warm, and the gradient to judge
    const std::vector<double> found = c.gradient();
    double scale = 0;
    for (double g : reference) scale = std::max(scale, std::abs(g));
    row.isGradientOk = found.size() == reference.size();
    for (std::size_t i = 0; row.isGradientOk && i < reference.size(); ++i)
      row.isGradientOk = std::abs(found[i] - reference[i]) <= 1e-9 * scale;
    rows.push_back(row);
  }
  for (int repeat = 0; repeat < options.repeats; ++repeat) {
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      const auto start = Clock::now();
      contestants[i].run(iterations);
      times[i].push_back(nsSince(start) / static_cast<double>(iterations));
    }
  }
  double limit = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    setTimes(rows[i], times[i]);
    if (std::pair(rows[i].system, rows[i].mode) == unit) limit = rows[i].nsMin;
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
