// Steps of PAGE, EF21 and MARINA on the mini GPT at b = 1, FP32: eight samples, or eight clients with a sample each. The limit of a
// method is the gradients that its steps ask for, one after the other, and nothing else.
//
// The gate: where a method is after as many steps as a turn had, beside the same method in plain loops on fp64 gradients. Everybody
// begins every turn at the same point with the same samples, coins and coordinates. Runs are short, since a relu has a kink: where
// its input is within rounding of 0, fp32 may take the other side, and MARINA multiplies that by d / K. (In fp64 the library has
// the bits of the plain loops over longer runs too.)
//
// PyTorch and JAX are given all this in their settings and have the methods as one writes them there (peers/pytorch_optimise.py,
// peers/jax_optimise.py).
#include <algorithm>
#include <burtorch/optimise/ef21.hpp>
#include <burtorch/optimise/in_process.hpp>
#include <burtorch/optimise/marina.hpp>
#include <burtorch/optimise/page.hpp>
#include <burtorch/optimise/sampling.hpp>
#include <burtorch/optimise/step_sizes.hpp>
#include <cmath>

#include "optimise.hpp"

namespace bench {
namespace {

using namespace burtorch;
using Problem = GptProblem<float>;
using Exact = GptProblem<double>;

constexpr double stepSize = 0.02;
constexpr std::size_t clients = 8, sent = 463;  // of 46,289: one in a hundred
constexpr std::uint64_t seed = 3;

/// What a method does in a round: which gradients it asks for.
struct Round {
  bool isFull;                       // PAGE: all samples; EF21, MARINA: whole gradients are sent
  std::vector<std::size_t> samples;  // of PAGE
};

Trial trialOf(const char* method, std::size_t rounds) {
  Trial trial{.experiment = "optimise",
              .iterations = static_cast<long>(rounds),
              .answers = std::vector<Answer>(rounds),
              .unit = {"limit", std::string("gradients-of-") + method}};
  trial.dtype = "fp32";
  trial.work = "step";
  trial.tolerance = 1e-4;
  trial.peers.params = {{"method", std::string(method)}, {"batch", 1.0}};
  return trial;
}

/// A method that begins again in each turn: `Run` has begin(), step(round) and where(), how far it is from the start.
template <class Run>
Contestant contestantOf(const char* system, const std::string& mode, const char* method,
                        std::shared_ptr<Run> run) {
  auto watch = std::make_shared<StopWatch>();
  Contestant contestant{.system = system,
                        .mode = mode,
                        .run =
                            [run, watch](long calls) {
                              run->begin();
                              watch->reset();
                              watch->start();
                              for (long i = 0; i < calls; ++i) run->step(static_cast<std::size_t>(i));
                              watch->stop();
                            },
                        .gradient = {},
                        .params = {{"method", std::string(method)}, {"batch", 1.0}},
                        .ownNs = [watch] { return watch->ns(); }};
  if constexpr (requires { run->where(); }) contestant.gradient = [run] { return run->where(); };
  return contestant;
}

/// Times in the rows of peers: how many of our steps they take.
void addTimesOurs(std::vector<Row>& rows, std::size_t from, const std::string& mode, double least) {
  const auto ours = std::find_if(
      rows.begin() + static_cast<std::ptrdiff_t>(from), rows.end(),
      [&](const Row& row) { return row.system == "burtorch" && row.mode == mode && row.isOk(); });
  if (ours == rows.end()) return;
  for (auto row = rows.begin() + static_cast<std::ptrdiff_t>(from); row != rows.end(); ++row)
    if (row->system != "burtorch" && row->system != "limit" && row->isOk()) {
      row->extra.insert(row->extra.begin(), {"target_least", least});
      row->extra.insert(row->extra.begin(), {"times_ours", row->nsMin / ours->nsMin});
    }
}

PeerJob peerJob(const std::vector<float>& weights, const Batches& batches, const char* method, Figures more) {
  PeerJob job{.settings = gptSettings({}, 1),
              .weights = weights,
              .batches = fileOf(batches),
              .params = {{"method", std::string(method)}, {"batch", 1.0}},
              .experiment = std::string("optimise-") + method};
  job.settings.push_back({"step", stepSize});
  job.settings.insert(job.settings.end(), more.begin(), more.end());
  return job;
}

// PAGE ------------------------------------------------------------------------------------------------------------------------

constexpr PageOptions pageOptions{.stepSize = stepSize, .large = clients, .small = 1, .seed = seed};

/// The rounds that the seed stands for.
std::vector<Round> pageRounds(std::size_t count) {
  const PageOptions options = page::withDefaults(pageOptions, clients);
  NiceSampling small(clients, options.small, Rng(seed, 2).next());
  std::vector<Round> rounds;
  for (std::size_t i = 0; i < count; ++i) {
    const bool isFull = i == 0 || Rng(seed, i).uniform<double>() < options.probability;
    const Batch batch = isFull ? Batch() : small.draw(i);
    rounds.push_back({isFull, {batch.begin(), batch.end()}});
  }
  return rounds;
}

class OurPage {
 public:
  explicit OurPage(const std::shared_ptr<Problem>& problem) : problem_(problem), oracle_(problem->whole()) {}
  void begin() { method_.emplace(*oracle_, std::span<const float>(problem_->start()), pageOptions); }
  void step(std::size_t) { method_->step(); }
  std::vector<double> where() const {
    std::vector<double> way = minus(method_->x(), problem_->start());
    for (std::size_t i = 0; i < way.size(); ++i)
      way[i] -= stepSize * static_cast<double>(method_->estimate()[i]);
    return way;
  }

