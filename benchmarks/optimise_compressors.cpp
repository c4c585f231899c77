// Compressors on a million numbers, FP32: RandSeqK beside RandK, a message made and added to a sum; TopK's message beside
// std::nth_element on the magnitudes alone. Random choices differ from call to call, as from round to round. What a message
// adds to a vector is computed once more, from the definition: coordinates drawn into a set, or sorted.
#include <algorithm>
#include <burtorch/optimise/decode.hpp>
#include <cmath>
#include <set>

#include "optimise.hpp"

namespace bench {
namespace {

using burtorch::AnyCompressor;

constexpr std::size_t d = 1'000'000, k = 50'000;

std::vector<float> someNumbers() {
  std::vector<float> x(d);
  burtorch::Rng rng(11);
  for (float& number : x) number = rng.normal<float>();
  return x;
}

/// A compressor at work: rounds differ, memory stays.
class Compression {
 public:
  Compression(const AnyCompressor& compressor, std::shared_ptr<const std::vector<float>> x)
      : compressor_(compressor), x_(std::move(x)), sum_(d) {}

  void encode(long round) {
    burtorch::encode(compressor_, key(round), std::span<const float>(*x_), memory_, message_);
  }
  void add() { burtorch::decodeAdd(message_, 1, std::span<float>(sum_), memory_); }
  /// What the message of the last call adds to zeros.
  std::vector<double> decoded() {
    std::fill(sum_.begin(), sum_.end(), 0.f);
    add();
    return {sum_.begin(), sum_.end()};
  }
  static burtorch::CompressionKey key(long round) { return {5, static_cast<std::uint64_t>(round), 0}; }

 private:
  AnyCompressor compressor_;
  std::shared_ptr<const std::vector<float>> x_;
  std::vector<float> sum_;
  burtorch::CompressorMemory memory_;
  std::vector<std::byte> message_;
};

/// What arrives of x where only these coordinates are sent.
std::vector<double> onlyAt(const std::vector<float>& x, const std::set<std::uint32_t>& coordinates,
                           double factor) {
  std::vector<double> kept(x.size());
  for (const std::uint32_t i : coordinates) kept[i] = factor * static_cast<double>(x[i]);
  return kept;
}
/// RandK by its definition: halves of random words, scaled to d, until there are k different ones.
std::set<std::uint32_t> drawnOneByOne(std::uint64_t key) {
  burtorch::Rng rng(key);
  std::set<std::uint32_t> drawn;
  constexpr std::uint64_t range = std::uint64_t{1} << 32;
  while (drawn.size() < k) {
    const std::uint64_t word = rng.next();
    for (const std::uint64_t half : {word >> 32, word % range}) {
      const std::uint64_t product = half * d;
      if (product % range >= range % d && drawn.size() < k)
        drawn.insert(static_cast<std::uint32_t>(product / range));
    }
  }
  return drawn;
}
std::set<std::uint32_t> runFrom(std::uint64_t key) {
  const std::uint32_t start = burtorch::Rng(key).below(d);
  std::set<std::uint32_t> run;
  for (std::uint32_t i = 0; i < k; ++i) run.insert((start + i) % d);
  return run;
}
std::set<std::uint32_t> largest(const std::vector<float>& x) {
  std::vector<std::uint32_t> order(d);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t i, std::uint32_t j) { return std::abs(x[i]) > std::abs(x[j]); });
  return {order.begin(), order.begin() + k};
}

Figures paramsOf(const char* method) {
  return {{"method", std::string(method)}, {"parameters", double{d}}, {"coordinates", double{k}}};
}

/// Compress and add. The gate looks at the last call's message.
Contestant compressAndAdd(const char* system, const char* name, const AnyCompressor& compressor,
                          const std::shared_ptr<const std::vector<float>>& x) {
  auto compression = std::make_shared<Compression>(compressor, x);
  return {.system = system,
          .mode = name,
          .run =
              [compression](long calls) {
                for (long i = 0; i < calls; ++i) {
                  compression->encode(i);
                  compression->add();
                }
              },
          .gradient = [compression] { return compression->decoded(); },
          .params = paramsOf(name)};
}

Trial trialOf(const char* work, long iterations, const char* unit) {
  Trial trial{.experiment = "optimise", .iterations = iterations, .answers = {}, .unit = {"limit", unit}};
  trial.dtype = "fp32";
  trial.work = work;
  trial.tolerance = 1e-6;
  return trial;
}

}  // namespace

void optimiseCompressors(const Options& all, std::vector<Row>& rows) {
  Options options = all;
  options.peers.clear();
  const auto x = std::make_shared<const std::vector<float>>(someNumbers());
  const double factor = double{d} / double{k};
  const burtorch::Share share{.count = k};

  // An answer for each round would be another for each compressor: each is judged by the difference to its own, which is 0.
  constexpr long rounds = 8;
  Trial trial = trialOf("compress and add", rounds, "randk");
  trial.answers.assign(rounds, {std::vector<double>(d, 1.0), 0});
  const auto beside = [&](Contestant contestant, auto coordinates) {
    // The harness asks after 1, 2, 4, ... calls, so the round is that of the last one.
    auto round = std::make_shared<long>(0);
    contestant.run = [run = contestant.run, round](long calls) {
      run(calls);
      *round = calls - 1;
    };
    contestant.gradient = [found = contestant.gradient, coordinates, round, x, factor] {
      const std::vector<double> right = onlyAt(*x, coordinates(Compression::key(*round).own()), factor);
      std::vector<double> ratio = minus(found(), right);
      for (double& error : ratio) error = 1 + error / factor;
      return ratio;
    };
    return contestant;
  };
  addRows(options, trial,
          {beside(compressAndAdd("limit", "randk", burtorch::RandK{share}, x), drawnOneByOne),
           beside(compressAndAdd("burtorch", "randseqk", burtorch::RandSeqK{share}, x), runFrom)},
          "randseqk", 0.2, rows);

  // Only the selection is timed, not that magnitudes are put in order to be selected from again.
  struct Selection {
    std::shared_ptr<const std::vector<float>> x;
    std::vector<float> magnitudes;
    StopWatch watch;
  };
  auto selection = std::make_shared<Selection>(Selection{x, std::vector<float>(d), {}});
  const Contestant nth{.system = "limit",
                       .mode = "nth_element",
                       .run =
                           [selection](long calls) {
                             selection->watch.reset();
                             std::vector<float>& m = selection->magnitudes;
                             for (long i = 0; i < calls; ++i) {
                               std::ranges::transform(*selection->x, m.begin(),
                                                      [](float v) { return std::abs(v); });
                               selection->watch.start();
                               std::nth_element(m.begin(), m.begin() + k, m.end(), std::greater<>());
                               selection->watch.stop();
                             }
                           },
                       .gradient = {},
                       .params = paramsOf("nth_element"),
                       .ownNs = [selection] { return selection->watch.ns(); }};
  auto compression = std::make_shared<Compression>(burtorch::TopK{share}, x);
  const Contestant top{.system = "burtorch",
                       .mode = "topk",
                       .run =
                           [compression](long calls) {
                             for (long i = 0; i < calls; ++i) compression->encode(i);
                           },
                       .gradient = [compression] { return compression->decoded(); },
                       .params = paramsOf("topk")};
  Trial selecting = trialOf("compress", 2, "nth_element");
  selecting.answers = {{onlyAt(*x, largest(*x), 1), 0}};
  addRows(options, selecting, {nth, top}, "topk", 2, rows);
}

}  // namespace bench
