// What more threads bring: the GPTs of gpt_shapes.hpp by 1, 2, 4, ... threads up to as many as there are cores, ours and
// PyTorch's, in turns; and a graph of a million scalars recorded by as many builders (parallel/builders.hpp).
//
// A contestant runs on as many cores as it has threads. Ours share one model, one store and one state of AdamW, whatever the
// number of threads; PyTorch has a process for each number. What a row takes of the time of one thread is its figure
// `ratio_to_one_thread`.
#include <unistd.h>

#include <algorithm>
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/ops/dual.hpp>
#include <burtorch/parallel/builders.hpp>
#include <cstdio>
#include <memory>

#include "gpt_shapes.hpp"
#include "scalar_chain.hpp"

namespace bench {
namespace {

using burtorch::CurrentTape;
using burtorch::Value;

/// 1, 2, 4, ... and as many as there are cores.
std::vector<std::size_t> threadCounts() {
  const auto cores = static_cast<std::size_t>(sysconf(_SC_NPROCESSORS_ONLN));
  std::vector<std::size_t> counts;
  for (std::size_t count = 1; count < cores; count *= 2) counts.push_back(count);
  counts.push_back(cores);
  return counts;
}

/// Of `count` threads; null for one.
std::shared_ptr<burtorch::ThreadPool> poolOf(const Options& options, std::size_t count) {
  if (count == 1) return nullptr;
  const OnCores here(options.core, count);  // which the pool's threads inherit
  return std::make_shared<burtorch::ThreadPool>(count);
}

/// The same work with the help of a pool.
Contestant helped(Contestant contestant, const std::shared_ptr<burtorch::ThreadPool>& pool) {
  contestant.threads = pool != nullptr ? pool->size() : 1;
  contestant.params.push_back({"threads", static_cast<double>(contestant.threads)});
  contestant.run = [pool, run = std::move(contestant.run)](long calls) {
    const burtorch::CurrentWorkers here(pool.get());
    run(calls);
  };
  return contestant;
}

/// Adds `name`: the time of each row over that of the row it is compared with, which `isBase(row, other)` picks.
template <class IsBase> void addRatio(std::vector<Row>& rows, const char* name, IsBase isBase) {
  for (Row& row : rows) {
    const auto base = std::ranges::find_if(rows, [&](const Row& other) { return isBase(row, other); });
    if (base != rows.end() && base->isOk() && row.isOk())
      row.extra.insert(row.extra.begin(), {name, row.nsMin / base->nsMin});
  }
}
bool isOfOneThread(const Row& row, const Row& other) {
  return numberOf(other.params, "threads") == 1 && other.system == row.system && other.mode == row.mode &&
         other.work == row.work;
}

// GPTs ------------------------------------------------------------------------------------------------------------------------

std::vector<Row> shapeRows(const Options& options, const GptShape& shape, std::size_t batch) {
  ShapeTrial one = shapeTrial(shape, batch, {{"shape", shape.name}, {"batch", static_cast<double>(batch)}});
  one.trial.experiment = "threads";
  one.trial.unit = {};
  one.trial.peers.threads = threadCounts();
  one.trial.peers.settings.push_back({"only", std::string("fused,fused:step,compile,compile:step")});
  std::vector<Contestant> contestants;
  for (const std::size_t count : threadCounts()) {
    const auto pool = poolOf(options, count);
    for (const Contestant& contestant : one.ours) contestants.push_back(helped(contestant, pool));
  }
  std::vector<Row> rows = compare(options, one.trial, contestants);
  addRatio(rows, "ratio_to_one_thread", isOfOneThread);
  return rows;
}

// A graph by builders ---------------------------------------------------------------------------------------------------------

constexpr double leafA = 0.7, leafB = 0.9;

/// Records the sum of several chains of the same two leaves, one after the other or each builder its share of them.
class Build {
 public:
  using Tape = burtorch::Tape<double>;

  /// `builders`: 0 for none, the ordinary recording.
  Build(std::size_t chains, long nodesOfEach, std::size_t builders,
        const std::shared_ptr<burtorch::ThreadPool>& pool)
      : nodes_(nodesOfEach), builders_(builders), pool_(pool), start_(tape_.mark()), roots_(chains) {
    // How much room the chains of a builder take, from recording one. Exact room costs no moving at the join.
    const CurrentTape here(tape_);
    const Value<double> a(leafA), b(leafB);
    const burtorch::TapeCapacity before = tape_.used();
    scalarChain(a, b, nodes_);
    const burtorch::TapeCapacity after = tape_.used();
    for (std::size_t builder = 0; builder < builders; ++builder) {
      const std::size_t share = firstOf(builder + 1) - firstOf(builder);
      rooms_.push_back({share * (after.scalars - before.scalars),
                        share * (after.instructions - before.instructions),
                        share * (after.words - before.words)});
    }
  }