 private:
  std::shared_ptr<Problem> problem_;
  std::unique_ptr<Problem::Oracle> oracle_;
  std::optional<Page<Problem::Oracle>> method_;
};

/// The gradients alone, at one and the same point, or at two.
class GradientsOfPage {
 public:
  GradientsOfPage(const std::shared_ptr<Problem>& problem, std::vector<Round> rounds)
      : problem_(problem),
        oracle_(problem->whole()),
        rounds_(std::move(rounds)),
        all_(clients),
        other_(problem->start()) {
    first_.resize(other_.size()), second_.resize(other_.size());
  }
  void begin() {}
  void step(std::size_t i) {
    const Round& round = rounds_[i];
    if (round.isFull) return void(oracle_->gradient(problem_->start(), all_, first_));
    oracle_->gradient(problem_->start(), round.samples, first_);
    oracle_->gradient(other_, round.samples, second_);
  }

 private:
  std::shared_ptr<Problem> problem_;
  std::unique_ptr<Problem::Oracle> oracle_;
  std::vector<Round> rounds_;
  AllSamples all_;
  std::vector<float> other_, first_, second_;
};

/// PAGE in plain loops.
void answerPage(Exact& problem, const std::vector<Round>& rounds, std::vector<Answer>& answers) {
  const auto oracle = problem.whole();
  const AllSamples all(clients);
  const std::size_t size = problem.start().size();
  std::vector<double> x = problem.start(), before(size), g(size), atX(size), atBefore(size);
  for (std::size_t t = 0; t < rounds.size(); ++t) {
    if (rounds[t].isFull) {
      oracle->gradient(x, all, g);
    } else {
      oracle->gradient(x, rounds[t].samples, atX);
      oracle->gradient(before, rounds[t].samples, atBefore);
      for (std::size_t i = 0; i < size; ++i) g[i] += atX[i] - atBefore[i];
    }
    before = x;
    for (std::size_t i = 0; i < size; ++i) x[i] -= stepSize * g[i];
    answers[t].gradient = minus(x, problem.start());
  }
}

// EF21, MARINA ----------------------------------------------------------------------------------------------------------------

/// A server and its clients in one process.
template <class Server, class Client> class OurRounds {
 public:
  OurRounds(const std::shared_ptr<Problem>& problem, std::function<Server(std::span<const float>)> makeServer,
            std::function<Client(Problem::Oracle&, std::size_t)> makeClient)
      : problem_(problem), makeServer_(std::move(makeServer)), makeClient_(std::move(makeClient)) {
    for (std::size_t i = 0; i < clients; ++i) oracles_.push_back(problem->client(i));
  }
  void begin() {
    rounds_.reset(), server_.reset(), clients_.clear();
    for (std::size_t i = 0; i < clients; ++i) clients_.push_back(makeClient_(*oracles_[i], i));
    server_.emplace(makeServer_(std::span<const float>(problem_->start())));
    rounds_.emplace(*server_, std::span<Client>(clients_));
  }
  RoundReport step(std::size_t) { return rounds_->round(); }
  std::vector<double> where() const { return minus(server_->x(), problem_->start()); }

 private:
  std::shared_ptr<Problem> problem_;
  std::function<Server(std::span<const float>)> makeServer_;
  std::function<Client(Problem::Oracle&, std::size_t)> makeClient_;
  std::vector<std::unique_ptr<Problem::Oracle>> oracles_;
  std::vector<Client> clients_;
  std::optional<Server> server_;
  std::optional<InProcess<Server, Client>> rounds_;
};
using OurEf21 = OurRounds<Ef21Server<float>, Ef21Client<Problem::Oracle>>;
using OurMarina = OurRounds<MarinaServer<float>, MarinaClient<Problem::Oracle>>;

std::shared_ptr<OurEf21> ourEf21(const std::shared_ptr<Problem>& problem, const AnyCompressor& compressor) {
  return std::make_shared<OurEf21>(
      problem,
      [compressor](std::span<const float> start) {
        return Ef21Server<float>(
            start, {.compressor = compressor, .stepSize = stepSize, .workers = clients, .seed = seed});
      },
      [compressor](Problem::Oracle& oracle, std::size_t i) {
        return Ef21Client<Problem::Oracle>(oracle, {.compressor = compressor, .worker = i});
      });
}
std::shared_ptr<OurMarina> ourMarina(const std::shared_ptr<Problem>& problem,
                                     const AnyCompressor& compressor) {
  const double p = marinaProbability<float>(compressor, problem->start().size());
  return std::make_shared<OurMarina>(
      problem,
      [compressor, p](std::span<const float> start) {
        return MarinaServer<float>(start, {.compressor = compressor,
                                           .stepSize = stepSize,
                                           .probability = p,
                                           .workers = clients,
                                           .seed = seed});
      },
      [compressor](Problem::Oracle& oracle, std::size_t i) {
        return MarinaClient<Problem::Oracle>(oracle,
                                             {.compressor = compressor, .worker = i, .keepsPrevious = false});
      });
}

/// The gradients of all clients; `twice`: at two points, in rounds that are not full.
class GradientsOfClients {
 public:
  GradientsOfClients(const std::shared_ptr<Problem>& problem, std::vector<Round> rounds)
      : problem_(problem), rounds_(std::move(rounds)), other_(problem->start()) {
    for (std::size_t i = 0; i < clients; ++i) oracles_.push_back(problem->client(i));
    first_.resize(other_.size()), second_.resize(other_.size());
  }
  void begin() {}
  void step(std::size_t i) {
    const AllSamples one(1);
    for (const auto& oracle : oracles_) {
      oracle->gradient(problem_->start(), one, first_);
      if (!rounds_[i].isFull) oracle->gradient(other_, one, second_);
    }
  }

