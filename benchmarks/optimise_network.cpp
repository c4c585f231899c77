// ./bench optimise --simulate FOLDER: which compressed method is the fastest with 2 to 1,024 workers, on networks that are stated.
//
// Measured, in one process: how many rounds a method needs to a target, what a client's answer takes (gradient and compression), what
// an answer costs the server (checks, decoding, adding), and how long messages are. Simulated: only the network. A round is
//   latency + the broadcast + a client's answer + latency + the answers + the server's work on all answers
// where every worker has a link of its own. The network copies a broadcast to all at once; answers reach the server by one line, one
// after the other. Written: federated_costs.md with tables, and federated_costs.svg.
#include <burtorch/io/atomic_file.hpp>
#include <burtorch/optimise/compressor_text.hpp>
#include <burtorch/optimise/ef21.hpp>
#include <burtorch/optimise/marina.hpp>
#include <burtorch/optimise/step_sizes.hpp>
#include <burtorch/oracle/linear_problem.hpp>
#include <burtorch/oracle/minimise.hpp>
#include <burtorch/viz/curve_svg.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "optimise.hpp"

namespace bench {
namespace {

using namespace burtorch;
using Clock = std::chrono::steady_clock;

struct Network {
  const char* name;
  double latency;         // seconds, one way
  double link, atServer;  // bytes a second of a worker's link and of the server's, each way
};
constexpr Network networks[] = {{"data centre", 20e-6, 1.25e9, 1.25e9}, {"internet", 20e-3, 1.25e6, 1.25e8}};
constexpr std::size_t workerCounts[] = {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
constexpr std::size_t tunedFor = 8;

struct Method {
  const char *name, *compressor;
  bool isMarina;
};
constexpr Method methods[] = {{"distributed GD", "identity", false},
                              {"EF21, TopK 1 %", "topk:0.01", false},
                              {"EF21, RandK 5 %", "randk:0.05", false},
                              {"MARINA, RandK 5 %", "randk:0.05", true},
                              {"MARINA, natural", "natural", true}};

/// What a method did until it was there. Bytes are the mean of all rounds; so are times, every round counting as the fastest of its
/// kind: with whole gradients, or compressed.
struct Measured {
  bool isThere = false;
  double rounds = 0, answerSeconds = 0, serverSeconds = 0, bytesUp = 0, bytesDown = 0, stepSize = 0;
};

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Rounds until f at the iterate is at most `target`.
template <class Server, class Client>
Measured roundsOf(Server& server, std::vector<Client>& clients, double target, std::size_t most) {
  using T = typename Server::Scalar;
  Measured found;
  RoundScratch<T> scratch;
  std::vector<std::vector<std::byte>> messages(clients.size());
  const double count = static_cast<double>(clients.size());
  struct Kind {
    double rounds = 0, answer = INFINITY, atServer = INFINITY;
  } kinds[2];
  for (std::size_t round = 0; round < most; ++round) {
    const RoundHeader header = server.header();
    const auto start = Clock::now();
    for (std::size_t i = 0; i < clients.size(); ++i)
      clients[i].answer(header, server.x(), server.previous(), scratch, messages[i]);
    const double answers = since(start) / count;
    for (std::size_t i = 0; i < clients.size(); ++i)
      found.bytesUp += static_cast<double>(messages[i].size()) / count;
    const auto received = Clock::now();
    for (std::size_t i = 0; i < clients.size(); ++i) server.receive(i, messages[i]);
    const double value = server.finishRound().value;
    Kind& kind = kinds[header.isFull ? 1 : 0];
    kind = {kind.rounds + 1, std::min(kind.answer, answers),
            std::min(kind.atServer, since(received) / count)};
    found.rounds += 1;
    found.isThere = value <= target;
    if (found.isThere || !(value < 1e6)) break;
  }
  for (const Kind& kind : kinds)
    if (kind.rounds > 0) {
      found.answerSeconds += kind.answer * kind.rounds / found.rounds;
      found.serverSeconds += kind.atServer * kind.rounds / found.rounds;
    }
  found.bytesUp /= found.rounds;
  found.bytesDown = static_cast<double>(RoundHeader::bytes + server.parameterCount() * sizeof(T));
  return found;
}

/// A problem for any number of workers: client(i) is worker i's sum, for as long as the problem lives.
template <class F> struct Federated {
  std::string name, title;  // of a part of the page, and of a panel
  std::function<F&(std::size_t)> client;
  std::vector<typename F::Scalar> start;
  std::function<double(std::size_t)> target;  // of f, for so many workers
  double firstStep;                           // that tuning begins with
  std::size_t mostRounds;
};

/// Remembers what a function of a number returned.
std::function<double(std::size_t)> remembered(const std::function<double(std::size_t)>& compute) {
  return [compute, known = std::make_shared<std::map<std::size_t, double>>()](std::size_t n) {
    const auto found = known->find(n);
    return found != known->end() ? found->second : known->emplace(n, compute(n)).first->second;
  };
}

template <class F>
Measured measure(const Federated<F>& problem, const Method& method, std::size_t workers, double stepSize) {
  using T = typename F::Scalar;
  const AnyCompressor compressor = compressorFromText(method.compressor);
  const std::span<const T> start(problem.start);
  const double target = problem.target(workers);
  Measured found;
  if (method.isMarina) {
    const double p = std::max(0.02, marinaProbability<T>(compressor, start.size()));
    MarinaServer<T> server(
        start,
        {.compressor = compressor, .stepSize = stepSize, .probability = p, .workers = workers, .seed = 1});
    std::vector<MarinaClient<F>> clients;
    for (std::size_t i = 0; i < workers; ++i)
      clients.emplace_back(
          problem.client(i),
          MarinaClientOptions{.compressor = compressor, .worker = i, .keepsPrevious = false});
    found = roundsOf(server, clients, target, problem.mostRounds);
  } else {
    Ef21Server<T> server(start,
                         {.compressor = compressor, .stepSize = stepSize, .workers = workers, .seed = 1});
    std::vector<Ef21Client<F>> clients;
    for (std::size_t i = 0; i < workers; ++i)
      clients.emplace_back(problem.client(i), Ef21ClientOptions{.compressor = compressor, .worker = i});
    found = roundsOf(server, clients, target, problem.mostRounds);
  }
  found.stepSize = stepSize;
  return found;
}
/// The step size that needs the fewest rounds: doubled as long as that helps.
template <class F> double tunedStep(const Federated<F>& problem, const Method& method, std::size_t workers) {
  double best = problem.firstStep, fewest = INFINITY;
  for (int doublings = 0; doublings < 14; ++doublings) {
    const double step = std::ldexp(problem.firstStep, doublings);
    Measured found;
    try {
      found = measure(problem, method, workers, step);
    } catch (const Error&) {  // numbers that are not finite: too large
      break;
    }
    if (found.isThere && found.rounds < fewest) best = step, fewest = found.rounds;
    if (std::isfinite(fewest) && (!found.isThere || found.rounds > 1.5 * fewest)) break;
  }
  return best;
}

double secondsOf(const Measured& m, const Network& network, std::size_t workers) {
  const double n = static_cast<double>(workers), down = m.bytesDown / network.link,
               up = std::max(m.bytesUp / network.link, n * m.bytesUp / network.atServer);
  return m.rounds * (network.latency + down + m.answerSeconds + network.latency + up + n * m.serverSeconds);
}

std::string text(const char* format, auto... values) {
  char line[512];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}
std::string secondsText(double seconds) {
  return seconds < 1e-3 ? text("%.3g µs", seconds * 1e6)
         : seconds < 1  ? text("%.3g ms", seconds * 1e3)
                        : text("%.3g s", seconds);
}

/// Everything about one problem, as a part of the page and as panels of the picture.
template <class F>
void report(const Federated<F>& problem, const std::vector<std::size_t>& counts, std::string& page,
            std::vector<std::vector<Curve>>& curves, std::vector<CurvePanel>& panels) {
  std::vector<std::vector<Measured>> all;
  page += "## " + problem.name + "\n\n| method | step size | rounds with " +
          text("%zu, %zu, %zu workers", counts.front(), tunedFor, counts.back()) +
          " | a client's answer | an answer at the server | bytes up | bytes down "
          "|\n|---|---|---|---|---|---|---|\n";
  for (const Method& method : methods) {
    std::vector<Measured>& of = all.emplace_back();
    double step = problem.firstStep;
    for (const std::size_t workers : counts) {
      if (workers <= tunedFor) step = tunedStep(problem, method, workers);
      of.push_back(measure(problem, method, workers, step));
    }
    const auto rounds = [&](std::size_t workers) {
      const auto at =
          static_cast<std::size_t>(std::find(counts.begin(), counts.end(), workers) - counts.begin());
      return of[at].isThere ? text("%.0f", of[at].rounds) : text("more than %.0f", of[at].rounds);
    };
    const auto few =
        static_cast<std::size_t>(std::find(counts.begin(), counts.end(), tunedFor) - counts.begin());
    page += std::string("| ") + method.name + " | " + text("%.3g", of[few].stepSize) + " | " +
            rounds(counts.front()) + ", " + rounds(tunedFor) + ", " + rounds(counts.back()) + " | " +
            secondsText(of[few].answerSeconds) + " | " + secondsText(of[few].serverSeconds) + " | " +
            text("%.0f", of[few].bytesUp) + " | " + text("%.0f", of[few].bytesDown) + " |\n";
    std::fprintf(stderr, "%s: %s\n", problem.name.c_str(), method.name);
  }
  for (const Network& network : networks) {
    page += std::string("\n**") + network.name + "**, seconds to the target:\n\n| workers |";
    for (const Method& method : methods) page += std::string(" ") + method.name + " |";
    page += " the fastest |\n|---|" + [] {
      std::string bars;
      for (std::size_t i = 0; i <= std::size(methods); ++i) bars += "---|";
      return bars;
    }() + "\n";
    std::vector<Curve>& lines = curves.emplace_back();
    for (const Method& method : methods) lines.push_back({method.name, {}});
    for (std::size_t c = 0; c < counts.size(); ++c) {
      page += text("| %zu |", counts[c]);
      std::size_t best = 0;
      double least = INFINITY;
      for (std::size_t m = 0; m < all.size(); ++m) {
        const double seconds = all[m][c].isThere ? secondsOf(all[m][c], network, counts[c]) : INFINITY;
        page += std::isfinite(seconds) ? text(" %s |", secondsText(seconds).c_str()) : " |";
        if (std::isfinite(seconds)) lines[m].points.push_back({static_cast<double>(counts[c]), seconds});
        if (seconds < least) best = m, least = seconds;
      }
      page += std::isfinite(least) ? std::string(" ") + methods[best].name + " |\n" : " none |\n";
    }
    panels.push_back({.title = problem.title + std::string(", ") + network.name,
                      .xLabel = "workers",
                      .yLabel = "seconds to the target",
                      .curves = {},
                      .axes = {.isLogX = true, .isLogY = true}});
  }
  page += "\n";
}

/// Labels of points around one plane for all, and features that differ from worker to worker.
SampleRows<double> logisticRows(std::size_t workers, std::size_t each, std::size_t features) {
  Rng rng(4);
  std::vector<double> plane(features), shift(features), scale(features), values, labels;
  // Features differ in size, by a factor of 16: f is not round.
  for (std::size_t j = 0; j < features; ++j)
    scale[j] = std::exp2(-4.0 * static_cast<double>(j) / static_cast<double>(features)) /
               std::sqrt(static_cast<double>(features));
  for (double& number : plane) number = rng.normal<double>();
  for (std::size_t i = 0; i < workers * each; ++i) {
    if (i % each == 0)
      for (double& number : shift) number = rng.normal<double>();
    double margin = rng.normal<double>();
    for (std::size_t j = 0; j < features; ++j) {
      values.push_back((rng.normal<double>() + shift[j]) * scale[j]);
      margin += plane[j] * values.back();
    }
    labels.push_back(margin > 0 ? 1 : -1);
  }
  return SampleRows<double>::dense(features, std::move(values), std::move(labels));
}

}  // namespace

void simulateNetworks(const Options& options) {
  std::vector<std::size_t> counts(std::begin(workerCounts), std::end(workerCounts));
  if (options.isQuick) counts = {2, tunedFor, 16};
  const std::size_t most = counts.back();
  std::string page =
      "# What federated methods cost, and which one wins\n\n"
      "Made by `./bench optimise --simulate docs`, no figure by hand. Rounds, times and bytes are measured "
      "in one process on one "
      "core (times: the fastest rounds); only the network is simulated. Every worker has a link of its own. "
      "The network copies a "
      "broadcast to all at once; answers reach the server by one line, one after the other. A round takes "
      "latency, the broadcast, "
      "a client's answer (gradient and compression), latency, the answers, and the server's work on all of "
      "them. Step sizes: of "
      "doubled ones that with the fewest rounds; from " +
      text("%zu", tunedFor) +
      " workers on, that of as many.\n\n| network | latency, one way | a worker's link | the server's line "
      "|\n|---|---|---|---|\n";
  for (const Network& n : networks)
    page += std::string("| ") + n.name + " | " + secondsText(n.latency) +
            text(" | %g MB/s | %g MB/s |\n", n.link / 1e6, n.atServer / 1e6);
  page += "\n![Seconds to the target by workers](federated_costs.svg)\n\n";

  std::vector<std::vector<Curve>> curves;
  std::vector<CurvePanel> panels;
  {
    constexpr std::size_t each = 32, features = 200;
    using F = LogisticRegression<double>;
    F whole(logisticRows(most, each, features), LinearOptions{.l2 = 1e-4});
    std::vector<PartOf<F>> parts;
    for (std::size_t i = 0; i < most; ++i) {
      std::vector<std::size_t> samples(each);
      std::iota(samples.begin(), samples.end(), i * each);
      parts.emplace_back(whole, samples);
    }
    const Federated<PartOf<F>> problem{
        text("Logistic regression: %zu parameters, %zu samples a worker, to f - f* of 1/1000 of the start's",
             features, each),
        "Logistic regression",
        [&](std::size_t i) -> PartOf<F>& { return parts[i]; },
        std::vector<double>(features),
        remembered([&](std::size_t workers) {
          std::vector<std::size_t> samples(workers * each);
          std::iota(samples.begin(), samples.end(), std::size_t{0});
          PartOf<F> all(whole, samples);
          const double atStart = all.value(std::vector<double>(features), AllSamples(samples.size()));
          const double least = minimise(all, {.tolerance = 1e-8}).value;
          return least + 0.001 * (atStart - least);
        }),
        0.25 / whole.smoothness().L,
        4000};
    report(problem, counts, page, curves, panels);
  }
  {
    using F = GptProblem<float>::Oracle;
    const GptConfig config;
    const auto weights = randomWeights<Gpt<float>>(config);
    // Text to be learned: every worker has another window of the alphabet over and over.
    auto batches = std::make_shared<Batches>(Batches{most, 1, config.context, config.context, {}, {}});
    for (std::size_t i = 0; i < most; ++i)
      for (std::size_t k = 0; k < config.context; ++k) {
        batches->tokens.push_back(static_cast<int>((7 * i + k) % 26));
        batches->targets.push_back(static_cast<int>((7 * i + k + 1) % 26));
      }
    GptProblem<float> gpt(weights, batches);
    std::vector<std::unique_ptr<F>> oracles;
    for (std::size_t i = 0; i < most; ++i) oracles.push_back(gpt.client(i));
    const auto meanAtStart = [&](std::size_t workers) {
      double sum = 0;
      for (std::size_t i = 0; i < workers; ++i) sum += oracles[i]->value(gpt.start(), AllSamples(1));
      return sum / static_cast<double>(workers);
    };
    const Federated<F> problem{
        text("The mini GPT: %zu parameters, one sample a worker, to half of the loss at the start",
             gpt.start().size()),
        "The mini GPT",
        [&](std::size_t i) -> F& { return *oracles[i]; },
        gpt.start(),
        remembered([&](std::size_t workers) { return 0.5 * meanAtStart(workers); }),
        1.0 / 64,
        400};
    report(problem, counts, page, curves, panels);
  }
  for (std::size_t i = 0; i < panels.size(); ++i) panels[i].curves = curves[i];
  const std::filesystem::path folder = options.simulate;
  std::filesystem::create_directories(folder);
  const auto write = [&](const char* name, const std::string& content) {
    AtomicFile file((folder / name).string(), {.durable = false});
    file.write(std::as_bytes(std::span(content)));
    file.commit();
    std::fprintf(stderr, "wrote %s\n", (folder / name).c_str());
  };
  write("federated_costs.md", page);
  write("federated_costs.svg", curvePanelsSvg(panels, 2));
}

}  // namespace bench
