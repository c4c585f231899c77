// The problems that burt optimises: finite sums in fp64, with what is known of them.
#pragma once

#include <burtorch/burtorch.hpp>
#include <burtorch/data/text.hpp>
#include <burtorch/data/words.hpp>
#include <burtorch/io/libsvm.hpp>
#include <burtorch/model/char_mlp.hpp>
#include <burtorch/model/gpt.hpp>
#include <burtorch/optimise/blockwise.hpp>
#include <burtorch/optimise/prox.hpp>
#include <burtorch/oracle/any_sum.hpp>
#include <burtorch/oracle/linear_problem.hpp>
#include <burtorch/oracle/minimise.hpp>
#include <burtorch/oracle/quadratic.hpp>
#include <burtorch/oracle/token_oracle.hpp>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "default_data.hpp"
#include "flags.hpp"
#include "run_data.hpp"

namespace burt {

struct ProblemOptions {
  std::string name = "logistic", data;
  double l2 = 1e-3, condition = 1000;
  std::uint64_t samples = 0, dimension = 50, seed = 1;  // 0 samples: those of the data, or 200
  bool isScaled = true, hasBias = true;
};

/// A problem, from which every worker takes a sum of its own.
class Problem {
 public:
  using Sum = burtorch::AnySum<double>;
  virtual ~Problem() = default;
  virtual Sum sum() const = 0;
  /// Of the mean over some samples; nothing where theory knows nothing.
  virtual std::optional<burtorch::Smoothness> smoothness(burtorch::Batch) const { return {}; }
  /// Of f + R.
  virtual std::optional<double> minimum(burtorch::Batch, const burtorch::Regulariser&) const { return {}; }
  virtual std::vector<double> start() const = 0;
  /// Those of the parameters, if it is a model.
  virtual burtorch::VectorBlocks blocks() const { return {}; }
  virtual std::string describe() const = 0;
};

template <class F> class SmoothProblem final : public Problem {
 public:
  SmoothProblem(F f, std::string what) : f_(std::move(f)), what_(std::move(what)) {}
  Sum sum() const override { return Sum(const_cast<F*>(&f_)); }
  std::optional<burtorch::Smoothness> smoothness(burtorch::Batch samples) const override {
    return f_.smoothness(samples);
  }
  std::optional<double> minimum(burtorch::Batch samples,
                                const burtorch::Regulariser& regulariser) const override {
    using namespace burtorch;
    PartOf part(const_cast<F&>(f_), {samples.begin(), samples.end()});
    if (f_.parameterCount() > 2000) return {};
    const bool isSmooth = std::holds_alternative<NoRegulariser>(regulariser);
    const auto prox = [&](std::span<double> x, double step) {
      const std::vector<double> nothing(x.size());
      proximalStep(regulariser, step, x.data(), nothing.data(), x.data(), x.size());
    };
    const Minimum found = isSmooth ? minimise(part, {.tolerance = 1e-10})
                                   : minimiseWithProx(part, f_.smoothness(samples).L, prox,
                                                      {.tolerance = 1e-9, .mostSteps = 20'000});
    if (!found.isConverged) return {};
    return found.value + valueOf(regulariser, std::span<const double>(found.x));
  }
  std::vector<double> start() const override { return std::vector<double>(f_.parameterCount(), 0.0); }
  std::string describe() const override {
    return what_ + ": " + textOf(std::uint64_t{f_.size()}) + " samples, " +
           textOf(std::uint64_t{f_.parameterCount()}) + " parameters";
  }

 private:
  F f_;  // its calls are const
  std::string what_;
};

/// Every so many samples of all.
template <class Samples> struct SomeSamples {
  Samples all;
  std::size_t count;

  std::size_t size() const { return count; }
  void read(std::size_t i, std::span<burtorch::TokenId> tokens, std::span<burtorch::TokenId> targets) const {
    all.read(i * (all.size() / count), tokens, targets);
  }
};

/// A language model: not convex, nothing is known of it but its gradients.
template <class Model, class Config, class Corpus, class Samples> class TokenProblem final : public Problem {
 public:
  template <class MakeSamples>
  TokenProblem(std::string_view text, Config config, std::uint64_t count, std::uint64_t seed,
               const char* what, MakeSamples samplesOf)
      : corpus_(text, {.validation = 0}),
        model_(withVocabulary(config, corpus_.tokenizer().size())),
        store_(model_.layout(), seed),
        samples_{samplesOf(corpus_, model_.config()), 0},
        what_(what) {
    samples_.count = std::min<std::size_t>(count, samples_.all.size());
  }
  Sum sum() const override {
    return Sum(
        std::make_unique<burtorch::TokenOracle<Model, SomeSamples<Samples>>>(model_, store_, samples_));
  }
  std::vector<double> start() const override { return {store_.values().begin(), store_.values().end()}; }
  burtorch::VectorBlocks blocks() const override { return burtorch::VectorBlocks(model_.layout()); }
  std::string describe() const override {
    return std::string(what_) + ": " + textOf(std::uint64_t{samples_.count}) + " samples, " +
           textOf(std::uint64_t{store_.size()}) + " parameters, not convex";
  }

 private:
  static auto withVocabulary(Config config, std::size_t vocabulary) {
    config.vocabulary = vocabulary;
    return config;
  }
  Corpus corpus_;
  Model model_;
  mutable burtorch::ParameterStore<double> store_;
  SomeSamples<Samples> samples_;
  const char* what_;
};

inline burtorch::SampleRows<double> rowsOf(const ProblemOptions& options) {
  burtorch::SampleRows<double> rows =
      options.data.empty()
          ? burtorch::parseLibsvm<double>(
                options.name == "softmax" ? defaultData::digits() : defaultData::breast_cancer(), {},
                "burt's own data")
          : burtorch::loadLibsvm<double>(options.data);
  if (options.isScaled) rows.divideColumns(rows.columnScales());
  return options.hasBias ? rows.withBias() : rows;
}

inline std::unique_ptr<Problem> problemOf(const ProblemOptions& options) {
  using namespace burtorch;
  const auto smooth = [](auto f, const char* what) {
    return std::make_unique<SmoothProblem<decltype(f)>>(std::move(f), what);
  };
  const LinearOptions linear{.l2 = options.l2};
  const auto samples = static_cast<std::size_t>(options.samples > 0 ? options.samples : 200);
  if (options.name == "logistic")
    return smooth(LogisticRegression<double>(rowsOf(options), linear), "logistic regression");
  if (options.name == "least-squares")
    return smooth(LeastSquares<double>(rowsOf(options), linear), "least squares");
  if (options.name == "softmax")
    return smooth(SoftmaxRegression<double>(rowsOf(options), linear), "softmax regression");
  if (options.name == "quadratic")
    return smooth(Quadratic<double>({.samples = samples,
                                     .dimension = static_cast<std::size_t>(options.dimension),
                                     .mu = 1,
                                     .L = options.condition,
                                     .seed = options.seed}),
                  "quadratics");
  if (options.name == "gpt") {
    const Data data(options.data, defaultData::scenes());
    using Corpus = TextCorpus;
    const auto windows = [](const Corpus& corpus, const GptConfig& config) {
      return corpus.windows(Part::train, {.context = config.context});
    };
    using Samples = decltype(windows(std::declval<const Corpus&>(), GptConfig{}));
    return std::make_unique<TokenProblem<Gpt<double>, GptConfig, Corpus, Samples>>(
        data.text, GptConfig{}, samples, options.seed, "mini GPT", windows);
  }
  if (options.name == "mlp") {
    const Data data(options.data, defaultData::names());
    const auto words = [](const WordList& list, const CharMlpConfig& config) {
      return list.samples(Part::train, config.context);
    };
    using Samples = decltype(words(std::declval<const WordList&>(), CharMlpConfig{}));
    return std::make_unique<TokenProblem<CharMlp<double>, CharMlpConfig, WordList, Samples>>(
        data.text, CharMlpConfig{.context = 8, .embedding = 16, .hidden = 32}, samples, options.seed,
        "character MLP", words);
  }
  throw BadInput("--problem: expected logistic, least-squares, softmax, quadratic, mlp or gpt, got '" +
                 options.name + "'");
}

}  // namespace burt