 private:
  std::shared_ptr<Problem> problem_;
  std::vector<Round> rounds_;
  std::vector<std::unique_ptr<Problem::Oracle>> oracles_;
  std::vector<float> other_, first_, second_;
};

using Chosen = std::vector<std::uint32_t>;
/// RandK's coordinates of a client in a round.
Chosen drawn(std::size_t size, std::size_t round, std::size_t client) {
  CoordinateSet set;
  set.drawSubset(size, sent, CompressionKey{seed, round, static_cast<std::uint32_t>(client)}.own());
  return {set.indices().begin(), set.indices().end()};
}
/// TopK's, by sorting.
Chosen largest(const std::vector<double>& x) {
  Chosen order(x.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t i, std::uint32_t j) { return std::abs(x[i]) > std::abs(x[j]); });
  order.resize(sent);
  return order;
}

/// EF21 in plain loops. Contractive RandK sends what it has drawn as it is.
template <class Choose> void answerEf21(Exact& problem, Choose choose, std::vector<Answer>& answers) {
  const std::size_t size = problem.start().size();
  std::vector<double> x = problem.start(), gradient(size), mean(size);
  std::vector<std::vector<double>> estimates(clients, std::vector<double>(size));
  std::vector<std::unique_ptr<Exact::Oracle>> oracles;
  for (std::size_t i = 0; i < clients; ++i) oracles.push_back(problem.client(i));
  const AllSamples one(1);
  for (std::size_t t = 0; t < answers.size(); ++t) {
    std::fill(mean.begin(), mean.end(), 0.0);
    for (std::size_t i = 0; i < clients; ++i) {
      oracles[i]->gradient(x, one, gradient);
      const std::vector<double> difference = minus(gradient, estimates[i]);
      for (const std::uint32_t j : choose(difference, t, i)) estimates[i][j] += difference[j];
      for (std::size_t j = 0; j < size; ++j) mean[j] += estimates[i][j] / double{clients};
    }
    for (std::size_t j = 0; j < size; ++j) x[j] -= stepSize * mean[j];
    answers[t].gradient = minus(x, problem.start());
  }
}
/// MARINA with RandK in plain loops.
void answerMarina(Exact& problem, const std::vector<Round>& rounds, std::vector<Answer>& answers) {
  const std::size_t size = problem.start().size();
  std::vector<double> x = problem.start(), before = x, g(size), atX(size), atBefore(size);
  std::vector<std::unique_ptr<Exact::Oracle>> oracles;
  for (std::size_t i = 0; i < clients; ++i) oracles.push_back(problem.client(i));
  const AllSamples one(1);
  for (std::size_t t = 0; t < answers.size(); ++t) {
    if (rounds[t].isFull) std::fill(g.begin(), g.end(), 0.0);
    for (std::size_t i = 0; i < clients; ++i) {
      oracles[i]->gradient(x, one, atX);
      if (rounds[t].isFull) {
        for (std::size_t j = 0; j < size; ++j) g[j] += atX[j] / double{clients};
        continue;
      }
      oracles[i]->gradient(before, one, atBefore);
      const double factor = static_cast<double>(size) / double{sent} / double{clients};
      for (const std::uint32_t j : drawn(size, t, i)) g[j] += factor * (atX[j] - atBefore[j]);
    }
    before = x;
    for (std::size_t j = 0; j < size; ++j) x[j] -= stepSize * g[j];
    answers[t].gradient = minus(x, problem.start());
  }
}

/// "3;all;5": the samples of PAGE's rounds, for peers.
std::string scheduleOf(const std::vector<Round>& rounds) {
  std::string text;
  for (const Round& round : rounds)
    text +=
        (text.empty() ? "" : ";") + (round.isFull ? std::string("all") : std::to_string(round.samples[0]));
  return text;
}

}  // namespace

