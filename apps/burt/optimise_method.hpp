// The methods of burt optimise at work on a problem: one interface over all of them, with the step sizes of theory.
#pragma once

#include <burtorch/optimise/compressor_text.hpp>
#include <burtorch/optimise/ef21.hpp>
#include <burtorch/optimise/in_process.hpp>
#include <burtorch/optimise/marina.hpp>
#include <burtorch/optimise/mindflayer.hpp>
#include <burtorch/optimise/over_ranks.hpp>
#include <burtorch/optimise/page.hpp>
#include <burtorch/optimise/ringmaster.hpp>
#include <burtorch/optimise/sgd.hpp>
#include <burtorch/optimise/step_sizes.hpp>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "optimise_problem.hpp"
#include "ranks.hpp"

namespace burt {

struct MethodOptions {
  std::string compressor;                         // "": that of the method
  std::uint64_t workers = 0, tau = 0, batch = 0;  // tau of SGD, b' of PAGE and VR-MARINA; 0: their defaults
  std::uint64_t delay = 0;                        // R of Ringmaster; 0: theory's, or the number of workers
  double stepSize = 0, stepFactor = 1, accuracy = 0, l1 = 0, box = 0;
  std::uint64_t seed = 1;
  bool isBlockwise = false;  // each block of parameters is compressed on its own

  burtorch::Regulariser regulariser() const {
    if (l1 > 0 && box > 0) throw BadInput("--l1 and --box: expected one of them");
    if (l1 > 0) return burtorch::L1{l1};
    if (box > 0) return burtorch::Box{-box, box};
    return {};
  }
};

/// Sees everything that a run must remember.
struct StateVisitor {
  std::function<void(const std::string& name, std::span<double>)> numbers;
  std::function<void(const std::string& name, std::uint64_t&)> count;

  void operator()(const char* name, std::span<double> state) const { numbers(name, state); }
  void operator()(const char* name, std::uint64_t& state) const { count(name, state); }
};

class RunningMethod {
 public:
  virtual ~RunningMethod() = default;
  virtual void step() = 0;
  virtual std::span<const double> x() const = 0;
  virtual std::uint64_t gradients() const = 0;  // of single samples, since this program began
  virtual std::uint64_t bitsUp() const { return 0; }
  virtual std::uint64_t bitsDown() const { return 0; }
  virtual double clock() const { return std::nan(""); }  // simulated seconds, where there are any
  virtual void visitState(const StateVisitor& visit) = 0;
  /// With ranks: what all but rank 0 do until it ends them; on rank 0, after a state was loaded, and the end.
  virtual void serve() {}
  virtual void sendState() {}
  virtual void endServing() {}
  /// What went over the wire beside what was counted, for people; or nothing.
  virtual std::string wire() const { return {}; }
  /// "step size 0.12 = 1 / L"
  std::string description;
};

/// The samples that take part: as many for each worker. f is their mean, for every method.
struct Division {
  std::vector<std::size_t> all;
  std::size_t workers, each;

