// A hundred clients with data of their own learn a classifier together and send compressed gradients only (EF21). In every round
// some are too slow and are stopped in the middle of their work. Prints what a compressor saves.
#include <burtorch/base/thread_pool.hpp>
#include <burtorch/burtorch.hpp>
#include <burtorch/optimise/compressor_text.hpp>
#include <burtorch/optimise/ef21.hpp>
#include <burtorch/optimise/in_process.hpp>
#include <burtorch/optimise/step_sizes.hpp>
#include <cstdio>
#include <vector>

namespace {

using namespace burtorch;
constexpr std::size_t dimension = 200, points = 20, clientCount = 100;

/// Logistic regression on a client's own points, whose labels follow a rule that all clients share.
class Regression {
 public:
  using Scalar = double;

  explicit Regression(std::uint64_t client) {
    Rng rule(1), data(2, client);
    std::vector<double> normal(dimension);
    for (double& number : normal) number = rule.normal<double>();
    for (Point& point : points_) {
      double side = 0;
      for (std::size_t i = 0; i < dimension; ++i) {
        point.x[i] = data.normal<double>();
        side += normal[i] * point.x[i];
      }
      point.label = side > 0 ? 1 : -1;
    }
  }

  std::size_t size() const { return points_.size(); }
  std::size_t parameterCount() const { return dimension; }
  OracleCounts counts() const { return counter_.counts(); }
  double value(std::span<const double> weights, Batch batch) {
    counter_.addValues(batch.size());
    return loss(weights, batch);
  }
  double gradient(std::span<const double> weights, Batch batch, std::span<double> into) {
    counter_.addGradients(batch.size());
    return valueAndGrad([&](auto w) { return loss(w, batch); }, weights, into);
  }

 private:
  struct Point {
    double x[dimension], label;
  };

  template <class X> X loss(std::span<const X> weights, Batch batch) const {
    X sum = softplus(-margin(weights, points_[batch[0]]));
    for (const std::size_t i : batch.subspan(1)) sum = sum + softplus(-margin(weights, points_[i]));
    return sum / static_cast<double>(batch.size());
  }
  static double margin(std::span<const double> weights, const Point& point) {
    double sum = 0;
    for (std::size_t i = 0; i < dimension; ++i) sum += weights[i] * point.x[i];
    return point.label * sum;
  }
  static Value<double> margin(std::span<const Value<double>> weights, const Point& point) {
    return point.label * innerProduct(weights, std::span<const double>(point.x));
  }

  std::vector<Point> points_ = std::vector<Point>(points);
  OracleCounter counter_;
};

void train(const char* name, int rounds) {
  const AnyCompressor compressor = compressorFromText(name);
  std::vector<Regression> data;
  for (std::uint64_t i = 0; i < clientCount; ++i) data.emplace_back(i);
  std::vector<Ef21Client<Regression>> clients;
  for (std::size_t i = 0; i < clientCount; ++i)
    clients.emplace_back(data[i], Ef21ClientOptions{.compressor = compressor, .worker = i});
  Ef21Server<double> server(std::vector<double>(dimension),
                            {.compressor = compressor, .stepSize = 0.2, .workers = clientCount, .seed = 1});
  InProcess run(server, std::span(clients));

  // One in ten is late in a round, unless all must be there.
  const auto isLate = [&](std::size_t worker) {
    return !server.header().isFull && Rng(server.round(), worker).below(10) == 0;
  };
  RoundReport report;
  std::size_t answers = 0;
  for (int round = 0; round < rounds; ++round) {
    report = run.round(isLate);
    answers += report.answers;
  }
  std::printf("%-14s %4d rounds  %5.1f answers each  loss %.4f  %7.3f MB sent\n", name, rounds,
              static_cast<double>(answers) / rounds, report.value,
              static_cast<double>(server.bitsUp()) / 8e6);
}

}  // namespace

int main() {
  ThreadPool pool;
  const CurrentWorkers here(pool);
  for (const char* compressor : {"identity", "natural", "topk:5%", "randseqk:5%", "levels:4"})
    train(compressor, 100);
}
