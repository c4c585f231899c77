// Builds the methods of burt optimise.
#include "optimise_method.hpp"

namespace burt {
namespace {

using namespace burtorch;

/// A method's own name and its compressor.
struct MethodName {
  std::string method, compressor;

  MethodName(const std::string& text, const MethodOptions& options) {
    const std::size_t colon = text.find(':');
    method = text.substr(0, colon);
    compressor = colon != std::string::npos ? text.substr(colon + 1) : options.compressor;
    const bool isEf21 = method.starts_with("ef21"), isMarina = method.ends_with("marina");
    if (colon != std::string::npos && !isEf21 && !isMarina)
      throw BadInput("'" + method + "' has no compressor; it cannot be '" + text + "'");
    if (compressor.empty()) compressor = isMarina ? "randk:0.05" : "topk:0.05";
    if (compressor == "permk") compressor += ":" + textOf(options.workers);
  }
};

class Builder {
 public:
  Builder(const Problem& problem, const Division& division, Constants& constants,
          const MethodOptions& options)
      : problem_(problem), division_(division), constants_(constants), options_(options) {}

  std::unique_ptr<RunningMethod> build(const std::string& text) {
    const MethodName name(text, options_);
    if ((options_.l1 > 0 || options_.box > 0) && name.method != "gd" && name.method != "sgd")
      throw BadInput("--l1 and --box are for gd and sgd, whose steps are proximal; '" + name.method +
                     "' has none");
    const bool isFederated = name.method.starts_with("ef21") || name.method.ends_with("marina");
    if (ranks() != nullptr && !isFederated)
      throw BadInput(
          "--mpi is for methods of a server and workers: ef21, ef21-w, marina and vr-marina; run '" +
          name.method + "' without it, on --threads");
    if (options_.isBlockwise && !isFederated)
      throw BadInput("--blockwise is for methods that compress: ef21, ef21-w, marina and vr-marina");
    if (name.method == "gd") return sgd(division_.all.size(), true);
    if (name.method == "sgd") return sgd(options_.tau, false);
    if (name.method == "page") return page();
    if (name.method == "ef21" || name.method == "ef21-w") return ef21(name);
    if (name.method == "marina" || name.method == "vr-marina") return marina(name);
    if (name.method == "ringmaster") return ringmaster();
    if (name.method == "mindflayer") return mindflayer();
    throw BadInput("there is no method '" + name.method + "'; expected one of " + methodNames);
  }

 private:
  double chosen(const std::function<double()>& theory, const char* formula) {
    const double step = options_.stepFactor * (options_.stepSize > 0 ? options_.stepSize : theory());
    description_ = "step size " + shortText(step) + " = ";
    if (options_.stepFactor != 1) description_ += shortText(options_.stepFactor) + " * ";
    description_ += options_.stepSize > 0 ? "as given" : formula;
    return step;
  }
  static std::string shortText(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%.4g", number);
    return text;
  }
  std::unique_ptr<RunningMethod> described(std::unique_ptr<RunningMethod> method) const {
    method->description = description_;
    return method;
  }
  std::size_t dimension() const { return problem_.start().size(); }
  VectorBlocks blocks() const { return options_.isBlockwise ? problem_.blocks() : VectorBlocks(); }