  void run(long calls) {
    const CurrentTape here(tape_);
    for (long i = 0; i < calls; ++i) {
      tape_.rewind(start_);
      a_ = Value<double>(leafA), b_ = Value<double>(leafB);
      if (builders_ == 0)
        record(0, roots_.size());
      else
        recordByBuilders();
      sum_ = reduceSum(roots_);
    }
  }
  double loss() {
    const CurrentTape here(tape_);
    return sum_.value();
  }
  std::vector<double> gradient() {
    const CurrentTape here(tape_);
    backward(sum_);
    return {a_.grad(), b_.grad()};
  }

 private:
  std::size_t firstOf(std::size_t builder) const { return builder * roots_.size() / builders_; }
  void record(std::size_t first, std::size_t end) {
    for (std::size_t chain = first; chain < end; ++chain) roots_[chain] = scalarChain(a_, b_, nodes_);
  }
  void recordByBuilders() {
    burtorch::Builders builders(tape_, rooms_);
    const auto part = [&](std::size_t builder, std::size_t) {
      const CurrentTape mine(builders[builder]);
      record(firstOf(builder), firstOf(builder + 1));
    };
    if (pool_ != nullptr)
      pool_->run(builders_, part);
    else
      part(0, 0);
    builders.join();
  }

  long nodes_;
  std::size_t builders_;
  std::shared_ptr<burtorch::ThreadPool> pool_;
  Tape tape_;
  Tape::Mark start_;
  std::vector<Value<double>> roots_;
  std::vector<burtorch::TapeCapacity> rooms_;
  Value<double> a_, b_, sum_;
};

/// What is right: chains in dual numbers, once along each leaf.
Answer answerOf(std::size_t chains, long nodesOfEach) {
  using D = burtorch::Dual<double>;
  const D alongA = scalarChain(D(leafA, 1), D(leafB, 0), nodesOfEach);
  const D alongB = scalarChain(D(leafA, 0), D(leafB, 1), nodesOfEach);
  const auto count = static_cast<double>(chains);
  return {{count * alongA.tangent, count * alongB.tangent}, count * alongA.value};
}

std::vector<Row> buildRows(const Options& options) {
  constexpr long nodes = 1'000'000;
  const std::size_t chains = threadCounts().back();
  const long each = nodes / static_cast<long>(chains);
  const Trial trial{
      .experiment = "threads", .iterations = 1, .answers = {answerOf(chains, each)}, .work = "build"};
  std::vector<Contestant> contestants;
  const auto add = [&](const char* mode, std::size_t builders) {
    const auto pool = poolOf(options, std::max<std::size_t>(builders, 1));
    const auto build = std::make_shared<Build>(chains, each, builders, pool);
    Contestant contestant{.system = "burtorch",
                          .mode = mode,
                          .run = [build](long calls) { build->run(calls); },
                          .gradient = [build] { return build->gradient(); },
                          .loss = [build] { return build->loss(); },
                          .params = {{"nodes", static_cast<double>(nodes)}}};
    contestant.threads = std::max<std::size_t>(builders, 1);
    contestant.params.push_back({"threads", static_cast<double>(contestant.threads)});
    contestants.push_back(contestant);
  };
  add("serial", 0);
  for (const std::size_t count : threadCounts()) add("builders", count);
  Options alone = options;
  alone.peers.clear();
  std::vector<Row> rows = compare(alone, trial, contestants);
  addRatio(rows, "ratio_to_one_thread", isOfOneThread);
  addRatio(rows, "ratio_to_serial", [](const Row&, const Row& other) { return other.mode == "serial"; });
  return rows;
}

}  // namespace

std::vector<Row> threads(const Options& options) {
  Options own = options;
  std::erase_if(own.peers, [](const std::string& peer) { return peer != "pytorch"; });
  if (own.peers.size() != options.peers.size())
    std::fprintf(stderr, "threads: of the peers, only pytorch takes part\n");
  const bool isBuildAlone = options.shape == "build";
  if (!isBuildAlone) gptShapeNamed(options.shape);
  std::vector<Row> rows;
  const auto add = [&](std::vector<Row> more) {
    for (Row& row : more) rows.push_back(std::move(row));
  };
  for (const GptShape& shape : gptShapes()) {
    const bool isLeftOut = options.isQuick && shape.name == "gpt2";
    if (options.shape.empty() ? isLeftOut : shape.name != options.shape) continue;
    for (const std::size_t batch : shape.batches)
      if (!shape.isPaper() || batch == 64) add(shapeRows(own, shape, batch));
  }
  if (options.shape.empty() || isBuildAlone) add(buildRows(options));
  return rows;
}

}  // namespace bench
