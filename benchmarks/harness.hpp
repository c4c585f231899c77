// How we measure: every contestant first hands over its gradient, then all run in turns, `repeats` times, on one core, or as
// many as a contestant has threads; minimum, median and spread of the time for one unit of work are reported. A wrong gradient
// has no time.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct Options {
  std::string experiment;
  int repeats = 41;
  int core = -1;  // -1: the last one, or the last ones
  bool isQuick = false;
  bool isOnlyJudged = false;       // one short turn each: the gradients count, the times mean nothing
  std::string json;                // "-": standard output
  std::string data;                // mlp: a file of names; empty: the repository's
  std::vector<std::string> peers;  // other systems to compare with
  std::string shape;     // gpt: paper, nano, baby, gpt2; empty: paper. threads: only this one, or build
  std::string simulate;  // optimise: where the page about networks goes, instead of rows
  // gpt: other sizes than the shape's; 0: the shape's.
  std::size_t width = 0, heads = 0, context = 0, layers = 0;
};

constexpr int fewestRepeats = 9;  // fewer say nothing about noise

/// A number, or a word: the name of a shape.
class Figure {
 public:
  Figure(double number) : number_(number) {}
  Figure(std::string word) : word_(std::move(word)) {}
  bool isWord() const { return !word_.empty(); }
  const std::string& word() const { return word_; }
  double number() const { return number_; }

 private:
  std::string word_;
  double number_ = 0;
};
using Figures = std::vector<std::pair<std::string, Figure>>;
/// The number of that name; 0 if there is none.
double numberOf(const Figures& figures, const std::string& name);

/// Of a whole process, in KB.
struct Memory {
  long vmPeak = 0, vmHwm = 0, privateDirty = 0;
};
Memory memoryOf(pid_t process);

/// One row of a table.
struct Row {
  std::string experiment, system, mode, dtype = "fp64", work = "gradient";
  Figures params = {};
  double nsMin = 0, nsMedian = 0, spread = 0;
  double ratioToLimit = 0;                              // 0: not applicable
  std::string failure = {};                             // why there is no time, for instance "wrong gradient"
  double initMs = 0;                                    // the first call
  Figures extra = {};                                   // further figures, for instance bytes per node
  Memory memory = {};                                   // of the process, where it does nothing else
  std::string version = "", compiler = "", flags = "";  // of another system; empty: ours

  bool isOk() const { return failure.empty(); }
};

/// Something to be timed: `run(n)` does n units of work, beginning with the first batch and taking the batches in turn;
/// `gradient()` and `loss()` are what it found for the last one. A limit that computes no gradient has none to be judged by.
struct Contestant {
  std::string system, mode;
  std::function<void(long)> run;
  std::function<std::vector<double>()> gradient;
  std::function<double()> loss = {};  // not every experiment has one to compare
  Figures params = {};
  std::function<double()> ownNs =
      {};                  // what the last run took by the contestant's own clock; else ours is read
  std::string dtype = "";  // if it is not the trial's
  std::string version = "";
  double initMs = 0;      // of building it and its first call; else the first call is timed
  pid_t process = 0;      // where it runs; 0: here
  Figures extra = {};     // further figures of its row
  std::string work = "";  // if it is not the trial's
  std::size_t threads = 1;
};

/// What is right for one batch.
struct Answer {
  std::vector<double> gradient;
  double loss = 0;
};

/// What other systems are given (peers.hpp).
struct PeerJob {
  Figures settings = {};                   // arguments for the peer's program
  std::vector<float> weights = {};         // as the model lays them out
  std::vector<std::int32_t> batches = {};  // tokens, then targets, batch after batch
  Figures params = {};                     // what the rows show
  std::string experiment = {};             // as the peers call it, if not by the trial's name
  std::vector<std::size_t> threads =
      {};  // a process for each number of them, rows with `threads`; empty: one of one
};

/// What is compared, and how exactly.
struct Trial {
  std::string experiment;
  long iterations;                                // per repeat; a multiple of the number of batches
  std::vector<Answer> answers;                    // one for each batch
  std::pair<std::string, std::string> unit = {};  // system and mode of the row that is the limit
  std::string dtype = "fp64", work = "gradient";
  double tolerance = 1e-9;  // relative to the largest entry of a gradient
  double flops = 0;  // of a unit of work; above 0, rate and share of the peak become figures of each row
  double bytes =
      0;  // that a unit of work must move at least: weights once, gradients once; their share of the bandwidth
  PeerJob peers = {};
};

/// Its gradient and loss within the tolerance of the trial and of its precision? `error` grows to the largest error of an entry,
/// relative to the largest entry.
bool isRight(const Contestant& contestant, const Trial& trial, std::size_t batch, double* error = nullptr);

/// Times the contestants in turns, and the peers that the options name; those that are wrong have no times.
std::vector<Row> compare(const Options& options, const Trial& trial,
                         const std::vector<Contestant>& contestants);

/// What many gradients cost everybody (energy.cpp): energy where the machine counts it, processor time and instructions.
std::vector<Row> spent(const Options& options, const Trial& trial, const std::vector<Contestant>& locals);

/// Fills in minimum, median and spread of times in nanoseconds.
void setTimes(Row& row, std::vector<double> times);
/// Nanoseconds of each of many calls.
std::vector<double> timesOf(const std::function<void()>& call, int repeats);

void print(const Options& options, const std::vector<Row>& rows);
/// Lets the calling thread, and what it starts, run on so many cores, of which `core` is one, the last if negative.
void pinToCores(int core, std::size_t count = 1);
/// The same until the end of the block; then the one core again.
class OnCores {
 public:
  OnCores(int core, std::size_t count) : core_(core), isWider_(count > 1) {
    if (isWider_) pinToCores(core, count);
  }
  OnCores(const OnCores&) = delete;
  OnCores& operator=(const OnCores&) = delete;
  ~OnCores() {
    if (isWider_) pinToCores(core_);
  }

 private:
  int core_;
  bool isWider_;
};

std::vector<Row> tiny(const Options&);
std::vector<Row> small(const Options&);
std::vector<Row> scale(const Options&);
std::vector<Row> memory(const Options&);
std::vector<Row> energy(const Options&);
std::vector<Row> moons(const Options&);
std::vector<Row> compile(const Options&);
std::vector<Row> gpt(const Options&);
std::vector<Row> gptGrowth(const Options&);  // rows of scale
std::vector<Row> threads(const Options&);
std::vector<Row> mlp(const Options&);
/// What memory gives to other systems: the tiny graph, the mini GPT, the character MLP.
Trial tinyTrial(const Options&);
Trial gptTrial(const Options&, std::size_t batch);
Trial mlpTrial(const Options&, std::size_t batch, std::size_t hidden);
std::vector<Row> saveload(const Options&);
std::vector<Row> kernels(const Options&);
std::vector<Row> optimise(const Options&);
std::vector<Row> pack(const Options&);

/// Keeps a number alive and hides where it comes from, so that nothing folds and nothing is dropped.
[[gnu::always_inline]] inline void launder(double& x) { asm volatile("" : "+x"(x)::"memory"); }

}  // namespace bench
