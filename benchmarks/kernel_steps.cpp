// A step of AdamW and the clipping of a gradient, for the experiment `kernels`.
#include <burtorch/train/clip.hpp>
#include <burtorch/train/optimizer.hpp>
#include <cmath>
#include <memory>

#include "kernel_layers.hpp"
#include "kernels.hpp"
#include "limits/streams.hpp"

namespace bench {
namespace {

/// Numbers of either sign, none of them near 0.
void fillGradient(Array<float>& g) {
  burtorch::Rng rng(5);
  for (float& x : g) {
    const float u = rng.uniform<float>();
    x = (u < .5f ? -1.f : 1.f) * (.25f + u);
  }
}

/// Steps with one gradient from zeros: both means and the way of a parameter are known at any step. Every number that gradient()
/// returns is the ratio to what it should be.
class AdamRun {
 public:
  explicit AdamRun(std::size_t count)
      : x_(count),
        g_(count, 2048),
        state_(2 * count),
        optimizer_(method, count, {state_.begin(), 2 * count}) {
    fillGradient(g_);
  }
  void run(long calls) {
    for (long i = 0; i < calls; ++i) optimizer_.step({x_.begin(), x_.size()}, {g_.begin(), g_.size()});
  }
  std::vector<double> gradient() const {
    const double k = static_cast<double>(optimizer_.steps()),
                 kept = 1 - method.learningRate * method.weightDecay;
    const double mean = 1 - std::pow(method.beta1, k), square = 1 - std::pow(method.beta2, k);
    const double way = method.learningRate * (1 - std::pow(kept, k)) / (1 - kept);
    std::vector<double> x, g, m, v;
    sample(x_.begin(), x_.size(), x), sample(g_.begin(), g_.size(), g);
    sample(state_.begin(), x_.size(), m), sample(state_.begin() + x_.size(), x_.size(), v);
    std::vector<double> ratios;
    for (std::size_t i = 0; i < x.size(); ++i) {
      ratios.push_back(m[i] / (mean * g[i]));
      ratios.push_back(v[i] / (square * g[i] * g[i]));
      ratios.push_back(x[i] / (g[i] > 0 ? -way : way));
    }
    return ratios;
  }
  std::size_t size() const { return x_.size(); }

 private:
  static constexpr burtorch::AdamW method{.learningRate = 1e-3, .weightDecay = .1};
  Array<float> x_, g_, state_;
  burtorch::Optimizer<float, burtorch::AdamW> optimizer_;
};

/// Shortens its gradient by a thousandth at every call, or leaves it as it is.
class ClipRun {
 public:
  ClipRun(std::size_t count, bool shortens) : g_(count), shortens_(shortens) {
    fillGradient(g_);
    for (const float x : g_) squares_ += static_cast<double>(x) * static_cast<double>(x);
    norm_ = wanted_ = std::sqrt(squares_);
  }
  void run(long calls) {
    for (long i = 0; i < calls; ++i) {
      if (shortens_) wanted_ *= .999;
      norm_ = burtorch::clipByNorm<float>({g_.begin(), g_.size()}, shortens_ ? wanted_ : 2 * wanted_);
    }
  }
  /// The norm that the last call found, and the one that it left.
  std::vector<double> gradient() const {
    double squares = 0;
    for (const float x : g_) squares += static_cast<double>(x) * static_cast<double>(x);
    return {norm_ / (shortens_ ? wanted_ / .999 : wanted_), std::sqrt(squares) / wanted_};
  }

 private:
  Array<float> g_;
  bool shortens_;
  double squares_ = 0, norm_ = 0, wanted_ = 0;
};

template <class Run>
Contestant contestantOf(const std::string& system, const std::string& mode, std::shared_ptr<Run> run,
                        const Figures& params) {
  return {.system = system,
          .mode = mode,
          .run = [run](long calls) { run->run(calls); },
          .gradient = [run] { return run->gradient(); },
          .params = params};
}
Contestant limitOf(std::function<void()> stream, const Figures& params) {
  return {.system = "limit",
          .mode = "stream",
          .run =
              [stream = std::move(stream)](long calls) {
                for (long i = 0; i < calls; ++i) stream();
              },
          .gradient = {},
          .params = params};
}

}  // namespace

void kernelSteps(const Options& options, std::vector<Row>& rows) {
  for (const std::size_t count :
       {std::size_t{1'000'000}, std::size_t{options.isQuick ? 10'000'000u : 124'000'000u}}) {
    const auto trialOf = [&](const std::string& kernel, const char* work, double arrays, double flops,
                             std::size_t answers) {
      Trial trial = kernelTrial(count, {{"kernel", kernel}, {"parameters", static_cast<double>(count)}});
      trial.work = work;
      trial.unit = {"limit", "stream"};
      trial.bytes = arrays * static_cast<double>(count * sizeof(float));
      trial.flops = flops * static_cast<double>(count);
      trial.tolerance = 1e-4;
      trial.answers = {{std::vector<double>(answers, 1), 0}};
      return trial;
    };
    {
      auto run = std::make_shared<AdamRun>(count);
      const Trial trial = trialOf("adamw", "step", 7, 13, run->gradient().size());
      auto arrays = std::make_shared<std::vector<Array<float>>>();
      for (const std::size_t shift : {0u, 2048u, 0u, 0u}) arrays->emplace_back(count, shift);
      addRows(options, trial,
              {limitOf(
                   [arrays, count] {
                     Array<float>* a = arrays->data();
                     limits::moveThree(a[0].begin(), a[1].begin(), a[2].begin(), a[3].begin(), count);
                   },
                   trial.peers.params),
               contestantOf("burtorch", "step", run, trial.peers.params)},
              static_cast<double>(count), rows);
    }
    auto array = std::make_shared<Array<float>>(count);
    for (const bool shortens : {false, true}) {
      const Trial trial =
          trialOf("clipByNorm", shortens ? "shorten" : "norm", shortens ? 3 : 1, shortens ? 3 : 2, 2);
      addRows(
          options, trial,
          {limitOf(
               [array, count, shortens] {
                 limits::sumUp(array->begin(), count);
                 if (shortens) limits::scale(array->begin(), .999f, count);
               },
               trial.peers.params),
           contestantOf("burtorch", "clip", std::make_shared<ClipRun>(count, shortens), trial.peers.params)},
          static_cast<double>(count), rows);
    }
  }
}

}  // namespace bench
