// What the files of the experiment `optimise` share.
#pragma once

#include <burtorch/model/gpt.hpp>
#include <burtorch/oracle/token_oracle.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "gpt_shapes.hpp"
#include "token_models.hpp"

namespace bench {

/// Compares and adds the rows. What `row` is compared with is the trial's unit; beside its ratio stands the largest one that it
/// is meant to have; 0: none.
void addRows(const Options& options, const Trial& trial, const std::vector<Contestant>& contestants,
             const std::string& mode, double target, std::vector<Row>& rows);

/// Nanoseconds of what is between start() and stop(), and nothing else: contestants begin again in each turn, untimed.
class StopWatch {
 public:
  void reset() { ns_ = 0; }
  void start() { begin_ = Clock::now(); }
  void stop() { ns_ += std::chrono::duration<double, std::nano>(Clock::now() - begin_).count(); }
  double ns() const { return ns_; }

 private:
  using Clock = std::chrono::steady_clock;
  double ns_ = 0;
  Clock::time_point begin_;
};

/// The mini GPT on a few samples: f = the mean of as many functions, and clients that hold one of them each.
template <class T> class GptProblem {
 public:
  struct Samples {
    std::shared_ptr<const Batches> batches;
    std::size_t first, count;
    std::size_t size() const { return count; }
    void read(std::size_t i, std::span<burtorch::TokenId> tokens,
              std::span<burtorch::TokenId> targets) const {
      batches->read(first + i, tokens, targets);
    }
  };
  using Oracle = burtorch::TokenOracle<burtorch::Gpt<T>, Samples>;

  GptProblem(const std::vector<float>& weights, std::shared_ptr<const Batches> batches)
      : model_(burtorch::GptConfig{}),
        parameters_(model_.layout()),
        batches_(std::move(batches)),
        start_(weights.begin(), weights.end()) {
    std::copy(start_.begin(), start_.end(), parameters_.values().begin());
  }

  std::size_t samples() const { return batches_->size(); }
  const burtorch::Gpt<T>& model() const { return model_; }
  burtorch::ParameterStore<T>& parameters() { return parameters_; }
  const std::vector<T>& start() const { return start_; }
  std::unique_ptr<Oracle> whole() {
    return std::make_unique<Oracle>(model_, parameters_, Samples{batches_, 0, samples()});
  }
  std::unique_ptr<Oracle> client(std::size_t i) {
    return std::make_unique<Oracle>(model_, parameters_, Samples{batches_, i, 1});
  }

 private:
  burtorch::Gpt<T> model_;
  burtorch::ParameterStore<T> parameters_;
  std::shared_ptr<const Batches> batches_;
  std::vector<T> start_;
};

/// x - y, for gates.
template <class X, class Y> std::vector<double> minus(const X& x, const Y& y) {
  std::vector<double> difference(x.size());
  for (std::size_t i = 0; i < difference.size(); ++i)
    difference[i] = static_cast<double>(x[i]) - static_cast<double>(y[i]);
  return difference;
}

/// Steps of PAGE, EF21 and MARINA on the mini GPT.
void optimiseMethods(const Options& options, std::vector<Row>& rows);
/// The page about networks of 2 to 1,024 workers.
void simulateNetworks(const Options& options);
/// RandSeqK beside RandK, TopK beside std::nth_element.
void optimiseCompressors(const Options& options, std::vector<Row>& rows);

}  // namespace bench
