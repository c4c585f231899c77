// EF21 (Richtarik et al., 2106.05203): every worker keeps an estimate g_i of its gradient and sends how it compresses the
// difference to the real one; the server keeps their mean g.
//
//   g_i = 0, x <- x - step g, g_i <- g_i + C(grad f_i(x) - g_i), g = mean g_i
//
// C may be any compressor; an unbiased one is divided by 1 + omega. A worker that does not answer keeps its g_i, so a round may
// do without it. EF21-W (2402.10774): g = sum w_i g_i, where g_i estimates grad f_i / (n w_i). With a compressor that sends
// everything, gradients are sent instead of differences, and EF21 is distributed gradient descent to the last bit.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "../oracle/finite_sum.hpp"
#include "round_scratch.hpp"
#include "round_server.hpp"

namespace burtorch::inline BURTORCH_TARGET {

/// Options of an EF21 server. Weights are those of EF21-W, above 0 with the sum 1; without any all are 1/n.
struct Ef21Options {
  AnyCompressor compressor{};
  double stepSize = 0;  // ef21StepSize gives one
  std::size_t workers = 1;
  std::uint64_t seed = 0;
  std::vector<double> weights{};
  VectorBlocks blocks{};  // compressed on their own; the clients' too
};

/// The server of EF21: broadcast, receive, finishRound.
template <class T> class Ef21Server : public RoundServer<T> {
 public:
  Ef21Server(std::span<const T> start, const Ef21Options& options)
      : RoundServer<T>({.method = RoundMethod::ef21,
                        .form = MessageForm::contractive,
                        .fullProbability = isIdentity(options.compressor, start.size()) ? 1.0 : 0.0,
                        .isFirstFull = false,
                        .toleratesAbsence = true},
                       start, options.compressor, options.blocks, options.stepSize, weightsOf(options),
                       options.seed) {}

 private:
  static std::vector<double> weightsOf(const Ef21Options& options) {
    if (options.weights.empty())
      return std::vector<double>(options.workers, 1 / static_cast<double>(options.workers));
    if (options.weights.size() != options.workers)
      fail("EF21: expected a weight for each of %zu workers, got %zu", options.workers,
           options.weights.size());
    double sum = 0;
    for (const double weight : options.weights) {
      if (!(weight > 0)) fail("EF21: expected weights above 0, got %g", weight);
      sum += weight;
    }
    if (!(std::abs(sum - 1) < 1e-9)) fail("EF21: expected weights with the sum 1, got %g", sum);
    return options.weights;
  }
};

/// Options of an EF21 client; the compressor is the server's.
struct Ef21ClientOptions {
  AnyCompressor compressor{};
  std::size_t worker = 0;
  double weight = 0;  // this worker's weight in EF21-W; 0: 1/n
  /// Of an oracle with knobs: ask for the coordinates only that are sent, where they are known before.
  bool computesOnlySent = false;
  VectorBlocks blocks{};
};

/// A client of EF21, over its own data.
template <FiniteSum F> class Ef21Client {
 public:
  using Scalar = typename F::Scalar;

  Ef21Client(F& f, const Ef21ClientOptions& options)
      : f_(&f),
        options_(options),
        compressed_{options.compressor, options.blocks, MessageForm::contractive},
        whole_{Identity{}, options.blocks, MessageForm::unbiased},
        samples_(f.size()),
        estimate_(f.parameterCount()) {
    options.blocks.check(options.compressor, f.parameterCount());
  }

  /// Answers a broadcast. With `stop`, which is polled, this may end early: then it returns false, there is no answer and the
  /// client is as before.
  bool answer(std::span<const std::byte> broadcast, std::vector<std::byte>& message,
              FunctionRef<bool()> stop = {}) {
    x_.resize(estimate_.size());
    const RoundHeader round = detail::readBroadcast<Scalar>(RoundMethod::ef21, broadcast, x_);
    return answer(round, x_, {}, scratch_, message, stop);
  }
  /// The same in the server's process, where x is read in place.
  bool answer(const RoundHeader& round, std::span<const Scalar> x, std::span<const Scalar> /*previous*/,
              RoundScratch<Scalar>& scratch, std::vector<std::byte>& message, FunctionRef<bool()> stop = {}) {
    const CompressionKey key = begin(round);
    const std::span<Scalar> gradient = scratch.first(estimate_.size());
    double value = 0;
    if (!roundGradient(*f_, x, samples_, gradient, wantedIn(round, key), stop, value)) return false;
    message.assign(AnswerHeader::bytes, std::byte{});
    const VectorForm& form = formOf(round);
    withSource(round, gradient, estimate_, [&](const auto& source) {
      encodeBlocks(form.compressor, form.blocks, key, form.form, source, memory_, message);
    });
    AnswerHeader{RoundMethod::ef21, round.isFull, key.worker, round.round, value}.write(message.data());
    follow(round, message);
    return true;
  }
  /// Answers in parts: hands `emit(block, bytes)` the vector of each block as soon as its gradient is final, while the sweep goes
  /// on, and returns the header of the answer, which ends it. Put together in the order of the blocks the answer has the bytes of
  /// `answer`. If this ends early, or `emit` throws, the client is as before.
  template <class Emit>
  bool answerInParts(const RoundHeader& round, std::span<const Scalar> x,
                     std::span<const Scalar> /*previous*/, RoundScratch<Scalar>& scratch, AnswerParts& parts,
                     std::vector<std::byte>& header, Emit emit, FunctionRef<bool()> stop = {}) {
    const CompressionKey key = begin(round);
    const VectorForm& form = formOf(round);
    parts.start(form.blocks.count());
    double value = 0;
    const auto onFinal = [&](std::size_t block, std::span<const Scalar> gradient) {
      std::vector<std::byte>& part = parts.open(block);
      const auto estimate = form.blocks.of(std::span<const Scalar>(estimate_), block);
      withSource(round, gradient, estimate, [&](const auto& source) {
        encode(form.compressor, form.blocks.keyOf(key, block), form.form, source, memory_, part);
      });
      emit(block, std::span<const std::byte>(part));
    };
    if (!roundGradientInBlocks(*f_, x, samples_, scratch.first(estimate_.size()), wantedIn(round, key), stop,
                               form.blocks, onFinal, value))
      return false;
    header.resize(AnswerHeader::bytes);
    AnswerHeader{RoundMethod::ef21, round.isFull, key.worker, round.round, value}.write(header.data());
    follow(round, parts.joined(header));
    return true;
  }
  /// Brings a client to where the one is that sent this answer, which must have been checked.
  void follow(const RoundHeader& round, std::span<const std::byte> answer) {
    if (round.isFull) std::fill(estimate_.begin(), estimate_.end(), Scalar{0});
    formOf(round).template forEachVector<Scalar>(
        answer.subspan(AnswerHeader::bytes), estimate_.size(), keyOf(round),
        [&](std::size_t block, const MessageHeader& header, std::span<const std::byte> vector) {
          detail::addChecked<Scalar>(header, vector, 1, options_.blocks.of(std::span(estimate_), block),
                                     memory_.set);
        });
    nextRound_ = round.round + 1;
  }

  /// g_i.
  std::span<const Scalar> estimate() const { return estimate_; }
  CompressorMemory& memory() { return memory_; }
  OracleCounts counts() const { return f_->counts(); }

  /// Hands out everything that a resumed run needs.
  template <class Visit> void visitState(Visit&& visit) {
    visit("estimate", std::span(estimate_));
    visit("nextRound", nextRound_);
  }

 private:
  /// What is compressed: scale * gradient - estimate, computed where it is needed.
  struct Difference {
    using Scalar = typename F::Scalar;
    std::span<const Scalar> gradient, estimate;
    Scalar scale;
    std::size_t size() const { return gradient.size(); }
    Scalar operator[](std::size_t i) const { return scale * gradient[i] - estimate[i]; }
  };
  /// What a full round sends.
  struct Scaled {
    using Scalar = typename F::Scalar;
    std::span<const Scalar> gradient;
    Scalar scale;
    std::size_t size() const { return gradient.size(); }
    Scalar operator[](std::size_t i) const { return scale * gradient[i]; }
  };

  CompressionKey keyOf(const RoundHeader& round) const {
    return {round.seed, round.round, static_cast<std::uint32_t>(options_.worker)};
  }
  CompressionKey begin(const RoundHeader& round) const {
    if (round.round < nextRound_) detail::failBroadcast("the round was answered already");
    if (options_.worker >= round.workers) detail::failBroadcast("this worker is not among its workers");
    return keyOf(round);
  }
  const VectorForm& formOf(const RoundHeader& round) const { return round.isFull ? whole_ : compressed_; }
  Scalar scaleOf(const RoundHeader& round) const {
    return options_.weight == 0 ? Scalar{1} : static_cast<Scalar>(1 / (round.workers * options_.weight));
  }
  template <class Use>
  void withSource(const RoundHeader& round, std::span<const Scalar> gradient,
                  std::span<const Scalar> estimate, Use use) const {
    if (round.isFull)
      use(Scaled{gradient, scaleOf(round)});
    else
      use(Difference{gradient, estimate, scaleOf(round)});
  }
  Wanted wantedIn(const RoundHeader& round, const CompressionKey& key) {
    if (!options_.computesOnlySent || round.isFull) return {};
    return wantedOf<Scalar>(compressed_, estimate_.size(), key, memory_.set, wanted_);
  }

  F* f_;
  Ef21ClientOptions options_;
  VectorForm compressed_, whole_;
  AllSamples samples_;
  std::vector<Scalar> estimate_, x_;
  RoundScratch<Scalar> scratch_;
  WantedBlocks wanted_;
  std::uint64_t nextRound_ = 0;
  CompressorMemory memory_;
};

}  // namespace burtorch::inline BURTORCH_TARGET