  /// Samples of a stochastic gradient.
  std::size_t samples(std::uint64_t tau) const {
    const std::size_t n = division_.all.size();
    if (tau > n)
      throw BadInput("--tau: expected 1 to " + textOf(std::uint64_t{n}) + " samples, got " + textOf(tau));
    return tau > 0 ? static_cast<std::size_t>(tau) : 1;
  }
  std::unique_ptr<RunningMethod> sgd(std::uint64_t tau, bool isGd) {
    SgdOptions options{.tau = samples(tau), .seed = options_.seed, .regulariser = options_.regulariser()};
    if (isGd)
      options.stepSize = chosen([&] { return 1 / constants_.ofAll().L; }, "1 / L");
    else
      options.stepSize = chosen([&] { return sgdStep(options.tau); },
                                options_.accuracy > 0 ? "min {1 / (2 Lexp), epsilon mu / (4 sigma^2)}"
                                                      : "1 / (2 Lexp), Lexp the expected smoothness");
    return described(std::make_unique<Central<ProxSgd>>(problem_, division_, options));
  }
  /// With --accuracy the variance at the solution is needed; it is measured at a minimiser.
  double sgdStep(std::size_t tau) {
    const std::size_t n = division_.all.size();
    const Smoothness& s = constants_.ofAll();
    const double expected = nice::expectedSmoothness(n, tau, s.L, s.largestOfSamples());
    if (options_.accuracy == 0) return nice::stepSize(expected);
    return nice::stepSize(expected, varianceAtMinimum(tau), s.mu, options_.accuracy);
  }
  /// Of a gradient of tau samples.
  double varianceAtMinimum(std::size_t tau) {
    const std::size_t n = division_.all.size();
    Problem::Sum sum = problem_.sum();
    PartOf part(sum, division_.all);
    const Minimum solution = minimise(part, {.tolerance = 1e-8}, problem_.start());
    std::vector<double> g(solution.x.size());
    double h = 0;
    for (std::size_t i = 0; i < n; ++i) {
      part.gradient(solution.x, Batch(&i, 1), g);
      for (const double number : g) h += number * number / static_cast<double>(n);
    }
    return nice::variance(n, tau, h);
  }
  std::unique_ptr<RunningMethod> page() {
    PageOptions options = page::withDefaults(
        {.small = static_cast<std::size_t>(options_.batch), .seed = options_.seed}, division_.all.size());
    options.stepSize = chosen([&] { return page::stepSize(constants_.ofAll().rootMeanSquare(), options); },
                              "1 / (L+ (1 + sqrt(b) / b'))");
    return described(std::make_unique<Central<Page>>(problem_, division_, options));
  }
  std::unique_ptr<RunningMethod> ef21(const MethodName& name) {
    const AnyCompressor compressor = compressorFromText(name.compressor);
    const double a = alpha(compressor, blocks(), dimension());
    Ef21Options options{
        .compressor = compressor, .workers = division_.workers, .seed = options_.seed, .blocks = blocks()};
    const bool isWeighted = name.method == "ef21-w";
    if (isWeighted) {
      if (!problem_.smoothness(division_.of(0)))
        throw BadInput("ef21-w weighs workers by their smoothness, which is not known here; choose ef21");
      options.weights.resize(division_.workers);
      ef21Weights(constants_.ofWorkers(), options.weights);
    }
    options.stepSize = chosen(
        [&] {
          const std::vector<double>& workers = constants_.ofWorkers();
          return ef21StepSize(constants_.ofAll().L,
                              isWeighted ? meanSmoothness(workers) : burtorch::rootMeanSquare(workers), a);
        },
        isWeighted ? "1 / (L + mean L_i xi)" : "1 / (L + L+ xi)");
    return described(std::make_unique<Distributed<Ef21Server<double>, Ef21Client>>(
        RoundMethod::ef21, problem_, division_, options, [&](std::size_t i) {
          return Ef21ClientOptions{.compressor = compressor,
                                   .worker = i,
                                   .weight = isWeighted ? options.weights[i] : 0.0,
                                   .blocks = options.blocks};
        }));
  }
  std::unique_ptr<RunningMethod> marina(const MethodName& name) {
    const AnyCompressor compressor = compressorFromText(name.compressor);
    const bool isReduced = name.method == "vr-marina";
    const std::size_t d = dimension(), each = division_.each,
                      batch = !isReduced           ? 0
                              : options_.batch > 0 ? static_cast<std::size_t>(options_.batch)
                                                   : std::max<std::size_t>(1, each / 8);
    MarinaOptions options{
        .compressor = compressor, .workers = division_.workers, .seed = options_.seed, .blocks = blocks()};
    options.probability = isReduced ? vrMarinaProbability<double>(compressor, d, each, batch)
                                    : marinaProbability<double>(compressor, d);
    const double w = omega(compressor, options.blocks, d);
    options.stepSize = chosen(
        [&] {
          const double workers = burtorch::rootMeanSquare(constants_.ofWorkers());
          return isReduced ? vrMarinaStepSize(workers, constants_.ofAll().rootMeanSquare(), w,
                                              options.probability, division_.workers, batch)
                           : marinaStepSize(workers, w, options.probability, division_.workers);
        },
        isReduced ? "1 / (L+ + sqrt((1 - p) / (p n) (omega L+^2 + (1 + omega) S^2 / b)))"
                  : "1 / (L+ (1 + sqrt((1 - p) omega / (p n))))");
    return described(std::make_unique<Distributed<MarinaServer<double>, MarinaClient>>(
        RoundMethod::marina, problem_, division_, options, [&](std::size_t i) {
          return MarinaClientOptions{.compressor = compressor,
                                     .worker = i,
                                     .batch = batch,
                                     .keepsPrevious = false,
                                     .blocks = options.blocks};
        }));
  }

