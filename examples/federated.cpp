// A hundred clients with different data learn a classifier together and send compressed gradients only (EF21). Half of them are
// asked in a round, and of these one in ten is too slow: it is stopped in the middle of its work, and the round goes on
// without it. Prints what a compressor saves.
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/optimise/compressor_text.hpp>
#include <burtorch/optimise/ef21.hpp>
#include <burtorch/optimise/in_process.hpp>
#include <burtorch/optimise/sampling.hpp>
#include <burtorch/oracle/function_sum.hpp>
#include <cstdio>
#include <deque>
#include <vector>

namespace {

using namespace burtorch;
constexpr std::size_t dimension = 200, points = 20, clientCount = 100, asked = 50;

struct Point {
  std::vector<double> x;
  double label;
};

/// A client's own points, around a centre of its own; their labels follow a rule that all clients share.
std::vector<Point> pointsOf(std::uint64_t client) {
  Rng rule(1), data(2, client);
  std::vector<double> normal(dimension), centre(dimension);
  for (double& number : normal) number = rule.normal<double>();
  for (double& number : centre) number = 0.5 * data.normal<double>();
  std::vector<Point> result(points);
  for (Point& point : result) {
    double side = 0;
    for (std::size_t i = 0; i < dimension; ++i) {
      point.x.push_back(centre[i] + data.normal<double>());
      side += normal[i] * point.x[i];
    }
    point.label = side > 0 ? 1 : -1;
  }
  return result;
}
/// The logistic loss: finiteSum(points, dimension, loss) is a client's oracle.
const auto loss = [](const Point& point, auto weights) {
  return softplus(-point.label * innerProduct(weights, point.x));
};
using Oracle = decltype(finiteSum(std::vector<Point>(), dimension, loss));

void train(const char* name, std::deque<Oracle>& oracles, int rounds) {
  const AnyCompressor compressor = compressorFromText(name);
  std::vector<Ef21Client<Oracle>> clients;
  for (std::size_t i = 0; i < clientCount; ++i)
    clients.emplace_back(oracles[i], Ef21ClientOptions{.compressor = compressor, .worker = i});
  Ef21Server<double> server(std::vector<double>(dimension),
                            {.compressor = compressor, .stepSize = 0.2, .workers = clientCount, .seed = 1});
  InProcess run(server, std::span(clients));

  // Who is asked, and who is slow, follows from the round. A slow client is stopped at its eighth sample of twenty. What sends
  // everything needs everybody.
  NiceSampling participants(clientCount, asked, 7);
  std::vector<char> isAsked(clientCount), isSlow(clientCount);
  std::vector<int> polls(clientCount);
  const auto stop = [&](std::size_t client) {
    return isAsked[client] == 0 || (isSlow[client] != 0 && ++polls[client] > 8);
  };
  RoundReport report;
  std::size_t askedSum = 0, answers = 0;
  for (int round = 0; round < rounds; ++round) {
    const bool isFull = server.header().isFull;
    isAsked.assign(clientCount, isFull ? 1 : 0);
    for (const std::size_t client : participants.draw(server.round())) isAsked[client] = 1;
    for (std::size_t i = 0; i < clientCount; ++i) {
      isSlow[i] = !isFull && Rng(server.round(), i).below(10) == 0 ? 1 : 0;
      polls[i] = 0;
      askedSum += isAsked[i] != 0 ? 1 : 0;
    }
    report = run.round(stop);
    answers += report.answers;
  }
  double mean = 0;
  for (Oracle& f : oracles) mean += f.value(server.x(), AllSamples(points)) / clientCount;
  std::printf("%-14s %6.1f %8.1f %9.1f %9.4f %10.3f\n", name, static_cast<double>(askedSum) / rounds,
              static_cast<double>(askedSum - answers) / rounds, static_cast<double>(answers) / rounds, mean,
              static_cast<double>(server.bitsUp()) / 8e6);
}

}  // namespace

int main() {
  ThreadPool pool;
  const CurrentWorkers here(pool);
  std::vector<std::vector<Point>> data;
  for (std::uint64_t client = 0; client < clientCount; ++client) data.push_back(pointsOf(client));
  std::deque<Oracle> oracles;  // they stay where they are
  for (const auto& own : data) oracles.emplace_back(std::span<const Point>(own), dimension, loss);

  std::printf("%zu clients of %zu points each, 100 rounds of EF21; a round on average:\n", clientCount,
              points);
  std::printf("%-14s %6s %8s %9s %9s %10s\n", "compressor", "asked", "stopped", "answers", "loss", "MB sent");
  for (const char* compressor : {"identity", "natural", "topk:5%", "randseqk:5%", "levels:4"})
    train(compressor, oracles, 100);
}