  Division(std::size_t samples, std::uint64_t workersWanted)
      : workers(static_cast<std::size_t>(workersWanted)), each(samples / workers) {
    if (each == 0)
      throw BadInput("--workers: " + textOf(workersWanted) + " workers cannot share " +
                     textOf(std::uint64_t{samples}) + " samples");
    all.resize(workers * each);
    std::iota(all.begin(), all.end(), std::size_t{0});
  }
  burtorch::Batch of(std::size_t worker) const { return burtorch::Batch(all).subspan(worker * each, each); }
};

/// One machine that sees all samples.
template <template <class> class Method> class Central final : public RunningMethod {
 public:
  using Part = burtorch::PartOf<Problem::Sum>;

  template <class Options>
  Central(const Problem& problem, const Division& division, const Options& options)
      : sum_(problem.sum()), part_(sum_, division.all), method_(part_, problem.start(), options) {}
  void step() override { method_.step(); }
  std::span<const double> x() const override { return method_.x(); }
  std::uint64_t gradients() const override { return part_.counts().gradients; }
  void visitState(const StateVisitor& visit) override { method_.visitState(visit); }

 private:
  Problem::Sum sum_;
  Part part_;
  Method<Part> method_;
};

/// A server and workers: all in this process, or the server on rank 0 and the workers on the other ranks.
template <class Server, template <class> class Client> class Distributed final : public RunningMethod {
 public:
  using Part = burtorch::PartOf<Problem::Sum>;

  template <class ServerOptions, class ClientOptions>
  Distributed(burtorch::RoundMethod method, const Problem& problem, const Division& division,
              const ServerOptions& options, ClientOptions clientOptions)
      : method_(method), isInParts_(options.blocks.count() > 1), server_(problem.start(), options) {
    const bool isOnRanks = ranks() != nullptr && ranks()->size() > 1;
    // Rank 0 has clients for all workers, which compute nothing.
    const auto own = isOnRanks && !isFirstRank()
                         ? burtorch::WorkerRange::of(ranks()->rank(), ranks()->size(), division.workers)
                         : burtorch::WorkerRange{0, division.workers};
    first_ = own.first;
    const std::size_t count = own.end - own.first;
    for (std::size_t i = 0; i < count; ++i) sums_.push_back(problem.sum());
    for (std::size_t i = 0; i < count; ++i) {
      const burtorch::Batch samples = division.of(first_ + i);
      parts_.emplace_back(sums_[i], std::vector<std::size_t>(samples.begin(), samples.end()));
    }
    for (std::size_t i = 0; i < count; ++i) clients_.emplace_back(parts_[i], clientOptions(first_ + i));
    if (isOnRanks && isFirstRank())
      overRanks_.emplace(*ranks(), server_, std::span(clients_));
    else if (!isOnRanks)
      inProcess_.emplace(server_, std::span(clients_));
  }
  void step() override { overRanks_ ? overRanks_->round() : inProcess_->round(); }
  std::span<const double> x() const override { return server_.x(); }
  std::uint64_t gradients() const override {
    return overRanks_ ? overRanks_->gradients() : inProcess_->gradients();
  }
  std::uint64_t bitsUp() const override { return server_.bitsUp(); }
  std::uint64_t bitsDown() const override { return server_.bitsDown(); }
  void visitState(const StateVisitor& visit) override {
    overRanks_ ? overRanks_->visitState(visit) : inProcess_->visitState(visit);
  }
  void serve() override {
    burtorch::ClientsOnRank(*ranks(), method_, std::span(clients_), first_, server_.parameterCount(),
                            isInParts_)
        .serve();
  }
  void sendState() override {
    bitsBefore_ = {server_.bitsUp(), server_.bitsDown()};
    if (overRanks_) overRanks_->sendState();
  }
  void endServing() override {
    if (overRanks_) overRanks_->end();
  }
  std::string wire() const override {
    if (!overRanks_) return {};
    const burtorch::WireCounts &up = overRanks_->up(), &down = overRanks_->down();
    const std::uint64_t upHeaders = up.messages * overRanks_->stated,
                        downHeaders = down.messages * burtorch::Ranks::headerBytes,
                        counted = (server_.bitsDown() - bitsBefore_.second) / 8;
    return "up " + textOf(up.bytes) + " bytes = " + textOf((server_.bitsUp() - bitsBefore_.first) / 8) +
           " counted + " + textOf(upHeaders) + " of " + textOf(up.messages) + " headers; down " +
           textOf(down.bytes) + " = " + textOf(down.bytes - downHeaders) + " + " + textOf(downHeaders) +
           " of " + textOf(down.messages) + " headers, where " + textOf(counted) +
           " are counted: workers of a rank share x";
  }

 private:
  burtorch::RoundMethod method_;
  bool isInParts_;
  std::size_t first_ = 0;
  std::pair<std::uint64_t, std::uint64_t> bitsBefore_{0, 0};
  std::vector<Problem::Sum> sums_;
  std::vector<Part> parts_;
  std::vector<Client<Part>> clients_;
  Server server_;
  std::optional<burtorch::InProcess<Server, Client<Part>>> inProcess_;
  std::optional<burtorch::ServerOverRanks<Server, Client<Part>>> overRanks_;
};

/// How long the k-th gradient of a worker takes by a simulated clock: worker i, counted from 1, takes i / 2 seconds and a random
/// time with a mean of i / 2 and a tail.
struct WorkerSeconds {
  std::uint64_t seed;

  double operator()(std::size_t worker, std::uint64_t k) const {
    const double tail = -std::log(1 - burtorch::Rng(burtorch::Rng(seed, worker).next(), k).uniform<double>());
    return static_cast<double>(worker + 1) * (0.5 + 0.5 * tail);
  }
  /// The probability that a gradient takes at most so many times the mean.
  static double within(double means) { return 1 - std::exp(1 - 2 * means); }
};

/// Workers by a simulated clock, each of which sees all samples.
template <template <class, class> class Method> class Asynchronous final : public RunningMethod {
 public:
  using Part = burtorch::PartOf<Problem::Sum>;
  using Run = Method<Part, WorkerSeconds>;

  /// `make(part)` makes the method.
  template <class Make>
  Asynchronous(const Problem& problem, const Division& division, Make make)
      : sum_(problem.sum()), part_(sum_, division.all), run_(make(part_)) {}
  void step() override { run_.step(); }
  std::span<const double> x() const override { return run_.x(); }
  std::uint64_t gradients() const override { return part_.counts().gradients; }
  double clock() const override { return run_.seconds(); }
  void visitState(const StateVisitor& visit) override { run_.visitState(visit); }

 private:
  Problem::Sum sum_;
  Part part_;
  Run run_;
};

/// What theory needs to know of a problem; asked for only where no step size is given.
class Constants {
 public:
  Constants(const Problem& problem, const Division& division) : problem_(problem), division_(division) {}
  const burtorch::Smoothness& ofAll() {
    if (!all_) all_ = known(problem_.smoothness(division_.all));
    return *all_;
  }
  /// L_i of the workers.
  const std::vector<double>& ofWorkers() {
    for (std::size_t i = workers_.size(); i < division_.workers; ++i)
      workers_.push_back(known(problem_.smoothness(division_.of(i))).L);
    return workers_;
  }

 private:
  static burtorch::Smoothness known(std::optional<burtorch::Smoothness> smoothness) {
    if (!smoothness)
      throw BadInput(
          "theory has no step size for this problem, whose smoothness is not known; pass --step-size X");
    return *smoothness;
  }
  const Problem& problem_;
  const Division& division_;
  std::optional<burtorch::Smoothness> all_;
  std::vector<double> workers_;
};

inline const char* methodNames = "gd, sgd, page, ef21, ef21-w, marina, vr-marina, ringmaster, mindflayer";

/// The method called `name`, which may carry its compressor: "ef21:topk:0.05".
std::unique_ptr<RunningMethod> methodOf(const std::string& name, const Problem& problem,
                                        const Division& division, Constants& constants,
                                        const MethodOptions& options);

}  // namespace burt