  std::unique_ptr<RunningMethod> ringmaster() {
    RingmasterOptions options{.batch = samples(options_.tau), .seed = options_.seed};
    const double epsilon = options_.accuracy, variance = epsilon > 0 ? varianceAtMinimum(options.batch) : 0;
    options.delayLimit = options_.delay > 0 ? options_.delay
                         : epsilon > 0      ? ringmaster::delayLimit(variance, epsilon)
                                            : options_.workers;
    options.stepSize = chosen(
        [&] { return ringmaster::stepSize(constants_.ofAll().L, options.delayLimit, variance, epsilon); },
        epsilon > 0 ? "min {1 / (2 R L), epsilon / (4 L sigma^2)}" : "1 / (2 R L)");
    description_ += ", R = " + textOf(options.delayLimit);
    return described(
        std::make_unique<Asynchronous<SimulatedRingmaster>>(problem_, division_, [&](auto& part) {
          return SimulatedRingmaster(part, std::span<const double>(problem_.start()), division_.workers,
                                     WorkerSeconds{options_.seed}, options);
        }));
  }
  /// Trials are killed after one and a half times their mean; the slowest worker has one, faster ones as many as fit.
  std::unique_ptr<RunningMethod> mindflayer() {
    MindFlayerOptions options{.batch = samples(options_.tau), .seed = options_.seed};
    for (std::size_t i = 1; i <= division_.workers; ++i)
      options.workers.push_back(
          {division_.workers / i, 1.5 * static_cast<double>(i), WorkerSeconds::within(1.5)});
    const double epsilon = options_.accuracy, variance = epsilon > 0 ? varianceAtMinimum(options.batch) : 0;
    options.stepSize = chosen(
        [&] {
          return mindflayer::stepSize(constants_.ofAll().L, mindflayer::expectedBatch(options.workers),
                                      variance, epsilon);
        },
        epsilon > 0 ? "min {1 / (2 L), epsilon B / (2 L sigma^2)}" : "1 / (2 L)");
    return described(
        std::make_unique<Asynchronous<SimulatedMindFlayer>>(problem_, division_, [&](auto& part) {
          return SimulatedMindFlayer(part, std::span<const double>(problem_.start()),
                                     WorkerSeconds{options_.seed}, options);
        }));
  }

  const Problem& problem_;
  const Division& division_;
  Constants& constants_;
  const MethodOptions& options_;
  std::string description_;
};

}  // namespace

std::unique_ptr<RunningMethod> methodOf(const std::string& name, const Problem& problem,
                                        const Division& division, Constants& constants,
                                        const MethodOptions& options) {
  return Builder(problem, division, constants, options).build(name);
}

}  // namespace burt
