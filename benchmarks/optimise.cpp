// What optimisers cost that reach into backpropagation (the paper's section 4), FP32. Every row stands beside what it is measured by,
// the trial's limit, in the same turns, and has its target: the largest ratio to it. Beyond the gradients that a method asks for,
// its step should cost next to nothing (optimise_methods.cpp, with the same methods in PyTorch and JAX); so should its compressors
// (optimise_compressors.cpp). Here: what sweeps of the mini GPT save, or cost, that do less or more than one gradient.
#include "optimise.hpp"

#include <burtorch/core/guided_sweep.hpp>
#include <cstdio>

namespace bench {

void addRows(const Options& options, const Trial& trial, const std::vector<Contestant>& contestants,
             const std::string& mode, double target, std::vector<Row>& rows) {
  for (Row& row : compare(options, trial, contestants)) {
    if (row.system == "burtorch" && row.mode == mode && target > 0)
      row.extra.insert(row.extra.begin(), {"target", target});
    rows.push_back(std::move(row));
  }
}

namespace {

using burtorch::Gpt;
using Problem = GptProblem<float>;

/// Something on one sample after the other, into memory of its own.
struct Sweeps {
  std::shared_ptr<Problem> problem;
  std::unique_ptr<Problem::Oracle> oracle;
  std::vector<float> first, second;  // results
  std::vector<std::size_t> all;

  explicit Sweeps(const std::shared_ptr<Problem>& from)
      : problem(from),
        oracle(from->whole()),
        first(from->start().size()),
        second(first.size()),
        all(from->samples()) {
    std::iota(all.begin(), all.end(), std::size_t{0});
  }
  burtorch::Batch sample(long i) const { return {all.data() + static_cast<std::size_t>(i) % all.size(), 1}; }
};

template <class Work, class Result>
Contestant contestantOf(const char* system, const char* mode, std::shared_ptr<Sweeps> sweeps, Work work,
                        Result result) {
  return {.system = system,
          .mode = mode,
          .run =
              [sweeps, work](long calls) {
                for (long i = 0; i < calls; ++i) work(*sweeps, sweeps->sample(i));
              },
          .gradient = [sweeps, result] { return result(*sweeps); },
          .params = {{"method", std::string(mode)}, {"batch", 1.0}}};
}

std::vector<double> asDoubles(std::span<const float> numbers) { return {numbers.begin(), numbers.end()}; }

/// A point that a method could have come from.
std::vector<float> pointBefore(const std::vector<float>& x) {
  std::vector<float> before(x);
  burtorch::Rng rng(7);
  for (float& number : before) number += 1e-2f * (rng.uniform<float>() - .5f);
  return before;
}

/// Samples recorded on a tape; only the sweep is timed.
struct OnTape {
  std::shared_ptr<Problem> problem;
  std::shared_ptr<const Batches> batches;
  burtorch::Tape<float> tape;
  burtorch::SweepMemory memory;
  StopWatch watch;
  bool isStopped = false;
  OnTape(std::shared_ptr<Problem> p, std::shared_ptr<const Batches> b)
      : problem(std::move(p)), batches(std::move(b)), tape(problem->parameters()) {}
  template <class Sweep> void run(long calls, Sweep sweep) {
    const burtorch::CurrentTape here(tape);
    watch.reset();
    const std::size_t context = problem->model().config().context;
    std::vector<burtorch::TokenId> tokens(context), targets(context);
    for (long i = 0; i < calls; ++i) {
      batches->read(static_cast<std::size_t>(i) % batches->size(), tokens, targets);
      const burtorch::SampleScope scope(tape);
      problem->parameters().zeroGrad();
      const auto root = problem->model().loss(tokens, targets);
      watch.start();
      sweep(root);
      watch.stop();
    }
  }
};

class SweepTrials {
 public:
  SweepTrials(const Options& options, std::vector<Row>& rows)
      : options_(options),
        rows_(rows),
        weights_(randomWeights<Gpt<float>>(burtorch::GptConfig{})),
        batches_(gptBatches({}, weights_, 1)),
        problem_(std::make_shared<Problem>(weights_, batches_)),
        exact_(std::make_shared<GptProblem<double>>(weights_, batches_)),
        before_(pointBefore(problem_->start())) {
    options_.peers.clear();
  }

  void run() {
    whole();
    subset();
    polled();
    atTwo();
  }

 private:
  std::shared_ptr<Sweeps> sweeps() const { return std::make_shared<Sweeps>(problem_); }
  /// fp64 gradients at a point, a sample at a time.
  template <class X> std::vector<Answer> answersAt(const X& x) {
    const auto oracle = exact_->whole();
    const std::vector<double> point(x.begin(), x.end());
    std::vector<Answer> answers(exact_->samples());
    for (std::size_t i = 0; i < answers.size(); ++i) {
      answers[i].gradient.resize(point.size());
      answers[i].loss = oracle->gradient(point, burtorch::Batch(&i, 1), answers[i].gradient);
    }
    return answers;
  }
  Trial trial(const char* work, std::vector<Answer> answers) const {
    return {.experiment = "optimise",
            .iterations = static_cast<long>(8 * answers.size()),
            .answers = std::move(answers),
            .unit = {"limit", "gradient"},
            .dtype = "fp32",
            .work = work,
            .tolerance = 1e-4};
  }
  Contestant gradient() const {
    return contestantOf(
        "limit", "gradient", sweeps(),
        [](Sweeps& s, burtorch::Batch batch) { s.oracle->gradient(s.problem->start(), batch, s.first); },
        [](Sweeps& s) { return asDoubles(s.first); });
  }
  void whole() { answers_ = answersAt(problem_->start()); }