void optimiseMethods(const Options& options, std::vector<Row>& rows) {
  const auto weights = randomWeights<Gpt<float>>(GptConfig{});
  const auto batches = gptBatches({}, weights, 1);
  const auto problem = std::make_shared<Problem>(weights, batches);
  Exact exact(weights, batches);
  const AnyCompressor randk = RandK{{.count = sent}}, topk = TopK{{.count = sent}};
  Options own = options, alone = options;
  alone.peers.clear();
  std::erase_if(own.peers, [](const std::string& peer) { return peer != "pytorch" && peer != "jax"; });

  const std::size_t pageSteps = options.isQuick ? 8 : 32, roundSteps = options.isQuick ? 4 : 8;
  const auto add = [&](const Options& with, const Trial& trial, const char* method, double target, auto run,
                       auto gradients) {
    const std::size_t from = rows.size();
    addRows(with, trial,
            {contestantOf("limit", trial.unit.second, method, gradients),
             contestantOf("burtorch", method, method, run)},
            method, target, rows);
    addTimesOurs(rows, from, method, 20);
  };
  {
    const auto rounds = pageRounds(pageSteps);
    Trial trial = trialOf("page", pageSteps);
    answerPage(exact, rounds, trial.answers);
    trial.peers = peerJob(weights, *batches, "page", {{"schedule", scheduleOf(rounds)}});
    add(own, trial, "page", 1.1, std::make_shared<OurPage>(problem),
        std::make_shared<GradientsOfPage>(problem, rounds));
  }
  // EF21 has one gradient of each client in every round.
  const std::vector<Round> once(roundSteps, {true, {}});
  {
    Trial trial = trialOf("ef21-topk", roundSteps);
    answerEf21(
        exact, [](const std::vector<double>& x, std::size_t, std::size_t) { return largest(x); },
        trial.answers);
    trial.peers = peerJob(weights, *batches, "ef21-topk", {{"sent", double{sent}}});
    add(own, trial, "ef21-topk", 0, ourEf21(problem, topk),
        std::make_shared<GradientsOfClients>(problem, once));
  }
  {
    Trial trial = trialOf("ef21-randk", roundSteps);
    answerEf21(
        exact,
        [](const std::vector<double>& x, std::size_t t, std::size_t i) { return drawn(x.size(), t, i); },
        trial.answers);
    add(alone, trial, "ef21-randk", 1.1, ourEf21(problem, randk),
        std::make_shared<GradientsOfClients>(problem, once));
  }
  {
    // Which rounds are full only the server knows.
    const auto run = ourMarina(problem, randk);
    std::vector<Round> rounds;
    run->begin();
    for (std::size_t i = 0; i < roundSteps; ++i) rounds.push_back({run->step(i).isFull, {}});
    Trial trial = trialOf("marina-randk", roundSteps);
    answerMarina(exact, rounds, trial.answers);
    add(alone, trial, "marina-randk", 1.1, run, std::make_shared<GradientsOfClients>(problem, rounds));
  }
}

}  // namespace bench
