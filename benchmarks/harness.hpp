// How we measure: every contestant first hands over its gradient, then all run in turns, `repeats` times, on one core;
// minimum, median and spread of the time for one unit of work are reported. A wrong gradient has no time.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct Options {
  std::string experiment;
  int repeats = 41;
  int core = -1;  // -1: the last one
  bool isQuick = false;
  std::string json;  // "-": standard output
};

/// One row of a table.
struct Row {
  std::string experiment, system, mode, dtype = "fp64", work = "gradient";
  std::vector<std::pair<std::string, double>> params = {};
  double nsMin = 0, nsMedian = 0, spread = 0;
  double ratioToLimit = 0;  // 0: not applicable
  bool isGradientOk = true;
  double initMs = 0;                                       // the first call
  std::vector<std::pair<std::string, double>> extra = {};  // further figures, for instance bytes per node
};

/// Something to be timed: `run(n)` does n units of work; `gradient()` is what it found.
struct Contestant {
  std::string system, mode;
  std::function<void(long)> run;
  std::function<std::vector<double>()> gradient;
};

/// Times the contestants in turns. `reference` is the right gradient; the row `unit` (system, mode) is the limit.
std::vector<Row> compare(const Options& options, const std::string& experiment, long iterations,
                         const std::vector<double>& reference, const std::vector<Contestant>& contestants,
                         const std::pair<std::string, std::string>& unit);

/// Fills in minimum, median and spread of times in nanoseconds.
void setTimes(Row& row, std::vector<double> times);
/// Nanoseconds of each of many calls.
std::vector<double> timesOf(const std::function<void()>& call, int repeats);

void print(const Options& options, const std::vector<Row>& rows);
void pinToCore(int core);

std::vector<Row> tiny(const Options&);
std::vector<Row> small(const Options&);
std::vector<Row> scale(const Options&);
std::vector<Row> memory(const Options&);
std::vector<Row> moons(const Options&);
std::vector<Row> compile(const Options&);

/// Keeps a number alive and hides where it comes from, so that nothing folds and nothing is dropped.
[[gnu::always_inline]] inline void launder(double& x) { asm volatile("" : "+x"(x)::"memory"); }

}  // namespace bench