  /// Only the head: what leads there is swept, the other numbers stay as they were.
  void subset() {
    const burtorch::Block head[] = {problem_->model().layout().blocks().end()[-2].block(),
                                    problem_->model().layout().blocks().end()[-1].block()};
    const std::vector<burtorch::Block> wanted(std::begin(head), std::end(head));
    const auto own = sweeps();
    constexpr float untouched = 77;
    std::fill(own->first.begin(), own->first.end(), untouched);
    const auto part = contestantOf(
        "burtorch", "last-layer", own,
        [wanted](Sweeps& s, burtorch::Batch batch) {
          s.oracle->gradient(s.problem->start(), batch, s.first, {.wanted = burtorch::Wanted(wanted)});
        },
        [](Sweeps& s) { return asDoubles(s.first); });
    // Judged beside the whole gradient, whose answers are others: its own trial knows what must not be touched.
    Trial own_ = trial("gradient", answers_);
    for (Answer& answer : own_.answers)
      std::fill(answer.gradient.begin(), answer.gradient.begin() + wanted[0].first, double{untouched});
    Contestant full = gradient();
    full.gradient = {};  // judged by the trial of two points
    addRows(options_, own_, {full, part}, "last-layer", 0.35, rows_);
  }

  /// A sweep that could be stopped after every 64 instructions, beside one that could not.
  void polled() {
    const auto make = [&](const char* system, const char* mode, auto sweep) {
      auto run = std::make_shared<OnTape>(std::make_shared<Problem>(weights_, batches_), batches_);
      return Contestant{
          .system = system,
          .mode = mode,
          .run = [run, sweep](long calls) { run->run(calls, [&](const auto& root) { sweep(*run, root); }); },
          .gradient = [run] { return asDoubles(run->problem->parameters().gradients()); },
          .params = {{"method", std::string(mode)}, {"batch", 1.0}},
          .ownNs = [run] { return run->watch.ns(); }};
    };
    Trial trial = this->trial("sweep", answers_);
    trial.unit = {"limit", "sweep"};
    addRows(options_, trial,
            {make("limit", "sweep", [](OnTape&, const auto& root) { backward(root); }),
             make("burtorch", "stoppable",
                  [](OnTape& on, const auto& root) {
                    const auto stop = [&] { return on.isStopped; };
                    backward(root, {.memory = &on.memory, .stop = stop});
                  })},
            "stoppable", 1.01, rows_);
  }

  /// Gradients at two points, of the same samples, and their difference.
  void atTwo() {
    const std::vector<Answer> atBefore = answersAt(before_);
    Trial both = trial("gradient", answers_);
    for (std::size_t i = 0; i < both.answers.size(); ++i) {
      std::vector<double>& answer = both.answers[i].gradient;
      const std::vector<double>& other = atBefore[i].gradient;
      const std::vector<double> difference = minus(answer, other);
      answer.insert(answer.end(), other.begin(), other.end());
      answer.insert(answer.end(), difference.begin(), difference.end());
    }
    const auto inOne = [](Sweeps& s) {
      std::vector<double> all = asDoubles(s.first);
      all.insert(all.end(), s.second.begin(), s.second.end());
      const auto difference = minus(s.first, s.second);
      all.insert(all.end(), difference.begin(), difference.end());
      return all;
    };
    const std::vector<float> before = before_;
    Contestant one = gradient();
    one.gradient = {};
    addRows(options_, both,
            {one,
             contestantOf(
                 "burtorch", "one-after-the-other", sweeps(),
                 [before](Sweeps& s, burtorch::Batch batch) {
                   s.oracle->gradient(s.problem->start(), batch, s.first);
                   s.oracle->gradient(before, batch, s.second);
                 },
                 inOne),
             contestantOf(
                 "burtorch", "two-points", sweeps(),
                 [before](Sweeps& s, burtorch::Batch batch) {
                   burtorch::gradientsAtTwo(*s.oracle, std::span<const float>(s.problem->start()),
                                            std::span<const float>(before), batch, std::span(s.first),
                                            std::span(s.second));
                 },
                 inOne)},
            "two-points", 1.7, rows_);
    Trial single = trial("gradient", answers_);
    for (std::size_t i = 0; i < single.answers.size(); ++i)
      single.answers[i].gradient = minus(answers_[i].gradient, atBefore[i].gradient);
    addRows(options_, single,
            {one, contestantOf(
                      "burtorch", "difference", sweeps(),
                      [before](Sweeps& s, burtorch::Batch batch) {
                        burtorch::difference(*s.oracle, std::span<const float>(s.problem->start()),
                                             std::span<const float>(before), batch, std::span(s.first),
                                             std::span(s.second));
                      },
                      [](Sweeps& s) { return asDoubles(s.first); })},
            "difference", 1.7, rows_);
  }

  Options options_;
  std::vector<Row>& rows_;
  std::vector<float> weights_;
  std::shared_ptr<const Batches> batches_;
  std::shared_ptr<Problem> problem_;
  std::shared_ptr<GptProblem<double>> exact_;
  std::vector<float> before_;
  std::vector<Answer> answers_;
};

}  // namespace

std::vector<Row> optimise(const Options& options) {
  if (!options.simulate.empty()) {
    simulateNetworks(options);
    return {};
  }
  std::vector<Row> rows;
  optimiseMethods(options, rows);
  optimiseCompressors(options, rows);
  SweepTrials(options, rows).run();
  return rows;
}

}  // namespace bench
